//! Rules about the objects around the pods.

use super::rule;
use crate::check::bundle::{Bundle, Engine, Pod};
use crate::check::node::Node;
use crate::check::{Hits, ManifestRule, schema};
use crate::site::NODE_PORTS;

pub(super) const RULES: &[ManifestRule] = &[
    rule!(
        "field",
        Error,
        "the server refuses this field, or drops it silently when it is not asked to be strict",
        "correct the field's name or value; --kubernetes chooses another version",
        |bundle, hits| {
            for object in &bundle.objects {
                for fault in schema::faults(&object.node, bundle.kubernetes) {
                    hits.field(object, fault);
                }
            }
        }
    ),
    rule!(
        "kind-unknown",
        Note,
        "the fields of this kind of object are not known here, and were not looked at",
        "ask the server: kubectl apply --server-side --dry-run=server --filename FILE",
        |bundle, hits| {
            for object in &bundle.objects {
                if !object.kind.is_empty() && !schema::knows(&object.node) {
                    hits.object(object, object.node.line, object.kind.clone());
                }
            }
        }
    ),
    rule!(
        "selects-nothing",
        Error,
        "the Service selects labels that no pod here has, so it has no endpoint",
        "select the labels of the head's template; for LeaderWorkerSet leaderworkerset.sigs.k8s.io/worker-index: \"0\"",
        selects_nothing
    ),
    rule!(
        "selects-worker",
        Error,
        "the Service also selects the worker, which has no API: every other request is refused",
        "select the head alone",
        |bundle, hits| {
            for (object, selector) in services(bundle) {
                let worker = bundle.pods.iter().find(|pod| {
                    matches(pod, &selector) && pod.engine.as_ref().is_some_and(Engine::is_worker)
                });
                if let Some(pod) = worker {
                    hits.object(object, object.line(&["spec", "selector"]), pod.title());
                }
            }
        }
    ),
    rule!(
        "node-port",
        Error,
        "the port is outside of the range that clusters hand out",
        "choose a nodePort from 30000 to 32767",
        |bundle, hits| {
            for (object, _) in services(bundle) {
                for port in object
                    .node
                    .at(&["spec", "ports"])
                    .map_or(&[][..], Node::items)
                {
                    let bad = port.int_of("nodePort").filter(|port| {
                        !u16::try_from(*port).is_ok_and(|port| NODE_PORTS.contains(&port))
                    });
                    if let Some(bad) = bad {
                        hits.object(object, port.line, bad.to_string());
                    }
                }
            }
        }
    ),
    rule!(
        "selector-differs",
        Error,
        "the selector does not match the template's own labels, and the server refuses the object",
        "give the template the labels of spec.selector.matchLabels",
        |bundle, hits| {
            for pod in bundle.pods.iter().filter(|pod| pod.part.is_empty()) {
                let Some(wanted) = pod.object.node.at(&["spec", "selector", "matchLabels"]) else {
                    continue;
                };
                if !matches(pod, &wanted.pairs()) {
                    hits.pod(pod, wanted.line, "labels that the template has not");
                }
            }
        }
    ),
    rule!(
        "lws-startup",
        Error,
        "the group never comes up: the leader is ready only with its worker, which is made only when the leader is ready",
        "set startupPolicy: LeaderCreated",
        |bundle, hits| for_groups(bundle, hits, |spec| {
            (spec.text_of("startupPolicy") == "LeaderReady").then(|| "LeaderReady".to_owned())
        })
    ),
    rule!(
        "lws-restart",
        Warning,
        "a slow image pull or a worker that starts late counts as a restart, and the group is made anew without end",
        "set restartPolicy: RecreateGroupAfterStart (LeaderWorkerSet 0.9)",
        |bundle, hits| for_groups(bundle, hits, |spec| {
            let policy = spec
                .at(&["leaderWorkerTemplate", "restartPolicy"])
                .map(Node::text);
            match policy.as_deref() {
                Some("RecreateGroupAfterStart") => None,
                Some("None") => Some("None: the other rank is left in a dead group".to_owned()),
                Some(other) => Some(other.to_owned()),
                None => Some("the default, RecreateGroupOnPodRestart".to_owned()),
            }
        })
    ),
    rule!(
        "lws-size",
        Error,
        "the group has another number of pods than the engine has nodes",
        "set leaderWorkerTemplate.size to --nnodes",
        |bundle, hits| {
            for pod in bundle.pods.iter().filter(|pod| pod.part == "leader") {
                let size = pod
                    .object
                    .node
                    .at(&["spec", "leaderWorkerTemplate"])
                    .and_then(|template| template.int_of("size"))
                    .unwrap_or(1);
                let nodes = pod
                    .engine
                    .as_ref()
                    .and_then(|engine| engine.number::<i64>("nnodes"));
                if nodes.is_some_and(|nodes| nodes != size) {
                    hits.pod(
                        pod,
                        pod.object.line(&["spec", "leaderWorkerTemplate", "size"]),
                        format!("size {size}, --nnodes {}", nodes.unwrap_or_default()),
                    );
                }
            }
        }
    ),
    rule!(
        "router-beside-model",
        Error,
        "the router may run on a node of the model; one that did pushed the head into swapping, and decode from 36 tokens/s to 4",
        "keep it off both nodes with nodeAffinity NotIn, or bind it to another node",
        |bundle, hits| {
            let hosts: Vec<String> = bundle
                .engines()
                .filter_map(|(pod, _)| pod.hostname())
                .collect();
            for pod in routers(bundle).filter(|_| !hosts.is_empty()) {
                let apart = match pod.hostname() {
                    Some(host) => !hosts.contains(&host),
                    None => {
                        pod.spec.get("affinity").is_some() || pod.spec.get("nodeSelector").is_some()
                    }
                };
                if !apart {
                    hits.pod(
                        pod,
                        pod.spec.line,
                        pod.hostname().unwrap_or_else(|| "any node".to_owned()),
                    );
                }
            }
        }
    ),
    rule!(
        "router-without-key",
        Error,
        "LiteLLM does not start without a master key",
        "set LITELLM_MASTER_KEY from a Secret",
        |bundle, hits| {
            for pod in routers(bundle) {
                let has = pod.spec.list("containers").iter().any(|container| {
                    container.get("envFrom").is_some()
                        || container.list("env").iter().any(|entry| {
                            let name = entry.text_of("name");
                            name == crate::site::KEY_ENV
                                || name == "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"
                        })
                });
                if !has {
                    hits.pod(pod, pod.spec.line, "no LITELLM_MASTER_KEY");
                }
            }
        }
    ),
    rule!(
        "pod-security",
        Warning,
        "a cluster that enforces pod security refuses the privileged pods",
        "label the Namespace pod-security.kubernetes.io/enforce: privileged",
        |bundle, hits| {
            let privileged = bundle.engines().any(|(_, engine)| engine.is_multi_node());
            for object in bundle
                .objects
                .iter()
                .filter(|object| privileged && object.kind == "Namespace")
            {
                let level = object
                    .node
                    .at(&["metadata", "labels", "pod-security.kubernetes.io/enforce"])
                    .map(Node::text);
                if level.as_deref() != Some("privileged") {
                    hits.object(
                        object,
                        object.node.line,
                        level.unwrap_or_else(|| "no label".to_owned()),
                    );
                }
            }
        }
    ),
];

