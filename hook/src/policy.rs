//! The policy in force: a preset and what `guard.toml` changes of it.

use codex_ds_rules::{Class, Matcher, Prefixes, Preset, Rule, Test, on};
use toml_edit::{Item, TableLike};

use crate::budgets::{self, Budgets};

/// What is denied.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The preset.
    pub preset: Preset,
    /// Classes that are switched off.
    pub off: Vec<Class>,
    /// Rules of the user's own.
    pub extra: Vec<&'static Rule>,
    /// Folders and files that are never written, moved or deleted. `~` is the user's home.
    pub protected: Vec<String>,
    /// Folders and files that are never read.
    pub secrets: Vec<String>,
    /// Machines, by the first pattern that fits.
    pub hosts: Vec<(String, Host)>,
    /// MCP servers whose tools all pass.
    pub servers: Vec<String>,
    /// MCP servers of which no tool passes.
    pub denied_servers: Vec<String>,
    /// What the log keeps.
    pub log: Log,
    /// How much work an analysis may take.
    pub budgets: Budgets,
}

/// What may run on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// What only looks: the default.
    ReadOnly,
    /// Anything.
    Free,
    /// Nothing.
    Forbidden,
}

/// What the log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// Nothing.
    Off,
    /// Denials and grants.
    Denied,
    /// Every request.
    All,
}

/// The MCP servers that set-up installs.
const SERVERS: &[&str] = &["fetch", "search"];

/// The keys of `guard.toml`, for an error.
const KEYS: &str = "schema, preset, log, classes, paths, hosts, mcp, budgets or rules";

impl Default for Policy {
    fn default() -> Self {
        Self::builtin(Preset::default())
    }
}

impl Policy {
    /// The built-in policy of a preset.
    #[must_use]
    pub fn builtin(preset: Preset) -> Self {
        Self {
            preset,
            off: Vec::new(),
            extra: Vec::new(),
            protected: Vec::new(),
            secrets: Vec::new(),
            hosts: Vec::new(),
            servers: SERVERS.iter().map(|name| (*name).to_owned()).collect(),
            denied_servers: Vec::new(),
            log: Log::Denied,
            budgets: Budgets::default(),
        }
    }

    /// Reads the text of a `guard.toml`.
    ///
    /// # Errors
    /// The text is not TOML, or a key has a value that it cannot have: what, where, and what
    /// would be right.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let table: toml_edit::Document<String> = text
            .parse()
            .map_err(|e: toml_edit::TomlError| PolicyError(e.to_string().replace('\n', " ")))?;
        let mut policy = Self::default();
        for (key, value) in table.iter() {
            match key {
                "schema" if value.as_integer() == Some(1) => {}
                "schema" => return Err(wrong("schema", value, "1")),
                "preset" => {
                    policy.preset = string("preset", value)?.parse().map_err(
                        |e: codex_ds_rules::UnknownPreset| PolicyError(format!("preset: {e}")),
                    )?;
                }
                "log" => {
                    policy.log = match value.as_str() {
                        Some("off") => Log::Off,
                        Some("denied") => Log::Denied,
                        Some("all") => Log::All,
                        _ => return Err(wrong("log", value, "\"off\", \"denied\" or \"all\"")),
                    };
                }
                "classes" => policy.off = classes(value)?,
                "paths" => {
                    for (key, value) in entries("paths", value)? {
                        let list = strings(&format!("paths.{key}"), value)?;
                        match key {
                            "protected" => policy.protected = paths(key, list)?,
                            "secrets" => policy.secrets = paths(key, list)?,
                            _ => return Err(unknown("paths", key, "protected or secrets")),
                        }
                    }
                }
                "hosts" => policy.hosts = hosts(value)?,
                "mcp" => {
                    for (key, value) in entries("mcp", value)? {
                        let list = strings(&format!("mcp.{key}"), value)?;
                        match key {
                            "allow" => policy.servers = list,
                            "deny" => policy.denied_servers = list,
                            _ => return Err(unknown("mcp", key, "allow or deny")),
                        }
                    }
                }
                "budgets" => budgets(value, &mut policy.budgets)?,
                "rules" => policy.extra = rules(value)?,
                other => {
                    return Err(PolicyError(format!(
                        "unknown key {other:?}: expected {KEYS}"
                    )));
                }
            }
        }
        Ok(policy)
    }

    /// Whether a rule is in force.
    pub(crate) fn enforces(&self, rule: &Rule) -> bool {
        rule.presets.contains(&self.preset) && !self.off.contains(&rule.class)
    }

    /// What may run on a machine; `user@` and a port do not count.
    pub(crate) fn host(&self, name: &str) -> Host {
        let name = name.rsplit('@').next().unwrap_or(name);
        self.hosts
            .iter()
            .find(|(pattern, _)| crate::value::Value::known(name).may_match(pattern))
            .map_or(Host::ReadOnly, |(_, host)| *host)
    }
}

