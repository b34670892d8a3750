//! `config.…`: Codex's configuration.

use std::time::Duration;

use toml_edit::Item;

use crate::doctor::check::{Check, Cost, Finding, Outcome, Status};
use crate::doctor::context::Context;
use crate::setup::plan::CONFIG;

mod asked;

use asked::{keys, loads, overridden};

const DEADLINE: Duration = Duration::from_secs(5);
/// Codex answers in a second or two; a loaded machine takes its time.
const CODEX_DEADLINE: Duration = Duration::from_secs(30);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "config.parses",
        title: "the configuration is TOML",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(parses(&context)) }),
    },
    Check {
        id: "config.loads",
        title: "the installed Codex loads it",
        // Codex says of a missing catalog only that a file is missing, and of the others not much more.
        requires: &[
            "codex.found",
            "config.provider",
            "profiles.read",
            "catalog.sound",
            "instructions.file",
        ],
        cost: Cost::Codex,
        deadline: CODEX_DEADLINE,
        run: |context| Box::pin(loads(context)),
    },
    Check {
        id: "config.keys",
        title: "Codex ignores none of its keys",
        requires: &["config.loads"],
        cost: Cost::Codex,
        deadline: CODEX_DEADLINE,
        run: |context| Box::pin(keys(context)),
    },
    Check {
        id: "config.overridden",
        title: "no other file or option overrides what set-up wrote",
        requires: &["config.loads", "home.receipt"],
        cost: Cost::Codex,
        deadline: CODEX_DEADLINE,
        run: |context| Box::pin(overridden(context)),
    },
    Check {
        id: "config.provider",
        title: "the model's provider is there, with an address",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(provider(&context)) }),
    },
    Check {
        id: "config.key",
        title: "the server's key can be read",
        requires: &["config.provider"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(key(&context)) }),
    },
    Check {
        id: "config.values",
        title: "no value is set that a server of your own cannot serve",
        requires: &["config.provider"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(values(&context)) }),
    },
];

fn parses(context: &Context) -> Outcome {
    let findings = context
        .profile
        .layers
        .iter()
        // A named profile without a file is another check's.
        .filter(|layer| layer.name() == CONFIG || layer.file.exists())
        .filter_map(|layer| {
            let error = layer.document.as_ref().err()?;
            Some(
                Finding::fail(format!("{} is not TOML", layer.name()))
                    .measured(error.clone())
                    .expected("TOML")
                    .source(layer.file.display().to_string())
                    .remedy("mend that line; codex-ds setup then brings back what is missing"),
            )
        })
        .collect();
    Outcome::of("config.toml and the profiles over it", findings)
}

fn provider(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    for profile in context.profiles() {
        let name = profile.name();
        let fail = |text: String| {
            Finding::fail(text)
                .source(format!("config.toml and {name}"))
                .remedy("run set-up again, or mend the key")
                .command("codex-ds setup")
        };
        let route = match profile.route() {
            Ok(route) => route,
            Err(error) => {
                findings.push(
                    fail(format!("profile {name} leads nowhere: {error}"))
                        .measured(error)
                        .expected("model, model_provider, and that provider's base_url"),
                );
                continue;
            }
        };
        let url = reqwest::Url::parse(&route.base_url);
        if !url
            .as_ref()
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            findings.push(
                fail(format!("profile {name}: the provider's address is no URL"))
                    .measured(route.base_url.clone())
                    .expected("http://HOST:PORT/v1"),
            );
        } else if !route.base_url.trim_end_matches('/').ends_with("/v1") {
            findings.push(
                Finding::warn(format!(
                    "profile {name}: the provider's address has no /v1 at its end"
                ))
                .measured(route.base_url.clone())
                .expected("http://HOST:PORT/v1: Codex posts to base_url/responses")
                .source(format!("model_providers.{}.base_url", route.provider))
                .remedy("add /v1, unless your server has its API elsewhere"),
            );
        }
        // By this name Codex takes the server for one that has /responses/compact, and a long
        // session dies on a 404.
        let called = profile
            .text(&["model_providers", &route.provider, "name"])
            .unwrap_or_default()
            .to_lowercase();
        if called.contains("openai") || called.contains("azure") {
            findings.push(
                Finding::warn(format!(
                    "profile {name}: the provider is called like one of OpenAI's"
                ))
                .measured(called)
                .expected("another name: by this one Codex may compact at /responses/compact")
                .source(format!("model_providers.{}.name", route.provider))
                .remedy("give it another name"),
            );
        }
    }
    let routes: Vec<String> = context
        .routes
        .iter()
        .map(|route| format!("{} at {}", route.model, route.base_url))
        .collect();
    Outcome::of(routes.join("; "), findings)
}

