//! What a user reads of a session.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codex_ds_wire::breakdown::{Breakdown, Part, Section};
use codex_ds_wire::prefix::Standing;
use codex_ds_wire::timing::{BUCKETS, Timing};
use serde_json::{Value, json};

use super::analysis::{Analysis, Cached};
use super::store::{self, End, Exchange, Prefix, Session};
use super::text::{Align, count, one_line, plain, share, table, time};
use super::tokens::{BYTES_PER_TOKEN, Counts};

/// The version of the `--json` output.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// One line for a request.
pub(super) fn row(end: &End) -> Vec<String> {
    let tokens = |of: fn(&store::Tokens) -> Option<u64>| {
        end.tokens
            .as_ref()
            .and_then(of)
            .map_or("-".to_owned(), count)
    };
    let input = match &end.tokens {
        Some(tokens) => count(tokens.input),
        None => format!("~{}", count(end.request_bytes.div_ceil(BYTES_PER_TOKEN))),
    };
    vec![
        end.n.to_string(),
        count(end.request_bytes),
        input,
        match end.tokens.and_then(|tokens| tokens.cached) {
            // Over LiteLLM's bridge it says 0 whatever the server had.
            Some(0) => "0?".to_owned(),
            _ => tokens(|tokens| tokens.cached),
        },
        tokens(|tokens| Some(tokens.output)),
        end.first_token_us.map_or("-".to_owned(), time),
        time(end.us),
        end.status
            .map_or("-".to_owned(), |status| status.to_string()),
        end.prefix.as_ref().map_or_else(
            || one_line(&format!("{} {}", end.method, end.path)),
            prefix_words,
        ),
        trouble(end),
    ]
}

/// A request on one line of its own.
pub(super) fn line(end: &End) -> String {
    const WIDTHS: [usize; 8] = [4, 10, 9, 9, 7, 8, 8, 4];
    let row = row(end);
    let mut line = String::new();
    for (cell, (name, width)) in row.iter().zip(head().iter().zip(WIDTHS)) {
        let _ = match name.as_str() {
            "bytes" | "in" | "cached" | "out" | "first" => write!(line, "{cell:>width$} {name}"),
            _ => write!(line, "{cell:>width$}"),
        };
    }
    let _ = write!(line, "  {} {}", row[8], row[9]);
    format!("{}\n", line.trim_end())
}

