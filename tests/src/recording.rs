//! A `codex-ds dump` that stays until it is told to end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::environment::TestEnvironment;
use crate::group::Group;

const PATIENCE: Duration = Duration::from_secs(120);

/// A program that runs in the background, and what it prints.
#[derive(Debug)]
pub struct Background {
    group: Group,
    stdout: JoinHandle<String>,
    lines: Receiver<String>,
    stderr: String,
}

/// How one ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    /// All that it printed.
    pub stdout: String,
    /// The same.
    pub stderr: String,
}

impl Background {
    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group = Group::spawn(&mut command).expect("the program starts");
        let child = group.child().expect("it was just started");
        let mut stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let (line, lines) = mpsc::channel();
        thread::spawn(move || {
            for read in BufReader::new(stderr).lines().map_while(Result::ok) {
                // Nobody may want it any more.
                let _ = line.send(read);
            }
        });
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.read_to_string(&mut text);
            text
        });
        Self {
            group,
            stdout,
            lines,
            stderr: String::new(),
        }
    }

    /// The next line on standard error that holds `text`.
    ///
    /// # Panics
    /// When none comes.
    #[track_caller]
    pub fn line(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("{text:?} did not come; before it came:\n{}", self.stderr);
            };
            self.stderr.push_str(&line);
            self.stderr.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The line on standard error that holds `text`, of those that came already.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    #[track_caller]
    pub fn earlier(&self, text: &str) -> String {
        let line = self.stderr.lines().find(|line| line.contains(text));
        let line = line.unwrap_or_else(|| panic!("{text:?} is not in:\n{}", self.stderr));
        line.to_owned()
    }

    /// Sends it a signal, not its group.
    ///
    /// # Panics
    /// When it has ended.
    pub fn signal(&mut self, signal: Signal) {
        let child = self.group.child().expect("it was not waited for");
        let id = Pid::from_child(child);
        rustix::process::kill_process(id, signal).expect("it still runs");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it cannot be waited for.
    #[must_use]
    pub fn ended(mut self) -> Ended {
        let status = self
            .group
            .child()
            .expect("it was not waited for")
            .wait()
            .expect("it is our child");
        for line in &self.lines {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
        }
        Ended {
            code: status.code(),
            stdout: self.stdout.join().expect("the reader does not panic"),
            stderr: self.stderr,
        }
    }

    /// Ctrl-C, and its end.
    #[must_use]
    pub fn interrupt(mut self) -> Ended {
        self.signal(Signal::INT);
        self.ended()
    }
}

/// `codex-ds dump OPTIONS`, and the address (`127.0.0.1:PORT`) that it listens on.
///
/// # Panics
/// When it does not listen.
#[must_use]
pub fn recording(env: &TestEnvironment, options: &[&str]) -> (Background, String) {
    let args = [&["dump"], options].concat();
    let mut dump = Background::start(env.codex_ds(args).into_command());
    let line = dump.line("listening on http://");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next())
        .expect("an address")
        .to_owned();
    (dump, address)
}
