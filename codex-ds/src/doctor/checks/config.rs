//! `config.…`: Codex's configuration.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value as Json;
use toml_edit::Item;

use crate::app_server::{AppServer, ConfigWarning};
use crate::doctor::check::{Check, Cost, Finding, Outcome, Status};
use crate::doctor::context::Context;
use crate::doctor::profile::Profile;
use crate::doctor::programs::{self, Asked};
use crate::setup::leaves::{self, Leaves};
use crate::setup::plan::CONFIG;
use crate::setup::receipt::Receipt;

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

/// What Codex says before it goes on with its defaults instead of the profile.
const INVALID: &str = "Invalid configuration";

async fn loads(context: Arc<Context>) -> Result<Outcome> {
    let failed = |why: &str| {
        Finding::fail("Codex does not load the configuration")
            .measured(why.to_owned())
            .expected("no complaint")
            .source("codex app-server")
            .remedy("mend the key that it names, or run set-up again")
            .command("codex-ds setup")
    };
    let asked = programs::asked(&context).await;
    Ok(match &*asked {
        Err(error) => failed(&error.text).into(),
        Ok(asked) => {
            let invalid = asked
                .warnings
                .iter()
                .find(|warning| warning.summary.starts_with(INVALID));
            match (invalid, &asked.config) {
                (Some(warning), _) => failed(&warning.details).into(),
                (None, Err(error)) => failed(&error.text).into(),
                (None, Ok(_)) => Outcome::pass("as it is, with the pins of a launch"),
            }
        }
    })
}

/// The keys that Codex ignores, each with its place, by its own words:
/// `  user (FILE): \`KEY\` is ignored.`
fn ignored(warnings: &[ConfigWarning]) -> Vec<(String, String)> {
    let lines = warnings.iter().flat_map(|warning| warning.summary.lines());
    lines
        .filter_map(|line| {
            let (place, rest) = line.trim().split_once(": `")?;
            let (key, end) = rest.split_once("` is ignored")?;
            (end.len() <= 1).then(|| (place.to_owned(), key.to_owned()))
        })
        .collect()
}

/// The keys that Codex ignores of a file that `-p` lays over the base. Codex is only asked about keys
/// that set-up writes nowhere, in a home of their own: `codex app-server` takes no `-p`.
async fn ignored_over(
    context: &Arc<Context>,
    profile: &Profile,
    known: &Leaves,
) -> Result<Vec<(String, String)>> {
    let Some((layer, document)) = profile
        .layers
        .get(1)
        .and_then(|layer| Some((layer, layer.document.as_ref().ok()?)))
    else {
        return Ok(Vec::new());
    };
    if leaves::leaves(document)
        .keys()
        .all(|key| known.contains_key(key))
    {
        return Ok(Vec::new());
    }
    let mut alone = document.clone();
    // What they name is not in that home.
    for key in [
        "model_provider",
        "model_catalog_json",
        "model_instructions_file",
    ] {
        alone.remove(key);
    }
    let home = tempfile::tempdir()?;
    fs_err::File::create_new(home.path().join(CONFIG))?.write_all(alone.to_string().as_bytes())?;
    let inner = context.clone();
    let asked = programs::blocking(move || {
        let path = programs::codex_path(&inner)?;
        let mut server = AppServer::start(&path, home.path(), home.path())?;
        // It complains before it answers.
        server.hooks(home.path())?;
        Ok(server.warnings().to_vec())
    })
    .await;
    let warnings = asked.unwrap_or_default();
    Ok(ignored(&warnings)
        .into_iter()
        .map(|(_, key)| (layer.file.display().to_string(), key))
        .collect())
}

async fn keys(context: Arc<Context>) -> Result<Outcome> {
    let asked = programs::asked(&context).await;
    let Ok(asked) = &*asked else {
        return Ok(Outcome::skip("Codex could not be asked"));
    };
    let ours = recorded(&context, CONFIG);
    let mut ignored = ignored(&asked.warnings);
    for profile in context.profiles() {
        ignored.extend(ignored_over(&context, &profile, &ours).await?);
    }
    let findings = ignored
        .into_iter()
        .map(|(place, key)| match home_of(&key, &ours) {
            Some(right) => Finding::fail(format!("`{key}` stands in the wrong table"))
                .measured(format!("`{key}`, which Codex ignores"))
                .expected(format!("`{right}`{}", table_hint(&right)))
                .source(place)
                .remedy("move it there"),
            None => Finding::warn(format!("Codex ignores `{key}`"))
                .measured(format!("`{key}`"))
                .expected("a key that this version of Codex knows")
                .source(place)
                .remedy("correct its spelling, or take it out"),
        })
        .collect();
    Ok(Outcome::of("all are known", findings))
}

fn table_hint(key: &str) -> &'static str {
    if key.contains('.') {
        ""
    } else {
        ", above the first [table]"
    }
}

