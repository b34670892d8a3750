//! What an endpoint serves: asked once, with an error for each way in which that goes wrong.

use std::time::Duration;

use anyhow::Result;
use codex_ds_catalog::Served;
use codex_ds_wire::secret::Secret;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;

use crate::error::UserError;
pub(crate) use crate::reach::client;
use crate::reach::{self, Unreached};

/// How long an answer may take. A model list is a look-up; a busy router still answers in seconds.
const TIMEOUT: Duration = Duration::from_secs(15);

/// What is sent as a key to a server that wants none. Not a secret.
pub const PLACEHOLDER_KEY: &str = "local-no-auth";

/// What kind of server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// vLLM itself, with its version.
    Vllm(String),
    /// A LiteLLM router.
    LiteLlm,
    /// Something else that has `/v1/models`.
    Other,
    /// Not asked (`--offline`).
    Unknown,
}

impl Kind {
    /// The name for it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Vllm(version) => format!("vLLM {version}"),
            Self::LiteLlm => "LiteLLM".to_owned(),
            Self::Other => "OpenAI-compatible server".to_owned(),
            Self::Unknown => "not asked".to_owned(),
        }
    }
}

/// An endpoint and what it serves.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The base URL as Codex needs it: with `/v1`, without a slash at the end.
    pub base_url: String,
    /// What kind of server it is.
    pub kind: Kind,
    /// The models, in the server's order; empty when it was not asked.
    pub models: Vec<Served>,
}

/// Reads a URL as a user gives it: with or without `/v1`, with or without a slash at the end.
/// `option` is what to name in the error.
///
/// # Errors
/// When it is no http or https URL, or holds a password.
pub fn base_url(option: &str, text: &str) -> Result<Url> {
    let bad = |found: String| {
        UserError::usage(format!(
            "{option} {text}: {found}; expected http://HOST:PORT/v1"
        ))
        .hint(format!("for example {option} http://192.168.1.20:4000/v1"))
    };
    if !text.contains("://") {
        return Err(bad("no http:// or https:// in front".to_owned()).into());
    }
    let mut url = Url::parse(text).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("the scheme is {}", url.scheme())).into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            UserError::usage(format!("{option}: the URL holds a user name or password"))
                .hint("leave it out; give the key with --api-key-env NAME or --api-key-file FILE")
                .into(),
        );
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let path = path.strip_suffix("/models").unwrap_or(&path).to_owned();
    url.set_path(&if path.ends_with("/v1") {
        path
    } else {
        format!("{path}/v1")
    });
    Ok(url)
}

/// An endpoint that is not asked.
#[must_use]
pub fn unasked(url: &Url) -> Endpoint {
    Endpoint {
        base_url: url.to_string(),
        kind: Kind::Unknown,
        models: Vec::new(),
    }
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    /// vLLM's limit, tokens.
    max_model_len: Option<u64>,
    /// The same as LiteLLM passes it on.
    max_input_tokens: Option<u64>,
    owned_by: Option<String>,
}

/// Asks the endpoint what it serves. `option` is what to name in an error.
///
/// # Errors
/// When it cannot be reached, refuses us, or answers as no model server does.
pub async fn probe(option: &str, url: &Url, key: Option<&Secret>) -> Result<Endpoint> {
    let client = client(url, Some(TIMEOUT))?;
    let models_url = format!("{url}/models");
    let mut request = client.get(&models_url);
    if let Some(key) = key {
        request = request.bearer_auth(key.expose());
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => return Err(unreachable(option, url, &error).await.into()),
    };
    let status = response.status();
    let body = response.text().await.unwrap_or_default();
    if url.scheme() == "http" && reach::wants_tls(status, &body) {
        return Err(wants_tls(option, url).into());
    }
    if !status.is_success() {
        return Err(refused(
            option,
            &models_url,
            status,
            &body,
            key.is_some_and(|key| key.expose() != PLACEHOLDER_KEY),
        )
        .into());
    }
    let list: ModelList = serde_json::from_str(&body).map_err(|error| {
        UserError::new(format!(
            "{models_url} answered, but not with a list of models"
        ))
        .because(error)
        .hint(format!(
            "is {option} a vLLM or LiteLLM address? It began: {}",
            excerpt(&body)
        ))
    })?;
    if list.data.is_empty() {
        return Err(UserError::new(format!("{models_url} lists no model"))
            .hint("is the server still loading its model, or the router's model_list empty?")
            .into());
    }
    let says_vllm = list
        .data
        .iter()
        .any(|model| model.owned_by.as_deref() == Some("vllm"));
    let kind = kind(&client, url, says_vllm).await;
    Ok(Endpoint {
        base_url: url.to_string(),
        kind,
        models: list
            .data
            .into_iter()
            .map(|model| Served {
                id: model.id,
                max_model_len: model.max_model_len.or(model.max_input_tokens),
            })
            .collect(),
    })
}

async fn kind(client: &Client, url: &Url, says_vllm: bool) -> Kind {
    #[derive(Deserialize)]
    struct Version {
        version: String,
    }
    let root = root(url);
    if let Ok(response) = client.get(format!("{root}/version")).send().await
        && response.status().is_success()
        && says_vllm
        && let Ok(version) = response.json::<Version>().await
    {
        return Kind::Vllm(version.version);
    }
    match client.get(format!("{root}/health/liveliness")).send().await {
        Ok(response) if response.status().is_success() => Kind::LiteLlm,
        _ => Kind::Other,
    }
}

