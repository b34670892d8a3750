//! What files hold: what the script wrote there, or what is on the disk.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::limits;
use crate::value::Value;

/// A text that a file may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    written: Value,
    /// Whether what was there before stands in front of it.
    appended: bool,
}

impl Text {
    fn new(written: Value) -> Self {
        Self {
            written,
            appended: false,
        }
    }
}

/// The files that the script wrote. One that is written twice may hold either text when it is run,
/// since what stands behind `&&` or in a branch may not have run: each text counts.
#[derive(Debug, Default)]
pub(crate) struct Written {
    texts: BTreeMap<String, Vec<Text>>,
    /// Files that got a content which cannot be read, such as a copy of a program.
    opaque: BTreeSet<String>,
}

impl Written {
    pub(crate) fn has(&self, path: &str) -> bool {
        self.texts.contains_key(path)
    }

    /// The file may hold this text from now on.
    pub(crate) fn put(&mut self, path: &str, text: Value) {
        let texts = self.texts.entry(path.to_owned()).or_default();
        let text = Text::new(text);
        if texts.last() == Some(&text) {
            return;
        }
        texts.push(text);
        if texts.len() > limits::CONTENTS {
            *texts = vec![Text::new(Value::output())];
        }
    }

    /// The file holds this text only.
    pub(crate) fn replace(&mut self, path: &str, text: Value) {
        self.texts.insert(path.to_owned(), vec![Text::new(text)]);
    }

    /// More of the text that was put last.
    pub(crate) fn extend(&mut self, path: &str, more: &Value) {
        if let Some(text) = self.texts.get_mut(path).and_then(|texts| texts.last_mut()) {
            text.written.push_value(more);
        }
    }

    /// More behind whatever the file holds.
    pub(crate) fn append(&mut self, path: &str, more: &Value) {
        let nothing = Text {
            written: Value::default(),
            appended: true,
        };
        let texts = self.texts.entry(path.to_owned());
        for text in texts.or_insert_with(|| vec![nothing]) {
            text.written.push_value(more);
        }
    }

    /// Nothing is known of what the file holds from now on.
    pub(crate) fn conceal(&mut self, path: &str) {
        self.opaque.insert(path.to_owned());
    }
}

impl Interpreter<'_> {
    /// Everything that a path may hold. Where it is one of several texts, each has to be checked.
    pub(crate) fn contents(&self, path: &Value, state: &State) -> Vec<Value> {
        let path = absolute(path, state);
        let Some(path) = path.as_known() else {
            return vec![Value::unknown()];
        };
        if let Some(texts) = self.written.texts.get(path) {
            let whole = |text: &Text| {
                if !text.appended || self.is_absent(path) {
                    return text.written.clone();
                }
                let mut whole = self.file_content(path);
                if !whole.is_known() {
                    whole.push("\n");
                }
                whole.push_value(&text.written);
                whole
            };
            return texts.iter().map(whole).collect();
        }
        vec![match path {
            "/dev/null" => Value::default(),
            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => {
                state.stdin.clone().unwrap_or_else(Value::unknown)
            }
            path if self.written.opaque.contains(path) => Value::unknown(),
            path => self.file_content(path),
        }]
    }

    /// What a path holds. One of several texts is unknown, and all of them are in it.
    pub(crate) fn content(&self, path: &Value, state: &State) -> Value {
        let contents = self.contents(path, state);
        if let [content] = contents.as_slice() {
            return content.clone();
        }
        let mut all = Value::output();
        for content in &contents {
            all.push("\n");
            all.push_value(content);
        }
        all
    }

    /// What the script itself wrote into a file, without what was there before.
    pub(crate) fn own_contents(&self, path: &Value) -> Vec<Value> {
        let texts = path
            .as_known()
            .and_then(|path| self.written.texts.get(path));
        let texts = texts.into_iter().flatten();
        texts.map(|text| text.written.clone()).collect()
    }

    fn file_content(&self, path: &str) -> Value {
        if !self.may_look() {
            return Value::unknown();
        }
        let limit = u64::from(self.policy.budgets.file_bytes);
        let text = self.context.files.read(path.as_ref(), limit);
        text.filter(|text| (text.len() as u64) < limit)
            .map_or_else(Value::unknown, Value::known)
    }

    /// Counts a look at the disk. Once there were too many, the next step of the script denies.
    fn may_look(&self) -> bool {
        self.looks.set(self.looks.get() + 1);
        self.looks.get() <= self.policy.budgets.lookups
    }

    fn is_absent(&self, path: &str) -> bool {
        self.may_look() && !self.context.files.exists(path.as_ref())
    }

    /// Whether the script itself wrote this file.
    pub(crate) fn has_written(&self, path: &Value) -> bool {
        path.as_known().is_some_and(|path| self.written.has(path))
    }

    /// Whether nothing can be at a path: the script did not make it and it is not there. A glob
    /// of which nothing is known to exist counts as nothing.
    pub(crate) fn is_missing(&self, path: &Value) -> bool {
        path.as_known().is_some_and(|path| {
            // Which descriptors there will be is not to be seen from here.
            let descriptor = path.starts_with("/dev/fd/") || path.starts_with("/proc/");
            !descriptor
                && !self.written.has(path)
                && !self.written.opaque.contains(path)
                && self.is_absent(path)
        })
    }
}
