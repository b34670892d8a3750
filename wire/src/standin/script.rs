//! What the stand-in's model says: a list of turns.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The turns, in the order in which they are played: each model request takes the first unplayed
/// turn whose [`Turn::when`] fits it. When none is left the model says "Done.".
///
/// As JSON a script is an array of turns:
/// ```json
/// [{"reasoning": "I will look.", "calls": [{"name": "exec_command", "arguments": {"cmd": "ls"}}]},
///  {"text": "There is nothing.", "tokens_per_second": 40}]
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script {
    /// The turns.
    pub turns: Vec<Turn>,
}

/// Why a script could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file could not be read.
    #[error("cannot read the script {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not a script.
    #[error("the script is not a JSON array of turns: {0}")]
    Parse(#[from] serde_json::Error),
    /// A file's text is not a script.
    #[error("{path} is not a JSON array of turns: {source}")]
    ParseFile {
        /// The file.
        path: PathBuf,
        /// Where and why, with line and column.
        source: serde_json::Error,
    },
}

impl Script {
    /// A script of these turns.
    #[must_use]
    pub fn new(turns: Vec<Turn>) -> Self {
        Self { turns }
    }

    /// Parses a script.
    ///
    /// # Errors
    /// The text is no array of turns; the error says where.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no array of turns; both name the file.
    pub fn from_file(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|source| ScriptError::ParseFile {
            path: path.to_owned(),
            source,
        })
    }
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// The turn is only for a request whose body holds this text, as it stands in the JSON, so
    /// that several conversations can share a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The turn stays in the script, and is played for every request that it fits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stays: bool,
    /// A text of the request that this one knows only the beginning of: from there up to the next
    /// space, quote or comma it takes the place of `{quoted}` in the arguments of the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What the model thinks first; left out when the request turns thinking off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The tools it calls afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Milliseconds before the first byte of the answer.
    pub delay_ms: u64,
    /// The pace of the stream; without it everything is sent at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
    /// The pace at which the prompt is read before the first byte, without what the prefix cache
    /// holds of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill_tokens_per_second: Option<f64>,
    /// Tokens in an event of the stream, as speculative decoding makes several at once; without it
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_chunk: Option<u64>,
    /// What goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The namespace of an MCP server's tool, such as `mcp__echo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments. A string is sent as it stands, which is how malformed arguments are written;
    /// anything else is sent as JSON.
    pub arguments: Value,
    /// The call's id; without it the server makes one up, as vLLM does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// What goes wrong in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The connection breaks after this many events.
    Cut {
        /// Events sent before.
        after: usize,
    },
    /// Nothing more comes after this many events, and the connection stays open.
    Stall {
        /// Events sent before.
        after: usize,
    },
    /// An error instead of an answer.
    Status {
        /// The HTTP status, 400 to 599.
        code: u16,
        /// The body; without it, one in vLLM's form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    /// The arguments of each tool call break off in the middle.
    MalformedArguments,
    /// Status 200 with a page of HTML, as a proxy's login page answers.
    Html200,
}

impl Turn {
    /// The model says `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// The model calls a function.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_call(ToolCall {
            namespace: None,
            name: name.into(),
            arguments,
            call_id: None,
        })
    }

    /// The model calls an MCP server's tool.
    pub fn mcp_call(
        namespace: impl Into<String>,
        name: impl Into<String>,
        arguments: Value,
    ) -> Self {
        Self::default().and_call(ToolCall {
            namespace: Some(namespace.into()),
            name: name.into(),
            arguments,
            call_id: None,
        })
    }

    /// With one more call.
    #[must_use]
    pub fn and_call(mut self, call: ToolCall) -> Self {
        self.calls.push(call);
        self
    }

    /// After thinking `reasoning`.
    #[must_use]
    pub fn reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.reasoning = Some(reasoning.into());
        self
    }

    /// With a fault.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Only for a request whose body holds `text`.
    #[must_use]
    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(text.into());
        self
    }

    /// For every request that it fits, not only for the first.
    #[must_use]
    pub fn stays(mut self) -> Self {
        self.stays = true;
        self
    }

    /// With what begins with `text` in the request in the place of `{quoted}` in the calls.
    #[must_use]
    pub fn quote(mut self, text: impl Into<String>) -> Self {
        self.quote = Some(text.into());
        self
    }

    /// Replaces `{quoted}` in the arguments of the calls by what the request's body has.
    pub(super) fn fill(&mut self, body: &str) {
        let Some(begin) = &self.quote else { return };
        let found = body.find(begin.as_str()).map_or("", |at| {
            let rest = &body[at..];
            let ends = |c: char| c.is_whitespace() || ",\"'\\\\".contains(c);
            &rest[..rest.find(ends).unwrap_or(rest.len())]
        });
        for call in &mut self.calls {
            quoted(&mut call.arguments, found);
        }
    }

    /// With so many milliseconds before the first byte.
    #[must_use]
    pub fn delay_ms(mut self, delay_ms: u64) -> Self {
        self.delay_ms = delay_ms;
        self
    }

    /// At this pace.
    #[must_use]
    pub fn tokens_per_second(mut self, pace: f64) -> Self {
        self.tokens_per_second = Some(pace);
        self
    }

    /// After its prompt was read at this pace.
    #[must_use]
    pub fn prefill_tokens_per_second(mut self, pace: f64) -> Self {
        self.prefill_tokens_per_second = Some(pace);
        self
    }

    /// With so many tokens in each event.
    #[must_use]
    pub fn tokens_per_chunk(mut self, tokens: u64) -> Self {
        self.tokens_per_chunk = Some(tokens);
        self
    }
}

fn quoted(value: &mut Value, found: &str) {
    match value {
        Value::String(text) => *text = text.replace("{quoted}", found),
        Value::Array(items) => items.iter_mut().for_each(|item| quoted(item, found)),
        Value::Object(fields) => fields.values_mut().for_each(|item| quoted(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Turn;

    #[test]
    fn a_call_can_quote_the_request() {
        let mut turn = Turn::call("fetch", json!({"urls": ["{quoted}"]})).quote("http://h:");
        turn.fill("{\"text\": \"read http://h:81/a, then go\"}");
        assert_eq!(turn.calls[0].arguments, json!({"urls": ["http://h:81/a"]}));
    }
}