fn key(context: &Context) -> Outcome {
    let mut findings: Vec<Finding> = Vec::new();
    for route in &context.routes {
        let Err(why) = &route.key else { continue };
        let finding = Finding::fail(format!(
            "the key of {} cannot be read: {why}",
            route.base_url
        ))
        .measured(why.clone())
        .expected("a key, alone on one line")
        .source(format!("model_providers.{}", route.provider))
        .remedy("set the variable or write the file; or name another source")
        .command("codex-ds setup --api-key-file FILE");
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let sources = if context.secrets().is_empty() {
        "none is wanted"
    } else {
        "read"
    };
    Outcome::of(sources, findings)
}

/// A value that matters for a server that is not OpenAI's.
struct Value {
    /// The key; `*` stands for the provider in use.
    key: &'static [&'static str],
    /// Whether a value is good; `None` for a key that is not there.
    good: fn(Option<&Item>) -> bool,
    expected: &'static str,
    why: &'static str,
    status: Status,
}

const VALUES: &[Value] = &[
    Value {
        key: &["web_search"],
        good: |value| value.and_then(Item::as_str) == Some("disabled"),
        expected: "\"disabled\", above the first [table]",
        why: "Codex offers a search that only OpenAI's servers run; others refuse the request",
        status: Status::Fail,
    },
    Value {
        key: &["features", "unbounded_connection_retries"],
        good: |value| value.and_then(Item::as_bool) == Some(false),
        expected: "false",
        why: "an unreachable server is waited for without end",
        status: Status::Warn,
    },
    Value {
        key: &["allow_login_shell"],
        good: |value| value.and_then(Item::as_bool) == Some(false),
        expected: "false",
        why: "a login shell resets PATH on some systems, and apply_patch is lost with it",
        status: Status::Warn,
    },
    Value {
        key: &["model_providers", "*", "stream_idle_timeout_ms"],
        // Codex's own value, where there is none, is five minutes.
        good: |value| value.is_none_or(|value| value.as_integer().is_some_and(|ms| ms >= 120_000)),
        expected: "120000 or more",
        why: "a long prefill or long thinking passes without a byte, and the turn is cut off",
        status: Status::Warn,
    },
    Value {
        key: &["model_providers", "*", "supports_websockets"],
        good: |value| value.is_none_or(|value| value.as_bool() == Some(false)),
        expected: "false",
        why: "Codex tries a protocol that vLLM and LiteLLM do not speak",
        status: Status::Warn,
    },
];

fn values(context: &Context) -> Outcome {
    let mut findings: Vec<Finding> = Vec::new();
    for profile in context.profiles() {
        let Ok(route) = profile.route() else { continue };
        for value in VALUES {
            let path: Vec<&str> = value
                .key
                .iter()
                .map(|part| {
                    if *part == "*" {
                        route.provider.as_str()
                    } else {
                        part
                    }
                })
                .collect();
            let found = profile.get(&path);
            // One in the wrong table is named by `config.keys`.
            let good = (value.good)(found.map(|(item, _)| item));
            if good || (found.is_none() && profile.elsewhere(&path).is_some()) {
                continue;
            }
            let key = path.join(".");
            let (measured, file) = match found {
                Some((item, layer)) => (item.to_string().trim().to_owned(), layer.name()),
                None => ("it is not set".to_owned(), CONFIG.to_owned()),
            };
            let mut finding = Finding::warn(format!("`{key}`: {}", value.why))
                .measured(measured)
                .expected(value.expected)
                .source(format!("{file}: {key}"))
                .remedy("set it so");
            finding.status = value.status;
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    Outcome::of("as they should be", findings)
}
