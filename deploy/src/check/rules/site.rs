//! Rules about a site: what is possible, and unwise.

use crate::check::{Rule, Severity, SiteRule};
use crate::fit::{Inputs, Verdict, refusal};
use crate::names::Cidr;
use crate::site::{ExposeKind, Site};

/// By how much the memory of the two nodes may differ, GiB.
const MOST_DIFFERENCE: f64 = 1.0;

/// Ports that Kubernetes' own programs and their usual companions have on a node.
const TAKEN_PORTS: &[(u16, &str)] = &[
    (2379, "etcd"),
    (2380, "etcd"),
    (4240, "Cilium's health checks"),
    (6443, "the API server"),
    (8472, "VXLAN"),
    (9100, "the node exporter"),
    (9345, "RKE2's supervisor"),
    (10250, "the kubelet"),
];

macro_rules! site_rule {
    ($code:literal, $severity:ident, $says:literal, $fix:literal, $check:expr) => {
        SiteRule {
            rule: Rule {
                code: $code,
                severity: Severity::$severity,
                says: $says,
                fix: $fix,
            },
            check: $check,
        }
    };
}

/// The rules about a site.
pub static SITE_RULES: &[SiteRule] = &[
    site_rule!(
        "does-not-fit",
        Error,
        "the KV memory does not hold one request of the full length, and the engine refuses to start",
        "change one of the keys that the finding names; `codex-ds deploy fit` shows the sums",
        |site, hits| {
            if let Some(lines) = refusal(site, &Inputs::new(site, None)) {
                hits.push(("serve.max_model_len", lines[1..].join("; ")));
            }
        }
    ),
    site_rule!(
        "may-not-fit",
        Warning,
        "whether one request of the full length fits depends on the engine's overhead, which only a start tells",
        "start it and run `codex-ds deploy fit --log FILE`, or lower max_model_len",
        |site, hits| {
            let fit = Inputs::new(site, None).fit();
            if fit.verdict == Verdict::Tight {
                hits.push((
                    "serve.max_model_len",
                    format!(
                        "{:.2} to {:.2} requests",
                        fit.concurrency.start(),
                        fit.concurrency.end()
                    ),
                ));
            }
        }
    ),
    site_rule!(
        "utilization",
        Warning,
        "the system shares this memory; above 0.86 published stacks began to swap, and decode fell to a tenth",
        "set serve.gpu_memory_utilization to 0.86 or less",
        |site, hits| {
            if site.serve.gpu_memory_utilization > crate::fit::HIGHEST_UTILIZATION {
                hits.push((
                    "serve.gpu_memory_utilization",
                    site.serve.gpu_memory_utilization.to_string(),
                ));
            }
        }
    ),
    site_rule!(
        "memory-differs",
        Warning,
        "the nodes' memory differs, and the smaller one limits both",
        "look for a desktop session, a driver or a service that one node has and the other has not",
        |site, hits| {
            let (head, worker) = (site.head.mem_gib, site.worker.mem_gib);
            if (head - worker).abs() > MOST_DIFFERENCE {
                hits.push(("nodes.worker.mem_gib", format!("{head} and {worker} GiB")));
            }
        }
    ),
    site_rule!(
        "fabric-apart",
        Error,
        "the two ends of the cable are not in one network",
        "give both an address of one /24",
        |site, hits| {
            if !Cidr::around(site.head.fabric_ip, 24).contains(site.worker.fabric_ip) {
                hits.push((
                    "nodes.worker.fabric_ip",
                    format!("{} and {}", site.head.fabric_ip, site.worker.fabric_ip),
                ));
            }
        }
    ),
    site_rule!(
        "device-elsewhere",
        Warning,
        "no RoCE device is the one of the cable's interface, so all-reduce may take another path",
        "name the device of the interface: rocep1s0f1 is enp1s0f1np1, roceP2p1s0f1 is enP2p1s0f1np1",
        |site, hits| {
            for (key, node) in [
                ("nodes.head.hca", &site.head),
                ("nodes.worker.hca", &site.worker),
            ] {
                let interface = place_of(node.fabric_if.as_str(), "en");
                let devices: Vec<&str> = node.hca.iter().map(crate::names::Hca::as_str).collect();
                let known = devices.iter().all(|device| device.starts_with("roce"))
                    && node.fabric_if.as_str().starts_with("en");
                if known
                    && !devices
                        .iter()
                        .any(|device| place_of(device, "roce") == interface)
                {
                    hits.push((
                        key,
                        format!("{} beside {}", devices.join(", "), node.fabric_if),
                    ));
                }
            }
        }
    ),
    site_rule!(
        "devices-apart",
        Warning,
        "two RoCE devices that are not merged are two slower paths, and NCCL may use one",
        "set nccl.merge_nics = true, or name one device",
        |site, hits| {
            if site.head.hca.len() > 1 && !site.nccl.merge_nics {
                hits.push(("nccl.merge_nics", "false".to_owned()));
            }
        }
    ),
    site_rule!(
        "gid-pinned",
        Warning,
        "a GID index is each node's own and drifts after a reboot; a wrong one is an \"unhandled system error\" of NCCL",
        "set gid_index = \"auto\"",
        |site, hits| {
            for (key, node) in [
                ("nodes.head.gid_index", &site.head),
                ("nodes.worker.gid_index", &site.worker),
            ] {
                if let Some(index) = node.gid_index {
                    hits.push((key, index.to_string()));
                }
            }
        }
    ),
    site_rule!(
        "small-mtu",
        Warning,
        "RoCE derives its packets from the interface: below 9000 it does not reach its 4096 bytes, and prefill and batches lose 7 to 9 %",
        "set the MTU of the cable's interface to 9000 on both nodes, and nccl.mtu to it",
        |site, hits| {
            if site.nccl.mtu < 9000 {
                hits.push(("nccl.mtu", site.nccl.mtu.to_string()));
            }
        }
    ),
    site_rule!(
        "port-taken",
        Error,
        "another program has this port on every node",
        "choose another port",
        |site, hits| {
            for (key, port) in [
                ("serve.api_port", site.serve.api_port),
                ("serve.master_port", site.serve.master_port),
            ] {
                if let Some((_, who)) = TAKEN_PORTS.iter().find(|(taken, _)| *taken == port) {
                    hits.push((key, format!("{port}, of {who}")));
                } else if crate::site::NODE_PORTS.contains(&port) {
                    hits.push((key, format!("{port}, in the range of NodePorts")));
                }
            }
        }
    ),
    site_rule!(
        "graphs-too-small",
        Warning,
        "a full batch with its speculative tokens is larger than the largest CUDA graph, and runs without one",
        "leave out serve.cudagraph_capture, or lower serve.max_num_seqs",
        |site, hits| {
            if site.serve.captured() < site.serve.steps() {
                hits.push((
                    "serve.cudagraph_capture",
                    format!(
                        "{}, a full batch is {}",
                        site.serve.captured(),
                        site.serve.steps()
                    ),
                ));
            }
        }
    ),
    site_rule!(
        "few-speculative-tokens",
        Warning,
        "this drafter proposes 5 tokens; fewer are cut silently by some versions and refused by others",
        "set serve.speculative_tokens to 5 or more, or 0 for none",
        |site, hits| {
            let tokens = site.serve.speculative_tokens;
            if tokens > 0 && tokens < site.recipe.least_speculative_tokens {
                hits.push(("serve.speculative_tokens", tokens.to_string()));
            }
        }
    ),
    site_rule!(
        "pool-not-given",
        Note,
        "without lb_pool nobody can tell whether Cilium has this address to give",
        "set expose.lb_pool to the CIDR of the CiliumLoadBalancerIPPool",
        |site, hits| {
            if site.expose.kind == ExposeKind::CiliumLb && site.expose.lb_pool.is_none() {
                hits.push(("expose.lb_pool", "nothing".to_owned()));
            }
        }
    ),
    site_rule!(
        "other-image",
        Note,
        "the image is not the recipe's, whose options and variables were not tried with it",
        "after the first start look through the log for unknown options and variables",
        |site, hits| {
            if site.image != site.recipe.image {
                hits.push((
                    "image.ref",
                    format!("{}, the recipe's is {}", site.image, site.recipe.image),
                ));
            }
        }
    ),
    site_rule!(
        "startup-too-short",
        Error,
        "the probe gives up before a cold start is over, and the pod is killed again and again",
        "set probes.startup_minutes to at least twice the recipe's cold start",
        |site, hits| {
            if site.startup_minutes < site.recipe.cold_start_minutes * 2 {
                hits.push((
                    "probes.startup_minutes",
                    format!(
                        "{} min, the recipe's cold start takes {}",
                        site.startup_minutes, site.recipe.cold_start_minutes
                    ),
                ));
            }
        }
    ),
    site_rule!(
        "placeholder",
        Error,
        "a placeholder of the template was left in",
        "put the real value in its place",
        |site: &Site, hits| {
            if site.model.path.as_str().contains("CHANGE-ME") {
                hits.push(("model.path", site.model.path.to_string()));
            }
        }
    ),
];

/// The place on the bus in a device's or interface's name: what is between its kind and the port's
/// own suffix.
fn place_of<'n>(name: &'n str, kind: &str) -> &'n str {
    let name = name.split(':').next().unwrap_or(name);
    let name = name.strip_prefix(kind).unwrap_or(name);
    name.split_once("np").map_or(name, |(place, _)| place)
}
