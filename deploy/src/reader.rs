//! Reads a TOML file into types, and names every fault by its place.
//!
//! A [`Section`] is a table of the file. Its getters give a value of a type that cannot hold a bad
//! one; where the file has a bad one, the fault is noted and the getter gives a placeholder, so that
//! one reading finds all faults. [`Source::finish`] gives them: with any of them, nothing that was
//! read may be used.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use toml_edit::{Item, TableLike};

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key with the tables above it, like `nodes.head.host`; empty for a fault of TOML itself.
    pub key: String,
    /// What the file has.
    pub found: String,
    /// What it may have.
    pub expected: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

/// Every fault of a file.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct Faults(pub Vec<Fault>);

fn lines(faults: &[Fault]) -> String {
    faults
        .iter()
        .map(Fault::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A type that a value of a file becomes.
pub trait Value: Sized {
    /// What the value must be, for the error.
    const EXPECTED: &'static str;

    /// The value; `None` for a bad one.
    fn read(item: &Item) -> Option<Self>;

    /// What stands in for a value that is missing or bad, until the faults are reported.
    fn placeholder() -> Self;
}

/// Implements [`Value`] for a type made of a string with `fn parse(&str) -> Option<Self>`.
macro_rules! text_value {
    ($type:ty, $expected:expr, $placeholder:expr) => {
        impl $crate::reader::Value for $type {
            const EXPECTED: &'static str = $expected;

            fn read(item: &toml_edit::Item) -> Option<Self> {
                item.as_str().and_then(Self::parse)
            }

            fn placeholder() -> Self {
                $placeholder
            }
        }
    };
}
pub(crate) use text_value;

impl Value for String {
    const EXPECTED: &'static str = "a string that is not empty";

    fn read(item: &Item) -> Option<Self> {
        item.as_str()
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    }

    fn placeholder() -> Self {
        Self::new()
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(item: &Item) -> Option<Self> {
        item.as_bool()
    }

    fn placeholder() -> Self {
        false
    }
}

impl<T: Value> Value for Vec<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(item: &Item) -> Option<Self> {
        item.as_array()
            .filter(|array| !array.is_empty())?
            .iter()
            .map(|value| T::read(&Item::Value(value.clone())))
            .collect()
    }

    fn placeholder() -> Self {
        Self::new()
    }
}

/// A file being read.
pub struct Source<'t> {
    file: String,
    text: &'t str,
    faults: RefCell<Vec<Fault>>,
    places: RefCell<BTreeMap<String, usize>>,
}

impl<'t> Source<'t> {
    /// A file of this name and text.
    #[must_use]
    pub fn new(file: &str, text: &'t str) -> Self {
        Self {
            file: file.to_owned(),
            text,
            faults: RefCell::default(),
            places: RefCell::default(),
        }
    }

    /// The document.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn document(&self) -> Result<toml_edit::Document<&'t str>, Faults> {
        toml_edit::Document::parse(self.text).map_err(|error| {
            Faults(vec![Fault {
                file: self.file.clone(),
                line: error.span().map_or(1, |span| self.line(span.start)),
                key: String::new(),
                found: "no TOML".to_owned(),
                expected: error.message().trim().replace('\n', ", "),
            }])
        })
    }

    /// The document's own table.
    #[must_use]
    pub fn root<'s>(&'s self, document: &'s toml_edit::Document<&'t str>) -> Section<'s> {
        Section {
            source: self,
            path: String::new(),
            table: Some(document.as_table()),
            line: 1,
            known: RefCell::default(),
        }
    }

    /// Whether nothing was at fault so far.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// The lines of the keys that were read, or the faults, in the order of the file.
    ///
    /// # Errors
    /// When anything in the file is at fault.
    pub fn finish(self) -> Result<BTreeMap<String, usize>, Faults> {
        let mut faults = self.faults.into_inner();
        if faults.is_empty() {
            return Ok(self.places.into_inner());
        }
        faults.sort_by_key(|fault| fault.line);
        Err(Faults(faults))
    }

    fn line(&self, offset: usize) -> usize {
        1 + self
            .text
            .char_indices()
            .take_while(|(index, _)| *index < offset)
            .filter(|(_, character)| *character == '\n')
            .count()
    }
}

