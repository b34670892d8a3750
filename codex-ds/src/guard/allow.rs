//! `codex-ds guard allow`: lets a command that was denied pass once.

use anyhow::Result;
use codex_ds_hook::record;
use serde_json::json;

use super::SCHEMA_VERSION;
use crate::error::UserError;
use crate::home::HomeArg;
use crate::{exit, home, ui};

/// The arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The code is in the denial. The grant is for exactly that command in exactly that folder, once,
within ten minutes. An agent that runs this is denied.

Exit codes: 0 granted; 1 you said no, or nothing was denied with that code of late

Example:
  codex-ds guard allow 3f9a01c2de")]
pub(super) struct Args {
    /// The code of the denial
    #[arg(value_name = "CODE")]
    code: String,
    /// Grant without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON; asks nothing, so that without --yes it only shows
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArg,
}

/// Runs the command.
///
/// # Errors
/// When nothing was denied with the code of late, or the grant cannot be written.
pub(super) fn run(args: &Args) -> Result<u8> {
    let home = home::wanted(args.home.home.as_deref())?;
    let Some(denied) = record::denied(&home, &args.code) else {
        return Err(UserError::new(format!(
            "nothing was denied with the code {} in the last ten minutes",
            args.code
        ))
        .hint("`codex-ds guard log` shows what was; let the agent try again for a new code")
        .into());
    };
    if !args.json {
        ui::out(&format!(
            "Denied by {} in {}:\n\n{}\n\n",
            denied.rule, denied.cwd, denied.command
        ));
        if !args.yes && !ui::agreed("Let exactly this pass once, within ten minutes?")? {
            ui::out("Not granted.\n");
            return Ok(exit::FAILURE);
        }
    }
    let granted = args.yes || !args.json;
    if granted {
        record::grant(&home, &denied)?;
    }
    if args.json {
        ui::json(&json!({
            "schema_version": SCHEMA_VERSION,
            "code": denied.code,
            "command": denied.command,
            "cwd": denied.cwd,
            "rule": denied.rule,
            "granted": granted,
        }));
    } else {
        ui::out("Granted. Tell the agent to run it again.\n");
    }
    Ok(exit::OK)
}
