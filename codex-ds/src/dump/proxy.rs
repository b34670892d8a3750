//! Passes requests on and answers back, byte for byte and as they come.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;

use super::recorder::Exchange;
use super::server::Desk;
use super::server::Patience;
use super::store::{Outcome, is_model_request};
use super::upload::{Shared, Upload, note};
use super::upstream::{Answer, Failure, Upstream};

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

/// Passes one request on.
pub(super) async fn forward(
    desk: &Arc<Desk>,
    upstream: &Upstream,
    exchange: Exchange,
    request: Request,
    patience: Patience,
) -> Response<Body> {
    let n = exchange.number();
    let exchange = Arc::new(Mutex::new(exchange));
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut headers = passing(&parts.headers);
    headers.remove(header::HOST);
    // So that what comes back can be read along.
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );

    let upload = Upload::new(&parts.headers, body, &exchange, patience.body);
    let is_empty = upload.is_at_end();
    let upload = Arc::new(tokio::sync::Mutex::new(upload));
    let outgoing = if is_empty {
        Body::empty()
    } else {
        Body::from_stream(stream::unfold(Arc::clone(&upload), async |upload| {
            let next = upload.lock().await.next().await?;
            Some((next, upload))
        }))
    };
    let mut outgoing = Request::new(outgoing);
    *outgoing.method_mut() = parts.method.clone();
    *outgoing.uri_mut() = parts.uri.clone();
    *outgoing.headers_mut() = headers;
    let answer = match upstream.send(outgoing).await.and_then(no_switch) {
        Ok(answer) => answer,
        Err(error) => {
            let mut upload = upload.lock().await;
            // What could not be sent on is worth a look all the same.
            while upload.next().await.is_some() {}
            return failed(&exchange, upstream, upload.broken.take(), &*error);
        }
    };
    let (head, body) = answer.into_parts();
    let headers = passing(&head.headers);
    note(&exchange, |exchange| {
        exchange.response(head.status.as_u16(), &headers);
    });
    let counted = is_model_request(parts.method.as_str(), path);
    let mut rest = Rest {
        exchange,
        desk: counted.then(|| (Arc::clone(desk), n)),
        left: answer_length(&parts.method, head.status, &head.headers),
    };
    rest.sent(0);
    let mut response = Response::new(Body::from_stream(passed(body, rest)));
    *response.status_mut() = head.status;
    *response.headers_mut() = headers;
    response
}

/// An answer, unless the server goes over to another protocol, which nobody asked it for: `upgrade`
/// belongs to the client's connection.
fn no_switch(answer: Response<Answer>) -> Result<Response<Answer>, Failure> {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err("it switches to another protocol, unasked".into());
    }
    Ok(answer)
}

/// How long the answer's body is, where its head says so.
fn answer_length(method: &Method, status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if *method == Method::HEAD || bodiless {
        return Some(0);
    }
    content_length(headers)
}

pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
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
fn passed(body: Answer, rest: Rest) -> impl Stream<Item = Result<Bytes, Failure>> + Send + 'static {
    stream::unfold(Some((body, rest)), async |state| {
        let (mut body, mut rest) = state?;
        match body.next().await {
            Some(Ok(bytes)) => {
                note(&rest.exchange, |exchange| exchange.chunk(&bytes));
                rest.sent(bytes.len());
                Some((Ok(bytes), Some((body, rest))))
            }
            Some(Err(error)) => {
                let why = causes(&*error);
                note(&rest.exchange, |exchange| {
                    exchange.end(Outcome::UpstreamCut(why));
                });
                // An error ends the client's connection at once: what came before it has to be out.
                tokio::task::yield_now().await;
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
    error: &(dyn std::error::Error + 'static),
) -> Response<Body> {
    if let Some(why) = broken {
        let message = format!("the request broke off: {why}");
        let outcome = Outcome::ClientBroken(why);
        return refused(exchange, StatusCode::BAD_REQUEST, &message, outcome);
    }
    let why = causes(error);
    let message = format!("no answer from {}: {why}", upstream.root());
    let outcome = Outcome::Unreachable(why);
    refused(exchange, StatusCode::BAD_GATEWAY, &message, outcome)
}

/// An answer of the dump's own that says why there is no other, in the form of a model server's.
pub(super) fn refused(
    exchange: &Shared,
    status: StatusCode,
    message: &str,
    outcome: Outcome,
) -> Response<Body> {
    let kind = match status {
        StatusCode::BAD_GATEWAY => "upstream_unreachable",
        _ => "broken_request",
    };
    let message = format!("codex-ds dump: {message}");
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
}