fn wrong(key: &str, value: &Item, expected: &str) -> PolicyError {
    PolicyError(format!(
        "{key}: found {}, expected {expected}",
        value.to_string().trim()
    ))
}

fn unknown(table: &str, key: &str, expected: &str) -> PolicyError {
    PolicyError(format!(
        "unknown key {key:?} in [{table}]: expected {expected}"
    ))
}

fn string(key: &str, value: &Item) -> Result<String, PolicyError> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| wrong(key, value, "a string"))
}

fn strings(key: &str, value: &Item) -> Result<Vec<String>, PolicyError> {
    let list = value
        .as_array()
        .ok_or_else(|| wrong(key, value, "a list of strings"))?;
    list.iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| wrong(key, value, "a list of strings"))
}

fn entries<'t>(key: &str, value: &'t Item) -> Result<Vec<(&'t str, &'t Item)>, PolicyError> {
    value
        .as_table_like()
        .map(|table| table.iter().collect())
        .ok_or_else(|| wrong(key, value, "a table"))
}

/// `[classes]`: `container = false` switches one off. `guard` and `shell` cannot be: without them
/// the others say nothing.
fn classes(value: &Item) -> Result<Vec<Class>, PolicyError> {
    let mut off = Vec::new();
    for (key, value) in entries("classes", value)? {
        let Some(class) = Class::ALL.iter().find(|class| class.name() == key) else {
            let names: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
            return Err(unknown("classes", key, &names.join(", ")));
        };
        match value.as_bool() {
            Some(true) => {}
            Some(false) if matches!(class, Class::Guard | Class::Shell) => {
                return Err(wrong(
                    &format!("classes.{key}"),
                    value,
                    "true: this class cannot be switched off",
                ));
            }
            Some(false) => off.push(*class),
            None => return Err(wrong(&format!("classes.{key}"), value, "true or false")),
        }
    }
    Ok(off)
}

/// `[budgets]`: each key a whole number up to the most of that budget.
fn budgets(value: &Item, budgets: &mut Budgets) -> Result<(), PolicyError> {
    for (key, value) in entries("budgets", value)? {
        let Some((_, field, most)) = budgets::KEYS.iter().find(|(name, ..)| *name == key) else {
            let names: Vec<&str> = budgets::KEYS.iter().map(|(name, ..)| *name).collect();
            return Err(unknown("budgets", key, &names.join(", ")));
        };
        let number = value.as_integer().and_then(|n| u32::try_from(n).ok());
        *field(budgets) = number
            .filter(|number| (1..=*most).contains(number))
            .ok_or_else(|| {
                let expected = format!("a whole number from 1 to {most}");
                wrong(&format!("budgets.{key}"), value, &expected)
            })?;
    }
    Ok(())
}

fn paths(key: &str, list: Vec<String>) -> Result<Vec<String>, PolicyError> {
    match list
        .iter()
        .find(|path| !path.starts_with('/') && !path.starts_with("~/"))
    {
        Some(path) => Err(PolicyError(format!(
            "paths.{key}: found {path:?}, expected a path that begins with / or ~/"
        ))),
        None => Ok(list),
    }
}

/// `[hosts]`: lists of patterns. What is forbidden counts before what is free.
fn hosts(value: &Item) -> Result<Vec<(String, Host)>, PolicyError> {
    let mut hosts = Vec::new();
    for (key, value) in entries("hosts", value)? {
        let host = match key {
            "forbidden" => Host::Forbidden,
            "read-only" => Host::ReadOnly,
            "free" => Host::Free,
            _ => return Err(unknown("hosts", key, "read-only, free or forbidden")),
        };
        for pattern in strings(&format!("hosts.{key}"), value)? {
            hosts.push((pattern, host));
        }
    }
    hosts.sort_by_key(|(_, host)| match host {
        Host::Forbidden => 0,
        Host::ReadOnly => 1,
        Host::Free => 2,
    });
    Ok(hosts)
}

/// The keys of a rule of the user's own.
const RULE_KEYS: &str = "id, command, flags, unless, class, title, why or instead";

fn rules(value: &Item) -> Result<Vec<&'static Rule>, PolicyError> {
    let tables = value
        .as_array_of_tables()
        .ok_or_else(|| wrong("rules", value, "[[rules]] tables"))?;
    tables.iter().map(|table| rule(table)).collect()
}

