//! Passes requests on and answers back, byte for byte and as they come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use reqwest::{Client, Url};
use serde_json::json;

use super::recorder::Exchange;
use super::server::Desk;
use super::store::{Counters, Outcome, is_model_request};

/// How long a client may pause in the middle of a request's body.
const PAUSE: Duration = Duration::from_secs(60);
/// How long a connection to the server may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the server's counters may take; they are a luxury.
const COUNTERS: Duration = Duration::from_secs(2);

/// Headers that belong to a connection, not to the message (RFC 9110, 7.6.1), and those that the
/// other connection sets itself.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
];

/// A path prefix whose requests go elsewhere: the second endpoint of a profile.
pub const NATIVE_PREFIX: &str = "/native";

/// Where requests go.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    root: Url,
    native: Option<Url>,
    /// Whether `/metrics` has answered so far.
    counters: AtomicBool,
}

impl Upstream {
    /// A server by its base URL, which ends in `/v1`; `native` is where what comes under
    /// [`NATIVE_PREFIX`] goes.
    ///
    /// # Errors
    /// When there is no TLS.
    pub fn new(base: &Url, native: Option<&Url>) -> Result<Self> {
        // A second installation in one process is refused, and the first one serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()
            .context("cannot set up a client")?;
        Ok(Self {
            client,
            root: root(base),
            native: native.map(root),
            counters: AtomicBool::new(true),
        })
    }

    /// The server's root: its base URL without `/v1`.
    #[must_use]
    pub fn root(&self) -> &Url {
        &self.root
    }

    /// The client that requests are made with.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn target(&self, path: &str) -> Url {
        let (root, path) = match (&self.native, path.strip_prefix(NATIVE_PREFIX)) {
            (Some(native), Some(rest)) if rest.starts_with('/') => (native, rest),
            _ => (&self.root, path),
        };
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let mut url = root.clone();
        url.set_path(&format!("{}{path}", root.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }

    /// The prefix-cache counters of a vLLM, summed over its models.
    pub(super) async fn counters(&self, n: u64) -> Option<Counters> {
        if !self.counters.load(Ordering::Relaxed) {
            return None;
        }
        let read = async {
            let url = self.target("/metrics");
            let answer = self.client.get(url).timeout(COUNTERS).send().await.ok()?;
            let text = answer.error_for_status().ok()?.text().await.ok()?;
            counters(&text)
        };
        let found = read.await;
        if found.is_none() {
            self.counters.store(false, Ordering::Relaxed);
        }
        found.map(|(queries, hits)| Counters { n, queries, hits })
    }
}

fn root(base: &Url) -> Url {
    let mut root = base.clone();
    let path = root.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    root.set_path(&path);
    root
}

/// Reads `vllm:prefix_cache_queries_total` and `…_hits_total` (vLLM 0.32.0).
fn counters(metrics: &str) -> Option<(u64, u64)> {
    let sum = |name: &str| {
        let values: Vec<f64> = metrics
            .lines()
            .filter(|line| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(['{', ' ']))
            })
            .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
            .collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a counter is a whole number of tokens; a negative one becomes 0"
        )]
        let total = values.iter().sum::<f64>() as u64;
        (!values.is_empty()).then_some(total)
    };
    Some((
        sum("vllm:prefix_cache_queries_total")?,
        sum("vllm:prefix_cache_hits_total")?,
    ))
}

/// An exchange that the two directions share while both are under way.
type Shared = Arc<Mutex<Exchange>>;

