//! The way to a server: a client for its address, and why it gave no answer.

use std::time::Duration;

use anyhow::Result;
use reqwest::{Client, StatusCode, Url};

use crate::error::UserError;

/// A client for an address. `timeout` is for a whole answer; without one, each request needs its own.
///
/// # Errors
/// When the system has no certificates for TLS.
pub(crate) fn client(url: &Url, timeout: Option<Duration>) -> Result<Client> {
    // A second installation in one process is refused, and the first one serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("codex-ds/", env!("CARGO_PKG_VERSION")));
    if let Some(timeout) = timeout {
        builder = builder.timeout(timeout);
    }
    if url.scheme() == "http" {
        // No certificate is looked at, so a machine without any is no reason to fail.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| {
        UserError::new("cannot prepare for TLS: the system has no usable certificates")
            .because(cause(&error))
            .hint("install them (the package ca-certificates), or set SSL_CERT_FILE")
            .into()
    })
}

/// Why a server was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreached {
    /// It speaks TLS, where the URL says plain HTTP.
    Tls,
    /// It speaks plain HTTP, where the URL says TLS.
    Plain,
    /// Its certificate is not trusted: why.
    Untrusted(String),
    /// It says nothing.
    Silent,
    /// Its name cannot be resolved: why.
    Nameless(String),
    /// Nothing listens at its port: why.
    Refused(String),
    /// Anything else: why.
    Other(String),
}

/// Tells why a request to `url` failed. Where it may be the scheme, the server is asked for `path`
/// in the other one, for `limit` at the most.
pub(crate) async fn unreached(
    url: &Url,
    path: &str,
    error: &reqwest::Error,
    limit: Duration,
) -> Unreached {
    let why = cause(error);
    let words = chain(error);
    let is_tls = url.scheme() == "https";
    if error.is_timeout() {
        return Unreached::Silent;
    }
    if is_tls && is_certificate(&words) {
        return Unreached::Untrusted(why);
    }
    if words.contains("dns error") || words.contains("failed to lookup") {
        return Unreached::Nameless(why);
    }
    if words.contains("refused") {
        return Unreached::Refused(why);
    }
    let other = with_scheme(url, if is_tls { "http" } else { "https" });
    let asked = other.and_then(|mut other| {
        other.set_path(path);
        let client = client(&other, Some(limit)).ok()?;
        Some(client.get(other).send())
    });
    let Some(asked) = asked else {
        return Unreached::Other(why);
    };
    match (is_tls, asked.await) {
        // A server with TLS may answer plain HTTP with a complaint.
        (true, Ok(response)) if response.status() != StatusCode::BAD_REQUEST => Unreached::Plain,
        (false, Ok(_)) => Unreached::Tls,
        // A handshake that fails is one.
        (false, Err(inner))
            if is_certificate(&chain(&inner)) || chain(&inner).contains("alert") =>
        {
            Unreached::Tls
        }
        _ => Unreached::Other(why),
    }
}

/// Whether a server with TLS says in its answer that it was asked in plain HTTP (nginx; Go).
pub(crate) fn wants_tls(status: StatusCode, body: &str) -> bool {
    const WORDS: &[&str] = &[
        "The plain HTTP request was sent to HTTPS port",
        "Client sent an HTTP request to an HTTPS server",
    ];
    status == StatusCode::BAD_REQUEST && WORDS.iter().any(|words| body.contains(words))
}

/// The same address with another scheme. The port stays: it is the server that speaks something
/// else, not another one.
pub(crate) fn with_scheme(url: &Url, scheme: &str) -> Option<Url> {
    let port = url.port_or_known_default()?;
    let mut other = url.clone();
    other.set_scheme(scheme).ok()?;
    other.set_port(Some(port)).ok()?;
    Some(other)
}

fn is_certificate(words: &str) -> bool {
    words.contains("ertificate") || words.contains("UnknownIssuer")
}

/// The words of an error's whole chain, for telling causes apart.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push('\n');
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

/// The innermost cause of an error: what reqwest wraps says nothing.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scheme_keeps_the_port() {
        let url = |text: &str| Url::parse(text).unwrap();
        let changed = |text, scheme| with_scheme(&url(text), scheme).map(|url| url.to_string());
        assert_eq!(
            changed("https://h/v1", "http").as_deref(),
            Some("http://h:443/v1")
        );
        assert_eq!(
            changed("http://h:4000/v1", "https").as_deref(),
            Some("https://h:4000/v1")
        );
    }
}
