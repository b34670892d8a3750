//! `codex-ds validate`: whether the whole works, by what happened in the world.
//!
//! ```text
//! case.toml ─▶ Case ─▶ Arena ─▶ runner: the real `codex exec` ─▶ Evidence ─┐
//!                        │                  │ recorder                      ├─▶ judge ─▶ Verdict
//!                        └── looked at afterwards ──▶ World ───────────────┘
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `case`, `values`, `suite` | a case as a type that holds no bad value; its parts; which cases there are |
//! | `arena`, `page` | a case's throw-away world |
//! | `runner` | runs Codex in it |
//! | `evidence` | what was recorded of a run |
//! | `judge` | from evidence and world to a verdict (pure) |
//! | `trial` | one run from beginning to end |
//! | `report` | what is told of many |

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use codex_ds_hook::Policy;
use futures_util::StreamExt as _;

use crate::clock;
use crate::dump::recorder;
use crate::error::UserError;
use crate::home::HomeArg;
use crate::setup::endpoint;
use crate::{codex, exit, home, launch, ui};

mod arena;
pub(crate) mod case;
pub(crate) mod evidence;
pub(crate) mod judge;
mod page;
mod report;
pub(crate) mod runner;
pub(crate) mod suite;
pub(crate) mod trial;
pub(crate) mod values;

use case::Case;
use judge::Status;
use report::{Head, Row};
use runner::Setting;
use trial::{Keep, Trial};

/// The most runs side by side.
const MOST_JOBS: u8 = 16;

/// The folder in the profile for the evidence of what did not pass.
const FOLDER: &str = "validate";

/// Check by side effects that model, router, Codex and guard work together
///
/// Runs the real Codex without a terminal, in a throw-away workspace for each case and profile, and
/// looks at the world afterwards, never at what the model says. A case that the guard has to stop is
/// inconclusive when the model does not try; then it is asked for the exact command, and in the end
/// a built-in model gives it. Programs that could reach other machines are replaced by ones that only
/// write down that they were called.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds validate                               every case in every profile
  codex-ds validate --only rm-redirect --profile fast --repeat 5
  codex-ds validate --cases my-cases --junit validate.xml
  codex-ds validate --list

Exit codes: 0 everything passed; 1 something failed; 2 wrong usage, or a fault in a case's file;
3 not ready (no profile, no Codex, no server, no git); 4 nothing failed, but something could not
be shown")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Args {
    /// A profile to check; can be repeated [default: every profile there is]
    #[arg(
        long = "profile",
        short = 'p',
        value_name = "NAME",
        value_delimiter = ','
    )]
    profiles: Vec<String>,
    /// A case to run; can be repeated [default: all]
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    only: Vec<String>,
    /// A folder with cases of your own, which run after the built-in ones
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Run each case so often, and tell the rate with its 95 % interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeat: u16,
    /// Run so many side by side; times then say less
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_JOBS)))]
    jobs: u8,
    /// Write the result as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Keep the evidence of what passed as well
    #[arg(long)]
    keep: bool,
    /// Tell what each verdict rests on
    #[arg(long, short)]
    verbose: bool,
    /// List the cases, and run none
    #[arg(long, conflicts_with = "show")]
    list: bool,
    /// Print the file of a built-in case, to begin one of your own with
    #[arg(long, value_name = "CASE", conflicts_with = "json")]
    show: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArg,
}

/// Runs the command.
///
/// # Errors
/// When a case or an option is wrong, or there is no profile, Codex, server or git.
pub fn run(args: &Args) -> Result<u8> {
    if let Some(id) = &args.show {
        return show(id);
    }
    let cases = suite::select(suite::all(args.cases.as_deref())?, &args.only)?;
    if args.list {
        if args.json {
            ui::json(&report::list_json(&cases));
        } else {
            ui::out(&report::list(&cases));
        }
        return Ok(exit::OK);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            result = validate(args, cases) => result,
            () = crate::process::told_to_end() => {
                Err(UserError::new("interrupted; the throw-away folders are removed").into())
            }
        }
    })
}

fn show(id: &str) -> Result<u8> {
    let Some(case) = suite::BUILT_IN.iter().find(|case| case.id == id) else {
        let names: Vec<&str> = suite::BUILT_IN.iter().map(|case| case.id).collect();
        return Err(
            UserError::usage(format!("--show {id}: there is no such case"))
                .hint(format!("cases: {}", names.join(", ")))
                .into(),
        );
    };
    ui::out(case.text);
    Ok(exit::OK)
}

