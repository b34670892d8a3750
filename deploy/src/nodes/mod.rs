//! Facts of the two nodes that no manifest and no log shows: the cable, the RoCE device, memory, the
//! desktop, versions, and the model's files.
//!
//! One shell script reads them, over ssh or in a short-lived pod; nothing on the nodes is changed.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::engine::Rank;
use crate::k8s::yaml;
use crate::kubectl::{Kubectl, KubectlError, get, items};
use crate::names::Hca;
use crate::render::MANAGED_BY;
use crate::site::Site;

mod cable;
mod judge;
mod versions;

pub use cable::LINK;
pub use judge::{Finding, Topic, judge};
pub use versions::{bad_driver, bad_kernel};

const SCRIPT: &str = include_str!("probe.sh");

/// What was read on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Keys and values as the script prints them; those of a RoCE device begin with its name and a dot.
    pub values: BTreeMap<String, String>,
    /// The GIDs of the RoCE devices: device, index, kind, value.
    pub gids: Vec<String>,
}

impl Report {
    /// Reads what the script printed; `None` when it did not come to its end.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut report = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            if key == "gid" {
                report.gids.push(value.to_owned());
            } else {
                report
                    .values
                    .insert(key.to_owned(), value.trim().to_owned());
            }
        }
        report.values.remove("end").map(|_| report)
    }

    /// The value of a key; `None` where it is missing or empty.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a key as a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.parse().ok()
    }
}

/// How much of a node is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What takes no time.
    Quick,
    /// The model's files, and packets to the other node, too.
    Deep,
}

/// The script with a node's own values in front; `root` is where the node's own root is.
#[must_use]
pub fn script(site: &Site, rank: Rank, root: &str, depth: Depth) -> String {
    let node = rank.node(site);
    let peer = match rank {
        Rank::Head => &site.worker,
        Rank::Worker => &site.head,
    };
    let hcas: Vec<&str> = node.hca.iter().map(Hca::as_str).collect();
    // Where the model is on the node itself.
    let model = site.model.path.as_str().replacen(
        site.storage.models_mount.as_str(),
        site.storage.models_host_path.as_str(),
        1,
    );
    // IP and ICMP headers take 28 bytes.
    let payload = site.nccl.mtu - 28;
    let deep = if depth == Depth::Deep { "yes" } else { "" };
    format!(
        "ROOT='{root}' IF='{}' HCAS='{}' PEER='{}' PAYLOAD='{payload}' MODEL='{model}' DEEP='{deep}'\n{SCRIPT}",
        node.fabric_if,
        hcas.join(" "),
        peer.fabric_ip
    )
}

/// The cluster's list of the site's nodes.
pub(crate) fn listed(
    kubectl: &dyn Kubectl,
    site: &Site,
) -> Result<serde_json::Value, KubectlError> {
    let [head, worker] = site.nodes().map(|node| node.host.as_str());
    let args = [
        "get",
        "nodes",
        head,
        worker,
        "--ignore-not-found",
        "--output=json",
    ];
    get(kubectl, &args)
}

/// Whether each node has the serving image, the head's first, as far as the cluster tells: a node
/// names its fifty largest images, and this one is large.
///
/// # Errors
/// When the nodes cannot be listed.
pub fn images(kubectl: &dyn Kubectl, site: &Site) -> Result<[Option<bool>; 2], KubectlError> {
    let [head, worker] = site.nodes().map(|node| node.host.as_str());
    let list = listed(kubectl, site)?;
    Ok([head, worker].map(|host| {
        let node = items(&list).find(|node| node["metadata"]["name"] == host)?;
        let images = node["status"]["images"].as_array()?;
        Some(
            images
                .iter()
                .flat_map(|image| image["names"].as_array().into_iter().flatten())
                .filter_map(serde_json::Value::as_str)
                .any(|name| is_same_image(name, site.image.as_str())),
        )
    }))
}

/// Whether a node's name of an image is the one that a manifest has, which may leave out the registry.
fn is_same_image(name: &str, image: &str) -> bool {
    let full = |image: &str| match image.split_once('/') {
        Some((registry, _)) if registry.contains(['.', ':']) => image.to_owned(),
        Some(_) => format!("docker.io/{image}"),
        None => format!("docker.io/library/{image}"),
    };
    // A node lists tag and digest apart.
    let (name, image) = (full(name), full(image));
    name == image
        || image.split_once('@').is_some_and(|(tagged, digest)| {
            name == format!("{}@{digest}", crate::names::image_repository(tagged))
        })
}

/// Why a node could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The cluster refused.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// ssh failed.
    #[error("ssh {target}: {message}")]
    Ssh {
        /// Where to.
        target: String,
        /// What it said.
        message: String,
    },
    /// The script did not come to its end.
    #[error("{node}: the probe did not come to its end: {message}")]
    Unfinished {
        /// The node.
        node: String,
        /// The end of what it printed, or what the pod is.
        message: String,
    },
}

