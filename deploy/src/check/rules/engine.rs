//! Rules about what the engine is told.

use super::pods::{heads, multi_node};
use super::rule;
use crate::check::bundle::Engine;
use crate::check::{Bundle, Hits, ManifestRule};
use crate::fit::HIGHEST_UTILIZATION;
use crate::names::image_repository;
use crate::recipe::Recipe;

/// Options that only an API server uses.
const API_FLAGS: &[&str] = &[
    "host",
    "port",
    "tool-call-parser",
    "enable-auto-tool-choice",
    "reasoning-parser",
    "reasoning-config",
    "enable-prompt-tokens-details",
    "api-key",
    "uvicorn-log-level",
];

/// Options in which the ranks may differ.
const OWN_FLAGS: &[&str] = &["node-rank", "headless", "master-addr"];

pub(super) const RULES: &[ManifestRule] = &[
    rule!(
        "worker-api-flags",
        Warning,
        "the worker serves no API, so these options do nothing there, and a change of one of them restarts it for nothing",
        "leave them to the head",
        |bundle, hits| {
            for (pod, engine) in bundle.engines().filter(|(_, engine)| engine.is_worker()) {
                let found: Vec<String> = engine
                    .flags
                    .iter()
                    .filter(|(name, _)| is_api_flag(name))
                    .map(|(name, _)| format!("--{name}"))
                    .collect();
                if !found.is_empty() {
                    hits.pod(pod, engine.line, found.join(" "));
                }
            }
        }
    ),
    rule!(
        "ranks-differ",
        Error,
        "the ranks were told different things; they then wait for each other, or compute with different shapes",
        "give both ranks the same options",
        ranks_differ
    ),
    rule!(
        "no-headless",
        Error,
        "a rank above 0 without --headless starts an API of its own and waits for requests",
        "add --headless to the worker",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if engine.is_worker() && !engine.has("headless") {
                hits.pod(pod, engine.line, "no --headless");
            }
        })
    ),
    rule!(
        "ray",
        Error,
        "Ray reserves about a third of the memory for its object store, which the weights need",
        "use --distributed-executor-backend mp",
        |bundle, hits| flag_is(bundle, hits, "distributed-executor-backend", &["ray"])
    ),
    rule!(
        "loader-twice",
        Error,
        "this loader holds the weights twice in the memory that CPU and GPU share",
        "use the default safetensors loader, or the image's own",
        |bundle, hits| {
            flag_is(
                bundle,
                hits,
                "load-format",
                &["runai_streamer", "fastsafetensors"],
            );
            for (pod, engine) in bundle.engines() {
                if engine.variable("FASTSAFETENSORS_UNIFIED_MEM") == Some("1") {
                    hits.pod(pod, engine.line, "FASTSAFETENSORS_UNIFIED_MEM=1");
                }
            }
        }
    ),
    rule!(
        "flag-refused",
        Error,
        "the image does not take this option",
        "leave it out, or use the image that has it",
        |bundle, hits| of_image(bundle, hits, |recipe, engine| {
            recipe
                .rejected_flags
                .iter()
                .filter(|(name, _)| engine.has(name))
                .map(|(name, why)| format!("--{name}: {why}"))
                .collect()
        })
    ),
    rule!(
        "variable-refused",
        Error,
        "the image does not take this variable",
        "leave it out, or use the image that has it",
        |bundle, hits| of_image(bundle, hits, |recipe, engine| {
            recipe
                .rejected_env
                .iter()
                .filter(|(name, _)| engine.variable(name).is_some_and(|value| value != "0"))
                .map(|(name, why)| format!("{name}: {why}"))
                .collect()
        })
    ),
    rule!(
        "kv-dtype",
        Error,
        "the image's attention kernels do not take this dtype of the KV cache",
        "use one of those that the recipe of the image has",
        |bundle, hits| of_image(bundle, hits, |recipe, engine| {
            engine
                .flag("kv-cache-dtype")
                .filter(|dtype| *dtype != "auto" && recipe.pages(dtype).is_none())
                .map(|dtype| format!("--kv-cache-dtype {dtype}"))
                .into_iter()
                .collect()
        })
    ),
    rule!(
        "tokenizer-mode",
        Error,
        "without its own tokenizer mode the model's chat format is not applied, and tool calls and thinking come out as text",
        "add --tokenizer-mode deepseek_v4",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            if is_deepseek_v4(engine) && engine.flag("tokenizer-mode") != Some("deepseek_v4") {
                let found = engine
                    .flag("tokenizer-mode")
                    .unwrap_or("no --tokenizer-mode");
                hits.pod(pod, engine.line, found);
            }
        })
    ),
    rule!(
        "no-tool-calls",
        Error,
        "every request with tool_choice \"auto\", the kind that each coding agent sends, is answered with HTTP 400",
        "add --enable-auto-tool-choice and --tool-call-parser",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            for name in ["enable-auto-tool-choice", "tool-call-parser"] {
                if !engine.has(name) {
                    hits.pod(pod, engine.line, format!("no --{name}"));
                }
            }
        })
    ),
    rule!(
        "no-reasoning-parser",
        Warning,
        "thoughts come out as part of the answer",
        "add --reasoning-parser deepseek_v4",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            if is_deepseek_v4(engine) && !engine.has("reasoning-parser") {
                hits.pod(pod, engine.line, "no --reasoning-parser");
            }
        })
    ),
    rule!(
        "reasoning-marks-empty",
        Error,
        "the marks around a thought are empty: <think> and </think> were lost on the way through HTML",
        "set reasoning_start_str to <think> and reasoning_end_str to </think>",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            let config = engine.flag("reasoning-config").unwrap_or_default();
            let compact: String = config.chars().filter(|c| !c.is_whitespace()).collect();
            if compact.contains("_start_str\":\"\"") || compact.contains("_end_str\":\"\"") {
                hits.pod(pod, engine.line, config.to_owned());
            }
        })
    ),
    rule!(
        "no-cached-tokens",
        Note,
        "the engine does not say how much of a prompt came from the cache, so no client can",
        "add --enable-prompt-tokens-details to the head",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            if !engine.has("enable-prompt-tokens-details") {
                hits.pod(pod, engine.line, "no --enable-prompt-tokens-details");
            }
        })
    ),
    rule!(
        "utilization",
        Warning,
        "the system shares this memory; above 0.86 published stacks began to swap, and decode fell to a tenth",
        "set --gpu-memory-utilization to 0.86 or less",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if let Some(share) = engine.number::<f64>("gpu-memory-utilization")
                && share > HIGHEST_UTILIZATION
            {
                hits.pod(pod, engine.line, share.to_string());
            }
        })
    ),
    rule!(
        "graphs-too-small",
        Warning,
        "a full batch with its speculative tokens is larger than the largest CUDA graph, and runs without one",
        "set --max-cudagraph-capture-size to max-num-seqs × (speculative tokens + 1)",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if let (Some(seqs), Some(largest)) = (
                engine.number::<u64>("max-num-seqs"),
                engine.number::<u64>("max-cudagraph-capture-size"),
            ) {
                let needed = seqs * (speculative(engine).unwrap_or(0) + 1);
                if largest < needed.min(crate::serve::MOST_CAPTURED) {
                    hits.pod(
                        pod,
                        engine.line,
                        format!("{largest}, a full batch is {needed}"),
                    );
                }
            }
        })
    ),
    rule!(
        "few-speculative-tokens",
        Warning,
        "this drafter proposes 5 tokens; fewer are cut silently by some versions and refused by others",
        "set num_speculative_tokens to 5 or more",
        |bundle, hits| of_image(bundle, hits, |recipe, engine| {
            speculative(engine)
                .filter(|tokens| *tokens < recipe.least_speculative_tokens)
                .map(|tokens| tokens.to_string())
                .into_iter()
                .collect()
        })
    ),
    rule!(
        "batch-below-requests",
        Error,
        "a step has fewer tokens than there may be requests",
        "raise --max-num-batched-tokens, or lower --max-num-seqs",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if let (Some(seqs), Some(tokens)) = (
                engine.number::<u64>("max-num-seqs"),
                engine.number::<u64>("max-num-batched-tokens"),
            ) && tokens < seqs
            {
                hits.pod(
                    pod,
                    engine.line,
                    format!("{tokens} tokens for {seqs} requests"),
                );
            }
        })
    ),
    rule!(
        "local-model-online",
        Warning,
        "the model is local, but the engine may still ask the hub, and fails where there is none",
        "set HF_HUB_OFFLINE=1",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if engine.variable("HF_HUB_OFFLINE") != Some("1") {
                hits.pod(pod, engine.line, "no HF_HUB_OFFLINE=1");
            }
        })
    ),
];

