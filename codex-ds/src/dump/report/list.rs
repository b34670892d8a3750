//! Requests, a line each.

use std::fmt::Write as _;

use crate::dump::store::{End, Outcome, Prefix, Tokens};
use crate::dump::text::{Align, count, one_line, share, table, time};
use crate::dump::tokens::BYTES_PER_TOKEN;

/// One line for a request.
fn row(end: &End) -> Vec<String> {
    let tokens = |of: fn(&Tokens) -> Option<u64>| {
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
pub(in crate::dump) fn line(end: &End) -> String {
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
fn head() -> Vec<String> {
    [
        "#", "bytes", "in", "cached", "out", "first", "total", "status", "prefix", "",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The columns of the rows.
const COLUMNS: [Align; 10] = [
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

pub(super) fn prefix_words(prefix: &Prefix) -> String {
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
    if end.outcome != Outcome::Complete {
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
