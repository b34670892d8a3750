//! `codex-ds bench`: how fast the served model is, in figures that others can check.
//!
//! ```text
//! Args ─▶ target (profile) ─▶ shapes ─▶ prompt::fit ─▶ warm-up ─▶ run × N ─▶ Row ─▶ Document
//!                                          /tokenize      │ engine's counters before, during, after:
//!                                          or usage       ▼ a run that others spoiled is repeated
//!                                                figures (pure: arrival times ─▶ rates)
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `shape` | what a row measures |
//! | `prompt` | prompts of an exact length that no cache knows |
//! | `run` | one run, and whether another client spoiled it |
//! | `figures` | arrival times to figures |
//! | `stats` | means, percentiles, verdicts |
//! | `document` | a result as it is kept |
//! | `compare` | against an earlier result |
//! | `report`, `plot` | what a user reads |
//! | `self_test` | what the client itself can do |

pub mod compare;
pub mod document;
pub mod figures;
mod plot;
pub mod prompt;
mod report;
pub mod run;
mod self_test;
pub mod shape;
pub mod stats;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde_json::json;

use crate::clock;
use crate::engine::counters::Source;
use crate::engine::target::{self, EndpointArgs, Targets};
use crate::error::UserError;
use crate::file::{self, Mode};
use crate::setup::endpoint::Kind;
use crate::{exit, ui};
use compare::Comparison;
use document::{Document, RouteInfo, Row, SCHEMA_VERSION};
use run::{Bench, Route};
pub use self_test::sample;
use shape::{Axes, Shape};

/// What runs go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RouteArg {
    /// The profile's endpoint, as Codex uses it
    Router,
    /// The engine behind it
    Native,
    /// Both by turns, and what the router costs
    Both,
}

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThinkingArg {
    /// Never
    Off,
    /// Always
    On,
    /// Off, and one row with it on
    Both,
}

/// Measure the served model: first token, prefill, decode, depth, concurrency
///
/// Each row is a shape: a prompt of an exact length that no cache knows, an answer of an exact
/// length, at a depth, for a number of streams at a time. Each option below is an axis, walked from
/// the first value of all others; --shape names single ones instead. A shape is warmed up once,
/// then run three times or more. Tokens are the server's own count. The engine's counters tell when
/// another client was at work; such a run is marked and repeated.
#[derive(Clone, Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(after_help = "\
Examples:
  codex-ds bench                                 the profile's model, about five minutes
  codex-ds bench --shape \"pp2048 tg128 c4\" --runs 5
  codex-ds bench --save before.json              … change something, then:
  codex-ds bench --compare before.json           exit code 1 when a figure became worse
  codex-ds bench --route both --native-endpoint http://spark-1:8000/v1
  codex-ds bench --markdown                      the table to post
  codex-ds bench --concurrency 1,2,4,8,16 --svg throughput.svg

Exit codes: 0 done; 1 a row failed or had no clean run, or became worse than in --compare; 2 wrong
usage; 3 not ready (no profile and no --endpoint)")]
pub struct Args {
    /// Which model.
    #[command(flatten)]
    pub endpoint: EndpointArgs,
    /// What runs go through
    #[arg(long, value_enum, default_value_t = RouteArg::Router)]
    pub route: RouteArg,
    /// Prompt lengths, tokens
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_value = "2048,8192,16384", value_parser = clap::value_parser!(u64).range(16..))]
    pub pp: Vec<u64>,
    /// Length of the answers, tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..))]
    pub tg: u64,
    /// Lengths of the context before the prompt, tokens
    #[arg(
        long,
        value_name = "TOKENS",
        value_delimiter = ',',
        default_value = "0,16384"
    )]
    pub depth: Vec<u64>,
    /// Streams at a time
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub concurrency: Vec<u64>,
    /// Whether the model thinks
    #[arg(long, value_enum, default_value_t = ThinkingArg::Both)]
    pub thinking: ThinkingArg,
    /// A shape alone, such as "pp2048 tg128 @ d16384 c4 think"; may be given several times
    #[arg(long, value_name = "SHAPE", conflicts_with_all = ["pp", "tg", "depth", "concurrency", "thinking"])]
    pub shape: Vec<Shape>,
    /// Clean runs of each shape
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Compare with an earlier result
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// Keep the result, as --json prints it
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Draw throughput over concurrency
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the table that llama-benchy prints, for posting
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub markdown: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Ask nobody: measure what this client itself can take in
    #[arg(long, conflicts_with_all = ["endpoint", "compare", "save", "svg", "markdown", "csv", "shape"])]
    pub self_test: bool,
}