async fn validate(args: &Args, cases: Vec<Case>) -> Result<u8> {
    let begun = Instant::now();
    let home = home::wanted(args.home.home.as_deref())?;
    let setting = Setting::new(&home, home::playground(&home::cache_folder()?))?;
    let profiles = profiles(&setting.home, &args.profiles)?;
    let head = ready(&setting, &profiles, &cases).await?;
    let folder = setting
        .home
        .join(FOLDER)
        .join(clock::file_name(recorder::now_ms()));
    let keep = if args.keep { Keep::All } else { Keep::Failed };
    let servers = mcp_servers(&setting.home);
    let (policy, _) = codex_ds_hook::installed::read_policy(&setting.home);

    let mut jobs = Vec::new();
    for profile in &profiles {
        for case in &cases {
            for n in 1..=args.repeat {
                jobs.push((case, profile.as_str(), n));
            }
        }
    }
    let total = jobs.len();
    let progress = ui::progress("");
    let (setting, folder, fit) = (&setting, folder.as_path(), &Fit { servers, policy });
    let mut runs = futures_util::stream::iter(jobs)
        .map(|(case, profile, n)| async move {
            let label = format!("{}-{profile}-{n}", case.id);
            let trial = match fit.skips(case, profile) {
                Some(why) => Trial::skipped(why),
                None => trial::run(setting, case, profile, &label, keep, folder).await?,
            };
            anyhow::Ok((case, profile, trial))
        })
        .buffered(usize::from(args.jobs));

    let mut rows: Vec<Row> = Vec::new();
    if !args.json {
        ui::out(&report::head(&head));
    }
    let told = |row: &Row, before: Option<&Row>| {
        if args.json {
            return;
        }
        if before.is_none_or(|before| before.profile != row.profile) {
            ui::out(&report::profile(&row.profile));
        }
        ui::out(&report::row(row, args.verbose));
    };
    let mut done = 0;
    progress.set(&format!("1 of {total}"));
    while let Some(result) = runs.next().await {
        let (case, profile, trial) = result?;
        done += 1;
        let goes_on = rows
            .last()
            .is_some_and(|row| row.case.id == case.id && row.profile == profile);
        if goes_on && let Some(row) = rows.last_mut() {
            row.trials.push(trial);
        } else {
            rows.push(Row {
                case: case.clone(),
                profile: profile.to_owned(),
                trials: vec![trial],
            });
        }
        let last = rows.len() - 1;
        if rows[last].trials.len() == usize::from(args.repeat) {
            progress.hide(|| told(&rows[last], last.checked_sub(1).map(|index| &rows[index])));
        }
        progress.set(&format!("{} of {total}: {} ({profile})", done + 1, case.id));
    }
    drop(runs);
    drop(progress);
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(file) = &args.junit {
        fs_err::write(file, report::junit(&rows, seconds)).context("cannot write --junit")?;
    }
    if args.json {
        ui::json(&report::json(&head, &rows, seconds));
    } else {
        ui::out(&report::tail(&rows, seconds));
    }
    Ok(code(&rows))
}

fn code(rows: &[Row]) -> u8 {
    let has = |status: Status| rows.iter().any(|row| row.status() == status);
    if has(Status::Fail) {
        exit::FAILURE
    } else if has(Status::Inconclusive) {
        exit::INCONCLUSIVE
    } else {
        exit::OK
    }
}

/// The profiles to check: those that are asked for, else all.
fn profiles(home: &Path, wanted: &[String]) -> Result<Vec<String>> {
    let there = launch::profile_names(home)?;
    for name in wanted {
        if !there.contains(name) {
            return Err(
                UserError::usage(format!("--profile {name}: there is no such profile"))
                    .hint(format!("profiles: {}", there.join(", ")))
                    .into(),
            );
        }
    }
    Ok(if wanted.is_empty() {
        there
    } else {
        wanted.to_vec()
    })
}

/// Checks that what every case needs is there, before any case fails of it.
async fn ready(setting: &Setting, profiles: &[String], cases: &[Case]) -> Result<Head> {
    let program = setting.program(profiles)?;
    let codex = codex::inspect(&program)?;
    let url = setting
        .profile
        .base_url
        .as_ref()
        .context("a setting has one")?;
    let mut server = "not asked".to_owned();
    if cases.iter().any(|case| !case.is_played()) {
        let _progress = ui::progress("asking the model server");
        let found = endpoint::probe("the profile's endpoint", url, setting.profile.keys.first())
            .await
            .map_err(|error| {
                UserError::not_ready("the profile's model server does not answer as it should")
                    .because(format!("{error:#}"))
                    .hint("without a server only the guard can be checked: codex-ds validate --only guard-alive")
            })?;
        server = found.kind.name();
    }
    Ok(Head {
        codex: codex.version.to_string(),
        endpoint: url.to_string(),
        server,
    })
}

/// The MCP servers of the profile.
fn mcp_servers(home: &Path) -> Vec<String> {
    std::fs::read_to_string(home.join("config.toml"))
        .ok()
        .and_then(|text| text.parse::<toml_edit::DocumentMut>().ok())
        .and_then(|document| {
            let servers = document.get("mcp_servers")?.as_table_like()?;
            Some(servers.iter().map(|(name, _)| name.to_owned()).collect())
        })
        .unwrap_or_default()
}

/// What a case may need of the profile.
struct Fit {
    servers: Vec<String>,
    policy: Policy,
}

impl Fit {
    /// Why a case does not fit.
    fn skips(&self, case: &Case, profile: &str) -> Option<String> {
        if !case.profiles.is_empty() && !case.profiles.iter().any(|name| name == profile) {
            return Some(format!("it is for {}", case.profiles.join(", ")));
        }
        if let Some(name) = case
            .servers
            .iter()
            .find(|name| !self.servers.contains(name))
        {
            return Some(format!(
                "the profile has no MCP server {name}: codex-ds setup --mcp {name}"
            ));
        }
        let rule = case.attempt.as_ref()?.rule?;
        let (preset, off) = (self.policy.preset, &self.policy.off);
        let enforced = rule.presets.contains(&preset) && !off.contains(&rule.class);
        (!enforced).then(|| {
            format!(
                "guard.toml lets it pass: no rule {} (preset {})",
                rule.id,
                preset.name()
            )
        })
    }
}
