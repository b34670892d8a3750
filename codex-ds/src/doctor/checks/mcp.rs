//! `mcp.…`: the MCP servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use codex_ds_mcp::{self as mcp, Handshake, McpError};
use futures_util::future::join_all;
use toml_edit::{Item, Value};

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::setup::plan::CONFIG;

/// How long Codex waits for a server that says nothing of it, seconds.
const STARTUP: i64 = 30;
/// The longest that is waited here.
const LONGEST: Duration = Duration::from_secs(60);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "mcp.starts",
        title: "each MCP server starts, and shakes hands",
        requires: &["config.parses"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(65),
        run: |context| Box::pin(starts(context)),
    },
    Check {
        id: "mcp.tools",
        title: "each has the tools that are wanted of it",
        requires: &["mcp.starts"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(65),
        run: |context| Box::pin(tools(context)),
    },
    Check {
        id: "mcp.approval",
        title: "their calls need nobody's approval",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: Duration::from_secs(5),
        run: |context| Box::pin(async move { Ok(approval(&context)) }),
    },
];

/// A server as the configuration has it.
struct Server {
    name: String,
    how: How,
    limit: Duration,
    wanted: Option<Vec<String>>,
    required: bool,
}

enum How {
    Command(mcp::Command),
    /// Codex asks it over HTTP.
    Url(String),
    /// Neither a command nor a URL.
    Nothing,
}

impl Server {
    fn key(&self) -> String {
        format!("{CONFIG}: mcp_servers.{}", self.name)
    }
}

/// The servers that are switched on, over all files of the profile.
fn servers(context: &Context) -> Vec<Server> {
    context
        .profile
        .mcp_servers()
        .into_iter()
        .filter_map(|name| {
            let get = |key: &str| Some(context.profile.get(&["mcp_servers", &name, key])?.0);
            if get("enabled").and_then(Item::as_bool) == Some(false) {
                return None;
            }
            let texts = |key: &str| {
                let values = get(key)?.as_array()?.iter();
                Some(
                    values
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect::<Vec<_>>(),
                )
            };
            let env = get("env").and_then(Item::as_table_like);
            let how = match (
                get("command").and_then(Item::as_str),
                get("url").and_then(Item::as_str),
            ) {
                (Some(program), _) => How::Command(mcp::Command {
                    program: PathBuf::from(program),
                    args: texts("args").unwrap_or_default(),
                    env: env
                        .into_iter()
                        .flat_map(toml_edit::TableLike::iter)
                        .filter_map(|(name, value)| {
                            Some((name.to_owned(), value.as_str()?.to_owned()))
                        })
                        .collect(),
                }),
                (None, Some(url)) => How::Url(url.to_owned()),
                (None, None) => How::Nothing,
            };
            let seconds = get("startup_timeout_sec")
                .and_then(Item::as_integer)
                .unwrap_or(STARTUP);
            Some(Server {
                limit: Duration::from_secs(u64::try_from(seconds).unwrap_or(1)).min(LONGEST),
                wanted: texts("enabled_tools"),
                required: get("required").and_then(Item::as_bool) == Some(true),
                how,
                name,
            })
        })
        .collect()
}

/// What each server that is started by a command showed.
type Handshakes = Vec<(Server, Option<Result<Handshake, McpError>>)>;

async fn handshakes(context: &Arc<Context>) -> Arc<Handshakes> {
    let servers = servers(context);
    context
        .once(join_all(servers.into_iter().map(|server| async move {
            let shaken = match &server.how {
                How::Command(command) => Some(mcp::handshake(command, server.limit).await),
                How::Url(_) | How::Nothing => None,
            };
            (server, shaken)
        })))
        .await
}

