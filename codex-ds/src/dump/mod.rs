//! `codex-ds dump`: what Codex sends, what it costs, and when the prefix cache breaks.
//!
//! ```text
//! Codex ─▶ server ─▶ proxy ─▶ model server        the client's way: nothing on it waits
//!                │ pieces, bounded
//!                ▼
//!            recorder ─▶ writer ─▶ session.jsonl   a thread of its own: masks, compares, writes
//!                                       │
//!                                       ▼
//!                          store ─▶ analysis ─▶ report
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `live` | recording: alone, or around a Codex that it runs |
//! | `server`, `turn` | the listener; answering itself |
//! | `upload`, `proxy`, `upstream`, `plain` | the request's body; passing on; to which server, over which connection |
//! | `recorder`, `writer`, `masks`, `pieces`, `held`, `decode`, `lines` | the copy on its way to the disk |
//! | `store` | the format of a session |
//! | `analysis`, `tokens` | what a request comes to |
//! | `report` | what a user reads |
//! | `view`, `follow`, `diff`, `replay`, `export` | commands on what was recorded |
//! | `web` | the page: served, and as a file |
//! | `profile` | what recording has to know of the profile |
//! | `tap` | a recorder for other commands |

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::home;
use crate::home::HomeArg;
use crate::{clock, text};

mod analysis;
mod decode;
mod diff;
mod export;
mod follow;
mod held;
mod lines;
mod live;
mod masks;
mod pieces;
mod plain;
pub(crate) mod profile;
mod proxy;
pub mod recorder;
mod replay;
mod report;
pub mod server;
pub mod store;
pub(crate) mod tap;
mod tokens;
mod turn;
mod upload;
pub mod upstream;
mod view;
mod web;
mod writer;

/// See what Codex sends, what it costs, and when the prefix cache breaks
///
/// Without a server it answers each request itself with a minimal turn; with --upstream it passes
/// everything on as it comes. With `-- ARGS` it runs Codex in the profile, sends what Codex asks
/// through itself to the profile's endpoint (with --record, answers itself), and reports at the
/// end. What was recorded lies in `dumps/` in the profile, readable by you alone, with secrets
/// masked.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    group(clap::ArgGroup::new("exported").args(["har", "curl"]).multiple(true)),
    after_help = "\
Examples:
  codex-ds dump -- exec \"hi\"                      one turn, and what it cost
  codex-ds dump --record --max-bytes 10000 -- exec \"hi\"
                                                  a check for CI: exit code 1 when it got too big
  codex-ds dump --upstream http://127.0.0.1:8000/v1 --port 8400
  codex-ds dump ls
  codex-ds dump show 3 --section tools
  codex-ds dump diff 1 2
  codex-ds dump replay 3 --to http://127.0.0.1:8000/v1 --n 5
  codex-ds dump --curl 3
  codex-ds dump --                                Codex's terminal interface, and the report after it
  codex-ds dump show --follow                     in another terminal, while Codex runs

Exit codes: 0 done; 1 failed, or a request is over --max-bytes; 2 wrong usage; 3 not ready (no
profile, no Codex, nothing recorded); with `-- ARGS` Codex's own exit code when that is not 0"
)]
pub struct Args {
    /// What to do with what was recorded.
    #[command(subcommand)]
    pub view: Option<View>,
    /// Where it is.
    #[command(flatten)]
    pub place: Place,
    /// Pass requests on to this server
    #[arg(long, value_name = "URL", conflicts_with = "record")]
    pub upstream: Option<String>,
    /// Ask no server: answer each request with a minimal turn [default without `-- ARGS`]
    #[arg(long)]
    pub record: bool,
    /// The port to listen on [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub port: u16,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Let other machines reach it
    #[arg(long)]
    pub allow_remote: bool,
    /// Fail when a request for an answer is larger, and show its largest parts
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<u64>,
    /// Print a line for each request as it ends
    #[arg(long)]
    pub follow: bool,
    /// Serve a page of what is recorded, on this machine alone, until Ctrl-C
    #[arg(long)]
    pub web: bool,
    /// Open that page in the browser
    #[arg(long)]
    pub open: bool,
    /// Write secrets down as they are
    #[arg(long)]
    pub unsafe_raw: bool,
    /// Print the report as JSON; Codex's own output goes to standard error then
    #[arg(long)]
    pub json: bool,
    /// Print a session as HAR 1.2, instead of recording; with `-- ARGS` instead of the report
    #[arg(long, conflicts_with = "json")]
    pub har: bool,
    /// Print a curl command that sends a recorded request again
    #[arg(long, value_name = "N", conflicts_with_all = ["har", "json", "codex"])]
    pub curl: Option<u64>,
    /// The session for --har and --curl [default: the newest]
    #[arg(
        long,
        value_name = "NAME",
        requires = "exported",
        conflicts_with = "codex"
    )]
    pub session: Option<String>,
    /// Codex's arguments, behind `--`; nothing behind it is Codex's terminal interface
    #[arg(last = true, value_name = "ARGS")]
    pub codex: Vec<OsString>,
    /// Whether to run Codex: there is a `--`.
    #[arg(skip)]
    pub wraps: bool,
}

/// Where sessions are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Place {
    /// The profile's folder.
    #[command(flatten)]
    pub home: HomeArg,
    /// The folder of the recorded sessions [default: dumps in the profile]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl Place {
    /// The folder of the sessions.
    ///
    /// # Errors
    /// When there is no home folder to put the default in.
    pub fn folder(&self) -> Result<PathBuf> {
        match &self.store {
            Some(folder) => Ok(std::path::absolute(folder)?),
            None => Ok(home::wanted(self.home.home.as_deref())?.join(store::FOLDER)),
        }
    }
}

/// Commands on what was recorded.
#[derive(Debug, Subcommand)]
pub enum View {
    /// List the sessions, the newest first
    Ls(view::LsArgs),
    /// Show a session, or one of its requests
    Show(view::ShowArgs),
    /// Compare two requests, item by item
    Diff(diff::DiffArgs),
    /// Send a recorded request again, and compare calls and times
    Replay(replay::ReplayArgs),
}

/// Runs the command.
///
/// # Errors
/// When an option is wrong, a port or file cannot be had, or there is nothing recorded.
pub fn run(args: &Args) -> Result<u8> {
    match &args.view {
        Some(View::Ls(args)) => view::ls(args),
        Some(View::Show(args)) => view::show(args),
        Some(View::Diff(args)) => diff::run(args),
        Some(View::Replay(args)) => replay::run(args),
        None if args.curl.is_some() || (args.har && !args.wraps) => view::export(args),
        None => live::run(args),
    }
}

/// What `dump show N` prints of request `n` in a session's file.
///
/// # Errors
/// When the file cannot be read, is no session, or has no such request.
pub fn report(file: &std::path::Path, n: u64) -> Result<String> {
    let session = store::Session::read_around(file, n)?;
    let exchange = session.exchange(n)?;
    let analysis = analysis::Analysis::of(&session, exchange);
    Ok(report::request(exchange, &analysis, &None))
}

/// The runtime that recording runs in: two threads, so that one direction of a stream does not wait
/// for the other.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}
