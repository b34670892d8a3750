//! What a user reads of a session.
//!
//! | file | holds |
//! | --- | --- |
//! | `list` | requests, a line each |
//! | `parts` | what one is made of |
//! | `prefix` | how it stands to the one before it |
//! | `times` | when its answer came |
//! | `json` | all of that for a program |

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::analysis::Analysis;
use super::store::{self, Exchange, Prefix, Session};
use super::text::{count, one_line};
use super::tokens::Counts;

mod json;
mod list;
mod parts;
mod prefix;
mod times;

pub(super) use json::{request_json, session_json};
pub(super) use list::line;
pub(super) use parts::{offenders, section};

/// The version of the `--json` output.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// A session as a whole: its requests, and the largest of them taken apart.
pub(super) fn session(session: &Session, counts: &BTreeMap<u64, Counts>) -> String {
    let mut text = format!("session {}\n", store::name(&session.path));
    notes(&mut text, session);
    if session.exchanges.is_empty() {
        text.push_str("no request was recorded\n");
        return text;
    }
    text.push_str(&list::requests(&session.ends()));
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
                prefix::prefix_report(exchange, &Analysis::of(session, exchange))
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
        text.push_str(&parts::parts(breakdown, counts));
        text.push_str(&parts::token_check(analysis, counts));
    }
    text.push_str(&prefix::prefix_report(exchange, analysis));
    text.push_str(&times::times(analysis));
    text
}

#[cfg(test)]
mod tests;
