//! A result as it is kept: what `--json` prints and `--compare` reads.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::run::Run;
use super::shape::Shape;
use super::stats::{Percentiles, Summary};
use crate::error::UserError;

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// "codex-ds bench" and its version.
    pub tool: String,
    /// When it began, UTC.
    pub date: String,
    /// What was measured, the first one is the main one.
    pub routes: Vec<RouteInfo>,
    /// Where the engine's counters were read; without them nobody saw other clients.
    pub counters: Option<String>,
    /// Runs wanted for each row.
    pub runs: u32,
    /// The rows.
    pub rows: Vec<Row>,
    /// What the router costs, for each row that was measured both ways.
    #[serde(default)]
    pub router_cost: Vec<Cost>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// One way to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteInfo {
    /// "router" or "native".
    pub name: String,
    /// The base URL.
    pub endpoint: String,
    /// What answers there.
    pub server: String,
    /// The model's name there.
    pub model: String,
    /// The round trip, milliseconds.
    pub latency_ms: f64,
}

/// A shape through a route. Every [`Summary`] is over runs; of several streams a run counts with
/// their mean. Rates are tokens a second, times milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The shape in llama-bench's manner.
    pub test: String,
    /// The route.
    pub route: String,
    /// The shape.
    pub shape: Shape,
    /// Prefill, all streams.
    pub prefill: Option<Summary>,
    /// Prefill, a stream.
    pub prefill_each: Option<Summary>,
    /// Decode, all streams.
    pub decode: Option<Summary>,
    /// Decode, a stream.
    pub decode_each: Option<Summary>,
    /// The best second.
    pub peak: Option<Summary>,
    /// Output from first request to last event, all streams.
    pub output: Option<Summary>,
    /// Time to the first event.
    pub ttfr_ms: Option<Summary>,
    /// Time to the first token.
    pub ttft_ms: Option<Summary>,
    /// Time of the prefill.
    pub prefill_ms: Option<Summary>,
    /// Time to the first token, of all streams of all runs.
    pub ttft_percentiles: Option<Percentiles>,
    /// Time between two events of a stream. Speculative decoding brings several tokens in one.
    pub gap_percentiles: Option<Percentiles>,
    /// Tokens that a step made, by the engine's counters (speculative decoding).
    pub acceptance_length: Option<Summary>,
    /// The part of the prompts that came from the prefix cache, 0 to 1.
    pub prefix_hit_rate: Option<f64>,
    /// Tokens of a prompt, by usage.
    pub prompt_tokens: Option<Summary>,
    /// Tokens of an answer, by usage.
    pub completion_tokens: Option<Summary>,
    /// Every run that was made, spoiled ones too.
    pub attempts: Vec<Attempt>,
    /// Whether the figures are of spoiled runs, because there was no clean one.
    pub spoiled: bool,
    /// Why there are no figures.
    pub error: Option<String>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// How long it took.
    pub seconds: f64,
    /// How another client spoiled it.
    pub spoiled: Option<String>,
}

/// What the router costs for a shape: the figure through it over the same without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The shape.
    pub test: String,
    /// Of the time to the first token; above 1 is slower.
    pub ttft_ratio: Option<f64>,
    /// The time that it adds, milliseconds.
    pub ttft_added_ms: Option<f64>,
    /// Of the decode rate, all streams; below 1 is slower.
    pub decode_ratio: Option<f64>,
}

