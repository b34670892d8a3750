//! The MCP servers of the profile: installed into it where that can be done, so that they start
//! without a network, and believed only after a handshake.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use codex_ds_mcp::{self as mcp, Command, Launcher, Server};
use toml_edit::DocumentMut;

use super::receipt::{Choices, MCP as FOLDER, Receipts};
use crate::error::UserError;
use crate::ui;

/// The servers of a profile where the user names none.
const DEFAULT: &str = "fetch,search";
/// How long a server may take to shake hands. The first start compiles its Python modules.
const HANDSHAKE: Duration = Duration::from_secs(120);

/// One server of the profile.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The server.
    pub server: &'static Server,
    /// How it is started.
    pub command: Command,
    /// Whether Codex may wait for it before the first request. Without that, its tools are missing
    /// from the first request and then change the prompt's prefix (measured); with it, a server
    /// that does not start stops Codex. So: for one that starts without a network.
    pub required: bool,
}

/// The servers that the choices name.
///
/// # Errors
/// When a name is unknown.
pub(super) fn wanted(choices: &Choices) -> Result<Vec<&'static Server>> {
    let list = choices.mcp.as_deref().unwrap_or(DEFAULT);
    mcp::parse_list(list).map_err(|error| UserError::usage(format!("--mcp {list}: {error}")).into())
}

/// The entries as they will be, for `--dry-run`: nothing is installed or started.
pub(super) fn expected(servers: &[&'static Server], home: &Path) -> Vec<Entry> {
    entries(servers, &Launcher::Venv(home.join(FOLDER)))
}

/// The entries of those servers that `config` has, started as they are there.
pub(super) fn present(
    servers: &[&'static Server],
    home: &Path,
    config: &DocumentMut,
) -> Vec<Entry> {
    let launcher = |server: &Server| {
        let program = config
            .get("mcp_servers")?
            .get(server.name)?
            .get("command")?;
        let program = Path::new(program.as_str()?);
        Some(if program.ends_with("uvx") {
            Launcher::Uvx(program.to_path_buf())
        } else {
            Launcher::Venv(home.join(FOLDER))
        })
    };
    servers
        .iter()
        .filter_map(|server| entries(&[server], &launcher(server)?).pop())
        .collect()
}

/// Installs and starts the servers. Where that fails and the user did not name them, they are left
/// out, with the reason in `notes`: a profile without them is better than none.
///
/// # Errors
/// When servers that the user named cannot be had.
pub(super) async fn provide(
    servers: &[&'static Server],
    home: &Path,
    folder: Folder,
    offline: bool,
    named: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<Entry>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    match installed(servers, home, folder, offline).await {
        Ok(entries) => Ok(entries),
        Err(error) if named => Err(error.into()),
        Err(error) => {
            notes.push(format!(
                "the MCP servers {} are left out: {error}; run setup again when that is mended, or say --mcp none",
                names(servers)
            ));
            Ok(Vec::new())
        }
    }
}

/// Whose the servers' folder in the profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// Ours, or not there yet.
    Ours,
    /// Something else that stood there before: never written, and never removed by `undo`.
    Foreign,
}

impl Folder {
    /// The state of the profile's folder, with what receipts say of it.
    pub(super) fn of(home: &Path, receipts: &Receipts) -> Self {
        let recorded = [&receipts.complete, &receipts.pending]
            .into_iter()
            .flatten()
            .any(|receipt| receipt.trees.iter().any(|tree| tree == FOLDER));
        if recorded || home.join(FOLDER).symlink_metadata().is_err() {
            Self::Ours
        } else {
            Self::Foreign
        }
    }
}

async fn installed(
    servers: &[&'static Server],
    home: &Path,
    whose: Folder,
    offline: bool,
) -> Result<Vec<Entry>, UserError> {
    let folder = home.join(FOLDER);
    let complete = servers
        .iter()
        .all(|server| folder.join("bin").join(server.executable).is_file());
    let launcher = if complete && (offline || whose == Folder::Foreign) {
        Launcher::Venv(folder)
    } else if whose == Folder::Foreign {
        return Err(UserError::new(format!(
            "{} is not ours, and the servers belong there",
            folder.display()
        ))
        .hint("move it away and run this again, or leave the servers out with --mcp none"));
    } else if offline {
        return Err(UserError::new(
            "they are not installed, and --offline forbids to fetch them",
        ));
    } else {
        let progress = ui::progress("installing the MCP servers");
        let show = |line: &str| progress.set(&format!("installing the MCP servers: {line}"));
        match (
            mcp::install(&folder, servers, show).await,
            which::which("uvx"),
        ) {
            (Ok(_), _) => Launcher::Venv(folder),
            (Err(_), Ok(uvx)) => Launcher::Uvx(uvx),
            (Err(error), Err(_)) => {
                return Err(UserError::new(format!("{error}"))
                    .hint(error.remedy())
                    .because(error));
            }
        }
    };
    let mut entries = entries(servers, &launcher);
    for entry in &mut entries {
        let _progress = ui::progress(&format!("starting the MCP server {}", entry.server.name));
        mcp::handshake(&entry.command, HANDSHAKE)
            .await
            .map_err(|error| {
                UserError::new(format!(
                    "the MCP server {} does not work: {error}",
                    entry.server.name
                ))
                .hint("leave it out with --mcp none")
            })?;
    }
    Ok(entries)
}

fn entries(servers: &[&'static Server], launcher: &Launcher) -> Vec<Entry> {
    servers
        .iter()
        .map(|server| {
            let mut command = mcp::command(server, launcher);
            command.env.extend(proxies());
            Entry {
                server,
                command,
                required: matches!(launcher, Launcher::Venv(_)),
            }
        })
        .collect()
}

/// The proxy settings of this environment, which Codex does not pass on to MCP servers. One with a
/// password in it is left out: it would stand in a file.
fn proxies() -> impl Iterator<Item = (String, String)> {
    [
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "https_proxy",
        "http_proxy",
        "all_proxy",
        "no_proxy",
    ]
    .into_iter()
    .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
    .filter(|(_, value)| !value.is_empty() && !value.contains('@'))
}

fn names(servers: &[&Server]) -> String {
    servers
        .iter()
        .map(|server| server.name)
        .collect::<Vec<_>>()
        .join(", ")
}
