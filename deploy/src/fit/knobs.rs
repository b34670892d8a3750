//! What a change of each knob does, and the nearest configuration that fits.

use super::{Fit, HIGHEST_UTILIZATION, Inputs, Verdict};
use crate::site::Site;

/// One change of a site, and what it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// The key of `[serve]`.
    pub key: &'static str,
    /// Its value now.
    pub from: String,
    /// The value that was tried.
    pub to: String,
    /// What it comes to.
    pub fit: Fit,
}

/// A change of the inputs; `None` where it is none for them.
type Change = fn(&mut Inputs<'_>) -> Option<(&'static str, String, String)>;

const CHANGES: &[Change] = &[
    |inputs| {
        let share = inputs.serve.gpu_memory_utilization - 0.01;
        utilization(inputs, share)
    },
    |inputs| {
        let share = inputs.serve.gpu_memory_utilization + 0.01;
        utilization(inputs, share)
    },
    |inputs| {
        let length = inputs.serve.max_model_len / 2 / 256 * 256;
        model_len(inputs, length)
    },
    |inputs| {
        let length = inputs.serve.max_model_len * 2;
        model_len(inputs, length)
    },
    |inputs| {
        let tokens = inputs.serve.max_num_batched_tokens / 2;
        batched(inputs, tokens)
    },
    |inputs| {
        let tokens = inputs.serve.max_num_batched_tokens * 2;
        batched(inputs, tokens)
    },
    |inputs| {
        let on = inputs
            .serve
            .async_scheduling
            .unwrap_or(inputs.constants.async_default);
        inputs.serve.async_scheduling = Some(!on);
        Some(("async_scheduling", on.to_string(), (!on).to_string()))
    },
];

fn utilization(inputs: &mut Inputs<'_>, share: f64) -> Option<(&'static str, String, String)> {
    let old = inputs.serve.gpu_memory_utilization;
    let share = (share * 100.0).round() / 100.0;
    inputs.serve.gpu_memory_utilization = share;
    (0.5..=HIGHEST_UTILIZATION).contains(&share).then(|| {
        (
            "gpu_memory_utilization",
            format!("{old:.2}"),
            format!("{share:.2}"),
        )
    })
}

fn model_len(inputs: &mut Inputs<'_>, length: u64) -> Option<(&'static str, String, String)> {
    let old = inputs.serve.max_model_len;
    inputs.serve.max_model_len = length;
    (256..=inputs.constants.model_limit)
        .contains(&length)
        .then(|| ("max_model_len", old.to_string(), length.to_string()))
}

fn batched(inputs: &mut Inputs<'_>, tokens: u64) -> Option<(&'static str, String, String)> {
    let old = inputs.serve.max_num_batched_tokens;
    inputs.serve.max_num_batched_tokens = tokens;
    (1024..=65_536).contains(&tokens).then(|| {
        (
            "max_num_batched_tokens",
            old.to_string(),
            tokens.to_string(),
        )
    })
}

/// What one step of each knob comes to.
#[must_use]
pub fn knobs(inputs: &Inputs<'_>) -> Vec<Knob> {
    CHANGES
        .iter()
        .filter_map(|change| apply(inputs, change))
        .collect()
}

fn apply(
    inputs: &Inputs<'_>,
    change: impl FnOnce(&mut Inputs<'_>) -> Option<(&'static str, String, String)>,
) -> Option<Knob> {
    let mut changed = inputs.clone();
    let (key, from, to) = change(&mut changed)?;
    Some(Knob {
        key,
        from,
        to,
        fit: changed.fit(),
    })
}

/// The smallest change of each knob alone that makes the configuration fit, the least harmful knob
/// first; empty where none does, or where it fits as it is.
#[must_use]
pub fn nearest(inputs: &Inputs<'_>) -> Vec<Knob> {
    if inputs.fit().verdict == Verdict::Fits {
        return Vec::new();
    }
    let fits = |knob: &Knob| knob.fit.verdict == Verdict::Fits;
    let serve = &inputs.serve;
    let mut found = Vec::new();
    found.extend(
        std::iter::successors(Some(serve.max_num_batched_tokens / 2), |tokens| {
            Some(tokens / 2)
        })
        .take_while(|tokens| *tokens >= 1024)
        .filter_map(|tokens| apply(inputs, |i| batched(i, tokens)))
        .find(fits),
    );
    found.extend(
        (1..=36)
            .map(|step| serve.gpu_memory_utilization + 0.01 * f64::from(step))
            .filter_map(|share| apply(inputs, |i| utilization(i, share)))
            .find(fits),
    );
    found.extend(longest(inputs));
    found
}

/// The longest request that fits. A request needs more blocks the longer it is, so bisection finds
/// it.
fn longest(inputs: &Inputs<'_>) -> Option<Knob> {
    let at = |units: u64| {
        apply(inputs, |i| model_len(i, units * 256))
            .filter(|knob| knob.fit.verdict == Verdict::Fits)
    };
    let (mut good, mut bad) = (1, inputs.serve.max_model_len / 256);
    at(good)?;
    while bad - good > 1 {
        let middle = u64::midpoint(good, bad);
        if at(middle).is_some() {
            good = middle;
        } else {
            bad = middle;
        }
    }
    at(good)
}

/// The refusal of a site that cannot fit, as one sentence for each way out.
#[must_use]
pub fn refusal(site: &Site, inputs: &Inputs<'_>) -> Option<Vec<String>> {
    (inputs.fit().verdict == Verdict::Refused).then(|| {
        let ways = nearest(inputs);
        let mut lines = vec![format!(
            "{}:{}: one request of {} tokens does not fit into the KV memory of {}",
            site.file,
            site.line("serve.max_model_len"),
            site.serve.max_model_len,
            site.name
        )];
        lines.extend(
            ways.iter()
                .map(|knob| format!("serve.{} = {} fits (now {})", knob.key, knob.to, knob.from)),
        );
        lines
    })
}
