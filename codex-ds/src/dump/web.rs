//! The page: sessions, what each turn is made of, where the prefix breaks, requests and answers.
//!
//! One HTML file that loads nothing from elsewhere, served on 127.0.0.1 under a token that nobody
//! can guess, or written as a file with the data in it. What was recorded is untrusted: the page
//! puts it into text nodes alone, and its content security policy lets no script run but its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::{Path as Parts, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::store::{self, Exchange, Session, Summary};
use super::{export, live, report, runtime, view};
use crate::file::{self, Mode};
use crate::{exit, ui};

/// The page. `{{NONCE}}` and `{{DATA}}` stand where those go.
const PAGE: &str = include_str!("../../assets/dump.html");

/// A running page; it ends with this.
pub(super) struct Page {
    url: String,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Page {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Shared {
    folder: PathBuf,
    token: String,
    /// What a browser that was sent here says it wants; anything else is another site's doing.
    host: String,
}

impl Page {
    /// Serves the sessions in `folder` on a free port of 127.0.0.1.
    pub(super) async fn serve(folder: &Path) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("cannot listen for the page")?;
        let host = listener
            .local_addr()
            .context("a listener has an address")?
            .to_string();
        let token = random()?;
        let url = format!("http://{host}/{token}/");
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            token,
            host,
        });
        let app = Router::new()
            .route("/{token}/", get(page))
            .route("/{token}/sessions", get(sessions))
            .route("/{token}/session/{name}", get(session))
            .route("/{token}/session/{name}/{n}", get(exchange))
            .with_state(shared);
        let serving = tokio::spawn(async move {
            // The listener is bound, and axum retries a failed accept: it ends by being dropped.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { url, serving })
    }

    /// Says where it is, and opens it if that is wanted.
    pub(super) fn announce(&self, open: bool) {
        ui::err(&format!("page: {}\n", self.url));
        if open && let Err(error) = browse(&self.url) {
            ui::warn(&format!(
                "cannot open a browser ({error}); open the address by hand"
            ));
        }
    }
}

/// Serves the page until Ctrl-C.
pub(super) fn show(folder: &Path, open: bool) -> Result<u8> {
    runtime()?.block_on(async {
        let mut stop = live::Stop::listen()?;
        let page = Page::serve(folder).await?;
        page.announce(open);
        ui::err("stop with Ctrl-C\n");
        stop.told().await
    })?;
    Ok(exit::OK)
}

/// Writes the page of one session, with all its data in it.
pub(super) fn write(session: &Session, path: &Path) -> Result<()> {
    let exchanges: Vec<Value> = session.exchanges.iter().map(contents).collect();
    let data = json!({
        "session": report::session_json(session, &BTreeMap::new()),
        "contents": exchanges,
    });
    let html = filled(&random()?, &data);
    file::write_atomic(path, html.as_bytes(), Mode::Private)
}

fn browse(url: &str) -> std::io::Result<()> {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    std::process::Command::new(program)
        .arg(url)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .map(drop)
}

/// 128 bits that nobody can guess, in hexadecimal.
fn random() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the system gives no random numbers")?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The page with `data` in it. In a script element only `<` can end it, and JSON can say that in
/// another way; the two line separators end a line in old script engines.
fn filled(nonce: &str, data: &Value) -> String {
    let data = data
        .to_string()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let (before, after) = PAGE.split_once("{{DATA}}").unwrap_or((PAGE, ""));
    let named = |part: &str| part.replace("{{NONCE}}", nonce);
    [&named(before), data.as_str(), &named(after)].concat()
}

type Desk = State<Arc<Shared>>;

impl Shared {
    /// Whether a request is from the page that we gave out.
    fn admits(&self, token: &str, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
        token == self.token && host == Some(self.host.as_bytes())
    }

