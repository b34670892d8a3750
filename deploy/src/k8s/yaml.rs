//! Writes YAML: a value of JSON's kinds, block style, with comments.
//!
//! A string is written plain only where no reader of YAML 1.1 or 1.2 could take it for anything
//! else; else in double quotes, as JSON has it, or as a literal block where it has several lines.

use serde_json::Value;

/// The text of `value`. Each comment stands above the entry that its JSON pointer names.
#[must_use]
pub fn write(value: &Value, comments: &[(&str, String)]) -> String {
    let mut writer = Writer {
        text: String::new(),
        comments,
    };
    writer.comment("", 0);
    writer.block(value, "", 0);
    writer.text
}

struct Writer<'c> {
    text: String,
    comments: &'c [(&'c str, String)],
}

impl Writer<'_> {
    fn comment(&mut self, pointer: &str, indent: usize) {
        for (_, comment) in self.comments.iter().filter(|(at, _)| *at == pointer) {
            for line in comment.lines() {
                self.text.push_str(&" ".repeat(indent));
                self.text.push_str(format!("# {line}").trim_end());
                self.text.push('\n');
            }
        }
    }

    /// A value on lines of its own.
    fn block(&mut self, value: &Value, pointer: &str, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    let pointer =
                        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                    self.comment(&pointer, indent);
                    self.text.push_str(&" ".repeat(indent));
                    self.text.push_str(&scalar(key));
                    self.text.push(':');
                    self.after_key(value, &pointer, indent);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    let pointer = format!("{pointer}/{index}");
                    self.comment(&pointer, indent);
                    self.text.push_str(&" ".repeat(indent));
                    self.text.push('-');
                    self.item(item, &pointer, indent);
                }
            }
            _ => {
                self.text.push_str(&" ".repeat(indent));
                self.text.push_str(&flow(value));
                self.text.push('\n');
            }
        }
    }

    fn after_key(&mut self, value: &Value, pointer: &str, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.text.push('\n');
                self.block(value, pointer, indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                self.text.push('\n');
                self.block(value, pointer, indent + 2);
            }
            Value::String(text) if is_literal(text) => self.literal(text, indent + 2),
            _ => {
                self.text.push(' ');
                self.text.push_str(&flow(value));
                self.text.push('\n');
            }
        }
    }

    /// A value after the dash of a list: a table begins on the same line.
    fn item(&mut self, value: &Value, pointer: &str, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let start = self.text.len();
                self.block(value, pointer, indent + 2);
                let has_comment = self.text[start..].trim_start().starts_with('#');
                if has_comment {
                    self.text.insert(start, '\n');
                } else {
                    // The dash and one blank take the place of the first line's indentation.
                    self.text.replace_range(start..start + indent + 2, " ");
                }
            }
            Value::Array(items) if !items.is_empty() => {
                self.text.push('\n');
                self.block(value, pointer, indent + 2);
            }
            Value::String(text) if is_literal(text) => self.literal(text, indent + 2),
            _ => {
                self.text.push(' ');
                self.text.push_str(&flow(value));
                self.text.push('\n');
            }
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.text.push_str(if text.ends_with('\n') {
            " |\n"
        } else {
            " |-\n"
        });
        for line in text.lines() {
            if !line.is_empty() {
                self.text.push_str(&" ".repeat(indent));
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }
}

/// Whether a string is best shown as a block of lines, and means the same there.
fn is_literal(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n'])
        && text
            .lines()
            .all(|line| !line.ends_with(' ') && !line.chars().any(is_special))
        && !text.contains('\r')
}

fn is_special(c: char) -> bool {
    c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// A scalar, or an empty table or list.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        _ => value.to_string(),
    }
}

fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if !text.contains('\'') && !text.chars().any(|c| is_special(c) || !c.is_ascii()) {
        format!("'{text}'")
    } else {
        quoted(text)
    }
}

/// In double quotes: JSON's escapes are YAML's too, but YAML wants more characters escaped.
fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        if is_special(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a string can stand without quotes.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan",
    ];
    let first = text.chars().next();
    let word = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
    first
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '/')
        .then_some(text)
        .or(word.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())))
        .is_some()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-/:=+@ ()".contains(c))
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use saphyr::{LoadableYamlNode as _, Yaml};
    use serde_json::json;

    use super::*;

    /// What a reader of YAML makes of a text.
    fn read(text: &str) -> Value {
        let documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(documents.len(), 1, "{text}");
        back(&documents[0])
    }

    fn back(node: &Yaml<'_>) -> Value {
        if let Some(map) = node.as_mapping() {
            return map
                .iter()
                .map(|(key, value)| (key.as_str().unwrap().to_owned(), back(value)))
                .collect();
        }
        if let Some(items) = node.as_vec() {
            return items.iter().map(back).collect();
        }
        if let Some(text) = node.as_str() {
            return Value::from(text);
        }
        if let Some(number) = node.as_integer() {
            return Value::from(number);
        }
        node.as_bool().map_or(Value::Null, Value::from)
    }

    #[test]
    fn comments_stand_above_what_they_are_of() {
        let value = json!({"a": 1, "list": [{"x": "y", "z": []}, "s"], "text": "one\ntwo\n"});
        let comments = [
            ("", "top".to_owned()),
            ("/list", "the list".to_owned()),
            ("/list/0/x", "first".to_owned()),
            ("/list/1", "second\nitem".to_owned()),
        ];
        let text = write(&value, &comments);
        assert_eq!(
            text,
            "# top\na: 1\n# the list\nlist:\n  -\n    # first\n    x: 'y'\n    z: []\n  # second\n  # item\n  - s\ntext: |\n  one\n  two\n"
        );
        assert_eq!(read(&text), value);
    }

    #[test]
    fn a_string_stays_a_string() {
        for text in [
            "",
            "1",
            "1.5",
            "0x1",
            "yes",
            "No",
            "null",
            "~",
            "a: b",
            "a:",
            "- a",
            "#a",
            "a #b",
            "'",
            "\"",
            "1e3",
            "2026-11-30",
            "=",
            "<<",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "{a",
            "[a",
            "a, b",
            "\t",
            "a\tb",
            " a",
            "a ",
            "a\nb",
            "a\n\nb\n",
            "\na",
            "a\n\n",
            "é",
            "\u{85}",
            "🦀",
            "a\r\nb",
            "sha256:ab",
            "--flag={\"a\":\"b\"}",
            "1:20",
            ".5",
            "NaN",
            ".inf",
        ] {
            let value = json!({ "k": text, "l": [text] });
            let written = write(&value, &[]);
            assert_eq!(read(&written), value, "{written}");
        }
    }

    fn values() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[ a:#'\"\\n-]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z.:/ ]{1,6}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back(value in values()) {
            let value = json!({ "k": value });
            let text = write(&value, &[]);
            assert_eq!(read(&text), value, "{text}");
        }
    }
}
