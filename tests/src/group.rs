//! Child processes that end with the test, together with all that they started.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// A child in a process group of its own. Dropped, the whole group is killed.
#[derive(Debug)]
pub struct Group {
    child: Option<Child>,
    id: Pid,
}

impl Group {
    /// Starts `command` in a new process group.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = Pid::from_child(&child);
        Ok(Self {
            child: Some(child),
            id,
        })
    }

    /// The child, to take its pipes.
    pub fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Waits for the end and collects what the child printed; after `limit` kills the group.
    ///
    /// # Errors
    /// When the limit is reached, or a pipe breaks.
    pub fn output_within(mut self, limit: Duration) -> io::Result<Output> {
        let child = self
            .child
            .take()
            .ok_or_else(|| io::Error::other("the child was waited for already"))?;
        let id = self.id;
        let (done, ended) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            let late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if late {
                kill(id);
            }
            late
        });
        let output = child.wait_with_output();
        drop(done);
        if watch.join().unwrap_or(false) {
            let printed = output.map(|output| {
                let mut text = output.stdout;
                text.extend(output.stderr);
                String::from_utf8_lossy(&text).into_owned()
            })?;
            return Err(io::Error::other(format!(
                "not ended after {limit:?}; it printed:\n{printed}"
            )));
        }
        output
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(self.id);
        if let Some(child) = &mut self.child {
            // Only to leave no zombie; how it ended is of no interest any more.
            let _ = child.wait();
        }
    }
}

fn kill(id: Pid) {
    // The group is gone where every process of it has ended, which is what is wanted.
    let _ = rustix::process::kill_process_group(id, Signal::KILL);
}
