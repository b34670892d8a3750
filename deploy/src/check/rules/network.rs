//! Rules about how the ranks talk.

use super::pods::multi_node;
use super::rule;
use crate::check::ManifestRule;

/// The variables that name the interface of the rendezvous, for NCCL, Gloo and TensorPipe.
const INTERFACES: [&str; 3] = [
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
];

pub(super) const RULES: &[ManifestRule] = &[
    rule!(
        "no-host-network",
        Error,
        "the pod does not see the cable's interface, and collective traffic goes over the cluster's network or nowhere",
        "set hostNetwork: true",
        |bundle, hits| multi_node(bundle, hits, |pod, _, hits| {
            if !pod.spec.is_true("hostNetwork") {
                hits.pod(pod, pod.spec.line, "no hostNetwork");
            }
        })
    ),
    rule!(
        "dns-policy",
        Warning,
        "under the node's network names of the cluster are not resolved",
        "set dnsPolicy: ClusterFirstWithHostNet",
        |bundle, hits| multi_node(bundle, hits, |pod, _, hits| {
            let policy = pod.spec.text_of("dnsPolicy");
            if pod.spec.is_true("hostNetwork") && policy != "ClusterFirstWithHostNet" {
                hits.pod(
                    pod,
                    pod.spec.line,
                    if policy.is_empty() {
                        "no dnsPolicy".to_owned()
                    } else {
                        policy
                    },
                );
            }
        })
    ),
    rule!(
        "rdma-off",
        Error,
        "all-reduce goes over TCP sockets: about 20 tokens/s instead of 50",
        "set NCCL_IB_DISABLE=0 and NCCL_IB_HCA to the cable's RoCE device",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if engine.variable("NCCL_IB_DISABLE") == Some("1") {
                hits.pod(pod, engine.line, "NCCL_IB_DISABLE=1");
            } else if engine.variable("NCCL_NET") == Some("Socket") {
                hits.pod(pod, engine.line, "NCCL_NET=Socket");
            }
        })
    ),
    rule!(
        "no-hca",
        Warning,
        "NCCL may choose another RoCE device than the cable's",
        "set NCCL_IB_HCA, like rocep1s0f1:1",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if engine.variable("NCCL_IB_HCA").is_none_or(str::is_empty) {
                hits.pod(pod, engine.line, "no NCCL_IB_HCA");
            }
        })
    ),
    rule!(
        "interfaces-differ",
        Error,
        "NCCL, Gloo and TensorPipe each choose an interface of their own; on different ones the ranks never meet",
        "set NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME to the interface of the rendezvous",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            let set: Vec<Option<&str>> = INTERFACES
                .iter()
                .map(|name| engine.variable(name))
                .collect();
            if set.iter().any(Option::is_none) || set.windows(2).any(|pair| pair[0] != pair[1]) {
                let found: Vec<String> = INTERFACES
                    .iter()
                    .zip(&set)
                    .map(|(name, value)| format!("{name}={}", value.unwrap_or("(not set)")))
                    .collect();
                hits.pod(pod, engine.line, found.join(" "));
            }
        })
    ),
    rule!(
        "gid-pinned",
        Warning,
        "a GID index is each node's own and drifts after a reboot; a wrong one is an \"unhandled system error\" of NCCL",
        "leave out NCCL_IB_GID_INDEX and set NCCL_IB_ROCE_VERSION_NUM=2",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if let Some(index) = engine
                .variable("NCCL_IB_GID_INDEX")
                .filter(|index| *index != "-1")
            {
                hits.pod(pod, engine.line, format!("NCCL_IB_GID_INDEX={index}"));
            }
        })
    ),
    rule!(
        "devices-apart",
        Warning,
        "two RoCE devices that are not merged are two slower paths, and NCCL may use one",
        "set NCCL_IB_MERGE_NICS=1, or name one device",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            let devices = engine.variable("NCCL_IB_HCA").unwrap_or_default();
            if devices.contains(',') && engine.variable("NCCL_IB_MERGE_NICS") != Some("1") {
                hits.pod(pod, engine.line, devices.to_owned());
            }
        })
    ),
    rule!(
        "ports-clash",
        Error,
        "the API and the rendezvous want the same port of the head",
        "give --master-port another port than --port",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if let (Some(api), Some(master)) = (engine.flag("port"), engine.flag("master-port"))
                && api == master
            {
                hits.pod(pod, engine.line, api.to_owned());
            }
        })
    ),
    rule!(
        "port-not-declared",
        Note,
        "under the node's network the scheduler sees a clash of ports only where they are declared",
        "declare the API's port and the rendezvous' under ports",
        |bundle, hits| super::pods::heads(bundle, hits, |pod, engine, hits| {
            if engine.is_multi_node() && engine.container.list("ports").is_empty() {
                hits.pod(pod, engine.container.line, "no ports");
            }
        })
    ),
];
