//! What a request is made of, to the byte.
//!
//! The parts of a [`Breakdown`] sum up to the body's length exactly: what belongs to no other part
//! (braces, names, types, ids, white space) is [`Section::Overhead`]. Responses, Chat Completions
//! and Anthropic's Messages are understood; any other JSON is split by its top-level members.

use std::ops::Range;

use crate::body::{Body, Json};
use crate::spans::{self, Kind, Node, step};

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
        let Json { text, root } = json;
        let mut splitter = Splitter {
            text,
            parts: Vec::new(),
            has_system: false,
        };
        for (name, value) in root.members() {
            splitter.member(name, value);
        }
        let mut parts = splitter.parts;
        parts.retain(|part| part.bytes() > 0);
        parts.sort_by_key(|part| part.spans[0].start);
        parts.push(rest(&parts, text.len()));
        Self {
            parts,
            bytes: text.len(),
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

/// Members of an item whose strings the model is not given as text.
pub(crate) const FRAME: [&str; 7] = [
    "type",
    "role",
    "id",
    "call_id",
    "status",
    "phase",
    "tool_call_id",
];

/// What a text of Codex begins with, and what it is then. Seen in requests of Codex 0.163.0 and
/// 0.171.0; the last is how the launcher hands a pinned repository's files over.
const MARKS: [(&str, Section, &str); 8] = [
    (
        "<environment_context>",
        Section::Environment,
        "environment_context",
    ),
    ("<permissions instructions>", Section::System, "permissions"),
    ("<skills_instructions>", Section::System, "skills"),
    ("<apps_instructions>", Section::System, "apps"),
    ("<plugins_instructions>", Section::System, "plugins"),
    ("# AGENTS.md instructions", Section::Agents, "AGENTS.md"),
    ("<user_instructions>", Section::Agents, "AGENTS.md"),
    (
        "The repository brings the instructions below (AGENTS.md",
        Section::Agents,
        "AGENTS.md",
    ),
];

/// Within how many bytes of a text its mark is looked for, white space before it included.
const MARKED: usize = 256;

struct Splitter<'a> {
    text: &'a str,
    parts: Vec<Part>,
    /// Whether a system or developer text without a mark came already.
    has_system: bool,
}

