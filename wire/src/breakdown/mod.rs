//! What a request is made of, to the byte.
//!
//! The parts of a [`Breakdown`] sum up to the body's length exactly: what belongs to no other part
//! (braces, names, types, ids, white space) is [`Section::Overhead`]. Responses, Chat Completions
//! and Anthropic's Messages are understood; any other JSON is split by its top-level members.

use std::ops::Range;

use crate::body::{Body, Json};
use crate::spans;

mod split;

/// What kind of cost a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// System and developer text.
    System,
    /// An offered tool.
    Tools,
    /// What Codex tells of its surroundings: folder, sandbox, date.
    Environment,
    /// AGENTS.md files.
    Agents,
    /// The conversation.
    History,
    /// `client_metadata`, which the model never sees.
    Metadata,
    /// Model, switches and limits.
    Parameters,
    /// JSON itself: braces, names, types, ids.
    Overhead,
    /// A body that is no JSON.
    Opaque,
}

impl Section {
    /// All, in the order of a report.
    pub const ALL: [Self; 9] = [
        Self::System,
        Self::Tools,
        Self::Environment,
        Self::Agents,
        Self::History,
        Self::Metadata,
        Self::Parameters,
        Self::Overhead,
        Self::Opaque,
    ];

    /// Its name, as users write and read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::Environment => "environment",
            Self::Agents => "agents",
            Self::History => "history",
            Self::Metadata => "metadata",
            Self::Parameters => "parameters",
            Self::Overhead => "overhead",
            Self::Opaque => "opaque",
        }
    }

    /// Whether the model is given it.
    #[must_use]
    pub const fn is_prompt(self) -> bool {
        matches!(
            self,
            Self::System | Self::Tools | Self::Environment | Self::Agents | Self::History
        )
    }
}

/// One part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What kind of cost it is.
    pub section: Section,
    /// What it is, such as a tool's name; a history item's kind.
    pub name: String,
    /// Where it is, as a JSON pointer; empty for the whole body.
    pub pointer: String,
    /// Its bytes in the body, in order, without overlap.
    pub spans: Vec<Range<usize>>,
}

impl Part {
    /// Its size, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.spans.iter().map(ExactSizeIterator::len).sum()
    }

    /// Its text as the model is given it, about: what its strings say, joined by newlines; a
    /// tool's JSON as it stands. `body` is what was broken down.
    #[must_use]
    pub fn text(&self, body: &str) -> String {
        let texts: Vec<String> = self
            .spans
            .iter()
            .map(|span| match self.section {
                Section::Tools => body[span.clone()].to_owned(),
                _ => spans::unescape(&body[span.clone()]),
            })
            .collect();
        texts.join("\n")
    }
}

/// A request, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    /// The parts in the order in which they stand in the body; the overhead last.
    pub parts: Vec<Part>,
    /// The body's length, bytes: the sum of the parts.
    pub bytes: usize,
}

impl Breakdown {
    /// Takes a request's body apart.
    #[must_use]
    pub fn of(body: &Body<'_>) -> Self {
        match body.json() {
            Some(json) => Self::of_json(json),
            None => Self {
                parts: vec![Part {
                    section: Section::Opaque,
                    name: "not JSON".to_owned(),
                    pointer: String::new(),
                    spans: std::iter::once(0..body.bytes()).collect(),
                }],
                bytes: body.bytes(),
            },
        }
    }

    /// The same for a body that is JSON.
    pub(crate) fn of_json(json: &Json<'_>) -> Self {
        let mut parts = split::parts(json);
        parts.retain(|part| part.bytes() > 0);
        parts.sort_by_key(|part| part.spans[0].start);
        parts.push(rest(&parts, json.text.len()));
        Self {
            parts,
            bytes: json.text.len(),
        }
    }

    /// The bytes of a section.
    #[must_use]
    pub fn section(&self, section: Section) -> usize {
        self.parts
            .iter()
            .filter(|part| part.section == section)
            .map(Part::bytes)
            .sum()
    }

    /// The part that holds this byte of the body.
    #[must_use]
    pub fn at(&self, offset: usize) -> Option<&Part> {
        self.parts
            .iter()
            .find(|part| part.spans.iter().any(|span| span.contains(&offset)))
    }
}

/// What no part holds.
fn rest(parts: &[Part], length: usize) -> Part {
    let mut taken: Vec<&Range<usize>> = parts.iter().flat_map(|part| &part.spans).collect();
    taken.sort_by_key(|span| span.start);
    let mut spans = Vec::new();
    let mut at = 0;
    for span in taken {
        if span.start > at {
            spans.push(at..span.start);
        }
        at = at.max(span.end);
    }
    if at < length {
        spans.push(at..length);
    }
    Part {
        section: Section::Overhead,
        name: "JSON".to_owned(),
        pointer: String::new(),
        spans,
    }
}

#[cfg(test)]
mod tests;
