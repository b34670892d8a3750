//! The only place that writes to the terminal.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};

use crate::error::UserError;

/// Writes to standard output; colour is stripped where it is not wanted. A closed pipe is no error.
pub fn out(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

/// Writes to standard error; colour is stripped where it is not wanted.
pub fn err(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Writes a warning to standard error.
pub fn warn(text: &str) {
    err(&format!("warning: {text}\n"));
}

/// Writes a JSON document to standard output.
pub fn json(value: &serde_json::Value) {
    out(&format!("{value:#}\n"));
}

/// Whether questions can be asked.
#[must_use]
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for a line; an empty one is `None`. Only call this where [`can_ask`].
///
/// # Errors
/// When standard input cannot be read.
pub fn ask(question: &str) -> std::io::Result<Option<String>> {
    err(question);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

/// Asks a yes-or-no question; anything but yes is no. Only call this where [`can_ask`].
///
/// # Errors
/// When standard input cannot be read.
pub fn confirm(question: &str) -> std::io::Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?;
    Ok(answer.is_some_and(|a| matches!(a.to_ascii_lowercase().as_str(), "y" | "yes")))
}

/// The same; where nobody can be asked, an error that names `--yes`.
///
/// # Errors
/// When nobody can be asked, or standard input cannot be read.
pub fn agreed(question: &str) -> anyhow::Result<bool> {
    if !can_ask() {
        return Err(UserError::usage("cannot ask: this is not a terminal")
            .hint("read what is above, then run it again with --yes")
            .into());
    }
    Ok(confirm(question)?)
}

/// Whether [`progress`] shows anything.
#[must_use]
pub fn can_show_progress() -> bool {
    std::io::stderr().is_terminal()
}

/// A line on standard error that says what is going on, on a terminal only; gone when dropped.
///
/// # Panics
/// Never: its template is a constant.
#[must_use]
pub fn progress(text: &str) -> Progress {
    let bar = if std::io::stderr().is_terminal() {
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
                .expect("a constant template"),
        );
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        bar
    } else {
        ProgressBar::hidden()
    };
    Progress(bar)
}

/// See [`progress`].
pub struct Progress(ProgressBar);

impl Progress {
    /// Replaces the text.
    pub fn set(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }

    /// Takes the line away while `print` writes.
    pub fn hide(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