impl Row {
    /// Of the runs of a shape. Clean runs count; where there is none, the spoiled ones do, and the
    /// row says so.
    #[must_use]
    pub fn of(route: &str, shape: Shape, runs: &[Run]) -> Self {
        let clean: Vec<&Run> = runs.iter().filter(|run| run.spoiled.is_none()).collect();
        let spoiled = clean.is_empty() && !runs.is_empty();
        let counted: Vec<&Run> = if spoiled {
            runs.iter().collect()
        } else {
            clean
        };
        let one = |value: fn(&Run) -> Option<f64>| {
            Summary::of(counted.iter().filter_map(|run| value(run)).collect())
        };
        let each = |values: fn(&Run) -> &Vec<f64>| {
            let means = counted.iter().filter_map(|run| mean(values(run)));
            Summary::of(means.collect())
        };
        let all = |values: fn(&Run) -> &Vec<f64>| {
            let all: Vec<f64> = counted.iter().flat_map(|run| values(run).clone()).collect();
            Percentiles::of(&all)
        };
        Self {
            test: shape.to_string(),
            route: route.to_owned(),
            shape,
            prefill: one(|run| run.figures.prefill),
            prefill_each: each(|run| &run.figures.prefill_each),
            decode: one(|run| run.figures.decode),
            decode_each: each(|run| &run.figures.decode_each),
            peak: one(|run| run.figures.peak),
            output: one(|run| run.figures.output),
            ttfr_ms: each(|run| &run.figures.ttfr),
            ttft_ms: each(|run| &run.figures.ttft),
            prefill_ms: each(|run| &run.figures.prefill_time),
            ttft_percentiles: all(|run| &run.figures.ttft),
            gap_percentiles: all(|run| &run.figures.gaps),
            acceptance_length: one(|run| run.acceptance),
            prefix_hit_rate: one(|run| run.hit_rate).map(|rate| rate.mean),
            prompt_tokens: Summary::of(tokens(counted.iter().map(|run| &run.prompts))),
            completion_tokens: Summary::of(tokens(counted.iter().map(|run| &run.completions))),
            attempts: runs
                .iter()
                .map(|run| Attempt {
                    seconds: run.seconds,
                    spoiled: run.spoiled.clone(),
                })
                .collect(),
            spoiled,
            error: None,
        }
    }

    /// A row without figures.
    #[must_use]
    pub fn failed(route: &str, shape: Shape, error: String) -> Self {
        Self {
            error: Some(error),
            ..Self::of(route, shape, &[])
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    Summary::of(values.to_vec()).map(|summary| summary.mean)
}

#[expect(clippy::cast_precision_loss, reason = "no answer has 2^52 tokens")]
fn tokens<'r>(runs: impl Iterator<Item = &'r Vec<u64>>) -> Vec<f64> {
    runs.flatten().map(|tokens| *tokens as f64).collect()
}

impl Document {
    /// What the router costs, from the rows.
    #[must_use]
    pub fn costs(rows: &[Row]) -> Vec<Cost> {
        let native = |row: &Row| {
            rows.iter()
                .find(|other| other.route == "native" && other.shape == row.shape)
        };
        let ratio = |through: &Option<Summary>, without: &Option<Summary>| {
            let (through, without) = (through.as_ref()?, without.as_ref()?);
            (without.mean > 0.0).then(|| through.mean / without.mean)
        };
        rows.iter()
            .filter(|row| row.route == "router")
            .filter_map(|row| {
                let native = native(row)?;
                Some(Cost {
                    test: row.test.clone(),
                    ttft_ratio: ratio(&row.ttft_ms, &native.ttft_ms),
                    ttft_added_ms: row
                        .ttft_ms
                        .as_ref()
                        .zip(native.ttft_ms.as_ref())
                        .map(|(through, without)| through.mean - without.mean),
                    decode_ratio: ratio(&row.decode, &native.decode),
                })
            })
            .collect()
    }

    /// Reads a result that `--json` or `--save` wrote.
    ///
    /// # Errors
    /// When the file cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |found: String| {
            UserError::usage(format!(
                "--compare {}: {found}; expected a result of codex-ds bench",
                path.display()
            ))
            .hint("write one with codex-ds bench --save FILE")
        };
        let text = fs_err::read_to_string(path)
            .map_err(|error| wrong("cannot be read".to_owned()).because(error))?;
        let json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| wrong("is no JSON".to_owned()).because(error))?;
        if json["schema_version"] != SCHEMA_VERSION {
            return Err(wrong(format!(
                "schema_version is {}; this codex-ds knows {SCHEMA_VERSION}",
                json["schema_version"]
            ))
            .into());
        }
        serde_json::from_value(json)
            .map_err(|error| wrong("has other fields".to_owned()).because(error).into())
    }
}
