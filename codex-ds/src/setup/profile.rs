//! The profile's files, from what was decided. Pure; the same decisions give the same bytes.

use std::path::Path;

use codex_ds_catalog as catalog;
use codex_ds_rules::{self as rules, Preset};
use toml_edit::{DocumentMut, Item, Table, Value};

use super::block;
use super::endpoint::Kind;
pub use super::endpoint::PLACEHOLDER_KEY;
use super::plan::{CONFIG, Content, Wanted};
use super::servers;

/// The id of the provider in Codex's configuration. Sessions are filed under it: changing it hides
/// the old ones.
pub const PROVIDER: &str = "codex-ds";
/// The id of the second provider, for a native endpoint of its own.
pub const NATIVE_PROVIDER: &str = "codex-ds-native";
/// The guard's program in the profile.
pub const HOOK: &str = "bin/codex-ds-hook";

/// Our instructions for the model.
pub const INSTRUCTIONS: &str = include_str!("../../assets/instructions.md");

/// How Codex gets the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// There is none.
    Placeholder,
    /// From this environment variable.
    Env(String),
    /// From this file, read by a command each time.
    File(std::path::PathBuf),
}

/// One profile: a model at an endpoint.
#[derive(Clone, Debug)]
pub struct Side {
    /// The base URL, with `/v1`.
    pub base_url: String,
    /// What kind of server it is.
    pub kind: Kind,
    /// The model, and its limit as the server says.
    pub model: catalog::Served,
}

/// All that decides what the files hold.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// The default profile.
    pub main: Side,
    /// The `native` profile.
    pub native: Side,
    /// How Codex gets the key.
    pub key: Key,
    /// The context that the user asked for, tokens.
    pub context: Option<u64>,
    /// What the window comes to.
    pub window: catalog::Window,
    /// The MCP servers.
    pub mcp: Vec<servers::Entry>,
    /// The guard's preset.
    pub preset: Preset,
}

impl Decisions {
    /// The model's family.
    #[must_use]
    pub fn family(&self) -> &'static catalog::Family {
        catalog::family(&self.main.model.id)
    }

    /// Whether `native` goes to an endpoint of its own.
    #[must_use]
    pub fn has_native_provider(&self) -> bool {
        self.native.base_url != self.main.base_url
    }
}

/// The files of the profile in the order in which they are to be written: each after what it names.
///
/// # Panics
/// When our own template is no TOML, which tests rule out.
///
/// # Errors
/// When no catalog can be made of the decisions.
pub fn files(
    decisions: &Decisions,
    hook_program: Vec<u8>,
) -> Result<Vec<Wanted>, catalog::CatalogError> {
    let toml = |name, text: &str| Wanted {
        name,
        content: Content::Toml(text.parse().expect("what we render is TOML")),
    };
    // The model needs no look at the key that Codex sends.
    let key_file = match &decisions.key {
        Key::File(path) => Some(path.to_string_lossy()),
        _ => None,
    };
    Ok(vec![
        Wanted {
            name: HOOK,
            content: Content::Program(hook_program),
        },
        Wanted {
            name: "model-catalog.json",
            content: Content::Text(model_catalog(decisions)?),
        },
        Wanted {
            name: "instructions.md",
            content: Content::Text(INSTRUCTIONS.to_owned()),
        },
        Wanted {
            name: "rules/default.rules",
            content: Content::Block(block::wrap(&rules::execpolicy(decisions.preset))),
        },
        toml(
            "guard.toml",
            &codex_ds_hook::default_policy_toml(decisions.preset, key_file.as_deref().as_slice()),
        ),
        toml("native.config.toml", &native(decisions)),
        toml("fast.config.toml", &fast(decisions)),
        Wanted {
            name: CONFIG,
            content: Content::Toml(config(decisions)),
        },
    ])
}

