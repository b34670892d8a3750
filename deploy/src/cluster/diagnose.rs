//! What the facts mean: each known failure by its signature.

use serde::Serialize;

use super::{Canary, Facts, Role};
use crate::check::Severity;
use crate::site::Site;

/// A failure that was recognised.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Its code, which is its heading in the docs.
    pub code: &'static str,
    /// How bad it is.
    pub severity: &'static str,
    /// What it is.
    pub says: &'static str,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What to do.
    pub fix: &'static str,
    /// What `recover` does about it.
    pub recovery: Recovery,
}

/// What `recover` does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Nothing: it is not for a restart to heal.
    None,
    /// It removes the failed pods.
    Clean,
    /// It restarts both ranks, in the right order.
    Group,
}

/// A known failure.
pub struct Failure {
    /// Its code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub says: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// What `recover` does about it.
    pub recovery: Recovery,
    evidence: fn(&Site, &Facts) -> Vec<String>,
}

/// The failures that the facts show, the worst first.
#[must_use]
pub fn diagnose(site: &Site, facts: &Facts) -> Vec<Diagnosis> {
    let mut found: Vec<(Severity, Diagnosis)> = FAILURES
        .iter()
        .filter_map(|failure| {
            let evidence = (failure.evidence)(site, facts);
            (!evidence.is_empty()).then_some((
                failure.severity,
                Diagnosis {
                    code: failure.code,
                    severity: failure.severity.word(),
                    says: failure.says,
                    evidence,
                    fix: failure.fix,
                    recovery: failure.recovery,
                },
            ))
        })
        .collect();
    found.sort_by_key(|(severity, _)| *severity);
    found.into_iter().map(|(_, diagnosis)| diagnosis).collect()
}

/// The share of time in which everything waited for memory that is too much, percent.
const MOST_PRESSURE: f64 = 5.0;
/// The least memory that a node should have left, GiB.
const LEAST_AVAILABLE: f64 = 4.0;
/// The use of the KV pool from which on requests wait for each other.
const SATURATED: f64 = 0.95;

/// The kernel that breaks NCCL over RoCE (`ibv_reg_mr_iova2` fails with ENOMEM).
const BAD_KERNEL: &str = "7.0.0-1019-nvidia";
/// The driver with a memory leak and slow decode on GB10.
const BAD_DRIVER: &str = "580.159.03";

macro_rules! failure {
    ($code:literal, $severity:ident, $recovery:ident, $says:literal, $fix:literal, $evidence:expr) => {
        Failure {
            code: $code,
            severity: Severity::$severity,
            says: $says,
            fix: $fix,
            recovery: Recovery::$recovery,
            evidence: $evidence,
        }
    };
}

