//! `codex-ds deploy recover`.

use anyhow::Result;
use codex_ds_deploy::cluster::diagnose::diagnose;
use codex_ds_deploy::cluster::recover::{self, RecoverError, Step};
use serde_json::json;

use super::SiteArg;
use super::cluster::{self, ClusterArg};
use crate::error::UserError;
use crate::{exit, ui};

/// Heal what a restart in the right order can heal
///
/// Decides from the same diagnoses as `status`, shows the plan, and asks. Each step is verified
/// before the next; after an interruption the same command goes on. An engine that is full and
/// works is left alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy recover --dry-run
  codex-ds deploy recover
  codex-ds deploy recover --restart

Exit codes: 0 done, or there is nothing to heal; 1 failed, or you said no; 2 wrong usage, a fault in
the site, or --dry-run has a plan; 3 there is no kubectl, or nobody to ask")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(super) struct Args {
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    cluster: ClusterArg,
    /// Restart both ranks in the right order, whatever the diagnosis
    #[arg(long)]
    restart: bool,
    /// Show the plan, and do nothing; exit code 2 if there is one
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<u8> {
    let site = args.site.load()?;
    let kubectl = args.cluster.program(&site);
    let facts = cluster::facts(&kubectl, &site, true)?;
    let diagnoses = diagnose(&site, &facts);
    let steps = if args.restart {
        recover::group(&site, &facts)
    } else {
        recover::plan(&site, &facts, &diagnoses)
    };
    if !args.json {
        for diagnosis in &diagnoses {
            ui::out(&format!(
                "{} [{}] {}\n",
                diagnosis.severity, diagnosis.code, diagnosis.says
            ));
            for evidence in diagnosis.evidence.iter().take(6) {
                ui::out(&format!("  seen: {evidence}\n"));
            }
        }
        ui::out(&plan_text(&cluster::context(&kubectl)?, &steps));
    }
    let mut done = Vec::new();
    if !steps.is_empty() && !args.dry_run {
        agree(args.yes)?;
        for step in &steps {
            if !args.json {
                ui::out(&format!("{} … ", step.says()));
            }
            let _progress = ui::progress(&step.says());
            recover::execute(&kubectl, &site, step, &mut std::thread::sleep)
                .map_err(|error| stopped(&error))?;
            if !args.json {
                ui::out("done\n");
            }
            done.push(step);
        }
        if !args.json {
            ui::out("next: `codex-ds deploy status --watch` shows the start until a token comes\n");
        }
    }
    if args.json {
        ui::json(&json!({
            "schema_version": 1,
            "diagnoses": diagnoses,
            "plan": steps,
            "done": done,
        }));
    }
    Ok(if args.dry_run && !steps.is_empty() {
        exit::CHANGES
    } else {
        exit::OK
    })
}

fn plan_text(context: &str, steps: &[Step]) -> String {
    if steps.is_empty() {
        return "nothing that a restart would heal\n".to_owned();
    }
    let lines: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(index, step)| format!("  {}. {}\n", index + 1, step.says()))
        .collect();
    format!("plan, in context {context}:\n{}", lines.concat())
}

/// Asks whether to go on, unless that was said already.
pub(super) fn agree(yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !ui::can_ask() {
        return Err(
            UserError::not_ready("there is nobody to ask whether to go on")
                .hint("--yes goes on, --dry-run only shows the plan")
                .into(),
        );
    }
    if ui::confirm("Go on?")? {
        Ok(())
    } else {
        Err(UserError::new("nothing was done").into())
    }
}

pub(super) fn stopped(error: &RecoverError) -> anyhow::Error {
    let hint = match error {
        RecoverError::Kubectl(error) => error.hint(),
        RecoverError::Late { .. } => "`codex-ds deploy status` shows why",
    };
    UserError::new(error.to_string())
        .hint(hint)
        .hint("the same command goes on from here")
        .into()
}
