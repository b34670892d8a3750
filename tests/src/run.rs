//! What a program printed and how it ended.

use std::fmt;
use std::process::Output;

/// A program's output and exit status. Its [`Display`](fmt::Display) form is for snapshots: all
/// three at once, and without what differs from run to run.
#[derive(Debug)]
pub struct Run {
    /// Standard output, as it was.
    pub stdout: String,
    /// Standard error, as it was.
    pub stderr: String,
    /// The exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    replace: Vec<(String, &'static str)>,
}

impl Run {
    /// A run in which these texts are replaced by names, in this order.
    pub(crate) fn new(output: &Output, replace: Vec<(String, &'static str)>) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            replace,
        }
    }

    /// The run, if it ended with status 0.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    #[expect(
        clippy::must_use_candidate,
        clippy::return_self_not_must_use,
        reason = "called for its check"
    )]
    pub fn success(self) -> Self {
        assert!(self.code == Some(0), "expected success\n{self}");
        self
    }

    /// `text` without what differs from run to run: this test's folders and ports on 127.0.0.1.
    #[must_use]
    pub fn normalised(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (found, name) in &self.replace {
            text = text.replace(found, name);
        }
        without_ports(&text)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.normalised(&self.stdout))?;
        if !self.stderr.is_empty() {
            write!(
                f,
                "------- stderr -------\n{}",
                self.normalised(&self.stderr)
            )?;
        }
        match self.code {
            Some(0) => Ok(()),
            Some(code) => write!(f, "[exit status: {code}]"),
            None => f.write_str("[ended by a signal]"),
        }
    }
}

fn without_ports(text: &str) -> String {
    const HOST: &str = "127.0.0.1:";
    let mut result = String::new();
    let mut parts = text.split(HOST);
    result.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        result.push_str(HOST);
        if rest.len() < part.len() {
            result.push_str("[PORT]");
        }
        result.push_str(rest);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::without_ports;

    #[test]
    fn a_port_is_replaced_and_nothing_else() {
        assert_eq!(
            without_ports("a 127.0.0.1:4000/v1 127.0.0.1: 10.0.0.1:80"),
            "a 127.0.0.1:[PORT]/v1 127.0.0.1: 10.0.0.1:80"
        );
    }
}