type Selector = Vec<(String, String)>;

fn services(bundle: &Bundle) -> impl Iterator<Item = (&crate::check::bundle::Object, Selector)> {
    bundle
        .objects
        .iter()
        .filter(|object| object.kind == "Service")
        .filter_map(|object| {
            let selector = object.node.at(&["spec", "selector"])?.pairs();
            Some((object, selector))
        })
}

fn matches(pod: &Pod, selector: &[(String, String)]) -> bool {
    selector.iter().all(|pair| pod.labels.contains(pair))
}

fn selects_nothing(bundle: &Bundle, hits: &mut Hits) {
    if bundle.pods.is_empty() {
        return;
    }
    for (object, selector) in services(bundle) {
        if !bundle.pods.iter().any(|pod| matches(pod, &selector)) {
            let found: Vec<String> = selector
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            hits.object(object, object.line(&["spec", "selector"]), found.join(", "));
        }
    }
}

fn for_groups(bundle: &Bundle, hits: &mut Hits, check: impl Fn(&Node) -> Option<String>) {
    for object in &bundle.objects {
        if object.kind != "LeaderWorkerSet" {
            continue;
        }
        if let Some((spec, found)) = object
            .node
            .get("spec")
            .and_then(|spec| check(spec).map(|found| (spec, found)))
        {
            hits.object(object, spec.line, found);
        }
    }
}

fn routers(bundle: &Bundle) -> impl Iterator<Item = &Pod> {
    bundle.pods.iter().filter(|pod| {
        pod.spec
            .list("containers")
            .iter()
            .any(|container| container.text_of("image").contains("litellm"))
    })
}
