//! A web page on this machine, for the MCP server to fetch.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What only somebody who read the page can know.
pub(super) const CONTENT: &str = "The spare QSFP cable is in drawer 7.";

/// The page's server; ends when dropped.
pub(super) struct Page {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Page {
    pub(super) fn serve() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(stream) = stream {
                    // One that breaks off is its own loss.
                    let _ = answer(&stream);
                }
            }
        });
        Ok(Self { address, ended })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/cables", self.address)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread.
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(stream: &TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    // A robots.txt that is not there allows everything.
    let (status, body) = if request.starts_with("GET /cables ") {
        (
            "200 OK",
            format!("<html><body><p>{CONTENT}</p></body></html>"),
        )
    } else {
        ("404 Not Found", String::new())
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
