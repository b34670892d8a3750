//! Two ranks that add numbers over the cable, before a model is loaded: how fast, and by which way.
//!
//! One Job on each node runs `torch.distributed` of the serving image with the variables that the
//! engine will get, and NCCL's own log. Both Jobs are removed afterwards; one that an interruption
//! leaves behind ends by its own deadline, and its object goes with it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cluster::collect;
use crate::engine::{self, Rank};
use crate::k8s::yaml;
use crate::kubectl::{Kubectl, KubectlError};
use crate::nodes::{Finding, LINK, Topic};
use crate::render::MANAGED_BY;
use crate::site::Site;

pub use crate::nccl_log::{Transport, devices, transport, warnings};

const SCRIPT: &str = include_str!("all_reduce.py");

/// The longest that both ranks may take, seconds; the Jobs' own deadline.
const DEADLINE: u64 = 600;

/// One size's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The size of the data, bytes.
    pub bytes: u64,
    /// One all-reduce of it, seconds.
    pub seconds: f64,
    /// Whether the sum was right.
    pub right: bool,
}

impl Sample {
    /// The rate, GB/s (10⁹ bytes). Of two ranks each sends and receives the data once, so this is also
    /// what the tests of NCCL call the bus bandwidth.
    #[must_use]
    pub fn gb_per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
        let bytes = self.bytes as f64;
        bytes / self.seconds / 1e9
    }
}

/// What a run showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// The sizes, the smallest first.
    pub samples: Vec<Sample>,
    /// How the nodes talked.
    pub transport: Option<Transport>,
    /// The RoCE devices that NCCL found.
    pub devices: Vec<String>,
    /// NCCL's warnings.
    pub warnings: Vec<String>,
    /// The link's rate, GB/s.
    pub limit: f64,
}

impl Outcome {
    /// Reads both ranks' logs, the head's first; `None` when no rank came to its end.
    #[must_use]
    pub fn read(logs: &[String; 2]) -> Option<Self> {
        let all = logs.join("\n");
        let head = &logs[0];
        if !head.lines().any(|line| line.trim() == "end=1") {
            return None;
        }
        let mbps = all
            .lines()
            .filter_map(|line| line.strip_prefix("link_mbps=")?.trim().parse::<f64>().ok())
            .filter(|mbps| *mbps > 0.0)
            .fold(LINK, f64::min);
        Some(Self {
            samples: head
                .lines()
                .filter_map(|line| serde_json::from_str(line.strip_prefix("all_reduce=")?).ok())
                .collect(),
            transport: transport(&all),
            devices: devices(&all),
            warnings: warnings(&all),
            limit: mbps / 8.0 / 1000.0,
        })
    }

    /// The best rate, GB/s.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.samples
            .iter()
            .map(Sample::gb_per_second)
            .fold(0.0, f64::max)
    }
}

/// The share of the link that a healthy pair reaches at least. Published pairs reach 15 to 20 GB/s of
/// 25; the gate of one of them is 15.
const LEAST_SHARE: f64 = 0.6;
/// At this and below, GB/s, the firmware's signature is stale, as published pairs found.
const STALE_FIRMWARE: f64 = 3.5;

