//! Web pages on this machine, for an MCP server to fetch, and the list of who asked for them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a client may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pages' server, on 127.0.0.1; ends when dropped.
pub(crate) struct Pages {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    visited: Arc<Mutex<Vec<String>>>,
}

impl Pages {
    /// Serves `pages`: paths and what stands in each body.
    ///
    /// # Errors
    /// When the system gives no port.
    pub(crate) fn serve(pages: Vec<(String, String)>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let visited = Arc::new(Mutex::new(Vec::new()));
        let (flag, visits) = (Arc::clone(&ended), Arc::clone(&visited));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(stream) = stream {
                    // One that breaks off is its own loss.
                    let _ = answer(&stream, &pages, &visits);
                }
            }
        });
        Ok(Self {
            address,
            ended,
            visited,
        })
    }

    /// The server's address, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The paths that were asked for.
    pub(crate) fn visited(&self) -> Vec<String> {
        self.visited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread.
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(
    stream: &TcpStream,
    pages: &[(String, String)],
    visited: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    visited
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(path.to_owned());
    // A robots.txt that is not there allows everything.
    let (status, body) = match pages.iter().find(|(page, _)| page == path) {
        Some((_, text)) => ("200 OK", format!("<html><body><p>{text}</p></body></html>")),
        None => ("404 Not Found", String::new()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
