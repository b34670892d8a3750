//! Manifests taken together: their objects, the pods that they make, and the engines in those.

use super::node::{self, Data, Node};
use super::schema;
use super::{Hit, Hits};
use crate::names::KubernetesVersion;
use crate::reader::Fault;

/// Manifests taken together.
pub struct Bundle {
    /// Every object.
    pub objects: Vec<Object>,
    /// Every pod that they make.
    pub pods: Vec<Pod>,
    /// The version of Kubernetes that they are for.
    pub kubernetes: KubernetesVersion,
}

/// One object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its file.
    pub file: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// All of it.
    pub node: Node,
}

/// One template of pods.
#[derive(Clone, Debug)]
pub struct Pod {
    /// The object that makes it.
    pub object: Object,
    /// The part of that object, for one that makes several; else empty.
    pub part: &'static str,
    /// The template's labels, with those that the object's controller adds.
    pub labels: Vec<(String, String)>,
    /// The pod's `spec`.
    pub spec: Node,
    /// The engine in it, if there is one.
    pub engine: Option<Engine>,
}

/// A container that runs `vllm serve`.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The container.
    pub container: Node,
    /// Its image.
    pub image: String,
    /// The line of its command.
    pub line: usize,
    /// The options, without their dashes.
    pub flags: Vec<(String, Option<String>)>,
    /// The variables: the container's and those that its script exports.
    pub env: Vec<(String, String)>,
}

impl Bundle {
    /// Reads files, each with its name.
    ///
    /// # Errors
    /// When one is not YAML.
    pub fn read(files: &[(String, String)], kubernetes: KubernetesVersion) -> Result<Self, Fault> {
        let mut objects = Vec::new();
        for (file, text) in files {
            for document in node::read(file, text)? {
                objects.extend(objects_of(file, document));
            }
        }
        let pods = objects.iter().flat_map(pods_of).collect();
        Ok(Self {
            objects,
            pods,
            kubernetes,
        })
    }

    /// The pods with an engine.
    pub(super) fn engines(&self) -> impl Iterator<Item = (&Pod, &Engine)> {
        self.pods
            .iter()
            .filter_map(|pod| pod.engine.as_ref().map(|engine| (pod, engine)))
    }
}

fn objects_of(file: &str, document: Node) -> Vec<Object> {
    if document.text_of("kind") == "List" {
        return document
            .list("items")
            .iter()
            .flat_map(|item| objects_of(file, item.clone()))
            .collect();
    }
    vec![Object {
        file: file.to_owned(),
        kind: document.text_of("kind"),
        name: document
            .at(&["metadata", "name"])
            .map(Node::text)
            .unwrap_or_default(),
        node: document,
    }]
}

fn pods_of(object: &Object) -> Vec<Pod> {
    let root = &object.node;
    let pod = |part, template: Option<&Node>, more: &[(&str, &str)]| {
        let template = template?;
        let mut labels = template
            .at(&["metadata", "labels"])
            .map(Node::pairs)
            .unwrap_or_default();
        labels.extend(
            more.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let spec = template.get("spec")?.clone();
        Some(Pod {
            engine: spec.list("containers").iter().find_map(engine),
            object: object.clone(),
            part,
            labels,
            spec,
        })
    };
    let made = match object.kind.as_str() {
        "Pod" => vec![pod("", Some(root), &[])],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => {
            vec![pod("", root.at(&["spec", "template"]), &[])]
        }
        "LeaderWorkerSet" => {
            let of = |name| root.at(&["spec", "leaderWorkerTemplate", name]);
            let name = ("leaderworkerset.sigs.k8s.io/name", object.name.as_str());
            let index = "leaderworkerset.sigs.k8s.io/worker-index";
            vec![
                pod(
                    "leader",
                    of("leaderTemplate").or(of("workerTemplate")),
                    &[name, (index, "0")],
                ),
                pod("worker", of("workerTemplate"), &[name, (index, "1")]),
            ]
        }
        _ => vec![],
    };
    made.into_iter().flatten().collect()
}

/// Short names of options, and the long ones.
const SHORT: &[(&str, &str)] = &[
    ("tp", "tensor-parallel-size"),
    ("n", "nnodes"),
    ("r", "node-rank"),
    ("q", "quantization"),
    ("ep", "enable-expert-parallel"),
];

fn engine(container: &Node) -> Option<Engine> {
    let mut words = Vec::new();
    for item in container
        .list("command")
        .iter()
        .chain(container.list("args"))
    {
        words.extend(split(&item.text()));
    }
    let start = words
        .windows(2)
        .position(|pair| pair[0].ends_with("vllm") && pair[1] == "serve")?;
    let mut env: Vec<(String, String)> = container
        .list("env")
        .iter()
        .map(|entry| (entry.text_of("name"), entry.text_of("value")))
        .collect();
    env.extend(
        words[..start]
            .iter()
            .filter_map(|word| word.split_once('='))
            .filter(|(name, _)| {
                !name.is_empty()
                    && name
                        .bytes()
                        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            })
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let line = container
        .get("args")
        .or(container.get("command"))
        .map_or(container.line, |node| node.line);
    Some(Engine {
        image: container.text_of("image"),
        line,
        flags: flags(&words[start + 2..]),
        env,
        container: container.clone(),
    })
}

/// The words of an argument: a script has many.
fn split(argument: &str) -> Vec<String> {
    if !argument.contains(['\n', ' ']) || argument.starts_with('{') {
        return vec![argument.to_owned()];
    }
    let joined = argument.replace("\\\n", " ");
    joined
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| {
            shell_words::split(line)
                .unwrap_or_else(|_| line.split_whitespace().map(str::to_owned).collect())
        })
        .collect()
}

fn flags(words: &[String]) -> Vec<(String, Option<String>)> {
    let mut flags = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            continue;
        };
        let (name, mut value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        if value.is_none() {
            value = words.next_if(|next| !next.starts_with('-')).cloned();
        }
        let name = SHORT
            .iter()
            .find(|(short, _)| *short == name)
            .map_or(name, |(_, long)| long);
        flags.push((name.replace('_', "-"), value));
    }
    flags
}