async fn starts(context: Arc<Context>) -> Result<Outcome> {
    let shaken = handshakes(&context).await;
    if shaken.is_empty() {
        return Ok(Outcome::pass("there are none"));
    }
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    for (server, result) in shaken.iter() {
        match (result, &server.how) {
            (Some(Ok(handshake)), _) => {
                let info = &handshake.server_info;
                let itself = format!("{} {}", info.name, info.version);
                seen.push(format!("{} ({})", server.name, itself.trim_end()));
            }
            (Some(Err(error)), _) => findings.push(broken(server, error)),
            (None, How::Url(url)) => findings.push(
                Finding::note(format!(
                    "{} is asked over HTTP by Codex itself, and not here",
                    server.name
                ))
                .measured(url.clone())
                .source(server.key()),
            ),
            (None, _) => findings.push(
                Finding::fail(format!("{} has neither a command nor a URL", server.name))
                    .measured("neither")
                    .expected("command or url")
                    .source(server.key())
                    .remedy("add one, or take the table out"),
            ),
        }
    }
    Ok(Outcome::of(seen.join(", "), findings))
}

fn broken(server: &Server, error: &McpError) -> Finding {
    let harm = if server.required {
        "it is required, so Codex starts no session"
    } else {
        "Codex goes on without its tools, and does not say so to the model"
    };
    let why = match error {
        McpError::Network { .. } => "it did not reach the package index",
        McpError::Missing { .. } => "its program is not there",
        McpError::NoInterpreter { .. } => "what its program runs on is not there",
        McpError::NotStarted { .. } => "its program cannot be started",
        McpError::Exited { .. } => "it ended at once",
        McpError::TimedOut { .. } => "it did not answer in time",
        McpError::Protocol { .. } => "it does not speak MCP",
        McpError::Refused { .. } => "it refused",
    };
    Finding::fail(format!("{} does not start: {why}; {harm}", server.name))
        .measured(error.to_string())
        .expected("answers to initialize and tools/list")
        .source(server.key())
        .remedy(error.remedy())
        .command("codex-ds setup")
}

async fn tools(context: Arc<Context>) -> Result<Outcome> {
    let shaken = handshakes(&context).await;
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    for (server, result) in shaken.iter() {
        let Some(Ok(handshake)) = result else {
            continue;
        };
        let there: Vec<&str> = handshake
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let wanted = server.wanted.clone().unwrap_or_default();
        let lost: Vec<&str> = wanted
            .iter()
            .map(String::as_str)
            .filter(|name| !there.contains(name))
            .collect();
        let shown = if there.is_empty() {
            "none".to_owned()
        } else {
            there.join(", ")
        };
        if there.is_empty() || !lost.is_empty() {
            findings.push(
                Finding::fail(format!(
                    "{} has no tool {}: Codex leaves it out without a word",
                    server.name,
                    if lost.is_empty() {
                        "at all".to_owned()
                    } else {
                        lost.join(", ")
                    }
                ))
                .measured(shown)
                .expected(if lost.is_empty() {
                    "a tool".to_owned()
                } else {
                    lost.join(", ")
                })
                .source(format!("{}.enabled_tools", server.key()))
                .remedy("name tools that it has, or run set-up again")
                .command("codex-ds setup"),
            );
            continue;
        }
        let used: Vec<&str> = match &server.wanted {
            Some(wanted) => wanted.iter().map(String::as_str).collect(),
            None => there,
        };
        seen.push(format!(
            "{}: {} ({} bytes a request)",
            server.name,
            used.join(", "),
            handshake.bytes_of(&used)
        ));
    }
    let summary = if seen.is_empty() {
        "there are none".to_owned()
    } else {
        seen.join("; ")
    };
    Ok(Outcome::of(summary, findings))
}

fn approval(context: &Context) -> Outcome {
    let servers = servers(context);
    let findings = servers
        .iter()
        .filter_map(|server| {
            let key = ["mcp_servers", &server.name, "default_tools_approval_mode"];
            let mode = context.profile.text(&key);
            (mode != Some("approve")).then(|| {
                Finding::warn(format!(
                    "calls of {} wait for approval: under `codex-ds exec`, where nobody can be asked, each fails",
                    server.name
                ))
                .measured(mode.unwrap_or("it is not set"))
                .expected("\"approve\"; the guard still decides about every call")
                .source(format!("{}.default_tools_approval_mode", server.key()))
                .remedy("set it so, unless you want to be asked each time")
            })
        })
        .collect();
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let summary = if names.is_empty() {
        "there are none".to_owned()
    } else {
        names.join(", ")
    };
    Outcome::of(summary, findings)
}