/// One `[[rules]]`. The rules of the table are constants; these live as long as the process that
/// read them, so they are given the same type.
fn rule(table: &dyn TableLike) -> Result<&'static Rule, PolicyError> {
    let mut id = None;
    let mut class = Class::Shell;
    let mut words = Vec::new();
    let (mut flags, mut unless) = (Vec::new(), Vec::new());
    let mut texts = [
        "a command of a rule of this machine".to_owned(),
        "the owner of this machine does not want it".to_owned(),
        "ask the user".to_owned(),
    ];
    for (key, value) in table.iter() {
        let name = format!("rules.{key}");
        match key {
            "id" => id = Some(string(&name, value)?),
            "class" => {
                let wanted = string(&name, value)?;
                class = *Class::ALL
                    .iter()
                    .find(|class| class.name() == wanted)
                    .ok_or_else(|| wrong(&name, value, "the name of a class"))?;
            }
            "command" => words = strings(&name, value)?,
            "flags" => flags = strings(&name, value)?,
            "unless" => unless = strings(&name, value)?,
            "title" => texts[0] = string(&name, value)?,
            "why" => texts[1] = string(&name, value)?,
            "instead" => texts[2] = string(&name, value)?,
            other => return Err(unknown("rules", other, RULE_KEYS)),
        }
    }
    let id = id.ok_or_else(|| PolicyError("rules.id: expected a name for the rule".to_owned()))?;
    let Some((program, sub)) = words.split_first() else {
        return Err(PolicyError(format!(
            "rules.command of {id}: expected a list such as [\"make\", \"deploy|release\"]"
        )));
    };
    let sub: Vec<&'static [&'static str]> = sub.iter().map(|word| alternatives(word)).collect();
    let flagged = |names: Vec<String>| -> &'static [Test] {
        if names.is_empty() {
            return &[];
        }
        let names: Vec<&'static str> = names.into_iter().map(leak).collect();
        Vec::leak(vec![Test::Flag(Vec::leak(names))])
    };
    // A program counts by its base name, wherever it lies.
    let program = program.rsplit('/').next().unwrap_or(program);
    let pattern = on(alternatives(program))
        .sub(Vec::leak(sub))
        .when(flagged(flags))
        .unless(flagged(unless));
    let [title, why, instead] = texts.map(leak);
    Ok(Box::leak(Box::new(Rule {
        id: leak(id),
        class,
        title,
        why,
        instead,
        on: Matcher::Commands(Vec::leak(vec![pattern])),
        presets: &[Preset::Lab, Preset::Dev],
        execpolicy: Prefixes::None,
        deny: &[],
        allow: &[],
    })))
}

fn leak(text: String) -> &'static str {
    String::leak(text)
}

/// `a|b`: one of these words.
fn alternatives(word: &str) -> &'static [&'static str] {
    Vec::leak(word.split('|').map(|w| leak(w.to_owned())).collect())
}

/// What is wrong with a `guard.toml`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(pub String);

/// The `guard.toml` that set-up writes.
#[must_use]
pub fn default_policy_toml(preset: Preset, secrets: &[&str]) -> String {
    let secrets: Vec<String> = secrets
        .iter()
        .map(|path| toml_edit::Value::from(*path).to_string())
        .collect();
    format!(
        "# The policy of the codex-ds guard. `codex-ds guard rules` lists what is denied, and\n\
         # docs/guard.md has every key. A file that cannot be read never opens the guard: the\n\
         # built-in lab preset holds then.\n\
         schema = 1\n\
         \n\
         # \"lab\": whatever changes machines, clusters, hardware, history or other people's\n\
         # things is denied. \"dev\": deletes inside the workspace, pushes without force and\n\
         # installs into the project pass as well.\n\
         preset = \"{preset}\"\n\
         \n\
         # What guard/log.jsonl keeps: \"off\", \"denied\" or \"all\".\n\
         log = \"denied\"\n\
         \n\
         [paths]\n\
         # Never written, moved or deleted, and never read, beside what is built in.\n\
         protected = []\n\
         secrets = [{}]\n\
         \n\
         [hosts]\n\
         # On another machine only commands that look pass. \"free\": anything; \"forbidden\": nothing.\n\
         free = []\n\
         forbidden = []\n\
         \n\
         [mcp]\n\
         # Servers whose tools all pass, and servers of which none does. Any other server's tools\n\
         # pass, but for those that by their name change something elsewhere or run commands.\n\
         allow = [\"fetch\", \"search\"]\n\
         deny = []\n",
        secrets.join(", ")
    )
}
