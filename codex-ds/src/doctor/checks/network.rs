//! `network.…`: the way to the endpoint.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::targets::{self, Place};
use crate::probe::network::{self, Speaks};

/// How long one step of the way may take. A host in the same building needs milliseconds.
const LIMIT: Duration = Duration::from_secs(4);
/// Above [`LIMIT`], so that a step that hangs is named as such.
const DEADLINE: Duration = Duration::from_secs(10);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "network.proxy",
        title: "no proxy catches what is meant for the endpoint",
        requires: &["config.provider"],
        cost: Cost::Offline,
        deadline: Duration::from_secs(1),
        run: |context| Box::pin(async move { Ok(proxy(&context)) }),
    },
    Check {
        id: "network.phones-home",
        title: "Codex asks nobody but the endpoint",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: Duration::from_secs(1),
        run: |context| Box::pin(async move { Ok(phones_home(&context)) }),
    },
    Check {
        id: "network.name",
        title: "the endpoint's name has an address",
        requires: &["network.proxy"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(name(context)),
    },
    Check {
        id: "network.port",
        title: "the endpoint's port is open",
        requires: &["network.name"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(port(context)),
    },
    Check {
        id: "network.speaks",
        title: "it answers, with TLS or without as the address says",
        requires: &["network.port"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(speaks(context)),
    },
];

fn proxy(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    for place in targets::places(context) {
        let url = &place.target.base;
        let Some(proxy) = network::proxy(url) else {
            continue;
        };
        let host = url.host_str().unwrap_or_default();
        let text = format!(
            "{} sends requests for {host} to the proxy {}",
            proxy.variable, proxy.address
        );
        let finding = if proxy.is_private {
            Finding::fail(format!("{text}, which is not in that network"))
        } else {
            Finding::warn(text)
        };
        findings.push(
            finding
                .measured(format!("{}: {}", proxy.variable, proxy.address))
                .expected(format!("{host} in NO_PROXY"))
                .source("this environment, which Codex gets as well")
                .remedy("except the host from the proxy, unless it is the way there")
                .command(format!("export NO_PROXY=\"$NO_PROXY,{host}\"")),
        );
    }
    Outcome::of("no proxy is set for it", findings)
}

/// Keys that keep Codex from calling home, what they are set to, and whom it asks without them:
/// measured with a proxy that records, under `exec` and in the terminal.
const CALLS: &[(&[&str], &str)] = &[
    (&["analytics", "enabled"], "ab.chatgpt.com"),
    (
        &["features", "plugins"],
        "github.com, api.github.com, chatgpt.com",
    ),
    (&["features", "apps"], "chatgpt.com"),
    (&["check_for_update_on_startup"], "api.github.com"),
];

fn phones_home(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    for (path, hosts) in CALLS {
        let found = context.profile.get(path);
        if found.is_some_and(|(item, _)| item.as_bool() == Some(false)) {
            continue;
        }
        let key = path.join(".");
        let measured = found.map_or("not set", |_| "not false");
        findings.push(
            Finding::warn(format!("{key} is {measured}: Codex asks {hosts}"))
                .measured(measured)
                .expected("false")
                .source(found.map_or_else(
                    || context.home.join("config.toml").display().to_string(),
                    |(_, layer)| layer.file.display().to_string(),
                ))
                .remedy("set-up writes it again where you did not change it; else set it to false"),
        );
    }
    Outcome::of("nothing is set that would", findings)
}

async fn name(context: Arc<Context>) -> Result<Outcome> {
    targets::each_place(&context, |place| async move {
        let (host, port) = network::first_hop(&place.target.base);
        match network::resolve(&host, port, LIMIT).await {
            Ok(found) => {
                let found: Vec<String> = found.iter().map(|a| a.ip().to_string()).collect();
                Finding::note(format!("{host}: {}", found.join(", ")))
            }
            Err(why) => Finding::fail(format!("the name {host} cannot be resolved: {why}"))
                .measured(why)
                .expected("an address")
                .source(place.target.base.as_str())
                .remedy("check the spelling and the network, or name the endpoint by its address")
                .command("codex-ds setup --endpoint http://ADDRESS:PORT/v1"),
        }
    })
    .await
}

async fn port(context: Arc<Context>) -> Result<Outcome> {
    targets::each_place(&context, |place| async move {
        let (host, port) = network::first_hop(&place.target.base);
        let found = network::resolve(&host, port, LIMIT)
            .await
            .unwrap_or_default();
        match network::connect(&found, LIMIT).await {
            Ok(address) => Finding::note(format!("{address} takes connections")),
            Err(why) => Finding::fail(format!("nothing takes connections at {host}:{port}: {why}"))
                .measured(why)
                .expected("an open port")
                .source(place.target.base.as_str())
                .remedy(
                    "is the server running, is this its port (LiteLLM's is 4000, vLLM's 8000), and \
                     does a firewall let you through?",
                ),
        }
    })
    .await
}

async fn speaks(context: Arc<Context>) -> Result<Outcome> {
    targets::each_place(&context, |place| async move {
        spoken(&place, &network::speaks(&place.target, LIMIT).await)
    })
    .await
}

fn spoken(place: &Place, speaks: &Speaks) -> Finding {
    let url = &place.target.base;
    let scheme = url.scheme();
    let (text, measured) = match speaks {
        Speaks::AsExpected => return Finding::note(format!("{url} answers")),
        Speaks::Tls => ("the port speaks TLS, and the address says http", "TLS"),
        Speaks::Plain => (
            "the port speaks plain HTTP, and the address says https",
            "plain HTTP",
        ),
        Speaks::Untrusted(why) => ("its certificate is not trusted", why.as_str()),
        Speaks::Nothing(_) => (
            "the port takes connections and then says nothing",
            "no byte",
        ),
        Speaks::Other(why) => ("what answers there is no HTTP", why.as_str()),
    };
    let finding = Finding::fail(format!("{url}: {text}"))
        .measured(measured)
        .expected(match scheme {
            "https" => "HTTP with TLS",
            _ => "plain HTTP",
        })
        .source(url.as_str());
    let other = |scheme| {
        network::with_scheme(url, scheme).map_or_else(String::new, |url| {
            format!("codex-ds setup --endpoint {url}")
        })
    };
    match speaks {
        Speaks::Tls => finding
            .remedy("name the endpoint with https")
            .command(other("https")),
        Speaks::Plain => finding
            .remedy("name the endpoint with http")
            .command(other("http")),
        Speaks::Untrusted(_) => {
            finding.remedy("add its authority to the system's store, or set SSL_CERT_FILE to it")
        }
        Speaks::Nothing(limit) => finding
            .expected(format!("an answer within {} s", limit.as_secs()))
            .remedy("the server hangs, or something else holds the port: look at its log, or start it again"),
        Speaks::Other(_) | Speaks::AsExpected => {
            finding.remedy("is this the port of the model server?")
        }
    }
}
