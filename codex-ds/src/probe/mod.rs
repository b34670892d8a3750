//! Questions to an endpoint, each answered by typed evidence. What it means is judged elsewhere.
//!
//! | module | asks |
//! | --- | --- |
//! | [`network`] | is there a way to the endpoint: proxy, name, port, TLS or not |
//! | [`endpoint`] | what answers there, with which models, to which key |
//! | [`litellm`] | what an error means, which a router or Codex words badly |
//! | [`stream`] | one streamed answer, as Codex asks for it |
//! | [`conversation`] | tool calls, their replay, and where the instructions land |
//! | [`reasoning`] | which levels of thinking are accepted, and what they do |
//! | [`limits`] | a prompt that is too long, a stream that is held back |
//! | [`engine`] | what the engine behind the endpoint counts |
//!
//! Nothing here changes what a server holds, and a [`Failure`] is an answer like any other.

use std::time::Duration;

use anyhow::Result;
use codex_ds_wire::Secret;
use reqwest::{Client, RequestBuilder, Response, Url};

use crate::reach::{self, cause};

pub mod conversation;
pub mod endpoint;
pub mod engine;
pub mod limits;
pub mod litellm;
pub mod network;
pub mod reasoning;
pub mod stream;

/// A model at an endpoint.
#[derive(Clone, Debug)]
pub struct Target {
    /// The base URL, with `/v1` and without a slash at the end.
    pub base: Url,
    /// The model.
    pub model: String,
    /// The key that is sent.
    pub key: Option<Secret>,
    client: Client,
}

impl Target {
    /// A target at the address `base`, which may end in a slash.
    ///
    /// # Errors
    /// When the address is no URL of HTTP, or the system has no certificates for TLS.
    pub fn new(base: &str, model: &str, key: Option<Secret>) -> Result<Self> {
        let base = Url::parse(base.trim_end_matches('/'))?;
        if !matches!(base.scheme(), "http" | "https") {
            anyhow::bail!("it begins with neither http:// nor https://");
        }
        Ok(Self {
            client: reach::client(&base, None)?,
            base,
            model: model.to_owned(),
            key,
        })
    }

    /// The server itself, without `/v1`.
    #[must_use]
    pub fn root(&self) -> &str {
        let base = self.base.as_str().trim_end_matches('/');
        base.strip_suffix("/v1").unwrap_or(base)
    }

    fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url)
    }

    /// A request for what lies at `path` under the base URL, with the key.
    fn request(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        let base = self.base.as_str().trim_end_matches('/');
        let request = self.client.request(method, format!("{base}{path}"));
        match &self.key {
            Some(key) => request.bearer_auth(key.expose()),
            None => request,
        }
    }
}

/// Why there is no answer, or not the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nothing came.
    #[error("no answer within {} s", .0.as_secs_f32())]
    Silent(Duration),
    /// The connection was not made, or broke.
    #[error("the connection failed: {0}")]
    Transport(String),
    /// Another status than 2xx.
    #[error("HTTP {status}: {said}")]
    Refused {
        /// The status.
        status: u16,
        /// What the server says: the error's message, or the beginning of the body.
        said: String,
    },
    /// Another kind of answer.
    #[error("answered {found}; expected {expected}")]
    Other {
        /// What came.
        found: String,
        /// What should have come.
        expected: &'static str,
    },
    /// The stream ended, or stopped, before its last event.
    #[error("the stream {how} after {events} events, before response.completed")]
    Unfinished {
        /// "broke off" or "stopped".
        how: &'static str,
        /// Events that came.
        events: usize,
    },
    /// The answer says itself that it failed.
    #[error("the answer failed: {0}")]
    Failed(String),
}

/// Sends a request, and gives the answer when its head is there; any status will do.
async fn send(request: RequestBuilder, limit: Duration) -> Result<Response, Failure> {
    match tokio::time::timeout(limit, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) if error.is_timeout() => Err(Failure::Silent(limit)),
        Ok(Err(error)) => Err(Failure::Transport(cause(&error))),
        Err(_) => Err(Failure::Silent(limit)),
    }
}

/// The text of an answer with status 2xx.
async fn text(request: RequestBuilder, limit: Duration) -> Result<String, Failure> {
    let whole = async {
        let response = send(request, limit).await?;
        let status = response.status();
        let body = response
            .text()
            .await
            .map_err(|error| Failure::Transport(cause(&error)))?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(Failure::Refused {
                status: status.as_u16(),
                said: said(&body),
            })
        }
    };
    tokio::time::timeout(limit, whole)
        .await
        .unwrap_or(Err(Failure::Silent(limit)))
}

/// What a body says for a human: an error's message, else its beginning.
fn said(body: &str) -> String {
    let json = serde_json::from_str::<serde_json::Value>(body).unwrap_or_default();
    let message = ["/error/message", "/error", "/detail", "/message"]
        .iter()
        .find_map(|path| json.pointer(path)?.as_str());
    excerpt(message.unwrap_or(body))
}

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    const MOST: usize = 300;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "(nothing)".to_owned(),
        None => line,
    }
}
