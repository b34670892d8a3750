//! Asks the cluster for the facts.

use std::thread;

use serde_json::{Value, json};

use super::{Canary, Facts, Memory, Metrics, NodeFacts, PodFacts, Role};
use crate::kubectl::{Kubectl, KubectlError};
use crate::names::KubernetesVersion;
use crate::site::{Shape, Site};

/// How many lines of a log are read. A boot has some hundred; an endless complaint repeats itself.
const LINES: &str = "--tail=500";

/// How long one token may take. Chosen above the longest prefill that a full batch queues before it.
const CANARY_SECONDS: u64 = 90;

/// Asks the cluster for everything; with `canary` also the engine, for one token.
///
/// # Errors
/// When pods cannot be listed. What else cannot be had is missing from the facts.
pub fn facts(kubectl: &dyn Kubectl, site: &Site, canary: bool) -> Result<Facts, KubectlError> {
    let mut facts = Facts {
        pods: pods(kubectl, site)?,
        ..Facts::default()
    };
    let (head, worker) = (
        facts.pod(Role::Head).cloned(),
        facts.pod(Role::Worker).cloned(),
    );
    let log = |pod: &Option<PodFacts>, previous: bool| {
        let pod = pod.as_ref()?;
        let mut args = vec![
            "logs",
            "--namespace",
            site.namespace.as_str(),
            LINES,
            &pod.name,
        ];
        if previous {
            args.push("--previous");
        }
        kubectl.run(&args, None).ok()
    };
    thread::scope(|scope| {
        let nodes = scope.spawn(|| nodes(kubectl, site));
        let wanted = scope.spawn(|| head_wanted(kubectl, site));
        let head_log = scope.spawn(|| log(&head, false));
        let previous = scope.spawn(|| {
            log(&head, true).filter(|_| head.as_ref().is_some_and(|head| head.restarts > 0))
        });
        let worker_log = scope.spawn(|| log(&worker, false));
        let head_memory = scope.spawn(|| memory(kubectl, site, head.as_ref()));
        let worker_memory = scope.spawn(|| memory(kubectl, site, worker.as_ref()));
        let ready = head.as_ref().is_some_and(|head| head.ready);
        let engine = scope.spawn(move || {
            if ready {
                engine(kubectl, site, canary)
            } else {
                (None, Canary::Untried)
            }
        });
        facts.nodes = nodes.join().unwrap_or_default();
        facts.head_wanted = wanted.join().unwrap_or_default();
        facts.head_log = head_log.join().ok().flatten().unwrap_or_default();
        facts.head_previous_log = previous.join().ok().flatten().unwrap_or_default();
        facts.worker_log = worker_log.join().ok().flatten().unwrap_or_default();
        facts.memory = [
            head_memory.join().ok().flatten(),
            worker_memory.join().ok().flatten(),
        ];
        (facts.metrics, facts.canary) = engine.join().unwrap_or_default();
    });
    Ok(facts)
}

/// The stack's pods.
///
/// # Errors
/// When they cannot be listed.
pub fn pods(kubectl: &dyn Kubectl, site: &Site) -> Result<Vec<PodFacts>, KubectlError> {
    let selector = format!("--selector=app={}", site.name);
    let list = get(
        kubectl,
        &[
            "get",
            "pods",
            "--namespace",
            site.namespace.as_str(),
            &selector,
            "--output=json",
        ],
    )?;
    Ok(items(&list).map(pod).collect())
}

