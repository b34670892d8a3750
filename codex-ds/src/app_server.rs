//! A conversation with `codex app-server`: the way to ask the installed Codex what it makes of a
//! profile, without a model or a request.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use crate::env;

/// How long one answer may take; the measured ones take 0.1 to 1.4 seconds.
const DEADLINE: Duration = Duration::from_secs(60);

/// How much of what it says on standard error is kept, bytes.
const LONGEST_COMPLAINT: u64 = 16 * 1024;

/// A running `codex app-server`; ended when dropped.
pub struct AppServer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    warnings: Vec<ConfigWarning>,
    /// Reads what it says on standard error, up to its end.
    said: Option<JoinHandle<String>>,
}

impl AppServer {
    /// Starts `codex app-server` on the profile in `home`, in the folder `cwd`, and shakes hands.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn start(codex: &Path, home: &Path, cwd: &Path) -> Result<Self> {
        Self::start_with(codex, &[], home, cwd)
    }

    /// As [`Self::start`], with options of Codex's in front of the command.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(codex: &Path, options: &[OsString], home: &Path, cwd: &Path) -> Result<Self> {
        let mut child = Command::new(codex)
            .args(options)
            .arg("app-server")
            .env(env::CODEX_HOME, home)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {} app-server", codex.display()))?;
        let stdout = child.stdout.take().context("the pipe was asked for")?;
        let stderr = child.stderr.take().context("the pipe was asked for")?;
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            // What it says beyond that is read and dropped, so that it does not wait for us.
            let mut stderr = BufReader::new(stderr);
            let _ = (&mut stderr).take(LONGEST_COMPLAINT).read_to_end(&mut said);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            String::from_utf8_lossy(&said).into_owned()
        });
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
            warnings: Vec::new(),
            said: Some(said),
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
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if self.send(&message).is_err() {
            return Err(self.ended(method));
        }
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
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(method)),
            };
            let Ok(message) = serde_json::from_str::<Json>(&line) else {
                continue;
            };
            if message["method"] == "configWarning" {
                self.warnings.push(ConfigWarning::of(&message["params"]));
            }
            if message["id"] != json!(id) || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("codex app-server refused {method}: {}", error["message"]);
            }
            return Ok(message["result"].clone());
        }
    }

    /// It is gone: why, by its own words.
    fn ended(&mut self, method: &str) -> anyhow::Error {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let said = self.said.take().and_then(|said| said.join().ok());
        let said = said.unwrap_or_default();
        // Below the message Codex prints a stack of addresses.
        let (said, _) = said.split_once("Stack backtrace").unwrap_or((&said, ""));
        anyhow::anyhow!(
            "codex app-server ended before it answered {method}: {}",
            said.trim()
        )
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

    /// What Codex has said so far of the configuration. It comes before the answer to the first call
    /// after the handshake (seen with 0.163.0 and 0.171.0).
    #[must_use]
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
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

/// A complaint of Codex's about its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigWarning {
    /// What it is about; with keys that are ignored, a line for each.
    pub summary: String,
    /// The place and the reason, where a file cannot be read.
    pub details: String,
}

impl ConfigWarning {
    fn of(params: &Json) -> Self {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        Self {
            summary: text("summary"),
            details: text("details"),
        }
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
