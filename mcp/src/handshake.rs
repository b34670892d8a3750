//! The MCP handshake over standard input and output: start, `initialize`, `tools/list`, stop.
//!
//! Protocol: modelcontextprotocol.io, revision 2025-06-18, the stdio transport: one JSON-RPC message
//! a line.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::launch::{Command, PASSED_ON};
use crate::network;
use crate::process::{Group, Tail, piped};

/// What a server showed of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// Its name and version.
    pub server_info: ServerInfo,
    /// Its tools, in its own order.
    pub tools: Vec<Tool>,
}

impl Handshake {
    /// What the tools of these names cost a request, in bytes, beside Codex's three resource tools.
    #[must_use]
    pub fn bytes_of(&self, names: &[&str]) -> usize {
        self.tools
            .iter()
            .filter(|tool| names.contains(&tool.name.as_str()))
            .map(|tool| tool.bytes)
            .sum()
    }
}

/// `serverInfo`. Empty where the server says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// The server's name for itself.
    pub name: String,
    /// Its version, of its own or of its library.
    pub version: String,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name, without the namespace that Codex puts around it.
    pub name: String,
    /// Its size: name, description and input schema as one compact JSON object, in bytes.
    pub bytes: usize,
    /// `annotations.readOnlyHint`: Codex lets a tool that says true run without approval.
    pub read_only_hint: Option<bool>,
}

/// How far a handshake came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The first answer: it takes as long as the program's start.
    Initialize,
    /// The list of tools.
    ListTools,
}

impl Step {
    const fn method(self) -> &'static str {
        match self {
            Step::Initialize => "initialize",
            Step::ListTools => "tools/list",
        }
    }
}

/// Why there was no handshake. `stderr` is the end of what the program wrote there.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// There is no such program.
    #[error("there is no program {}", program.display())]
    Missing {
        /// The program.
        program: PathBuf,
    },
    /// The program is there, what it runs on is not.
    #[error("{} is there, but the interpreter in its first line is not", program.display())]
    NoInterpreter {
        /// The program.
        program: PathBuf,
    },
    /// The program could not be started.
    #[error("cannot start {}", program.display())]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The launcher could not get the package.
    #[error("{} did not reach the package index{}", program.display(), quoted(stderr))]
    Network {
        /// The program.
        program: PathBuf,
        /// What it wrote.
        stderr: String,
    },
    /// The program ended before it answered.
    #[error("{} ended ({status}) before it answered `{}`{}", program.display(), step.method(), quoted(stderr))]
    Exited {
        /// The program.
        program: PathBuf,
        /// What was asked.
        step: Step,
        /// How it ended.
        status: String,
        /// What it wrote.
        stderr: String,
    },
    /// The program did not answer in time.
    #[error("{} did not answer `{}` within {} s{}", program.display(), step.method(), after.as_secs_f32(), quoted(stderr))]
    TimedOut {
        /// The program.
        program: PathBuf,
        /// What was asked.
        step: Step,
        /// The time it had, from its start.
        after: Duration,
        /// What it wrote.
        stderr: String,
    },
    /// The program answered something that is not MCP.
    #[error("{} answered `{}` with {found}, expected {expected}{}", program.display(), step.method(), quoted(stderr))]
    Protocol {
        /// The program.
        program: PathBuf,
        /// What was asked.
        step: Step,
        /// What came, shortened.
        found: String,
        /// What should have come.
        expected: &'static str,
        /// What it wrote.
        stderr: String,
    },
    /// The program answered with an error of its own.
    #[error("{} refused `{}`: {message} (code {code})", program.display(), step.method())]
    Refused {
        /// The program.
        program: PathBuf,
        /// What was asked.
        step: Step,
        /// JSON-RPC's code.
        code: i64,
        /// Its message.
        message: String,
    },
}

fn quoted(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!("; it wrote:\n{stderr}")
    }
}

impl McpError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            McpError::Missing { .. } => {
                "run set-up again: it installs the server, or finds uvx where it is now"
            }
            McpError::NoInterpreter { .. } => {
                "Python has moved since the server was installed: remove the profile's mcp folder and run set-up again"
            }
            McpError::NotStarted { .. } => "make the file executable, or run set-up again",
            McpError::Network { .. } => {
                "uvx asks the package index at every start: install python3 (3.10 or newer, with venv) and \
                 run set-up again, which then installs the server into the profile. Codex passes no \
                 proxy variables on: set them in the server's env"
            }
            McpError::TimedOut { .. } => {
                "start it by hand to see what it waits for; on a slow network raise startup_timeout_sec"
            }
            McpError::Exited { .. } | McpError::Protocol { .. } | McpError::Refused { .. } => {
                "start it by hand; if the program is yours, it has to speak MCP on stdout and nothing else"
            }
        }
    }
}

