//! How a request stands to the one before it, and what the server says of its cache.

use std::fmt::Write as _;

use codex_ds_wire::prefix::Standing;

use super::list::prefix_words;
use crate::dump::analysis::{Analysis, Cached};
use crate::dump::store::Exchange;
use crate::dump::text::{count, one_line};
use crate::dump::tokens::BYTES_PER_TOKEN;

/// How the request stands to the one before it, and what the server says.
pub(super) fn prefix_report(exchange: &Exchange, analysis: &Analysis) -> String {
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
