//! `site.toml`: one two-node stack, as its owner describes it.
//!
//! A [`Site`] is only made by reading a file, so every value in it has passed its own test and those
//! against the others that make a stack impossible. What is possible and unwise is for
//! [`crate::check`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::names::{ImageRef, KubernetesVersion, Label, NodeName, StackName};
use crate::reader::{Fault, Faults, Section, Source};
use crate::recipe::{BUILT_IN, Recipe};
use crate::serve::Serve;

#[cfg(test)]
pub(crate) mod example;
mod init;
mod parts;
#[cfg(test)]
mod tests;

pub use init::{Answers, NodeAnswers, template};
pub use parts::{
    Expose, ExposeKind, Model, NODE_PORTS, Nccl, Node, PullPolicy, Route, Router, Shape, Storage,
};

/// A two-node stack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Site {
    /// The file, as it was named.
    pub file: String,
    /// The form in the cluster.
    pub shape: Shape,
    /// The namespace.
    pub namespace: Label,
    /// The stack's name; all objects' names begin with it.
    pub name: StackName,
    /// What is known of the image and model.
    pub recipe: Recipe,
    /// The context of `kubectl`; `None` is its current one.
    pub context: Option<String>,
    /// The version of Kubernetes that manifests are checked for.
    pub kubernetes: KubernetesVersion,
    /// Whether the namespace gets the pod-security label.
    pub pod_security_label: bool,
    /// The serving image.
    pub image: ImageRef,
    /// When it is pulled.
    pub pull_policy: PullPolicy,
    /// Whether a DaemonSet pulls it ahead of the first start.
    pub prepull: bool,
    /// The model.
    pub model: Model,
    /// The node with the API.
    pub head: Node,
    /// The other node.
    pub worker: Node,
    /// What the engine is told.
    pub serve: Serve,
    /// How NCCL is told to talk.
    pub nccl: Nccl,
    /// Where files lie.
    pub storage: Storage,
    /// How the API is reached.
    pub expose: Expose,
    /// The router in front, if any.
    pub router: Option<Router>,
    /// How long a start may take, minutes.
    pub startup_minutes: u64,
    lines: BTreeMap<String, usize>,
}

/// What the agent's side needs of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The base URL, with `/v1`.
    pub url: String,
    /// The model names to ask for, the default first.
    pub models: Vec<String>,
    /// The longest request, tokens.
    pub window: u64,
    /// The variable that the key is expected in; `None` where no key is needed.
    pub key_env: Option<&'static str>,
}

/// The variable that holds the router's key, in its Secret and on the agent's side.
pub const KEY_ENV: &str = "LITELLM_MASTER_KEY";

/// Why a site could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The file, or its recipe's, cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is at fault.
    #[error(transparent)]
    Faults(#[from] Faults),
}

