//! Tools that are no shell: those of MCP servers, and Codex's own.

use codex_ds_rules::effects::Act;
use serde_json::Value as Json;

use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::value::Value;
use crate::verdict::Eval;

/// Words in a tool's name that say it changes something elsewhere. A server of the user's own
/// works without being listed; what it says it does is what is judged.
const CHANGES: &[&str] = &[
    "create",
    "delete",
    "remove",
    "destroy",
    "drop",
    "merge",
    "close",
    "reopen",
    "comment",
    "push",
    "fork",
    "publish",
    "send",
    "post",
    "reply",
    "approve",
    "dismiss",
    "dispatch",
    "trigger",
    "cancel",
    "rerun",
    "deploy",
    "undeploy",
    "terminate",
    "restart",
    "reboot",
    "shutdown",
    "stop",
    "scale",
    "drain",
    "cordon",
    "apply",
    "rollback",
    "transfer",
    "revoke",
    "grant",
    "invite",
    "assign",
    "archive",
    "upload",
    "purge",
    "truncate",
    "reset",
    "update",
    "patch",
    "submit",
    "request",
    "lock",
    "unlock",
    "star",
    "label",
    "release",
    "install",
    "uninstall",
];

/// Words in a tool's name that say it runs what it is given.
const RUNS: &[&str] = &[
    "shell", "bash", "exec", "execute", "command", "terminal", "run", "ssh",
];

/// Arguments that hold a command line.
const COMMANDS: &[&str] = &["command", "cmd", "script", "shell_command", "commandLine"];

/// Codex's own tool that types into a running command: what is typed there is not a command that
/// can be read.
const TYPES: &str = "write_stdin";

/// Checks a call of a tool. `mcp__server__tool` is a server's; any other name is Codex's own.
pub(crate) fn check(
    this: &mut Interpreter<'_>,
    name: &str,
    input: &Json,
    state: &mut State,
) -> Eval<()> {
    if name == TYPES {
        let typed = input.get("chars").and_then(Json::as_str).unwrap_or("");
        return if typed.is_empty() {
            Ok(())
        } else {
            this.deny("shell.interactive", format!("{name} {typed}"))
        };
    }
    let Some((server, tool)) = name
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
    else {
        return Ok(());
    };
    if this.policy.denied_servers.iter().any(|s| s == server) {
        return this.deny("guard.tool", name);
    }
    // Whatever a server may do, it reads no secret and writes nothing that is protected here.
    let words = words(tool);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let act = if has(&["write", "edit", "move", "delete", "create", "append"]) {
        Act::Write
    } else {
        Act::Read
    };
    paths(this, input, act, state)?;
    if this.policy.servers.iter().any(|s| s == server) {
        return Ok(());
    }
    if has(RUNS) {
        let command = COMMANDS
            .iter()
            .find_map(|key| input.get(*key).and_then(Json::as_str));
        return match command {
            Some(command) => this.code(&Value::known(command), state).map(drop),
            None => this.deny("guard.tool", name),
        };
    }
    if has(CHANGES) {
        return this.deny("forge.tool", name);
    }
    Ok(())
}

/// Checks every text in a call's arguments that is an absolute path.
fn paths(this: &Interpreter<'_>, input: &Json, act: Act, state: &State) -> Eval<()> {
    match input {
        Json::String(text) => {
            let text = text.strip_prefix("file://").unwrap_or(text);
            let path = match text.strip_prefix("~/") {
                Some(rest) => format!("{}/{rest}", this.context.home.to_string_lossy()),
                None if text.starts_with('/') && !text.contains('\n') => text.to_owned(),
                None => return Ok(()),
            };
            let path = Value::known(path);
            this.act(Act::Read, &path, state)?;
            this.act(act, &path, state)
        }
        Json::Array(items) => items
            .iter()
            .try_for_each(|item| paths(this, item, act, state)),
        Json::Object(items) => items
            .values()
            .try_for_each(|item| paths(this, item, act, state)),
        _ => Ok(()),
    }
}

/// The words of a name in snake case, kebab case or camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
