//! What a long session meets: a prompt that is too long, and a stream that is held back.

use std::time::Duration;

use serde_json::json;

use super::stream::{Answer, Ask, ask, message};
use super::{Failure, Target};

/// One token of every tokenizer that we met, and one of the stand-in's: four bytes.
const WORD: &str = " the";

/// The longest window for which a prompt is made that is longer, tokens: 8 MB of text.
pub const LONGEST: u64 = 2_000_000;

/// Sends a prompt that is longer than a window of so many tokens. A server that keeps its word
/// refuses it without any work.
///
/// # Errors
/// The refusal.
pub async fn too_long(target: &Target, window: u64, limit: Duration) -> Result<Answer, Failure> {
    let words = usize::try_from(window)
        .unwrap_or(usize::MAX)
        .saturating_add(64);
    let input = json!([message("user", &WORD.repeat(words))]);
    ask(target, Ask::new(&input, 1, limit).lightly(target)).await
}

/// The window that a refusal names: vLLM says "maximum context length is N tokens".
#[must_use]
pub fn window_in(said: &str) -> Option<u64> {
    let (_, rest) = said.split_once("maximum context length is ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..digits].parse().ok()
}

/// What the model is told to say, so that there are many events to look at.
pub const COUNT: &str = "Count from 1 to 60 in digits, separated by spaces, and say nothing else.";

/// Asks for an answer of many events.
///
/// # Errors
/// When it does not come.
pub async fn many_events(target: &Target, limit: Duration) -> Result<Answer, Failure> {
    let input = json!([message("user", COUNT)]);
    ask(target, Ask::new(&input, 160, limit).lightly(target)).await
}

/// How an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Bit by bit.
    Steady,
    /// All at once, long after the request: something in between held it back.
    HeldBack,
    /// Too few events, or too fast, to tell.
    Unknown,
}

/// The fewest events that tell.
const FEWEST: usize = 24;
/// A wait after which one model's first token is no surprise, and many at once are.
const LONG: Duration = Duration::from_millis(300);
/// Events that are closer than this came in one piece: no engine makes a thousand a second for one
/// request.
const TOGETHER: Duration = Duration::from_millis(1);
/// A stream of one event a token that arrives in fewer pieces than an eighth of its events was held
/// back: speculative decoding bundles tokens, not events.
const FEWEST_PIECES: usize = 8;

/// How events came that arrived at these times after the request.
#[must_use]
pub fn flow(arrivals: &[Duration]) -> Flow {
    let first = arrivals.first().copied().unwrap_or_default();
    let pieces = 1 + arrivals
        .windows(2)
        .filter(|pair| pair[1].saturating_sub(pair[0]) > TOGETHER)
        .count();
    if arrivals.len() < FEWEST {
        Flow::Unknown
    } else if pieces * FEWEST_PIECES >= arrivals.len() {
        Flow::Steady
    } else if first >= LONG {
        Flow::HeldBack
    } else {
        Flow::Unknown
    }
}

/// The longest silence between two events.
#[must_use]
pub fn longest_gap(arrivals: &[Duration]) -> Duration {
    arrivals
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_window() {
        let said = "Hosted_vllmException - This model's maximum context length is 32768 tokens.";
        assert_eq!(window_in(said), Some(32_768));
        assert_eq!(window_in("maximum context length is unknown"), None);
        assert_eq!(window_in("too long"), None);
    }

    #[test]
    fn what_is_held_back_comes_late_and_at_once() {
        let times = |first: u64, step: u64, count: u64| -> Vec<Duration> {
            (0..count)
                .map(|n| Duration::from_millis(first + n * step))
                .collect()
        };
        assert_eq!(flow(&times(2_000, 20, 60)), Flow::Steady);
        assert_eq!(flow(&times(2_000, 0, 60)), Flow::HeldBack);
        // A server that answers at once makes everything at once.
        assert_eq!(flow(&times(20, 0, 60)), Flow::Unknown);
        assert_eq!(flow(&times(2_000, 0, 5)), Flow::Unknown);
        assert_eq!(flow(&[]), Flow::Unknown);
    }
}
