//! `rules.…`: Codex's own command rules.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value as Json;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::programs;
use crate::setup::block;

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "rules.load",
        title: "the installed Codex loads the command rules",
        requires: &["codex.found"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(20),
        run: |context| Box::pin(load(context)),
    },
    Check {
        id: "rules.agree",
        title: "they are those of the guard's table",
        requires: &[],
        cost: Cost::Offline,
        deadline: Duration::from_secs(5),
        run: |context| Box::pin(async move { Ok(agree(&context)) }),
    },
    Check {
        id: "rules.outside",
        title: "no rule lets a command run outside the sandbox",
        requires: &[],
        cost: Cost::Offline,
        deadline: Duration::from_secs(5),
        run: |context| Box::pin(async move { Ok(outside(&context)) }),
    },
];

/// Our rules in the profile.
const OURS: &str = "rules/default.rules";
/// A command that the rules of every preset forbid, and that is only asked about.
const FORBIDDEN: [&str; 2] = ["systemctl", "reboot"];

/// Every rules file that Codex reads, ours first.
fn files(context: &Context) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(context.home.join("rules"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "rules"))
        .collect();
    let ours = context.home.join(OURS);
    files.sort_by_key(|path| (*path != ours, path.clone()));
    files
}

async fn load(context: Arc<Context>) -> Result<Outcome> {
    let files = files(&context);
    if files.is_empty() {
        return Ok(missing(&context).into());
    }
    let mut args = vec!["execpolicy", "check"];
    let names: Vec<String> = files
        .iter()
        .map(|file| file.to_string_lossy().into_owned())
        .collect();
    for name in &names {
        args.extend(["--rules", name]);
    }
    args.extend(FORBIDDEN);
    let printed = programs::run_codex(&context, &args, Duration::from_secs(15)).await?;
    let source = format!("codex execpolicy check --rules {}", names.join(" --rules "));
    if !printed.success {
        return Ok(
            Finding::fail("Codex does not load the rules, so it starts no session")
                .measured(printed.complaint())
                .expected("no complaint")
                .source(source)
                .remedy("mend the line that it names; or move the file away and run set-up again")
                .command("codex-ds setup")
                .into(),
        );
    }
    let answer: Json = serde_json::from_str(&printed.stdout).unwrap_or_default();
    let command = FORBIDDEN.join(" ");
    Ok(if answer["decision"] == "forbidden" {
        Outcome::pass(format!(
            "{} file{}; `{command}` is forbidden",
            files.len(),
            if files.len() == 1 { "" } else { "s" }
        ))
    } else {
        Finding::warn("the rules are loaded, and do not forbid what ours do")
            .measured(format!("`{command}`: {}", answer["decision"]))
            .expected("forbidden")
            .source(source)
            .remedy("run set-up again: it puts our rules back; the guard denies the same and more")
            .command("codex-ds setup")
            .fixable()
            .into()
    })
}

fn missing(context: &Context) -> Finding {
    Finding::warn("there are no command rules: only the guard is left")
        .measured("no file")
        .expected(OURS)
        .source(context.home.join(OURS).display().to_string())
        .remedy("run set-up again: it writes them anew")
        .command("codex-ds setup")
        .fixable()
}

fn agree(context: &Context) -> Outcome {
    let Ok(text) = std::fs::read_to_string(context.home.join(OURS)) else {
        return Outcome::skip("there are none");
    };
    let (policy, _) = codex_ds_hook::installed::read_policy(&context.home);
    let wanted = block::wrap(&codex_ds_rules::execpolicy(policy.preset));
    match block::split(&text) {
        Some((_, there, _)) if there == wanted => {
            Outcome::pass(format!("preset {}, as in guard.toml", policy.preset))
        }
        Some((_, there, _)) => {
            let lines = |text: &str| {
                text.lines()
                    .filter(|line| line.starts_with("prefix_rule"))
                    .count()
            };
            Finding::warn("our block of the rules is not what the guard's table gives")
                .measured(format!("{} rules", lines(there)))
                .expected(format!("{} rules, for preset {}", lines(&wanted), policy.preset))
                .source(OURS)
                .remedy("run set-up with the preset that you want; it keeps a block that you changed: move the file away first")
                .command(format!("codex-ds setup --preset {}", policy.preset))
                .into()
        }
        None => Finding::warn("our block of the rules is gone")
            .measured("no block of codex-ds")
            .expected(format!("{} rules", wanted.lines().count()))
            .source(OURS)
            .remedy("move the file away and run set-up again")
            .command("codex-ds setup")
            .into(),
    }
}

/// Rules of decision `allow`, which is also what a rule without one has: Codex runs such a command
/// outside the sandbox, in both versions. Codex writes them where a user says "always".
fn outside(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    for file in files(context) {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let rest = match block::split(&text) {
            Some((before, _, after)) => format!("{before}{after}"),
            None => text,
        };
        let allowed: Vec<&str> = rest
            .split("prefix_rule")
            .skip(1)
            .filter(|rule| !rule.contains("forbidden") && !rule.contains("\"prompt\""))
            .map(str::trim)
            .collect();
        if !allowed.is_empty() {
            findings.push(
                Finding::note(format!(
                    "{} commands run outside the sandbox, by your own word",
                    allowed.len()
                ))
                .measured(allowed.join("\n"))
                .source(file.display().to_string()),
            );
        }
    }
    let summary = match findings.first() {
        Some(finding) => finding.text.clone(),
        None => "none does".to_owned(),
    };
    Outcome::of(summary, findings)
}
