//! The fields of Kubernetes' objects, for each of its versions: whether an object has one, of what
//! kind it is, and whether it has to be there.
//!
//! `api.txt` is written by `generate.py` from the definitions that Kubernetes publishes. What those
//! do not say and a server refuses nevertheless (words of which a field has a few, ranges, entries
//! that may be there once) stands in [`mod@values`].

use std::collections::HashMap;
use std::sync::LazyLock;

use super::node::{Data, Node};
use crate::names::KubernetesVersion;

mod values;

/// What is wrong with a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Its line.
    pub(super) line: usize,
    /// Its path, like `spec.template.spec.containers[0].image`.
    pub(super) key: String,
    /// What is there.
    pub(super) found: String,
    /// What may be there.
    pub(super) expected: String,
}

/// Of what kind a value is.
#[derive(Clone, Debug)]
enum Kind {
    Text,
    Int,
    Number,
    Bool,
    Quantity,
    IntOrText,
    Any,
    List(Box<Kind>),
    Map(Box<Kind>),
    Type(&'static str),
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    needed: bool,
    since: u8,
    until: u8,
    kind: Kind,
}

/// All of `api.txt`.
struct Api {
    oldest: u8,
    newest: u8,
    /// Versions and kinds of whole objects; a kind's type has the same name.
    kinds: Vec<(&'static str, &'static str)>,
    types: HashMap<&'static str, Vec<Field>>,
}

static API: LazyLock<Api> = LazyLock::new(|| Api::read(include_str!("api.txt")));

impl Api {
    fn read(text: &'static str) -> Self {
        let mut api = Self {
            oldest: 0,
            newest: 0,
            kinds: Vec::new(),
            types: HashMap::new(),
        };
        let number = |text: &str| text.parse().expect("api.txt has whole numbers here");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&'static str> = line.split(' ').collect();
            match words.as_slice() {
                ["versions", oldest, newest] => {
                    (api.oldest, api.newest) = (number(oldest), number(newest));
                }
                ["kind", version, kind] => api.kinds.push((version, kind)),
                [name, fields @ ..] => {
                    let fields = fields.iter().map(|field| {
                        let (name, kind) = field.split_once('=').expect("each field has a kind");
                        let (name, span) = name.split_once('@').unwrap_or((name, ""));
                        let (since, until) = span.split_once('-').unwrap_or((span, ""));
                        let or = |text: &str, base| {
                            if text.is_empty() { base } else { number(text) }
                        };
                        Field {
                            name: name.trim_end_matches('!'),
                            needed: name.ends_with('!'),
                            since: or(since, api.oldest),
                            until: or(until, api.newest),
                            kind: Kind::read(kind),
                        }
                    });
                    let fields = fields.collect();
                    api.types.insert(name, fields);
                }
                [] => {}
            }
        }
        api
    }

    fn fields(&self, of: &str, version: KubernetesVersion) -> impl Iterator<Item = &Field> {
        self.types
            .get(of)
            .into_iter()
            .flatten()
            .filter(move |field| (field.since..=field.until).contains(&version.minor()))
    }
}

impl Kind {
    fn read(code: &'static str) -> Self {
        let inner = |open, close| code.strip_prefix(open)?.strip_suffix(close).map(Self::read);
        if let Some(kind) = inner('[', ']') {
            return Self::List(Box::new(kind));
        }
        if let Some(kind) = inner('{', '}') {
            return Self::Map(Box::new(kind));
        }
        match code {
            "s" => Self::Text,
            "i" => Self::Int,
            "n" => Self::Number,
            "b" => Self::Bool,
            "q" => Self::Quantity,
            "x" => Self::IntOrText,
            "*" => Self::Any,
            name => Self::Type(name),
        }
    }

    fn expected(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Int => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Quantity => "an amount like 1, 500m or 16Gi".to_owned(),
            Self::IntOrText => "a whole number or a string".to_owned(),
            Self::Any => "anything".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a table".to_owned(),
            Self::Type(name) => format!("a table with the fields of {name}"),
        }
    }
}

/// Whether the fields of an object's kind are known, or it is no object of a cluster.
pub(super) fn knows(object: &Node) -> bool {
    let kind = object.text_of("kind");
    kind == "Kustomization" || API.kinds.iter().any(|(_, name)| *name == kind)
}

