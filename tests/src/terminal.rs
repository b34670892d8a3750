//! A terminal for programs that want one.

use std::io::{Read as _, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment::TestEnvironment;
use crate::group::Group;

const PATIENCE: Duration = Duration::from_secs(120);
/// How long a program that waits for keys prints nothing.
const QUIET: Duration = Duration::from_secs(1);
/// How long a key may take to show.
const AGAIN: Duration = Duration::from_secs(2);

/// A shell's command in a pseudo-terminal of 120 columns and 40 rows, made by `script`. It answers
/// the one question that programs do not do without: where the cursor is.
#[derive(Debug)]
pub struct Terminal {
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    /// Behind what was waited for.
    from: usize,
    /// Behind the questions that were answered.
    answered: usize,
    _group: Group,
}

impl Terminal {
    /// Starts `command` for `sh`.
    ///
    /// # Panics
    /// When `script` is not installed.
    #[must_use]
    pub fn start(env: &TestEnvironment, command: &str) -> Self {
        let sized = format!("stty rows 40 cols 120; {command}");
        let args: Vec<&str> = if cfg!(target_os = "macos") {
            vec!["-q", "/dev/null", "sh", "-c", &sized]
        } else {
            vec!["--quiet", "--command", &sized, "/dev/null"]
        };
        let mut command = env
            .program("script", args)
            .env("TERM", "xterm-256color")
            .into_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut group = Group::spawn(&mut command).expect("script is installed (bsdutils)");
        let child = group.child().expect("it was just started");
        let input = child.stdin.take().expect("it is piped");
        let mut stdout = child.stdout.take().expect("it is piped");
        let (chunk, output) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut bytes) {
                if chunk.send(bytes[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            input,
            output,
            seen: Vec::new(),
            from: 0,
            answered: 0,
            _group: group,
        }
    }

    /// Types `keys`.
    ///
    /// # Panics
    /// When the program has ended.
    pub fn send(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).expect("it reads");
        self.input.flush().expect("it reads");
    }

    /// Waits until `text` is printed behind what was waited for last; spaces do not count, since a
    /// program may move the cursor instead.
    ///
    /// # Panics
    /// When it does not come.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        assert!(
            self.comes(text, PATIENCE),
            "{text:?} did not come; there is\n{}",
            plain(&self.seen)
        );
    }

    /// Waits until nothing more is printed for a while: a program that has just asked something may
    /// first throw away what was typed before.
    pub fn settle(&mut self) {
        while let Ok(chunk) = self.output.recv_timeout(QUIET) {
            self.take(&chunk);
        }
    }

    /// Types `keys` until `text` comes: a program that has just drawn itself may not listen yet.
    ///
    /// # Panics
    /// When it does not come.
    #[track_caller]
    pub fn press(&mut self, keys: &str, text: &str) {
        for _ in 0..20 {
            self.send(keys);
            if self.comes(text, AGAIN) {
                return;
            }
        }
        panic!("{text:?} did not come; there is\n{}", plain(&self.seen));
    }

    fn comes(&mut self, text: &str, limit: Duration) -> bool {
        let wanted: String = text.split_whitespace().collect();
        let deadline = Instant::now() + limit;
        loop {
            let shown: String = plain(&self.seen[self.from..]).split_whitespace().collect();
            if shown.contains(&wanted) {
                self.from = self.seen.len();
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(chunk) => self.take(&chunk),
                Err(_) => return false,
            }
        }
    }

    /// Waits for the end, and gives all that was printed, as it came.
    ///
    /// # Panics
    /// When there is no end.
    #[must_use]
    pub fn end(mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(chunk) => self.take(&chunk),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("it does not end; there is\n{}", plain(&self.seen))
                }
            }
        }
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    fn take(&mut self, chunk: &[u8]) {
        const WHERE: &[u8] = b"\x1b[6n";
        self.seen.extend_from_slice(chunk);
        while let Some(at) = self.seen[self.answered..]
            .windows(WHERE.len())
            .position(|window| window == WHERE)
        {
            self.answered += at + WHERE.len();
            // It may have ended meanwhile.
            let _ = self.input.write_all(b"\x1b[1;1R");
        }
    }
}

/// What is printed, without control sequences.
#[must_use]
pub fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            // CSI: parameters up to a letter.
            Some('[') => {
                let _ = chars.by_ref().find(|c| ('@'..='~').contains(c));
            }
            // OSC: a text up to BEL, or to ESC and a backslash.
            Some(']') => {
                while let Some(c) = chars.next() {
                    if c == '\x07' || (c == '\x1b' && chars.next().is_some()) {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn control_sequences_are_taken_out() {
        let bytes = b"a\x1b[1;31mb\x1b[?2004hc\x1b]0;title\x07d\x1b]10;?\x1b\\e\x1b7f";
        assert_eq!(plain(bytes), "abcdef");
    }
}
