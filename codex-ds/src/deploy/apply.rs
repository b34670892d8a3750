//! `codex-ds deploy diff` and `codex-ds deploy apply`.

use std::time::{Duration, Instant};

use anyhow::Result;
use codex_ds_deploy::check::{self, Severity};
use codex_ds_deploy::cluster::apply::{self, Action, Change};
use codex_ds_deploy::cluster::recover::RecoverError;
use codex_ds_deploy::cluster::{Canary, Role, collect};
use codex_ds_deploy::k8s::Manifest;
use codex_ds_deploy::kubectl::Program;
use codex_ds_deploy::render;
use codex_ds_deploy::site::Site;
use serde_json::json;
use similar::TextDiff;

use super::SiteArg;
use super::cluster::{self, ClusterArg};
use crate::error::UserError;
use crate::{exit, ui};

/// Show what apply would change in the cluster
///
/// The server itself says it, by a dry run. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy diff

Exit codes: 0 nothing would change; 1 failed; 2 something would change, wrong usage, or a fault in
the site; 3 there is no kubectl")]
pub(super) struct DiffArgs {
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    cluster: ClusterArg,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Bring the cluster to what the site says
///
/// Server-side, through your own kubectl, only on objects that carry our label. A change of a
/// running rank stops the head, replaces the worker and starts the head, in that order. A field
/// that someone else set is shown, never taken.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy apply --dry-run=server
  codex-ds deploy apply --wait

Exit codes: 0 done, or there was nothing to do; 1 failed, or you said no; 2 wrong usage, a fault in
the site, or --dry-run has something to do; 3 there is no kubectl, or nobody to ask")]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    cluster: ClusterArg,
    /// Show what would be done, as the server itself says, and do nothing; exit code 2 if that is anything
    #[arg(long, value_name = "BY", num_args = 0..=1, require_equals = true, default_missing_value = "server", value_parser = ["server"])]
    dry_run: Option<String>,
    /// Wait until a token comes, at most as long as the site's probes.startup_minutes
    #[arg(long)]
    wait: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

struct Survey {
    site: Site,
    kubectl: Program,
    manifests: Vec<Manifest>,
    changes: Vec<Change>,
}

fn survey(site: &SiteArg, cluster: &ClusterArg) -> Result<Survey> {
    let site = site.load()?;
    let kubectl = cluster.program(&site);
    let manifests = render::manifests(&site);
    let _progress = ui::progress("asking the cluster what would change");
    let changes =
        apply::survey(&kubectl, &site, &manifests).map_err(|error| cluster::failed(&error))?;
    Ok(Survey {
        site,
        kubectl,
        manifests,
        changes,
    })
}

pub(super) fn diff(args: &DiffArgs) -> Result<u8> {
    let survey = survey(&args.site, &args.cluster)?;
    let mut would_change = false;
    let mut objects = Vec::new();
    for (manifest, change) in survey.manifests.iter().zip(&survey.changes) {
        let name = format!("{} {}", manifest.kind(), manifest.name());
        let (word, text) = match change {
            Change::Same => ("same", String::new()),
            Change::NotOurs => ("not ours", String::new()),
            Change::New => ("new", manifest.yaml()),
            Change::Changed(before, after) => (
                "changed",
                TextDiff::from_lines(before.as_str(), after.as_str())
                    .unified_diff()
                    .header("in the cluster", "by the site")
                    .to_string(),
            ),
        };
        would_change |= matches!(change, Change::New | Change::Changed(..));
        if args.json {
            objects.push(json!({ "object": name, "change": word, "text": text }));
        } else {
            ui::out(&format!("{name}: {word}\n{text}"));
        }
    }
    if args.json {
        ui::json(&json!({ "schema_version": 1, "objects": objects }));
    }
    Ok(if would_change {
        exit::CHANGES
    } else {
        exit::OK
    })
}

pub(super) fn apply(args: &ApplyArgs) -> Result<u8> {
    let survey = survey(&args.site, &args.cluster)?;
    let Survey {
        site,
        kubectl,
        manifests,
        changes,
    } = &survey;
    let errors = check::site(site)
        .iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .count();
    if errors > 0 {
        return Err(UserError::new(format!(
            "{} has {errors} errors, nothing was applied",
            site.file
        ))
        .hint("`codex-ds deploy check` names them")
        .into());
    }
    let facts = cluster::facts(kubectl, site, false)?;
    let actions = apply::plan(site, manifests, changes, &facts);
    let context = cluster::context(kubectl)?;
    let foreign: Vec<String> = manifests
        .iter()
        .zip(changes)
        .filter(|(_, change)| **change == Change::NotOurs)
        .map(|(manifest, _)| format!("{} {}", manifest.kind(), manifest.name()))
        .collect();
    let says: Vec<String> = actions
        .iter()
        .map(|action| apply::says(action, manifests))
        .collect();
    if !args.json {
        ui::out(&plan_text(&context, &foreign, &says));
    }
    let dry = args.dry_run.is_some();
    let mut token = None;
    if !dry {
        if !actions.is_empty() {
            super::recover::agree(args.yes)?;
            run(&survey, &actions, !args.json)?;
        }
        if args.wait {
            token = Some(wait(site, kubectl, !args.json)?);
        }
    }
    if args.json {
        ui::json(&json!({
            "schema_version": 1,
            "context": context,
            "not_ours": foreign,
            "plan": says,
            "done": !dry,
            "token_after_seconds": token,
        }));
    }
    Ok(if dry && !actions.is_empty() {
        exit::CHANGES
    } else {
        exit::OK
    })
}

fn plan_text(context: &str, foreign: &[String], says: &[String]) -> String {
    let foreign = foreign
        .iter()
        .map(|object| format!("{object} is not ours and stays as it is\n"));
    if says.is_empty() {
        return foreign
            .chain(["the cluster is as the site says\n".to_owned()])
            .collect();
    }
    let steps = says.iter().enumerate();
    foreign
        .chain([format!("plan, in context {context}:\n")])
        .chain(steps.map(|(index, says)| format!("  {}. {says}\n", index + 1)))
        .collect()
}

fn run(survey: &Survey, actions: &[Action], tell: bool) -> Result<()> {
    let say = |text: &str| {
        if tell {
            ui::out(text);
        }
    };
    for action in actions {
        let says = apply::says(action, &survey.manifests);
        say(&format!("{says} … "));
        let _progress = ui::progress(&says);
        apply::execute(
            &survey.kubectl,
            &survey.site,
            &survey.manifests,
            action,
            &mut std::thread::sleep,
        )
        .map_err(|error| match &error {
            RecoverError::Kubectl(refused) if refused.is_conflict() => UserError::new(
                error.to_string(),
            )
            .hint("someone else set that field; take it out of the site, or have them give it up")
            .hint("nothing was forced; what was applied before stays, the same command goes on")
            .into(),
            _ => super::recover::stopped(&error),
        })?;
        say("done\n");
    }
    Ok(())
}

/// Waits for a token, and says what the engine does meanwhile; gives the seconds that it took.
fn wait(site: &Site, kubectl: &Program, tell: bool) -> Result<u64> {
    let start = Instant::now();
    let limit = Duration::from_secs(site.startup_minutes * 60);
    let progress = ui::progress("waiting for a token");
    let mut last = "";
    while start.elapsed() < limit {
        let facts = collect::facts(kubectl, site, Some(collect::CANARY))
            .map_err(|error| cluster::failed(&error))?;
        if facts.canary == Canary::Came {
            let seconds = start.elapsed().as_secs();
            if tell {
                ui::out(&format!("a token came after {seconds} s\n"));
            }
            return Ok(seconds);
        }
        let phase = super::status::phase(&facts).unwrap_or("waiting for a pod");
        if phase != last {
            if tell {
                ui::out(&format!("{phase}\n"));
            }
            progress.set(phase);
            last = phase;
        }
        if facts
            .pod(Role::Head)
            .is_some_and(|head| head.waiting == "CrashLoopBackOff")
        {
            break;
        }
        std::thread::sleep(Duration::from_secs(5));
    }
    Err(UserError::new("no token came")
        .hint("`codex-ds deploy status` says what is wrong")
        .into())
}