/// What is wrong with an object's fields by a version of Kubernetes.
pub(super) fn faults(object: &Node, version: KubernetesVersion) -> Vec<Fault> {
    let (api_version, kind) = (object.text_of("apiVersion"), object.text_of("kind"));
    let mut walk = Walk {
        version,
        faults: Vec::new(),
    };
    for (key, value) in [("apiVersion", &api_version), ("kind", &kind)] {
        if value.is_empty() {
            walk.fault(object.line, key, "nothing", "a string");
        }
    }
    let Some((known, name)) = API.kinds.iter().find(|(_, name)| *name == kind) else {
        return walk.faults;
    };
    if *known != api_version && !api_version.is_empty() {
        let line = object.get("apiVersion").map_or(object.line, |at| at.line);
        walk.fault(line, "apiVersion", &api_version, known);
    }
    walk.table(object, name, "");
    values::together(object, &mut walk.faults);
    walk.faults
}

struct Walk {
    version: KubernetesVersion,
    faults: Vec<Fault>,
}

impl Walk {
    fn fault(&mut self, line: usize, key: &str, found: &str, expected: &str) {
        self.faults.push(Fault {
            line,
            key: key.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        });
    }

    fn table(&mut self, node: &Node, of: &'static str, path: &str) {
        for (name, value) in node.entries() {
            let path = join(path, name);
            match API.fields(of, self.version).find(|f| f.name == name) {
                Some(field) => {
                    self.value(value, &field.kind, &path);
                    if let Some(expected) = values::wrong(of, field.name, value) {
                        self.fault(value.line, &path, &shown(value), &expected);
                    }
                }
                None => self.unknown(value.line, of, name, &path),
            }
        }
        for field in API.fields(of, self.version).filter(|field| field.needed) {
            if node
                .get(field.name)
                .is_none_or(|value| value.data == Data::Null)
            {
                self.fault(
                    node.line,
                    &join(path, field.name),
                    "nothing",
                    &field.kind.expected(),
                );
            }
        }
    }

    fn unknown(&mut self, line: usize, of: &str, name: &str, path: &str) {
        let elsewhere = API
            .types
            .get(of)
            .into_iter()
            .flatten()
            .find(|field| field.name == name);
        let near = API
            .fields(of, self.version)
            .map(|field| (strsim::jaro_winkler(field.name, name), field.name))
            .filter(|(likeness, _)| *likeness > 0.85)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let expected = match (elsewhere, near) {
            (Some(field), _) => format!(
                "no such field of {of} in Kubernetes {}: it is there {}",
                self.version,
                if field.since > self.version.minor() {
                    format!("from 1.{} on", field.since)
                } else {
                    format!("until 1.{}", field.until)
                }
            ),
            (None, Some((_, near))) => format!("a field of {of}; did you mean {near}?"),
            (None, None) => format!("a field of {of} in Kubernetes {}", self.version),
        };
        self.fault(line, path, "an unknown field", &expected);
    }

