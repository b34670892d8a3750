//! `codex-ds eval`: how good the served model's answers are.
//!
//! ```text
//! CSV ─▶ Questions ─▶ those not in the results yet ─▶ run: ask ─▶ letter ─▶ Store (JSON lines)
//!                                                      └ budget ended: ask in short       │
//!                                                                            Results ─▶ report
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `questions` | the CSV file, the order of options, prompts, and the letter in a response |
//! | `run` | asking, and the engine's health meanwhile |
//! | `store` | the file of results |
//! | `stats` | Wilson's interval, McNemar's test |
//! | `report` | what it comes to |

pub mod questions;
pub mod report;
pub mod run;
pub mod stats;
pub mod store;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Subcommand;
use serde_json::json;

use crate::clock;
use crate::engine::counters::Source;
use crate::engine::target::{self, EndpointArgs, Target};
use crate::error::UserError;
use crate::{exit, home, ui};
use questions::{Question, Questions};
use report::Pair;
use run::{End, Settings};
use store::{Header, Outcome, Results, SCHEMA_VERSION, Store};

/// Measure how good the served model's answers are
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Example:
  codex-ds eval gpqa --sample

Exit codes: 0 done; 1 some questions were not answered; 2 wrong usage; 3 not ready")]
pub struct Args {
    /// Which evaluation.
    #[command(subcommand)]
    pub command: Command,
}

/// The evaluations.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Multiple-choice questions in the format of GPQA
    Gpqa(Box<GpqaArgs>),
    /// Show the results of a run, or compare several
    Report(ReportArgs),
}

/// Ask multiple-choice questions in the format of GPQA
///
/// Zero-shot, temperature 0, thinking on, the options of each question in an order of its own. A
/// response counts by its last line of the form `ANSWER: X`; where the budget ended before it, the
/// question is asked once more in short, without thinking. Every result is on the disk before the
/// next one: start again with the same options to go on after an interruption. The file holds ids
/// and letters, never a question or a response.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds eval gpqa --sample                    our own 36 questions, at once
  codex-ds eval gpqa --csv gpqa_diamond.csv --limit 100
  codex-ds eval gpqa --csv gpqa_diamond.csv      goes on with the other 98
  codex-ds eval report before.jsonl after.jsonl

