//! `/metrics` in Prometheus' text form, with vLLM's names.

use std::fmt::Write as _;

use super::state::{Counters, State};

/// Tokens for which the pretended KV cache has room.
const KV_TOKENS: u64 = 1_000_000;

type Read = fn(&Counters) -> u64;

/// Name, type and value of each series.
const SERIES: [(&str, &str, Read); 11] = [
    ("vllm:num_requests_running", "gauge", |c| c.running),
    ("vllm:num_requests_waiting", "gauge", |_| 0),
    ("vllm:prompt_tokens_total", "counter", |c| c.prompt_tokens),
    ("vllm:generation_tokens_total", "counter", |c| {
        c.generation_tokens
    }),
    ("vllm:prefix_cache_queries_total", "counter", |c| {
        c.prefix_cache_queries
    }),
    ("vllm:prefix_cache_hits_total", "counter", |c| {
        c.prefix_cache_hits
    }),
    ("vllm:prompt_tokens_cached_total", "counter", |c| {
        c.prefix_cache_hits
    }),
    ("vllm:num_preemptions_total", "counter", |_| 0),
    ("vllm:spec_decode_num_drafts_total", "counter", |c| c.drafts),
    ("vllm:spec_decode_num_draft_tokens_total", "counter", |c| {
        c.drafted
    }),
    (
        "vllm:spec_decode_num_accepted_tokens_total",
        "counter",
        |c| c.accepted,
    ),
];

/// How requests end.
const ENDS: [(&str, Read); 3] = [
    ("stop", |c| c.stopped),
    ("length", |c| c.at_length),
    ("abort", |c| c.aborted),
];

/// The page.
pub(super) fn page(state: &State) -> String {
    let models = state.counters();
    let mut page = String::new();
    let told = |name: &str| state.config.metrics.iter().any(|(told, _)| *told == name);
    for (name, kind, value) in SERIES.into_iter().filter(|(name, ..)| !told(name)) {
        let _ = writeln!(page, "# TYPE {} {kind}", name.trim_end_matches("_total"));
        for (model, counters) in &models {
            let value = value(counters);
            let _ = writeln!(
                page,
                "{name}{{engine=\"0\",model_name=\"{model}\"}} {value}.0"
            );
        }
    }
    if !told("vllm:kv_cache_usage_perc") {
        page.push_str("# TYPE vllm:kv_cache_usage_perc gauge\n");
        for (model, counters) in &models {
            #[expect(clippy::cast_precision_loss, reason = "no pool has 2^52 tokens")]
            let used = (counters.held as f64 / KV_TOKENS as f64).min(1.0);
            let _ = writeln!(
                page,
                "vllm:kv_cache_usage_perc{{engine=\"0\",model_name=\"{model}\"}} {used:?}"
            );
        }
    }
    for (name, value) in &state.config.metrics {
        for model in models.keys() {
            let _ = writeln!(
                page,
                "{name}{{engine=\"0\",model_name=\"{model}\"}} {value:?}"
            );
        }
    }
    page.push_str("# TYPE vllm:request_success counter\n");
    for (model, counters) in &models {
        for (end, value) in ENDS {
            let value = value(counters);
            let _ = writeln!(
                page,
                "vllm:request_success_total{{engine=\"0\",finished_reason=\"{end}\",\
                 model_name=\"{model}\"}} {value}.0"
            );
        }
    }
    page
}
