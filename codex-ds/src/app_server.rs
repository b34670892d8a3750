//! A conversation with `codex app-server`: the way to ask the installed Codex what it makes of a
//! profile, without a model or a request.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use crate::env;

/// How long one answer may take; the measured ones take 0.1 to 1.4 seconds.
const DEADLINE: Duration = Duration::from_secs(60);

/// A running `codex app-server`; ended when dropped.
pub struct AppServer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl AppServer {
    /// Starts `codex app-server` on the profile in `home`, in the folder `cwd`, and shakes hands.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn start(codex: &Path, home: &Path, cwd: &Path) -> Result<Self> {
        let mut child = Command::new(codex)
            .arg("app-server")
            .env(env::CODEX_HOME, home)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {} app-server", codex.display()))?;
        let stdout = child.stdout.take().context("the pipe was asked for")?;
        let stdin = child.stdin.take();
        let (sender, lines) = channel();
        // Ends with the pipe, so with the child.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            child,
            stdin,
            lines,
            next_id: 0,
        };
        server.call(
            "initialize",
            &json!({ "clientInfo": { "name": "codex-ds", "version": env!("CARGO_PKG_VERSION") } }),
        )?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "initialized" }))?;
        Ok(server)
    }

    /// Calls `method` and waits for its result.
    ///
    /// # Errors
    /// When the answer is an error, or none comes.
    pub fn call(&mut self, method: &str, params: &Json) -> Result<Json> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    bail!(
                        "codex app-server did not answer {method} within {} s",
                        DEADLINE.as_secs()
                    )
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("codex app-server ended before it answered {method}")
                }
            };
            let Ok(message) = serde_json::from_str::<Json>(&line) else {
                continue;
            };
            if message["id"] != json!(id) || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("codex app-server refused {method}: {}", error["message"]);
            }
            return Ok(message["result"].clone());
        }
    }

    /// The hooks that Codex sees from the folder `cwd`, with the trust that it gives them.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn hooks(&mut self, cwd: &Path) -> Result<Vec<Hook>> {
        let answer = self.call("hooks/list", &json!({ "cwds": [cwd] }))?;
        let hooks = answer["data"][0]["hooks"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        Ok(hooks
            .iter()
            .map(|hook| Hook {
                key: text(&hook["key"]),
                command: text(&hook["command"]),
                hash: text(&hook["currentHash"]),
                trust: text(&hook["trustStatus"]),
                enabled: hook["enabled"].as_bool().unwrap_or(true),
            })
            .collect())
    }

    fn send(&mut self, message: &Json) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is open until the end")?;
        writeln!(stdin, "{message}")
            .and_then(|()| stdin.flush())
            .context("codex app-server does not take input any more")
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        // It ends when its input does; whoever hangs is killed. Both ways it is waited for.
        self.stdin.take();
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A hook as `hooks/list` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The key of its trust entry.
    pub key: String,
    /// Its command.
    pub command: String,
    /// The hash of its definition, as Codex computes it.
    pub hash: String,
    /// `trusted`, `untrusted`, `modified` or `managed`.
    pub trust: String,
    /// Whether it is switched on.
    pub enabled: bool,
}

impl Hook {
    /// Whether Codex runs it.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.enabled && matches!(self.trust.as_str(), "trusted" | "managed")
    }
}