    fn value(&mut self, node: &Node, kind: &Kind, path: &str) {
        match (kind, &node.data) {
            (_, Data::Null)
            | (Kind::Any, _)
            | (Kind::Text, Data::Text(_))
            | (Kind::Int, Data::Int(_))
            | (Kind::Number, Data::Int(_) | Data::Float(_))
            | (Kind::Bool, Data::Bool(_))
            | (Kind::IntOrText, Data::Int(_) | Data::Text(_)) => {}
            (Kind::Quantity, Data::Int(_) | Data::Float(_) | Data::Text(_))
                if values::is_amount(&node.text()) => {}
            (Kind::Type(name), Data::Map(_)) => self.table(node, name, path),
            (Kind::List(kind), Data::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, kind, &format!("{path}[{index}]"));
                }
                if let Kind::Type(name) = **kind {
                    for (line, found, expected) in values::twice(name, items) {
                        self.fault(line, path, &found, &expected);
                    }
                }
            }
            (Kind::Map(kind), Data::Map(entries)) => {
                for (key, value) in entries {
                    self.value(value, kind, &join(path, key));
                    if matches!(**kind, Kind::Quantity) && values::is_part_of_device(key, value) {
                        self.fault(
                            value.line,
                            &join(path, key),
                            &shown(value),
                            "a whole number: a device is not shared",
                        );
                    }
                }
            }
            (kind, _) => self.fault(node.line, path, &shown(node), &kind.expected()),
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// A value for people: a string in quotes, so that "280" is told from 280.
fn shown(node: &Node) -> String {
    match &node.data {
        Data::Text(text) => format!("{:?}", text.chars().take(60).collect::<String>()),
        Data::Map(_) | Data::List(_) | Data::Null => node.kind().to_owned(),
        _ => node.text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::node;

    fn said(yaml: &str, version: &str) -> Vec<String> {
        let documents = node::read("x", yaml).unwrap();
        let version = KubernetesVersion::parse(version).unwrap();
        faults(&documents[0], version)
            .into_iter()
            .map(|f| {
                format!(
                    "{}: {}: found {}, expected {}",
                    f.line, f.key, f.found, f.expected
                )
            })
            .collect()
    }

    #[test]
    fn every_type_that_is_named_is_there() {
        fn named(kind: &Kind) -> Option<&'static str> {
            match kind {
                Kind::List(kind) | Kind::Map(kind) => named(kind),
                Kind::Type(name) => Some(name),
                _ => None,
            }
        }
        for (of, fields) in &API.types {
            for field in fields {
                assert!(field.since <= field.until, "{of}.{}", field.name);
                if let Some(name) = named(&field.kind) {
                    assert!(API.types.contains_key(name), "{of}.{}: {name}", field.name);
                }
            }
        }
        for (_, kind) in &API.kinds {
            assert!(API.types.contains_key(kind), "{kind}");
        }
        let known = (KubernetesVersion::OLDEST, KubernetesVersion::NEWEST);
        assert_eq!((API.oldest, API.newest), (known.0.minor(), known.1.minor()));
        assert!(values::are_fields(|of, name| API.types[of]
            .iter()
            .any(|f| f.name == name)));
    }

    #[test]
    fn a_field_is_known_from_its_version_on_and_until_its_last() {
        let pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n    restartPolicy: Always\n";
        assert_eq!(said(pod, "1.28"), [""; 0]);
        assert_eq!(
            said(pod, "1.27"),
            [
                "6: spec.containers[0].restartPolicy: found an unknown field, expected no such field of Container in Kubernetes 1.27: it is there from 1.28 on"
            ]
        );
        let claim = "apiVersion: v1\nkind: Pod\nspec:\n  containers: []\n  resourceClaims:\n  - name: x\n    source: {}\n";
        assert_eq!(said(claim, "1.30"), [""; 0]);
        assert!(said(claim, "1.31")[0].ends_with("it is there until 1.30"));
    }

    /// What kinds of values are told apart, and how each is named.
    #[test]
    fn a_wrong_value_is_named_with_what_is_expected() {
        let service = |ports: &str| format!("apiVersion: v1\nkind: Service\nspec: {{ {ports} }}\n");
        let pod = |spec: &str| {
            format!("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    {spec}\n")
        };
        let yaml = [
            service("ports: [{ port: 70000 }]"),
            service("ports: [{ port: \"80\" }]"),
            service("ports: [{ nodePort: 1 }]"),
            service("ports: 80"),
            service("type: Balancer"),
            service("selector: [a]"),
            service("selector: { a: 1 }"),
            service("selectors: {}"),
            pod("env: [{ name: A, value: 1 }]"),
            pod("env: [{ name: A, value: 0.5 }]"),
            pod("env: [{ name: A, value: true }]"),
            pod("env: [{ value: x }]"),
            pod("env: [{ name: A }, { name: A }]"),
            pod("resources: { limits: { nvidia.com/gpu: 0.5 } }"),
            pod("resources: { limits: { memory: 16GB } }"),
            pod("imagePullPolicy: Sometimes"),
            pod("args: serve"),
            pod("livenessProbe: { httpGet: { port: [] } }"),
            pod("securityContext: { privileged: \"yes\" }"),
            pod("volumeMounts: [{ name: a, mountPath: /a }, { name: b, mountPath: /a }]"),
            "apiVersion: apps/v1\nkind: Deployment\nspec: { strategy: { type: Recreate, rollingUpdate: {} } }\n".to_owned(),
            "apiVersion: v1\nkind: Deployment\nspec:\n".to_owned(),
            "kind: Service\n".to_owned(),
        ];
        let said: Vec<String> = yaml
            .iter()
            .map(|yaml| {
                format!(
                    "{}\n  {}",
                    yaml.lines().last().unwrap().trim(),
                    said(yaml, "1.36").join("\n  ")
                )
            })
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }
}