/// The head of the rows.
pub(super) fn head() -> Vec<String> {
    [
        "#", "bytes", "in", "cached", "out", "first", "total", "status", "prefix", "",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The columns of the rows.
pub(super) const COLUMNS: [Align; 10] = [
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Left,
    Align::Left,
];

fn prefix_words(prefix: &Prefix) -> String {
    match prefix {
        Prefix::First => "first".to_owned(),
        Prefix::Extends { before } => format!("extends {before}"),
        Prefix::Breaks {
            before,
            pointer,
            lost_permille,
            cause,
        } => {
            let cause = cause
                .as_ref()
                .map(|cause| format!(": {}", one_line(cause)))
                .unwrap_or_default();
            format!(
                "BREAKS {before} at {}, {} lost{cause}",
                one_line(pointer),
                share(*lost_permille, 1000)
            )
        }
        Prefix::Unknown { why } => format!("unknown: {}", one_line(why)),
    }
}

fn trouble(end: &End) -> String {
    let mut words = Vec::new();
    if end.outcome != store::Outcome::Complete {
        words.push(end.outcome.words());
    }
    words.extend(end.failure.clone());
    if end.lost_bytes > 0 {
        words.push(format!("{} bytes not written down", count(end.lost_bytes)));
    }
    one_line(&words.join("; "))
}

/// The requests of a session, a line each.
pub(super) fn requests(ends: &[&End]) -> String {
    let rows: Vec<Vec<String>> = std::iter::once(head())
        .chain(ends.iter().map(|end| row(end)))
        .collect();
    table(&COLUMNS, &rows)
}

/// A session as a whole: its requests, and the largest of them taken apart.
pub(super) fn session(session: &Session, counts: &BTreeMap<u64, Counts>) -> String {
    let mut text = format!("session {}\n", store::name(&session.path));
    notes(&mut text, session);
    if session.exchanges.is_empty() {
        text.push_str("no request was recorded\n");
        return text;
    }
    text.push_str(&requests(&session.ends()));
    let largest = largest(session);
    for exchange in &session.exchanges {
        let prefix = exchange.end.as_ref().and_then(|end| end.prefix.as_ref());
        // The largest is shown with all that there is to it below.
        let below = largest.is_some_and(|largest| largest.request.n == exchange.request.n);
        if matches!(prefix, Some(Prefix::Breaks { .. })) && !below {
            let _ = write!(
                text,
                "\nrequest {}\n{}",
                exchange.request.n,
                prefix_report(exchange, &Analysis::of(session, exchange))
            );
        }
    }
    if let Some(largest) = largest {
        let of = counts.get(&largest.request.n).cloned().flatten();
        let _ = write!(
            text,
            "\n{}",
            request(largest, &Analysis::of(session, largest), &of)
        );
    }
    text
}

/// The model request with the most bytes; the first of several.
pub(super) fn largest(session: &Session) -> Option<&Exchange> {
    session
        .exchanges
        .iter()
        .filter(|exchange| {
            store::is_model_request(&exchange.request.method, &exchange.request.path)
        })
        .max_by_key(|exchange| (size(exchange), std::cmp::Reverse(exchange.request.n)))
}

/// The bytes of a request's body, decoded.
pub(super) fn size(exchange: &Exchange) -> u64 {
    exchange
        .end
        .as_ref()
        .map_or(exchange.request.bytes, |end| end.request_bytes)
}

fn notes(text: &mut String, session: &Session) {
    if session.skipped > 0 {
        let _ = writeln!(
            text,
            "note: {} lines could not be read: the recording was cut off, or the disk was full",
            session.skipped
        );
    }
    let open = session
        .exchanges
        .iter()
        .filter(|exchange| exchange.end.is_none())
        .count();
    if open > 0 {
        let _ = writeln!(
            text,
            "note: {open} requests have no end: still running, or the recording was killed"
        );
    }
    if !session.header.redacted {
        text.push_str(
            "note: recorded with --unsafe-raw: this file holds secrets as they were sent\n",
        );
    }
}

/// One request: head, parts, prefix, times.
pub(super) fn request(exchange: &Exchange, analysis: &Analysis, counts: &Counts) -> String {
    let mut text = one_line(&format!(
        "request {}: {} {}",
        exchange.request.n, exchange.request.method, exchange.request.path
    ));
    if let Some(end) = &exchange.end {
        if let Some(model) = &end.model {
            let _ = write!(text, ", {}", one_line(model));
        }
        let _ = write!(text, "\n{} bytes", count(end.request_bytes));
        if exchange.request.bytes != end.request_bytes {
            let encoding = exchange.request.encoding.as_deref().unwrap_or_default();
            let _ = write!(
                text,
                " ({} as {})",
                count(exchange.request.bytes),
                one_line(encoding)
            );
        }
        let status = end
            .status
            .map_or("no answer".to_owned(), |status| format!("answer {status}"));
        let _ = write!(text, ", {status}, {}", one_line(&end.outcome.words()));
        if let Some(tokens) = end.tokens {
            let _ = write!(
                text,
                ", {} tokens in, {} out",
                count(tokens.input),
                count(tokens.output)
            );
            if tokens.reasoning > 0 {
                let _ = write!(text, " ({} thinking)", count(tokens.reasoning));
            }
        }
        if let Some(failure) = &end.failure {
            let _ = write!(text, "\nthe server says: {}", one_line(failure));
        }
    }
    text.push('\n');
    if let Some(note) = &exchange.request.note {
        let _ = writeln!(text, "note: {}", one_line(note));
    }
    if let Some(breakdown) = &analysis.breakdown {
        text.push_str(&parts(breakdown, counts));
        text.push_str(&token_check(analysis, counts));
    }
    text.push_str(&prefix_report(exchange, analysis));
    text.push_str(&times(analysis));
    text
}

/// The parts, by section; history summed up by kind.
pub(super) fn parts(breakdown: &Breakdown, counts: &Counts) -> String {
    let whole = breakdown.bytes as u64;
    let tokens = |section: Section, bytes: u64, exact: u64| match (section.is_prompt(), counts) {
        (false, _) => String::new(),
        (true, Some(_)) => count(exact),
        (true, None) => format!("~{}", count(bytes.div_ceil(BYTES_PER_TOKEN))),
    };
    let mut rows = vec![["bytes", "share", "tokens", ""].map(str::to_owned).to_vec()];
    for section in Section::ALL {
        let mut named: Vec<(String, u64, u64, u64)> = Vec::new();
        for (index, part) in breakdown.parts.iter().enumerate() {
            if part.section != section || part.bytes() == 0 {
                continue;
            }
            let exact = counts
                .as_ref()
                .and_then(|counts| counts.get(index))
                .copied()
                .unwrap_or(0);
            let bytes = part.bytes() as u64;
            match named.iter_mut().find(|(name, ..)| *name == part.name) {
                Some((_, all, all_exact, number)) => {
                    *all += bytes;
                    *all_exact += exact;
                    *number += 1;
                }
                None => named.push((part.name.clone(), bytes, exact, 1)),
            }
        }
        let bytes: u64 = named.iter().map(|(_, bytes, ..)| bytes).sum();
        let exact: u64 = named.iter().map(|(_, _, exact, _)| exact).sum();
        if bytes == 0 {
            continue;
        }
        let row = |name: String, bytes: u64, exact: u64| {
            vec![
                count(bytes),
                share(bytes, whole),
                tokens(section, bytes, exact),
                name,
            ]
        };
        let alone = match &named[..] {
            [(name, _, _, number)] => Some(format!(": {}{}", one_line(name), repeated(*number))),
            _ => None,
        };
        let listed = alone.is_none() && section != Section::Parameters;
        rows.push(row(
            format!("{}{}", section.name(), alone.unwrap_or_default()),
            bytes,
            exact,
        ));
        if !listed {
            continue;
        }
        for (name, bytes, exact, number) in named {
            rows.push(row(
                format!("  {}{}", one_line(&name), repeated(number)),
                bytes,
                exact,
            ));
        }
    }
    rows.push(vec![
        count(whole),
        share(whole, whole),
        String::new(),
        "all".to_owned(),
    ]);
    table(
        &[Align::Right, Align::Right, Align::Right, Align::Left],
        &rows,
    )
}

/// How often a name stands there, where that is more than once.
fn repeated(number: u64) -> String {
    if number > 1 {
        format!(" x{number}")
    } else {
        String::new()
    }
}

/// The sum of the counted parts beside the server's own count of the prompt.
fn token_check(analysis: &Analysis, counts: &Counts) -> String {
    let Some(used) = analysis.tokens().map(|tokens| tokens.input) else {
        return String::new();
    };
    match counts {
        Some(counts) => {
            let counted: u64 = counts.iter().sum();
            let (more, less) = (used.saturating_sub(counted), counted.saturating_sub(used));
            let rest = if less > 0 {
                format!(
                    "{} fewer than the parts: the template leaves some out",
                    count(less)
                )
            } else {
                format!("{} more than the parts: the template's own", count(more))
            };
            format!(
                "tokens: {} counted by /tokenize; usage says {}, {rest}\n",
                count(counted),
                count(used)
            )
        }
        None => format!(
            "tokens: ~ is bytes / {BYTES_PER_TOKEN}; usage says {} for the whole prompt\n",
            count(used)
        ),
    }
}

/// How the request stands to the one before it, and what the server says.
fn prefix_report(exchange: &Exchange, analysis: &Analysis) -> String {
    let mut text = String::new();
    let prefix = exchange.end.as_ref().and_then(|end| end.prefix.as_ref());
    let cached = analysis.cached;
    match &analysis.standing {
        Some((before, Standing::Extends(found))) => {
            let _ = writeln!(
                text,
                "prefix: extends request {before}: {} bytes kept, {} added",
                count(found.kept as u64),
                count(found.added as u64)
            );
            if let Some(pointer) = &found.thinking_behind {
                let _ = writeln!(
                    text,
                    "  thinking from {pointer} on lies behind a new message: DeepSeek's template leaves it out now"
                );
            }
            if let (Some(cached), Some(earlier)) = (cached.tokens(), analysis.tokens_before)
                && cached * 10 < earlier * 8
            {
                let _ = writeln!(
                    text,
                    "  but the server had only {} of {} tokens cached: the loss is on the server's side \
                     (evicted, another replica, or its template)",
                    count(cached),
                    count(earlier)
                );
            }
        }
        Some((before, Standing::Breaks(found))) => {
            let _ = writeln!(
                text,
                "prefix: BREAKS request {before} at {}",
                one_line(&found.pointer)
            );
            let _ = writeln!(
                text,
                "  byte {} was  {}",
                found.before,
                one_line(&found.before_text)
            );
            let _ = writeln!(
                text,
                "  byte {} now  {}",
                found.after,
                one_line(&found.after_text)
            );
            let all = (found.kept + found.lost) as u64;
            let lost = match analysis.tokens_before {
                Some(tokens) => tokens
                    .saturating_mul(found.lost as u64)
                    .checked_div(all)
                    .unwrap_or(0),
                None => found.lost as u64 / BYTES_PER_TOKEN,
            };
            let _ = writeln!(
                text,
                "  lost behind it: {} of {} bytes, ~{} tokens",
                count(found.lost as u64),
                count(all),
                count(lost)
            );
            let cause = found
                .cause
                .as_deref()
                .unwrap_or("not proven by the payload");
            let _ = writeln!(text, "  cause: {}", one_line(cause));
        }
        Some((_, Standing::Unknown(_))) | None => {
            if let Some(prefix) = prefix {
                let _ = writeln!(text, "prefix: {}", prefix_words(prefix));
            }
        }
    }
    if prefix.is_some() {
        let said = match cached {
            Cached::Usage(tokens) => format!("{} tokens (usage)", count(tokens)),
            Cached::Counters(tokens) => {
                format!("{} tokens (/metrics, no other client)", count(tokens))
            }
            Cached::Zero => {
                "not known: usage says 0, which over LiteLLM's bridge means nothing".to_owned()
            }
            Cached::Silent => return text,
        };
        let _ = writeln!(text, "cached by the server: {said}");
    }
    text
}

fn times(analysis: &Analysis) -> String {
    let timing = &analysis.timing;
    let mut parts = Vec::new();
    for (name, at) in [
        ("first byte", timing.first_byte),
        ("first thinking", timing.first_reasoning),
        ("first text", timing.first_text),
        ("first call", timing.first_call),
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

/// The parts of one section, each with its place and text.
pub(super) fn section(body: &str, breakdown: &Breakdown, wanted: Section) -> String {
    let mut text = String::new();
    for part in breakdown.parts.iter().filter(|part| part.section == wanted) {
        let _ = writeln!(
            text,
            "--- {} ({}), {} bytes",
            one_line(&part.name),
            if part.pointer.is_empty() {
                "everywhere".to_owned()
            } else {
                one_line(&part.pointer)
            },
            count(part.bytes() as u64)
        );
        if wanted != Section::Overhead {
            let _ = writeln!(text, "{}", plain(part.text(body).trim_end()));
        }
    }
    text
}

/// The largest parts of a request, ranked.
pub(super) fn offenders(breakdown: &Breakdown) -> String {
    let mut parts: Vec<&Part> = breakdown.parts.iter().collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes()));
    let rows: Vec<Vec<String>> = parts
        .iter()
        .take(10)
        .map(|part| {
            vec![
                count(part.bytes() as u64),
                share(part.bytes() as u64, breakdown.bytes as u64),
                format!("{}: {}", part.section.name(), one_line(&part.name)),
                one_line(&part.pointer),
            ]
        })
        .collect();
    table(
        &[Align::Right, Align::Right, Align::Left, Align::Left],
        &rows,
    )
}

/// A request for `--json`.
pub(super) fn request_json(exchange: &Exchange, analysis: &Analysis, counts: &Counts) -> Value {
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
            "first_reasoning": timing.first_reasoning,
            "first_text": timing.first_text,
            "first_call": timing.first_call,
            "end": timing.end,
            "gap_p50": timing.gap(0.5),
            "gap_p99": timing.gap(0.99),
            "stalls": timing.stalls.iter().map(|stall| json!({"at": stall.at, "length": stall.length})).collect::<Vec<_>>(),
            "gaps": {"up_to": BUCKETS, "counts": timing.histogram()},
        },
        "chunks": timing.chunks,
        "tokens_per_second": output.and_then(|tokens| timing.tokens_per_second(tokens)),
        "chunks_per_second": timing.chunks_per_second(),
        "calls": analysis.reply.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect::<Vec<_>>(),
    })
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
pub(super) fn session_json(session: &Session, counts: &BTreeMap<u64, Counts>) -> Value {
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

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
