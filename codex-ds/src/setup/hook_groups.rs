//! The hooks under `hooks.PreToolUse`, and ours among them, in each form in which TOML can hold them:
//! as tables with headers, as an array of inline tables, or inside an inline `hooks`.
//!
//! What the user wrote keeps its form; only a new entry in a file that has none gets headers.

use serde_json::{Value as Json, json};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use super::leaves;
use super::merge::MergeError;

/// The event whose hooks can stop a command.
const EVENT: &str = "PreToolUse";
/// Seconds after which Codex gives up on the guard and **runs the command**. Far above the guard's
/// own work bounds, so that a busy machine does not open it.
pub const TIMEOUT_SECONDS: i64 = 60;
/// What Codex shows while the guard runs.
const STATUS: &str = "codex-ds guard";

/// The definition that we write. There is no matcher: the guard decides about every tool.
pub(super) fn definition(command: &str) -> Json {
    json!({ "hooks": [{
        "type": "command",
        "command": command,
        "timeout": TIMEOUT_SECONDS,
        "statusMessage": STATUS,
    }] })
}

/// The groups in their order, empty where there are none.
pub(super) fn groups(document: &DocumentMut) -> Vec<Json> {
    let path = [Key::new("hooks"), Key::new(EVENT)];
    match leaves::get(document.as_table(), &path).map(leaves::to_json) {
        Some(Json::Array(groups)) => groups,
        _ => Vec::new(),
    }
}

/// The group that starts `command`: its place, the handler's place in it, and the group.
pub(super) fn find(document: &DocumentMut, command: &str) -> Option<(usize, usize, Json)> {
    groups(document)
        .into_iter()
        .enumerate()
        .find_map(|(index, group)| {
            let handlers = group["hooks"].as_array()?;
            let handler = handlers
                .iter()
                .position(|hook| hook["command"] == json!(command))?;
            Some((index, handler, group))
        })
}

fn handler_table(command: &str) -> InlineTable {
    let mut handler = InlineTable::new();
    handler.insert("type", "command".into());
    handler.insert("command", command.into());
    handler.insert("timeout", TIMEOUT_SECONDS.into());
    handler.insert("statusMessage", STATUS.into());
    handler
}

fn group_table(command: &str) -> Table {
    let mut handlers = ArrayOfTables::new();
    handlers.push(handler_table(command).into_table());
    let mut group = Table::new();
    group.insert("hooks", Item::ArrayOfTables(handlers));
    group.decor_mut().set_prefix(
        "\n# The guard decides about every tool call before it runs. Codex runs a hook only while the\n\
         # trust entry below fits its definition: after an edit here, run `codex-ds setup` again.\n",
    );
    group
}

/// A table that fits into its parent: an inline one in an inline one.
fn new_table(inline: bool) -> Item {
    if inline {
        return toml_edit::value(InlineTable::new());
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// The table called `key` in `parent`, made if it is not there, and whether it is an inline one.
pub(super) fn table_in<'t>(
    parent: &'t mut dyn TableLike,
    inline: bool,
    key: &str,
    path: &str,
    wanted: &str,
) -> Result<(&'t mut dyn TableLike, bool), MergeError> {
    let entry = parent.entry(key).or_insert_with(|| new_table(inline));
    let inline = entry.is_inline_table();
    let found = entry.type_name();
    let table = entry
        .as_table_like_mut()
        .ok_or_else(|| MergeError::NotATable {
            key: path.to_owned(),
            found,
            wanted: wanted.to_owned(),
        })?;
    Ok((table, inline))
}

fn inline_group(command: &str) -> InlineTable {
    let mut group = InlineTable::new();
    let handlers: toml_edit::Array = [handler_table(command)].into_iter().collect();
    group.insert("hooks", handlers.into());
    group
}

/// Puts our group behind the others; its place.
///
/// # Errors
/// When `hooks` or `hooks.PreToolUse` is something else in the document.
pub(super) fn append(document: &mut DocumentMut, command: &str) -> Result<usize, MergeError> {
    let name = "hooks.PreToolUse";
    let (hooks, inline) = table_in(document.as_table_mut(), false, "hooks", "hooks", name)?;
    let groups = hooks.entry(EVENT).or_insert_with(|| {
        if inline {
            toml_edit::value(toml_edit::Array::new())
        } else {
            Item::ArrayOfTables(ArrayOfTables::new())
        }
    });
    let found = groups.type_name();
    match groups {
        Item::ArrayOfTables(tables) => {
            tables.push(group_table(command));
            Ok(tables.len() - 1)
        }
        Item::Value(Value::Array(array)) => {
            array.push(inline_group(command));
            Ok(array.len() - 1)
        }
        _ => Err(MergeError::NotAList {
            key: name.to_owned(),
            found,
        }),
    }
}

fn with_groups(document: &mut DocumentMut, change: impl FnOnce(&mut Item)) {
    if let Some(groups) = document
        .get_mut("hooks")
        .and_then(Item::as_table_like_mut)
        .and_then(|hooks| hooks.get_mut(EVENT))
    {
        change(groups);
    }
}

/// Makes a handler start `command`; all else of it stays.
pub(super) fn set_command(document: &mut DocumentMut, index: usize, handler: usize, command: &str) {
    with_groups(document, |groups| {
        let group = match groups {
            Item::ArrayOfTables(tables) => tables
                .get_mut(index)
                .map(|table| table as &mut dyn TableLike),
            Item::Value(Value::Array(array)) => array
                .get_mut(index)
                .and_then(Value::as_inline_table_mut)
                .map(|table| table as &mut dyn TableLike),
            _ => None,
        };
        let hook = match group.and_then(|group| group.get_mut("hooks")) {
            Some(Item::ArrayOfTables(tables)) => tables
                .get_mut(handler)
                .map(|table| table as &mut dyn TableLike),
            Some(Item::Value(Value::Array(array))) => array
                .get_mut(handler)
                .and_then(Value::as_inline_table_mut)
                .map(|table| table as &mut dyn TableLike),
            _ => None,
        };
        if let Some(hook) = hook {
            hook.insert("command", toml_edit::value(command));
        }
    });
}

/// Writes our group anew at its place.
pub(super) fn replace_group(document: &mut DocumentMut, index: usize, command: &str) {
    with_groups(document, |groups| match groups {
        Item::ArrayOfTables(tables) => {
            if let Some(group) = tables.get_mut(index) {
                let decor = group.decor().clone();
                *group = group_table(command);
                *group.decor_mut() = decor;
            }
        }
        Item::Value(Value::Array(array)) => {
            array.replace(index, inline_group(command));
        }
        _ => {}
    });
}

/// Takes a group out, and what is empty then.
pub(super) fn remove_group(document: &mut DocumentMut, index: usize) {
    let mut empty = false;
    with_groups(document, |groups| match groups {
        Item::ArrayOfTables(tables) => {
            tables.remove(index);
            empty = tables.is_empty();
        }
        Item::Value(Value::Array(array)) => {
            array.remove(index);
            empty = array.is_empty();
        }
        _ => {}
    });
    if let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut) {
        if empty {
            hooks.remove(EVENT);
        }
        if hooks.is_empty() {
            document.remove("hooks");
        }
    }
}
