//! The copy of what passes, on its way to the disk.
//!
//! Whoever handles a request hands pieces to an [`Exchange`], which never waits: a thread of its own
//! masks and writes them. What it has not got round to is bounded; beyond that the copy is dropped,
//! counted, and said so. A disk that is full or slow costs the record, never the client.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use axum::http::HeaderMap;
use bytes::Bytes;

use super::store::{self, Counters, End, Header, Outcome};
use super::writer::Writer;
use crate::error::UserError;

/// The most bytes that wait for the disk.
const WAITING: usize = 8 << 20;
/// How long the start waits for the first line.
const FIRST_LINE: Duration = Duration::from_secs(2);
/// What a message costs beside its bytes, about.
const MESSAGE: usize = 256;

/// What goes to the writing thread.
#[derive(Debug)]
pub(super) enum Message {
    Begin {
        n: u64,
        at_ms: u64,
        method: String,
        path: String,
        headers: Vec<(String, String)>,
    },
    RequestChunk {
        n: u64,
        bytes: Bytes,
    },
    RequestEnd {
        n: u64,
        lost: u64,
    },
    Response {
        n: u64,
        us: u64,
        status: u16,
        headers: Vec<(String, String)>,
    },
    Chunk {
        n: u64,
        us: u64,
        bytes: Bytes,
    },
    End {
        n: u64,
        us: u64,
        outcome: Outcome,
        lost: u64,
    },
    Counters(Counters),
    /// Everything before it was handled when its other end hangs up.
    Flush(Sender<()>),
}

impl Message {
    pub(super) fn cost(&self) -> usize {
        let bytes = match self {
            Self::RequestChunk { bytes, .. } | Self::Chunk { bytes, .. } => bytes.len(),
            Self::Begin { headers, .. } | Self::Response { headers, .. } => headers
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum(),
            _ => 0,
        };
        bytes + MESSAGE
    }
}

/// What stands between whoever hands messages over and the thread that writes them.
#[derive(Debug, Default)]
struct Queue {
    /// What all messages in it cost.
    waiting: AtomicUsize,
    /// Messages that have been written.
    written: AtomicU64,
}

/// What the handle and its exchanges share.
#[derive(Debug)]
struct Shared {
    sender: Sender<Message>,
    queue: Arc<Queue>,
    numbers: AtomicU64,
    /// Bytes that were dropped, of all exchanges.
    lost: AtomicU64,
    /// Whether the recording is about to end, and takes its connections with it.
    stopped: AtomicBool,
}

impl Shared {
    /// Hands a message over; false when there is no room for its copy.
    fn send(&self, message: Message, room: usize) -> bool {
        let cost = message.cost();
        let before = self.queue.waiting.fetch_add(cost, Ordering::Relaxed);
        if before + cost > room || self.sender.send(message).is_err() {
            self.queue.waiting.fetch_sub(cost, Ordering::Relaxed);
            return false;
        }
        true
    }
}

