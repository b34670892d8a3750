//! Servers that say in their log when they are ready.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::group::Group;

/// Python servers take some seconds to start, vLLM up to a minute, and on a loaded machine thrice
/// that.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts a server and waits for the line on its standard error from which `ready` makes
/// something, which it returns.
///
/// # Panics
/// When the server cannot be started, ends, or is not ready in time; then with what it printed.
pub(crate) fn start<T: Send + 'static>(
    mut command: Command,
    ready: impl Fn(&str) -> Option<T> + Send + 'static,
) -> (Group, T) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    let mut group = Group::spawn(&mut command).unwrap_or_else(|error| panic!("{name}: {error}"));
    let log = group
        .child()
        .and_then(|child| child.stderr.take())
        .expect("standard error is piped");
    let (found, wait) = mpsc::channel();
    // Reads on to the end: a server must not block on a full pipe.
    thread::spawn(move || {
        let mut printed = String::new();
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            if let Some(value) = ready(&line) {
                // After the first one nobody listens any more.
                let _ = found.send(Ok(value));
            }
            printed.push_str(&line);
            printed.push('\n');
        }
        let _ = found.send(Err(printed));
    });
    match wait.recv_timeout(PATIENCE) {
        Ok(Ok(value)) => (group, value),
        Ok(Err(printed)) => panic!("{name} ended; it printed:\n{printed}"),
        Err(error) => panic!("{name} is not ready after {PATIENCE:?}: {error}"),
    }
}
