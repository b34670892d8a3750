//! `catalog.…`: the model catalog.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use codex_ds_catalog::{self as catalog, Slug};

use crate::doctor::check::{Check, Cost, Finding, Outcome, Status};
use crate::doctor::context::Context;
use crate::doctor::programs;
use crate::home;
use crate::setup::plan::CONFIG;

const DEADLINE: Duration = Duration::from_secs(5);
const KEY: &str = "model_catalog_json";

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "catalog.sound",
        title: "the catalog is there, and Codex would take every part of it",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(sound(&context)) }),
    },
    Check {
        id: "catalog.loaded",
        title: "the installed Codex offers the catalog's models",
        requires: &["catalog.sound", "config.loads"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(30),
        run: |context| Box::pin(loaded(context)),
    },
    Check {
        id: "catalog.models",
        title: "each profile's model has an entry",
        requires: &["catalog.sound"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(models(&context)) }),
    },
    Check {
        id: "catalog.compaction",
        title: "Codex compacts before the window is full",
        requires: &["catalog.sound"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(compaction(&context)) }),
    },
    Check {
        id: "catalog.efforts",
        title: "each profile's effort is one of its model's",
        requires: &["catalog.models"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(efforts(&context)) }),
    },
];

/// A file of the profile that a key names, as Codex finds it: `~/` is the user's home, another
/// relative path is below the profile.
pub(super) fn named_file(context: &Context, name: &str) -> PathBuf {
    match name
        .strip_prefix("~/")
        .map(|rest| (rest, home::user_home()))
    {
        Some((rest, Ok(user))) => user.join(rest),
        _ => context.home.join(name),
    }
}

/// The catalog's text, and the file it stands in.
fn text(context: &Context) -> Result<(String, PathBuf), Box<Finding>> {
    let again = |finding: Finding| {
        let finding = finding
            .remedy("run set-up again: it makes the catalog anew")
            .command("codex-ds setup")
            .fixable();
        Box::new(finding)
    };
    let Some(name) = context.profile.text(&[KEY]) else {
        if let Some(elsewhere) = context.profile.elsewhere(&[KEY]) {
            return Err(Box::new(
                Finding::fail("the catalog is named in the wrong table, where Codex ignores it")
                    .measured(format!("`{elsewhere}`"))
                    .expected(format!("`{KEY}`, above the first [table]"))
                    .source(CONFIG)
                    .remedy("move that line above the first [table]"),
            ));
        }
        return Err(again(
            Finding::fail("no catalog is named: Codex takes its models for unknown ones")
                .measured(format!("no `{KEY}` above the first [table]"))
                .expected(format!("{KEY} = \"model-catalog.json\""))
                .source(CONFIG),
        ));
    };
    let path = named_file(context, name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((text, path)),
        Err(error) => Err(again(
            Finding::fail("the catalog cannot be read: Codex does not start, and does not say why")
                .measured(error.to_string())
                .expected("a file")
                .source(format!("{CONFIG}: {KEY}, {}", path.display())),
        )),
    }
}

/// The models of a sound catalog; none of another one.
pub(super) fn slugs(context: &Context) -> Vec<Slug> {
    text(context)
        .ok()
        .and_then(|(text, _)| catalog::check(&text).ok())
        .unwrap_or_default()
}

fn sound(context: &Context) -> Outcome {
    let (text, path) = match text(context) {
        Ok(found) => found,
        Err(finding) => return (*finding).into(),
    };
    match catalog::check(&text) {
        Ok(slugs) => {
            let ids: Vec<&str> = slugs.iter().map(|slug| slug.id.as_str()).collect();
            Outcome::pass(ids.join(", "))
        }
        Err(problems) => {
            let findings = problems
                .iter()
                .map(|problem| {
                    let place = if problem.pointer.is_empty() {
                        "the file"
                    } else {
                        &problem.pointer
                    };
                    let (status, effect) = match problem.effect {
                        catalog::Effect::Refused => (Status::Fail, "Codex does not start"),
                        catalog::Effect::Silent => {
                            (Status::Warn, "Codex starts, and does something else")
                        }
                    };
                    let mut finding = Finding::fail(format!("{place} is wrong: {effect}"))
                        .measured(problem.found.clone())
                        .expected(problem.expected.clone())
                        .source(path.display().to_string())
                        .remedy(
                            "mend it, or move the file away and run set-up again, which makes it anew",
                        )
                        .command("codex-ds setup");
                    finding.status = status;
                    finding
                })
                .collect();
            Outcome::of("", findings)
        }
    }
}