/// Writes a session. Dropped, or after [`Recorder::finish`], all that came is on disk.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Starts a session in `folder`, in a new file that only its owner can read.
    ///
    /// # Errors
    /// When the folder or the file cannot be made.
    pub fn start(folder: &Path, header: &Header, options: WriterOptions) -> Result<Self> {
        let (path, file) = new_file(folder, header.started_ms)?;
        let recorder = Self::over(Box::new(file), path, header, options)?;
        // Without its first line it is no session for whoever looks at it now. A disk that hangs
        // holds up the start no longer than this.
        let _ = recorder.flush(FIRST_LINE);
        Ok(recorder)
    }

    /// The same over any writer.
    pub(super) fn over(
        sink: Box<dyn Write + Send>,
        path: PathBuf,
        header: &Header,
        options: WriterOptions,
    ) -> Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let queue = Arc::new(Queue::default());
        let emptied = Arc::clone(&queue);
        let mut writer = Writer::new(sink, options);
        let header = header.clone();
        let thread = std::thread::Builder::new()
            .name("dump".to_owned())
            .spawn(move || {
                step_back();
                // Here already: the first line must not make anyone wait for the disk either.
                writer.begin(header);
                run(&receiver, &emptied, &mut writer);
            })
            .context("cannot start the writing thread")?;
        Ok(Self {
            shared: Arc::new(Shared {
                sender,
                queue,
                numbers: AtomicU64::new(0),
                lost: AtomicU64::new(0),
                stopped: AtomicBool::new(false),
            }),
            path,
            thread: Some(thread),
        })
    }

    /// The session's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that passed and were not written down because the disk was too slow.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Begins a request.
    #[must_use]
    pub fn begin(&self, method: &str, path: &str, headers: &HeaderMap) -> Exchange {
        let n = self.shared.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let mut exchange = Exchange {
            n,
            start: Instant::now(),
            shared: Arc::clone(&self.shared),
            lost: 0,
            ended: false,
        };
        exchange.note(Message::Begin {
            n,
            at_ms: now_ms(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: pairs(headers),
        });
        exchange
    }

    /// Notes the server's counters, read after request `n`.
    pub fn counters(&self, counters: Counters) {
        self.shared.send(Message::Counters(counters), 2 * WAITING);
    }

    /// Keeps the recorder's end waiting for something that belongs to the record.
    pub(super) fn hold(&self) -> Hold {
        Hold(Arc::clone(&self.shared))
    }

    /// Says that what is cut off from here on is cut off by the end of the recording.
    pub(super) fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Exchanges and holds that are under way.
    pub(super) fn under_way(&self) -> usize {
        Arc::strong_count(&self.shared) - 1
    }

    /// Waits until all that was handed over is written; false if nothing at all was for so long. A
    /// thread that is slow, on a machine that is busy, is waited for.
    #[must_use]
    pub fn flush(&self, patience: Duration) -> bool {
        let (done, wait) = mpsc::channel();
        if !self.shared.send(Message::Flush(done), usize::MAX) {
            return false;
        }
        let written = || self.shared.queue.written.load(Ordering::Relaxed);
        let mut before = written();
        // The other end only ever hangs up.
        while wait.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            let now = written();
            if now == before {
                return false;
            }
            before = now;
        }
        true
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // The thread ends when the last exchange is gone, which may be never: a handler that hangs
        // holds one. All that matters is on disk after this.
        if self.flush(Duration::from_secs(10)) {
            drop(self.thread.take());
        }
    }
}

