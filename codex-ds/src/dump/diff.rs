//! `dump diff A B`: two requests compared item by item.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices};

use super::store::{self, Session};
use super::text::{one_line, plain};
use super::{Place, report};
use crate::error::UserError;
use crate::{exit, ui};

/// Compare two requests, item by item
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  codex-ds dump diff 1 2

Exit codes: 0 the same; 1 they differ, or failed; 2 wrong usage; 3 nothing recorded")]
pub struct DiffArgs {
    /// The first request
    pub a: u64,
    /// The second request
    pub b: u64,
    /// Where sessions are.
    #[command(flatten)]
    pub place: Place,
    /// The session of both [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// The session of the second, where it is another one
    #[arg(long, value_name = "NAME")]
    pub other: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub(super) fn run(args: &DiffArgs) -> Result<u8> {
    let folder = args.place.folder()?;
    let first = Session::read(&store::find(&folder, args.session.as_deref())?)?;
    let second = match &args.other {
        Some(name) => Session::read(&store::find(&folder, Some(name))?)?,
        None => first.clone(),
    };
    let items = |session: &Session, n: u64| -> Result<Vec<Item>> {
        let exchange = session.exchange(n)?;
        let body = exchange.request.body.as_deref().unwrap_or_default();
        let body: Value = serde_json::from_str(body).map_err(|error| {
            UserError::usage(format!(
                "the body of request {n} is no JSON, or was not kept whole"
            ))
            .because(error)
            .hint(format!("look at it: codex-ds dump show {n}"))
        })?;
        Ok(items(&body))
    };
    let (a, b) = (items(&first, args.a)?, items(&second, args.b)?);
    let changes = compare(&a, &b);
    if args.json {
        ui::json(&json!({
            "schema_version": report::SCHEMA_VERSION,
            "a": args.a,
            "b": args.b,
            "same": a.len().saturating_sub(changes.iter().filter(|change| change.kind != Kind::Added).count()),
            "changes": changes.iter().map(|change| json!({
                "item": change.key,
                "change": change.kind.name(),
                "diff": change.diff,
            })).collect::<Vec<_>>(),
        }));
    } else {
        ui::out(&text(&a, &changes));
    }
    Ok(if changes.is_empty() {
        exit::OK
    } else {
        exit::FAILURE
    })
}

/// A tool, an item of the conversation or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// What it is. A tool has its name in it, and a call its id; what has neither is told apart from
    /// others of its kind by what it says.
    key: String,
    /// Which of this key it is, from 1.
    number: usize,
    text: String,
}

