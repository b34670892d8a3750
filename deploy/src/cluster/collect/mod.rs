//! Asks the cluster for the facts.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{Canary, Event, Facts, NodeFacts, PodFacts, Role};
use crate::engine::Rank;
use crate::kubectl::{Kubectl, KubectlError, get, items};
use crate::names::KubernetesVersion;
use crate::nodes::{self, Depth, Report};
use crate::site::{Shape, Site};

mod engine;
mod pod;

#[cfg(test)]
pub(super) use engine::read_metrics;

/// How many lines of a log are read. A boot has some hundred; an endless complaint repeats itself.
const LINES: &str = "--tail=500";

/// How long one token may take. Chosen above the longest prefill that a full batch queues before it.
pub const CANARY: Duration = Duration::from_secs(90);

/// Asks the cluster for everything; with `canary` also the engine for one token, so long.
///
/// # Errors
/// When pods cannot be listed. What else cannot be had is missing from the facts.
pub fn facts(
    kubectl: &dyn Kubectl,
    site: &Site,
    canary: Option<Duration>,
) -> Result<Facts, KubectlError> {
    let pods = pods(kubectl, site)?;
    Ok(about(kubectl, site, pods, canary))
}

/// The same where the pods are known already.
pub(super) fn about(
    kubectl: &dyn Kubectl,
    site: &Site,
    pods: Vec<PodFacts>,
    canary: Option<Duration>,
) -> Facts {
    let mut facts = Facts {
        pods,
        canary_seconds: canary.unwrap_or_default().as_secs(),
        ..Facts::default()
    };
    let (head, worker) = (
        facts.pod(Role::Head).cloned(),
        facts.pod(Role::Worker).cloned(),
    );
    let log = |pod: &Option<PodFacts>, previous: bool| {
        let pod = pod.as_ref()?;
        let namespace = site.namespace.as_str();
        let mut args = vec!["logs", "--namespace", namespace, LINES, &pod.name];
        if previous {
            args.push("--previous");
        }
        kubectl.run(&args, None).ok()
    };
    thread::scope(|scope| {
        let nodes = scope.spawn(|| nodes(kubectl, site));
        let wanted = scope.spawn(|| head_wanted(kubectl, site));
        let events = scope.spawn(|| events(kubectl, site));
        let head_log = scope.spawn(|| log(&head, false));
        let previous = scope.spawn(|| {
            log(&head, true).filter(|_| head.as_ref().is_some_and(|head| head.restarts > 0))
        });
        let worker_log = scope.spawn(|| log(&worker, false));
        let head_report = scope.spawn(|| report(kubectl, site, Rank::Head, head.as_ref()));
        let worker_report = scope.spawn(|| report(kubectl, site, Rank::Worker, worker.as_ref()));
        let ready = head.as_ref().is_some_and(|head| head.ready);
        let engine = scope.spawn(move || {
            if ready {
                engine::ask(kubectl, site, canary)
            } else {
                (None, Canary::Untried)
            }
        });
        facts.nodes = nodes.join().unwrap_or_default();
        facts.head_wanted = wanted.join().unwrap_or_default();
        facts.events = events.join().unwrap_or_default();
        facts.head_log = head_log.join().ok().flatten().unwrap_or_default();
        facts.head_previous_log = previous.join().ok().flatten().unwrap_or_default();
        facts.worker_log = worker_log.join().ok().flatten().unwrap_or_default();
        facts.reports = [
            head_report.join().ok().flatten(),
            worker_report.join().ok().flatten(),
        ];
        (facts.metrics, facts.canary) = engine.join().unwrap_or_default();
    });
    let downloads = |pod: &&mut PodFacts| pod.role == Role::Staging && pod.phase == "Running";
    for pod in facts.pods.iter_mut().filter(downloads) {
        let namespace = site.namespace.as_str();
        let args = ["logs", "--namespace", namespace, "--tail=1", &pod.name];
        pod.progress = kubectl.run(&args, None).unwrap_or_default();
        pod.progress.truncate(pod.progress.trim_end().len());
    }
    facts
}

/// The stack's pods.
///
/// # Errors
/// When they cannot be listed.
pub fn pods(kubectl: &dyn Kubectl, site: &Site) -> Result<Vec<PodFacts>, KubectlError> {
    labelled(kubectl, site, site.name.as_str())
}

