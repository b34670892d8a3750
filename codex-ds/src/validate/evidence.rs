//! What happened, from what was recorded: Codex's own events, the requests that it sent, the guard's
//! log, the shims. Nothing of it is the model's word.

use std::collections::BTreeMap;
use std::path::Path;

use codex_ds_hook::record;
use serde_json::Value as Json;

use crate::dump::store::{Session, is_model_request};

/// What begins each refusal of a hook, as the model reads it (Codex 0.163.0 and 0.171.0).
const BLOCKED: &str = "blocked by PreToolUse hook";

/// What begins the request for a summary (Codex 0.163.0 and 0.171.0).
const COMPACTION: &str = "CONTEXT CHECKPOINT COMPACTION";

/// One call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    /// The tool, `namespace.name` where it is in one.
    pub(super) tool: String,
    /// Its arguments, as the model sent them.
    pub(super) arguments: String,
    /// What came back; nothing where the turn ended before.
    pub(super) output: Option<String>,
}

impl Call {
    /// Whether the guard refused it.
    pub(super) fn is_denied(&self) -> bool {
        self.output
            .as_deref()
            .is_some_and(|text| text.contains(BLOCKED))
    }

    /// The arguments as text: of a JSON object its values, so that quotes in a command are bare.
    pub(super) fn text(&self) -> String {
        match serde_json::from_str::<Json>(&self.arguments) {
            Ok(Json::Object(map)) => map
                .values()
                .map(|value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                })
                .collect::<Vec<_>>()
                .join(" "),
            _ => self.arguments.clone(),
        }
    }
}

/// A call of an MCP server, as Codex reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct McpCall {
    /// The server.
    pub(super) server: String,
    /// Its tool.
    pub(super) tool: String,
    /// Whether it came back without an error.
    pub(super) completed: bool,
}

impl McpCall {
    /// Whether it is the one that a case expects.
    pub(super) fn is(&self, wanted: &super::case::McpCall) -> bool {
        self.server == wanted.server && self.tool == wanted.tool
    }
}

/// A denial of the guard's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// The rule.
    pub(super) rule: String,
    /// The command.
    pub(super) command: String,
}

/// Everything that was seen of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// The sessions' ids.
    pub(super) threads: Vec<String>,
    /// The tool calls, in order.
    pub(super) calls: Vec<Call>,
    /// The calls of MCP servers that Codex reported.
    pub(super) mcp: Vec<McpCall>,
    /// The files that Codex reported as patched.
    pub(super) patched: Vec<String>,
    /// Turns that Codex reported as completed.
    pub(super) completed: usize,
    /// What Codex reported as failed.
    pub(super) errors: Vec<String>,
    /// Requests for a summary of the conversation.
    pub(super) compactions: usize,
    /// Requests for an answer.
    pub(super) requests: usize,
    /// The last text of the model.
    pub(super) said: String,
    /// What the guard wrote down.
    pub(super) denials: Vec<Denial>,
    /// What reached the model: the bodies of all requests.
    pub(super) sent: Vec<String>,
}

impl Evidence {
    /// Adds what Codex printed with `--json`.
    pub(super) fn add_events(&mut self, text: &str) {
        for line in text.lines() {
            let Ok(event) = serde_json::from_str::<Json>(line) else {
                continue;
            };
            match event["type"].as_str().unwrap_or_default() {
                "thread.started" => {
                    if let Some(id) = event["thread_id"].as_str()
                        && !self.threads.iter().any(|known| known == id)
                    {
                        self.threads.push(id.to_owned());
                    }
                }
                "turn.completed" => self.completed += 1,
                "turn.failed" => self.error(&event["error"]["message"]),
                "error" => self.error(&event["message"]),
                "item.completed" => self.add_item(&event["item"]),
                _ => {}
            }
        }
    }

    fn add_item(&mut self, item: &Json) {
        match item["type"].as_str().unwrap_or_default() {
            "file_change" if item["status"] == "completed" => {
                let changes = item["changes"].as_array().into_iter().flatten();
                let paths = changes.filter_map(|change| change["path"].as_str());
                self.patched.extend(paths.map(str::to_owned));
            }
            "mcp_tool_call" => {
                let field = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
                self.mcp.push(McpCall {
                    server: field("server"),
                    tool: field("tool"),
                    completed: item["status"] == "completed",
                });
            }
            "agent_message" => {
                if let Some(text) = item["text"].as_str() {
                    text.clone_into(&mut self.said);
                }
            }
            _ => {}
        }
    }

    fn error(&mut self, message: &Json) {
        let text = message.as_str().unwrap_or_default().trim();
        if !text.is_empty() && !self.errors.iter().any(|known| known == text) {
            self.errors.push(text.to_owned());
        }
    }

    /// Adds what went to the model: each request repeats the conversation so far.
    pub(super) fn add_session(&mut self, session: &Session) {
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for exchange in &session.exchanges {
            let request = &exchange.request;
            if !is_model_request(&request.method, &request.path) {
                continue;
            }
            self.requests += 1;
            let Some(body) = &request.body else { continue };
            self.sent.push(body.clone());
            let body: Json = serde_json::from_str(body).unwrap_or_default();
            let input = body["input"].as_array().map_or(&[][..], Vec::as_slice);
            if input
                .last()
                .is_some_and(|item| item.to_string().contains(COMPACTION))
            {
                self.compactions += 1;
            }
            for item in input {
                self.add_call(item, &mut known);
            }
        }
    }

    fn add_call(&mut self, item: &Json, known: &mut BTreeMap<String, usize>) {
        let field = |key: &str| item[key].as_str().unwrap_or_default();
        let id = field("call_id").to_owned();
        match field("type") {
            "function_call" | "custom_tool_call" if !known.contains_key(&id) => {
                known.insert(id, self.calls.len());
                let name = field("name");
                self.calls.push(Call {
                    tool: match item["namespace"].as_str() {
                        Some(namespace) => format!("{namespace}.{name}"),
                        None => name.to_owned(),
                    },
                    arguments: format!("{}{}", field("arguments"), field("input")),
                    output: None,
                });
            }
            "function_call_output" | "custom_tool_call_output" => {
                if let Some(index) = known.get(&id) {
                    self.calls[*index].output = Some(plain(&item["output"]));
                }
            }
            _ => {}
        }
    }

    /// Adds the denials in the guard's log of `home` that are of a command in `work`.
    pub(super) fn add_guard_log(&mut self, home: &Path, work: &Path) {
        let path = record::log_path(home);
        let work = work.canonicalize().unwrap_or_else(|_| work.to_path_buf());
        // The log is set aside when it gets long, which may be in the middle of a run.
        for path in [path.with_file_name("log.1.jsonl"), path] {
            let text = std::fs::read(path).unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                let Ok(entry) = serde_json::from_str::<Json>(line) else {
                    continue;
                };
                let cwd = entry["cwd"].as_str().unwrap_or_default();
                if entry["verdict"] == "deny" && Path::new(cwd).starts_with(&work) {
                    let field = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                    self.denials.push(Denial {
                        rule: field("rule"),
                        command: field("command"),
                    });
                }
            }
        }
    }
}

/// The output of a call as text: a shell's is one, an MCP server's a list of them.
pub(crate) fn plain(output: &Json) -> String {
    match output {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_string(),
    }
}