fn note<T>(exchange: &Shared, act: impl FnOnce(&mut Exchange) -> T) -> T {
    act(&mut exchange.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Passes one request on.
pub(super) async fn forward(
    desk: &Arc<Desk>,
    upstream: &Upstream,
    exchange: Exchange,
    request: Request,
) -> Response<Body> {
    let n = exchange.number();
    let exchange = Arc::new(Mutex::new(exchange));
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let length = content_length(&parts.headers);
    let has_body = length > Some(0) || parts.headers.contains_key(header::TRANSFER_ENCODING);
    let mut headers = passing(&parts.headers);
    headers.remove(header::HOST);
    // So that what comes back can be read along.
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );

    let upload = Arc::new(tokio::sync::Mutex::new(Upload {
        body: body.into_data_stream(),
        left: length.or((!has_body).then_some(0)),
        exchange: Arc::clone(&exchange),
        broken: None,
    }));
    let mut outgoing = upstream
        .client
        .request(parts.method.clone(), upstream.target(path))
        .headers(headers);
    if has_body {
        let sent = stream::unfold(Arc::clone(&upload), async |upload| {
            let next = upload.lock().await.next().await?;
            Some((next, upload))
        });
        outgoing = outgoing.body(reqwest::Body::wrap_stream(sent));
    } else {
        note(&exchange, Exchange::request_end);
    }
    let answer = match outgoing.send().await {
        Ok(answer) => answer,
        Err(error) => {
            let mut upload = upload.lock().await;
            // What could not be sent on is worth a look all the same.
            while upload.next().await.is_some() {}
            return failed(&exchange, upstream, upload.broken.take(), &error);
        }
    };
    let status = answer.status();
    let headers = passing(answer.headers());
    note(&exchange, |exchange| {
        exchange.response(status.as_u16(), &headers);
    });
    let counted = is_model_request(parts.method.as_str(), path);
    let mut rest = Rest {
        exchange,
        desk: counted.then(|| (Arc::clone(desk), n)),
        left: answer_length(&parts.method, &answer),
    };
    rest.sent(0);
    let mut response = Response::new(Body::from_stream(passed(answer.bytes_stream(), rest)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// How long the answer's body is, where its head says so.
fn answer_length(method: &Method, answer: &reqwest::Response) -> Option<u64> {
    let bodiless = matches!(
        answer.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if *method == Method::HEAD || bodiless {
        return Some(0);
    }
    content_length(answer.headers())
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// The headers that go on: all but those of the connection, and those that it names as such.
fn passing(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    headers
        .iter()
        .filter(|(name, _)| !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The client's body on its way.
struct Upload {
    body: BodyDataStream,
    /// Bytes that are still to come, where that is known: nobody asks for more behind them.
    left: Option<u64>,
    exchange: Shared,
    /// Why it broke off.
    broken: Option<String>,
}

impl Upload {
    /// The next bytes, copied; an error once when it breaks off.
    async fn next(&mut self) -> Option<std::io::Result<Bytes>> {
        if self.broken.is_some() || self.left == Some(0) {
            return None;
        }
        let why = match tokio::time::timeout(PAUSE, self.body.next()).await {
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
            Err(_) => format!("no more of the body came within {} s", PAUSE.as_secs()),
        };
        self.broken = Some(why.clone());
        Some(Err(std::io::Error::other(why)))
    }
}

/// What goes along with the rest of an answer.
struct Rest {
    exchange: Shared,
    desk: Option<(Arc<Desk>, u64)>,
    /// Bytes that are still to come, where that is known. Nobody asks for more behind them, so
    /// that the end has to be noted with the last.
    left: Option<u64>,
}

impl Rest {
    fn sent(&mut self, bytes: usize) {
        self.left = self.left.map(|left| left.saturating_sub(bytes as u64));
        if self.left == Some(0) {
            self.complete();
        }
    }

    fn complete(&mut self) {
        note(&self.exchange, |exchange| exchange.end(Outcome::Complete));
        if let Some((desk, n)) = self.desk.take() {
            let hold = desk.recorder.hold();
            tokio::spawn(async move {
                read_counters(&desk, n).await;
                drop(hold);
            });
        }
    }
}

/// The server's body on its way, copied. Dropped by a client that goes, it drops the server's
/// answer with it, and the exchange says so.
fn passed(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + Unpin + 'static,
    rest: Rest,
) -> impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static {
    stream::unfold(Some((body, rest)), async |state| {
        let (mut body, mut rest) = state?;
        match body.next().await {
            Some(Ok(bytes)) => {
                note(&rest.exchange, |exchange| exchange.chunk(&bytes));
                rest.sent(bytes.len());
                Some((Ok(bytes), Some((body, rest))))
            }
            Some(Err(error)) => {
                let why = causes(&error);
                note(&rest.exchange, |exchange| {
                    exchange.end(Outcome::UpstreamCut(why));
                });
                Some((Err(error), None))
            }
            None => {
                rest.complete();
                None
            }
        }
    })
}

/// Asks the server for its counters and notes them.
pub(super) async fn read_counters(desk: &Desk, n: u64) {
    if let super::server::Answers::Upstream(upstream) = &desk.answers
        && let Some(counters) = upstream.counters(n).await
    {
        desk.recorder.counters(counters);
    }
}

/// What the client gets when the server gave no answer at all.
fn failed(
    exchange: &Shared,
    upstream: &Upstream,
    broken: Option<String>,
    error: &reqwest::Error,
) -> Response<Body> {
    let (status, kind, message, outcome) = if let Some(why) = broken {
        (
            StatusCode::BAD_REQUEST,
            "broken_request",
            format!("codex-ds dump: the request broke off: {why}"),
            Outcome::ClientBroken(why),
        )
    } else {
        let why = causes(error);
        (
            StatusCode::BAD_GATEWAY,
            "upstream_unreachable",
            format!("codex-ds dump: no answer from {}: {why}", upstream.root),
            Outcome::Unreachable(why),
        )
    };
    let body = json!({"error": {"message": message, "type": kind, "code": status.as_u16()}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    note(exchange, |exchange| exchange.end(outcome));
    response
}

/// An error and its causes, without the URL, which may hold a key.
pub(super) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = Vec::new();
    let mut at = Some(error);
    while let Some(error) = at {
        let line = match error.downcast_ref::<reqwest::Error>() {
            Some(error) if error.url().is_some() => {
                let line = error.to_string();
                line.split(" for url (")
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            }
            _ => error.to_string(),
        };
        // Many libraries repeat their cause in their own words.
        if text.last() != Some(&line) {
            text.push(line);
        }
        at = error.source();
    }
    text.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_the_prefix_of_the_server_and_native_goes_elsewhere() {
        let url = |text: &str| Url::parse(text).expect("a URL");
        let upstream = Upstream::new(
            &url("https://lab/llm/v1"),
            Some(&url("http://127.0.0.1:8000/v1/")),
        )
        .expect("a client");
        for (path, target) in [
            ("/v1/responses", "https://lab/llm/v1/responses"),
            (
                "/v1/models?a=1&b=%20",
                "https://lab/llm/v1/models?a=1&b=%20",
            ),
            ("/native/v1/responses", "http://127.0.0.1:8000/v1/responses"),
            ("/natively", "https://lab/llm/natively"),
            ("/metrics", "https://lab/llm/metrics"),
        ] {
            assert_eq!(upstream.target(path).as_str(), target);
        }
    }

    #[test]
    fn headers_of_the_connection_stay_behind() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-mine"),
            ("x-mine", "1"),
            ("transfer-encoding", "chunked"),
            ("x-other", "2"),
            ("authorization", "Bearer x"),
        ] {
            headers.append(
                name.parse::<HeaderName>().expect("a name"),
                HeaderValue::from_static(value),
            );
        }
        let kept: Vec<String> = passing(&headers).keys().map(ToString::to_string).collect();
        assert_eq!(kept, ["x-other", "authorization"]);
    }

    #[test]
    fn counters_are_summed_over_models() {
        let text = "# TYPE vllm:prefix_cache_queries_total counter\n\
                    vllm:prefix_cache_queries_total{model=\"a\"} 10.0\n\
                    vllm:prefix_cache_queries_total{model=\"b\"} 5.0\n\
                    vllm:prefix_cache_hits_total{model=\"a\"} 4.0\n\
                    vllm:prefix_cache_hits_created{model=\"a\"} 1.7e9\n";
        assert_eq!(counters(text), Some((15, 4)));
        assert_eq!(counters("up 1\n"), None);
    }
}
