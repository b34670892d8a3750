//! Options of `vllm serve` and environment variables, as a recipe and a site give them.

use toml_edit::Item;

use crate::reader::{Section, Value};

/// The value of an option or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// An option without a value; `true` in the file.
    Bare,
    /// Left out, although the recipe has it; `false` in the file.
    Off,
    /// A value.
    Text(String),
}

impl Value for Setting {
    const EXPECTED: &'static str = "a string, a whole number, true, or false to leave it out";

    fn read(item: &Item) -> Option<Self> {
        match item {
            _ if item.as_bool() == Some(true) => Some(Self::Bare),
            _ if item.as_bool() == Some(false) => Some(Self::Off),
            _ => item
                .as_integer()
                .map(|number| number.to_string())
                .or_else(|| item.as_str().map(str::to_owned))
                .map(Self::Text),
        }
    }

    fn placeholder() -> Self {
        Self::Off
    }
}

/// Options or variables, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(String, Setting)>);

/// Options that are made from other keys, and which.
const MADE: &[(&str, &str)] = &[
    (
        "host",
        "nothing: the API listens on every address of the head",
    ),
    ("port", "serve.api_port"),
    ("master-addr", "nodes.head.control_ip"),
    ("master-port", "serve.master_port"),
    ("nnodes", "nothing: there are two nodes"),
    ("node-rank", "nothing: head 0, worker 1"),
    ("headless", "nothing: the worker has it"),
    (
        "tensor-parallel-size",
        "nothing: it is 2, one GPU on each node",
    ),
    ("distributed-executor-backend", "nothing: it is mp"),
    ("served-model-name", "model.served_name"),
    ("max-model-len", "serve.max_model_len"),
    ("max-num-seqs", "serve.max_num_seqs"),
    ("max-num-batched-tokens", "serve.max_num_batched_tokens"),
    ("gpu-memory-utilization", "serve.gpu_memory_utilization"),
    ("kv-cache-dtype", "serve.kv_cache_dtype"),
    ("block-size", "nothing: the recipe's arithmetic has it"),
    ("enable-prefix-caching", "serve.prefix_caching"),
    ("async-scheduling", "serve.async_scheduling"),
    (
        "long-prefill-token-threshold",
        "serve.long_prefill_token_threshold",
    ),
    ("max-cudagraph-capture-size", "serve.cudagraph_capture"),
    ("speculative-config", "serve.speculative_tokens"),
];

impl Settings {
    /// Reads a table of options of `vllm serve`, named without their dashes.
    #[must_use]
    pub fn options(section: Section<'_>) -> Self {
        Self::read(
            section,
            "an option's name without dashes in front, like load-format",
            |name| {
                if let Some((_, key)) = MADE.iter().find(|(made, _)| *made == name) {
                    return Err(format!("another place: it is made from {key}"));
                }
                let good = name.starts_with(|c: char| c.is_ascii_lowercase())
                    && name
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
                if good { Ok(()) } else { Err(String::new()) }
            },
        )
    }

    /// Reads a table of environment variables.
    #[must_use]
    pub fn variables(section: Section<'_>) -> Self {
        Self::read(section, "a variable's name of A-Z, 0-9 and _", |name| {
            if SECRETS.iter().any(|part| name.ends_with(part)) {
                return Err("no secret in a file: put it into a Secret of the cluster".to_owned());
            }
            let good = !name.starts_with(|c: char| c.is_ascii_digit())
                && name
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            if good { Ok(()) } else { Err(String::new()) }
        })
    }

    fn read(
        section: Section<'_>,
        expected: &str,
        name_is_good: impl Fn(&str) -> Result<(), String>,
    ) -> Self {
        let mut settings = Vec::new();
        for name in section.names() {
            if let Err(other) = name_is_good(&name) {
                let expected = if other.is_empty() { expected } else { &other };
                section.fault(&name, format!("the name {name}"), expected);
            }
            let value = section.need(&name);
            settings.push((name, value));
        }
        section.finish();
        Self(settings)
    }

    /// These with `over` laid on top; what `over` adds comes last.
    #[must_use]
    pub fn overlaid(&self, over: &Self) -> Self {
        let mut settings = self.0.clone();
        for (name, value) in &over.0 {
            match settings.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = value.clone(),
                None => settings.push((name.clone(), value.clone())),
            }
        }
        Self(settings)
    }

    /// Names and values without those that are left out; `None` is an option without a value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Setting::Bare => Some((name.as_str(), None)),
            Setting::Text(text) => Some((name.as_str(), Some(text.as_str()))),
            Setting::Off => None,
        })
    }

    /// The value of `name`, where it has one.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| *known == name)
            .and_then(|(_, value)| value)
    }
}

/// How the name of a variable ends whose value is a secret.
pub const SECRETS: &[&str] = &["_TOKEN", "_KEY", "_SECRET", "_PASSWORD"];