/// The pods whose label `app` is this.
pub(crate) fn labelled(
    kubectl: &dyn Kubectl,
    site: &Site,
    app: &str,
) -> Result<Vec<PodFacts>, KubectlError> {
    let selector = format!("--selector=app={app}");
    let namespace = site.namespace.as_str();
    let args = ["get", "pods", "--namespace", namespace, &selector];
    let list = get(kubectl, &[&args[..], &["--output=json"]].concat())?;
    Ok(items(&list).map(pod::read).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn nodes(kubectl: &dyn Kubectl, site: &Site) -> Vec<NodeFacts> {
    let head = site.head.host.as_str();
    let Ok(list) = nodes::listed(kubectl, site) else {
        return Vec::new();
    };
    let mut nodes: Vec<NodeFacts> = items(&list)
        .map(|node| {
            let is = |kind: &str| {
                node["status"]["conditions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|c| c["type"] == kind && c["status"] == "True")
            };
            NodeFacts {
                name: text(&node["metadata"]["name"]),
                ready: is("Ready"),
                memory_pressure: is("MemoryPressure"),
                kernel: text(&node["status"]["nodeInfo"]["kernelVersion"]),
                driver: text(&node["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"]),
                gpus: gpus(node),
            }
        })
        .collect();
    nodes.sort_by_key(|node| node.name != head);
    nodes
}

/// The cluster's version; `None` where it does not say, or its fields are not known.
#[must_use]
pub fn kubernetes(kubectl: &dyn Kubectl) -> Option<KubernetesVersion> {
    let version = get(kubectl, &["version", "--output=json"]).ok()?;
    KubernetesVersion::parse(version["serverVersion"]["gitVersion"].as_str()?)
}

/// A node that can give a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuNode {
    /// Its name.
    pub name: String,
    /// Its address in the cluster.
    pub address: String,
    /// Its memory, GiB.
    pub memory_gib: Option<f64>,
}

/// The nodes of the cluster that have a GPU to give, by name.
///
/// # Errors
/// When nodes cannot be listed.
pub fn gpu_nodes(kubectl: &dyn Kubectl) -> Result<Vec<GpuNode>, KubectlError> {
    let list = get(kubectl, &["get", "nodes", "--output=json"])?;
    let mut nodes: Vec<GpuNode> = items(&list)
        .filter(|node| gpus(node) > 0)
        .map(|node| GpuNode {
            name: text(&node["metadata"]["name"]),
            address: node["status"]["addresses"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|address| address["type"] == "InternalIP")
                .map(|address| text(&address["address"]))
                .unwrap_or_default(),
            memory_gib: node["status"]["capacity"]["memory"]
                .as_str()
                .and_then(|memory| memory.strip_suffix("Ki"))
                .and_then(|kib| kib.parse::<f64>().ok())
                .map(|kib| kib / KIB_PER_GIB),
        })
        .collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(nodes)
}

const KIB_PER_GIB: f64 = 1_048_576.0;

fn gpus(node: &Value) -> u64 {
    node["status"]["allocatable"]["nvidia.com/gpu"]
        .as_str()
        .and_then(|count| count.parse().ok())
        .unwrap_or_default()
}

fn head_wanted(kubectl: &dyn Kubectl, site: &Site) -> Option<u64> {
    let head = format!("{}-head", site.name);
    let (kind, name) = match site.shape {
        Shape::Deployments => ("deployments.apps", head.as_str()),
        Shape::Lws => (
            "leaderworkersets.leaderworkerset.x-k8s.io",
            site.name.as_str(),
        ),
    };
    let object = get(
        kubectl,
        &[
            "get",
            kind,
            name,
            "--namespace",
            site.namespace.as_str(),
            "--output=json",
        ],
    )
    .ok()?;
    object["spec"]["replicas"].as_u64()
}

/// What the cluster noted about the stack's objects, the newest last. Refused pods come in hundreds
/// and are counted as pods.
fn events(kubectl: &dyn Kubectl, site: &Site) -> Vec<Event> {
    let args = [
        "get",
        "events",
        "--namespace",
        site.namespace.as_str(),
        "--field-selector=reason!=UnexpectedAdmissionError",
        "--output=json",
    ];
    let Ok(list) = get(kubectl, &args) else {
        return Vec::new();
    };
    let mut events: Vec<Event> = items(&list)
        .filter(|event| {
            event["involvedObject"]["name"]
                .as_str()
                .is_some_and(|name| name.starts_with(site.name.as_str()))
        })
        .map(|event| Event {
            object: text(&event["involvedObject"]["name"]),
            warning: event["type"] == "Warning",
            reason: text(&event["reason"]),
            message: text(&event["message"]),
            last: [
                &event["lastTimestamp"],
                &event["series"]["lastObservedTime"],
                &event["eventTime"],
                &event["metadata"]["creationTimestamp"],
            ]
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        })
        .collect();
    events.sort_by(|a, b| a.last.cmp(&b.last));
    events
}

/// What a rank's pod sees of its node.
fn report(
    kubectl: &dyn Kubectl,
    site: &Site,
    rank: Rank,
    pod: Option<&PodFacts>,
) -> Option<Report> {
    let pod = pod.filter(|pod| pod.phase == "Running")?;
    let script = nodes::script(site, rank, "", Depth::Quick);
    let namespace = site.namespace.as_str();
    let args = [
        "exec",
        "--namespace",
        namespace,
        &pod.name,
        "--",
        "sh",
        "-c",
    ];
    let text = kubectl
        .run(&[&args[..], &[script.as_str()]].concat(), None)
        .ok()?;
    Report::read(&text)
}
