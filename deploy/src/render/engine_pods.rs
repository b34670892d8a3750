//! The two pods of the engine, as Deployments or as a LeaderWorkerSet.

use serde_json::json;

use super::{host_port, http_probe, labels, metadata, selector};
use crate::engine::{self, Rank};
use crate::k8s::{
    Container, Manifest, Pairs, PodSpec, PodTemplate, TemplateMetadata, Volume, VolumeMount, pairs,
    value,
};
use crate::site::{Shape, Site};

/// Labels that LeaderWorkerSet sets on its pods.
pub(super) const LWS_NAME: &str = "leaderworkerset.sigs.k8s.io/name";
pub(super) const LWS_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";

/// The labels that the head's pod alone has.
pub(super) fn head_selector(site: &Site) -> Pairs {
    match site.shape {
        Shape::Deployments => selector(site, "head"),
        Shape::Lws => pairs([(LWS_NAME, site.name.as_str()), (LWS_INDEX, "0")]),
    }
}

pub(super) fn workloads(site: &Site) -> Vec<Manifest> {
    match site.shape {
        Shape::Deployments => vec![deployment(site, Rank::Worker), deployment(site, Rank::Head)],
        Shape::Lws => vec![leader_worker_set(site)],
    }
}

fn deployment(site: &Site, rank: Rank) -> Manifest {
    let role = rank.word();
    // The server's default of 600 s is shorter than a cold start, and would call it failed.
    let deadline = site.startup_minutes * 60 + 600;
    let mut comments = pod_comments(
        rank,
        [
            "/spec/template/spec/nodeSelector",
            "/spec/template/spec/containers/0/securityContext",
            "/spec/template/spec/containers/0/ports",
            "/spec/template/spec/containers/0/startupProbe",
            "/spec/template/spec/containers/0/readinessProbe",
            "/spec/template/spec/containers/0/command",
            "/spec/template/spec/volumes/0",
        ],
    );
    if rank == Rank::Head {
        comments.push((
            "/spec",
            "No replicas: the default is 1, and a recovery stops the head by setting 0.".to_owned(),
        ));
    }
    comments.push((
        "/spec/strategy",
        "A new pod can only have the GPU after the old one is gone.".to_owned(),
    ));
    comments.push((
        "/spec/progressDeadlineSeconds",
        "A cold start is longer than the default of 600.".to_owned(),
    ));
    Manifest {
        file: match rank {
            Rank::Worker => "30-worker.yaml",
            Rank::Head => "31-head.yaml",
        }
        .to_owned(),
        object: json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": value(&metadata(site, format!("{}-{role}", site.name), role)),
            "spec": {
                "progressDeadlineSeconds": deadline,
                "strategy": { "type": "Recreate" },
                "selector": { "matchLabels": selector(site, role) },
                "template": value(&template(site, rank)),
            },
        }),
        comments,
    }
}

fn leader_worker_set(site: &Site) -> Manifest {
    let mut comments = pod_comments(
        Rank::Head,
        [
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/nodeSelector",
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/securityContext",
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/ports",
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/startupProbe",
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/readinessProbe",
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/command",
            "/spec/leaderWorkerTemplate/leaderTemplate/spec/volumes/0",
        ],
    );
    comments.extend([
        (
            "/spec/startupPolicy",
            "LeaderReady would wait for ever: the leader becomes ready only with its worker."
                .to_owned(),
        ),
        (
            "/spec/leaderWorkerTemplate/restartPolicy",
            "One rank cannot go on without the other. AfterStart: a slow image pull is no restart."
                .to_owned(),
        ),
        (
            "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/command",
            WAITS.to_owned(),
        ),
    ]);
    Manifest {
        file: "30-leader-worker-set.yaml".to_owned(),
        object: json!({
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": value(&metadata(site, site.name.to_string(), "group")),
            "spec": {
                "replicas": 1,
                "startupPolicy": "LeaderCreated",
                "leaderWorkerTemplate": {
                    "size": 2,
                    "restartPolicy": "RecreateGroupAfterStart",
                    "leaderTemplate": value(&template(site, Rank::Head)),
                    "workerTemplate": value(&template(site, Rank::Worker)),
                },
            },
        }),
        comments,
    }
}

const WAITS: &str = "Waits until the head's rendezvous answers, then becomes the engine.";

