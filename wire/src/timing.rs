//! When an answer came: first byte, first thinking, first text, the pace, and where it stalled.
//!
//! Times are microseconds since the request was sent.

use crate::reply::{Brings, Reply};

/// A gap between two events of at least this long, in microseconds, is a stall: far longer than a
/// token takes on any server that is worth using.
pub const STALL: u64 = 2_000_000;

/// Upper ends of the histogram's buckets, microseconds; the last bucket has none.
pub const BUCKETS: [u64; 9] = [
    1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
];

/// A gap in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When it began.
    pub at: u64,
    /// How long it was.
    pub length: u64,
}

/// When things of one kind came. Others may lie in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stretch {
    /// The events that brought some.
    pub chunks: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// The last of them.
    pub last: Option<u64>,
}

impl Stretch {
    fn add(&mut self, at: u64) {
        self.chunks += 1;
        self.first.get_or_insert(at);
        self.last = Some(at);
    }

    /// From the first to the last.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        Some(self.last?.saturating_sub(self.first?))
    }
}

/// The times of one answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timing {
    /// The first byte of the body.
    pub first_byte: Option<u64>,
    /// Thinking.
    pub reasoning: Stretch,
    /// Text.
    pub text: Stretch,
    /// Parts of tool calls.
    pub calls: Stretch,
    /// The end.
    pub end: u64,
    /// Events that brought thinking, text or a part of a call.
    pub chunks: u64,
    /// The gaps between those, sorted.
    gaps: Vec<u64>,
    /// Gaps of at least [`STALL`], in order.
    pub stalls: Vec<Stall>,
    /// The last event that brought something.
    last: Option<u64>,
}

impl Timing {
    /// Reads a stream: when each event arrived, and its data. `reply` is read along.
    pub fn read<'a>(
        events: impl IntoIterator<Item = (u64, &'a str)>,
        end: u64,
        reply: &mut Reply,
    ) -> Self {
        let mut timing = Self {
            end,
            ..Self::default()
        };
        let mut previous: Option<u64> = None;
        for (at, data) in events {
            timing.first_byte.get_or_insert(at);
            if let Some(before) = previous {
                let length = at.saturating_sub(before);
                if length >= STALL {
                    timing.stalls.push(Stall { at: before, length });
                }
            }
            previous = Some(at);
            let stretch = match reply.event(data) {
                Brings::Reasoning => &mut timing.reasoning,
                Brings::Text => &mut timing.text,
                Brings::Call => &mut timing.calls,
                Brings::Other => continue,
            };
            stretch.add(at);
            timing.chunks += 1;
            if let Some(last) = timing.last.replace(at) {
                timing.gaps.push(at.saturating_sub(last));
            }
        }
        // A stream that ends long after its last event stalled, too.
        if let Some(before) = previous
            && end.saturating_sub(before) >= STALL
        {
            timing.stalls.push(Stall {
                at: before,
                length: end - before,
            });
        }
        timing.gaps.sort_unstable();
        timing
    }

    /// The times of an answer that is no stream.
    #[must_use]
    pub fn whole(first_byte: Option<u64>, end: u64) -> Self {
        Self {
            first_byte,
            end,
            ..Self::default()
        }
    }

    /// The first thing that the model made: thinking, text or a call.
    #[must_use]
    pub fn first_token(&self) -> Option<u64> {
        [self.reasoning, self.text, self.calls]
            .into_iter()
            .filter_map(|stretch| stretch.first)
            .min()
    }

    /// The gap between chunks below which a share `quantile` (0 to 1) of them lies, microseconds.
    #[must_use]
    pub fn gap(&self, quantile: f64) -> Option<u64> {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of gaps is far below 2^52, and the product lies between 0 and it"
        )]
        let index =
            (self.gaps.len().saturating_sub(1) as f64 * quantile.clamp(0.0, 1.0)).round() as usize;
        self.gaps.get(index).copied()
    }

    /// How many gaps lie in each of [`BUCKETS`], and in the bucket behind them.
    #[must_use]
    pub fn histogram(&self) -> [u64; BUCKETS.len() + 1] {
        let mut counts = [0; BUCKETS.len() + 1];
        for gap in &self.gaps {
            counts[BUCKETS.partition_point(|end| end < gap)] += 1;
        }
        counts
    }

    /// Chunks a second, between the first and the last.
    #[must_use]
    pub fn chunks_per_second(&self) -> Option<f64> {
        self.pace(self.chunks.checked_sub(1)?)
    }

    /// Tokens a second between the first chunk and the last, of `tokens` in all. By the usage, not
    /// by chunks: with speculative decoding a chunk holds several tokens.
    #[must_use]
    pub fn tokens_per_second(&self, tokens: u64) -> Option<f64> {
        // The first chunk's tokens came with it.
        let counted = tokens.checked_sub(tokens.checked_div(self.chunks)?)?;
        self.pace(counted)
    }

    fn pace(&self, count: u64) -> Option<f64> {
        let span = self.last?.checked_sub(self.first_token()?)?;
        if span == 0 || count == 0 {
            return None;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "counts and times are far below 2^52"
        )]
        let pace = count as f64 * 1e6 / span as f64;
        Some(pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(kind: &str) -> String {
        serde_json::json!({"type": format!("response.{kind}.delta"), "delta": "x"}).to_string()
    }

    #[test]
    fn times_pace_and_stalls_are_read() {
        let (thought, text) = (delta("reasoning_text"), delta("output_text"));
        let events = [
            (500_000, r#"{"type":"response.created"}"#),
            (1_000_000, thought.as_str()),
            (1_100_000, &thought),
            (1_200_000, &text),
            (4_200_000, &text),
            (4_200_000, "not JSON"),
        ];
        let timing = Timing::read(events, 4_300_000, &mut Reply::default());
        assert_eq!(timing.first_byte, Some(500_000));
        assert_eq!(
            timing.reasoning,
            Stretch {
                chunks: 2,
                first: Some(1_000_000),
                last: Some(1_100_000)
            }
        );
        assert_eq!(
            (timing.text.first, timing.text.length()),
            (Some(1_200_000), Some(3_000_000))
        );
        assert_eq!(
            (timing.first_token(), timing.calls, timing.chunks),
            (Some(1_000_000), Stretch::default(), 4)
        );
        assert_eq!(
            timing.stalls,
            [Stall {
                at: 1_200_000,
                length: 3_000_000
            }]
        );
        assert_eq!(
            (timing.gap(0.5), timing.gap(1.0)),
            (Some(100_000), Some(3_000_000))
        );
        assert_eq!(timing.histogram(), [0, 0, 0, 0, 2, 0, 0, 1, 0, 0]);
        // 16 tokens in 4 chunks over 3.2 s, the first of which came with the clock's start.
        assert_eq!(
            timing
                .tokens_per_second(16)
                .map(|pace| (pace * 100.0).round()),
            Some(375.0)
        );
        assert_eq!(
            timing
                .chunks_per_second()
                .map(|pace| (pace * 10000.0).round()),
            Some(9375.0)
        );
    }

    #[test]
    fn a_stream_that_hangs_at_its_end_stalled_and_an_empty_one_has_no_times() {
        let text = delta("output_text");
        let timing = Timing::read([(1, text.as_str())], 5_000_001, &mut Reply::default());
        assert_eq!(
            timing.stalls,
            [Stall {
                at: 1,
                length: 5_000_000
            }]
        );
        let none = Timing::read([], 7, &mut Reply::default());
        assert_eq!(
            (none.first_byte, none.gap(0.5), none.tokens_per_second(5)),
            (None, None, None)
        );
    }
}