impl Item {
    fn name(&self) -> String {
        match self.number {
            1 => self.key.clone(),
            number => format!("{} #{number}", self.key),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Added,
    Removed,
    Changed,
    Moved,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    key: String,
    kind: Kind,
    diff: String,
}

fn items(body: &Value) -> Vec<Item> {
    let mut items = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut push = |key: String, value: &Value| {
        let number = seen.entry(key.clone()).or_default();
        *number += 1;
        items.push(Item {
            key,
            number: *number,
            text: readable(value),
        });
    };
    let Some(members) = body.as_object() else {
        push("body".to_owned(), body);
        return items;
    };
    for (name, value) in members {
        match (name.as_str(), value.as_array()) {
            ("tools", Some(tools)) => {
                for tool in tools {
                    push(format!("tool {}", tool_name(tool)), tool);
                }
            }
            ("input" | "messages", Some(entries)) => {
                for entry in entries {
                    push(entry_key(entry), entry);
                }
            }
            _ => push(name.clone(), value),
        }
    }
    items
}

fn tool_name(tool: &Value) -> &str {
    [&tool["name"], &tool["function"]["name"], &tool["type"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or("unnamed")
}

fn entry_key(entry: &Value) -> String {
    let string = |name: &str| entry[name].as_str();
    let kind = string("type").unwrap_or("message");
    match (string("role"), string("call_id").or(string("tool_call_id"))) {
        (_, Some(id)) => format!("{kind} {id}"),
        (Some(role), None) => format!("{kind} {role}"),
        (None, None) => kind.to_owned(),
    }
}

/// What a line-by-line diff reads well: a message's text, else the JSON on many lines.
fn readable(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    let content = &value["content"];
    let parts = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    if !texts.is_empty() && texts.len() == parts.len() {
        return texts.join("\n");
    }
    format!("{value:#}")
}

/// Which item of `a` each of `b` is. Of those with the same key, in order, what says the same is the
/// same; what is left between two of these is paired in order.
fn pairs(a: &[Item], b: &[Item]) -> Vec<Option<usize>> {
    let by_key = |items: &[Item]| {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            places.entry(item.key.clone()).or_default().push(index);
        }
        places
    };
    let texts = |items: &[Item], places: &[usize]| -> Vec<String> {
        let text = |index: &usize| items[*index].text.clone();
        places.iter().map(text).collect()
    };
    let in_a = by_key(a);
    let mut pairs = vec![None; b.len()];
    for (key, news) in by_key(b) {
        let Some(olds) = in_a.get(&key) else { continue };
        let ops = capture_diff_slices(Algorithm::Myers, &texts(a, olds), &texts(b, &news));
        for op in ops {
            let (old, new, length) = match op {
                DiffOp::Equal {
                    old_index,
                    new_index,
                    len,
                } => (old_index, new_index, len),
                DiffOp::Replace {
                    old_index,
                    old_len,
                    new_index,
                    new_len,
                } => (old_index, new_index, old_len.min(new_len)),
                DiffOp::Delete { .. } | DiffOp::Insert { .. } => continue,
            };
            for step in 0..length {
                pairs[news[new + step]] = Some(olds[old + step]);
            }
        }
    }
    pairs
}

fn compare(a: &[Item], b: &[Item]) -> Vec<Change> {
    let pairs = pairs(a, b);
    let change = |item: &Item, kind: Kind, diff: String| Change {
        key: item.name(),
        kind,
        diff,
    };
    let mut changes: Vec<Change> = a
        .iter()
        .enumerate()
        .filter(|(index, _)| !pairs.contains(&Some(*index)))
        .map(|(_, item)| change(item, Kind::Removed, item.text.clone()))
        .collect();
    let mut last = None;
    for (item, pair) in b.iter().zip(&pairs) {
        let Some(index) = *pair else {
            changes.push(change(item, Kind::Added, item.text.clone()));
            continue;
        };
        if a[index].text != item.text {
            // With a line end behind both, neither last line is told apart for having none.
            let [old, new] = [&a[index], item].map(|item| format!("{}\n", item.text));
            let diff = TextDiff::from_lines(&old, &new);
            let diff = diff.unified_diff().context_radius(2).to_string();
            changes.push(change(item, Kind::Changed, diff));
        } else if last.is_some_and(|last| index < last) {
            changes.push(change(item, Kind::Moved, String::new()));
        }
        last = last.max(Some(index));
    }
    changes
}

/// The most lines of an item that was added or removed.
const SHOWN: usize = 12;

fn text(a: &[Item], changes: &[Change]) -> String {
    let gone = changes
        .iter()
        .filter(|change| change.kind != Kind::Added)
        .count();
    let mut text = format!("{} items are the same\n", a.len().saturating_sub(gone));
    for change in changes {
        let _ = writeln!(text, "{} {}", change.kind.name(), one_line(&change.key));
        let sign = match change.kind {
            Kind::Added => "+",
            Kind::Removed => "-",
            Kind::Changed | Kind::Moved => "",
        };
        let lines: Vec<&str> = change.diff.lines().collect();
        let shown = if sign.is_empty() { lines.len() } else { SHOWN };
        for line in lines.iter().take(shown) {
            let _ = writeln!(text, "  {sign}{}", plain(line));
        }
        if lines.len() > shown {
            let _ = writeln!(text, "  ({} more lines)", lines.len() - shown);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_told_apart_by_what_they_are() {
        let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
        let a = items(&json!({
            "model": "m",
            "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}],
            "input": [message("user", "one\ntwo"), message("user", "three"),
                {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}],
        }));
        let b = items(&json!({
            "model": "m",
            "tools": [{"type": "function", "name": "b"}, {"type": "function", "name": "a"}],
            "input": [message("user", "one\n2"), message("user", "three"),
                {"type": "function_call", "call_id": "c2", "name": "ls", "arguments": "{}"}],
        }));
        let found: Vec<(String, Kind)> = compare(&a, &b)
            .into_iter()
            .map(|change| (change.key, change.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("function_call c1".to_owned(), Kind::Removed),
                ("tool a".to_owned(), Kind::Moved),
                ("message user".to_owned(), Kind::Changed),
                ("function_call c2".to_owned(), Kind::Added),
            ]
        );
        assert_eq!(compare(&a, &a), []);
        assert!(text(&a, &compare(&a, &b)).contains("  -two\n"));
    }

    #[test]
    fn a_message_in_between_changes_no_other() {
        let said = |text: &str| json!({"role": "user", "content": text});
        let body = |texts: &[&str]| {
            let said: Vec<Value> = texts.iter().map(|text| said(text)).collect();
            items(&json!({ "input": said }))
        };
        let found = |a: &[&str], b: &[&str]| -> Vec<(String, Kind)> {
            compare(&body(a), &body(b))
                .into_iter()
                .map(|change| (change.key, change.kind))
                .collect()
        };
        let all = ["one", "two", "three"];
        assert_eq!(
            found(&all, &["one", "new", "two", "three"]),
            [("message user #2".to_owned(), Kind::Added)]
        );
        assert_eq!(
            found(&all, &["two", "three"]),
            [("message user".to_owned(), Kind::Removed)]
        );
        assert_eq!(
            found(&all, &["one", "2", "three"]),
            [("message user #2".to_owned(), Kind::Changed)]
        );
    }
}
