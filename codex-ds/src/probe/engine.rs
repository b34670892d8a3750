//! What the engine behind an endpoint counts, from vLLM's `/metrics`.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::{Failure, Target};
use crate::setup::endpoint::Kind;

/// What the engine counts, since its start where it is no gauge.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// Where it was read.
    pub url: String,
    /// Requests that run.
    pub running: f64,
    /// Requests that wait.
    pub waiting: f64,
    /// The share of the KV pool in use, 0 to 1; of the fullest pool, where there are several.
    pub kv_usage: Option<f64>,
    /// Requests that ended.
    pub ended: f64,
    /// How often a request was thrown out of the KV pool, and computed again.
    pub preemptions: f64,
    /// Tokens looked up in the prefix cache, and found there.
    pub prefix: Option<(f64, f64)>,
    /// Drafts of speculative decoding, and tokens of them that were accepted.
    pub drafts: Option<(f64, f64)>,
    /// Seconds of prefill, and the tokens computed in them.
    pub prefill: Option<(f64, f64)>,
}

impl Engine {
    /// The share of looked-up tokens that was in the prefix cache.
    #[must_use]
    pub fn hit_rate(&self) -> Option<f64> {
        ratio(self.prefix?.1, self.prefix?.0)
    }

    /// Tokens that a step of the large model makes: its own, and the accepted ones.
    #[must_use]
    pub fn acceptance_length(&self) -> Option<f64> {
        ratio(self.drafts?.1, self.drafts?.0).map(|accepted| accepted + 1.0)
    }

    /// Tokens of prompts a second.
    #[must_use]
    pub fn prefill_pace(&self) -> Option<f64> {
        ratio(self.prefill?.1, self.prefill?.0)
    }

    /// Reads Prometheus's text format; names of before vLLM 0.10 count too.
    #[must_use]
    pub fn read(url: &str, text: &str) -> Self {
        let values = |names: &[&str]| -> Vec<f64> {
            text.lines()
                .filter_map(|line| {
                    let (name, value) = line.rsplit_once(' ')?;
                    let bare = name.split('{').next()?.trim();
                    names.contains(&bare).then(|| value.parse::<f64>().ok())?
                })
                .collect()
        };
        let sum = |names: &[&str]| values(names).into_iter().reduce(|a, b| a + b);
        let counted = |name: &str| sum(&[name]).unwrap_or_default();
        let fullest = |names: &[&str]| values(names).into_iter().reduce(f64::max);
        let hits = sum(&[
            "vllm:prefix_cache_hits_total",
            "vllm:gpu_prefix_cache_hits_total",
        ]);
        let queries = sum(&[
            "vllm:prefix_cache_queries_total",
            "vllm:gpu_prefix_cache_queries_total",
        ]);
        let computed = sum(&["vllm:request_prefill_kv_computed_tokens_sum"])
            .or_else(|| Some(counted("vllm:prompt_tokens_total") - hits.unwrap_or_default()));
        Self {
            url: url.to_owned(),
            running: counted("vllm:num_requests_running"),
            waiting: counted("vllm:num_requests_waiting"),
            kv_usage: fullest(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
            ended: counted("vllm:request_success_total"),
            preemptions: counted("vllm:num_preemptions_total"),
            prefix: queries.zip(hits),
            drafts: sum(&["vllm:spec_decode_num_drafts_total"])
                .zip(sum(&["vllm:spec_decode_num_accepted_tokens_total"])),
            prefill: sum(&["vllm:request_prefill_time_seconds_sum"]).zip(computed),
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Where the engine behind a router is, by the router's own word.
///
/// # Errors
/// When the router does not say it.
pub async fn behind(target: &Target, limit: Duration) -> Result<String, Failure> {
    let body = super::text(target.request(Method::GET, "/model/info"), limit).await?;
    let json: Value = serde_json::from_str(&body).unwrap_or_default();
    let models = json["data"].as_array().map_or(&[][..], Vec::as_slice);
    models
        .iter()
        .find(|model| model["model_name"] == target.model.as_str())
        .and_then(|model| model["litellm_params"]["api_base"].as_str())
        .map(str::to_owned)
        .ok_or(Failure::Other {
            found: "no api_base for this model".to_owned(),
            expected: "litellm_params.api_base",
        })
}

/// What the engine of a target counts. Behind a router its own address is asked, without any key.
///
/// # Errors
/// When there is no such page, or no way to it.
pub async fn read(target: &Target, kind: &Kind, limit: Duration) -> Result<Engine, Failure> {
    let engine = match kind {
        Kind::LiteLlm => {
            let base = behind(target, limit).await?;
            let base = if base.contains("://") {
                base
            } else {
                format!("http://{base}")
            };
            Target::new(&base, &target.model, None)
                .map_err(|error| Failure::Transport(error.to_string()))?
        }
        _ => target.clone(),
    };
    let url = format!("{}/metrics", engine.root());
    let text = super::text(engine.get(&url), limit).await?;
    if !text.contains("vllm:") {
        return Err(Failure::Other {
            found: super::excerpt(&text),
            expected: "vLLM's metrics",
        });
    }
    Ok(Engine::read(&url, &text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2.0
vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 1.0
vllm:gpu_cache_usage_perc{engine=\"0\"} 0.25
vllm:prefix_cache_queries_total{engine=\"0\"} 1000.0
vllm:prefix_cache_hits_total{engine=\"0\"} 900.0
vllm:prompt_tokens_total{engine=\"0\"} 1000.0
vllm:spec_decode_num_drafts_total{engine=\"0\"} 100.0
vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 260.0
vllm:request_prefill_time_seconds_sum{engine=\"0\"} 0.05
";

    #[test]
    fn counts_are_summed_and_rates_follow() {
        let engine = Engine::read("u", PAGE);
        assert_eq!((engine.running, engine.waiting), (3.0, 0.0));
        assert_eq!(engine.kv_usage, Some(0.25));
        assert_eq!(engine.hit_rate(), Some(0.9));
        assert_eq!(engine.acceptance_length(), Some(3.6));
        assert_eq!(engine.prefill_pace(), Some(2_000.0));
        let none = Engine::read("u", "");
        assert_eq!(
            (
                none.hit_rate(),
                none.acceptance_length(),
                none.prefill_pace()
            ),
            (None, None, None)
        );
    }

    proptest! {
        #[test]
        fn any_page_is_read(page in "\\PC*", lines in proptest::collection::vec("vllm:[a-z_]{0,9}[ {}0-9.e+-]{0,9}", 0..9)) {
            let _ = Engine::read("u", &page);
            let _ = Engine::read("u", &lines.join("\n"));
        }
    }
}