/// Where a key that stands in the wrong table belongs: the key of ours that it ends with.
fn home_of(key: &str, ours: &Leaves) -> Option<String> {
    ours.keys()
        .filter(|right| {
            key.strip_suffix(right.as_str())
                .is_some_and(|table| table.ends_with('.'))
        })
        .max_by_key(|right| right.len())
        .cloned()
}

/// The keys of a file that set-up wrote, with what it wrote.
fn recorded(context: &Context, file: &str) -> Leaves {
    Receipt::load(&context.home)
        .ok()
        .and_then(|receipts| receipts.latest()?.files.get(file)?.keys.clone())
        .unwrap_or_default()
}

/// Keys whose values other checks judge, whoever sets them.
const JUDGED: &[&str] = &[
    "allow_login_shell",
    "features.daemon_auto_start",
    "features.hooks",
    "features.unbounded_connection_retries",
    "features.unified_exec_tty",
    "sandbox_mode",
    "web_search",
];

async fn overridden(context: Arc<Context>) -> Result<Outcome> {
    let asked = programs::asked(&context).await;
    let Ok(Asked {
        config: Ok(read), ..
    }) = &*asked
    else {
        return Ok(Outcome::skip("Codex could not be asked"));
    };
    let mut ours = recorded(&context, CONFIG);
    ours.retain(|key, _| !JUDGED.contains(&key.as_str()));
    let mut findings = Vec::new();
    for (key, wrote) in &ours {
        let Some(layer) = read["origins"].get(key).map(|origin| &origin["name"]) else {
            continue;
        };
        let now = at(&read["config"], key);
        if layer["type"] == "user" || now.is_none_or(|now| now == wrote) {
            continue;
        }
        findings.push(differs(
            key,
            wrote,
            now.unwrap_or(&Json::Null),
            &layer_name(layer),
        ));
    }
    for profile in context.profiles() {
        let Some((file, document)) = profile
            .layers
            .get(1)
            .and_then(|layer| Some((layer.name(), layer.document.as_ref().ok()?)))
        else {
            continue;
        };
        let own = recorded(&context, &file);
        for (key, value) in leaves::leaves(document) {
            if let Some(wrote) = ours.get(&key)
                && !own.contains_key(&key)
                && *wrote != value
            {
                findings.push(differs(&key, wrote, &value, &format!("the profile {file}")));
            }
        }
    }
    Ok(Outcome::of("nothing is", findings))
}

fn differs(key: &str, wrote: &Json, now: &Json, by: &str) -> Finding {
    Finding::warn(format!("`{key}` is overridden by {by}"))
        .measured(now.to_string())
        .expected(format!("{wrote}, as set-up wrote it"))
        .source(by.to_owned())
        .remedy("take it out there, if you did not mean it")
}

/// The value at a dotted key. None of set-up's own keys has a dot in a part.
fn at<'v>(config: &'v Json, key: &str) -> Option<&'v Json> {
    key.split('.')
        .try_fold(config, |value, part| value.get(part))
}

/// A layer of Codex's configuration in words.
fn layer_name(layer: &Json) -> String {
    let file = |key: &str| layer[key].as_str().unwrap_or_default();
    match layer["type"].as_str().unwrap_or_default() {
        "sessionFlags" => "the arguments after --".to_owned(),
        "project" => format!("the repository's {}", file("dotCodexFolder")),
        "system" => format!("the system's {}", file("file")),
        other if file("file").is_empty() => format!("Codex's layer {other}"),
        other => format!("Codex's layer {other}, {}", file("file")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_which_keys_codex_ignores() {
        let warnings = [ConfigWarning {
            summary: "Codex is ignoring 2 unrecognized configuration settings. Check for typos or \
                      deprecated settings.\n  user (/h/config.toml): `features.x` is ignored.\n  \
                      user (/h/config.toml): `model_providers.p.model_catalog_json` is ignored."
                .into(),
            details: String::new(),
        }];
        let place = "user (/h/config.toml)".to_owned();
        assert_eq!(
            ignored(&warnings),
            [
                (place.clone(), "features.x".to_owned()),
                (place, "model_providers.p.model_catalog_json".to_owned()),
            ]
        );
    }

    #[test]
    fn a_key_of_ours_in_another_table_is_known_by_its_end() {
        let ours: Leaves = ["model_catalog_json", "features.hooks", "hooks"]
            .iter()
            .map(|key| ((*key).to_owned(), Json::Null))
            .collect();
        let home = |key: &str| home_of(key, &ours);
        assert_eq!(
            home("model_providers.p.model_catalog_json").as_deref(),
            Some("model_catalog_json")
        );
        assert_eq!(
            home("tui.features.hooks").as_deref(),
            Some("features.hooks")
        );
        assert_eq!(home("features.x"), None);
        assert_eq!(home("xmodel_catalog_json"), None);
        assert_eq!(home("model_catalog_json"), None);
    }
}
