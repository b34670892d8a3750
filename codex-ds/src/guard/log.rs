//! `codex-ds guard log`: what the guard decided of late.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::{Value as Json, json};

use super::SCHEMA_VERSION;
use crate::home::HomeArg;
use crate::{exit, home, ui};

/// The arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The log is guard/log.jsonl in the profile; guard.toml says what it keeps (log = \"all\" for every
call). Secrets in it are masked, and only you can read it.

Examples:
  codex-ds guard log
  codex-ds guard log -n 100 --json | jq '.entries[].rule'

Exit codes: 0 shown, also when nothing is in it; 1 the log cannot be read; 2 wrong usage")]
pub(super) struct Args {
    /// How many entries
    #[arg(short = 'n', long, default_value_t = 20)]
    lines: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArg,
}

/// Runs the command.
///
/// # Errors
/// When the log is there and cannot be read.
pub(super) fn run(args: &Args) -> Result<u8> {
    let home = home::wanted(args.home.home.as_deref())?;
    let path = codex_ds_hook::record::log_path(&home);
    let mut entries: Vec<Json> = Vec::new();
    for path in [path.with_file_name("log.1.jsonl"), path] {
        if path.exists() {
            let text = fs_err::read_to_string(&path).context("cannot read the guard's log")?;
            // A line that was cut off by a full disk says nothing.
            entries.extend(
                text.lines()
                    .filter_map(|line| serde_json::from_str(line).ok()),
            );
        }
    }
    let from = entries.len().saturating_sub(args.lines);
    let entries = &entries[from..];
    if args.json {
        ui::json(&json!({ "schema_version": SCHEMA_VERSION, "entries": entries }));
        return Ok(exit::OK);
    }
    let mut text = String::new();
    for entry in entries {
        let field = |key: &str| entry[key].as_str().unwrap_or("");
        let _ = writeln!(
            text,
            "{:>10}  {:7}  {:24}  {}",
            age(entry["time"].as_u64().unwrap_or(0)),
            field("verdict"),
            field("rule"),
            field("command").replace('\n', "\\n")
        );
    }
    if entries.is_empty() {
        text.push_str("The guard has denied nothing yet.\n");
    }
    ui::out(&text);
    Ok(exit::OK)
}

/// How long ago a time in seconds since 1970 was.
fn age(time: u64) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |now| now.as_secs());
    match now.saturating_sub(time) {
        seconds @ 0..120 => format!("{seconds} s ago"),
        seconds @ 120..7_200 => format!("{} min ago", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}
