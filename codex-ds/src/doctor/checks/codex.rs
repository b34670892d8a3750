//! `codex.…`: the installed Codex.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::process::Command;

use crate::codex::{NEWEST, OLDEST};
use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::live;
use crate::doctor::programs::{self, Printed};
use crate::setup::receipt::Receipt;
use crate::{env, process};

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "codex.found",
        title: "Codex is installed",
        requires: &[],
        cost: Cost::Codex,
        deadline: Duration::from_secs(10),
        run: |context| Box::pin(found(context)),
    },
    Check {
        id: "codex.version",
        title: "its version was tested, and is the one that the profile was made for",
        requires: &["codex.found"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(10),
        run: |context| Box::pin(version(context)),
    },
    Check {
        id: "codex.others",
        title: "no other Codex is on PATH",
        requires: &["codex.found"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(10),
        run: |context| Box::pin(others(context)),
    },
    Check {
        id: "codex.turn",
        title: "a headless turn works, against a server in this program",
        requires: &[
            "config.loads",
            "catalog.sound",
            "instructions.file",
            "rules.load",
            "profiles.selected",
        ],
        cost: Cost::Codex,
        deadline: live::DEADLINE,
        run: |context| Box::pin(turn(context)),
    },
];

async fn found(context: Arc<Context>) -> Result<Outcome> {
    Ok(match &*programs::codex(&context).await {
        Ok(codex) => Outcome::pass(codex.path.display().to_string()),
        Err(error) => Finding::fail(error.text.clone())
            .expected(format!("Codex {OLDEST} to {NEWEST}"))
            .source("PATH, and the profile's receipt")
            .remedy(error.hint.clone())
            .command(format!("npm install --global @openai/codex@{NEWEST}"))
            .into(),
    })
}

async fn version(context: Arc<Context>) -> Result<Outcome> {
    let codex = programs::codex(&context).await;
    let Ok(codex) = &*codex else {
        return Ok(Outcome::skip("there is no Codex to ask"));
    };
    let mut findings = Vec::new();
    if codex.is_untested() {
        findings.push(
            Finding::warn("this Codex is newer than the newest that was tested")
                .measured(codex.version.to_string())
                .expected(format!("{OLDEST} to {NEWEST}"))
                .source(format!("{} --version", codex.path.display()))
                .remedy("if something fails, use the tested one")
                .command(format!("npm install --global @openai/codex@{NEWEST}")),
        );
    }
    let receipts = Receipt::load(&context.home).ok();
    let recorded = receipts
        .as_ref()
        .and_then(|receipts| receipts.latest()?.codex.as_ref());
    if let Some(recorded) =
        recorded.filter(|recorded| recorded.version != codex.version.to_string())
    {
        findings.push(
            Finding::warn("the profile was made for another Codex, and not looked through since")
                .measured(codex.version.to_string())
                .expected(recorded.version.clone())
                .source("receipt.json: codex.version")
                .remedy("run set-up again: it checks the profile against this Codex")
                .command("codex-ds setup"),
        );
    }
    Ok(Outcome::of(codex.version.to_string(), findings))
}

/// Every other program called `codex` on PATH, by what it really is, so that a link is no second one.
fn on_path(context: &Context, ours: &std::path::Path) -> Vec<PathBuf> {
    let real = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let ourselves = std::env::current_exe().map(|path| real(&path)).ok();
    let mut found: BTreeMap<PathBuf, (usize, PathBuf)> = BTreeMap::new();
    let all = which::which_in_all("codex", context.path.as_deref(), &context.home);
    for (place, path) in all.into_iter().flatten().enumerate() {
        found.entry(real(&path)).or_insert((place, path));
    }
    found.remove(&real(ours));
    if let Some(ourselves) = ourselves {
        found.remove(&ourselves);
    }
    let mut others: Vec<(usize, PathBuf)> = found.into_values().collect();
    others.sort();
    others.into_iter().map(|(_, path)| path).collect()
}

async fn others(context: Arc<Context>) -> Result<Outcome> {
    let codex = programs::codex(&context).await;
    let Ok(codex) = &*codex else {
        return Ok(Outcome::skip("there is no Codex to ask"));
    };
    let others = on_path(&context, &codex.path);
    let nowhere = tempfile::tempdir()?;
    let mut findings = Vec::new();
    for path in others {
        let mut command = Command::new(&path);
        // Codex makes a folder in its home even for its version.
        command
            .arg("--version")
            .env(env::CODEX_HOME, nowhere.path());
        let version = process::run(&mut command, Duration::from_secs(5)).await;
        let version = match version.and_then(Printed::of) {
            Ok(printed) if printed.success => printed.stdout.trim().to_owned(),
            Ok(printed) => printed.complaint(),
            Err(error) => format!("{error:#}"),
        };
        findings.push(
            Finding::warn(format!("there is another codex: {}", path.display()))
                .measured(format!("{}: {version}", path.display()))
                .expected(format!(
                    "only {}: {}, which codex-ds starts",
                    codex.path.display(),
                    codex.version
                ))
                .source("PATH")
                .remedy("remove one, or say which one to use")
                .command(format!(
                    "codex-ds setup --codex {}",
                    shell_words::quote(&codex.path.to_string_lossy())
                )),
        );
    }
    let pinned = Receipt::load(&context.home)
        .ok()
        .and_then(|receipts| Some(receipts.latest()?.codex.as_ref()?.pinned))
        .unwrap_or(false);
    if pinned {
        // The user has said which one; that another is there does no harm.
        for finding in &mut findings {
            finding.status = crate::doctor::check::Status::Pass;
        }
    }
    Ok(Outcome::of(
        if pinned {
            "the one that setup --codex named"
        } else {
            "the only one on PATH"
        },
        findings,
    ))
}

async fn turn(context: Arc<Context>) -> Result<Outcome> {
    let turn = live::turn(&context).await;
    let failed = |why: String| {
        Finding::fail("Codex does not get through a turn on this profile")
            .measured(why)
            .expected("two requests, and exit status 0")
            .source("codex exec, against a server in this program")
            .remedy("what it says names the cause; the endpoint has no part in this")
    };
    Ok(match &*turn {
        Err(error) => failed(error.text.clone()).into(),
        Ok(turn) if !turn.printed.success || turn.requests != 2 => failed(format!(
            "{} requests, {}: {}",
            turn.requests,
            turn.printed.status,
            turn.printed.complaint()
        ))
        .into(),
        Ok(turn) => Outcome::pass(format!("{} requests, as they should be", turn.requests)),
    })
}
