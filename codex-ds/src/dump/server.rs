//! The listener that Codex talks to.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::proxy;
use super::recorder::Recorder;
use super::store::Outcome;
use super::turn;
use super::upstream::Upstream;
use crate::error::UserError;

/// How long a client may take: one that sends byte by byte is let go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the head of a request.
    pub(super) head: Duration,
    /// For the next bytes of its body.
    pub(super) body: Duration,
}

const PATIENCE: Patience = Patience {
    head: Duration::from_secs(30),
    body: Duration::from_secs(60),
};

/// Who answers.
#[derive(Debug)]
pub enum Answers {
    /// The dump itself, with a minimal turn.
    Itself,
    /// A server, whose answers pass through.
    Upstream(Upstream),
}

/// What the handlers share.
#[derive(Debug)]
pub struct Desk {
    /// The record.
    pub recorder: Recorder,
    /// Who answers.
    pub answers: Answers,
}

/// Takes an address to listen on.
///
/// # Errors
/// When it is not this machine's own and `remote` is not given, or it is taken.
pub async fn bind(address: IpAddr, port: u16, remote: bool) -> Result<TcpListener> {
    if !address.is_loopback() && !remote {
        return Err(UserError::usage(format!(
            "--bind {address}: everyone on that network could read what Codex sends, and use your \
             model server; expected a loopback address such as 127.0.0.1"
        ))
        .hint("add --allow-remote if that is what you want")
        .into());
    }
    let address = SocketAddr::new(address, port);
    TcpListener::bind(address).await.map_err(|error| {
        let taken = error.kind() == std::io::ErrorKind::AddrInUse;
        let failed = UserError::usage(if taken {
            format!("port {port} is taken by another program")
        } else {
            format!("cannot listen on {address}")
        })
        .because(error);
        if port == 0 {
            failed
        } else {
            failed.hint("leave --port away to get a free one")
        }
        .into()
    })
}

/// Serves until it is dropped; every open connection goes with it.
pub async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    serve_with(listener, desk, PATIENCE).await;
}

async fn serve_with(listener: TcpListener, desk: Arc<Desk>, patience: Patience) {
    let app = Router::new().fallback(handle).with_state((desk, patience));
    let mut connections = JoinSet::new();
    loop {
        // Those that have ended are taken away as new ones come.
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, or the client is gone already: the next one may do.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // Each event is a small write that must not wait for the one before to be confirmed.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(app.clone());
        connections.spawn(async move {
            // A connection that breaks is the client's affair; its request is recorded as such.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(patience.head)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn handle(
    State((desk, patience)): State<(Arc<Desk>, Patience)>,
    request: Request,
) -> Response<Body> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let exchange = desk
        .recorder
        .begin(request.method().as_str(), path, request.headers());
    if let Some((status, message)) = not_here(&request) {
        let outcome = Outcome::ClientBroken(message.to_owned());
        let exchange = Arc::new(Mutex::new(exchange));
        return proxy::refused(&exchange, status, message, outcome);
    }
    match &desk.answers {
        Answers::Itself => turn::answer(exchange, request, patience).await,
        Answers::Upstream(upstream) => {
            proxy::forward(&desk, upstream, exchange, request, patience).await
        }
    }
}

/// What a request asks for that is not to be had here.
fn not_here(request: &Request) -> Option<(StatusCode, &'static str)> {
    if request.method() == Method::CONNECT {
        // HTTPS_PROXY leads here.
        return Some((
            StatusCode::NOT_IMPLEMENTED,
            "it is a server to name in base_url, no proxy to set in the environment",
        ));
    }
    let upgrade = request.headers().get(header::UPGRADE)?;
    // Codex asks with HTTP at once where it gets this status, and tries again at any other one.
    upgrade
        .as_bytes()
        .eq_ignore_ascii_case(b"websocket")
        .then_some((
            StatusCode::UPGRADE_REQUIRED,
            "a WebSocket is not passed on; ask with HTTP",
        ))
}

#[cfg(test)]
#[path = "server_tests/mod.rs"]
mod tests;