/// How long a server that was told to stop has to go by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Starts a server, asks for its tools, and stops it. It runs in the environment that Codex would
/// give it ([`PASSED_ON`]), so that what works here works there.
///
/// `limit` counts from the start: give the server's `startup_timeout_sec`.
///
/// # Errors
/// See [`McpError`]. Whatever happens, also when the future is dropped, the server and all that it
/// started are gone afterwards.
pub async fn handshake(command: &Command, limit: Duration) -> Result<Handshake, McpError> {
    let mut group = spawn(command)?;
    let tail = Tail::of(piped(&mut group.child.stderr));
    let mut talk = Talk {
        stdin: piped(&mut group.child.stdin),
        stdout: BufReader::new(piped(&mut group.child.stdout)),
        step: Step::Initialize,
        last_id: 0,
    };
    let outcome = timeout(limit, talk.run()).await;
    let step = talk.step;
    // Closing its input is how a client tells a server to stop.
    drop(talk);
    let grace = if outcome.is_ok() {
        GRACE
    } else {
        Duration::ZERO
    };
    let status = match group.stop(grace).await {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let stderr = tail.text().await;
    let program = command.program.clone();
    Err(match outcome {
        Ok(Ok(handshake)) => return Ok(handshake),
        Ok(Err(Fault::Closed)) | Err(_) if network::unreached(&stderr) => {
            McpError::Network { program, stderr }
        }
        Ok(Err(Fault::Closed)) => McpError::Exited {
            program,
            step,
            status,
            stderr,
        },
        Ok(Err(Fault::Protocol { found, expected })) => McpError::Protocol {
            program,
            step,
            found,
            expected,
            stderr,
        },
        Ok(Err(Fault::Refused { code, message })) => McpError::Refused {
            program,
            step,
            code,
            message,
        },
        Err(_) => McpError::TimedOut {
            program,
            step,
            after: limit,
            stderr,
        },
    })
}

fn spawn(command: &Command) -> Result<Group, McpError> {
    let mut process = tokio::process::Command::new(&command.program);
    process
        .args(&command.args)
        .env_clear()
        .envs(
            PASSED_ON
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Group::spawn(&mut process).map_err(|source| {
        let program = command.program.clone();
        match source.kind() {
            io::ErrorKind::NotFound if program.exists() => McpError::NoInterpreter { program },
            io::ErrorKind::NotFound => McpError::Missing { program },
            _ => McpError::NotStarted { program, source },
        }
    })
}

/// What ends a talk early.
enum Fault {
    /// The server closed its output or its input.
    Closed,
    Protocol {
        found: String,
        expected: &'static str,
    },
    Refused {
        code: i64,
        message: String,
    },
}

impl From<io::Error> for Fault {
    fn from(_: io::Error) -> Self {
        // A pipe fails only when its other end is gone; the exit status says more than the error.
        Fault::Closed
    }
}

/// The longest message that is read, in bytes. A list of tools is some kilobytes.
const LONGEST: u64 = 8 * 1024 * 1024;

struct Talk {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    step: Step,
    last_id: u64,
}

impl Talk {
    async fn run(&mut self) -> Result<Handshake, Fault> {
        let hello = self
            .ask(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "codex-ds", "version": env!("CARGO_PKG_VERSION") },
            }))
            .await?;
        if !hello["protocolVersion"].is_string() {
            return Err(Fault::Protocol {
                found: shown(&hello.to_string()),
                expected: "a protocolVersion",
            });
        }
        let text = |key: &str| {
            hello["serverInfo"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let server_info = ServerInfo {
            name: text("name"),
            version: text("version"),
        };

        self.step = Step::ListTools;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await?;
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.ask(params).await?;
            let Some(listed) = page["tools"].as_array() else {
                return Err(Fault::Protocol {
                    found: shown(&page.to_string()),
                    expected: "a list of tools",
                });
            };
            for entry in listed {
                tools.push(tool(entry).ok_or_else(|| Fault::Protocol {
                    found: shown(&entry.to_string()),
                    expected: "a tool with a name",
                })?);
            }
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(Handshake { server_info, tools }),
            }
        }
    }

    /// Sends the step's request and reads up to its answer.
    async fn ask(&mut self, params: Value) -> Result<Value, Fault> {
        self.last_id += 1;
        let id = self.last_id;
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": self.step.method(), "params": params });
        self.send(&request).await?;
        loop {
            let mut message = self.receive().await?;
            if let Some(method) = message["method"].as_str() {
                if !message["id"].is_null() {
                    let answer = answer(method, &message["id"]);
                    self.send(&answer).await?;
                }
                continue;
            }
            if message["id"].as_u64() != Some(id) {
                continue;
            }
            if let Some(error) = message.get("error") {
                return Err(Fault::Refused {
                    code: error["code"].as_i64().unwrap_or_default(),
                    message: shown(error["message"].as_str().unwrap_or("no message")),
                });
            }
            return Ok(message["result"].take());
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), Fault> {
        self.stdin
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        self.stdin.flush().await?;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Value, Fault> {
        loop {
            let mut line = Vec::new();
            (&mut self.stdout)
                .take(LONGEST)
                .read_until(b'\n', &mut line)
                .await?;
            if line.is_empty() {
                return Err(Fault::Closed);
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            return match serde_json::from_slice(&line) {
                Ok(message @ Value::Object(_)) => Ok(message),
                _ => Err(Fault::Protocol {
                    found: shown(String::from_utf8_lossy(&line).trim()),
                    expected: "a JSON-RPC message on a line",
                }),
            };
        }
    }
}

/// The answer to a request of the server's: it asked before it knows that we offer nothing.
fn answer(method: &str, id: &Value) -> Value {
    if method == "ping" {
        json!({ "jsonrpc": "2.0", "id": id, "result": {} })
    } else {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "method not found" } })
    }
}

fn tool(entry: &Value) -> Option<Tool> {
    let sent = json!({
        "name": entry["name"],
        "description": entry["description"],
        "inputSchema": entry["inputSchema"],
    });
    Some(Tool {
        name: entry["name"].as_str()?.to_owned(),
        bytes: sent.to_string().len(),
        read_only_hint: entry["annotations"]["readOnlyHint"].as_bool(),
    })
}

/// The longest piece of an answer that a message repeats, in characters.
const SHOWN: usize = 200;

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}
