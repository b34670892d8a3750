//! Rules about the pods of an engine: placement, rights, volumes, probes.

use super::rule;
use crate::check::bundle::{Engine, Pod};
use crate::check::node::Node;
use crate::check::{Bundle, Hits, ManifestRule};
use crate::names::is_moving;

/// How long a dead engine may count as ready, seconds. Chosen: a client's patience, not a cold
/// start's.
const MOST_UNREADY: i64 = 300;

/// The shortest cold start that was published, seconds.
const SHORTEST_START: i64 = 360;

pub(super) const RULES: &[ManifestRule] = &[
    rule!(
        "image-moves",
        Error,
        "the image's tag names another image from one day to the next, and its options and variables change with it",
        "pin a dated or numbered tag, or a digest",
        |bundle, hits| {
            for pod in &bundle.pods {
                let litellm = |image: &str| image.contains("litellm");
                for container in pod
                    .spec
                    .list("initContainers")
                    .iter()
                    .chain(pod.spec.list("containers"))
                {
                    let image = container.text_of("image");
                    if (pod.engine.is_some() || litellm(&image)) && is_moving(&image) {
                        let line = container
                            .get("image")
                            .map_or(container.line, |node| node.line);
                        hits.pod(pod, line, image);
                    }
                }
            }
        }
    ),
    rule!(
        "node-name",
        Error,
        "nodeName goes past the scheduler, so a new pod reaches the node before the old one gave up the GPU and fails with UnexpectedAdmissionError, again and again",
        "use nodeSelector with kubernetes.io/hostname instead",
        |bundle, hits| each(bundle, hits, |pod, _, hits| {
            if let Some(name) = pod.spec.get("nodeName") {
                hits.pod(pod, name.line, format!("nodeName: {}", name.text()));
            }
        })
    ),
    rule!(
        "no-node",
        Error,
        "nothing binds the rank to its node, but its addresses and interfaces are one node's own",
        "add nodeSelector with kubernetes.io/hostname",
        |bundle, hits| multi_node(bundle, hits, |pod, _, hits| {
            if pod.spec.get("nodeName").is_none()
                && pod.spec.get("nodeSelector").is_none()
                && pod.spec.get("affinity").is_none()
            {
                hits.pod(pod, pod.spec.line, "no nodeSelector");
            }
        })
    ),
    rule!(
        "no-gpu",
        Error,
        "the container asks for no GPU, so the scheduler may put two on one",
        "set resources.limits.nvidia.com/gpu to \"1\"",
        |bundle, hits| each(bundle, hits, |pod, engine, hits| {
            if engine
                .container
                .at(&["resources", "limits", "nvidia.com/gpu"])
                .is_none()
            {
                hits.pod(pod, engine.container.line, "no nvidia.com/gpu");
            }
        })
    ),
    rule!(
        "rolling-update",
        Error,
        "a rolling update waits for the new pod, which waits for the old one's GPU",
        "set strategy.type to Recreate",
        |bundle, hits| each(bundle, hits, |pod, _, hits| {
            let spec = pod.object.node.get("spec");
            let kind = spec
                .and_then(|spec| spec.at(&["strategy", "type"]))
                .map(Node::text);
            if pod.object.kind == "Deployment" && kind.as_deref() != Some("Recreate") {
                let found = kind.unwrap_or_else(|| "no strategy".to_owned());
                hits.pod(pod, pod.object.line(&["spec", "strategy"]), found);
            }
        })
    ),
    rule!(
        "progress-deadline",
        Warning,
        "the Deployment counts as failed before a cold start is over",
        "set progressDeadlineSeconds above the start-up budget, 3600 or more",
        |bundle, hits| each(bundle, hits, |pod, _, hits| {
            let path = ["spec", "progressDeadlineSeconds"];
            let seconds = pod
                .object
                .node
                .get("spec")
                .and_then(|spec| spec.int_of(path[1]));
            if pod.object.kind == "Deployment" && seconds.unwrap_or(600) <= 900 {
                let found = seconds.map_or("the default of 600".to_owned(), |s| s.to_string());
                hits.pod(pod, pod.object.line(&path), found);
            }
        })
    ),
    rule!(
        "no-startup-probe",
        Warning,
        "the head has no startupProbe, so one probe has to be patient with a cold start and quick to see a dead engine",
        "give it a startupProbe with the whole budget, and a readinessProbe of half a minute",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            if engine.container.get("startupProbe").is_none() {
                let line = engine
                    .container
                    .get("readinessProbe")
                    .map_or(engine.container.line, |probe| probe.line);
                hits.pod(pod, line, "no startupProbe");
            }
        })
    ),
    rule!(
        "startup-too-short",
        Error,
        "the probe gives up before a cold start is over, and the pod is killed again and again",
        "raise failureThreshold: a cold start takes 6 to 15 minutes, the first one more",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            for name in ["startupProbe", "livenessProbe"] {
                let Some(probe) = engine.container.get(name) else {
                    continue;
                };
                let covered =
                    name == "livenessProbe" && engine.container.get("startupProbe").is_some();
                if !covered && budget(probe) < SHORTEST_START {
                    hits.pod(pod, probe.line, format!("{name} with {} s", budget(probe)));
                }
            }
        })
    ),
    rule!(
        "ready-while-dead",
        Warning,
        "an engine that died counts as ready until the readinessProbe's failures have added up",
        "move the budget into a startupProbe; a readinessProbe needs 3 failures of 10 s",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            if let Some(probe) = engine.container.get("readinessProbe") {
                let seconds = probe.int_of("periodSeconds").unwrap_or(10)
                    * probe.int_of("failureThreshold").unwrap_or(3);
                if seconds > MOST_UNREADY {
                    hits.pod(pod, probe.line, format!("{} minutes", seconds / 60));
                }
            }
        })
    ),
    rule!(
        "liveness-on-health",
        Warning,
        "/health answers 200 while a lost worker hangs every request, and is slow under load: a livenessProbe on it heals nothing and can kill a busy engine",
        "remove the livenessProbe; watch one token through the API instead",
        |bundle, hits| heads(bundle, hits, |pod, engine, hits| {
            if let Some(probe) = engine.container.get("livenessProbe") {
                hits.pod(pod, probe.line, "a livenessProbe");
            }
        })
    ),
    rule!(
        "rdma-rights",
        Error,
        "NCCL cannot pin memory for RDMA, and falls back to sockets or fails",
        "set privileged: true and add the capability IPC_LOCK",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            let context = engine.container.get("securityContext");
            let privileged = context.is_some_and(|context| context.is_true("privileged"));
            let lock = context
                .and_then(|context| context.at(&["capabilities", "add"]))
                .is_some_and(|add| add.items().iter().any(|item| item.text() == "IPC_LOCK"));
            if !privileged || !lock {
                let line = context.map_or(engine.container.line, |context| context.line);
                hits.pod(
                    pod,
                    line,
                    if privileged {
                        "no IPC_LOCK"
                    } else {
                        "not privileged"
                    },
                );
            }
        })
    ),
    rule!(
        "no-infiniband",
        Error,
        "the container does not see the RDMA devices, and NCCL falls back to sockets",
        "mount the hostPath /dev/infiniband",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            if engine.mount("/dev/infiniband").is_none() {
                hits.pod(pod, engine.container.line, "no mount of /dev/infiniband");
            }
        })
    ),
    rule!(
        "small-shm",
        Error,
        "/dev/shm is the runtime's 64 MB, too small for NCCL and the engine's own queues",
        "mount an emptyDir of medium Memory, 16Gi, at /dev/shm",
        |bundle, hits| multi_node(bundle, hits, |pod, engine, hits| {
            let memory = engine
                .mount("/dev/shm")
                .and_then(|mount| pod.volume(mount))
                .and_then(|volume| volume.get("emptyDir"))
                .is_some_and(|dir| dir.text_of("medium") == "Memory");
            if !memory {
                hits.pod(pod, engine.container.line, "no memory at /dev/shm");
            }
        })
    ),
    rule!(
        "cache-lost",
        Warning,
        "compiled kernels are lost with the pod: the next start, or the next long answer, waits for them to be compiled again",
        "mount a hostPath at /root/.cache/vllm",
        |bundle, hits| each(bundle, hits, |pod, engine, hits| {
            let kept = engine
                .mount_of("/root/.cache/vllm")
                .and_then(|mount| pod.volume(mount))
                .is_some_and(|volume| {
                    volume.get("hostPath").is_some()
                        || volume.get("persistentVolumeClaim").is_some()
                });
            if !kept {
                hits.pod(
                    pod,
                    engine.container.line,
                    "no lasting volume at /root/.cache/vllm",
                );
            }
        })
    ),
    rule!(
        "model-folder-made",
        Warning,
        "a node without the model gets an empty folder, and the engine fails far from the cause",
        "use type: Directory for the models' hostPath",
        |bundle, hits| each(bundle, hits, |pod, engine, hits| {
            for mount in engine.container.list("volumeMounts") {
                let Some(path) = pod.volume(mount).and_then(|volume| volume.get("hostPath")) else {
                    continue;
                };
                let at = mount.text_of("mountPath");
                let models = at.contains("model") || at.contains("huggingface");
                if models
                    && !at.contains("cache/vllm")
                    && path.text_of("type") == "DirectoryOrCreate"
                {
                    hits.pod(pod, path.line, format!("DirectoryOrCreate for {at}"));
                }
            }
        })
    ),
    rule!(
        "secret-in-text",
        Error,
        "a secret stands in the manifest, for everyone who reads the repository or the cluster",
        "keep it in a Secret and refer to it with valueFrom.secretKeyRef",
        |bundle, hits| {
            for pod in &bundle.pods {
                for container in pod.spec.list("containers") {
                    for entry in container.list("env") {
                        let name = entry.text_of("name");
                        let secret = crate::flags::SECRETS.iter().any(|end| name.ends_with(end));
                        if secret && !entry.text_of("value").is_empty() {
                            hits.pod(pod, entry.line, format!("a value for {name}"));
                        }
                    }
                }
            }
        }
    ),
];

/// How long a probe is patient, seconds.
fn budget(probe: &Node) -> i64 {
    let of = |key, default| probe.int_of(key).unwrap_or(default);
    of("initialDelaySeconds", 0) + of("periodSeconds", 10) * of("failureThreshold", 3)
}

fn each(bundle: &Bundle, hits: &mut Hits, check: impl Fn(&Pod, &Engine, &mut Hits)) {
    for (pod, engine) in bundle.engines() {
        check(pod, engine, hits);
    }
}

pub(super) fn multi_node(
    bundle: &Bundle,
    hits: &mut Hits,
    check: impl Fn(&Pod, &Engine, &mut Hits),
) {
    for (pod, engine) in bundle
        .engines()
        .filter(|(_, engine)| engine.is_multi_node())
    {
        check(pod, engine, hits);
    }
}

pub(super) fn heads(bundle: &Bundle, hits: &mut Hits, check: impl Fn(&Pod, &Engine, &mut Hits)) {
    for (pod, engine) in bundle.engines().filter(|(_, engine)| !engine.is_worker()) {
        check(pod, engine, hits);
    }
}
