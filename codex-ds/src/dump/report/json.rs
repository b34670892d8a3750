//! The report as JSON.

use std::collections::BTreeMap;

use codex_ds_wire::breakdown::Part;
use codex_ds_wire::prefix::Standing;
use codex_ds_wire::timing::{BUCKETS, Stretch};
use serde_json::{Value, json};

use super::{SCHEMA_VERSION, size};
use crate::dump::analysis::Analysis;
use crate::dump::store::{self, Exchange, Session};
use crate::dump::tokens::Counts;

/// A request for `--json`.
pub(in crate::dump) fn request_json(
    exchange: &Exchange,
    analysis: &Analysis,
    counts: &Counts,
) -> Value {
    let timing = &analysis.timing;
    let parts: Option<Vec<Value>> = analysis.breakdown.as_ref().map(|breakdown| {
        let part = |(index, part): (usize, &Part)| {
            json!({
                "section": part.section.name(),
                "name": part.name,
                "pointer": part.pointer,
                "bytes": part.bytes(),
                "tokens": counts.as_ref().and_then(|counts| counts.get(index)),
            })
        };
        breakdown.parts.iter().enumerate().map(part).collect()
    });
    let output = analysis.tokens().map(|tokens| tokens.output);
    json!({
        "n": exchange.request.n,
        "method": exchange.request.method,
        "path": exchange.request.path,
        "bytes": size(exchange),
        "wire_bytes": exchange.request.bytes,
        "note": exchange.request.note,
        "end": exchange.end,
        "parts": parts,
        "tokens_by": if counts.is_some() { "tokenize" } else { "estimate" },
        "prefix": standing_json(exchange, analysis),
        "cached_tokens": analysis.cached.tokens(),
        "timing_us": {
            "first_byte": timing.first_byte,
            "first_reasoning": timing.reasoning.first,
            "first_text": timing.text.first,
            "first_call": timing.calls.first,
            "end": timing.end,
            "gap_p50": timing.gap(0.5),
            "gap_p99": timing.gap(0.99),
            "stalls": timing.stalls.iter().map(|stall| json!({"at": stall.at, "length": stall.length})).collect::<Vec<_>>(),
            "gaps": {"up_to": BUCKETS, "counts": timing.histogram()},
        },
        "chunks": timing.chunks,
        "split": {
            "reasoning": stretch_json(&timing.reasoning),
            "text": stretch_json(&timing.text),
            "calls": stretch_json(&timing.calls),
        },
        "tokens_per_second": output.and_then(|tokens| timing.tokens_per_second(tokens)),
        "chunks_per_second": timing.chunks_per_second(),
        "calls": analysis.reply.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect::<Vec<_>>(),
    })
}

fn stretch_json(stretch: &Stretch) -> Value {
    json!({"chunks": stretch.chunks, "us": stretch.length()})
}

fn standing_json(exchange: &Exchange, analysis: &Analysis) -> Value {
    match &analysis.standing {
        Some((before, Standing::Breaks(found))) => json!({
            "standing": "breaks", "before": before, "pointer": found.pointer,
            "byte_before": found.before, "byte_after": found.after,
            "text_before": found.before_text, "text_after": found.after_text,
            "kept_bytes": found.kept, "lost_bytes": found.lost, "cause": found.cause,
        }),
        Some((before, Standing::Extends(found))) => json!({
            "standing": "extends", "before": before, "kept_bytes": found.kept,
            "added_bytes": found.added, "thinking_behind": found.thinking_behind,
        }),
        _ => json!(exchange.end.as_ref().and_then(|end| end.prefix.as_ref())),
    }
}

/// A session for `--json`.
pub(in crate::dump) fn session_json(session: &Session, counts: &BTreeMap<u64, Counts>) -> Value {
    let requests: Vec<Value> = session
        .exchanges
        .iter()
        .map(|exchange| {
            let of = counts.get(&exchange.request.n).cloned().flatten();
            request_json(exchange, &Analysis::of(session, exchange), &of)
        })
        .collect();
    json!({
        "schema_version": SCHEMA_VERSION,
        "session": store::name(&session.path),
        "file": session.path,
        "upstream": session.header.upstream,
        "skipped_lines": session.skipped,
        "requests": requests,
    })
}
