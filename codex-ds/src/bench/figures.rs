//! From arrival times to figures. Pure: what is measured here is played exactly in the tests.
//!
//! The definitions are llama-benchy's (0.4), so that tables can be laid side by side:
//!
//! | figure | definition |
//! | --- | --- |
//! | `ttfr` | request sent → first event with a choice |
//! | `ttft` (`e2e_ttft`) | request sent → first event with text, thinking or a part of a call |
//! | prefill | prompt tokens / (`ttfr` − the network's latency); of several streams: all prompt tokens / (first sent → last first token) |
//! | decode | tokens after the first event / (first event → last event); of several streams: their sum / (earliest first → latest last) |
//! | output | all tokens / (first sent → last event): what a user of the whole gets, prefill included |
//! | peak | most tokens in any second |
//!
//! Tokens are the server's count. Where an event brings several, as with speculative decoding,
//! they are shared out over the events by their bytes.

use std::time::Instant;

use crate::engine::ask::Answer;

/// One answer, in seconds since its run began.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// When the request was sent.
    pub start: f64,
    /// When the first event with a choice came.
    pub first_response: f64,
    /// When each event with tokens came, and how many it brought; those of one moment are one.
    pub chunks: Vec<(f64, f64)>,
    /// Tokens of the prompt.
    pub prompt: f64,
    /// Tokens of the answer.
    pub completion: f64,
}

impl Timing {
    /// Of an answer; `None` when it brought no token or the server did not count.
    #[must_use]
    pub fn of(answer: &Answer, origin: Instant) -> Option<Self> {
        let usage = answer.usage?;
        let seconds = |at: Instant| at.saturating_duration_since(origin).as_secs_f64();
        let bytes: usize = answer.chunks.iter().map(|(_, bytes)| bytes).sum();
        let (completion, bytes) = (number(usage.completion), number(bytes as u64));
        let mut chunks: Vec<(f64, f64)> = Vec::with_capacity(answer.chunks.len());
        for (at, length) in &answer.chunks {
            let (at, tokens) = (seconds(*at), completion * number(*length as u64) / bytes);
            match chunks.last_mut() {
                // Read in one piece, so when they came is not known apart.
                Some((last, sum)) if *last >= at => *sum += tokens,
                _ => chunks.push((at, tokens)),
            }
        }
        (!chunks.is_empty() && usage.completion > 0).then(|| Self {
            start: seconds(answer.start),
            first_response: answer.first_response.map_or_else(|| chunks[0].0, seconds),
            prompt: number(usage.prompt),
            completion,
            chunks,
        })
    }

    fn first_token(&self) -> f64 {
        self.chunks.first().map_or(self.start, |chunk| chunk.0)
    }

    fn last(&self) -> f64 {
        self.chunks.last().map_or(self.start, |chunk| chunk.0)
    }

    /// Tokens after those of the first moment.
    fn after_first(&self) -> f64 {
        self.chunks.iter().skip(1).map(|chunk| chunk.1).sum()
    }

    /// Milliseconds between events.
    fn gaps(&self) -> impl Iterator<Item = f64> {
        self.chunks
            .windows(2)
            .map(|two| (two[1].0 - two[0].0) * 1e3)
    }

