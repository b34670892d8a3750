//! Child processes with a deadline, which take all that they started with them.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::{Child, Command};

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
    match tokio::time::timeout(limit, group.output(input)).await {
        Ok(output) => output.with_context(|| format!("cannot read what {name} prints")),
        Err(_) => bail!("{name} did not end within {} s", limit.as_secs()),
    }
}

struct Group {
    child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl Group {
    fn spawn(command: &mut Command) -> io::Result<Self> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Self {
            #[cfg(unix)]
            id: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
            child,
        })
    }

    async fn output(&mut self, input: Vec<u8>) -> io::Result<Output> {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let (mut out, mut err) = (self.child.stdout.take(), self.child.stderr.take());
        let stdin = self.child.stdin.take();
        let write_in = async {
            if let Some(mut pipe) = stdin {
                // A program that does not read its input is not wrong.
                let _ = pipe.write_all(&input).await;
            }
        };
        let read_out = async {
            match &mut out {
                Some(pipe) => pipe.read_to_end(&mut stdout).await,
                None => Ok(0),
            }
        };
        let read_err = async {
            match &mut err {
                Some(pipe) => pipe.read_to_end(&mut stderr).await,
                None => Ok(0),
            }
        };
        let ((), read_out, read_err, status) =
            tokio::join!(write_in, read_out, read_err, self.child.wait());
        read_out?;
        read_err?;
        Ok(Output {
            status: status?,
            stdout,
            stderr,
        })
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        // After the program's own end this reaches what it left running; usually nothing is left.
        if let Some(id) = self.id {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}