fn root(url: &Url) -> String {
    url.as_str().trim_end_matches("/v1").to_owned()
}

async fn unreachable(option: &str, url: &Url, error: &reqwest::Error) -> UserError {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let failure = |text: String| UserError::new(format!("{option} {url}: {text}"));
    let path = format!("{}/models", url.path());
    match reach::unreached(url, &path, error, TIMEOUT).await {
        Unreached::Plain => failure(format!("{host}:{port} speaks plain HTTP, not TLS"))
            .hint(other_scheme(option, url, "http")),
        Unreached::Tls => wants_tls(option, url),
        Unreached::Untrusted(why) => failure("its certificate is not trusted".to_owned())
            .because(why)
            .hint("add its authority to the system's store, or set SSL_CERT_FILE to it"),
        Unreached::Silent => failure(format!("no answer within {} seconds", TIMEOUT.as_secs()))
            .hint("is the host up, and is the port open from here?"),
        Unreached::Nameless(_) => failure(format!("the name {host} cannot be resolved"))
            .hint("check the spelling, or use the address itself"),
        Unreached::Refused(_) => failure(format!("nothing listens on {host}:{port}"))
            .hint("is the server running, and is this its port? LiteLLM's is 4000, vLLM's 8000, unless told otherwise")
            .hint("a profile can be written without it: add --offline"),
        Unreached::Other(why) => failure("cannot be reached".to_owned())
            .because(why)
            .hint("is the address right, and is the server running?"),
    }
}

fn wants_tls(option: &str, url: &Url) -> UserError {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    UserError::new(format!(
        "{option} {url}: {host}:{port} speaks TLS, not plain HTTP"
    ))
    .hint(other_scheme(option, url, "https"))
}

fn other_scheme(option: &str, url: &Url, scheme: &str) -> String {
    match reach::with_scheme(url, scheme) {
        Some(other) => format!("use {option} {other}"),
        None => format!("use {scheme}://"),
    }
}

fn refused(option: &str, url: &str, status: StatusCode, body: &str, with_key: bool) -> UserError {
    let error = UserError::new(format!("{option} {url} answered {status}"));
    // LiteLLM without a database says 400 to a key that is not its master key (measured).
    let status = if body.contains("no_db_connection") {
        StatusCode::UNAUTHORIZED
    } else {
        status
    };
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if with_key => error
            .hint("the server does not take this key; check the variable or file that holds it"),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => error
            .hint("the server wants a key: export it and add --api-key-env NAME")
            .hint("or keep it in a file that only you can read: --api-key-file FILE"),
        StatusCode::NOT_FOUND => error.hint(format!(
            "there is no model list at that path; {option} is the address up to and with /v1"
        )),
        _ => error.hint(format!("the server said: {}", excerpt(body))),
    }
}

fn excerpt(text: &str) -> String {
    let line: String = text
        .chars()
        .take(160)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.is_empty() {
        "(nothing)".to_owned()
    } else {
        line
    }
}

/// The served model called `wanted`.
///
/// # Errors
/// When it is not served: the error lists what is, and the nearest name.
pub fn served<'e>(
    option: &str,
    endpoint: &'e Endpoint,
    wanted: &str,
) -> Result<&'e Served, UserError> {
    endpoint
        .models
        .iter()
        .find(|model| model.id == wanted)
        .ok_or_else(|| {
            let ids: Vec<&str> = endpoint
                .models
                .iter()
                .map(|model| model.id.as_str())
                .collect();
            let error = UserError::usage(format!(
                "{option} {wanted} is not served by {}; it serves {}",
                endpoint.base_url,
                ids.join(", ")
            ));
            match nearest(wanted, &ids) {
                Some(near) => error.hint(format!("did you mean {option} {near}?")),
                None => error.hint(format!("choose one of them with {option}")),
            }
        })
}

/// The name of `names` that is most like `wanted`, if any is like it at all.
#[must_use]
pub fn nearest<'n>(wanted: &str, names: &[&'n str]) -> Option<&'n str> {
    names
        .iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), *name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (given, expected) in [
            ("http://spark:4000", "http://spark:4000/v1"),
            ("http://spark:4000/", "http://spark:4000/v1"),
            ("http://spark:4000/v1/", "http://spark:4000/v1"),
            ("http://spark:4000/v1/models", "http://spark:4000/v1"),
            ("https://host/llm/v1?x=1", "https://host/llm/v1"),
            ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ] {
            assert_eq!(base_url("--endpoint", given).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn an_address_that_is_none_is_named() {
        for (given, part) in [
            ("spark:4000", "no http://"),
            ("ftp://spark/v1", "the scheme is ftp"),
            ("http://u:p@spark/v1", "user name or password"),
            ("http://", "empty host"),
        ] {
            let error = base_url("--endpoint", given).unwrap_err().to_string();
            assert!(error.contains(part), "{given}: {error}");
            assert!(!error.contains("u:p"), "{error}");
        }
    }
}
