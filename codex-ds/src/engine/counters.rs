//! What the engine says of itself in `/metrics`.

use std::time::Duration;

use codex_ds_wire::metrics::Metrics;
use reqwest::{Client, Url};

/// How long the counters may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// One look. Every value is `None` where the engine does not tell; the names are vLLM's (0.32), with
/// the ones before 0.10 behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Requests in work.
    pub running: Option<f64>,
    /// Requests that wait.
    pub waiting: Option<f64>,
    /// The part of the KV cache in use, 0 to 1; the fullest engine's.
    pub kv_usage: Option<f64>,
    /// Tokens of prompts so far.
    pub prompt_tokens: Option<f64>,
    /// Tokens generated so far.
    pub generation_tokens: Option<f64>,
    /// Tokens looked up in the prefix cache so far.
    pub prefix_queries: Option<f64>,
    /// Tokens found there so far.
    pub prefix_hits: Option<f64>,
    /// Drafts of speculative decoding so far.
    pub drafts: Option<f64>,
    /// Their accepted tokens so far.
    pub accepted: Option<f64>,
    /// Requests that lost their place in the KV cache so far.
    pub preemptions: Option<f64>,
    /// When the server's process started, seconds since 1970.
    pub started: Option<f64>,
}

impl Counters {
    fn of(page: &Metrics) -> Self {
        let sum = |names: &[&str]| page.sum(names);
        Self {
            running: sum(&["vllm:num_requests_running"]),
            waiting: sum(&["vllm:num_requests_waiting"]),
            kv_usage: page.max(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
            prompt_tokens: sum(&["vllm:prompt_tokens_total"]),
            generation_tokens: sum(&["vllm:generation_tokens_total"]),
            prefix_queries: sum(&[
                "vllm:prefix_cache_queries_total",
                "vllm:gpu_prefix_cache_queries_total",
            ]),
            prefix_hits: sum(&[
                "vllm:prefix_cache_hits_total",
                "vllm:gpu_prefix_cache_hits_total",
            ]),
            drafts: sum(&["vllm:spec_decode_num_drafts_total"]),
            accepted: sum(&["vllm:spec_decode_num_accepted_tokens_total"]),
            preemptions: sum(&["vllm:num_preemptions_total"]),
            started: page.max(&["process_start_time_seconds"]),
        }
    }

    /// Requests that are in the engine, in work or waiting.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.running.unwrap_or(0.0) + self.waiting.unwrap_or(0.0)
    }

    /// Whether the engine was started anew since `before`: another start time, or a counter that
    /// fell.
    #[must_use]
    pub fn restarted_since(&self, before: &Self) -> bool {
        let fell = |now: Option<f64>, then: Option<f64>| matches!((now, then), (Some(now), Some(then)) if now < then);
        let moved = matches!((self.started, before.started), (Some(now), Some(then)) if (now - then).abs() > 1.0);
        moved
            || fell(self.prompt_tokens, before.prompt_tokens)
            || fell(self.generation_tokens, before.generation_tokens)
    }
}

/// How much a counter grew.
#[must_use]
pub fn grown(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some((after? - before?).max(0.0))
}

/// Where counters are read.
#[derive(Clone, Debug)]
pub struct Source {
    client: Client,
    url: Url,
}

impl Source {
    /// The first of `urls` that has an engine's counters.
    pub async fn find(client: &Client, urls: &[Url]) -> Option<Self> {
        for url in urls {
            let source = Self {
                client: client.clone(),
                url: url.clone(),
            };
            if source.read().await.is_some_and(|c| c.running.is_some()) {
                return Some(source);
            }
        }
        None
    }

    /// The same with connections of its own, for another thread.
    #[must_use]
    pub fn apart(&self) -> Option<Self> {
        Some(Self {
            client: super::target::client(self.url.as_str()).ok()?,
            url: self.url.clone(),
        })
    }

    /// The address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// One look, or `None` when the server does not answer.
    pub async fn read(&self) -> Option<Counters> {
        let request = self.client.get(self.url.clone()).timeout(PATIENCE);
        let answer = request.send().await.ok()?.error_for_status().ok()?;
        Some(Counters::of(&Metrics::parse(&answer.text().await.ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_seen_by_either_sign() {
        let at = |started, tokens| Counters {
            started: Some(started),
            generation_tokens: tokens,
            ..Counters::default()
        };
        let before = at(1000.0, Some(50.0));
        assert!(!at(1000.0, Some(50.0)).restarted_since(&before));
        assert!(at(2000.0, Some(60.0)).restarted_since(&before));
        assert!(at(1000.0, Some(1.0)).restarted_since(&before));
        assert!(!at(1000.0, None).restarted_since(&before));
        assert_eq!(grown(Some(2.0), Some(5.0)), Some(3.0));
        assert_eq!(grown(None, Some(5.0)), None);
    }
}
