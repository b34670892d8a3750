//! What a turn becomes for one request: parts of an answer, and what they cost.

use serde_json::Value;

use super::check::{Asked, flat_name};
use super::config::Config;
use super::flaw::Flaw;
use super::prompt::tokens;
use super::script::{Fault, ToolCall, Turn};
use crate::text::floor_char_boundary;

/// A part of an answer, in the order in which the model speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Thinking.
    Reasoning(String),
    /// What the user reads.
    Text(String),
    /// A tool call.
    Call(Call),
}

impl Part {
    fn content(&mut self) -> &mut String {
        match self {
            Self::Reasoning(text) | Self::Text(text) => text,
            Self::Call(call) => &mut call.arguments,
        }
    }
}

/// A tool call, named as the client knows the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// The call's id.
    pub id: String,
    /// The tool's namespace.
    pub namespace: Option<String>,
    /// The tool.
    pub name: String,
    /// Its arguments, mostly JSON.
    pub arguments: String,
    /// Whether they are lost where the call is complete.
    pub lost: bool,
}

impl Call {
    /// The arguments as they stand in the complete call.
    pub(super) fn complete_arguments(&self) -> &str {
        if self.lost { "{}" } else { &self.arguments }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Its parts.
    pub parts: Vec<Part>,
    /// Whether it was cut at the longest answer asked for.
    pub incomplete: bool,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Of these, read from the prefix cache.
    pub cached_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Of these, thinking.
    pub reasoning_tokens: u64,
    /// Tokens in an event of the stream.
    pub tokens_per_chunk: u64,
}

impl Answer {
    /// What `turn` says to `asked`; `id` makes up the ids of calls.
    pub(super) fn new(
        turn: &Turn,
        asked: &Asked,
        config: &Config,
        cached_tokens: u64,
        id: &str,
    ) -> Self {
        let mut parts = parts(turn, asked, config, id);
        let incomplete = asked.max_output.is_some_and(|limit| cut(&mut parts, limit));
        let cost = |part: &Part| match part {
            Part::Reasoning(text) | Part::Text(text) => tokens(text.len()),
            Part::Call(call) => tokens(call.arguments.len()),
        };
        Self {
            prompt_tokens: tokens(asked.prompt.len()),
            cached_tokens,
            output_tokens: parts.iter().map(cost).sum(),
            reasoning_tokens: parts
                .iter()
                .filter(|part| matches!(part, Part::Reasoning(_)))
                .map(cost)
                .sum(),
            parts,
            incomplete,
            tokens_per_chunk: turn.tokens_per_chunk.unwrap_or(1).max(1),
        }
    }

    /// The calls of the answer.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

fn parts(turn: &Turn, asked: &Asked, config: &Config, id: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = turn.text.clone().unwrap_or_default();
    if let Some(reasoning) = turn.reasoning.as_deref().filter(|_| asked.thinking) {
        if config.reasoning_parser {
            parts.push(Part::Reasoning(reasoning.to_owned()));
        } else {
            text = format!("{reasoning}</think>{text}");
        }
    }
    if !asked.parse_calls && !turn.calls.is_empty() {
        text.push_str(&markup(&turn.calls));
    }
    if is_lost(turn, config) {
        text.push_str("I have no such tool.");
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    if asked.parse_calls && !is_lost(turn, config) {
        let malformed = turn.fault == Some(Fault::MalformedArguments);
        parts.extend(turn.calls.iter().enumerate().map(|(index, call)| {
            let (namespace, name) = told_name(call, asked, config.flaw);
            let mut arguments = arguments(call);
            if malformed {
                halve(&mut arguments);
            }
            let made_up = || format!("chatcmpl-tool-{id}{index:02x}");
            let id = call.call_id.clone().unwrap_or_else(made_up);
            Part::Call(Call {
                id,
                namespace,
                name,
                arguments,
                lost: config.flaw == Some(Flaw::ArgumentsLost),
            })
        }));
    }
    parts
}

/// Whether the turn calls a tool that did not reach the model.
fn is_lost(turn: &Turn, config: &Config) -> bool {
    config.flaw == Some(Flaw::NamespaceDropped)
        && turn.calls.iter().any(|call| call.namespace.is_some())
}

/// Namespace and name of a call as the client is told them.
fn told_name(call: &ToolCall, asked: &Asked, flaw: Option<Flaw>) -> (Option<String>, String) {
    let called = flat_name(call.namespace.as_deref(), &call.name);
    match (asked.functions.get(&called), flaw) {
        (Some(tool), Some(Flaw::NamespaceDotted)) => {
            let namespace = tool.namespace.iter().map(String::as_str);
            let parts: Vec<&str> = namespace.chain([tool.name.as_str()]).collect();
            (None, parts.join("."))
        }
        (Some(tool), flaw) if flaw != Some(Flaw::NamespaceFlat) => {
            (tool.namespace.clone(), tool.name.clone())
        }
        // A tool that was not offered keeps its flat name, as vLLM leaves it.
        _ => (None, called),
    }
}

/// A string stands as it is; anything else is JSON.
fn arguments(call: &ToolCall) -> String {
    call.arguments
        .as_str()
        .map_or_else(|| call.arguments.to_string(), str::to_owned)
}

fn halve(text: &mut String) {
    text.truncate(floor_char_boundary(text, text.len() / 2));
}

/// Cuts the answer after `limit` tokens; whether anything was lost.
fn cut(parts: &mut Vec<Part>, limit: u64) -> bool {
    let mut left = limit;
    for index in 0..parts.len() {
        let content = parts[index].content();
        let cost = tokens(content.len());
        if cost > left {
            let bytes = usize::try_from(left * 4).unwrap_or(usize::MAX);
            content.truncate(floor_char_boundary(content, bytes));
            parts.truncate(index + 1);
            return true;
        }
        left -= cost;
    }
    false
}

/// The calls in DeepSeek V4's own markup, which is what a client sees when no parser takes it out.
fn markup(calls: &[ToolCall]) -> String {
    let calls: String = calls.iter().map(invocation).collect();
    format!("\n\n<｜DSML｜tool_calls>\n{calls}</｜DSML｜tool_calls>")
}

fn invocation(call: &ToolCall) -> String {
    let name = flat_name(call.namespace.as_deref(), &call.name);
    let mut lines = vec![format!("<｜DSML｜invoke name=\"{name}\">")];
    for (key, value) in call.arguments.as_object().into_iter().flatten() {
        let (string, value) = match value {
            Value::String(text) => (true, text.clone()),
            other => (false, other.to_string()),
        };
        lines.push(format!(
            "<｜DSML｜parameter name=\"{key}\" string=\"{string}\">{value}</｜DSML｜parameter>"
        ));
    }
    lines.push("</｜DSML｜invoke>\n".to_owned());
    lines.join("\n")
}
