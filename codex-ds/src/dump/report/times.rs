//! When an answer came.

use std::fmt::Write as _;

use codex_ds_wire::timing::{BUCKETS, Timing};

use crate::dump::analysis::Analysis;
use crate::dump::text::{Align, count, table, time};

/// The times of an answer: first of each kind, pace, gaps, stalls.
pub(super) fn times(analysis: &Analysis) -> String {
    let timing = &analysis.timing;
    let mut parts = Vec::new();
    for (name, at) in [
        ("first byte", timing.first_byte),
        ("first thinking", timing.reasoning.first),
        ("first text", timing.text.first),
        ("first call", timing.calls.first),
        ("end", Some(timing.end)),
    ] {
        parts.extend(at.map(|at| format!("{name} {}", time(at))));
    }
    let mut text = format!("time: {}\n", parts.join(", "));
    let output = analysis.tokens().map(|tokens| tokens.output);
    let pace = output.and_then(|tokens| timing.tokens_per_second(tokens));
    if let (Some(tokens), Some(chunks)) = (pace, timing.chunks_per_second()) {
        let _ = writeln!(text, "pace: {tokens:.1} tokens/s in {chunks:.1} chunks/s");
    }
    let split: Vec<String> = [
        ("thinking", timing.reasoning),
        ("text", timing.text),
        ("calls", timing.calls),
    ]
    .iter()
    .filter_map(
        |(name, stretch)| match (stretch.chunks, stretch.length()?) {
            (1, _) => Some(format!("{name} in 1 chunk")),
            (chunks, length) => Some(format!(
                "{name} in {} chunks over {}",
                count(chunks),
                time(length)
            )),
        },
    )
    .collect();
    // All of one kind is told by the pace.
    if split.len() > 1 {
        let _ = writeln!(text, "split: {}", split.join(", "));
    }
    if let (Some(p50), Some(p90), Some(p99), Some(most)) = (
        timing.gap(0.5),
        timing.gap(0.9),
        timing.gap(0.99),
        timing.gap(1.0),
    ) {
        let _ = writeln!(
            text,
            "gaps: p50 {}, p90 {}, p99 {}, most {}",
            time(p50),
            time(p90),
            time(p99),
            time(most)
        );
        text.push_str(&histogram(timing));
    }
    for stall in &timing.stalls {
        let _ = writeln!(
            text,
            "stall: {} after {}",
            time(stall.length),
            time(stall.at)
        );
    }
    text
}

/// The widest bar of the histogram, characters.
const BAR: u64 = 30;

fn histogram(timing: &Timing) -> String {
    let counts = timing.histogram();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let rows: Vec<Vec<String>> = counts
        .iter()
        .enumerate()
        .filter(|(_, gaps)| **gaps > 0)
        .map(|(index, gaps)| {
            let name = match BUCKETS.get(index) {
                Some(end) => format!("up to {}", time(*end)),
                None => format!("over {}", time(BUCKETS[BUCKETS.len() - 1])),
            };
            let length = (gaps * BAR).div_ceil(most);
            let bar = "#".repeat(usize::try_from(length).unwrap_or(0));
            vec![name, count(*gaps), bar]
        })
        .collect();
    table(&[Align::Left, Align::Right, Align::Left], &rows)
}
