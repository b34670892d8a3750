//! What the installed Codex says of its configuration: whether it loads, which keys it ignores, and
//! which layer a value comes from.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::Result;
use serde_json::Value as Json;

use crate::app_server::{AppServer, ConfigWarning};
use crate::doctor::check::{Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::profile::Profile;
use crate::doctor::programs::{self, Asked};
use crate::setup::leaves::{self, Leaves};
use crate::setup::plan::CONFIG;
use crate::setup::receipt::Receipt;

/// What Codex says before it goes on with its defaults instead of the profile.
const INVALID: &str = "Invalid configuration";

pub(super) async fn loads(context: Arc<Context>) -> Result<Outcome> {
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

pub(super) async fn keys(context: Arc<Context>) -> Result<Outcome> {
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

pub(super) async fn overridden(context: Arc<Context>) -> Result<Outcome> {
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