    /// When the prompt was read: the first event, unless that is an empty one which the server sends
    /// before it begins.
    fn prefilled(&self) -> f64 {
        let wait = self.first_token() - self.first_response;
        let gap = if self.chunks.len() > 1 {
            (self.last() - self.first_token()) / number(self.chunks.len() as u64 - 1)
        } else {
            0.0
        };
        let early = wait > 0.5 * (self.first_token() - self.start) && wait > 3.0 * gap;
        if early {
            self.first_token()
        } else {
            self.first_response
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no answer has 2^52 tokens")]
fn number(value: u64) -> f64 {
    value as f64
}

/// The figures of one run: rates in tokens a second, times in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Prefill of all streams.
    pub prefill: Option<f64>,
    /// Prefill of each stream.
    pub prefill_each: Vec<f64>,
    /// Decode of all streams.
    pub decode: Option<f64>,
    /// Decode of each stream.
    pub decode_each: Vec<f64>,
    /// The best second.
    pub peak: Option<f64>,
    /// Output of all streams from first request to last event.
    pub output: Option<f64>,
    /// Time to the first event of each stream.
    pub ttfr: Vec<f64>,
    /// Time to the first token of each stream.
    pub ttft: Vec<f64>,
    /// Time of the prefill of each stream.
    pub prefill_time: Vec<f64>,
    /// Time between events of all streams.
    pub gaps: Vec<f64>,
}

impl Figures {
    /// Of the answers of one run, where the network takes `latency` seconds.
    #[must_use]
    pub fn of(timings: &[Timing], latency: f64) -> Self {
        let min = |value: fn(&Timing) -> f64| timings.iter().map(value).fold(f64::MAX, f64::min);
        let max = |value: fn(&Timing) -> f64| timings.iter().map(value).fold(f64::MIN, f64::max);
        let sum = |value: fn(&Timing) -> f64| timings.iter().map(value).sum::<f64>();
        if timings.is_empty() {
            return Self::default();
        }
        let start = min(|timing| timing.start);
        let prefill_time = |timing: &Timing| (timing.prefilled() - timing.start - latency).max(0.0);
        let prefill_each: Vec<f64> = timings
            .iter()
            .filter_map(|timing| rate(timing.prompt, prefill_time(timing)))
            .collect();
        let decode_each: Vec<f64> = timings
            .iter()
            .filter_map(|timing| rate(timing.after_first(), timing.last() - timing.first_token()))
            .collect();
        let alone = timings.len() == 1;
        Self {
            prefill: if alone {
                prefill_each.first().copied()
            } else {
                rate(
                    sum(|timing| timing.prompt),
                    max(Timing::first_token) - start,
                )
            },
            decode: if alone {
                decode_each.first().copied()
            } else {
                rate(
                    sum(Timing::after_first),
                    max(Timing::last) - min(Timing::first_token),
                )
            },
            peak: peak(timings),
            output: rate(sum(|timing| timing.completion), max(Timing::last) - start),
            ttfr: each(timings, |timing| timing.first_response - timing.start),
            ttft: each(timings, |timing| timing.first_token() - timing.start),
            prefill_time: each(timings, prefill_time),
            gaps: timings.iter().flat_map(Timing::gaps).collect(),
            prefill_each,
            decode_each,
        }
    }
}

fn each(timings: &[Timing], value: impl Fn(&Timing) -> f64) -> Vec<f64> {
    timings.iter().map(|timing| value(timing) * 1e3).collect()
}

fn rate(tokens: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && tokens > 0.0).then(|| tokens / seconds)
}

/// Most tokens in one second; of less than a second, over the time that there is.
fn peak(timings: &[Timing]) -> Option<f64> {
    let mut events: Vec<(f64, f64)> = timings.iter().flat_map(|t| t.chunks.clone()).collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (events.first()?.0, events.last()?.0);
    if last - first < 1.0 {
        let all: f64 = events.iter().map(|event| event.1).sum();
        return rate(all, last - first);
    }
    let (mut start, mut sum, mut most) = (0, 0.0, 0.0_f64);
    for end in &events {
        sum += end.1;
        // To the microsecond, which no clock here is better than.
        while events[start].0 <= end.0 - 1.0 + 1e-6 {
            sum -= events[start].1;
            start += 1;
        }
        most = most.max(sum);
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::ask::Usage;

    fn close(found: Option<f64>, expected: f64) {
        let found = found.expect("a figure");
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    /// A stream of `events` events with `bundle` tokens each, whose prompt of 1,000 tokens is read
    /// at 500 tokens a second and which decodes 100 tokens a second.
    fn stream(start: f64, events: u32, bundle: f64) -> Timing {
        let prefilled = start + 2.0;
        let chunks = (1..=events)
            .map(|n| (prefilled + f64::from(n) * bundle / 100.0, bundle))
            .collect();
        Timing {
            start,
            first_response: prefilled,
            chunks,
            prompt: 1000.0,
            completion: f64::from(events) * bundle,
        }
    }

    #[test]
    fn one_stream_is_measured_as_it_was_played() {
        for bundle in [1.0, 4.0] {
            let figures = Figures::of(&[stream(0.0, 64, bundle)], 0.0);
            close(figures.prefill, 500.0);
            close(figures.decode, 100.0);
            close(figures.ttfr.first().copied(), 2000.0);
            close(figures.ttft.first().copied(), 2000.0 + bundle * 10.0);
            close(figures.gaps.first().copied(), bundle * 10.0);
            close(
                figures.output,
                64.0 * bundle / (2.0 + 64.0 * bundle / 100.0),
            );
        }
        close(Figures::of(&[stream(0.0, 300, 1.0)], 0.0).peak, 100.0);
    }

    #[test]
    fn the_networks_latency_is_no_prefill() {
        let mut timing = stream(0.0, 10, 1.0);
        timing.first_response += 0.5;
        close(Figures::of(&[timing], 0.5).prefill, 500.0);
    }

    #[test]
    fn several_streams_are_summed_over_their_common_time() {
        let figures = Figures::of(&[stream(0.0, 101, 1.0), stream(1.0, 101, 1.0)], 0.0);
        // Both prompts, from the first request to the last first token.
        close(figures.prefill, 2000.0 / 3.01);
        // A hundred each after the first token, over one second and one of offset.
        close(figures.decode, 200.0 / 2.0);
        close(figures.decode_each.first().copied(), 100.0);
        close(figures.prefill_each.last().copied(), 500.0);
        close(figures.output, 202.0 / 4.01);
    }

    #[test]
    fn an_empty_event_that_comes_at_once_is_not_the_end_of_the_prefill() {
        let mut timing = stream(0.0, 10, 1.0);
        timing.first_response = 0.001;
        close(Figures::of(&[timing], 0.0).prefill, 1000.0 / 2.01);
    }

    #[test]
    fn bundled_tokens_are_shared_out_by_bytes() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let answer = Answer {
            start,
            first_response: Some(at(100)),
            chunks: vec![(at(100), 4), (at(200), 12), (at(200), 8), (at(300), 16)],
            end: at(300),
            text: String::new(),
            finish_reason: "length".to_owned(),
            usage: Some(Usage {
                prompt: 10,
                cached: None,
                completion: 10,
            }),
        };
        let timing = Timing::of(&answer, start).expect("a timing");
        let tokens: Vec<f64> = timing.chunks.iter().map(|chunk| chunk.1).collect();
        assert_eq!(tokens, [1.0, 5.0, 4.0]);
        close(Figures::of(&[timing], 0.0).decode, 45.0);
        let uncounted = Answer {
            usage: None,
            ..answer
        };
        assert_eq!(Timing::of(&uncounted, start), None);
    }

    #[test]
    fn an_answer_of_one_event_has_no_decode_rate() {
        let figures = Figures::of(&[stream(0.0, 1, 1.0)], 0.0);
        assert_eq!(figures.decode, None);
        close(figures.prefill, 500.0);
        assert_eq!(Figures::of(&[], 0.0), Figures::default());
    }
}