fn pod_comments(rank: Rank, at: [&'static str; 7]) -> Vec<(&'static str, String)> {
    let [node, security, ports, startup, readiness, command, models] = at;
    let mut comments = vec![
        (
            node,
            "By label, not by nodeName: the scheduler then waits until the GPU is free, where the\n\
             kubelet would refuse pod after pod with UnexpectedAdmissionError."
                .to_owned(),
        ),
        (
            security,
            "RDMA: NCCL pins memory, and GB10 has no device plugin for it.".to_owned(),
        ),
        (
            models,
            "Directory, not DirectoryOrCreate: a node without the model must say so.".to_owned(),
        ),
    ];
    match rank {
        Rank::Worker => comments.push((command, WAITS.to_owned())),
        Rank::Head => comments.extend([
            (
                ports,
                "The node's own ports; named so that the scheduler sees a clash.".to_owned(),
            ),
            (
                startup,
                "The budget of a cold start: compiling, profiling and capturing graphs.".to_owned(),
            ),
            (
                readiness,
                "No livenessProbe: /health answers 200 while a lost worker hangs every request.\n\
                 `codex-ds deploy status` sends a token through instead."
                    .to_owned(),
            ),
        ]),
    }
    comments
}

fn template(site: &Site, rank: Rank) -> PodTemplate {
    PodTemplate {
        metadata: Some(TemplateMetadata {
            labels: labels(site, rank.word()),
            annotations: Pairs::new(),
        }),
        spec: PodSpec {
            node_selector: pairs([("kubernetes.io/hostname", rank.node(site).host.as_str())]),
            host_network: true,
            host_ipc: site.storage.host_ipc,
            dns_policy: "ClusterFirstWithHostNet",
            termination_grace_period_seconds: Some(60),
            automount_service_account_token: Some(false),
            containers: vec![container(site, rank)],
            volumes: volumes(site),
            ..PodSpec::default()
        },
    }
}

fn container(site: &Site, rank: Rank) -> Container {
    let arguments = engine::arguments(site, rank);
    let (command, args) = match rank {
        Rank::Head => (arguments[..1].to_vec(), arguments[1..].to_vec()),
        Rank::Worker => (
            ["/bin/bash", "-c", &engine::wait_for_head(site), "bash"]
                .map(str::to_owned)
                .to_vec(),
            arguments,
        ),
    };
    let is_head = rank == Rank::Head;
    let api = site.serve.api_port;
    Container {
        name: "vllm",
        image: site.image.to_string(),
        image_pull_policy: site.pull_policy.word(),
        security_context: Some(
            json!({ "privileged": true, "capabilities": { "add": ["IPC_LOCK"] } }),
        ),
        command,
        args,
        env: engine::environment(site, rank)
            .into_iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect(),
        ports: if is_head {
            vec![
                host_port("api", api),
                host_port("rendezvous", site.serve.master_port),
            ]
        } else {
            vec![]
        },
        resources: Some(json!({ "limits": { "nvidia.com/gpu": "1" } })),
        startup_probe: is_head.then(|| http_probe("/health", api, 15, site.startup_minutes * 4)),
        readiness_probe: is_head.then(|| http_probe("/health", api, 10, 3)),
        volume_mounts: mounts(site),
        ..Container::default()
    }
}

fn mounts(site: &Site) -> Vec<VolumeMount> {
    let mount = |name: &'static str, path: &str, sub_path: &'static str| VolumeMount {
        name,
        mount_path: path.to_owned(),
        sub_path,
        read_only: name == "models",
    };
    let mut mounts = vec![mount("models", site.storage.models_mount.as_str(), "")];
    mounts.extend(
        site.recipe
            .caches
            .iter()
            .map(|cache| mount("cache", cache.as_str(), "")),
    );
    mounts.push(mount("shm", "/dev/shm", ""));
    mounts.push(mount("infiniband", "/dev/infiniband", ""));
    mounts
}

fn volumes(site: &Site) -> Vec<Volume> {
    let host = |name: &'static str, path: &str, kind: &str| Volume {
        name,
        host_path: Some(json!({ "path": path, "type": kind })),
        ..Volume::default()
    };
    let mut volumes = vec![host(
        "models",
        site.storage.models_host_path.as_str(),
        "Directory",
    )];
    if !site.recipe.caches.is_empty() {
        volumes.push(host("cache", &cache_path(site), "DirectoryOrCreate"));
    }
    volumes.push(Volume {
        name: "shm",
        empty_dir: Some(json!({ "medium": "Memory", "sizeLimit": site.storage.shm.as_str() })),
        ..Volume::default()
    });
    volumes.push(host("infiniband", "/dev/infiniband", "Directory"));
    volumes
}

/// The node's folder for compiled kernels: one for each image, since another image's kernels are
/// wrong for it.
pub(super) fn cache_path(site: &Site) -> String {
    let image = site.image.as_str();
    let end = crate::names::image_tag(image)
        .or_else(|| image.rsplit(':').next())
        .unwrap_or_default();
    format!("{}/{end}", site.storage.cache_host_path)
}

/// What the router and a client's `--raw` request need of the engine's Service.
pub(super) fn api_base(site: &Site) -> String {
    let port = match site.expose.kind {
        crate::site::ExposeKind::CiliumLb => 80,
        _ => site.serve.api_port,
    };
    format!(
        "http://{}.{}.svc.cluster.local:{port}/v1",
        site.service(),
        site.namespace
    )
}
