//! `codex-ds doctor`: every part of the chain between the keyboard and the GPU, with the evidence
//! and the fix.
//!
//! ```text
//! Args ─▶ Context (files, routes) ─▶ select ─▶ runner (side by side) ─▶ Records ─▶ report
//! ```
//!
//! A check is a value in a table of [`checks`]; its section in `docs/checks.md` is what `--explain`
//! shows.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::error::UserError;
use crate::home::HomeArg;
use crate::setup::plan::CONFIG;
use crate::setup::strangers::Strangers;
use crate::{exit, home, ui};

pub mod check;
pub mod checks;
pub mod context;
mod explain;
mod fix;
mod live;
pub mod profile;
mod programs;
mod report;
mod runner;
mod select;
mod targets;

use check::{Check, Record, Status};
use context::{Context, Found};
use profile::Profile;
use report::Report;
use select::Selection;

/// Say what is wrong with the chain, with the evidence and the fix
///
/// Looks at every part between the keyboard and the GPU: Codex, the profile, the guard (by a denial
/// that happens), the MCP servers, the network, the endpoint. Changes nothing, unless told to --fix.
/// The output holds no secret and can be pasted into a report.
#[derive(Clone, Debug, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(after_help = "\
Examples:
  codex-ds doctor
  codex-ds doctor --deep -p native        the model works too: some hundred tokens a check
  codex-ds doctor --offline --only guard
  codex-ds doctor --explain guard.denies
  codex-ds doctor --fix
  codex-ds doctor -- -c features.hooks=false exec    what these arguments would do to the profile

Codex's own command of this name: codex-ds -- doctor

Exit codes: 0 nothing failed (with --strict: nor is there a warning); 1 a check failed, or broke;
2 wrong usage; 3 not ready: no profile, or no Codex")]
pub struct Args {
    /// Look at one profile only [default: all of them]
    #[arg(long, short, value_name = "NAME")]
    profile: Option<String>,
    /// Only these checks, and what they require: an id, an area, or a pattern with *
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave these checks out
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    skip: Vec<String>,
    /// Ask nobody on the network
    #[arg(long)]
    offline: bool,
    /// Have the model work as well
    #[arg(long, conflicts_with = "offline")]
    deep: bool,
    /// Take warnings for failures
    #[arg(long)]
    strict: bool,
    /// Repair what set-up wrote, after showing the change
    #[arg(long)]
    fix: bool,
    /// Do not ask before --fix
    #[arg(long, short, requires = "fix")]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Show what a check looks at, why, and what to do
    #[arg(long, value_name = "ID")]
    explain: Option<String>,
    /// List the checks
    #[arg(long)]
    list: bool,
    /// The profile's folder.
    #[command(flatten)]
    home: HomeArg,
    /// Arguments for Codex, to see what they would do to the profile
    #[arg(last = true, value_name = "CODEX ARGS")]
    for_codex: Vec<OsString>,
}

/// Runs the command.
///
/// # Errors
/// When an option is wrong, or there is no profile to look at.
pub fn run(args: &Args) -> Result<u8> {
    if let Some(id) = &args.explain {
        let check = select::by_id(checks::all(), "--explain", id)?;
        report::explain(check, args.json);
        return Ok(exit::OK);
    }
    let selection = Selection {
        only: &args.only,
        skip: &args.skip,
        offline: args.offline,
        deep: args.deep || args.list,
    };
    let selected = select::select(checks::all(), &selection)?;
    if args.list {
        report::list(&selected, args.json);
        return Ok(exit::OK);
    }
    let mut report = visit(args, &selected)?;
    let mut fixed = None;
    if args.fix
        && let Some(fix) = fix::plan(&report.context, &report.records)?
    {
        if !args.json {
            report::show(&report, None, false);
            ui::out(&format!("\n--fix:\n{}", fix.text()));
        }
        if !fix::is_wanted(args.yes)? {
            return Ok(code(&report.records, args.strict));
        }
        fix.apply(&report.context)?;
        fixed = Some(fix.json());
        report = visit(args, &selected)?;
    } else if args.fix && !args.json {
        ui::err("--fix: there is nothing that it could repair\n");
    }
    report::show(&report, fixed.as_ref(), args.json);
    Ok(code(&report.records, args.strict))
}

/// Runs the checks, once.
fn visit(args: &Args, selected: &[&'static Check]) -> Result<Report> {
    let begun = Instant::now();
    let context = Arc::new(Context::new(find(args)?));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let progress = ui::progress("looking");
    let strangers = Strangers::before(&context.home);
    let waiting = |left: &[&str]| {
        progress.set(&format!(
            "{} of {} checks done; waiting for {}",
            selected.len() - left.len(),
            selected.len(),
            left.join(", ")
        ));
    };
    let records = runtime.block_on(async {
        // What most checks wait for is begun at once: Codex takes half of the time to start.
        if selected.iter().any(|check| check.id == "config.loads") {
            let context = context.clone();
            tokio::spawn(async move { programs::asked(&context).await });
        }
        tokio::select! {
            records = runner::run(selected, &context, waiting) => Some(records),
            _ = tokio::signal::ctrl_c() => None,
        }
    });
    // The programs of checks that were ended go with them; a thread that waits for one does not.
    runtime.shutdown_timeout(Duration::from_millis(500));
    strangers.remove();
    drop(progress);
    let Some(records) = records else {
        return Err(UserError::new("interrupted").into());
    };
    Ok(Report {
        left_out: checks::all().count() - records.len(),
        context,
        records,
        took: begun.elapsed(),
    })
}

/// The check without which nothing can be said: its failure is another exit code.
const CODEX: &str = "codex.found";

fn code(records: &[Record], strict: bool) -> u8 {
    let is_bad = |record: &Record| {
        record.status >= Status::Fail || (strict && record.status == Status::Warn)
    };
    if records
        .iter()
        .any(|record| record.id == CODEX && record.status >= Status::Fail)
    {
        exit::NOT_READY
    } else if records.iter().any(is_bad) {
        exit::FAILURE
    } else {
        exit::OK
    }
}

fn find(args: &Args) -> Result<Found> {
    let named_home = home::wanted(args.home.home.as_deref())?;
    let home = home::real_path(&named_home)?;
    if !home.join(CONFIG).is_file() {
        return Err(
            UserError::not_ready(format!("there is no profile in {}", home.display()))
                .hint("make one: codex-ds setup --endpoint http://HOST:PORT/v1")
                .hint("or name the folder of one with --home, or in CODEX_DS_HOME")
                .into(),
        );
    }
    Ok(Found {
        profile: Profile::read(&home, args.profile.as_deref()),
        home,
        named_home,
        cwd: std::env::current_dir().context("cannot tell the working folder")?,
        path: std::env::var_os("PATH"),
        offline: args.offline,
        deep: args.deep,
        codex_args: args.for_codex.clone(),
    })
}
