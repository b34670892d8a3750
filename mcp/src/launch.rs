//! What starts a server: values only. Whoever writes Codex's configuration turns them into TOML.

use std::path::PathBuf;

use crate::servers::Server;

/// Where a server's program comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// A folder that [`crate::install()`] filled: starts without a network. The better choice.
    Venv(PathBuf),
    /// `uvx`, for a machine without a Python of its own. It asks the package index at every start
    /// and fails without a network, the package in its cache or not (uv 0.13.9, seen). Give an
    /// absolute path: Codex looks a bare name up in a PATH that a repository may have changed.
    Uvx(PathBuf),
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside those that Codex passes on ([`PASSED_ON`]).
    pub env: Vec<(String, String)>,
}

/// The variables that Codex passes on to an MCP server; nothing else of its environment reaches it.
/// In particular no proxy and no cache folder: a server behind a proxy needs them in its `env`.
///
/// Seen with Codex 0.163.0 and 0.171.0 (a server that writes its environment down).
pub const PASSED_ON: &[&str] = &[
    "BUNDLE_SSL_CA_CERT",
    "CARGO_HTTP_CAINFO",
    "CODEX_CA_CERTIFICATE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
    "PATH",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "__CF_USER_TEXT_ENCODING",
    "npm_config_cafile",
];

/// What starts this server.
#[must_use]
pub fn command(server: &Server, launcher: &Launcher) -> Command {
    let mut env: Vec<_> = server
        .env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    match launcher {
        Launcher::Uvx(program) => {
            // Its progress bars would stand in front of the error in a log.
            env.push(("UV_NO_PROGRESS".to_owned(), "1".to_owned()));
            Command {
                program: program.clone(),
                args: vec![
                    "--from".to_owned(),
                    server.pinned(),
                    server.executable.to_owned(),
                ],
                env,
            }
        }
        Launcher::Venv(dir) => Command {
            program: dir.join("bin").join(server.executable),
            args: Vec::new(),
            env,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::servers::server;

    #[test]
    fn both_ways_of_starting() {
        let fetch = server("fetch").expect("in the table");
        let uvx = command(fetch, &Launcher::Uvx("/opt/bin/uvx".into()));
        assert_eq!(uvx.program, Path::new("/opt/bin/uvx"));
        assert_eq!(
            uvx.args,
            ["--from", "mcp-server-fetch==2026.10.24", "mcp-server-fetch"]
        );
        let venv = command(fetch, &Launcher::Venv("/home/me/.codex-ds/mcp".into()));
        assert_eq!(
            venv.program,
            Path::new("/home/me/.codex-ds/mcp/bin/mcp-server-fetch")
        );
        assert!(venv.args.is_empty() && venv.env.is_empty());
    }
}