/// Every known failure.
pub static FAILURES: &[Failure] = &[
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
                vec!["no token within 90 s, and the engine did nothing for anyone else".to_owned()]
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
            Canary::Failed(said) => vec![said.clone()],
            _ => vec![],
        }
    ),
    failure!(
        "admission",
        Warning,
        Clean,
        "pods were refused by the node, since the one before them still had the GPU",
        "codex-ds deploy recover removes them; nodeSelector in place of nodeName ends it",
        |_, facts| {
            let refused = facts
                .pods
                .iter()
                .filter(|pod| pod.phase == "Failed" && pod.reason == "UnexpectedAdmissionError")
                .count();
            if refused == 0 {
                vec![]
            } else {
                vec![format!(
                    "{refused} pods failed with UnexpectedAdmissionError"
                )]
            }
        }
    ),
    failure!(
        "memory-pressure",
        Error,
        None,
        "a node waits for memory: it swaps, and decode falls to a tenth",
        "move everything else off the node, switch the desktop off (systemctl stop display-manager), or lower serve.gpu_memory_utilization by 0.02",
        |site, facts| {
            let mut evidence = vec![];
            for (memory, node) in facts.memory.iter().zip(site.nodes()) {
                let Some(memory) = memory else { continue };
                if memory.full_avg10 > MOST_PRESSURE {
                    evidence.push(format!(
                        "{}: everything waited for memory {} % of the last 10 s",
                        node.host, memory.full_avg10
                    ));
                }
                if memory.available_gib < LEAST_AVAILABLE {
                    evidence.push(format!(
                        "{}: {:.1} GiB left",
                        node.host, memory.available_gib
                    ));
                }
            }
            evidence.extend(
                facts
                    .nodes
                    .iter()
                    .filter(|node| node.memory_pressure)
                    .map(|node| format!("{}: MemoryPressure", node.name)),
            );
            evidence
        }
    ),
    failure!(
        "out-of-memory",
        Error,
        None,
        "the engine ran out of memory",
        "desktop off, page cache dropped, no Ray, runai or fastsafetensors; then lower serve.gpu_memory_utilization by 0.02; codex-ds deploy fit shows the sums",
        |_, facts| {
            let mut evidence = in_logs(
                facts,
                &[
                    "CUDA out of memory",
                    "NV_ERR_NO_MEMORY",
                    "No available memory for the cache blocks",
                    "OutOfMemoryError",
                ],
            );
            for pod in facts
                .pods
                .iter()
                .filter(|pod| matches!(pod.role, Role::Head | Role::Worker) && !pod.ready)
            {
                if let Some((code, reason)) = &pod.last_end
                    && (*code == 137 || reason == "OOMKilled")
                {
                    evidence.push(format!("{} ended with {code} {reason}", pod.name));
                }
            }
            evidence
        }
    ),
    failure!(
        "nccl-sockets",
        Error,
        None,
        "NCCL talks over TCP sockets instead of RoCE: a tenth of the speed",
        "is /dev/infiniband mounted, IPC_LOCK there, NCCL_IB_HCA the cable's device? codex-ds deploy check finds those",
        |_, facts| in_logs(
            facts,
            &["NCCL INFO NET/Socket", "NCCL INFO Using network Socket"]
        )
    ),
    failure!(
        "nccl-fails",
        Error,
        None,
        "NCCL fails on the RoCE device: a wrong GID, an MTU that differs, or a kernel that breaks it",
        "gid_index = \"auto\" on both nodes, MTU 9000 at both ends, and no kernel 7.0.0-1019-nvidia",
        |_, facts| in_logs(
            facts,
            &[
                "unhandled system error",
                "ibv_modify_qp",
                "ibv_reg_mr",
                "NCCL error"
            ]
        )
    ),
    failure!(
        "wrong-flags",
        Error,
        None,
        "the image does not know an option or variable",
        "is image.ref the recipe's? codex-ds deploy check knows what each image refuses",
        |_, facts| in_logs(
            facts,
            &[
                "unrecognized arguments",
                "invalid choice",
                "cannot import b12x_mhc_pre",
                "expected one argument"
            ]
        )
    ),
    failure!(
        "jit-stall",
        Warning,
        None,
        "kernels are compiled in the middle of answers, which stop for that long",
        "is the cache folder on a hostPath of its own for this image? the first long answers after a new image are slow once",
        |_, facts| in_logs(facts, &["JIT compil", "jit_monitor", "JIT monitor"])
    ),
    failure!(
        "no-worker",
        Error,
        None,
        "the head gave up: no worker came to the rendezvous",
        "look at the worker: kubectl describe pod",
        |_, facts| {
            let gave_up = in_logs(
                facts,
                &[
                    "DistStoreError",
                    "Timed out after",
                    "Engine core initialization failed",
                ],
            );
            match facts.pod(Role::Worker) {
                Some(worker) if worker.phase == "Running" => vec![],
                _ => gave_up,
            }
        }
    ),
    failure!(
        "image-pull",
        Error,
        None,
        "the image cannot be pulled",
        "is the name right, and does the node reach the registry? codex-ds deploy check shows the reference",
        |_, facts| facts
            .pods
            .iter()
            .filter(
                |pod| ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"]
                    .contains(&pod.waiting.as_str())
            )
            .map(|pod| format!("{}: {} {}", pod.name, pod.waiting, pod.image))
            .collect()
    ),
    failure!(
        "crash-loop",
        Error,
        None,
        "a pod ends again and again",
        "kubectl logs --previous says why; codex-ds deploy check may too",
        |_, facts| facts
            .pods
            .iter()
            .filter(|pod| pod.waiting == "CrashLoopBackOff")
            .map(|pod| format!(
                "{}: {} restarts, last exit {}",
                pod.name,
                pod.restarts,
                pod.last_end.as_ref().map_or(0, |end| end.0)
            ))
            .collect()
    ),
    failure!(
        "not-placed",
        Error,
        None,
        "a pod finds no node",
        "is the node's name right, is it ready, and is its GPU free?",
        |_, facts| facts
            .pods
            .iter()
            .filter(|pod| pod.phase == "Pending" && !pod.unscheduled.is_empty())
            .map(|pod| format!("{}: {}", pod.name, pod.unscheduled))
            .collect()
    ),
    failure!(
        "node-missing",
        Error,
        None,
        "a node of the site is not there, not ready, or has no GPU to give",
        "kubectl describe node; does the GPU operator run there?",
        |site, facts| {
            if facts.nodes.is_empty() {
                return vec![];
            }
            site.nodes()
                .iter()
                .filter_map(|node| {
                    match facts
                        .nodes
                        .iter()
                        .find(|known| known.name == node.host.as_str())
                    {
                        None => Some(format!("{} is not in the cluster", node.host)),
                        Some(known) if !known.ready => Some(format!("{} is not ready", node.host)),
                        Some(known) if known.gpus == 0 => {
                            Some(format!("{} has no nvidia.com/gpu", node.host))
                        }
                        Some(_) => None,
                    }
                })
                .collect()
        }
    ),
    failure!(
        "nodes-differ",
        Warning,
        None,
        "the nodes do not run the same: pairs with different drivers were 2.4 times slower",
        "bring both to one DGX OS release",
        |_, facts| {
            let [head, worker] = facts.nodes.as_slice() else {
                return vec![];
            };
            let mut evidence = vec![];
            if head.kernel != worker.kernel {
                evidence.push(format!("kernel {} and {}", head.kernel, worker.kernel));
            }
            if head.driver != worker.driver && !head.driver.is_empty() && !worker.driver.is_empty()
            {
                evidence.push(format!("driver {} and {}", head.driver, worker.driver));
            }
            if let (Some(head), Some(worker)) = (facts.pod(Role::Head), facts.pod(Role::Worker))
                && head.image != worker.image
            {
                evidence.push(format!("image {} and {}", head.image, worker.image));
            }
            evidence
        }
    ),
    failure!(
        "known-bad-version",
        Warning,
        None,
        "a kernel or driver that others had trouble with: NCCL over RoCE fails, or decode is 3.5 times slower",
        "update DGX OS; 6.17.0-1026-nvidia with driver 580.173.02 is what published stacks run",
        |_, facts| facts
            .nodes
            .iter()
            .flat_map(|node| {
                let kernel = (node.kernel == BAD_KERNEL)
                    .then(|| format!("{}: kernel {}", node.name, node.kernel));
                let driver = (node.driver == BAD_DRIVER)
                    .then(|| format!("{}: driver {}", node.name, node.driver));
                kernel.into_iter().chain(driver)
            })
            .collect()
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

/// The first line that each of the words is in, cut to a screen's width.
fn matching(log: &str, words: &[&str]) -> Vec<String> {
    words
        .iter()
        .filter_map(|word| log.lines().find(|line| line.contains(word)))
        .map(|line| line.trim().chars().take(160).collect())
        .fold(Vec::new(), |mut lines, line| {
            if !lines.contains(&line) {
                lines.push(line);
            }
            lines
        })
}

fn in_logs(facts: &Facts, words: &[&str]) -> Vec<String> {
    [
        ("head", &facts.head_log),
        ("head, before its restart", &facts.head_previous_log),
        ("worker", &facts.worker_log),
    ]
    .into_iter()
    .flat_map(|(who, log)| {
        matching(log, words)
            .into_iter()
            .map(move |line| format!("{who}: {line}"))
    })
    .collect()
}
