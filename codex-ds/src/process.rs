//! Child processes with a deadline, which take all that they started with them.

use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use codex_ds_mcp::process::Group;
use tokio::process::Command;

/// Runs `command` with nothing on standard input and gives what it printed. When `limit` passes, or
/// the future is dropped, the program and everything that it started in its process group is killed.
///
/// # Errors
/// When it cannot be started, or does not end in time.
pub async fn run(command: &mut Command, limit: Duration) -> Result<Output> {
    run_with_input(command, Vec::new(), limit).await
}

/// As [`run`], with `input` on standard input.
///
/// # Errors
/// As [`run`].
pub async fn run_with_input(
    command: &mut Command,
    input: Vec<u8>,
    limit: Duration,
) -> Result<Output> {
    let name = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let stdin = if input.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    let mut group = Group::spawn(
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    )
    .with_context(|| format!("cannot start {name}"))?;
    match tokio::time::timeout(limit, group.output(&input)).await {
        Ok(output) => output.with_context(|| format!("cannot read what {name} prints")),
        Err(_) => bail!("{name} did not end within {} s", limit.as_secs()),
    }
}
