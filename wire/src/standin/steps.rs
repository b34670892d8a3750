//! A streamed answer in time: its events, their pace, and what breaks it.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use tokio::time::{Instant, sleep_until};

use crate::text::ceil_char_boundary;

use super::prompt::tokens;
use super::script::{Fault, Turn};
use super::state::Running;

/// One event, and the tokens that the model makes for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// The event as it goes over the wire.
    pub data: String,
    /// Tokens.
    pub tokens: u64,
}

/// Cuts a text into pieces of about so many tokens, with the tokens of each; they add up to the
/// text's.
pub(super) fn pieces(text: &str, tokens_per_piece: u64) -> impl Iterator<Item = (&str, u64)> {
    let length = usize::try_from(tokens_per_piece.saturating_mul(4)).unwrap_or(usize::MAX);
    let mut start: usize = 0;
    std::iter::from_fn(move || {
        if start == text.len() {
            return None;
        }
        let end = ceil_char_boundary(text, start.saturating_add(length));
        let piece = (&text[start..end], tokens(end) - tokens(start));
        start = end;
        Some(piece)
    })
}

/// All steps as one, which comes when the last of them is ready.
pub(super) fn held_back(steps: Vec<Step>) -> Vec<Step> {
    let tokens = steps.iter().map(|step| step.tokens).sum();
    let data = steps.into_iter().map(|step| step.data).collect();
    vec![Step { data, tokens }]
}

/// When so many tokens are ready.
pub(super) fn ready(start: Instant, tokens: u64, pace: Option<f64>) -> Instant {
    let pace = pace.filter(|pace| pace.is_finite() && *pace > 0.0);
    #[expect(clippy::cast_precision_loss, reason = "no answer has 2^52 tokens")]
    let seconds = pace.map_or(0.0, |pace| tokens as f64 / pace);
    start + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4)
}

struct Playing {
    steps: std::vec::IntoIter<Step>,
    at_length: bool,
    sent: usize,
    tokens: u64,
    start: Instant,
    pace: Option<f64>,
    /// How many tokens are guessed at once, where they are.
    drafted: Option<u64>,
    fault: Option<Fault>,
    running: Running,
}

/// The steps as a body, as `turn` says; `at_length` when they end at the longest answer asked for.
pub(super) fn play(
    steps: Vec<Step>,
    at_length: bool,
    turn: Turn,
    running: Running,
) -> impl Stream<Item = io::Result<Bytes>> {
    let playing = Playing {
        steps: steps.into_iter(),
        at_length,
        sent: 0,
        tokens: 0,
        start: Instant::now(),
        pace: turn.tokens_per_second,
        drafted: turn.tokens_per_chunk,
        fault: turn.fault,
        running,
    };
    stream::unfold(Some(playing), async |playing| {
        let mut playing = playing?;
        match playing.fault {
            Some(Fault::Cut { after }) if playing.sent >= after => {
                // What was sent before must leave the buffer, which is written out when the body
                // has nothing ready.
                tokio::task::yield_now().await;
                return Some((Err(io::ErrorKind::ConnectionReset.into()), None));
            }
            Some(Fault::Stall { after }) if playing.sent >= after => {
                return std::future::pending().await;
            }
            _ => {}
        }
        let Some(step) = playing.steps.next() else {
            playing.running.succeed(playing.at_length);
            return None;
        };
        playing.tokens += step.tokens;
        playing.sent += 1;
        sleep_until(ready(playing.start, playing.tokens, playing.pace)).await;
        playing.running.generated(step.tokens);
        if let Some(drafted) = playing.drafted.filter(|_| step.tokens > 0) {
            playing.running.speculated(drafted, step.tokens);
        }
        Some((Ok(Bytes::from(step.data)), Some(playing)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_to_the_text_and_its_tokens() {
        for text in ["", "a", "abcd", "abcde", "ééééé", "a€b😀c"] {
            for size in [1, 3] {
                let (pieces, counts): (Vec<&str>, Vec<u64>) = pieces(text, size).unzip();
                assert_eq!(pieces.concat(), text);
                assert_eq!(counts.iter().sum::<u64>(), tokens(text.len()), "{text}");
            }
        }
    }
}