/// Runs the command.
///
/// # Errors
/// When the endpoint does not answer, or a file cannot be read or written.
pub fn run(args: &Args) -> Result<u8> {
    // One thread: what a timestamp waits for is then this client alone.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    if args.self_test {
        return self_test::run(&runtime, args.json);
    }
    let before = args.compare.as_deref().map(Document::read).transpose()?;
    let document = runtime.block_on(measure(args))?;
    let comparison = before
        .as_ref()
        .map(|before| Comparison::of(before, &document));
    let mut json = serde_json::to_value(&document).context("a result is plain data")?;
    if let Some(path) = &args.save {
        let text = format!("{json:#}\n");
        file::write_atomic(path, text.as_bytes(), Mode::Private)?;
    }
    if let Some(path) = &args.svg {
        let svg = plot::svg(&document).ok_or_else(|| {
            UserError::usage("--svg: no shape was measured at two concurrencies")
                .hint("for example --concurrency 1,2,4,8")
        })?;
        file::write_atomic(path, svg.as_bytes(), Mode::Private)?;
    }
    if args.json {
        if let Some(comparison) = &comparison {
            json["comparison"] = json!(comparison);
        }
        ui::json(&json);
    } else if args.markdown {
        ui::out(&report::markdown(&document));
    } else if args.csv {
        ui::out(&report::csv(&document));
    } else {
        ui::out(&report::text(&document, comparison.as_ref()));
    }
    let failed = document
        .rows
        .iter()
        .any(|row| row.error.is_some() || row.spoiled);
    let worse = comparison.is_some_and(|comparison| comparison.is_worse());
    Ok(if failed || worse {
        exit::FAILURE
    } else {
        exit::OK
    })
}

fn shapes(args: &Args) -> Vec<Shape> {
    if !args.shape.is_empty() {
        return args.shape.clone();
    }
    Axes {
        prompt: args.pp.clone(),
        generate: args.tg,
        depth: args.depth.clone(),
        concurrency: args.concurrency.clone(),
        thinking: match args.thinking {
            ThinkingArg::Off => vec![false],
            ThinkingArg::On => vec![true],
            ThinkingArg::Both => vec![false, true],
        },
    }
    .shapes()
}

async fn measure(args: &Args) -> Result<Document> {
    let targets = target::resolve(&args.endpoint).await?;
    let routes = routes(args.route, &targets).await?;
    let source = Source::find(&targets.main.client, &targets.metrics).await;
    if source.is_none() && args.endpoint.metrics.is_some() {
        return Err(UserError::new(format!(
            "--metrics {}: no counters of a vLLM there",
            args.endpoint.metrics.as_deref().unwrap_or_default()
        ))
        .hint("it is the engine's own address, not the router's: http://HOST:8000/metrics")
        .into());
    }
    let mut bench = Bench::new(source, targets.native.as_ref())?;
    let mut notes = targets.notes.clone();
    let mut rows = Vec::new();
    let mut failure = None;
    let limit = routes.iter().filter_map(|route| route.target.limit).min();
    let date = format!("{} UTC", clock::shown(now_ms()));
    for shape in shapes(args) {
        if let Some(limit) = limit.filter(|limit| shape.window() > *limit) {
            notes.push(format!(
                "{shape} was left out: it takes {} tokens, and the server's window has {limit}",
                shape.window()
            ));
            continue;
        }
        for (row, error) in measure_shape(&mut bench, &routes, shape, args.runs, &mut notes).await {
            notes.extend(other_length(&row));
            rows.push(row);
            failure = failure.or(error);
        }
    }
    if let Some(failure) = failure.filter(|_| rows.iter().all(|row| row.error.is_some())) {
        return Err(failure.into());
    }
    if rows.is_empty() {
        return Err(UserError::usage("no shape fits into the server's window")
            .hint("take shorter --pp and --depth")
            .into());
    }
    Ok(Document {
        schema_version: SCHEMA_VERSION,
        tool: concat!("codex-ds bench (", env!("CARGO_PKG_VERSION"), ")").to_owned(),
        date,
        routes: routes
            .iter()
            .map(|route| RouteInfo {
                name: route.name.to_owned(),
                endpoint: route.target.base.clone(),
                server: route.target.kind.name(),
                model: route.target.model.clone(),
                latency_ms: route.latency * 1e3,
            })
            .collect(),
        counters: bench.source.as_ref().map(|source| source.url().to_string()),
        runs: args.runs,
        router_cost: Document::costs(&rows),
        rows,
        notes,
    })
}