impl Site {
    /// Reads a file, and the recipe that it names.
    ///
    /// # Errors
    /// When a file cannot be read, or any value in it is at fault.
    pub fn load(path: &Path) -> Result<Self, SiteError> {
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|source| SiteError::Read {
                path: path.to_owned(),
                source,
            })
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(&path.display().to_string(), &read(path)?, &|recipe| {
            read(&folder.join(recipe))
        })
    }

    /// Reads a site from its text; `recipe` reads a recipe's file by the path in the site.
    ///
    /// # Errors
    /// When the recipe cannot be read, or any value in either text is at fault.
    pub fn parse(
        file: &str,
        text: &str,
        recipe: &dyn Fn(&str) -> Result<String, SiteError>,
    ) -> Result<Self, SiteError> {
        let source = Source::new(file, text);
        let document = source.document()?;
        let root = source.root(&document);
        root.int("version", 1..=1, None);
        let recipe = read_recipe(&root, file, recipe)?;
        let mut site = Self::read(file, &root, recipe);
        // Placeholders of what is at fault would only make more faults.
        if source.is_clean() {
            site.impossible(&root);
        }
        root.finish();
        site.lines = source.finish()?;
        Ok(site)
    }

    fn read(file: &str, root: &Section<'_>, recipe: Recipe) -> Self {
        let cluster = root.section("cluster");
        let image = root.section("image");
        let probes = root.section("probes");
        let nodes = root.needed_section("nodes");
        let serve = Serve::read(root.section("serve"), Some(&recipe.serve));
        let storage = Storage::read(root.needed_section("storage"));
        let site = Self {
            file: file.to_owned(),
            shape: root.need("shape"),
            namespace: root.need("namespace"),
            name: root.need("name"),
            context: cluster.get("context"),
            kubernetes: cluster
                .get("kubernetes")
                .unwrap_or(KubernetesVersion::NEWEST),
            pod_security_label: cluster.get("pod_security_label").unwrap_or(true),
            image: image.get("ref").unwrap_or_else(|| recipe.image.clone()),
            pull_policy: image.get("pull_policy").unwrap_or(PullPolicy::IfNotPresent),
            prepull: image.get("prepull").unwrap_or(false),
            model: Model::read(root.needed_section("model"), recipe.fit.weights_gib),
            head: Node::read(nodes.needed_section("head")),
            worker: Node::read(nodes.needed_section("worker")),
            nccl: Nccl::read(root.section("nccl")),
            expose: Expose::read(root.section("expose")),
            router: Router::read(root.section("router")),
            startup_minutes: probes.int(
                "startup_minutes",
                1..=600,
                Some(recipe.cold_start_minutes * 5),
            ),
            serve,
            storage,
            recipe,
            lines: BTreeMap::new(),
        };
        for section in [cluster, image, probes, nodes] {
            section.finish();
        }
        site
    }

    /// Notes what cannot be, taken together.
    fn impossible(&self, root: &Section<'_>) {
        self.impossible_nodes(root);
        let serve = root.section("serve");
        if self.serve.api_port == self.serve.master_port {
            serve.fault(
                "master_port",
                self.serve.master_port.to_string(),
                "another port than serve.api_port: both listen on the head",
            );
        }
        if self.recipe.pages(&self.serve.kv_cache_dtype).is_none() {
            let known: Vec<&str> = self
                .recipe
                .fit
                .pages
                .iter()
                .map(|p| p.dtype.as_str())
                .collect();
            serve.fault(
                "kv_cache_dtype",
                format!("{:?}", self.serve.kv_cache_dtype),
                &format!("a dtype of recipe {}: {}", self.recipe.id, known.join(", ")),
            );
        }
        if self.serve.max_model_len > self.recipe.fit.model_limit {
            serve.fault(
                "max_model_len",
                self.serve.max_model_len.to_string(),
                &format!(
                    "at most {}, the model's own limit",
                    self.recipe.fit.model_limit
                ),
            );
        }
        let mount = format!("{}/", self.storage.models_mount);
        if !self.model.path.as_str().starts_with(&mount) {
            root.section("model").fault(
                "path",
                self.model.path.to_string(),
                &format!("a folder under storage.models_mount, {mount}"),
            );
        }
        let expose = root.section("expose");
        if self.expose.kind == ExposeKind::CiliumLb {
            match (self.expose.lb_ip, self.expose.lb_pool) {
                (None, _) => {
                    expose.fault("lb_ip", "nothing", "the address for kind = \"cilium-lb\"");
                }
                (Some(ip), Some(pool)) if !pool.contains(ip) => {
                    expose.fault(
                        "lb_ip",
                        ip.to_string(),
                        &format!("an address of lb_pool, {pool}"),
                    );
                }
                _ => {}
            }
        }
        if let Some(router) = &self.router {
            let section = root.section("router");
            if self.expose.kind == ExposeKind::NodePort && router.node_port == self.expose.node_port
            {
                section.fault(
                    "node_port",
                    router.node_port.to_string(),
                    "another port than expose.node_port",
                );
            }
            if router
                .node
                .as_ref()
                .is_some_and(|node| *node == self.head.host || *node == self.worker.host)
            {
                section.fault(
                    "node",
                    "a node of the model",
                    "another node: a router beside the head pushed it into swapping, and decode fell eightfold",
                );
            }
        }
    }

    fn impossible_nodes(&self, root: &Section<'_>) {
        let nodes = root.section("nodes");
        let (head, worker) = (&self.head, &self.worker);
        let worker_section = nodes.section("worker");
        for (key, same, value) in [
            ("host", head.host == worker.host, worker.host.to_string()),
            (
                "fabric_ip",
                head.fabric_ip == worker.fabric_ip,
                worker.fabric_ip.to_string(),
            ),
            (
                "control_ip",
                head.control_ip == worker.control_ip,
                worker.control_ip.to_string(),
            ),
        ] {
            if same && worker_section.is_there() {
                worker_section.fault(
                    key,
                    format!("{value}, the head's own"),
                    "another than nodes.head has",
                );
            }
        }
    }

    /// The line of a key like `nodes.head.host`, from 1; the nearest table above it where the file
    /// has not the key itself.
    #[must_use]
    pub fn line(&self, key: &str) -> usize {
        let mut key = key;
        loop {
            if let Some(line) = self.lines.get(key) {
                return *line;
            }
            match key.rsplit_once('.') {
                Some((above, _)) => key = above,
                None => return 1,
            }
        }
    }

    /// The name of the engine's Service.
    #[must_use]
    pub fn service(&self) -> String {
        self.name.to_string()
    }

    /// What the agent's side needs: the router where there is one, else the engine itself.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        let served = self.model.served_name.as_str();
        let window = self.serve.max_model_len;
        if let Some(router) = &self.router {
            let host = router.address.clone().unwrap_or_else(|| {
                router
                    .node
                    .as_ref()
                    .map_or_else(|| self.head.control_ip.to_string(), NodeName::to_string)
            });
            return Endpoint {
                url: format!("http://{host}:{}/v1", router.node_port),
                models: router
                    .routes
                    .iter()
                    .map(|route| route.model(served))
                    .collect(),
                window,
                key_env: Some(KEY_ENV),
            };
        }
        Endpoint {
            url: self.engine_url(),
            models: vec![served.to_owned()],
            window,
            key_env: None,
        }
    }

    /// The base URL of the engine itself, with `/v1`.
    #[must_use]
    pub fn engine_url(&self) -> String {
        let (host, port) = match self.expose.kind {
            ExposeKind::NodePort => (self.head.control_ip.to_string(), self.expose.node_port),
            ExposeKind::CiliumLb => (
                self.expose
                    .lb_ip
                    .unwrap_or(self.head.control_ip)
                    .to_string(),
                80,
            ),
            ExposeKind::ClusterIp => (
                format!("{}.{}.svc.cluster.local", self.service(), self.namespace),
                self.serve.api_port,
            ),
        };
        let host = self.expose.address.clone().unwrap_or(host);
        if port == 80 {
            format!("http://{host}/v1")
        } else {
            format!("http://{host}:{port}/v1")
        }
    }

    /// The two nodes, the head first.
    #[must_use]
    pub fn nodes(&self) -> [&Node; 2] {
        [&self.head, &self.worker]
    }
}

fn read_recipe(
    root: &Section<'_>,
    file: &str,
    read: &dyn Fn(&str) -> Result<String, SiteError>,
) -> Result<Recipe, SiteError> {
    let name: String = root.need("recipe");
    if Path::new(&name)
        .extension()
        .is_some_and(|end| end == "toml")
    {
        return Ok(Recipe::parse(&name, &read(&name)?)?);
    }
    if let Some(recipe) = Recipe::built_in(&name) {
        return Ok(recipe.clone());
    }
    let known: Vec<&str> = BUILT_IN.iter().map(|(id, _)| *id).collect();
    // Without a recipe nothing else of the file can be judged.
    Err(Faults(vec![Fault {
        file: file.to_owned(),
        line: root.line_of("recipe"),
        key: "recipe".to_owned(),
        found: if name.is_empty() {
            "nothing".to_owned()
        } else {
            format!("{name:?}")
        },
        expected: format!(
            "{}, or the path of your own recipe, FILE.toml",
            known.join(", ")
        ),
    }])
    .into())
}
