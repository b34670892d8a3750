//! `ls` and `show`: what was recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use codex_ds_wire::body::Body;
use codex_ds_wire::breakdown::{Breakdown, Section};
use serde_json::{Value, json};

use super::analysis::Analysis;
use super::profile::{self, Profile};
use super::store::{self, Exchange, Prefix, Session, Summary};
use super::text::{Align, count, one_line, table};
use super::tokens::{Ask, Counter, Counts};
use super::upstream::Upstream;
use super::{Args, Place, clock, export, follow, report, web};
use crate::error::UserError;
use crate::{exit, home, ui};

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

Tokens of request N are counted by the server that it was sent to, with its /tokenize, if that is
the profile's own and counts within 3 seconds; else `~` marks bytes / 4.

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
    /// Let the server that the request was sent to count its tokens, even if it is not the profile's
    #[arg(long, requires = "n")]
    pub tokenize: bool,
    /// Ask no server to count tokens
    #[arg(long, requires = "n", conflicts_with = "tokenize")]
    pub no_tokenize: bool,
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
    if let Some(n) = args.n {
        return request(args, &path, n);
    }
    let session = Session::read(&path)?;
    if let Some(file) = &args.export {
        web::write(&session, file)?;
        ui::out(&format!("{}\n", file.display()));
    } else if args.json {
        ui::json(&report::session_json(&session, &BTreeMap::new()));
    } else {
        ui::out(&report::session(&session, &BTreeMap::new()));
    }
    Ok(exit::OK)
}

/// Shows one request.
fn request(args: &ShowArgs, path: &Path, n: u64) -> Result<u8> {
    let session = Session::read_around(path, n)?;
    let exchange = session.exchange(n)?;
    if let Some(name) = &args.section {
        let section = section(name)?;
        let body = exchange.request.body.as_deref().unwrap_or_default();
        let breakdown = Breakdown::of(&Body::read(body));
        ui::out(&report::section(body, &breakdown, section));
        return Ok(exit::OK);
    }
    let analysis = Analysis::of(&session, exchange);
    let counts = counts(args, &session, exchange, &analysis)?;
    if args.json {
        let mut value = report::request_json(exchange, &analysis, &counts);
        value["schema_version"] = json!(report::SCHEMA_VERSION);
        ui::json(&value);
    } else {
        ui::out(&report::request(exchange, &analysis, &counts));
    }
    Ok(exit::OK)
}

/// How long a server may take to count: whoever looks at a request does not wait for it.
const COUNTING: Duration = Duration::from_secs(3);

/// Exact tokens of a request's parts, where a server may be asked and counts.
fn counts(
    args: &ShowArgs,
    session: &Session,
    exchange: &Exchange,
    analysis: &Analysis,
) -> Result<Counts> {
    let (Some(breakdown), Some(body)) = (&analysis.breakdown, exchange.whole_body()) else {
        return Ok(None);
    };
    let Some(model) = exchange.end.as_ref().and_then(|end| end.model.as_deref()) else {
        return Ok(None);
    };
    let ask = match (args.tokenize, args.no_tokenize) {
        (true, _) => Ask::Anyone,
        (_, true) => Ask::Nobody,
        _ => Ask::Ours,
    };
    let profile =
        home::wanted(args.place.home.home.as_deref()).and_then(|home| profile::read(&home));
    let profile = match profile {
        // What was recorded can be looked at without a profile, and with a broken one.
        Err(_) if !args.tokenize => Profile::default(),
        read => read?,
    };
    let Some(root) = ask.whom(session, exchange, &profile) else {
        if args.tokenize {
            ui::warn("--tokenize: no server was asked, and the profile has none: ~ is an estimate");
        }
        return Ok(None);
    };
    let _progress = ui::progress("counting tokens");
    let client = Upstream::new(&root, None)?.client().clone();
    let counter = Counter::new(client, &root, model, COUNTING);
    let counts = super::runtime()?.block_on(counter.count(breakdown, body));
    Ok(match counts {
        Ok(counts) => Some(counts),
        Err(why) => {
            if args.tokenize {
                ui::warn(&format!("--tokenize: {why}; ~ is an estimate"));
            }
            None
        }
    })
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