Exit codes: 0 every question was answered; 1 some were not (interrupted, failed requests); 2 wrong
usage; 3 not ready (no profile and no --endpoint, or another codex-ds writes to the same file)")]
pub struct GpqaArgs {
    /// The questions: a CSV file with GPQA's columns
    #[arg(long, value_name = "FILE", required_unless_present = "sample")]
    pub csv: Option<PathBuf>,
    /// Ask our own questions instead: 36 of physics, chemistry and biology
    #[arg(long, conflicts_with = "csv")]
    pub sample: bool,
    /// Ask only so many questions, chosen by the seed; a smaller choice is a part of a larger one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// The seed of the order of options
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The budget of an answer, thinking included
    #[arg(long, value_name = "TOKENS", default_value_t = 32_768, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: u64,
    /// Questions at a time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
    /// Let the model answer without thinking
    #[arg(long)]
    pub no_thinking: bool,
    /// The file of results [default: one in `evals/` in the profile, named by model and options]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Which model.
    #[command(flatten)]
    pub endpoint: EndpointArgs,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Show the results of a run, or compare several
///
/// Several runs are compared with the first one over the questions that both answered, by McNemar's
/// exact test: two accuracies whose intervals overlap can differ all the same, and the other way
/// round.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Example:
  codex-ds eval report before.jsonl after.jsonl

Exit codes: 0 done; 2 a file is no result")]
pub struct ReportArgs {
    /// Results of `codex-ds eval gpqa`
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When the endpoint does not answer, or a file cannot be read or written.
pub fn run(args: &Args) -> Result<u8> {
    match &args.command {
        Command::Gpqa(args) => gpqa(args),
        Command::Report(args) => compare(args),
    }
}

fn gpqa(args: &GpqaArgs) -> Result<u8> {
    let questions = match &args.csv {
        Some(path) => Questions::read(path)?,
        None => Questions::sample()?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let (results, path, end) = runtime.block_on(ask_all(args, &questions))?;
    let wanted = chosen(&questions, args).len();
    if args.json {
        let mut json = json!({"schema_version": SCHEMA_VERSION});
        json["results"] = json!(path);
        json["wanted"] = json!(wanted);
        json["interrupted"] = json!(end != End::Complete);
        json["report"] = report::json(&results);
        ui::json(&json);
    } else {
        let mut text = report::text(&results);
        let _ = writeln!(text, "\nresults: {}", path.display());
        ui::out(&text);
    }
    let again = "start it again with the same options to go on";
    match end {
        End::Complete => {}
        End::Interrupted => ui::warn(&format!("interrupted; {again}")),
        End::GaveUp(why) => {
            return Err(
                UserError::new(format!("the server does not answer any more: {why}"))
                    .hint(again)
                    .into(),
            );
        }
    }
    let answered = results
        .records
        .iter()
        .filter(|record| record.outcome != Outcome::Error)
        .count();
    Ok(if answered >= wanted {
        exit::OK
    } else {
        exit::FAILURE
    })
}

/// The questions that a run asks, in its order.
fn chosen<'q>(questions: &'q Questions, args: &GpqaArgs) -> Vec<&'q Question> {
    let mut all: Vec<&Question> = questions.all.iter().collect();
    all.sort_by_key(|question| question.place(args.seed));
    let limit = args.limit.map_or(usize::MAX, |limit| limit as usize);
    all.truncate(limit);
    all
}

async fn ask_all(args: &GpqaArgs, questions: &Questions) -> Result<(Results, PathBuf, End)> {
    let targets = target::resolve(&args.endpoint).await?;
    let target = &targets.main;
    for note in &targets.notes {
        ui::warn(note);
    }
    fits(args, target)?;
    let header = header(args, questions, target);
    let path = match &args.results {
        Some(path) => path.clone(),
        None => default_path(args, &header)?,
    };
    let (mut store, mut results) = Store::open(&path, &header)?;
    let is_done = |question: &&Question| {
        let mut records = results.records.iter();
        records.any(|record| record.id == question.id && record.outcome != Outcome::Error)
    };
    let (done, left): (Vec<&Question>, Vec<&Question>) =
        chosen(questions, args).into_iter().partition(is_done);
    if !done.is_empty() {
        ui::err(&format!(
            "going on with {}: {} answered, {} left\n",
            path.display(),
            done.len(),
            left.len()
        ));
    }
    if left.is_empty() {
        return Ok((results, path, End::Complete));
    }
    let source = Source::find(&target.client, &targets.metrics).await;
    let settings = Settings {
        seed: args.seed,
        max_tokens: args.max_tokens,
        thinking: !args.no_thinking,
        concurrency: args.concurrency.into(),
    };
    let end = run::run(
        target,
        &settings,
        left,
        source.as_ref(),
        &mut store,
        &mut results,
    )
    .await?;
    Ok((results, path, end))
}

/// The server refuses a budget that its window cannot hold.
fn fits(args: &GpqaArgs, target: &Target) -> Result<(), UserError> {
    /// More than any question of GPQA has.
    const QUESTION: u64 = 4096;
    match target.limit {
        Some(limit) if args.max_tokens + QUESTION > limit => Err(UserError::usage(format!(
            "--max-tokens {}: with a question of up to {QUESTION} tokens that does not fit into the server's window of {limit}",
            args.max_tokens
        ))
        .hint(format!("take --max-tokens {} or less", limit.saturating_sub(QUESTION).max(1)))),
        _ => Ok(()),
    }
}

fn header(args: &GpqaArgs, questions: &Questions, target: &Target) -> Header {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    Header {
        schema_version: SCHEMA_VERSION,
        tool: concat!("codex-ds eval gpqa ", env!("CARGO_PKG_VERSION")).to_owned(),
        date: format!("{} UTC", clock::shown(now)),
        endpoint: target.base.clone(),
        model: target.model.clone(),
        questions: questions.name.clone(),
        questions_sha256: questions.sha256.clone(),
        seed: args.seed,
        max_tokens: args.max_tokens,
        thinking: !args.no_thinking,
    }
}

/// A name for each combination of what must not be mixed.
fn default_path(args: &GpqaArgs, header: &Header) -> Result<PathBuf> {
    let home = home::wanted(args.endpoint.home.home.as_deref())?;
    let name = |text: &str| -> String {
        text.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '-'
                }
            })
            .take(64)
            .collect()
    };
    let stem = Path::new(&header.questions).file_stem().unwrap_or_default();
    let thinking = if header.thinking { "" } else { "-no-thinking" };
    Ok(home.join("evals").join(format!(
        "{}-{}-{}-seed{}-{}{thinking}.jsonl",
        name(&stem.to_string_lossy()),
        &header.questions_sha256[..8],
        name(&header.model),
        header.seed,
        header.max_tokens,
    )))
}

fn compare(args: &ReportArgs) -> Result<u8> {
    let all = args
        .files
        .iter()
        .map(|path| Results::read(path))
        .collect::<Result<Vec<Results>>>()?;
    let (first, others) = all.split_first().context("clap wants one file at least")?;
    let pairs: Vec<Pair> = others.iter().map(|other| Pair::of(first, other)).collect();
    if args.json {
        ui::json(&json!({
            "schema_version": SCHEMA_VERSION,
            "runs": all.iter().map(report::json).collect::<Vec<_>>(),
            "against_the_first": pairs.iter().map(Pair::json).collect::<Vec<_>>(),
        }));
        return Ok(exit::OK);
    }
    let mut text = String::new();
    for (path, results) in args.files.iter().zip(&all) {
        let _ = writeln!(text, "{}\n{}", path.display(), report::text(results));
    }
    for (path, pair) in args.files.iter().skip(1).zip(&pairs) {
        let _ = write!(
            text,
            "{} against {}\n{}",
            args.files[0].display(),
            path.display(),
            pair.text()
        );
    }
    ui::out(&text);
    Ok(exit::OK)
}