/// A table of the file; one that is not there reads as an empty one.
pub struct Section<'s> {
    source: &'s dyn Place,
    path: String,
    table: Option<&'s dyn TableLike>,
    line: usize,
    known: RefCell<Vec<String>>,
}

/// What a section needs of its [`Source`], whatever text that borrows.
trait Place {
    fn line_of(&self, offset: usize) -> usize;
    fn fault(&self, line: usize, key: String, found: String, expected: String);
    fn read_at(&self, key: String, line: usize);
}

impl Place for Source<'_> {
    fn line_of(&self, offset: usize) -> usize {
        self.line(offset)
    }

    fn fault(&self, line: usize, key: String, found: String, expected: String) {
        self.faults.borrow_mut().push(Fault {
            file: self.file.clone(),
            line,
            key,
            found,
            expected,
        });
    }

    fn read_at(&self, key: String, line: usize) {
        self.places.borrow_mut().insert(key, line);
    }
}

impl<'s> Section<'s> {
    /// Whether the file has this table.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.table.is_some()
    }

    /// The table `key` below this one.
    #[must_use]
    pub fn section(&self, key: &str) -> Section<'s> {
        let found = self.item(key);
        let line = found.map_or(self.line, |(_, line)| line);
        let table = found.and_then(|(item, _)| {
            let table = item.as_table_like();
            if table.is_none() {
                self.fault_at(line, key, shown(item), "a table");
            }
            table
        });
        Section {
            source: self.source,
            path: self.key(key),
            table,
            line,
            known: RefCell::default(),
        }
    }

    /// The table `key`, which has to be there.
    #[must_use]
    pub fn needed_section(&self, key: &str) -> Section<'s> {
        let section = self.section(key);
        if self.item(key).is_none() {
            self.fault_at(
                self.line,
                key,
                "no such table",
                &format!("[{}]", section.path),
            );
        }
        section
    }

    /// The value of `key`, if it is there.
    pub fn get<T: Value>(&self, key: &str) -> Option<T> {
        let (item, line) = self.item(key)?;
        let value = T::read(item);
        if value.is_none() {
            let expected = if item.is_array() {
                format!("a list that is not empty, each {}", T::EXPECTED)
            } else {
                T::EXPECTED.to_owned()
            };
            self.fault_at(line, key, shown(item), &expected);
        }
        value
    }

    /// The value of `key`, which has to be there.
    pub fn need<T: Value>(&self, key: &str) -> T {
        if self.item(key).is_none() {
            self.missing(key, T::EXPECTED);
        }
        self.get(key).unwrap_or_else(T::placeholder)
    }

    /// A whole number of `range`; `base` where the file has none; without one it has to be there.
    pub fn int(&self, key: &str, range: RangeInclusive<u64>, base: Option<u64>) -> u64 {
        let expected = if range.start() == range.end() {
            range.start().to_string()
        } else {
            format!("a whole number from {} to {}", range.start(), range.end())
        };
        let Some((item, line)) = self.item(key) else {
            if base.is_none() {
                self.missing(key, &expected);
            }
            return base.unwrap_or(*range.start());
        };
        let value = item
            .as_integer()
            .and_then(|value| u64::try_from(value).ok())
            .filter(|value| range.contains(value));
        if value.is_none() {
            self.fault_at(line, key, shown(item), &expected);
        }
        value.unwrap_or(*range.start())
    }

    /// A TCP port; see [`Section::int`].
    ///
    /// # Panics
    /// Never.
    pub fn port(&self, key: &str, range: RangeInclusive<u16>, base: Option<u16>) -> u16 {
        let value = self.int(
            key,
            u64::from(*range.start())..=u64::from(*range.end()),
            base.map(u64::from),
        );
        u16::try_from(value).expect("the range is one of u16")
    }

    /// A number of `range`; see [`Section::int`].
    pub fn float(&self, key: &str, range: RangeInclusive<f64>, base: Option<f64>) -> f64 {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let Some((item, line)) = self.item(key) else {
            if base.is_none() {
                self.missing(key, &expected);
            }
            return base.unwrap_or(*range.start());
        };
        let value = item
            .as_float()
            .or_else(|| {
                item.as_integer()
                    .and_then(|whole| i32::try_from(whole).ok())
                    .map(f64::from)
            })
            .filter(|value| range.contains(value));
        if value.is_none() {
            self.fault_at(line, key, shown(item), &expected);
        }
        value.unwrap_or(*range.start())
    }

    /// The names of this table's entries, in the file's order. They count as known.
    pub fn names(&self) -> Vec<String> {
        let names: Vec<String> = self
            .table
            .map(|table| table.iter().map(|(name, _)| name.to_owned()).collect())
            .unwrap_or_default();
        self.known.borrow_mut().extend(names.iter().cloned());
        names
    }

    /// The tables of the list `key`.
    pub fn list(&self, key: &str) -> Vec<Section<'s>> {
        let Some((item, line)) = self.item(key) else {
            return Vec::new();
        };
        let Some(tables) = item.as_array_of_tables() else {
            self.fault_at(line, key, shown(item), &format!("[[{}]]", self.key(key)));
            return Vec::new();
        };
        tables
            .iter()
            .enumerate()
            .map(|(index, table)| Section {
                source: self.source,
                path: format!("{}[{index}]", self.key(key)),
                table: Some(table),
                line: table
                    .span()
                    .map_or(line, |span| self.source.line_of(span.start)),
                known: RefCell::default(),
            })
            .collect()
    }

    /// The line of `key`, or of this table where it has none.
    pub fn line_of(&self, key: &str) -> usize {
        self.item(key).map_or(self.line, |(_, line)| line)
    }

    /// Notes a fault of `key` that its type does not tell.
    pub fn fault(&self, key: &str, found: impl Into<String>, expected: &str) {
        self.fault_at(self.line_of(key), key, found.into(), expected);
    }

    /// Notes every entry that was not asked for. To be called last.
    pub fn finish(self) {
        let known = self.known.take();
        for (name, _) in self.table.into_iter().flat_map(TableLike::iter) {
            if known.iter().any(|key| key == name) {
                continue;
            }
            let near = known
                .iter()
                .map(|key| (strsim::jaro_winkler(key, name), key))
                .filter(|(likeness, _)| *likeness > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let expected = match near {
                Some((_, key)) => format!("a key of this table; did you mean {key}?"),
                None if known.is_empty() => "no key here".to_owned(),
                None => format!("one of {}", known.join(", ")),
            };
            self.fault(name, "an unknown key", &expected);
        }
    }

    fn missing(&self, key: &str, expected: &str) {
        // Where the table itself is missing, that one fault was noted.
        if self.table.is_some() {
            self.fault_at(self.line, key, "nothing", expected);
        }
    }

    fn item(&self, key: &str) -> Option<(&'s Item, usize)> {
        if !self.known.borrow().iter().any(|known| known == key) {
            self.known.borrow_mut().push(key.to_owned());
        }
        let (name, item) = self.table?.get_key_value(key)?;
        let span = name.span().or_else(|| item.span());
        let line = span.map_or(self.line, |span| self.source.line_of(span.start));
        self.source.read_at(self.key(key), line);
        Some((item, line))
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn fault_at(&self, line: usize, key: &str, found: impl Into<String>, expected: &str) {
        self.source
            .fault(line, self.key(key), found.into(), expected.to_owned());
    }
}

/// The value as the file writes it, on one line and cut where it is long.
fn shown(item: &Item) -> String {
    let text = item.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > 60 {
        text.chars().take(57).collect::<String>() + "..."
    } else {
        text
    }
}
