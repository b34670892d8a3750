//! `codex-ds guard`: the guard outside a session.

mod allow;
mod check;
mod log;
mod rules;
mod suite;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use codex_ds_hook::Policy;

use crate::home::HomeArg;
use crate::{home, ui};

pub use rules::markdown;

/// The version of the JSON that these commands print.
const SCHEMA_VERSION: u32 = 1;

/// `codex-ds guard`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds guard check 'git push --force'
  codex-ds guard explain 'ssh spark-1 \"sudo reboot\"'
  codex-ds guard rules delete.file
  codex-ds guard log -n 5
  codex-ds guard test team-rules.txt
  codex-ds guard allow 3f9a01c2de")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say whether a command would pass
    Check(check::Args),
    /// Say what was understood of a command, and why it would be denied
    Explain(check::Args),
    /// Show what is denied: the table, or one rule in full
    Rules(rules::Args),
    /// Show what the guard decided of late
    Log(log::Args),
    /// Check a file of commands with the verdicts you expect
    Test(suite::Args),
    /// Let a command that was denied pass once
    Allow(allow::Args),
}

/// Whose policy, and where the command would run.
#[derive(Debug, clap::Args)]
struct PlaceArgs {
    /// The folder the command would run in [default: the present one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArg,
}

impl PlaceArgs {
    fn home(&self) -> Result<PathBuf> {
        home::wanted(self.home.home.as_deref())
    }

    fn cwd(&self) -> Result<PathBuf> {
        match &self.cwd {
            Some(cwd) => cwd
                .canonicalize()
                .with_context(|| format!("cannot use {}", cwd.display())),
            None => std::env::current_dir().context("cannot tell the present folder"),
        }
    }
}

/// The policy of a profile; what is wrong with its file is told.
fn policy(home: &Path) -> Policy {
    let (policy, problem) = codex_ds_hook::installed::read_policy(home);
    if let Some(problem) = problem {
        ui::warn(problem.trim_matches(['(', ')']));
    }
    policy
}

/// Runs `codex-ds guard`.
///
/// # Errors
/// When what was asked for cannot be read, or a grant cannot be written.
pub fn run(args: &Args) -> Result<u8> {
    match &args.command {
        Command::Check(args) => check::check(args),
        Command::Explain(args) => check::explain(args),
        Command::Rules(args) => rules::run(args),
        Command::Log(args) => log::run(args),
        Command::Test(args) => suite::run(args),
        Command::Allow(args) => allow::run(args),
    }
}