/// What is not as it should be.
#[must_use]
pub fn judge(site: &Site, outcome: &Outcome) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |what: &str, found: String, expected: String, command: String| {
        findings.push(Finding {
            node: "both".to_owned(),
            topic: Topic::Cable,
            what: what.to_owned(),
            found,
            expected,
            command,
        });
    };
    if outcome.transport != Some(Transport::Roce) {
        add(
            "NCCL's transport",
            outcome
                .transport
                .map_or("not told by its log", Transport::word)
                .to_owned(),
            "RoCE".to_owned(),
            format!(
                "ibv_devinfo; ls /dev/infiniband   # then the names in nodes.*.hca of {}, and privileged with IPC_LOCK (codex-ds deploy check)",
                site.file
            ),
        );
    }
    if outcome.samples.iter().any(|sample| !sample.right) || outcome.samples.is_empty() {
        add(
            "the sum",
            "wrong, or none".to_owned(),
            "2 for each 1 + 1".to_owned(),
            "codex-ds deploy nodes   # driver, kernel and firmware of both".to_owned(),
        );
    }
    let (best, least) = (outcome.best(), outcome.limit * LEAST_SHARE);
    if best < least && !outcome.samples.is_empty() {
        let command = if outcome.transport != Some(Transport::Roce) {
            "as for the transport"
        } else if best <= STALE_FIRMWARE {
            "sudo mlxfwmanager --online -u   # on both, then a cold start: about 3 GB/s is the sign of stale firmware"
        } else {
            "codex-ds deploy nodes   # MTU, active_mtu and link speed at both ends; with two devices nccl.merge_nics = true"
        };
        add(
            "all-reduce",
            format!("{best:.1} GB/s"),
            format!(
                "at least {least:.0} of the link's {:.0} GB/s",
                outcome.limit
            ),
            command.to_owned(),
        );
    }
    findings
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum NcclError {
    /// The cluster refused.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// The stack runs and has the GPUs.
    #[error("the stack has the GPUs: {0} of its ranks have pods")]
    Busy(usize),
    /// The ranks did not come to their end.
    #[error("the ranks did not come to their end: {seen}")]
    Unfinished {
        /// What their pods are.
        seen: String,
        /// The last lines of their logs.
        log: String,
    },
}

/// What will be done, for people.
#[must_use]
pub fn plan(site: &Site) -> Vec<String> {
    let mut steps: Vec<String> = RANKS
        .iter()
        .map(|rank| {
            format!(
                "create Job {} on {}: one GPU, privileged, image {}",
                name(site, *rank),
                rank.node(site).host,
                site.image
            )
        })
        .collect();
    steps.push(format!(
        "wait until both added 16 KiB to 256 MiB over the cable, at most {} min",
        DEADLINE / 60
    ));
    steps.push("delete both Jobs".to_owned());
    steps
}

const RANKS: [Rank; 2] = [Rank::Head, Rank::Worker];

fn name(site: &Site, rank: Rank) -> String {
    format!("{}-nccl-{}", site.name, rank.word())
}

/// The label that this run's pods have and the stack's have not.
fn app(site: &Site) -> String {
    format!("{}-nccl", site.name)
}

/// The Job of a rank.
#[must_use]
pub fn job(site: &Site, rank: Rank) -> Value {
    let labels = json!({ "app": app(site), "role": rank.word(), MANAGED_BY.0: MANAGED_BY.1 });
    let own = [
        ("NCCL_DEBUG", "INFO".to_owned()),
        ("MASTER_ADDR", site.head.control_ip.to_string()),
        ("MASTER_PORT", site.serve.master_port.to_string()),
        ("WORLD_SIZE", "2".to_owned()),
        ("RANK", u8::from(rank == Rank::Worker).to_string()),
        ("CABLE", rank.node(site).fabric_if.to_string()),
    ];
    let env: Vec<Value> = engine::environment(site, rank)
        .into_iter()
        .filter(|(name, _)| own.iter().all(|(other, _)| name != other))
        .chain(
            own.iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        )
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name(site, rank), "namespace": site.namespace.as_str(), "labels": labels },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": DEADLINE,
            "ttlSecondsAfterFinished": DEADLINE,
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "nodeSelector": { "kubernetes.io/hostname": rank.node(site).host.as_str() },
                    "restartPolicy": "Never",
                    "hostNetwork": true,
                    "dnsPolicy": "ClusterFirstWithHostNet",
                    "terminationGracePeriodSeconds": 5,
                    "automountServiceAccountToken": false,
                    "containers": [{
                        "name": "nccl",
                        "image": site.image.as_str(),
                        "imagePullPolicy": site.pull_policy.word(),
                        "command": ["python3", "-c", SCRIPT],
                        "env": env,
                        "securityContext": { "privileged": true, "capabilities": { "add": ["IPC_LOCK"] } },
                        "resources": { "limits": { "nvidia.com/gpu": "1" } },
                        "volumeMounts": [
                            { "name": "shm", "mountPath": "/dev/shm" },
                            { "name": "infiniband", "mountPath": "/dev/infiniband" },
                        ],
                    }],
                    "volumes": [
                        { "name": "shm", "emptyDir": { "medium": "Memory", "sizeLimit": "1Gi" } },
                        { "name": "infiniband", "hostPath": { "path": "/dev/infiniband", "type": "Directory" } },
                    ],
                },
            },
        },
    })
}

