//! `--self-test`: what the client itself can take in. A stand-in on a thread of its own plays many
//! streams; the client reads them on this one, and its processor time is counted.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use codex_ds_wire::standin::{Config, Play, Script, StandIn, Turn};
use serde_json::json;

use super::run::{Bench, Route, Run};
use super::shape::Shape;
use crate::engine::target::{self, EndpointArgs};
use crate::{exit, ui};

/// Streams at a time.
const STREAMS: u64 = 64;
/// What each of them plays, tokens a second; each token is an event.
const PACE: f64 = 320.0;
/// Tokens of each stream: about four seconds.
const TOKENS: u64 = 1280;

/// What was played, and what was measured of it.
struct Reading {
    /// By when the stand-in sent it, tokens a second.
    played: f64,
    run: Run,
    /// Seconds that the client's thread computed for.
    busy: Option<f64>,
}

impl Reading {
    /// Tokens a second, all streams.
    fn measured(&self) -> f64 {
        self.run.figures.decode.unwrap_or(0.0)
    }
}

/// Plays `streams` at a time of `tokens` at `pace` tokens a second, and measures them.
async fn read(streams: u64, tokens: u64, pace: f64) -> Result<Reading> {
    let turn = Turn::text("x".repeat(4 * usize::try_from(tokens)?))
        .tokens_per_second(pace)
        .stays();
    let server = StandIn::start(Config::default(), Script::new(vec![turn]))
        .context("no port on 127.0.0.1 is free")?;
    let args = EndpointArgs {
        endpoint: Some(server.base_url()),
        ..EndpointArgs::default()
    };
    let targets = target::resolve(&args).await?;
    let route = Route::new("native", targets.main).await?;
    let mut bench = Bench::new(None, None)?;
    let shape = Shape {
        prompt: 64,
        generate: tokens,
        depth: 0,
        concurrency: streams,
        thinking: false,
    };
    let (fit, _) = bench.fit(&route, &shape).await?;
    let before = processor_time();
    let run = bench.run(&route, &shape, &fit, "self-test").await?;
    let busy = processor_time()
        .zip(before)
        .map(|(after, before)| after - before);
    Ok(Reading {
        played: played(&server.plays(), streams),
        run,
        busy,
    })
}

/// One short stream of a known rate, measured: what the demo shows of the benchmark. Gives what was
/// played and what was measured, tokens a second.
///
/// # Errors
/// When the stand-in cannot be started, or does not answer.
pub async fn sample() -> Result<(f64, f64)> {
    let reading = read(1, 128, 160.0).await?;
    Ok((reading.played, reading.measured()))
}

pub(super) fn run(runtime: &tokio::runtime::Runtime, as_json: bool) -> Result<u8> {
    let _progress = ui::progress("reading 64 streams");
    let reading = runtime.block_on(read(STREAMS, TOKENS, PACE))?;
    let (played, measured) = (reading.played, reading.measured());
    let difference = measured / played - 1.0;
    // What one core would take in: of a busy machine the time on the wall says little.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let taken = reading.run.completions.iter().sum::<u64>() as f64;
    let capacity = reading
        .busy
        .filter(|busy| *busy > 0.0)
        .map(|busy| taken / busy);
    if as_json {
        ui::json(&json!({
            "schema_version": 1,
            "streams": STREAMS,
            "played_tps": played,
            "measured_tps": measured,
            "difference": difference,
            "processor_seconds": reading.busy,
            "capacity_tps": capacity,
        }));
    } else {
        let mut text = format!(
            "{STREAMS} streams, one token an event\n  played    {played:.0} tokens/s\n  measured  {measured:.0} tokens/s ({:+.2}%)\n",
            difference * 100.0
        );
        if let Some(capacity) = capacity {
            let _ = writeln!(
                text,
                "  capacity  {capacity:.0} tokens/s, by the processor time of the client's one thread"
            );
        }
        ui::out(&text);
    }
    Ok(exit::OK)
}

/// The rate of all streams by when the stand-in sent them.
fn played(plays: &[Play], streams: u64) -> f64 {
    let streams = usize::try_from(streams).unwrap_or(usize::MAX);
    let plays = &plays[plays.len().saturating_sub(streams)..];
    let events = || {
        plays
            .iter()
            .map(|play| play.sent.iter().filter(|(_, tokens)| *tokens > 0))
    };
    let first = events()
        .filter_map(|mut events| events.next())
        .map(|event| event.0)
        .min();
    let last = events()
        .filter_map(Iterator::last)
        .map(|event| event.0)
        .max();
    let tokens: u64 = events()
        .flat_map(|events| events.skip(1))
        .map(|event| event.1)
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let tokens = tokens as f64;
    match (first, last) {
        (Some(first), Some(last)) if last > first => tokens / (last - first).as_secs_f64(),
        _ => 0.0,
    }
}

/// Seconds that this thread has computed for.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell")]
fn processor_time() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    Some(seconds)
}

#[cfg(not(unix))]
fn processor_time() -> Option<f64> {
    None
}
