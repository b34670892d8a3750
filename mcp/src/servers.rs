//! The table of MCP servers that a profile can have.
//!
//! Every tool costs its description in every request, and Codex adds three resource tools (about
//! 1.9 KB) as soon as one server is configured: so two servers, one tool each.

/// One server.
#[derive(Debug, PartialEq, Eq)]
pub struct Server {
    /// Its key in `mcp_servers`, and in `--mcp`.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub purpose: &'static str,
    /// Its package on PyPI.
    pub package: &'static str,
    /// The package's version: a later one may describe other tools.
    pub version: &'static str,
    /// The program that the package installs.
    pub executable: &'static str,
    /// The tools that Codex offers to the model.
    pub enabled_tools: &'static [&'static str],
    /// `default_tools_approval_mode`. With anything but `approve`, `codex exec` refuses the call of
    /// a tool that does not declare itself read-only, and the search tool does not.
    pub approval: &'static str,
    /// How long Codex waits for the server, in seconds: a first start through `uvx` downloads some
    /// 15 MB of packages.
    pub startup_timeout_sec: u64,
    /// How long Codex waits for one call, in seconds: each server allows a request of its own 30.
    pub tool_timeout_sec: u64,
    /// What the server's environment needs beside what Codex passes on.
    pub env: &'static [(&'static str, &'static str)],
}

/// The servers, in the order in which a profile lists them. Versions and tools were seen in a
/// handshake with each; both read only, and both reach the network when they are called.
pub const SERVERS: &[Server] = &[
    Server {
        name: "fetch",
        purpose: "reads one web page as text",
        package: "mcp-server-fetch",
        version: "2026.10.24",
        executable: "mcp-server-fetch",
        enabled_tools: &["fetch"],
        approval: "approve",
        startup_timeout_sec: 60,
        tool_timeout_sec: 60,
        env: &[],
    },
    // Its `fetch_content` is what `fetch` does, in 2.2 KB more; `expand_link` belongs to it.
    Server {
        name: "search",
        purpose: "searches the web with DuckDuckGo",
        package: "duckduckgo-mcp-server",
        version: "0.7.0",
        executable: "duckduckgo-mcp-server",
        enabled_tools: &["search"],
        approval: "approve",
        startup_timeout_sec: 60,
        tool_timeout_sec: 60,
        // Off: long links would come back as `ref://` names that only `expand_link` can read.
        env: &[("DDG_REF_URL_THRESHOLD", "0")],
    },
];

impl Server {
    /// The package with its version, as `pip` and `uvx` take it.
    #[must_use]
    pub fn pinned(&self) -> String {
        format!("{}=={}", self.package, self.version)
    }
}

/// The server of this name.
#[must_use]
pub fn server(name: &str) -> Option<&'static Server> {
    SERVERS.iter().find(|server| server.name == name)
}

/// Why a list of servers means nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// A name that no server has.
    #[error("no MCP server is called `{name}`{}; known: {}, or `none` alone", nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default(), names())]
    Unknown {
        /// The name.
        name: String,
        /// The server's name that is most like it.
        nearest: Option<&'static str>,
    },
    /// `none` beside others, or no name at all.
    #[error(
        "`{list}` is no list of MCP servers: give names with commas between, or `none` alone; known: {}",
        names()
    )]
    Malformed {
        /// The list as it was given.
        list: String,
    },
}

fn names() -> String {
    SERVERS
        .iter()
        .map(|server| server.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// How alike two names have to be for a suggestion, of 1.
const ALIKE: f64 = 0.7;

/// The servers that a list like `fetch,search` or `none` names, in the table's order, each once.
///
/// # Errors
/// An unknown name, an empty entry, or `none` with others.
pub fn parse_list(list: &str) -> Result<Vec<&'static Server>, ListError> {
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    if words == ["none"] {
        return Ok(Vec::new());
    }
    if words.iter().any(|word| word.is_empty() || *word == "none") {
        return Err(ListError::Malformed {
            list: list.to_owned(),
        });
    }
    if let Some(name) = words.iter().find(|word| server(word).is_none()) {
        let nearest = SERVERS
            .iter()
            .map(|server| (strsim::jaro_winkler(name, server.name), server.name))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name);
        return Err(ListError::Unknown {
            name: (*name).to_owned(),
            nearest,
        });
    }
    Ok(SERVERS
        .iter()
        .filter(|server| words.contains(&server.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let names = |list: &str| {
            parse_list(list).map(|found| found.iter().map(|s| s.name).collect::<Vec<_>>())
        };
        assert_eq!(names("fetch,search"), Ok(vec!["fetch", "search"]));
        assert_eq!(
            names(" search , fetch, search "),
            Ok(vec!["fetch", "search"])
        );
        assert_eq!(names("search"), Ok(vec!["search"]));
        assert_eq!(names("none"), Ok(vec![]));
    }

    #[test]
    fn a_bad_list_says_what_is_known() {
        let errors = ["serch", "fetch,github", "none,fetch", "", "fetch,"]
            .map(|list| parse_list(list).expect_err("the list is bad").to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn every_row_is_pinned_and_approved() {
        for row in SERVERS {
            assert_eq!(server(row.name), Some(row));
            assert!(
                !row.version.is_empty() && !row.enabled_tools.is_empty(),
                "{}",
                row.name
            );
            assert_eq!(row.approval, "approve");
        }
    }
}