fn model_catalog(decisions: &Decisions) -> Result<String, catalog::CatalogError> {
    let request = |side: &Side, route| catalog::Request {
        served: catalog::Served {
            // One window for both routes: they lead to the same server.
            max_model_len: side
                .model
                .max_model_len
                .or(decisions.main.model.max_model_len),
            ..side.model.clone()
        },
        context: Some(decisions.window.context),
        route,
    };
    let main_route = match decisions.main.kind {
        Kind::Vllm(_) => catalog::Route::Direct,
        _ if decisions.main.model.id == decisions.native.model.id => catalog::Route::Direct,
        _ => catalog::Route::Bridge,
    };
    catalog::render(
        &[
            request(&decisions.main, main_route),
            request(&decisions.native, catalog::Route::Native),
        ],
        catalog::INSTRUCTIONS,
    )
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn config(decisions: &Decisions) -> DocumentMut {
    use std::fmt::Write as _;
    let mut text = format!(
        "# Made by `codex-ds setup`. Change what you like: a key that you change stays yours when\n\
         # set-up runs again, and `codex-ds undo` takes out only what is still as it was written.\n\
         model = {model}\n\
         model_provider = \"{PROVIDER}\"\n",
        model = quoted(&decisions.main.model.id),
    );
    if let Some(effort) = decisions.family().default_level {
        let _ = writeln!(text, "model_reasoning_effort = {}", quoted(effort));
    }
    text.push_str(MODEL_KEYS);
    provider(
        &mut text,
        PROVIDER,
        "codex-ds",
        &decisions.main.base_url,
        &decisions.key,
    );
    if decisions.has_native_provider() {
        let native = &decisions.native.base_url;
        provider(
            &mut text,
            NATIVE_PROVIDER,
            "codex-ds native",
            native,
            &decisions.key,
        );
    }
    text.push_str(TABLES);
    let mut document: DocumentMut = text.parse().expect("what we render is TOML");
    if let Key::Env(name) = &decisions.key {
        hide_from_commands(&mut document, name);
    }
    for entry in &decisions.mcp {
        add_mcp(&mut document, entry);
    }
    document
}

const MODEL_KEYS: &str = include_str!("../../assets/config-root.toml");
const TABLES: &str = include_str!("../../assets/config-tables.toml");

fn provider(text: &mut String, id: &str, name: &str, base_url: &str, key: &Key) {
    use std::fmt::Write as _;
    let _ = write!(
        text,
        "\n[model_providers.{id}]\n\
         name = {name}\n\
         base_url = {url}\n\
         wire_api = \"responses\"\n",
        name = quoted(name),
        url = quoted(base_url),
    );
    match key {
        Key::Placeholder => {
            let _ = writeln!(
                text,
                "# A placeholder, no secret: this server wants no key.\n\
                 experimental_bearer_token = \"{PLACEHOLDER_KEY}\""
            );
        }
        Key::Env(variable) => {
            let hint = format!("export {variable}, or run `codex-ds setup` with another source");
            let _ = writeln!(
                text,
                "env_key = {}\nenv_key_instructions = {}",
                quoted(variable),
                quoted(&hint)
            );
        }
        Key::File(_) => {}
    }
    let _ = write!(
        text,
        "# Long thinking and a long prefill may pass without a byte.\n\
         stream_idle_timeout_ms = 600000\n\
         request_max_retries = 2\n\
         stream_max_retries = 2\n\
         supports_websockets = false\n"
    );
    if let Key::File(path) = key {
        let _ = write!(
            text,
            "\n# Codex runs this and sends what it prints as the key.\n\
             [model_providers.{id}.auth]\n\
             command = \"cat\"\n\
             args = [{}]\n",
            quoted(&path.to_string_lossy())
        );
    }
}

/// Keeps the variable that holds the key out of the environment of the commands that the model runs.
fn hide_from_commands(document: &mut DocumentMut, variable: &str) {
    if let Some(exclude) = document
        .get_mut("shell_environment_policy")
        .and_then(Item::as_table_mut)
        .and_then(|table| table.get_mut("exclude"))
        .and_then(Item::as_array_mut)
        && !exclude.iter().any(|entry| entry.as_str() == Some(variable))
    {
        exclude.push(variable);
    }
}

fn add_mcp(document: &mut DocumentMut, entry: &servers::Entry) {
    let (server, command) = (entry.server, &entry.command);
    let seconds = |seconds: u64| toml_edit::value(i64::try_from(seconds).unwrap_or(i64::MAX));
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let mut table = Table::new();
    table.insert(
        "command",
        toml_edit::value(command.program.to_string_lossy().as_ref()),
    );
    let args: toml_edit::Array = command.args.iter().map(String::as_str).collect();
    table.insert("args", toml_edit::value(args));
    if !command.env.is_empty() {
        let env: toml_edit::InlineTable = command
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        table.insert("env", toml_edit::value(env));
    }
    if !server.enabled_tools.is_empty() {
        let tools: toml_edit::Array = server.enabled_tools.iter().copied().collect();
        table.insert("enabled_tools", toml_edit::value(tools));
    }
    // Under `codex exec` nobody can be asked: any other mode fails every call.
    table.insert(
        "default_tools_approval_mode",
        toml_edit::value(server.approval),
    );
    table.insert("startup_timeout_sec", seconds(server.startup_timeout_sec));
    table.insert("tool_timeout_sec", seconds(server.tool_timeout_sec));
    if entry.required {
        table.insert("required", toml_edit::value(true));
    }
    if let Some(servers) = servers.as_table_like_mut() {
        servers.insert(server.name, Item::Table(table));
    }
}

fn native(decisions: &Decisions) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "# `codex-ds -p native`: the server's own Responses API, without the router's translation.\n\
         model = {}\n",
        quoted(&decisions.native.model.id)
    );
    if decisions.has_native_provider() {
        let _ = writeln!(text, "model_provider = \"{NATIVE_PROVIDER}\"");
    }
    text
}

fn fast(decisions: &Decisions) -> String {
    match decisions.family().lightest() {
        Some(level) => format!(
            "# `codex-ds -p fast`: the least thinking that the model has. For look-ups, not for work.\n\
             model_reasoning_effort = {}\n",
            quoted(level.effort)
        ),
        None => "# `codex-ds -p fast`: this model's reasoning levels are not known, so nothing differs.\n"
            .to_owned(),
    }
}

/// The hook's command line: the program in the profile, quoted for the shell that Codex starts it
/// with. Everything but the plainest characters is put in single quotes: a quoting that leaves braces
/// alone would have bash expand them, and a hook that is not found lets every command run.
#[must_use]
pub fn hook_command(home: &Path) -> String {
    let path = home.join(HOOK);
    let path = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if path.chars().all(plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}