impl Splitter<'_> {
    fn push(&mut self, section: Section, name: &str, pointer: &str, spans: Vec<Range<usize>>) {
        self.parts.push(Part {
            section,
            name: name.to_owned(),
            pointer: pointer.to_owned(),
            spans,
        });
    }

    fn member(&mut self, name: &str, value: &Node) {
        let pointer = step("", name);
        match (name, &value.kind) {
            ("instructions" | "system", Kind::String | Kind::Array(_)) => {
                self.message("system", value, &pointer);
            }
            ("input" | "messages", Kind::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.item(item, &step(&pointer, &index.to_string()));
                }
            }
            ("input", Kind::String) => self.message("user", value, &pointer),
            ("tools", Kind::Array(tools)) => {
                for (index, tool) in tools.iter().enumerate() {
                    self.tool(tool, "", &step(&pointer, &index.to_string()));
                }
            }
            ("client_metadata" | "metadata", _) => {
                self.push(Section::Metadata, name, &pointer, vec![value.span.clone()]);
            }
            _ => self.push(
                Section::Parameters,
                name,
                &pointer,
                vec![value.span.clone()],
            ),
        }
    }

    fn tool(&mut self, tool: &Node, prefix: &str, pointer: &str) {
        let string = |node: Option<&Node>| node.and_then(|node| node.text(self.text));
        let name = string(tool.get("name"))
            .or_else(|| {
                string(
                    tool.get("function")
                        .and_then(|function| function.get("name")),
                )
            })
            .or_else(|| string(tool.get("type")))
            .unwrap_or_else(|| "unnamed".to_owned());
        let name = format!("{prefix}{name}");
        let members = tool.get("tools").map(Node::elements).unwrap_or_default();
        // A namespace's own cost is what is left of it without its members.
        let mut spans = Vec::new();
        let mut at = tool.span.start;
        for (index, member) in members.iter().enumerate() {
            let pointer = format!("{pointer}/tools/{index}");
            self.tool(member, &format!("{name}."), &pointer);
            spans.push(at..member.span.start);
            at = member.span.end;
        }
        spans.push(at..tool.span.end);
        self.push(Section::Tools, &name, pointer, spans);
    }

    fn item(&mut self, item: &Node, pointer: &str) {
        let string = |name: &str| item.get(name).and_then(|node| node.text(self.text));
        let kind = string("type").unwrap_or_else(|| "message".to_owned());
        let Some(role) = string("role").filter(|_| kind == "message") else {
            let mut spans = Vec::new();
            strings(item, &mut spans);
            self.push(Section::History, history(&kind), pointer, spans);
            return;
        };
        if let Some(content) = item.get("content") {
            self.message(&role, content, &step(pointer, "content"));
        }
        // Whatever else a message holds, such as a chat's tool calls, is history.
        let mut spans = Vec::new();
        for (name, value) in item.members() {
            if name != "content" && !FRAME.contains(&name.as_str()) {
                strings(value, &mut spans);
            }
        }
        self.push(Section::History, "tool calls", pointer, spans);
    }

    fn message(&mut self, role: &str, content: &Node, pointer: &str) {
        if content.elements().is_empty() {
            self.said(role, content, pointer);
        }
        for (index, part) in content.elements().iter().enumerate() {
            self.said(role, part, &step(pointer, &index.to_string()));
        }
    }

    fn said(&mut self, role: &str, part: &Node, pointer: &str) {
        let text = part
            .get("text")
            .unwrap_or(part)
            .beginning(self.text, MARKED)
            .unwrap_or_default();
        let ours = matches!(role, "system" | "developer");
        let mark = MARKS
            .iter()
            .find(|(mark, _, _)| (ours || role == "user") && text.trim_start().starts_with(mark));
        let (section, name) = match (mark, role) {
            (Some((_, section, name)), _) => (*section, *name),
            (None, _) if ours && !self.has_system => {
                self.has_system = true;
                (Section::System, "instructions")
            }
            (None, _) if ours => (Section::System, "developer"),
            (None, "tool") => (Section::History, "tool outputs"),
            (None, role) => (Section::History, role),
        };
        let mut spans = Vec::new();
        strings(part, &mut spans);
        self.push(section, name, pointer, spans);
    }
}

/// The name under which items of a type are summed up.
fn history(kind: &str) -> &str {
    match kind {
        "function_call" | "custom_tool_call" | "tool_use" => "tool calls",
        "function_call_output" | "custom_tool_call_output" | "tool_result" => "tool outputs",
        kind => kind,
    }
}

