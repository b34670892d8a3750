//! The proxy against servers and clients that do as they like, byte by byte.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use bytes::Bytes;
use codex_ds_wire::standin::{Config, Script, StandIn, Turn};
use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;
use crate::dump::recorder::{Recorder, WriterOptions};
use crate::dump::store::{self, End, Header, Outcome, Session};

mod clients;
mod passing;
mod servers;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running dump.
struct Rig {
    address: SocketAddr,
    ends: tokio::sync::mpsc::UnboundedReceiver<End>,
    path: PathBuf,
    desk: Arc<Desk>,
    serving: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Rig {
    async fn start(answers: Answers) -> Self {
        Self::with(answers, super::PATIENCE).await
    }

    async fn with(answers: Answers, patience: Patience) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (told, ends) = tokio::sync::mpsc::unbounded_channel();
        let header = Header {
            schema_version: store::SCHEMA_VERSION,
            started_ms: 0,
            upstream: None,
            codex_args: Vec::new(),
            redacted: true,
        };
        let options = WriterOptions {
            redactor: Some(Vec::new()),
            on_end: Some(Box::new(move |end| {
                let _ = told.send(end.clone());
            })),
            on_failure: Box::new(|error| panic!("{error}")),
        };
        let recorder = Recorder::start(folder.path(), &header, options).unwrap();
        let path = recorder.path().to_owned();
        let listener = bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, false)
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let desk = Arc::new(Desk { recorder, answers });
        let serving = tokio::spawn(serve_with(listener, Arc::clone(&desk), patience));
        Self {
            address,
            ends,
            path,
            desk,
            serving,
            _folder: folder,
        }
    }

    async fn to(upstream: &str) -> Self {
        let url = Url::parse(upstream).unwrap();
        Self::start(Answers::Upstream(Upstream::new(&url, None).unwrap())).await
    }

    /// The next request that ended.
    async fn ended(&mut self) -> End {
        tokio::time::timeout(PATIENCE, self.ends.recv())
            .await
            .expect("in time")
            .expect("an end")
    }

    fn session(&self) -> Session {
        Session::read(&self.path).unwrap()
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads all that comes back until the connection closes.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(PATIENCE, read)
            .await
            .expect("the connection is closed");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A server that takes one connection, and hands it to `act` with the head of its request.
async fn fake<F, R>(act: F) -> (String, tokio::task::JoinHandle<()>)
where
    F: FnOnce(TcpStream, String, Vec<u8>) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    fake_bytes(move |stream, head, body| act(stream, String::from_utf8(head).unwrap(), body)).await
}

/// The same, for a head that is no text.
async fn fake_bytes<F, R>(act: F) -> (String, tokio::task::JoinHandle<()>)
where
    F: FnOnce(TcpStream, Vec<u8>, Vec<u8>) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
        };
        let body = bytes.split_off(end);
        act(stream, bytes, body).await;
    });
    (url, task)
}

const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}
