//! Which bytes of a request are which part: the rules for each API.

use std::ops::Range;

use super::{Part, Section};
use crate::body::Json;
use crate::spans::{Kind, Node, step};

/// Members of an item whose strings the model is not given as text.
const FRAME: [&str; 7] = [
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

/// The parts of a request, but for what is left over. Some may be empty.
pub(super) fn parts(json: &Json<'_>) -> Vec<Part> {
    let mut splitter = Splitter {
        text: json.text,
        parts: Vec::new(),
        has_system: false,
    };
    for (name, value) in json.root.members() {
        splitter.member(name, value);
    }
    splitter.parts
}

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

    /// What a text is by its mark.
    fn mark(&self, text: &Node) -> Option<(Section, &'static str)> {
        let inner = &self.text[text.inner()];
        // Most texts have none, and need not be read for that. A line end before a mark is an escape,
        // and so may its first character be.
        if !inner.trim_start().starts_with(['<', '#', 'T', '\\']) {
            return None;
        }
        let text = text.beginning(self.text, MARKED)?;
        let text = text.trim_start();
        MARKS
            .iter()
            .find(|(mark, _, _)| text.starts_with(mark))
            .map(|(_, section, name)| (*section, *name))
    }

    fn said(&mut self, role: &str, part: &Node, pointer: &str) {
        let ours = matches!(role, "system" | "developer");
        let mark = (ours || role == "user")
            .then(|| self.mark(part.get("text").unwrap_or(part)))
            .flatten();
        let (section, name) = match (mark, role) {
            (Some(mark), _) => mark,
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
