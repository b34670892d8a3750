//! A plain HTTP/1.1 client that hides nothing: one request a connection, and the answer as it was
//! on the wire.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use codex_ds_wire::sse::{Event, SseReader};
use codex_ds_wire::standin::StandIn;
use serde_json::Value;

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body ended as its framing says, and was not cut.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut reader = SseReader::new();
        let mut events = reader.push(self.body.as_bytes());
        events.extend(reader.finish());
        events
    }

    /// The data of each event as JSON; `[DONE]` stands as a string.
    pub(crate) fn data(&self) -> Vec<Value> {
        self.events()
            .into_iter()
            .map(|event| serde_json::from_str(&event.data).unwrap_or(Value::String(event.data)))
            .collect()
    }
}

pub(crate) fn get(server: &StandIn, path: &str) -> Answer {
    request(server, "GET", path, "", "")
}

pub(crate) fn post(server: &StandIn, path: &str, body: &Value) -> Answer {
    request(
        server,
        "POST",
        path,
        "content-type: application/json\r\n",
        &body.to_string(),
    )
}

pub(crate) fn request(
    server: &StandIn,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Answer {
    let mut stream = send(server, method, path, headers, body);
    let mut bytes = Vec::new();
    // A cut connection is an answer too: what came before it is looked at.
    let _ = stream.read_to_end(&mut bytes);
    parse(&bytes)
}

/// Sends a request and leaves the connection open.
pub(crate) fn send(
    server: &StandIn,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("the stand-in listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream
        .write_all(head.as_bytes())
        .expect("the stand-in reads");
    stream
        .write_all(body.as_bytes())
        .expect("the stand-in reads");
    stream
}

/// Reads until `text` has come.
pub(crate) fn read_until(stream: &mut TcpStream, text: &str) -> String {
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a timeout can be set");
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&bytes).contains(text) {
        match stream.read(&mut piece) {
            Ok(0) => panic!(
                "closed before {text:?}: {}",
                String::from_utf8_lossy(&bytes)
            ),
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error} before {text:?}"),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let head = head.to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let (body, whole) = if head.contains("transfer-encoding: chunked") {
        dechunk(rest.as_bytes())
    } else {
        (
            rest.to_owned(),
            head.contains(&format!("content-length: {}", rest.len())),
        )
    };
    Answer {
        status,
        head,
        body,
        whole,
    }
}

fn dechunk(mut rest: &[u8]) -> (String, bool) {
    let mut body = Vec::new();
    let whole = loop {
        let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
            break false;
        };
        let size = std::str::from_utf8(&rest[..end]).ok();
        let Some(size) = size.and_then(|size| usize::from_str_radix(size, 16).ok()) else {
            break false;
        };
        if size == 0 {
            break true;
        }
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else {
            break false;
        };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    };
    (String::from_utf8_lossy(&body).into_owned(), whole)
}
