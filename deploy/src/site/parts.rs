//! The tables of `site.toml`, each with what it may hold.

use std::net::Ipv4Addr;

use toml_edit::Item;

use crate::flags::Settings;
use crate::names::{
    AbsolutePath, Cidr, Hca, ImageRef, Interface, Label, MemoryQuantity, NodeName, ServedName,
};
use crate::reader::{Section, Value};

/// Defines an enum that a file writes as a word.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $expected:expr, $first:ident, { $($(#[$vdoc:meta])* $variant:ident = $word:expr),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// The word in the file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl Value for $name {
            const EXPECTED: &'static str = $expected;

            fn read(item: &Item) -> Option<Self> {
                match item.as_str()? { $($word => Some(Self::$variant),)+ _ => None }
            }

            fn placeholder() -> Self { Self::$first }
        }
    };
}

choice!(
    /// The form that the stack takes in the cluster.
    Shape, "\"deployments\" or \"lws\"", Deployments, {
        /// Two Deployments of one pod each.
        Deployments = "deployments",
        /// A LeaderWorkerSet of two.
        Lws = "lws",
    }
);

choice!(
    /// When an image is pulled.
    PullPolicy, "\"IfNotPresent\", \"Always\" or \"Never\"", IfNotPresent, {
        /// When the node does not have it.
        IfNotPresent = "IfNotPresent",
        /// At every start.
        Always = "Always",
        /// Never: it was loaded by hand.
        Never = "Never",
    }
);

choice!(
    /// What reaches the engine's API.
    ExposeKind, "\"nodeport\", \"clusterip\" or \"cilium-lb\"", NodePort, {
        /// A port of every node.
        NodePort = "nodeport",
        /// Nothing from outside the cluster.
        ClusterIp = "clusterip",
        /// An address that Cilium announces by BGP.
        CiliumLb = "cilium-lb",
    }
);

choice!(
    /// A route of the router.
    Route, "\"bridge\" or \"native\"", Bridge, {
        /// Responses translated to Chat Completions.
        Bridge = "bridge",
        /// Responses passed through.
        Native = "native",
    }
);

/// The model as it is served.
#[derive(Clone, Debug)]
pub struct Model {
    /// Where the container finds it.
    pub path: AbsolutePath,
    /// Its name in the API.
    pub served_name: ServedName,
    /// The weights of one node, GiB.
    pub weights_gib: f64,
    /// The commit of the model's repository, for staging.
    pub revision: Option<String>,
}

/// One of the two nodes.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the cluster.
    pub host: NodeName,
    /// Its address on the cable between the two.
    pub fabric_ip: Ipv4Addr,
    /// The interface of that address.
    pub fabric_if: Interface,
    /// The address of the rendezvous.
    pub control_ip: Ipv4Addr,
    /// The interface of that address.
    pub control_if: Interface,
    /// The RoCE devices that carry the all-reduce.
    pub hca: Vec<Hca>,
    /// The GID index of those devices; `None` lets NCCL find it at each start.
    pub gid_index: Option<u64>,
    /// `MemTotal` of the node, GiB.
    pub mem_gib: f64,
}

/// How NCCL is told to talk.
#[derive(Clone, Debug)]
pub struct Nccl {
    /// The MTU of the cable's interface, bytes.
    pub mtu: u64,
    /// Whether two devices are one path.
    pub merge_nics: bool,
    /// `NCCL_DEBUG`.
    pub debug: String,
    /// More variables of NCCL.
    pub env: Settings,
}

/// Where files lie on the nodes.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The folder of the node that holds models.
    pub models_host_path: AbsolutePath,
    /// Where the container sees it.
    pub models_mount: AbsolutePath,
    /// The folder of the node for compiled kernels.
    pub cache_host_path: AbsolutePath,
    /// The size of `/dev/shm`.
    pub shm: MemoryQuantity,
    /// Whether the pods share the node's IPC namespace.
    pub host_ipc: bool,
}

/// How the engine's API is reached.
#[derive(Clone, Debug)]
pub struct Expose {
    /// What reaches it.
    pub kind: ExposeKind,
    /// The port of every node, for [`ExposeKind::NodePort`].
    pub node_port: u16,
    /// The address, for [`ExposeKind::CiliumLb`].
    pub lb_ip: Option<Ipv4Addr>,
    /// The pool that has to hold it.
    pub lb_pool: Option<Cidr>,
    /// The annotation by which Cilium is asked for it.
    pub lb_annotation: String,
    /// The host that a client names, where it is another than the site tells.
    pub address: Option<String>,
}

/// The router in front of the engine.
#[derive(Clone, Debug)]
pub struct Router {
    /// Its image.
    pub image: ImageRef,
    /// The node that it runs on; `None` is any but the two.
    pub node: Option<NodeName>,
    /// Its port on every node.
    pub node_port: u16,
    /// The Secret whose `LITELLM_MASTER_KEY` is its key.
    pub key_secret: Label,
    /// Its routes.
    pub routes: Vec<Route>,
    /// The host that a client names.
    pub address: Option<String>,
}

