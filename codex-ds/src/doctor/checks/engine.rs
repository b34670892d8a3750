//! `engine.…`: the engine behind the endpoint, by what it counts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::endpoint::{self, DEADLINE, LIMIT};
use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::targets;
use crate::probe::Failure;
use crate::probe::engine::{self, Engine};

const fn counted(
    id: &'static str,
    title: &'static str,
    run: fn(Arc<Context>) -> crate::doctor::check::Running,
) -> Check {
    Check {
        id,
        title,
        requires: &["engine.metrics"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run,
    }
}

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "engine.metrics",
        title: "the engine's counters can be read",
        requires: &["endpoint.key"],
        cost: Cost::Network,
        deadline: Duration::from_secs(15),
        run: |context| Box::pin(metrics(context)),
    },
    counted("engine.load", "the engine has room", |context| {
        Box::pin(judged(context, load))
    }),
    counted(
        "engine.preemptions",
        "no request is thrown out and computed again",
        |context| Box::pin(judged(context, preemptions)),
    ),
    counted(
        "engine.prefix-cache",
        "what stays the same is computed once",
        |context| Box::pin(judged(context, prefix_cache)),
    ),
    counted(
        "engine.speculation",
        "speculative decoding is worth its work",
        |context| Box::pin(judged(context, speculation)),
    ),
    counted(
        "engine.idle-timeout",
        "the longest prefill ends before Codex loses patience",
        |context| Box::pin(idle_timeout(context)),
    ),
];

/// The engine of the first route, asked once: all routes of a profile lead to one.
async fn read(context: &Context) -> Arc<Option<Result<Engine, Failure>>> {
    let kinds = endpoint::kinds(context).await;
    let way = targets::ways(context).into_iter().next();
    context
        .once(async move {
            let target = way?.target;
            Some(engine::read(&target, &kinds.of(&target), LIMIT).await)
        })
        .await
}

async fn metrics(context: Arc<Context>) -> Result<Outcome> {
    Ok(match &*read(&context).await {
        None => Outcome::skip("the configuration names no endpoint"),
        // That is no fault: a router may keep them to itself, and another server has none.
        Some(Err(failure)) => Outcome::skip(format!("not to be had: {failure}")),
        Some(Ok(engine)) => Outcome::pass(engine.url.clone()),
    })
}

async fn judged(context: Arc<Context>, judge: fn(&Engine) -> Finding) -> Result<Outcome> {
    Ok(match &*read(&context).await {
        Some(Ok(engine)) => judge(engine).source(&engine.url).into(),
        _ => Outcome::skip("the counters are not to be had"),
    })
}

/// The use of the KV pool from which on requests wait for each other: what `deploy` takes for full.
const FULL: f64 = 0.95;

fn load(engine: &Engine) -> Finding {
    let kv = engine.kv_usage.unwrap_or_default();
    let measured = format!(
        "{} running (our own among them), {} waiting, KV {:.0} % in use",
        engine.running,
        engine.waiting,
        kv * 100.0
    );
    if engine.waiting > 0.0 || kv >= FULL {
        Finding::warn(format!("the engine is full: {measured}"))
            .measured(measured)
            .expected("none waiting, and KV below 95 %")
            .remedy(
                "others keep it busy: wait, or give it room (a smaller --max-num-seqs starts fewer \
                 at once; codex-ds deploy fit shows what the memory holds)",
            )
    } else {
        Finding::note(measured.clone()).measured(measured)
    }
}

/// The share of requests that may be thrown out before it is worth a word.
const MOST_PREEMPTED: f64 = 0.01;

fn preemptions(engine: &Engine) -> Finding {
    let measured = format!(
        "{} times in {} requests since its start",
        engine.preemptions, engine.ended
    );
    if engine.preemptions > MOST_PREEMPTED * engine.ended.max(1.0) {
        Finding::warn(format!(
            "requests are thrown out of the KV pool: {measured}"
        ))
        .measured(measured)
        .expected("at most one in a hundred")
        .remedy(
            "the pool is too small for so many at once: lower --max-num-seqs, or \
                 --max-model-len (codex-ds deploy fit)",
        )
    } else {
        Finding::note(measured.clone()).measured(measured)
    }
}

