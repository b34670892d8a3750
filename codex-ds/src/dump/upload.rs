//! The body of a request on its way in, copied.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt as _;

use super::proxy::{causes, content_length};
use super::recorder::Exchange;

/// An exchange that its two directions share while both are under way.
pub(super) type Shared = Arc<Mutex<Exchange>>;

/// Does something with an exchange that is shared.
pub(super) fn note<T>(exchange: &Shared, act: impl FnOnce(&mut Exchange) -> T) -> T {
    act(&mut exchange.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The client's body on its way.
pub(super) struct Upload {
    body: BodyDataStream,
    /// Bytes that are still to come, where that is known: nobody asks for more behind them.
    left: Option<u64>,
    exchange: Shared,
    /// How long the client may pause.
    patience: Duration,
    /// Why it broke off.
    pub(super) broken: Option<String>,
}

impl Upload {
    pub(super) fn new(
        headers: &HeaderMap,
        body: Body,
        exchange: &Shared,
        patience: Duration,
    ) -> Self {
        let length = content_length(headers);
        let is_empty = !headers.contains_key(header::TRANSFER_ENCODING) && length.is_none();
        let left = length.or(is_empty.then_some(0));
        if left == Some(0) {
            note(exchange, Exchange::request_end);
        }
        Self {
            body: body.into_data_stream(),
            left,
            exchange: Arc::clone(exchange),
            patience,
            broken: None,
        }
    }

    /// Whether nothing is to come.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == Some(0)
    }

    /// The next bytes, copied; an error once when it breaks off.
    pub(super) async fn next(&mut self) -> Option<std::io::Result<Bytes>> {
        if self.broken.is_some() || self.is_at_end() {
            return None;
        }
        let why = match tokio::time::timeout(self.patience, self.body.next()).await {
            Ok(Some(Ok(bytes))) => {
                note(&self.exchange, |exchange| exchange.request_chunk(&bytes));
                self.left = self
                    .left
                    .map(|left| left.saturating_sub(bytes.len() as u64));
                if self.left == Some(0) {
                    note(&self.exchange, Exchange::request_end);
                }
                return Some(Ok(bytes));
            }
            Ok(None) => {
                self.left = Some(0);
                note(&self.exchange, Exchange::request_end);
                return None;
            }
            Ok(Some(Err(error))) => causes(&error),
            Err(_) => format!(
                "no more of the body came within {} s",
                self.patience.as_secs()
            ),
        };
        self.broken = Some(why.clone());
        Some(Err(std::io::Error::other(why)))
    }
}