/// See [`Recorder::hold`].
pub(super) struct Hold(#[expect(dead_code, reason = "counted, not read")] Arc<Shared>);

/// Is told of each request's end.
pub type OnEnd = Box<dyn FnMut(&End) + Send>;
/// Is told of the disk's refusal.
pub type OnFailure = Box<dyn FnMut(&std::io::Error) + Send>;

/// How a session is written.
pub struct WriterOptions {
    /// Masks secrets; nothing writes everything as it came.
    pub redactor: Option<Vec<codex_ds_wire::Secret>>,
    /// Told of each request's end, on the writing thread.
    pub on_end: Option<OnEnd>,
    /// Told once when the disk refuses a line.
    pub on_failure: OnFailure,
}

fn run(receiver: &Receiver<Message>, queue: &Queue, writer: &mut Writer) {
    loop {
        let message = match receiver.try_recv() {
            Ok(message) => message,
            Err(TryRecvError::Disconnected) => break,
            // What is gathered is on disk whenever there is nothing more to do.
            Err(TryRecvError::Empty) => {
                writer.flush();
                match receiver.recv() {
                    Ok(message) => message,
                    Err(mpsc::RecvError) => break,
                }
            }
        };
        let cost = message.cost();
        writer.take(message);
        queue.waiting.fetch_sub(cost, Ordering::Relaxed);
        queue.written.fetch_add(1, Ordering::Relaxed);
    }
    writer.flush();
}

/// Lets everything else go first where processors are scarce: the copy must not slow down what it
/// is a copy of.
fn step_back() {
    // On Linux a priority is a thread's; elsewhere it would be that of the whole program.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), BACK);
}

/// How far the writing thread steps back: a tenth of what others get, by the kernel's weights for a
/// nice value.
#[cfg(target_os = "linux")]
const BACK: i32 = 10;

/// One request on its way through. Dropped before its end, it counts as left by its client, or as
/// cut off by the end of the recording.
#[derive(Debug)]
pub struct Exchange {
    n: u64,
    start: Instant,
    shared: Arc<Shared>,
    lost: u64,
    ended: bool,
}

impl Exchange {
    /// Its number in the session.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.n
    }

    fn us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Small things find room where copies do not any more.
    fn note(&mut self, message: Message) {
        self.shared.send(message, 2 * WAITING);
    }

    fn copy(&mut self, message: Message, length: usize) {
        // A body with a hole in it would be read as another one: after the first loss no more.
        if self.lost > 0 || !self.shared.send(message, WAITING) {
            let length = length as u64;
            self.lost += length;
            self.shared.lost.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// The next bytes of the request's body.
    pub fn request_chunk(&mut self, bytes: &Bytes) {
        let message = Message::RequestChunk {
            n: self.n,
            bytes: bytes.clone(),
        };
        self.copy(message, bytes.len());
    }

    /// The request's body is complete, or breaks off here.
    pub fn request_end(&mut self) {
        let message = Message::RequestEnd {
            n: self.n,
            lost: self.lost,
        };
        self.note(message);
    }

    /// The head of the answer.
    pub fn response(&mut self, status: u16, headers: &HeaderMap) {
        let us = self.us();
        self.note(Message::Response {
            n: self.n,
            us,
            status,
            headers: pairs(headers),
        });
    }

    /// The next bytes of the answer's body.
    pub fn chunk(&mut self, bytes: &Bytes) {
        let message = Message::Chunk {
            n: self.n,
            us: self.us(),
            bytes: bytes.clone(),
        };
        self.copy(message, bytes.len());
    }

    /// The end; what comes after the first one does not count.
    pub fn end(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let message = Message::End {
            n: self.n,
            us: self.us(),
            outcome,
            lost: self.lost,
        };
        self.note(message);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.end(if self.shared.stopped.load(Ordering::Relaxed) {
            Outcome::Stopped
        } else {
            Outcome::ClientGone
        });
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = match std::str::from_utf8(value.as_bytes()) {
                Ok(value) => value.to_owned(),
                // Latin-1, as HTTP had it: no byte is lost.
                Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
            };
            (name.to_string(), value)
        })
        .collect()
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

fn new_file(folder: &Path, started_ms: u64) -> Result<(PathBuf, File)> {
    make_private(folder)?;
    let time = super::clock::file_name(started_ms);
    for number in 1_u32.. {
        let name = match number {
            1 => format!("{time}{}", store::SUFFIX),
            // Behind the first of the same second in order, which `-` would not be.
            number => format!("{time}_{number}{}", store::SUFFIX),
        };
        let path = folder.join(name);
        let mut options = std::fs::OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => {
                // Held as long as somebody writes, for those who read along. Not every file system
                // has locks.
                let _ = file.lock();
                return Ok((path, file));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(no_store(&path, error)),
        }
    }
    unreachable!("a folder cannot hold 2^32 sessions of one second")
}

fn make_private(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| no_store(folder, error))
}

fn no_store(path: &Path, error: std::io::Error) -> anyhow::Error {
    UserError::new(format!(
        "cannot make {}, to write the session to",
        path.display()
    ))
    .because(error)
    .hint("name a folder that you can write to: --store DIR")
    .into()
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
