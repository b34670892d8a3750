//! `profiles.…`: the named profiles.

use std::path::Path;
use std::time::Duration;

use toml_edit::DocumentMut;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::profile::{DEFAULT, Profile, SUFFIX};
use crate::setup::plan::CONFIG;
use crate::setup::receipt::FILES;

const DEADLINE: Duration = Duration::from_secs(5);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "profiles.selected",
        title: "the profile that was named is there",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(selected(&context)) }),
    },
    Check {
        id: "profiles.read",
        title: "Codex reads every profile that lies in the folder",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(read(&context)) }),
    },
];

fn selected(context: &Context) -> Outcome {
    let names = context.profile.names();
    match &context.profile.name {
        None => Outcome::pass(names.join(", ")),
        Some(name) if names.contains(name) => Outcome::pass(name.clone()),
        Some(name) => Finding::fail(format!(
            "there is no profile {name}: plain codex -p {name} says nothing and runs the default one"
        ))
        .measured(format!("no file {name}{SUFFIX}"))
        .expected(format!("one of {}", names.join(", ")))
        .source(context.home.display().to_string())
        .remedy("name one of them, or write the file")
        .into(),
    }
}

fn read(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    if let Some(Ok(base)) = context.profile.layers.first().map(|layer| &layer.document) {
        legacy(base, &mut findings);
    }
    for name in context.profile.names() {
        if name == DEFAULT {
            continue;
        }
        let profile = Profile::read(&context.home, Some(&name));
        if let Some(Err(error)) = profile.layers.last().map(|layer| &layer.document) {
            findings.push(
                Finding::fail(format!(
                    "{name}{SUFFIX} is not TOML: -p {name} does not start"
                ))
                .measured(error.clone())
                .expected("TOML")
                .source(
                    context
                        .home
                        .join(format!("{name}{SUFFIX}"))
                        .display()
                        .to_string(),
                )
                .remedy("mend that line"),
            );
        }
        // Codex's own limits for a name.
        if name.contains(['.', ' ']) {
            findings.push(
                Finding::warn(format!("Codex takes no profile name like {name:?}"))
                    .measured(format!("{name}{SUFFIX}"))
                    .expected("a name without a dot or a space")
                    .source(context.home.display().to_string())
                    .remedy("rename the file"),
            );
        }
    }
    for name in strays(context) {
        let stem = name.trim_end_matches(".toml");
        findings.push(
            Finding::warn(format!("Codex does not read {name}"))
                .measured(name.clone())
                .expected(format!("{stem}{SUFFIX}, for -p {stem}"))
                .source(context.home.display().to_string())
                .remedy("rename it, or take it out"),
        );
    }
    Outcome::of(context.profile.names().join(", "), findings)
}

/// What Codex had before a profile was a file of its own.
fn legacy(base: &DocumentMut, findings: &mut Vec<Finding>) {
    let tables = base.get("profiles").and_then(|item| item.as_table_like());
    for (name, _) in tables.into_iter().flat_map(|table| table.iter()) {
        findings.push(
            Finding::fail(format!(
                "[profiles.{name}] is ignored, and -p {name} does not start"
            ))
            .measured(format!("[profiles.{name}]"))
            .expected(format!("a file {name}{SUFFIX}"))
            .source(CONFIG)
            .remedy("move its keys into that file, and take the table out"),
        );
    }
    if let Some(name) = base.get("profile") {
        findings.push(
            Finding::fail("`profile` is no longer read: Codex does not start")
                .measured(format!("profile = {}", name.to_string().trim()))
                .expected("codex-ds -p NAME")
                .source(CONFIG)
                .remedy("take it out, and name the profile when you start"),
        );
    }
}

/// TOML files that look like profiles and are none.
fn strays(context: &Context) -> Vec<String> {
    let mut strays: Vec<String> = std::fs::read_dir(&context.home)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            Path::new(name).extension().is_some_and(|end| end == "toml")
                && !name.ends_with(SUFFIX)
                && !FILES.contains(&name.as_str())
        })
        .collect();
    strays.sort();
    strays
}