fn get(kubectl: &dyn Kubectl, args: &[&str]) -> Result<Value, KubectlError> {
    let text = kubectl.run(args, None)?;
    serde_json::from_str(&text).map_err(|error| KubectlError::Answer {
        command: args.join(" "),
        message: error.to_string(),
    })
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn pod(pod: &Value) -> PodFacts {
    let (metadata, spec, status) = (&pod["metadata"], &pod["spec"], &pod["status"]);
    let containers: Vec<&Value> = status["containerStatuses"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let waiting = containers
        .iter()
        .chain(
            &status["initContainerStatuses"]
                .as_array()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )
        .find_map(|container| container["state"]["waiting"]["reason"].as_str())
        .unwrap_or_default()
        .to_owned();
    let ended = containers.iter().find_map(|container| {
        let end = [
            &container["state"]["terminated"],
            &container["lastState"]["terminated"],
        ]
        .into_iter()
        .find(|end| end.is_object())?;
        Some((
            end["exitCode"].as_i64().unwrap_or_default(),
            text(&end["reason"]),
        ))
    });
    let unscheduled = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")
        .map(|condition| text(&condition["message"]))
        .unwrap_or_default();
    PodFacts {
        name: text(&metadata["name"]),
        uid: text(&metadata["uid"]),
        role: role(&metadata["labels"]),
        node: text(&spec["nodeName"]),
        phase: text(&status["phase"]),
        reason: text(&status["reason"]),
        ready: !containers.is_empty() && containers.iter().all(|c| c["ready"] == true),
        restarts: containers
            .iter()
            .filter_map(|container| container["restartCount"].as_u64())
            .sum(),
        created: text(&metadata["creationTimestamp"]),
        image: text(&spec["containers"][0]["image"]),
        waiting,
        unscheduled,
        last_end: ended,
        deleting: metadata["deletionTimestamp"].is_string(),
    }
}

fn role(labels: &Value) -> Role {
    match labels["role"].as_str().unwrap_or_default() {
        "head" => Role::Head,
        "worker" => Role::Worker,
        "router" => Role::Router,
        "prepull" => Role::Prepull,
        "staging" => Role::Staging,
        _ => Role::Other,
    }
}

fn nodes(kubectl: &dyn Kubectl, site: &Site) -> Vec<NodeFacts> {
    let (head, worker) = (site.head.host.as_str(), site.worker.host.as_str());
    let args = [
        "get",
        "nodes",
        head,
        worker,
        "--ignore-not-found",
        "--output=json",
    ];
    let Ok(list) = get(kubectl, &args) else {
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

fn memory(kubectl: &dyn Kubectl, site: &Site, pod: Option<&PodFacts>) -> Option<Memory> {
    let pod = pod.filter(|pod| pod.phase == "Running")?;
    let text = kubectl
        .run(
            &[
                "exec",
                "--namespace",
                site.namespace.as_str(),
                &pod.name,
                "--",
                "cat",
                "/proc/pressure/memory",
                "/proc/meminfo",
            ],
            None,
        )
        .ok()?;
    read_memory(&text)
}

/// Reads `/proc/pressure/memory` and `/proc/meminfo`, one after the other.
pub(super) fn read_memory(text: &str) -> Option<Memory> {
    let gib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let number = line.trim_start_matches(':').split_whitespace().next()?;
        number.parse::<f64>().ok().map(|kib| kib / KIB_PER_GIB)
    };
    let full = text.lines().find(|line| line.starts_with("full "))?;
    Some(Memory {
        full_avg10: full
            .split("avg10=")
            .nth(1)?
            .split(' ')
            .next()?
            .parse()
            .ok()?,
        available_gib: gib("MemAvailable")?,
        swap_used_gib: gib("SwapTotal")? - gib("SwapFree")?,
        total_gib: gib("MemTotal")?,
    })
}

/// What kubectl and the API server say when an answer does not come in time.
const SILENCE: &[&str] = &[
    "(Timeout)",
    "context deadline exceeded",
    "Client.Timeout exceeded",
    "request canceled",
    "timed out",
];

/// The engine's own counts around one token, through the API server's proxy: what reaches the
/// cluster reaches the engine.
fn engine(kubectl: &dyn Kubectl, site: &Site, canary: bool) -> (Option<Metrics>, Canary) {
    let base = format!(
        "/api/v1/namespaces/{}/services/{}:api/proxy",
        site.namespace,
        site.service()
    );
    let metrics_path = format!("{base}/metrics");
    let read = || {
        kubectl
            .run(
                &["get", "--raw", &metrics_path, "--request-timeout=15s"],
                None,
            )
            .ok()
            .map(|text| read_metrics(&text))
    };
    let before = read();
    if !canary {
        return (before, Canary::Untried);
    }
    let body = json!({
        "model": site.model.served_name.as_str(),
        "prompt": "1",
        "max_tokens": 1,
        "temperature": 0,
    });
    let path = format!("{base}/v1/completions");
    let timeout = format!("--request-timeout={CANARY_SECONDS}s");
    let outcome = kubectl.run(
        &["create", "--raw", &path, "--filename=-", &timeout],
        Some(&body.to_string()),
    );
    let canary = match outcome {
        Ok(answer) if answer.contains("\"choices\"") => Canary::Came,
        Ok(answer) => Canary::Failed(answer.chars().take(200).collect()),
        Err(KubectlError::Slow { .. }) => Canary::Silent,
        Err(KubectlError::Failed { message, .. })
            if SILENCE.iter().any(|words| message.contains(words)) =>
        {
            Canary::Silent
        }
        Err(error) => Canary::Failed(error.to_string()),
    };
    let mut metrics = before;
    if let (Some(metrics), Some(after)) = (&mut metrics, read()) {
        metrics.generated[1] = after.generated[0];
        metrics.worked[1] = after.worked[0];
    }
    (metrics, canary)
}

/// Reads what the engine counts from Prometheus's text format. The name of before 0.10 for the use
/// of the KV pool counts too.
pub(super) fn read_metrics(text: &str) -> Metrics {
    let sum = |names: &[&str]| -> f64 {
        text.lines()
            .filter_map(|line| {
                let (name, value) = line.rsplit_once(' ')?;
                let bare = name.split('{').next()?;
                names.contains(&bare).then(|| value.parse::<f64>().ok())?
            })
            // Not `sum`: of nothing that is -0.
            .fold(0.0, |total, value| total + value)
    };
    let generated = sum(&["vllm:generation_tokens_total"]);
    let worked = sum(&["vllm:iteration_tokens_total_sum"]);
    Metrics {
        running: sum(&["vllm:num_requests_running"]),
        waiting: sum(&["vllm:num_requests_waiting"]),
        kv_usage: sum(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
        generated: [generated, generated],
        worked: [worked, worked],
        blocks: text
            .lines()
            .find(|line| line.starts_with("vllm:cache_config_info{"))
            .and_then(|line| line.split("num_gpu_blocks=\"").nth(1))
            .and_then(|rest| rest.split('"').next())
            .and_then(|blocks| blocks.parse().ok()),
    }
}
