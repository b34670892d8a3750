//! A proxy that lets nothing through and remembers who asked.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::environment::TestEnvironment;

/// Every request that leaves the machine goes to a proxy where one is set. This one refuses all of
/// them, and keeps their first lines (`CONNECT example.com:443 HTTP/1.1`).
#[derive(Debug)]
pub struct RecordingProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RecordingProxy {
    /// Starts a proxy on 127.0.0.1.
    ///
    /// # Panics
    /// When the system gives no port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (asked, stop) = (Arc::clone(&asked), Arc::clone(&stop));
            move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    if let Ok(stream) = stream {
                        let asked = Arc::clone(&asked);
                        thread::spawn(move || refuse(stream, &asked));
                    }
                }
            }
        });
        Self {
            address,
            asked,
            stop,
            thread: Some(thread),
        }
    }

    /// Makes every program of `environment` use this proxy for all but 127.0.0.1.
    pub fn watch(&self, environment: &mut TestEnvironment) {
        let url = format!("http://{}", self.address);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            environment.set(name, &url);
            environment.set(&name.to_lowercase(), &url);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            environment.set(name, "127.0.0.1,localhost");
        }
    }

    /// What was asked for so far, one line a request.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for RecordingProxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn refuse(stream: TcpStream, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    // A client that goes away without a word, or speaks no HTTP, came here all the same.
    let _ = reader.read_line(&mut line);
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(line.trim_end().to_owned());
    let _ = reader
        .into_inner()
        .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}
