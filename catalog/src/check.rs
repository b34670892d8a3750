//! A catalog read back: what Codex would refuse, and what it would take in silence.
//!
//! Codex stops at the first fault, with a line and column of the file and no model name; this names
//! each one by its JSON pointer, before Codex is started.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::fields::{FIELDS, Kind, LEVEL, TRUNCATION};

/// One model of a sound catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug {
    /// The model's name in requests.
    pub id: String,
    /// Its context window, in tokens.
    pub context: u64,
    /// When Codex compacts, in tokens; absent, at 90 % of the window.
    pub compact_at: Option<u64>,
    /// Its reasoning levels, in the file's order.
    pub levels: Vec<String>,
}

/// What Codex does about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It refuses the whole file and does not start.
    Refused,
    /// It starts, and does something else than the file says.
    Silent,
}

/// One fault of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is, as a JSON pointer; empty for the file as a whole.
    pub pointer: String,
    /// What stands there, shortened.
    pub found: String,
    /// What has to stand there.
    pub expected: String,
    /// What Codex does about it.
    pub effect: Effect,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "the file"
        } else {
            &self.pointer
        };
        write!(
            f,
            "{place}: found {}, expected {}",
            self.found, self.expected
        )?;
        match self.effect {
            Effect::Refused => write!(f, " (Codex refuses the file)"),
            Effect::Silent => write!(f, " (Codex does not tell)"),
        }
    }
}

/// Reads the text of a `model_catalog_json` file.
///
/// # Errors
/// Every fault found, in the file's order. A catalog with a [`Effect::Silent`] fault alone would
/// start Codex.
pub fn check(json: &str) -> Result<Vec<Slug>, Vec<Problem>> {
    let mut problems = Problems::default();
    let slugs = match serde_json::from_str::<Value>(json) {
        Ok(value) => catalog(&value, &mut problems),
        Err(error) => {
            problems.refused("", error.to_string(), "JSON");
            Vec::new()
        }
    };
    if problems.0.is_empty() {
        Ok(slugs)
    } else {
        Err(problems.0)
    }
}

#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn push(&mut self, pointer: &str, found: String, expected: impl Into<String>, effect: Effect) {
        self.0.push(Problem {
            pointer: pointer.to_owned(),
            found,
            expected: expected.into(),
            effect,
        });
    }

    fn refused(&mut self, pointer: &str, found: String, expected: impl Into<String>) {
        self.push(pointer, found, expected, Effect::Refused);
    }

    fn silent(&mut self, pointer: &str, found: String, expected: impl Into<String>) {
        self.push(pointer, found, expected, Effect::Silent);
    }
}

fn catalog(value: &Value, problems: &mut Problems) -> Vec<Slug> {
    let Some(root) = value.as_object() else {
        problems.refused("", shown(value), "an object with `models`");
        return Vec::new();
    };
    let models = match root.get("models") {
        Some(Value::Array(models)) if !models.is_empty() => models,
        other => {
            problems.refused(
                "/models",
                shown_or_nothing(other),
                "a list of at least one model",
            );
            return Vec::new();
        }
    };
    let mut slugs = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, model) in models.iter().enumerate() {
        let pointer = format!("/models/{index}");
        let Some(model) = model.as_object() else {
            problems.refused(&pointer, shown(model), "an object");
            continue;
        };
        entry(model, &pointer, problems);
        if let Some(slug) = model.get("slug").and_then(Value::as_str) {
            if let Some(first) = places.insert(slug, index) {
                problems.silent(
                    &format!("{pointer}/slug"),
                    shown(&model["slug"]),
                    format!("a slug that /models/{first} does not have"),
                );
            }
            slugs.extend(summary(slug, model));
        }
    }
    slugs
}

/// The model's line in the answer, as far as the entry says it.
fn summary(slug: &str, model: &Map<String, Value>) -> Option<Slug> {
    Some(Slug {
        id: slug.to_owned(),
        context: model.get("context_window")?.as_u64()?,
        compact_at: model
            .get("auto_compact_token_limit")
            .and_then(Value::as_u64),
        levels: efforts(model).map(str::to_owned).collect(),
    })
}

fn efforts(model: &Map<String, Value>) -> impl Iterator<Item = &str> {
    model
        .get("supported_reasoning_levels")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|level| level.get("effort")?.as_str())
}

fn entry(model: &Map<String, Value>, pointer: &str, problems: &mut Problems) {
    for field in FIELDS {
        let place = format!("{pointer}/{}", field.name);
        match model.get(field.name) {
            Some(value) => kind(field.kind, value, &place, problems),
            None if field.required => {
                problems.refused(&place, shown_or_nothing(None), expectation(field.kind));
            }
            None => {}
        }
    }
    rules(model, pointer, problems);
}

