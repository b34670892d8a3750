//! `ls` and `show`: what was recorded.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use codex_ds_wire::breakdown::{Breakdown, Section};
use serde_json::{Value, json};

use super::report;
use super::store::{self, Prefix, Session, Summary};
use super::text::{Align, count, one_line, table};
use super::{Args, Place, clock, export, follow, web};
use crate::error::UserError;
use crate::{exit, ui};

/// List the sessions, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  codex-ds dump ls

Exit codes: 0 listed, also when nothing is recorded; 1 the folder cannot be read; 2 wrong usage")]
pub struct LsArgs {
    /// Where they are.
    #[command(flatten)]
    pub place: Place,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Show a session, or one of its requests
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds dump show                    the newest session
  codex-ds dump show 3 --section tools  one request, and each tool in it
  codex-ds dump show --follow           a line for each request as it comes

Exit codes: 0 shown; 1 failed; 2 wrong usage; 3 nothing recorded")]
pub struct ShowArgs {
    /// The request [default: all, a line each, and the largest taken apart]
    pub n: Option<u64>,
    /// Where sessions are.
    #[command(flatten)]
    pub place: Place,
    /// The session: its name, the beginning of it, or a file [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// The texts of one section: system, tools, environment, agents, history, metadata, parameters
    #[arg(long, value_name = "SECTION", requires = "n")]
    pub section: Option<String>,
    /// Print a line for each request as it ends, until the recording ends, or Ctrl-C
    #[arg(long, conflicts_with_all = ["n", "json"])]
    pub follow: bool,
    /// Serve the page of all sessions, on this machine alone, until Ctrl-C
    #[arg(long, conflicts_with_all = ["n", "json", "follow"])]
    pub web: bool,
    /// Open that page in the browser
    #[arg(long, conflicts_with_all = ["n", "json", "follow"])]
    pub open: bool,
    /// Write the page of this session to a file of its own, data and all
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "json", "follow", "web", "open"])]
    pub export: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists.
pub(super) fn ls(args: &LsArgs) -> Result<u8> {
    let folder = args.place.folder()?;
    let mut rows = vec![
        [
            "session",
            "started",
            "requests",
            "bytes sent",
            "breaks",
            "server",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut all = Vec::new();
    for file in store::files(&folder)? {
        match Summary::read(&file) {
            Ok(summary) => {
                all.push(summary_json(&summary));
                rows.push(row(&summary));
            }
            Err(error) => ui::warn(&format!("{error:#}")),
        }
    }
    if args.json {
        ui::json(&json!({
            "schema_version": report::SCHEMA_VERSION,
            "folder": folder,
            "sessions": all,
        }));
    } else if all.is_empty() {
        ui::out(&format!(
            "no session in {}; record one: codex-ds dump -- exec \"hi\"\n",
            folder.display()
        ));
    } else {
        let align = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ];
        ui::out(&table(&align, &rows));
    }
    Ok(exit::OK)
}

fn breaks(summary: &Summary) -> usize {
    let breaks = |prefix: &Option<Prefix>| matches!(prefix, Some(Prefix::Breaks { .. }));
    summary
        .ends
        .iter()
        .filter(|end| breaks(&end.prefix))
        .count()
}

fn row(summary: &Summary) -> Vec<String> {
    let bytes = summary.ends.iter().map(|end| end.request_bytes).sum();
    vec![
        summary.name(),
        clock::shown(summary.header.started_ms),
        count((summary.ends.len() + summary.open) as u64),
        count(bytes),
        count(breaks(summary) as u64),
        one_line(summary.header.upstream.as_deref().unwrap_or("-")),
    ]
}

pub(super) fn summary_json(summary: &Summary) -> Value {
    json!({
        "session": summary.name(),
        "file": summary.path,
        "started_ms": summary.header.started_ms,
        "upstream": summary.header.upstream,
        "codex_args": summary.header.codex_args,
        "redacted": summary.header.redacted,
        "requests": summary.ends.len() + summary.open,
        "open": summary.open,
        "request_bytes": summary.ends.iter().map(|end| end.request_bytes).sum::<u64>(),
        "breaks": breaks(summary),
    })
}

/// Shows.
pub(super) fn show(args: &ShowArgs) -> Result<u8> {
    let folder = args.place.folder()?;
    if args.web || args.open {
        return web::show(&folder, args.open);
    }
    let path = store::find(&folder, args.session.as_deref())?;
    if args.follow {
        return follow::run(&path);
    }
    let session = Session::read(&path)?;
    if let Some(file) = &args.export {
        web::write(&session, file)?;
        ui::out(&format!("{}\n", file.display()));
        return Ok(exit::OK);
    }
    let Some(n) = args.n else {
        if args.json {
            ui::json(&report::session_json(&session, &BTreeMap::new()));
        } else {
            ui::out(&report::session(&session, &BTreeMap::new()));
        }
        return Ok(exit::OK);
    };
    let exchange = session.exchange(n)?;
    if let Some(name) = &args.section {
        let section = section(name)?;
        let body = exchange.request.body.as_deref().unwrap_or_default();
        let breakdown = Breakdown::of(body.as_bytes());
        ui::out(&report::section(body, &breakdown, section));
    } else if args.json {
        let mut value = report::request_json(&session, exchange, &None);
        value["schema_version"] = json!(report::SCHEMA_VERSION);
        ui::json(&value);
    } else {
        ui::out(&report::request(&session, exchange, &None));
    }
    Ok(exit::OK)
}

/// Prints a session, or a request of it, in another program's form.
pub(super) fn export(args: &Args) -> Result<u8> {
    let path = store::find(&args.place.folder()?, args.session.as_deref())?;
    let session = Session::read(&path)?;
    match args.curl {
        Some(n) => ui::out(&export::curl(&session, session.exchange(n)?)),
        None => ui::json(&export::har(&session)),
    }
    Ok(exit::OK)
}

fn section(name: &str) -> Result<Section> {
    Section::ALL
        .into_iter()
        .find(|section| section.name() == name)
        .ok_or_else(|| {
            let names = Section::ALL.map(Section::name).join(", ");
            UserError::usage(format!("--section {name}: expected one of {names}"))
                .hint("for example: codex-ds dump show 1 --section tools")
                .into()
        })
}
