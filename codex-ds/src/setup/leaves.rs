//! A TOML document as its *leaves*: dotted keys, each with a value that is no table.
//!
//! What is compared is JSON, in which layout, comments and the spelling of numbers do not count.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, Item, Key, Table, TableLike, Value};

/// Dotted keys in TOML's spelling, each with its value as JSON: the base of the next merge.
pub type Leaves = BTreeMap<String, Json>;

/// The leaves of a document. Arrays, arrays of tables and inline tables are leaves as a whole.
#[must_use]
pub fn leaves(document: &DocumentMut) -> Leaves {
    leaf_paths(document)
        .into_iter()
        .filter_map(|path| {
            let item = get(document.as_table(), &path)?;
            Some((join_key(&path), to_json(item)))
        })
        .collect()
}

/// The paths of a document's leaves, in its order.
pub(super) fn leaf_paths(document: &DocumentMut) -> Vec<Vec<Key>> {
    fn walk(table: &Table, prefix: &mut Vec<Key>, out: &mut Vec<Vec<Key>>) {
        for (name, item) in table {
            prefix.push(Key::new(name));
            match item {
                Item::Table(table) => walk(table, prefix, out),
                Item::None => {}
                _ => out.push(prefix.clone()),
            }
            prefix.pop();
        }
    }
    let mut out = Vec::new();
    walk(document.as_table(), &mut Vec::new(), &mut out);
    out
}

/// A dotted key in TOML's own spelling, with quotes where they are needed.
#[must_use]
pub fn join_key(path: &[Key]) -> String {
    path.iter()
        .map(|key| key.display_repr().into_owned())
        .collect::<Vec<_>>()
        .join(".")
}

/// The path that [`join_key`] spelled.
pub(super) fn parse_key(text: &str) -> Vec<Key> {
    Key::parse(text).unwrap_or_else(|_| vec![Key::new(text)])
}

/// The item at `path`.
#[must_use]
pub fn get<'t>(table: &'t dyn TableLike, path: &[Key]) -> Option<&'t Item> {
    let (last, parents) = path.split_last()?;
    let mut table = table;
    for key in parents {
        table = table.get(key.get())?.as_table_like()?;
    }
    table.get(last.get()).filter(|item| !item.is_none())
}

/// The item at `path`, to be changed.
pub(super) fn get_mut<'t>(table: &'t mut dyn TableLike, path: &[Key]) -> Option<&'t mut Item> {
    let (first, rest) = path.split_first()?;
    let item = table.get_mut(first.get())?;
    if rest.is_empty() {
        Some(item)
    } else {
        get_mut(item.as_table_like_mut()?, rest)
    }
}

/// Removes the leaf at `path`, and the tables on the way that are empty then.
pub(super) fn remove(table: &mut dyn TableLike, path: &[Key]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.remove(first.get());
        return;
    }
    if let Some(inner) = table.get_mut(first.get()).and_then(Item::as_table_like_mut) {
        remove(inner, rest);
        if inner.is_empty() {
            table.remove(first.get());
        }
    }
}

/// A TOML item as JSON, for comparison: layout, comments and number spelling do not count.
#[must_use]
pub fn to_json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(tables) => {
            Json::Array(tables.iter().map(|t| table_to_json(t)).collect())
        }
    }
}

fn table_to_json(table: &dyn TableLike) -> Json {
    Json::Object(
        table
            .iter()
            .map(|(key, item)| (key.to_owned(), to_json(item)))
            .collect(),
    )
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(flag) => Json::from(*flag.value()),
        Value::Datetime(time) => Json::from(time.value().to_string()),
        Value::Array(array) => array_to_json(array),
        Value::InlineTable(table) => table_to_json(table),
    }
}

fn array_to_json(array: &Array) -> Json {
    Json::Array(array.iter().map(value_to_json).collect())
}
