//! What the nodes show.

use super::{Failure, failure};
use crate::cluster::{Facts, Memory, Role};
use crate::nodes::{Topic, bad_driver, bad_kernel, judge};
use crate::site::Site;

/// The share of time in which everything waited for memory that is too much, percent.
const MOST_PRESSURE: f64 = 5.0;
/// The least memory that a node should have left, GiB.
const LEAST_AVAILABLE: f64 = 4.0;
/// The most swap that idle programs of a system may have left, GiB.
const MOST_SWAP: f64 = 1.0;

pub(super) const FAILURES: &[Failure] = &[
    failure!(
        "memory-pressure",
        Error,
        None,
        "a node waits for memory: it swaps, and decode falls to a tenth",
        "move everything else off the node, switch the desktop off (systemctl stop display-manager), or lower serve.gpu_memory_utilization by 0.02",
        |site, facts| {
            let mut evidence = vec![];
            for (host, memory) in memories(site, facts) {
                if memory.full_avg10 > MOST_PRESSURE {
                    evidence.push(format!(
                        "{host}: everything waited for memory {} % of the last 10 s",
                        memory.full_avg10
                    ));
                }
                if memory.available_gib < LEAST_AVAILABLE {
                    evidence.push(format!("{host}: {:.1} GiB left", memory.available_gib));
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
        |site, facts| {
            let mut evidence = vec![];
            if let [head, worker] = facts.nodes.as_slice() {
                for (what, one, other) in [
                    ("kernel", &head.kernel, &worker.kernel),
                    ("driver", &head.driver, &worker.driver),
                ] {
                    if one != other && !one.is_empty() && !other.is_empty() {
                        evidence.push(format!("{what} {one} and {other}"));
                    }
                }
            }
            if let [Some(head), Some(worker)] = &facts.reports {
                for (key, what) in [("driver", "driver"), ("kernel", "kernel")] {
                    if let (Some(one), Some(other)) = (head.get(key), worker.get(key))
                        && one != other
                        && !evidence.iter().any(|told| told.starts_with(what))
                    {
                        evidence.push(format!("{what} {one} and {other}"));
                    }
                }
            }
            for finding in seen(site, facts, Topic::Version) {
                if finding.contains("firmware") {
                    evidence.push(finding);
                }
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
        "a kernel or driver that others had trouble with",
        "update DGX OS; 6.17.0-1026-nvidia with driver 580.173.02 is what published stacks run",
        |_, facts| facts
            .nodes
            .iter()
            .flat_map(|node| {
                let kernel = bad_kernel(&node.kernel)
                    .map(|why| format!("{}: kernel {}: {why}", node.name, node.kernel));
                let driver = bad_driver(&node.driver)
                    .map(|why| format!("{}: driver {}: {why}", node.name, node.driver));
                kernel.into_iter().chain(driver)
            })
            .collect()
    ),
    failure!(
        "swapped",
        Warning,
        None,
        "a node has moved memory to disk: whatever needs it again waits",
        "find what grew (ps aux --sort=-rss), then sudo swapoff -a, or restart both ranks: codex-ds deploy recover --restart",
        |site, facts| memories(site, facts)
            .filter(|(_, memory)| memory.swap_used_gib > MOST_SWAP)
            .map(|(host, memory)| format!("{host}: {:.1} GiB of swap in use", memory.swap_used_gib))
            .collect()
    ),
    failure!(
        "desktop",
        Warning,
        None,
        "a desktop runs on a node of the model, and takes memory that the model needs",
        "sudo systemctl stop display-manager; sudo systemctl set-default multi-user.target",
        |site, facts| seen(site, facts, Topic::Desktop)
    ),
    failure!(
        "earlyoom",
        Warning,
        None,
        "earlyoom runs on a node of the model, and kills the engine, which is the largest process",
        "sudo systemctl disable --now earlyoom",
        |site, facts| seen(site, facts, Topic::Earlyoom)
    ),
    failure!(
        "cable",
        Warning,
        None,
        "the cable's interface or RoCE device is not as it should be: all-reduce is slow, or fails",
        "codex-ds deploy nodes prints the command for each",
        |site, facts| seen(site, facts, Topic::Cable)
    ),
    failure!(
        "gid",
        Error,
        None,
        "a RoCE device has not the address that NCCL is to use: it fails with an unhandled system error at its next start",
        "codex-ds deploy nodes prints the command; gid_index = \"auto\" lets NCCL look for it",
        |site, facts| seen(site, facts, Topic::Gid)
    ),
];

fn memories<'f>(site: &'f Site, facts: &'f Facts) -> impl Iterator<Item = (&'f str, Memory)> {
    site.nodes()
        .into_iter()
        .zip(&facts.reports)
        .filter_map(|(node, report)| Some((node.host.as_str(), Memory::of(report.as_ref()?)?)))
}

/// What the nodes' reports show of a topic.
fn seen(site: &Site, facts: &Facts, topic: Topic) -> Vec<String> {
    let [head, worker] = &facts.reports;
    judge(site, [head.as_ref(), worker.as_ref()])
        .into_iter()
        .filter(|finding| finding.topic == topic)
        .map(|f| {
            format!(
                "{}: {}: {}, expected {}",
                f.node, f.what, f.found, f.expected
            )
        })
        .collect()
}