impl Engine {
    /// Whether an option is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(known, _)| known == name)
    }

    /// The value of an option.
    pub(super) fn flag(&self, name: &str) -> Option<&str> {
        self.flags
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .and_then(|(_, value)| value.as_deref())
    }

    /// The value of an option as a number.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.flag(name)?.parse().ok()
    }

    /// The value of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.env
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether it is the rank without the API.
    pub(super) fn is_worker(&self) -> bool {
        self.has("headless") || self.number::<u32>("node-rank").is_some_and(|rank| rank > 0)
    }

    /// Whether it is one rank of several nodes.
    pub(super) fn is_multi_node(&self) -> bool {
        self.number::<u32>("nnodes").is_some_and(|nodes| nodes > 1) || self.has("node-rank")
    }

    /// Where the mount of a path is.
    pub(super) fn mount(&self, path: &str) -> Option<&Node> {
        self.container
            .list("volumeMounts")
            .iter()
            .find(|mount| mount.text_of("mountPath").trim_end_matches('/') == path)
    }

    /// The mount that holds a path of the container.
    pub(super) fn mount_of(&self, path: &str) -> Option<&Node> {
        self.container
            .list("volumeMounts")
            .iter()
            .filter(|mount| {
                let at = mount.text_of("mountPath");
                path == at || path.starts_with(&(at.trim_end_matches('/').to_owned() + "/"))
            })
            .max_by_key(|mount| mount.text_of("mountPath").len())
    }
}

impl Pod {
    /// The volume of a mount.
    pub(super) fn volume(&self, mount: &Node) -> Option<&Node> {
        let name = mount.text_of("name");
        self.spec
            .list("volumes")
            .iter()
            .find(|volume| volume.text_of("name") == name)
    }

    /// What to call it.
    pub(super) fn title(&self) -> String {
        let Object { kind, name, .. } = &self.object;
        if self.part.is_empty() {
            format!("{kind} {name}")
        } else {
            format!("{kind} {name} ({})", self.part)
        }
    }

    /// The node's name that it is bound to by label.
    pub(super) fn hostname(&self) -> Option<String> {
        self.spec
            .get("nodeSelector")
            .and_then(|selector| selector.get("kubernetes.io/hostname"))
            .map(Node::text)
    }
}

impl Hits {
    /// Notes a finding on a pod.
    pub(super) fn pod(&mut self, pod: &Pod, line: usize, found: impl Into<String>) {
        self.0.push(Hit {
            file: pod.object.file.clone(),
            line,
            object: pod.title(),
            found: found.into(),
            ..Hit::default()
        });
    }

    /// Notes a finding on an object.
    pub(super) fn object(&mut self, object: &Object, line: usize, found: impl Into<String>) {
        self.0.push(Hit {
            file: object.file.clone(),
            line,
            object: format!("{} {}", object.kind, object.name),
            found: found.into(),
            ..Hit::default()
        });
    }

    /// Notes a finding on a field of an object.
    pub(super) fn field(&mut self, object: &Object, fault: schema::Fault) {
        self.0.push(Hit {
            file: object.file.clone(),
            line: fault.line,
            object: format!("{} {}", object.kind, object.name),
            key: fault.key,
            found: fault.found,
            expected: fault.expected,
        });
    }
}

impl Object {
    /// The line of an entry, or the object's own.
    pub(super) fn line(&self, path: &[&str]) -> usize {
        self.node.at(path).map_or(self.node.line, |node| node.line)
    }
}

impl Node {
    /// What kind of value it is, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "true or false",
            Data::Int(_) => "a whole number",
            Data::Float(_) => "a number",
            Data::Text(_) => "a string",
            Data::Map(_) => "a table",
            Data::List(_) => "a list",
        }
    }
}
