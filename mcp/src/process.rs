//! A child process that takes its own children with it.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Output};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A child in a process group of its own: `uvx` and `pip` start programs in turn, and killing only
/// the first would leave the server running. Dropped, the whole group is killed.
#[derive(Debug)]
pub struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    /// The child, to take its pipes.
    pub child: Child,
}

impl Group {
    /// Starts `command` in a new process group.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Group {
            #[cfg(unix)]
            leader: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
            child,
        })
    }

    /// Writes `input` to the child, if its standard input is piped, and waits for its end and that of
    /// its piped streams. Dropped before, it kills the group once `self` is dropped.
    ///
    /// # Errors
    /// When a stream cannot be read, or the child not waited for.
    pub async fn output(&mut self, input: &[u8]) -> io::Result<Output> {
        let stdin = self.child.stdin.take();
        let feed = async {
            if let Some(mut pipe) = stdin {
                // A program that does not read its input is not wrong.
                let _ = pipe.write_all(input).await;
            }
        };
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let ((), stdout, stderr, status) =
            tokio::join!(feed, whole(out), whole(err), self.child.wait());
        Ok(Output {
            status: status?,
            stdout: stdout?,
            stderr: stderr?,
        })
    }

    /// Ends the group: the child has `grace` to go by itself, then everything is killed and the
    /// child reaped.
    ///
    /// # Errors
    /// When the child cannot be waited for.
    pub async fn stop(mut self, grace: Duration) -> io::Result<ExitStatus> {
        let ended = timeout(grace, self.child.wait()).await;
        self.kill();
        match ended {
            Ok(status) => status,
            Err(_) => self.child.wait().await,
        }
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // Fails if the whole group is gone already, which is what it is for.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

async fn whole(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// One of a child's streams.
pub(crate) fn piped<T>(stream: &mut Option<T>) -> T {
    stream.take().expect("the stream is piped, and taken once")
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How much of a program's output is kept for an error, in bytes.
const TAIL: usize = 4096;

/// The end of a stream, read in the background.
pub(crate) struct Tail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl Tail {
    pub(crate) fn of(mut stream: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&bytes);
        let reader = tokio::spawn(async move {
            let mut chunk = [0; 1024];
            while let Ok(read @ 1..) = stream.read(&mut chunk).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&chunk[..read]);
                let surplus = kept.len().saturating_sub(TAIL);
                kept.drain(..surplus);
            }
        });
        Tail { bytes, reader }
    }

    /// What was kept. Call it once the group is gone: a process that left the group may hold the
    /// stream open, so it waits for the stream's end only a moment.
    pub(crate) async fn text(mut self) -> String {
        if timeout(Duration::from_millis(500), &mut self.reader)
            .await
            .is_err()
        {
            self.reader.abort();
        }
        let bytes: Vec<u8> = self
            .bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}