    /// What `of` makes of the sessions' folder, for those who may have it.
    fn answer(
        &self,
        token: &str,
        headers: &HeaderMap,
        of: impl FnOnce(&Path) -> Option<Value>,
    ) -> Response {
        let made = self
            .admits(token, headers)
            .then(|| of(&self.folder))
            .flatten();
        made.map_or_else(nothing, |value| {
            guarded("application/json", value.to_string())
        })
    }
}

fn read(folder: &Path, name: &str) -> Option<Session> {
    // Only what is listed can be asked for: a name is no path.
    let file = store::files(folder)
        .ok()?
        .into_iter()
        .find(|file| store::name(file) == name)?;
    Session::read(&file).ok()
}

fn guarded(kind: &'static str, body: String) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn nothing() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

async fn page(State(shared): Desk, Parts(token): Parts<String>, headers: HeaderMap) -> Response {
    match random() {
        Ok(nonce) if shared.admits(&token, &headers) => {
            guarded("text/html; charset=utf-8", filled(&nonce, &Value::Null))
        }
        _ => nothing(),
    }
}

async fn sessions(
    State(shared): Desk,
    Parts(token): Parts<String>,
    headers: HeaderMap,
) -> Response {
    shared.answer(&token, &headers, |folder| {
        let all: Vec<Value> = store::files(folder)
            .unwrap_or_default()
            .iter()
            .filter_map(|file| Summary::read(file).ok())
            .map(|summary| view::summary_json(&summary))
            .collect();
        Some(json!({"schema_version": report::SCHEMA_VERSION, "sessions": all}))
    })
}

async fn session(
    State(shared): Desk,
    Parts((token, name)): Parts<(String, String)>,
    headers: HeaderMap,
) -> Response {
    shared.answer(&token, &headers, |folder| {
        let session = read(folder, &name)?;
        Some(report::session_json(&session, &BTreeMap::new()))
    })
}

async fn exchange(
    State(shared): Desk,
    Parts((token, name, n)): Parts<(String, String, u64)>,
    headers: HeaderMap,
) -> Response {
    shared.answer(&token, &headers, |folder| {
        let session = read(folder, &name)?;
        session.exchange(n).ok().map(contents)
    })
}

/// What the viewer of one request shows.
fn contents(exchange: &Exchange) -> Value {
    json!({
        "n": exchange.request.n,
        "headers": exchange.request.headers,
        "body": exchange.request.body,
        "answer_headers": exchange.response.as_ref().map(|response| &response.headers),
        "answer": exchange.answer(),
        "events": export::events(exchange),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let hostile = json!({"a": "</script><script>x</script><!--\u{2028}{{NONCE}}"});
        let html = filled("n0", &hostile);
        assert_eq!(
            html.matches("<script").count(),
            PAGE.matches("<script").count()
        );
        let start = html.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
        let end = start + html[start..].find("</script>").expect("its end");
        let read: Value = serde_json::from_str(&html[start..end]).expect("JSON");
        assert_eq!(read, hostile);
        assert!(
            !PAGE.contains("innerHTML") && !PAGE.contains("http://") && !PAGE.contains("https://")
        );
    }

    #[tokio::test]
    async fn without_the_token_or_from_another_site_there_is_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        fs_err::write(
            folder.path().join("a.jsonl"),
            "{\"type\":\"session\",\"schema_version\":1,\"started_ms\":1,\"upstream\":null,\"redacted\":true}\n",
        )
        .expect("a file");
        let page = Page::serve(folder.path()).await.expect("a page");
        let client = {
            let _ = rustls::crypto::ring::default_provider().install_default();
            reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("a client")
        };
        let status = async |url: String, host: Option<&str>| {
            let mut request = client.get(url);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            request.send().await.expect("an answer").status().as_u16()
        };
        let at = |path: &str| format!("{}{path}", page.url);
        for path in ["", "sessions", "session/a"] {
            assert_eq!(status(at(path), None).await, 200, "{path}");
            // A name that was made to lead here sends its own name.
            assert_eq!(status(at(path), Some("evil.example")).await, 404, "{path}");
        }
        for path in ["session/b", "session/..%2f..%2fetc%2fpasswd", "session/a/1"] {
            assert_eq!(status(at(path), None).await, 404, "{path}");
        }
        let root = page.url.rsplitn(3, '/').nth(2).expect("the server");
        for path in ["/", "/x/", "/x/sessions"] {
            assert_eq!(status(format!("{root}{path}"), None).await, 404, "{path}");
        }
        let answer = client.get(&page.url).send().await.expect("an answer");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        let html = answer.text().await.expect("text");
        assert!(html.contains("default-src 'none'"), "{html}");
    }
}