async fn loaded(context: Arc<Context>) -> Result<Outcome> {
    let asked = programs::asked(&context).await;
    let Ok(asked) = &*asked else {
        return Ok(Outcome::skip("Codex could not be asked"));
    };
    let offered = match &asked.models {
        Ok(offered) => offered,
        Err(error) => {
            return Ok(Finding::fail("Codex does not say which models it has")
                .measured(error.text.clone())
                .expected("a list")
                .source("codex app-server: model/list")
                .into());
        }
    };
    let lost: Vec<String> = slugs(&context)
        .into_iter()
        .map(|slug| slug.id)
        .filter(|id| !offered.contains(id))
        .collect();
    Ok(if lost.is_empty() {
        Outcome::pass(offered.join(", "))
    } else {
        Finding::fail(format!("Codex does not offer {}", lost.join(", ")))
            .measured(offered.join(", "))
            .expected(lost.join(", "))
            .source("codex app-server: model/list")
            .remedy(format!(
                "is `{KEY}` above the first [table], and does no other file override it? config.keys and \
                 config.overridden say more"
            ))
            .into()
    })
}

fn models(context: &Context) -> Outcome {
    let slugs = slugs(context);
    let ids: Vec<&str> = slugs.iter().map(|slug| slug.id.as_str()).collect();
    let mut findings = Vec::new();
    for profile in context.profiles() {
        let Some((item, layer)) = profile.get(&["model"]) else {
            continue;
        };
        let model = item.as_str().unwrap_or_default();
        if !ids.contains(&model) {
            findings.push(
                Finding::fail(format!(
                    "the model of profile {} has no entry: Codex takes it for an unknown one, with another \
                     window, 17 KB of its own prompt, and tools that it cannot use",
                    profile.name()
                ))
                .measured(model)
                .expected(format!("one of {}", ids.join(", ")))
                .source(format!("{}: model", layer.name()))
                .remedy("name one of these, or run set-up with the model")
                .command(format!("codex-ds setup --model {}", shell_words::quote(model))),
            );
        }
    }
    Outcome::of("they have", findings)
}

fn compaction(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    for slug in slugs(context) {
        // Where the entry says nothing, Codex compacts at nine tenths.
        let at = slug.compact_at.unwrap_or(slug.context / 10 * 9);
        let latest = codex_ds_catalog::window(None, Some(slug.context))
            .map_or(slug.context / 10 * 9, |window| {
                window.compact_at.max(slug.context / 10 * 9)
            });
        if at > latest {
            findings.push(
                Finding::warn(format!(
                    "{} is compacted too late: the summary itself has to fit as well",
                    slug.id
                ))
                .measured(format!("auto_compact_token_limit {at}"))
                .expected(format!("at most {latest}, of a window of {}", slug.context))
                .source(format!("the catalog: {}", slug.id))
                .remedy("lower it, or run set-up again")
                .command("codex-ds setup"),
            );
        }
    }
    if let Some((item, layer)) = context.profile.get(&["model_context_window"]) {
        findings.push(
            Finding::warn("`model_context_window` takes the place of every model's own window")
                .measured(item.to_string().trim().to_owned())
                .expected("no such key: the catalog has each model's")
                .source(format!("{}: model_context_window", layer.name()))
                .remedy("take it out"),
        );
    }
    let seen: Vec<String> = slugs(context)
        .iter()
        .map(|slug| match slug.compact_at {
            Some(at) => format!("{} at {at} of {}", slug.id, slug.context),
            None => format!("{} at nine tenths of {}", slug.id, slug.context),
        })
        .collect();
    Outcome::of(seen.join(", "), findings)
}

fn efforts(context: &Context) -> Outcome {
    let slugs = slugs(context);
    let mut findings = Vec::new();
    for profile in context.profiles() {
        let Some(model) = profile.text(&["model"]) else {
            continue;
        };
        let Some(slug) = slugs.iter().find(|slug| slug.id == model) else {
            continue;
        };
        let Some((item, layer)) = profile.get(&["model_reasoning_effort"]) else {
            continue;
        };
        let effort = item.as_str().unwrap_or_default();
        if !slug.levels.is_empty() && !slug.levels.iter().any(|level| level == effort) {
            findings.push(
                Finding::fail(format!(
                    "the effort of profile {} is none of {model}'s: Codex sends any word, and the server \
                     refuses it or takes it for another",
                    profile.name()
                ))
                .measured(effort)
                .expected(slug.levels.join(", "))
                .source(format!("{}: model_reasoning_effort", layer.name()))
                .remedy("set one of these"),
            );
        }
    }
    Outcome::of("they are", findings)
}