/// The insides of all strings below `node` but those of [`FRAME`].
fn strings(node: &Node, spans: &mut Vec<Range<usize>>) {
    match &node.kind {
        Kind::String if !node.inner().is_empty() => spans.push(node.inner()),
        Kind::Array(elements) => elements.iter().for_each(|element| strings(element, spans)),
        Kind::Object(members) => {
            for (name, value) in members {
                if !FRAME.contains(&name.as_str()) {
                    strings(value, spans);
                }
            }
        }
        Kind::String | Kind::Scalar => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn rows(body: &Value) -> Vec<(Section, String, usize)> {
        let body = body.to_string();
        let broken = Breakdown::of(&Body::read(&body));
        assert_eq!(
            broken.parts.iter().map(Part::bytes).sum::<usize>(),
            body.len()
        );
        broken
            .parts
            .into_iter()
            .map(|part| (part.section, part.name.clone(), part.bytes()))
            .filter(|(section, _, _)| *section != Section::Overhead)
            .collect()
    }

    #[test]
    fn a_request_of_codex_is_named_part_by_part() {
        let text = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
        let body = json!({
            "model": "m",
            "input": [
                text("developer", "Be brief."),
                text("developer", "<permissions instructions>no</permissions instructions>"),
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "# AGENTS.md instructions for /w\n\nx"},
                    {"type": "input_text", "text": "<environment_context>\n</environment_context>"},
                ]},
                text("user", "hi"),
                {"type": "reasoning", "id": "rs_1", "summary": [],
                 "content": [{"type": "reasoning_text", "text": "hm"}], "encrypted_content": null},
                {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"},
                {"type": "function_call_output", "call_id": "c", "output": "a b"},
                text("assistant", "ok"),
            ],
            "tools": [
                {"type": "function", "name": "exec"},
                {"type": "namespace", "name": "mcp__a", "tools": [{"type": "function", "name": "b"}]},
                {"type": "web_search"},
            ],
            "client_metadata": {"a": "b"},
        });
        let rows = rows(&body);
        let shown: Vec<(Section, &str, usize)> = rows
            .iter()
            .map(|(section, name, bytes)| (*section, name.as_str(), *bytes))
            .collect();
        assert_eq!(
            shown,
            [
                (Section::Parameters, "model", 3),
                (Section::System, "instructions", 9),
                (Section::System, "permissions", 55),
                (Section::Agents, "AGENTS.md", 36),
                (Section::Environment, "environment_context", 45),
                (Section::History, "user", 2),
                (Section::History, "reasoning", 2),
                (Section::History, "tool calls", 4),
                (Section::History, "tool outputs", 3),
                (Section::History, "assistant", 2),
                (Section::Tools, "exec", 33),
                (Section::Tools, "mcp__a", 47),
                (Section::Tools, "mcp__a.b", 30),
                (Section::Tools, "web_search", 21),
                (Section::Metadata, "client_metadata", 9),
            ]
        );
    }

    #[test]
    fn chat_and_messages_bodies_are_understood() {
        let chat = json!({"messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "out"},
        ], "tools": [{"type": "function", "function": {"name": "ls"}}]});
        let names: Vec<String> = rows(&chat).into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(
            names,
            ["instructions", "user", "tool calls", "tool outputs", "ls"]
        );
        let anthropic = json!({"system": [{"type": "text", "text": "s"}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
        ], "tools": [{"name": "ls", "input_schema": {}}]});
        let names: Vec<String> = rows(&anthropic)
            .into_iter()
            .map(|(_, name, _)| name)
            .collect();
        assert_eq!(names, ["instructions", "user", "ls"]);
    }

    #[test]
    fn the_text_of_a_part_is_what_it_says() {
        let body = json!({"instructions": "a\n\"b\" é"}).to_string();
        let broken = Breakdown::of(&Body::read(&body));
        assert_eq!(broken.parts[0].text(&body), "a\n\"b\" é");
    }

    fn assert_sums(body: &[u8]) -> Result<(), TestCaseError> {
        let broken = Breakdown::of(&Body::read(body));
        let mut spans: Vec<Range<usize>> = broken
            .parts
            .iter()
            .flat_map(|part| part.spans.clone())
            .collect();
        spans.retain(|span| !span.is_empty());
        spans.sort_by_key(|span| span.start);
        let mut at = 0;
        for span in spans {
            // Each byte is in one part, and in one only.
            prop_assert_eq!(span.start, at);
            at = span.end;
        }
        prop_assert_eq!(at, body.len());
        prop_assert_eq!(
            broken.parts.iter().map(Part::bytes).sum::<usize>(),
            body.len()
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn the_parts_of_any_json_sum_up_exactly(value in spans::tests::json(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            assert_sums(text.as_bytes())?;
        }

        #[test]
        fn the_parts_of_any_bytes_sum_up_exactly(body in prop::collection::vec(any::<u8>(), 0..64)) {
            assert_sums(&body)?;
        }

        #[test]
        fn the_parts_of_any_request_sum_up_exactly(items in prop::collection::vec(spans::tests::json(), 0..4),
            tools in prop::collection::vec(spans::tests::json(), 0..3)) {
            let body = json!({"input": items, "tools": tools, "instructions": "x", "client_metadata": null});
            assert_sums(body.to_string().as_bytes())?;
        }
    }
}
