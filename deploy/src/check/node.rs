//! YAML as a tree that knows the line of everything in it.

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};

use crate::reader::Fault;

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// What it is.
    pub data: Data,
}

/// What a part of a document is.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction, as Rust writes it.
    Float(String),
    /// Any other scalar.
    Text(String),
    /// Entries in their order.
    Map(Vec<(String, Node)>),
    /// Items.
    List(Vec<Node>),
}

/// Reads every document of a file; empty ones are left out.
///
/// # Errors
/// When it is not YAML, or has a directive: no manifest needs one, and the parser does not end on some.
pub fn read(file: &str, text: &str) -> Result<Vec<Node>, Fault> {
    if let Some(line) = text.lines().position(|line| line.starts_with('%')) {
        return Err(Fault {
            file: file.to_owned(),
            line: line + 1,
            key: String::new(),
            found: "a line that begins with %".to_owned(),
            expected: "YAML without directives".to_owned(),
        });
    }
    let documents = MarkedYaml::load_from_str(text).map_err(|error| Fault {
        file: file.to_owned(),
        line: error.marker().line(),
        key: String::new(),
        found: "no YAML".to_owned(),
        expected: error.info().to_owned(),
    })?;
    Ok(documents
        .iter()
        .map(convert)
        .filter(|node| node.data != Data::Null)
        .collect())
}

fn convert(node: &MarkedYaml<'_>) -> Node {
    let data = match &node.data {
        YamlData::Value(Scalar::Boolean(on)) => Data::Bool(*on),
        YamlData::Value(Scalar::Integer(number)) => Data::Int(*number),
        YamlData::Value(Scalar::FloatingPoint(number)) => Data::Float(number.to_string()),
        YamlData::Mapping(map) => Data::Map(
            map.iter()
                .map(|(key, value)| {
                    let mut value = convert(value);
                    // Where an entry is, is where its key is.
                    value.line = key.span.start.line();
                    (scalar(&convert(key)), value)
                })
                .collect(),
        ),
        YamlData::Sequence(items) => Data::List(items.iter().map(convert).collect()),
        YamlData::Tagged(_, inner) => return convert(inner),
        YamlData::Value(Scalar::String(text)) | YamlData::Representation(text, ..) => {
            Data::Text(text.to_string())
        }
        YamlData::Value(Scalar::Null) | YamlData::Alias(_) | YamlData::BadValue => Data::Null,
    };
    Node {
        line: node.span.start.line(),
        data,
    }
}

fn scalar(node: &Node) -> String {
    match &node.data {
        Data::Bool(on) => on.to_string(),
        Data::Int(number) => number.to_string(),
        Data::Float(text) | Data::Text(text) => text.clone(),
        _ => String::new(),
    }
}

impl Node {
    /// The entry of this name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    /// The entry at the end of a path of names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries, none where this is no table.
    #[must_use]
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, none where this is no list.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }

    /// The items of an entry.
    #[must_use]
    pub fn list(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::items)
    }

    /// A scalar's text; empty where this is none.
    #[must_use]
    pub fn text(&self) -> String {
        scalar(self)
    }

    /// The text of an entry; empty where it is missing.
    #[must_use]
    pub fn text_of(&self, key: &str) -> String {
        self.get(key).map(scalar).unwrap_or_default()
    }

    /// The whole number of an entry.
    #[must_use]
    pub fn int_of(&self, key: &str) -> Option<i64> {
        match self.get(key)?.data {
            Data::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Whether an entry is true.
    #[must_use]
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|node| node.data == Data::Bool(true))
    }

    /// The entries as names and texts.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.entries()
            .iter()
            .map(|(name, node)| (name.clone(), scalar(node)))
            .collect()
    }
}
