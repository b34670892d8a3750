//! The server that requests are passed on to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{Request, Response, Uri};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Client, Url};

use super::plain::Plain;
use super::store::Counters;

/// How long a connection to the server may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the server's counters may take; they are a luxury.
const COUNTERS: Duration = Duration::from_secs(2);

/// Why there is no answer, or no more of it.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;
/// An answer's body.
pub(super) type Answer = BoxStream<'static, Result<Bytes, Failure>>;

/// A path prefix whose requests go elsewhere: the second endpoint of a profile.
pub const NATIVE_PREFIX: &str = "/native";

/// Where requests go.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    main: Server,
    native: Option<Box<Server>>,
    /// Whether `/metrics` has answered so far.
    counters: AtomicBool,
}

#[derive(Debug)]
struct Server {
    /// Its base URL without `/v1`.
    root: Url,
    /// How it is spoken to where neither TLS nor a proxy of the environment is in between.
    plain: Option<Arc<Plain>>,
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
            main: Server::new(base),
            native: native.map(|base| Box::new(Server::new(base))),
            counters: AtomicBool::new(true),
        })
    }

    /// The server's root: its base URL without `/v1`.
    #[must_use]
    pub fn root(&self) -> &Url {
        &self.main.root
    }

    /// The client for requests of our own.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The server that a path goes to, and the path there.
    fn server<'p>(&self, path: &'p str) -> (&Server, &'p str) {
        match (&self.native, path.strip_prefix(NATIVE_PREFIX)) {
            (Some(native), Some(rest)) if rest.starts_with('/') => (native, rest),
            _ => (&self.main, path),
        }
    }

    pub(super) fn target(&self, path: &str) -> Url {
        let (server, path) = self.server(path);
        server.target(path)
    }

    /// Passes a request on, whose URI is a path, and gives its answer once the head of it is there.
    ///
    /// # Errors
    /// When there is no connection, or it breaks off before.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Answer>, Failure> {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let (server, path) = self.server(path);
        let target = server.target(path);
        if let Some(plain) = &server.plain {
            *request.uri_mut() = target.as_str().parse::<Uri>()?;
            let answer = plain.send(request, CONNECT).await?;
            return Ok(answer.map(|body| body.map_err(Failure::from).boxed()));
        }
        let (parts, body) = request.into_parts();
        let mut outgoing = self
            .client
            .request(parts.method, target)
            .headers(parts.headers);
        // A body of no bytes would be sent as one of unknown length.
        if !body.is_end_stream() {
            outgoing = outgoing.body(reqwest::Body::wrap_stream(body.into_data_stream()));
        }
        let answer: Response<reqwest::Body> = outgoing.send().await?.into();
        Ok(answer.map(|body| {
            Body::new(body)
                .into_data_stream()
                .map_err(Failure::from)
                .boxed()
        }))
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

impl Server {
    fn new(base: &Url) -> Self {
        let root = root(base);
        let proxied = |root: &Url| {
            let uri = root.as_str().parse::<Uri>();
            uri.is_ok_and(|uri| Matcher::from_system().intercept(&uri).is_some())
        };
        let plain = Plain::new(&root).filter(|_| !proxied(&root)).map(Arc::new);
        Self { root, plain }
    }

    fn target(&self, path: &str) -> Url {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let mut url = self.root.clone();
        url.set_path(&format!("{}{path}", self.root.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }
}

/// A server's root: its base URL without `/v1`.
pub(super) fn root(base: &Url) -> Url {
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