/// What no single field says.
fn rules(model: &Map<String, Value>, pointer: &str, problems: &mut Problems) {
    let place = |name: &str| format!("{pointer}/{name}");
    let text = |name: &str| model.get(name).and_then(Value::as_str);
    let found = |name: &str| shown_or_nothing(model.get(name));

    if text("slug").is_some_and(|slug| slug.trim().is_empty()) {
        problems.silent(&place("slug"), found("slug"), "the model's served id");
    }
    let template = model
        .get("model_messages")
        .and_then(|messages| messages.get("instructions_template"))
        .and_then(Value::as_str);
    if model.get("base_instructions").is_none_or(Value::is_null) && template.is_none() {
        problems.refused(
            &place("base_instructions"),
            found("base_instructions"),
            "a string",
        );
    } else if text("base_instructions").is_some_and(|text| text.trim().is_empty())
        && template.is_none()
    {
        problems.silent(
            &place("base_instructions"),
            found("base_instructions"),
            "some text",
        );
    }
    // Levels that are faulty themselves are named already.
    let faulty = format!("{}/", place("supported_reasoning_levels"));
    let levels_hold = model
        .get("supported_reasoning_levels")
        .is_some_and(Value::is_array)
        && !problems
            .0
            .iter()
            .any(|problem| problem.pointer.starts_with(&faulty));
    if let Some(level) = text("default_reasoning_level")
        && levels_hold
        && !efforts(model).any(|effort| effort == level)
    {
        let known: Vec<_> = efforts(model).collect();
        problems.silent(
            &place("default_reasoning_level"),
            found("default_reasoning_level"),
            format!(
                "one of supported_reasoning_levels ({}) or null",
                known.join(", ")
            ),
        );
    }
    let tokens = |name: &str| model.get(name).and_then(Value::as_i64);
    let context = tokens("context_window").filter(|tokens| *tokens > 0);
    let integer_or_absent = |name: &str| {
        model
            .get(name)
            .is_none_or(|value| value.is_null() || value.is_i64())
    };
    if context.is_none() && integer_or_absent("context_window") {
        problems.silent(
            &place("context_window"),
            found("context_window"),
            "a number of tokens above 0",
        );
    }
    if let (Some(context), Some(compact)) = (context, tokens("auto_compact_token_limit"))
        && !(1..context).contains(&compact)
    {
        problems.silent(
            &place("auto_compact_token_limit"),
            found("auto_compact_token_limit"),
            format!("a number of tokens below the context_window of {context}"),
        );
    }
    let limit = model
        .get("truncation_policy")
        .and_then(|policy| policy.get("limit"))
        .and_then(Value::as_i64);
    if let Some(limit) = limit.filter(|limit| *limit < 1) {
        problems.silent(
            &place("truncation_policy/limit"),
            limit.to_string(),
            "a number above 0",
        );
    }
}

fn kind(kind: Kind, value: &Value, place: &str, problems: &mut Problems) {
    let word = |words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
    let fits = match kind {
        Kind::Text => value.is_string(),
        Kind::TextOrNull => value.is_string() || value.is_null(),
        Kind::Bool => value.is_boolean(),
        Kind::Int32 => value
            .as_i64()
            .is_some_and(|number| i32::try_from(number).is_ok()),
        Kind::Int64 => value.is_i64(),
        Kind::Int64OrNull => value.is_i64() || value.is_null(),
        Kind::OneOf(words) => word(words),
        Kind::OneOfOrNull(words) => value.is_null() || word(words),
        Kind::KnownOrNull(words) => {
            if value.is_string() && !word(words) {
                problems.silent(place, shown(value), expectation(kind));
            }
            value.is_null() || value.is_string()
        }
        Kind::TextList => return list(value, place, problems, Kind::Text, kind),
        Kind::ListOf(words) => return list(value, place, problems, Kind::OneOf(words), kind),
        Kind::Levels => return list(value, place, problems, Kind::Level, kind),
        Kind::Level => return object(value, place, problems, LEVEL, kind),
        Kind::Truncation => return object(value, place, problems, TRUNCATION, kind),
    };
    if !fits {
        problems.refused(place, shown(value), expectation(kind));
    }
}

fn list(value: &Value, place: &str, problems: &mut Problems, item: Kind, whole: Kind) {
    let Some(items) = value.as_array() else {
        return problems.refused(place, shown(value), expectation(whole));
    };
    for (index, value) in items.iter().enumerate() {
        kind(item, value, &format!("{place}/{index}"), problems);
    }
}

fn object(value: &Value, place: &str, problems: &mut Problems, keys: &[(&str, Kind)], whole: Kind) {
    let Some(object) = value.as_object() else {
        return problems.refused(place, shown(value), expectation(whole));
    };
    for (key, wanted) in keys {
        let place = format!("{place}/{key}");
        match object.get(*key) {
            Some(value) => kind(*wanted, value, &place, problems),
            None => problems.refused(&place, shown_or_nothing(None), expectation(*wanted)),
        }
    }
}

fn expectation(kind: Kind) -> String {
    match kind {
        Kind::Text => "a string".into(),
        Kind::TextOrNull => "a string or null".into(),
        Kind::Bool => "true or false".into(),
        Kind::Int32 => "a whole number of 32 bits".into(),
        Kind::Int64 => "a whole number".into(),
        Kind::Int64OrNull => "a whole number or null".into(),
        Kind::OneOf(words) => format!("one of {}", words.join(", ")),
        Kind::OneOfOrNull(words) | Kind::KnownOrNull(words) => {
            format!("one of {}, null", words.join(", "))
        }
        Kind::TextList => "a list of strings".into(),
        Kind::ListOf(words) => format!("a list of {}", words.join(", ")),
        Kind::Levels => "a list of objects with effort and description".into(),
        Kind::Level => "an object with effort and description".into(),
        Kind::Truncation => "an object with mode and limit".into(),
    }
}

/// The longest piece of a file that a message repeats, in characters.
const SHOWN: usize = 60;

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}

fn shown_or_nothing(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(json: &str) -> String {
        let problems = check(json).expect_err("the catalog is faulty");
        problems
            .iter()
            .map(Problem::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn messages_name_place_found_and_expected() {
        let faulty = [
            "",
            "[]",
            r#"{"models": []}"#,
            r#"{"models": [1, {"slug": 7, "visibility": "bogus", "tool_mode": "x"}]}"#,
        ];
        insta::assert_snapshot!(faulty.map(messages).join("\n---\n"));
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let json = serde_json::json!({ "models": "ä".repeat(500) }).to_string();
        assert!(messages(&json).contains("äää…, expected"));
    }
}
