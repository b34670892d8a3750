//! HTTP by hand: what is sent is exactly what stands there.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Sends `bytes` to `address` and reads what comes back until the connection closes.
///
/// # Panics
/// When there is no connection.
#[must_use]
pub fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut stream =
        TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    // A server may answer and close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Gets `path`; the whole answer, head and body.
///
/// # Panics
/// As [`exchange`].
#[must_use]
pub fn get(address: &str, path: &str) -> String {
    get_from(address, path, address)
}

/// The same, as somebody who believes that the server is called `host`.
///
/// # Panics
/// As [`exchange`].
#[must_use]
pub fn get_from(address: &str, path: &str, host: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    exchange(address, request.as_bytes())
}

/// Posts `body` to `path` with more `headers`, each with its line's end.
///
/// # Panics
/// As [`exchange`].
#[must_use]
pub fn post(address: &str, path: &str, headers: &str, body: &[u8]) -> String {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    exchange(address, &[head.as_bytes(), body].concat())
}
