//! The command line: which words are ours, and their definitions. Every other word is Codex's.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{demo, deploy, doctor, dump, guard, setup, trust, undo};

/// Run OpenAI's Codex CLI, safely and lean, on a model that you serve yourself
#[derive(Debug, Parser)]
#[command(
    name = "codex-ds",
    version,
    after_help = "\
Any other word or flag is handed to Codex, run in this profile:
  codex-ds                        Codex's terminal interface
  codex-ds exec \"fix the test\"    one headless turn
  codex-ds -p native              a profile (default, native, fast)
  codex-ds -- doctor              Codex's own command of a name that is ours

Example:
  codex-ds setup --endpoint http://192.168.1.20:4000/v1
  codex-ds exec \"say hello\""
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands that are ours.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See everything work on a built-in endpoint, with the real Codex
    Demo(demo::Args),
    /// See what Codex sends, what it costs, and when the prefix cache breaks
    Dump(Box<dump::Args>),
    /// Say what is wrong with the chain, with the evidence and the fix
    Doctor(Box<doctor::Args>),
    /// Describe, check, apply and heal the serving stack
    Deploy(Box<deploy::Args>),
    /// Ask the guard, read its log, let one denied command pass
    Guard(guard::Args),
    /// Write or refresh the profile
    Setup(Box<setup::Args>),
    /// Remove exactly what set-up wrote
    Undo(undo::Args),
    /// Let a repository's own Codex configuration count, after showing what it changes
    Trust(trust::Args),
}

/// The option that every command about the profile has.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HomeArg {
    /// The profile's folder [default: $CODEX_DS_HOME, else ~/.codex-ds]
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
}

/// Whether the arguments after the program's name are for us; else they are Codex's.
#[must_use]
pub fn is_ours(args: &[OsString]) -> bool {
    use clap::CommandFactory as _;
    args.first()
        .and_then(|first| first.to_str())
        .is_some_and(|first| {
            matches!(first, "help" | "-h" | "--help" | "-V" | "--version")
                || Cli::command()
                    .get_subcommands()
                    .any(|command| command.get_name() == first)
        })
}
