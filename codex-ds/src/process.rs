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

/// Waits for Ctrl-C, or a polite request to end.
pub async fn told_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    // Without signals it cannot be told.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// How a program ended that was [`supervise`]d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its status; nothing when the limit passed and it was killed.
    pub status: Option<std::process::ExitStatus>,
    /// Whether it was interrupted while it ran.
    pub interrupted: bool,
}

/// Runs `command` with nothing on standard input and its output where the caller turned it. When
/// `interrupt` comes to its end first, the program gets what Ctrl-C sends. When `limit` passes, or
/// the future is dropped, its whole process group is killed.
///
/// # Errors
/// When it cannot be started or waited for.
pub async fn supervise(
    command: &mut Command,
    limit: Duration,
    interrupt: impl Future<Output = ()>,
) -> Result<Ended> {
    let name = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let mut group = Group::spawn(command.stdin(Stdio::null()))
        .with_context(|| format!("cannot start {name}"))?;
    let mut interrupted = false;
    let watched = async {
        tokio::select! {
            status = group.child.wait() => return status,
            () = interrupt => {}
        }
        interrupted = true;
        interrupt_child(&group.child);
        group.child.wait().await
    };
    let status = match tokio::time::timeout(limit, watched).await {
        Ok(status) => Some(status.with_context(|| format!("cannot wait for {name}"))?),
        Err(_) => None,
    };
    Ok(Ended {
        status,
        interrupted,
    })
}

/// Sends a program what Ctrl-C sends.
#[cfg(unix)]
fn interrupt_child(child: &tokio::process::Child) {
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        // It may have ended in this moment.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
    }
}

#[cfg(not(unix))]
fn interrupt_child(_: &tokio::process::Child) {}