/// Whether both GPUs are free, as far as this stack has them.
///
/// # Errors
/// [`NcclError::Busy`] when the stack has a pod; when pods cannot be listed.
pub fn is_free(kubectl: &dyn Kubectl, site: &Site) -> Result<(), NcclError> {
    use crate::cluster::Role;
    let ranks = collect::pods(kubectl, site)?
        .iter()
        .filter(|pod| matches!(pod.role, Role::Head | Role::Worker) && pod.phase != "Failed")
        .count();
    if ranks == 0 {
        Ok(())
    } else {
        Err(NcclError::Busy(ranks))
    }
}

/// How often a wait looks.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs both ranks and removes them. `pause` is called while it waits; what it waits for is told to
/// `tell` when it changes.
///
/// # Errors
/// When the cluster refuses, or the ranks do not come to their end.
pub fn run(
    kubectl: &dyn Kubectl,
    site: &Site,
    pause: &mut dyn FnMut(Duration),
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, NcclError> {
    // Jobs that an interruption left behind would be in the way.
    remove(kubectl, site)?;
    let outcome = start_and_wait(kubectl, site, pause, tell);
    remove(kubectl, site)?;
    outcome
}

fn remove(kubectl: &dyn Kubectl, site: &Site) -> Result<(), NcclError> {
    let names = RANKS.map(|rank| name(site, rank));
    kubectl.run(
        &[
            "delete",
            "jobs",
            &names[0],
            &names[1],
            "--namespace",
            site.namespace.as_str(),
            "--ignore-not-found",
            "--cascade=foreground",
            "--wait=true",
        ],
        None,
    )?;
    Ok(())
}

fn start_and_wait(
    kubectl: &dyn Kubectl,
    site: &Site,
    pause: &mut dyn FnMut(Duration),
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, NcclError> {
    for rank in RANKS {
        kubectl.run(
            &["create", "--filename=-"],
            Some(&yaml::write(&job(site, rank), &[])),
        )?;
    }
    let mut seen = String::new();
    let rounds = DEADLINE / PAUSE.as_secs();
    for _ in 0..rounds {
        let pods = collect::labelled(kubectl, site, &app(site))?;
        let now: Vec<String> = pods
            .iter()
            .map(|pod| {
                let why = [&pod.waiting, &pod.unscheduled, &pod.reason];
                let why = why.into_iter().find(|why| !why.is_empty());
                let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
                format!("{} is {}{why}", pod.name, pod.phase)
            })
            .collect();
        let now = if now.is_empty() {
            "no pod was made".to_owned()
        } else {
            now.join(", ")
        };
        if now != seen {
            tell(&now);
            seen = now;
        }
        let ended = |phase: &str| pods.iter().filter(|pod| pod.phase == phase).count();
        if ended("Succeeded") == 2 || ended("Failed") > 0 {
            break;
        }
        pause(PAUSE);
    }
    let logs = RANKS.map(|rank| {
        let selector = format!("--selector=app={},role={}", app(site), rank.word());
        let namespace = site.namespace.as_str();
        kubectl
            .run(
                &["logs", "--namespace", namespace, &selector, "--tail=-1"],
                None,
            )
            .unwrap_or_default()
    });
    Outcome::read(&logs).ok_or_else(|| {
        let all = logs.join("\n");
        let mut lines = warnings(&all);
        lines.extend(
            all.lines()
                .filter(|line| line.contains("Error"))
                .map(|line| line.trim().chars().take(200).collect()),
        );
        lines.truncate(6);
        NcclError::Unfinished {
            seen,
            log: lines.join("\n"),
        }
    })
}

#[cfg(test)]
mod tests;
