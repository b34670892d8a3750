//! The few types of Kubernetes that the stack is made of, with the fields that it uses.
//!
//! Field names are those of the API (apps/v1, v1, leaderworkerset.x-k8s.io/v1); amounts are strings,
//! as every version of the server takes them.

use serde::Serialize;
use serde_json::{Map, Value};

pub mod yaml;

/// Names and values in the order in which they are written.
pub type Pairs = Map<String, Value>;

/// [`Pairs`] of strings.
#[must_use]
pub fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Pairs {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect()
}

/// Derives what every type here has: names as the API writes them, nothing written that is empty.
macro_rules! api {
    ($($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, Serialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name {
                $($(#[$fdoc])* #[serde(skip_serializing_if = "Empty::is_empty")] pub $field: $type),+
            }
        )+
    };
}

/// What is left out of the text.
trait Empty {
    fn is_empty(&self) -> bool;
}

impl Empty for String {
    fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl Empty for &str {
    fn is_empty(&self) -> bool {
        str::is_empty(self)
    }
}

impl<T> Empty for Vec<T> {
    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl<T> Empty for Option<T> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl Empty for Pairs {
    fn is_empty(&self) -> bool {
        Map::is_empty(self)
    }
}

impl Empty for PodSpec {
    fn is_empty(&self) -> bool {
        false
    }
}

impl Empty for bool {
    fn is_empty(&self) -> bool {
        !self
    }
}

api! {
    /// An object's metadata.
    Metadata {
        /// Its name.
        name: String,
        /// Its namespace; none for what lies in no namespace.
        namespace: Option<String>,
        /// Its labels.
        labels: Pairs,
        /// Its annotations.
        annotations: Pairs,
    }

    /// A template of pods.
    PodTemplate {
        /// Their metadata.
        metadata: Option<TemplateMetadata>,
        /// What they are.
        spec: PodSpec,
    }

    /// The metadata of a template.
    TemplateMetadata {
        /// The pods' labels.
        labels: Pairs,
        /// The pods' annotations.
        annotations: Pairs,
    }

    /// A pod.
    PodSpec {
        /// The labels that its node must have.
        node_selector: Pairs,
        /// More about its node.
        affinity: Option<Value>,
        /// Taints that do not matter to it.
        tolerations: Vec<Value>,
        /// Whether it has the node's network.
        host_network: bool,
        /// Whether it has the node's IPC namespace.
        #[serde(rename = "hostIPC")]
        host_ipc: bool,
        /// Whether its containers are started again.
        restart_policy: &'static str,
        /// How it resolves names.
        dns_policy: &'static str,
        /// How long it may take to end, seconds.
        termination_grace_period_seconds: Option<u64>,
        /// Whether it may speak to the API server.
        automount_service_account_token: Option<bool>,
        /// Containers that run to their end first.
        init_containers: Vec<Container>,
        /// Its containers.
        containers: Vec<Container>,
        /// Its volumes.
        volumes: Vec<Volume>,
    }

    /// A container.
    Container {
        /// Its name.
        name: &'static str,
        /// Its image.
        image: String,
        /// When the image is pulled.
        image_pull_policy: &'static str,
        /// What it may do.
        security_context: Option<Value>,
        /// The program.
        command: Vec<String>,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment.
        env: Vec<Value>,
        /// The ports that it listens on.
        ports: Vec<Port>,
        /// What it needs and may use.
        resources: Option<Value>,
        /// Whether it has started.
        startup_probe: Option<Probe>,
        /// Whether it takes requests.
        readiness_probe: Option<Probe>,
        /// Whether it lives.
        liveness_probe: Option<Probe>,
        /// Where its volumes are.
        volume_mounts: Vec<VolumeMount>,
    }

    /// A container's port.
    Port {
        /// Its name.
        name: &'static str,
        /// Its number.
        container_port: Option<u16>,
        /// The node's port, the same under the node's network.
        host_port: Option<u16>,
        /// Its protocol.
        protocol: &'static str,
    }

    /// A probe over HTTP.
    Probe {
        /// What is asked.
        http_get: Option<Value>,
        /// How often, seconds.
        period_seconds: Option<u64>,
        /// How long an answer may take, seconds.
        timeout_seconds: Option<u64>,
        /// How many failures in a row count.
        failure_threshold: Option<u64>,
    }

    /// Where a volume is in a container.
    VolumeMount {
        /// The volume.
        name: &'static str,
        /// The path.
        mount_path: String,
        /// The one file of the volume that is mounted.
        sub_path: &'static str,
        /// Whether it cannot be written.
        read_only: bool,
    }

    /// A volume.
    Volume {
        /// Its name.
        name: &'static str,
        /// A folder of the node.
        host_path: Option<Value>,
        /// A folder of the pod.
        empty_dir: Option<Value>,
        /// A ConfigMap.
        config_map: Option<Value>,
    }

    /// A port of a Service.
    ServicePort {
        /// Its name.
        name: &'static str,
        /// Its number.
        port: Option<u16>,
        /// The container's port.
        target_port: Option<u16>,
        /// Every node's port.
        node_port: Option<u16>,
        /// Its protocol.
        protocol: &'static str,
    }
}

/// A manifest: one object, and what a human should know of it.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The name of its file.
    pub file: String,
    /// The object.
    pub object: Value,
    /// Comments, each above the line that its JSON pointer names; an empty pointer is the head of
    /// the file.
    pub comments: Vec<(&'static str, String)>,
}

impl Manifest {
    /// The object's kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Its text.
    #[must_use]
    pub fn yaml(&self) -> String {
        yaml::write(&self.object, &self.comments)
    }
}

/// A typed part as a value.
///
/// # Panics
/// Never.
pub fn value<T: Serialize>(part: &T) -> Value {
    serde_json::to_value(part).expect("the types here have string keys and finite numbers")
}
