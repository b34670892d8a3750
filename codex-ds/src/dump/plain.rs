//! Connections to a server without TLS, each driven by the task that waits for its answer.
//!
//! A general client gives each connection a task of its own, which hands every chunk to the one that
//! wants it: for each event of a stream two tasks are woken, and a small write follows. Here one task
//! drives both ends, so that what has arrived together goes on together, and nothing waits for more.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderValue, Request, Response, Uri, header};
use bytes::BytesMut;
use futures_util::Stream;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpStream;

use super::upstream::Failure;

/// The most bytes that go on at once.
const MOST: usize = 64 << 10;
/// How many connections are kept for the next requests.
const IDLE: usize = 64;

/// A server that is spoken to without TLS.
#[derive(Debug)]
pub(super) struct Plain {
    host: String,
    port: u16,
    /// The `host` header.
    authority: HeaderValue,
    idle: Mutex<Vec<Line>>,
}

/// A connection.
#[derive(Debug)]
struct Line {
    sender: SendRequest<Body>,
    /// Nothing once it is closed.
    connection: Option<Connection<TokioIo<TcpStream>, Body>>,
}

impl Plain {
    /// For the server of this URL; nothing where its scheme is another one.
    pub(super) fn new(url: &Url) -> Option<Self> {
        if url.scheme() != "http" {
            return None;
        }
        let shown = url.host_str()?;
        // An IPv6 address stands in brackets in a URL, and in none for the resolver.
        let host = shown.trim_matches(['[', ']']).to_owned();
        let authority = match url.port() {
            Some(port) => format!("{shown}:{port}"),
            None => shown.to_owned(),
        };
        Some(Self {
            host,
            port: url.port_or_known_default()?,
            authority: authority.parse().ok()?,
            idle: Mutex::default(),
        })
    }

    /// Sends a request, and gives its answer as soon as its head is there.
    ///
    /// # Errors
    /// When there is no connection within `patience`, or it breaks off before.
    pub(super) async fn send(
        self: &Arc<Self>,
        request: Request<Body>,
        patience: Duration,
    ) -> Result<Response<Answer>, Failure> {
        let mut request = origin_form(request, &self.authority)?;
        loop {
            let (mut line, kept) = match self.kept().await {
                Some(line) => (line, true),
                None => (self.connect(patience).await?, false),
            };
            match line.send(request).await {
                Ok(response) => {
                    return Ok(response.map(|body| Answer {
                        body,
                        line: Some(line),
                        home: Arc::clone(self),
                        behind: Behind::Open,
                    }));
                }
                // A kept connection may have been closed by the server while nobody looked.
                Err((_, Some(back))) if kept => request = *back,
                Err((error, _)) => return Err(error.into()),
            }
        }
    }

    async fn connect(&self, patience: Duration) -> Result<Line, Failure> {
        let stream = TcpStream::connect((self.host.as_str(), self.port));
        let stream = tokio::time::timeout(patience, stream).await.map_err(|_| {
            let seconds = patience.as_secs();
            io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no connection within {seconds} s"),
            )
        })??;
        stream.set_nodelay(true)?;
        let (sender, connection) = Builder::new().handshake(TokioIo::new(stream)).await?;
        let mut line = Line {
            sender,
            connection: Some(connection),
        };
        // It takes a request once it has been driven.
        poll_fn(|cx| line.ready(cx)).await?;
        Ok(line)
    }

    /// A connection that was used before and is still open.
    async fn kept(&self) -> Option<Line> {
        loop {
            let mut line = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop()?;
            let open = poll_fn(|cx| {
                line.drive(cx);
                Poll::Ready(line.connection.is_some() && line.sender.is_ready())
            });
            if open.await {
                return Some(line);
            }
        }
    }

    fn keep(&self, line: Line) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(line);
        }
    }
}

/// The request as it goes over the wire: a path, and the server's name in a header.
fn origin_form(
    mut request: Request<Body>,
    authority: &HeaderValue,
) -> Result<Request<Body>, Failure> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>()?;
    request
        .headers_mut()
        .insert(header::HOST, authority.clone());
    Ok(request)
}

impl Line {
    /// Lets the connection read and write what it can.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            // Why it ended is told to whoever waits for an answer on it.
            self.connection = None;
        }
    }

    fn ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.drive(cx);
        self.sender.poll_ready(cx)
    }

    /// Sends a request; gives it back with the error where nothing of it was sent.
    async fn send(
        &mut self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Box<Request<Body>>>)> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let connection = &mut self.connection;
        poll_fn(|cx| {
            if let Some(driven) = connection
                && Pin::new(driven).poll(cx).is_ready()
            {
                *connection = None;
            }
            answer.as_mut().poll(cx)
        })
        .await
        .map_err(|mut error| (error.take_message().map(Box::new), error.into_error()))
        .map_err(|(back, error)| (error, back))
    }
}

/// An answer's body: whatever has arrived, at most [`MOST`] bytes at once. Dropped before its end, it
/// closes the connection.
pub(super) struct Answer {
    body: Incoming,
    line: Option<Line>,
    home: Arc<Plain>,
    /// What was found behind the bytes that went on last.
    behind: Behind,
}

/// What comes behind the bytes so far.
enum Behind {
    /// More, perhaps.
    Open,
    Failure(hyper::Error),
    End,
}

impl Answer {
    fn chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
        loop {
            let mut frame = Pin::new(&mut self.body).poll_frame(cx);
            if frame.is_pending()
                && let Some(line) = &mut self.line
            {
                line.drive(cx);
                frame = Pin::new(&mut self.body).poll_frame(cx);
            }
            match frame {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers belong to the connection.
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn end(&mut self) {
        if let Some(line) = self.line.take() {
            self.home.keep(line);
        }
    }

    /// What has arrived; nothing where nothing has.
    fn arrived(&mut self, cx: &mut Context<'_>) -> Option<Bytes> {
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while matches!(self.behind, Behind::Open) && first.len().max(all.len()) < MOST {
            let bytes = match self.chunk(cx) {
                Poll::Ready(Some(Ok(bytes))) => bytes,
                Poll::Ready(Some(Err(error))) => {
                    self.behind = Behind::Failure(error);
                    break;
                }
                Poll::Ready(None) => {
                    self.behind = Behind::End;
                    break;
                }
                Poll::Pending => break,
            };
            // A single chunk goes on as it is; only several are put together.
            if first.is_empty() {
                first = bytes;
                continue;
            }
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&bytes);
        }
        let bytes = if all.is_empty() { first } else { all.freeze() };
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl Stream for Answer {
    type Item = hyper::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let bytes = self.arrived(cx);
        if self.body.is_end_stream() || matches!(self.behind, Behind::End) {
            self.end();
        }
        if let Some(bytes) = bytes {
            return Poll::Ready(Some(Ok(bytes)));
        }
        match std::mem::replace(&mut self.behind, Behind::End) {
            Behind::Failure(error) => Poll::Ready(Some(Err(error))),
            Behind::End => Poll::Ready(None),
            Behind::Open => {
                self.behind = Behind::Open;
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