fn is_api_flag(name: &str) -> bool {
    API_FLAGS.contains(&name) || name.starts_with("default-chat-template")
}

fn is_deepseek_v4(engine: &Engine) -> bool {
    engine
        .flags
        .iter()
        .any(|(_, value)| value.as_deref() == Some("deepseek_v4"))
        || recipe(engine).is_some()
}

fn speculative(engine: &Engine) -> Option<u64> {
    let config: serde_json::Value =
        serde_json::from_str(engine.flag("speculative-config")?).ok()?;
    config["num_speculative_tokens"].as_u64()
}

/// The recipe of the engine's image, by its repository.
fn recipe(engine: &Engine) -> Option<&'static Recipe> {
    fn bare(image: &str) -> &str {
        let name = image_repository(image);
        name.strip_prefix("docker.io/").unwrap_or(name)
    }
    Recipe::built_ins()
        .iter()
        .find(|recipe| bare(recipe.image.as_str()) == bare(&engine.image))
}

fn of_image(bundle: &Bundle, hits: &mut Hits, check: impl Fn(&Recipe, &Engine) -> Vec<String>) {
    for (pod, engine) in bundle.engines() {
        let Some(recipe) = recipe(engine) else {
            continue;
        };
        for found in check(recipe, engine) {
            hits.pod(pod, engine.line, found);
        }
    }
}

