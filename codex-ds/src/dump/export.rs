//! What others read: HAR, and a command line for curl.

use serde_json::{Value, json};

use super::store::{self, Exchange, Session};
use super::{analysis, clock};

/// Where a request went that the dump answered itself: an example, to be replaced.
const NOWHERE: &str = "http://127.0.0.1:8000/";

fn url(session: &Session, exchange: &Exchange) -> String {
    let root = session.header.upstream.as_deref().unwrap_or(NOWHERE);
    format!("{}{}", root.trim_end_matches('/'), exchange.request.path)
}

/// A session as HAR 1.2. A streamed answer is a text body, with its events and their times in
/// `_events` (names with an underscore are the format's place for additions).
pub(super) fn har(session: &Session) -> Value {
    let entries: Vec<Value> = session
        .exchanges
        .iter()
        .map(|exchange| entry(session, exchange))
        .collect();
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "codex-ds", "version": env!("CARGO_PKG_VERSION")},
        "entries": entries,
    }})
}

fn entry(session: &Session, exchange: &Exchange) -> Value {
    let request = &exchange.request;
    let headers = |headers: &[(String, String)]| -> Vec<Value> {
        headers
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect()
    };
    let query: Vec<Value> = request
        .path
        .split_once('?')
        .map_or("", |(_, query)| query)
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({"name": name, "value": value})
        })
        .collect();
    let none = Vec::new();
    let response = exchange.response.as_ref();
    let answered = response.map_or(&none, |response| &response.headers);
    let kind = |of: &[(String, String)]| {
        store::header(of, "content-type")
            .unwrap_or_default()
            .to_owned()
    };
    let end_us = exchange.end.as_ref().map_or(0, |end| end.us);
    let head_us = response.map_or(end_us, |response| response.us);
    let answer = exchange.answer();
    json!({
        "startedDateTime": clock::iso(request.at_ms),
        "time": ms(end_us),
        "request": {
            "method": request.method,
            "url": url(session, exchange),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(&request.headers),
            "queryString": query,
            "postData": {"mimeType": kind(&request.headers), "text": request.body.as_deref().unwrap_or_default()},
            "headersSize": -1,
            "bodySize": request.bytes,
        },
        "response": {
            "status": response.map_or(0, |response| response.status),
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(answered),
            "content": {"size": answer.len(), "mimeType": kind(answered), "text": answer},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": exchange.end.as_ref().map_or(0, |end| end.response_bytes),
            "_events": events(exchange),
        },
        "cache": {},
        "timings": {"send": 0, "wait": ms(head_us), "receive": ms(end_us.saturating_sub(head_us))},
        "_n": request.n,
        "_outcome": exchange.end.as_ref().map(|end| end.outcome.words()),
    })
}

/// The events of a streamed answer and their times; nothing for another one.
pub(super) fn events(exchange: &Exchange) -> Vec<Value> {
    if !exchange.is_stream() {
        return Vec::new();
    }
    analysis::events(exchange)
        .into_iter()
        .map(|(us, data)| json!({"us": us, "data": data}))
        .collect()
}

fn ms(us: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a request takes less than 2^52 microseconds"
    )]
    let us = us as f64;
    us / 1000.0
}

/// Headers that make sense in a request made by hand.
const KEPT: [&str; 4] = ["content-type", "accept", "openai-beta", "originator"];

/// A command line that sends the request again. Its key is not in the record: the command takes it
/// from a variable.
pub(super) fn curl(session: &Session, exchange: &Exchange) -> String {
    let request = &exchange.request;
    let quote = |text: &str| shell_words::quote(text).into_owned();
    let mut lines = vec![format!(
        "curl --no-buffer --request {} {}",
        quote(&request.method),
        quote(&url(session, exchange))
    )];
    for (name, value) in &request.headers {
        if KEPT.contains(&name.as_str()) {
            lines.push(format!("--header {}", quote(&format!("{name}: {value}"))));
        }
        if name == "authorization" {
            lines.push("--header \"authorization: Bearer $API_KEY\"".to_owned());
        }
    }
    let Some(body) = request.body.as_deref().filter(|body| !body.is_empty()) else {
        return format!("{}\n", lines.join(" \\\n  "));
    };
    let mut mark = "BODY".to_owned();
    while body.lines().any(|line| line == mark) {
        mark.push('_');
    }
    // Without the newline that ends the here-document.
    lines.push("--data-binary @-".to_owned());
    format!(
        "printf %s \"$(cat <<'{mark}'\n{body}\n{mark}\n)\" | {}\n",
        lines.join(" \\\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::store::{Header, Request};

    fn session(body: &str) -> Session {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Session {
            path: "s.jsonl".into(),
            header: Header {
                schema_version: 1,
                started_ms: 0,
                upstream: Some("http://127.0.0.1:1/".to_owned()),
                codex_args: Vec::new(),
                redacted: true,
            },
            exchanges: vec![Exchange {
                request: Request {
                    n: 1,
                    at_ms: 7,
                    method: "POST".to_owned(),
                    path: "/v1/responses?a=1".to_owned(),
                    headers: vec![
                        header("authorization", "Bearer ***"),
                        header("content-type", "application/json"),
                        header("x-codex-window-id", "0"),
                    ],
                    bytes: body.len() as u64,
                    encoding: None,
                    note: None,
                    body: Some(body.to_owned()),
                },
                response: None,
                events: Vec::new(),
                end: None,
                counters: None,
            }],
            counters: None,
            skipped: 0,
        }
    }

    /// Runs the command with a `curl` that prints what it gets.
    #[cfg(unix)]
    #[test]
    fn the_command_sends_the_body_byte_for_byte() {
        let body = "{\"a\":\"it's $HOME `x` \\\\ \\n BODY\"}\nBODY\n{}";
        let session = session(body);
        let command = curl(&session, &session.exchanges[0]);
        let shim = "curl() { printf '%s\\n' \"$@\"; cat; }; API_KEY=k\n";
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("{shim}{command}")])
            .output()
            .expect("sh runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.ends_with(&format!("@-\n{body}")), "{text}");
        assert!(
            text.contains("authorization: Bearer k\n") && text.contains("?a=1\n"),
            "{text}"
        );
        assert!(!text.contains("x-codex"), "{text}");
    }

    #[test]
    fn har_has_what_the_format_asks_for() {
        let session = session("{}");
        let har = har(&session);
        let entry = &har["log"]["entries"][0];
        assert_eq!(entry["startedDateTime"], "1970-01-01T00:00:00.007Z");
        assert_eq!(
            entry["request"]["url"],
            "http://127.0.0.1:1/v1/responses?a=1"
        );
        assert_eq!(entry["request"]["queryString"][0]["value"], "1");
        assert_eq!(entry["request"]["postData"]["text"], "{}");
        for key in [
            "cookies",
            "headers",
            "headersSize",
            "bodySize",
            "content",
            "redirectURL",
        ] {
            assert!(!entry["response"][key].is_null(), "{key}");
        }
    }
}
