//! What the ranks and the engine show together.

use super::{Failure, failure, matching};
use crate::cluster::{Canary, Facts, Role};

/// The use of the KV pool from which on requests wait for each other.
const SATURATED: f64 = 0.95;

/// What vLLM answers where it has no tool parser.
const TOOL_CHOICE: &str = "--enable-auto-tool-choice";

pub(super) const FAILURES: &[Failure] = &[
    failure!(
        "dead-group",
        Error,
        Group,
        "the worker sits in a dead process group: it does not end with the head, and never joins another",
        "codex-ds deploy recover",
        |_, facts| {
            let signs = matching(
                &facts.worker_log,
                &[
                    "[c10d] recvValue failed",
                    "[c10d] sendBytes failed",
                    "recvValueWithTimeout failed",
                    "Failed to check the \"should dump\" flag on TCPStore",
                    "Broken pipe",
                ],
            );
            let (Some(head), Some(worker)) = (facts.pod(Role::Head), facts.pod(Role::Worker))
            else {
                return vec![];
            };
            if signs.is_empty() || head.ready || worker.phase != "Running" {
                return vec![];
            }
            let mut evidence = vec![format!(
                "the head was restarted {} times, the worker {} times",
                head.restarts, worker.restarts
            )];
            evidence.extend(signs.into_iter().map(|line| format!("worker: {line}")));
            evidence.extend(
                matching(
                    &[facts.head_log.as_str(), &facts.head_previous_log].join("\n"),
                    &["Engine core initialization failed"],
                )
                .into_iter()
                .map(|line| format!("head: {line}")),
            );
            evidence
        }
    ),
    failure!(
        "wedged",
        Error,
        Group,
        "the API is there and no token comes: a rank is gone or hangs, and /health does not tell",
        "codex-ds deploy recover",
        |_, facts| {
            if facts.canary == Canary::Silent && !moves(facts) {
                vec![format!(
                    "no token within {} s, and the engine did nothing for anyone else",
                    facts.canary_seconds
                )]
            } else {
                vec![]
            }
        }
    ),
    failure!(
        "interrupted",
        Error,
        Group,
        "the head is scaled to nothing: a recovery was interrupted, or someone stopped it",
        "codex-ds deploy recover",
        |_, facts| match facts.head_wanted {
            Some(0) => vec!["the head's workload asks for 0 pods".to_owned()],
            _ => vec![],
        }
    ),
    failure!(
        "not-deployed",
        Error,
        None,
        "there is no such stack in the cluster",
        "codex-ds deploy apply; or is this another context or namespace?",
        |site, facts| {
            if facts.head_wanted.is_none() && facts.pod(Role::Head).is_none() {
                vec![format!(
                    "no workload of {} in namespace {}",
                    site.name, site.namespace
                )]
            } else {
                vec![]
            }
        }
    ),
    failure!(
        "saturated",
        Warning,
        None,
        "the engine is full, and works: requests wait for each other",
        "wait, or send less at once; a restart would only lose what is under way",
        |_, facts| match &facts.metrics {
            Some(metrics) if is_saturated(facts) => vec![format!(
                "KV {:.0} % in use, {} running, {} waiting, {} tokens generated meanwhile",
                metrics.kv_usage * 100.0,
                metrics.running,
                metrics.waiting,
                metrics.generated[1] - metrics.generated[0]
            )],
            _ => vec![],
        }
    ),
    failure!(
        "canary-failed",
        Error,
        None,
        "the API refuses a request of one token",
        "read the answer; is served_name the name that the engine was started with?",
        |_, facts| match &facts.canary {
            Canary::Failed(said) if !said.contains(TOOL_CHOICE) => vec![said.clone()],
            _ => vec![],
        }
    ),
    failure!(
        "no-tool-choice",
        Error,
        None,
        "the engine refuses every request in which the model may choose a tool, which is the kind that each coding agent sends",
        "add --enable-auto-tool-choice and --tool-call-parser to the head; codex-ds deploy check finds what else is missing",
        |_, facts| match &facts.canary {
            Canary::Failed(said) if said.contains(TOOL_CHOICE) => vec![said.clone()],
            _ => vec![],
        }
    ),
];

/// Whether the engine did anything while the canary waited: generated, or worked on a prompt.
fn moves(facts: &Facts) -> bool {
    facts.metrics.as_ref().is_some_and(|metrics| {
        [metrics.generated, metrics.worked]
            .iter()
            .any(|[before, after]| after > before)
    })
}

/// Whether the engine is full and goes on: then one token more may well take its time.
fn is_saturated(facts: &Facts) -> bool {
    facts.metrics.as_ref().is_some_and(|metrics| {
        let full = metrics.kv_usage >= SATURATED
            || metrics.waiting > 0.0
            || facts.canary == Canary::Silent;
        full && moves(facts)
    })
}
