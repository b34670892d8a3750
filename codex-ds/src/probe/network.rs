//! The way to an endpoint: proxy, name, port, and whether it speaks TLS.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use tokio::net::{TcpStream, lookup_host};

use super::Target;
pub(crate) use crate::reach::with_scheme;
use crate::reach::{self, Unreached};

/// The variables that name a proxy for a scheme, in the order in which they count.
const HTTP: &[&str] = &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const HTTPS: &[&str] = &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// A proxy that catches the endpoint's requests, Codex's as well as ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The variable that names it.
    pub variable: &'static str,
    /// The proxy's host and port, without a password.
    pub address: String,
    /// Whether the endpoint lies on this machine or in a private network, where a proxy that is
    /// meant for the Internet does not reach it.
    pub is_private: bool,
}

/// The proxy for an address, by this process's environment, which is Codex's.
#[must_use]
pub fn proxy(url: &Url) -> Option<Proxy> {
    let uri = url.as_str().parse().ok()?;
    let intercept = Matcher::from_env().intercept(&uri)?;
    let names = if url.scheme() == "https" { HTTPS } else { HTTP };
    let set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    Some(Proxy {
        variable: names.iter().find(set).copied().unwrap_or(names[1]),
        address: intercept.uri().authority()?.to_string(),
        is_private: is_private(url.host_str().unwrap_or_default()),
    })
}

/// Whether a host is this machine, a private address, or a name without a public domain.
fn is_private(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local(),
        Err(_) => {
            !host.contains('.')
                || [".local", ".lan", ".internal", ".home.arpa"]
                    .iter()
                    .any(|end| host.ends_with(end))
        }
    }
}

/// Host and port to connect to for an address: the proxy's where there is one.
#[must_use]
pub fn first_hop(url: &Url) -> (String, u16) {
    let port = url.port_or_known_default().unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let own = (host.trim_matches(['[', ']']).to_owned(), port);
    let Some(proxy) = proxy(url) else {
        return own;
    };
    match proxy.address.rsplit_once(':') {
        Some((host, port)) => (host.to_owned(), port.parse().unwrap_or(80)),
        None => (proxy.address, 80),
    }
}

/// The addresses of a host.
///
/// # Errors
/// When the name cannot be resolved, in the system's words.
pub async fn resolve(host: &str, port: u16, limit: Duration) -> Result<Vec<SocketAddr>, String> {
    match tokio::time::timeout(limit, lookup_host((host, port))).await {
        Ok(Ok(found)) => {
            let found: Vec<SocketAddr> = found.collect();
            if found.is_empty() {
                Err("it has no address".to_owned())
            } else {
                Ok(found)
            }
        }
        Ok(Err(error)) => Err(super::cause(&error)),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs_f32())),
    }
}

/// Connects to the first of several addresses that takes the connection.
///
/// # Errors
/// When none does, with each address and why.
pub async fn connect(addresses: &[SocketAddr], limit: Duration) -> Result<SocketAddr, String> {
    let one = |address: SocketAddr| async move {
        match tokio::time::timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(_)) => Ok(address),
            Ok(Err(error)) => Err(format!("{address}: {}", error.kind())),
            Err(_) => Err(format!(
                "{address}: no answer within {} s",
                limit.as_secs_f32()
            )),
        }
    };
    // Side by side, so that several dead ones cost no more than one.
    let tried = futures_util::future::join_all(addresses.iter().copied().map(one)).await;
    let mut refused = Vec::new();
    for result in tried {
        match result {
            Ok(address) => return Ok(address),
            Err(why) => refused.push(why),
        }
    }
    Err(refused.join("; "))
}

/// What a port speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// What the URL says.
    AsExpected,
    /// TLS, where the URL says plain HTTP.
    Tls,
    /// Plain HTTP, where the URL says TLS.
    Plain,
    /// TLS, with a certificate that is not trusted: why.
    Untrusted(String),
    /// It takes the connection and says nothing.
    Nothing(Duration),
    /// Something else.
    Other(String),
}

/// Asks what a port speaks, by the exchange itself.
pub async fn speaks(target: &Target, limit: Duration) -> Speaks {
    // Answered by a router at once, and by everyone else with 404: no work for either.
    let path = "/health/liveliness";
    let url = format!("{}{path}", target.root());
    let Ok(sent) = tokio::time::timeout(limit, target.get(&url).send()).await else {
        return Speaks::Nothing(limit);
    };
    let error = match sent {
        Ok(response) if target.base.scheme() == "http" => {
            let status = response.status();
            let body = response.text().await.unwrap_or_default();
            return if reach::wants_tls(status, &body) {
                Speaks::Tls
            } else {
                Speaks::AsExpected
            };
        }
        Ok(_) => return Speaks::AsExpected,
        Err(error) => error,
    };
    match reach::unreached(&target.base, path, &error, limit).await {
        Unreached::Tls => Speaks::Tls,
        Unreached::Plain => Speaks::Plain,
        Unreached::Untrusted(why) => Speaks::Untrusted(why),
        Unreached::Silent => Speaks::Nothing(limit),
        Unreached::Nameless(why) | Unreached::Refused(why) | Unreached::Other(why) => {
            Speaks::Other(why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_hosts_are_told_from_public_ones() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("192.168.1.20", true),
            ("10.0.0.1", true),
            ("[::1]", true),
            ("spark-1", true),
            ("spark.local", true),
            ("8.8.8.8", false),
            ("llm.example.com", false),
        ] {
            assert_eq!(is_private(host), expected, "{host}");
        }
    }
}