/// Fewer tokens than this tell nothing of a rate.
const ENOUGH: f64 = 20_000.0;
/// A session repeats all but its last turn: a rate below this means that its beginning changes.
const LEAST_HITS: f64 = 0.3;

fn prefix_cache(engine: &Engine) -> Finding {
    let Some((queries, hits)) = engine.prefix else {
        return Finding::note("the engine does not count it");
    };
    let measured = format!("{hits} of {queries} tokens since its start");
    match engine.hit_rate() {
        Some(rate) if queries >= ENOUGH && rate < LEAST_HITS => {
            Finding::warn(format!("the prefix cache is seldom hit: {measured}"))
                .measured(measured)
                .expected("a third or more, for agents")
                .remedy(
                    "is --enable-prefix-caching on? Else something changes the beginning of each \
                     request: codex-ds dump shows what",
                )
        }
        _ => Finding::note(measured.clone()).measured(measured),
    }
}

/// Fewer drafts than this tell nothing of a mean.
const ENOUGH_DRAFTS: f64 = 200.0;
/// Below this the drafts cost more than they bring; DeepSeek V4 Flash with five of them makes 3.5 to
/// 3.9 tokens a step.
const LEAST_ACCEPTED: f64 = 1.5;

fn speculation(engine: &Engine) -> Finding {
    let Some((drafts, _)) = engine.drafts.filter(|(drafts, _)| *drafts > 0.0) else {
        return Finding::note("there is none, or nothing was decoded yet");
    };
    let length = engine.acceptance_length().unwrap_or_default();
    let measured = format!("{length:.2} tokens a step, over {drafts} steps");
    if drafts >= ENOUGH_DRAFTS && length < LEAST_ACCEPTED {
        Finding::warn(format!("drafts are seldom accepted: {measured}"))
            .measured(measured)
            .expected("more than 1.5")
            .remedy(
                "is the draft head of this model, and num_speculative_tokens the one it was \
                 trained with? Without --speculative-config it may be faster",
            )
    } else {
        Finding::note(measured.clone()).measured(measured)
    }
}

/// What Codex takes where the provider has no `stream_idle_timeout_ms`.
const CODEX_IDLE: i64 = 300_000;

async fn idle_timeout(context: Arc<Context>) -> Result<Outcome> {
    let engine = read(&context).await;
    let Some(Ok(engine)) = &*engine else {
        return Ok(Outcome::skip("the counters are not to be had"));
    };
    let Some(way) = targets::ways(&context).into_iter().next() else {
        return Ok(Outcome::skip("the configuration names no endpoint"));
    };
    let window = endpoint::served_window(&way.target).await;
    let computed = engine.prefill.map_or(0.0, |(_, tokens)| tokens);
    let (Some(pace), Some(window)) = (engine.prefill_pace(), window) else {
        return Ok(Finding::note("not to be told: the engine does not count prefill").into());
    };
    if computed < ENOUGH {
        return Ok(Finding::note("not to be told: too little was computed yet").into());
    }
    let provider = context.routes.first().map(|route| route.provider.as_str());
    let key = [
        "model_providers",
        provider.unwrap_or_default(),
        "stream_idle_timeout_ms",
    ];
    let limit = context
        .profile
        .get(&key)
        .and_then(|(item, _)| item.as_integer())
        .unwrap_or(CODEX_IDLE);
    #[expect(
        clippy::cast_precision_loss,
        reason = "tokens and milliseconds are far below 2^52"
    )]
    let (longest, limit) = (window as f64 / pace, limit as f64 / 1000.0);
    let measured = format!(
        "{pace:.0} tokens/s of prefill: {longest:.0} s for a window of {window} tokens; Codex waits {limit:.0} s"
    );
    Ok(if longest > limit {
        Finding::warn(format!(
            "a long prompt takes longer than Codex waits: {measured}"
        ))
        .measured(measured)
        .expected("a wait that is longer than the longest prefill")
        .source(key.join("."))
        .remedy(format!(
            "set {} to {:.0}, or take a smaller window: codex-ds setup --context TOKENS",
            key[2],
            longest * 1500.0
        ))
        .into()
    } else {
        Finding::note(measured.clone()).measured(measured).into()
    })
}