/// Asks a node over ssh, as the target names it.
///
/// # Errors
/// When ssh fails.
pub fn over_ssh(site: &Site, rank: Rank, target: &str) -> Result<Report, NodeError> {
    let failed = |message: String| NodeError::Ssh {
        target: target.to_owned(),
        message,
    };
    let output = Command::new("ssh")
        .args([
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=10",
            "--",
            target,
        ])
        .arg(format!(
            "sh -c {}",
            shell_words::quote(&script(site, rank, "", Depth::Deep))
        ))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Report::read(&text)
        .ok_or_else(|| failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// How often a wait looks, and how many times.
const PAUSE: Duration = Duration::from_secs(2);
const PATIENCE: u32 = 150;

/// The image of a probe where the serving image is not there yet, and should not be pulled for this.
const SMALL_IMAGE: &str = "docker.io/library/busybox:1.37.0";

/// Asks a node in a pod that is removed afterwards. It asks for no GPU, so it runs beside an engine.
/// `has_image` says whether the node has the serving image.
///
/// # Errors
/// When the cluster refuses, or the pod does not end.
pub fn in_pod(
    kubectl: &dyn Kubectl,
    site: &Site,
    rank: Rank,
    has_image: Option<bool>,
    pause: &mut dyn FnMut(Duration),
) -> Result<Report, NodeError> {
    let name = format!("{}-probe-{}", site.name, rank.word());
    let namespace = site.namespace.as_str();
    let remove = || {
        let args = ["delete", "pod", &name, "--namespace", namespace];
        kubectl.run(
            &[&args[..], &["--ignore-not-found", "--wait=true"]].concat(),
            None,
        )
    };
    // One that an interruption left behind would be in the way.
    remove()?;
    kubectl.run(
        &["create", "--filename=-"],
        Some(&pod(site, rank, &name, has_image)),
    )?;
    let mut phase = String::new();
    for _ in 0..PATIENCE {
        phase = kubectl.run(
            &[
                "get",
                "pod",
                &name,
                "--namespace",
                namespace,
                "--output=jsonpath={.status.phase}",
            ],
            None,
        )?;
        if matches!(phase.as_str(), "Succeeded" | "Failed") {
            break;
        }
        pause(PAUSE);
    }
    let text = kubectl.run(&["logs", &name, "--namespace", namespace], None);
    remove()?;
    let text = text.map_err(|error| NodeError::Unfinished {
        node: rank.node(site).host.to_string(),
        message: format!("its pod is {phase}; {error}"),
    })?;
    Report::read(&text).ok_or_else(|| NodeError::Unfinished {
        node: rank.node(site).host.to_string(),
        message: text.lines().last().unwrap_or_default().to_owned(),
    })
}

fn pod(site: &Site, rank: Rank, name: &str, has_image: Option<bool>) -> String {
    let image = match has_image {
        Some(false) => SMALL_IMAGE,
        _ => site.image.as_str(),
    };
    yaml::write(
        &json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": site.namespace.as_str(),
                "labels": { MANAGED_BY.0: MANAGED_BY.1 },
            },
            "spec": {
                "nodeSelector": { "kubernetes.io/hostname": rank.node(site).host.as_str() },
                "restartPolicy": "Never",
                "hostNetwork": true,
                "hostPID": true,
                "automountServiceAccountToken": false,
                "tolerations": [{ "operator": "Exists" }],
                "containers": [{
                    "name": "probe",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh", "-c", script(site, rank, "/host", Depth::Deep)],
                    "volumeMounts": [{ "name": "host", "mountPath": "/host", "readOnly": true }],
                }],
                "volumes": [{ "name": "host", "hostPath": { "path": "/", "type": "Directory" } }],
            },
        }),
        &[],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Shape, example};
    use std::sync::Mutex;

    fn site() -> Site {
        example::site(Shape::Deployments, &[])
    }

    /// A folder that looks like a node's root.
    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("sys/class/net/enp1s0f1np1/mtu", "9000\n"),
            ("sys/class/net/enp1s0f1np1/speed", "200000\n"),
            ("sys/class/net/enp1s0f1np1/operstate", "up\n"),
            ("sys/class/infiniband/rocep1s0f1/fw_ver", "28.45.4028\n"),
            (
                "sys/class/infiniband/rocep1s0f1/ports/1/rate",
                "200 Gb/sec (4X HDR)\n",
            ),
            (
                "sys/class/infiniband/rocep1s0f1/ports/1/state",
                "4: ACTIVE\n",
            ),
            (
                "sys/class/infiniband/rocep1s0f1/ports/1/gids/0",
                "0000:0000:0000:0000:0000:0000:0000:0000\n",
            ),
            (
                "sys/class/infiniband/rocep1s0f1/ports/1/gids/3",
                "0000:0000:0000:0000:0000:ffff:c0a8:640a\n",
            ),
            (
                "sys/class/infiniband/rocep1s0f1/ports/1/gid_attrs/types/3",
                "RoCE v2\n",
            ),
            (
                "mnt/models/DeepSeek-V4-Flash-0731/model-1.safetensors",
                "weights",
            ),
            ("mnt/models/DeepSeek-V4-Flash-0731/config.json", "{}"),
            (
                "sys/class/infiniband/rocep1s0f1/device/net/enp1s0f1np1/mtu",
                "9000\n",
            ),
            ("sys/fs/cgroup/system.slice/gdm.service/cgroup.procs", "1\n"),
            (
                "sys/fs/cgroup/system.slice/earlyoom.service/cgroup.procs",
                "1\n",
            ),
        ] {
            let path = root.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        }
        root
    }

    fn run(root: &std::path::Path) -> Report {
        let script = script(&site(), Rank::Head, root.to_str().unwrap(), Depth::Deep);
        let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
        Report::read(&String::from_utf8_lossy(&output.stdout)).unwrap()
    }

    #[test]
    fn the_script_reads_a_node() {
        let root = root();
        let report = run(root.path());
        for (key, value) in [
            ("mtu", "9000"),
            ("speed", "200000"),
            ("state", "up"),
            ("rocep1s0f1.firmware", "28.45.4028"),
            ("rocep1s0f1.rate", "200 Gb/sec (4X HDR)"),
            ("rocep1s0f1.link", "4: ACTIVE"),
            ("rocep1s0f1.mtu", "9000"),
            ("desktop", "yes"),
            ("earlyoom", "yes"),
            ("model_files", "2"),
        ] {
            assert_eq!(report.get(key), Some(value), "{key}");
        }
        assert_eq!(
            report.gids,
            ["rocep1s0f1 3 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640a"]
        );
        assert!(report.get("kernel").is_some());
        // Another size of one file is another sum.
        let sum = report.get("model_sum").unwrap().to_owned();
        fs_err::write(
            root.path()
                .join("mnt/models/DeepSeek-V4-Flash-0731/config.json"),
            "{ }",
        )
        .unwrap();
        assert_ne!(run(root.path()).get("model_sum"), Some(sum.as_str()));
    }

    #[test]
    fn a_node_without_anything_is_read_too() {
        let root = tempfile::tempdir().unwrap();
        let report = run(root.path());
        assert_eq!(report.get("mtu"), None);
        assert_eq!(report.get("model_files"), None);
        assert_eq!(report.gids, [""; 0]);
        assert_eq!(
            Report::read("mtu=9000\n"),
            None,
            "it did not come to its end"
        );
    }

    #[test]
    fn an_image_has_several_names() {
        let image = "docker.io/eugr/v:n-1";
        for name in ["docker.io/eugr/v:n-1", "eugr/v:n-1"] {
            assert!(is_same_image(name, image), "{name}");
        }
        for name in ["docker.io/eugr/v:n-2", "ghcr.io/eugr/v:n-1", "v:n-1"] {
            assert!(!is_same_image(name, image), "{name}");
        }
        assert!(is_same_image("g.io/v@sha256:a", "g.io/v:1@sha256:a"));
        assert!(!is_same_image("g.io/v@sha256:b", "g.io/v:1@sha256:a"));
        assert!(is_same_image("docker.io/library/x:1", "x:1"));
    }

    #[test]
    fn what_a_node_has_not_is_not_pulled_to_look_at_it() {
        let small = pod(&site(), Rank::Head, "x", Some(false));
        assert!(small.contains(SMALL_IMAGE) && !small.contains(site().image.as_str()));
        assert!(pod(&site(), Rank::Head, "x", Some(true)).contains(site().image.as_str()));
    }

    struct Pods(Mutex<Vec<String>>, &'static str);

    impl Kubectl for Pods {
        fn run(&self, args: &[&str], input: Option<&str>) -> Result<String, KubectlError> {
            self.0.lock().unwrap().push(args[0].to_owned());
            if args[0] == "create" {
                assert!(
                    input
                        .unwrap()
                        .contains("kubernetes.io/hostname: nvidia-spark-2")
                );
            }
            Ok(match args[0] {
                "get" => "Succeeded".to_owned(),
                "logs" => self.1.to_owned(),
                _ => String::new(),
            })
        }
    }

    #[test]
    fn a_pod_is_removed_before_and_after() {
        let cluster = Pods(Mutex::default(), "mtu=1500\nend=1\n");
        let report = in_pod(&cluster, &site(), Rank::Worker, None, &mut |_| ()).unwrap();
        assert_eq!(report.get("mtu"), Some("1500"));
        assert_eq!(
            *cluster.0.lock().unwrap(),
            ["delete", "create", "get", "logs", "delete"]
        );

        let cluster = Pods(Mutex::default(), "sh: not found\n");
        let error = in_pod(&cluster, &site(), Rank::Worker, None, &mut |_| ()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("nvidia-spark-2: the probe did not come to its end: sh: not found")
        );
        assert_eq!(cluster.0.lock().unwrap().last().unwrap(), "delete");
    }
}