/// A server that does not know how to be told the length of an answer.
fn other_length(row: &Row) -> Option<String> {
    let length = row.completion_tokens.as_ref()?.mean;
    let wanted = row.shape.generate;
    #[expect(clippy::cast_precision_loss, reason = "no answer has 2^52 tokens")]
    let is_other = (length - wanted as f64).abs() > 0.5;
    is_other.then(|| {
        format!(
            "{} ({}): answers had {length:.0} tokens, not {wanted}: the server ignores min_tokens and ignore_eos, so decode is of other lengths than elsewhere",
            row.test, row.route
        )
    })
}

fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

async fn routes(wanted: RouteArg, targets: &Targets) -> Result<Vec<Route>> {
    // A profile that asks vLLM itself has no router.
    let direct = matches!(targets.main.kind, Kind::Vllm(_)) && wanted == RouteArg::Router;
    let mut routes = Vec::new();
    if wanted != RouteArg::Native {
        let name = if direct { "native" } else { "router" };
        routes.push(Route::new(name, targets.main.clone()).await?);
    }
    if wanted != RouteArg::Router {
        let native = targets.native.clone().ok_or_else(|| {
            UserError::usage("--route: the engine behind the router is not known")
                .hint("name it: --native-endpoint http://HOST:8000/v1")
        })?;
        if wanted == RouteArg::Both && native.base == targets.main.base {
            return Err(UserError::usage(format!(
                "--route both: {} is the engine itself, so there is no router to compare it with",
                native.base
            ))
            .hint("name the router: --endpoint http://HOST:4000/v1 --native-endpoint …")
            .into());
        }
        routes.push(Route::new("native", native).await?);
    }
    Ok(routes)
}

/// All runs of a shape. Where there are two routes they take turns, so that whatever drifts drifts
/// for both.
async fn measure_shape(
    bench: &mut Bench,
    routes: &[Route],
    shape: Shape,
    wanted: u32,
    notes: &mut Vec<String>,
) -> Vec<(Row, Option<UserError>)> {
    let progress = ui::progress(&format!("{shape}: fitting the prompt"));
    let mut tries = Vec::new();
    for route in routes {
        let fit = match bench.fit(route, &shape).await {
            Ok((fit, length)) => {
                if length != shape.prompt_tokens() {
                    notes.push(format!(
                        "{shape} ({}): the nearest prompt has {length} tokens; rates are by what the server counted",
                        route.name
                    ));
                }
                progress.set(&format!("{shape} ({}): warming up", route.name));
                // Kernels are compiled, caches filled and connections opened for each shape anew.
                bench.run(route, &shape, &fit, "warm-up").await.map(|_| fit)
            }
            Err(error) => Err(error),
        };
        let fit = fit.map_err(|error| run::failed(route, &shape, &error));
        tries.push((route, fit, Vec::new()));
    }
    // A run that another client spoiled is made again, as often as it was wanted at all.
    for number in 1..=2 * wanted {
        for (route, fit, runs) in &mut tries {
            let clean = runs
                .iter()
                .filter(|run: &&run::Run| run.spoiled.is_none())
                .count();
            let (Ok(words), true) = (&*fit, clean < wanted as usize) else {
                continue;
            };
            progress.set(&format!("{shape} ({}): run {number}", route.name));
            match bench.run(route, &shape, words, &format!("{number}")).await {
                Ok(run) => runs.push(run),
                Err(error) => *fit = Err(run::failed(route, &shape, &error)),
            }
        }
    }
    tries
        .into_iter()
        .map(|(route, fit, runs)| match fit {
            Ok(_) => (Row::of(route.name, shape, &runs), None),
            Err(error) => (
                Row::failed(route.name, shape, error.to_string()),
                Some(error),
            ),
        })
        .collect()
}