fn flag_is(bundle: &Bundle, hits: &mut Hits, name: &str, bad: &[&str]) {
    for (pod, engine) in bundle.engines() {
        if let Some(value) = engine.flag(name).filter(|value| bad.contains(value)) {
            hits.pod(pod, engine.line, format!("--{name} {value}"));
        }
    }
}

fn ranks_differ(bundle: &Bundle, hits: &mut Hits) {
    let heads: Vec<_> = bundle
        .engines()
        .filter(|(_, engine)| engine.is_multi_node() && !engine.is_worker())
        .collect();
    for (pod, worker) in bundle.engines().filter(|(_, engine)| engine.is_worker()) {
        // The head of the same group: by the rendezvous where several groups are checked at once.
        let of_group = |engine: &Engine| {
            engine.flag("master-addr") == worker.flag("master-addr")
                && engine.flag("master-port") == worker.flag("master-port")
        };
        let Some((_, head)) = heads
            .iter()
            .find(|(_, head)| of_group(head))
            .or(heads.first().filter(|_| heads.len() == 1))
        else {
            continue;
        };
        let shared = |engine: &Engine| -> Vec<String> {
            let mut flags: Vec<String> = engine
                .flags
                .iter()
                .filter(|(name, _)| !OWN_FLAGS.contains(&name.as_str()) && !is_api_flag(name))
                .map(|(name, value)| match value {
                    Some(value) => format!("--{name} {value}"),
                    None => format!("--{name}"),
                })
                .collect();
            flags.sort();
            flags
        };
        let (of_head, of_worker) = (shared(head), shared(worker));
        let missing = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|flag| !b.contains(flag)).cloned().collect()
        };
        let (head_only, worker_only) =
            (missing(&of_head, &of_worker), missing(&of_worker, &of_head));
        if !head_only.is_empty() || !worker_only.is_empty() {
            hits.pod(
                pod,
                worker.line,
                format!(
                    "head {:?}, worker {:?}",
                    head_only.join(" "),
                    worker_only.join(" ")
                ),
            );
        }
        if head.image != worker.image {
            hits.pod(
                pod,
                worker.line,
                format!("image {}, the head's is {}", worker.image, head.image),
            );
        }
    }
}