impl Route {
    /// The model name of this route.
    #[must_use]
    pub fn model(self, served: &str) -> String {
        match self {
            Self::Bridge => format!("{served}-cc"),
            Self::Native => served.to_owned(),
        }
    }
}

impl Model {
    pub(super) fn read(section: Section<'_>, weights_gib: f64) -> Self {
        let revision: Option<String> = section.get("revision");
        if let Some(revision) = &revision
            && (revision.len() != 40 || !revision.bytes().all(|b| b.is_ascii_hexdigit()))
        {
            section.fault(
                "revision",
                format!("{revision:?}"),
                "a commit of 40 hex digits: a branch moves",
            );
        }
        let model = Self {
            path: section.need("path"),
            served_name: section.need("served_name"),
            weights_gib: section.float("weights_gib", 1.0..=1024.0, Some(weights_gib)),
            revision,
        };
        section.finish();
        model
    }
}

impl Node {
    pub(super) fn read(section: Section<'_>) -> Self {
        let address = section.need("fabric_ip");
        let interface: Interface = section.need("fabric_if");
        let hca = section.need("hca");
        let node = Self {
            host: section.need("host"),
            fabric_ip: address,
            control_ip: section.get("control_ip").unwrap_or(address),
            control_if: section
                .get("control_if")
                .unwrap_or_else(|| interface.clone()),
            fabric_if: interface,
            hca,
            gid_index: section.get::<GidIndex>("gid_index").and_then(|gid| gid.0),
            mem_gib: section.float("mem_gib", 16.0..=1024.0, None),
        };
        section.finish();
        node
    }
}

struct GidIndex(Option<u64>);

impl Value for GidIndex {
    const EXPECTED: &'static str = "\"auto\", or a whole number from 0 to 255";

    fn read(item: &Item) -> Option<Self> {
        if item.as_str() == Some("auto") {
            return Some(Self(None));
        }
        let index = u64::try_from(item.as_integer()?).ok()?;
        (index <= 255).then_some(Self(Some(index)))
    }

    fn placeholder() -> Self {
        Self(None)
    }
}

impl Nccl {
    pub(super) fn read(section: Section<'_>) -> Self {
        let debug: String = section.get("debug").unwrap_or_else(|| "WARN".to_owned());
        if !["VERSION", "WARN", "INFO", "TRACE"].contains(&debug.as_str()) {
            section.fault(
                "debug",
                format!("{debug:?}"),
                "VERSION, WARN, INFO or TRACE",
            );
        }
        let nccl = Self {
            mtu: section.int("mtu", 1280..=9978, Some(9000)),
            merge_nics: section.get("merge_nics").unwrap_or(false),
            debug,
            env: Settings::variables(section.section("env")),
        };
        section.finish();
        nccl
    }
}

impl Storage {
    pub(super) fn read(section: Section<'_>) -> Self {
        let models_host_path: AbsolutePath = section.need("models_host_path");
        let storage = Self {
            models_mount: section
                .get("models_mount")
                .unwrap_or_else(|| models_host_path.clone()),
            models_host_path,
            cache_host_path: section.need("cache_host_path"),
            shm: section
                .get("shm")
                .unwrap_or_else(|| MemoryQuantity::parse("16Gi").expect("a constant quantity")),
            host_ipc: section.get("host_ipc").unwrap_or(false),
        };
        section.finish();
        storage
    }
}

/// The ports that Kubernetes hands out for NodePort Services unless the cluster says otherwise.
pub const NODE_PORTS: std::ops::RangeInclusive<u16> = 30000..=32767;

impl Expose {
    pub(super) fn read(section: Section<'_>) -> Self {
        let expose = Self {
            kind: section.get("kind").unwrap_or(ExposeKind::NodePort),
            node_port: section.port("node_port", NODE_PORTS, Some(30800)),
            lb_ip: section.get("lb_ip"),
            lb_pool: section.get("lb_pool"),
            lb_annotation: section
                .get("lb_annotation")
                .unwrap_or_else(|| "lbipam.cilium.io/ips".to_owned()),
            address: section.get("address"),
        };
        section.finish();
        expose
    }
}

impl Router {
    pub(super) fn read(section: Section<'_>) -> Option<Self> {
        let enabled = section.get("enabled").unwrap_or(section.is_there());
        let router = enabled.then(|| Self {
            image: section.need("image"),
            node: section.get("node"),
            node_port: section.port("node_port", NODE_PORTS, Some(30400)),
            key_secret: section.need("key_secret"),
            routes: section
                .get("routes")
                .unwrap_or_else(|| vec![Route::Bridge, Route::Native]),
            address: section.get("address"),
        });
        if enabled {
            section.finish();
        }
        router
    }
}
