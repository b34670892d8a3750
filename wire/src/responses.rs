//! The Responses API as Codex, vLLM and LiteLLM write it.
//!
//! Nothing here is fatal: a field of another type counts as absent, an item or tool of a type
//! that is not known here is kept as [`Item::Other`] or [`Tool::Other`], and fields without a
//! member of their own are in `extra`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lenient::lenient;

lenient! {
    /// The body of `POST /v1/responses`.
    pub struct Request {
        /// The model's name.
        pub model: Option<String>,
        /// The system text. Codex leaves it out and sends a first developer message instead.
        pub instructions: Option<String>,
        /// The conversation.
        pub input: Input,
        /// The offered tools.
        pub tools: Vec<Tool>,
        /// "auto", "none", "required", or an object that names a tool.
        pub tool_choice: Value,
        /// The reasoning settings.
        pub reasoning: Reasoning,
        /// Whether the answer is a stream of events.
        pub stream: bool,
        /// The longest answer, in tokens.
        pub max_output_tokens: Option<u64>,
        /// "auto" lets the server cut an input that is too long.
        pub truncation: Option<String>,
        rest {
            /// Everything else.
            pub extra: Map<String, Value>,
        }
    }

    /// The `reasoning` object of a request.
    #[derive(Eq)]
    pub struct Reasoning {
        /// How hard the model thinks; "none" turns thinking off.
        pub effort: Option<String>,
        /// Whether and how thinking is summed up.
        pub summary: Option<String>,
    }
}

/// The `input` of a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub enum Input {
    /// One user text.
    Text(String),
    /// The items of the conversation, in order.
    Items(Vec<Item>),
}

impl Default for Input {
    fn default() -> Self {
        Self::Items(Vec::new())
    }
}

impl From<Value> for Input {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::Items(items.into_iter().map(Item::from).collect()),
            Value::Null => Self::default(),
            other => Self::Items(vec![Item::Other(other)]),
        }
    }
}

/// One item of the input or output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub enum Item {
    /// A message of any role.
    Message(Message),
    /// Thinking.
    Reasoning(ReasoningItem),
    /// A call of a function, in a namespace or not.
    FunctionCall(FunctionCall),
    /// What a function answered.
    FunctionCallOutput(CallOutput),
    /// A call of a free-form tool.
    CustomToolCall(FunctionCall),
    /// What a free-form tool answered.
    CustomToolCallOutput(CallOutput),
    /// Anything else, as it came.
    Other(Value),
}

impl From<Value> for Item {
    fn from(value: Value) -> Self {
        let kind = value.get("type").and_then(Value::as_str);
        let parsed = match kind {
            Some("message") => Message::deserialize(&value).map(Self::Message),
            // A message may go without its type (an "easy" input message).
            None if value.get("role").is_some() => Message::deserialize(&value).map(Self::Message),
            Some("reasoning") => ReasoningItem::deserialize(&value).map(Self::Reasoning),
            Some("function_call") => FunctionCall::deserialize(&value).map(Self::FunctionCall),
            Some("function_call_output") => {
                CallOutput::deserialize(&value).map(Self::FunctionCallOutput)
            }
            Some("custom_tool_call") => FunctionCall::deserialize(&value).map(Self::CustomToolCall),
            Some("custom_tool_call_output") => {
                CallOutput::deserialize(&value).map(Self::CustomToolCallOutput)
            }
            _ => return Self::Other(value),
        };
        parsed.unwrap_or(Self::Other(value))
    }
}

impl Item {
    /// The `type` of the item as it is written, "message" when a message has none.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Message(_) => "message",
            Self::Reasoning(_) => "reasoning",
            Self::FunctionCall(_) => "function_call",
            Self::FunctionCallOutput(_) => "function_call_output",
            Self::CustomToolCall(_) => "custom_tool_call",
            Self::CustomToolCallOutput(_) => "custom_tool_call_output",
            Self::Other(value) => value
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or("unknown"),
        }
    }
}

lenient! {
    /// A message.
    pub struct Message {
        /// "system", "developer", "user" or "assistant".
        pub role: String,
        /// A string, or parts with a `type` and mostly a `text`.
        pub content: Value,
    }
}

impl Message {
    /// The message's text; parts are joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

lenient! {
    /// Thinking.
    pub struct ReasoningItem {
        /// The thinking itself: parts with a `text`.
        pub content: Value,
        /// Its summary: parts with a `text`.
        pub summary: Value,
        /// OpenAI's sealed form; vLLM refuses it.
        pub encrypted_content: Option<String>,
    }
}

impl ReasoningItem {
    /// The thinking's text, or that of its summary if there is no other.
    #[must_use]
    pub fn text(&self) -> String {
        let text = text_of(&self.content);
        if text.is_empty() {
            text_of(&self.summary)
        } else {
            text
        }
    }
}

lenient! {
    /// A call of a function or of a free-form tool.
    #[derive(Eq)]
    pub struct FunctionCall {
        /// The namespace, such as `mcp__echo`.
        pub namespace: Option<String>,
        /// The tool.
        pub name: String,
        /// The arguments as JSON in a string, not always well-formed; a free-form tool's input.
        #[serde(alias = "input")]
        pub arguments: String,
        /// What ties the answer to the call.
        pub call_id: String,
    }

    /// What a tool answered.
    pub struct CallOutput {
        /// The call that is answered.
        pub call_id: String,
        /// A string, or parts with a `text`.
        pub output: Value,
    }
}

impl CallOutput {
    /// The answer's text; parts are joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(&self.output)
    }
}

/// An offered tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub enum Tool {
    /// A function.
    Function(Function),
    /// The tools of an MCP server, under one name.
    Namespace(Namespace),
    /// Anything else (`custom`, `web_search`, `tool_search`, …), as it came.
    Other(Value),
}

impl From<Value> for Tool {
    fn from(value: Value) -> Self {
        let parsed = match value.get("type").and_then(Value::as_str) {
            Some("function") => Function::deserialize(&value).map(Self::Function),
            Some("namespace") => Namespace::deserialize(&value).map(Self::Namespace),
            _ => return Self::Other(value),
        };
        parsed.unwrap_or(Self::Other(value))
    }
}

lenient! {
    /// A function that the model may call.
    pub struct Function {
        /// Its name.
        pub name: String,
        /// What the model is told of it.
        pub description: Option<String>,
        /// The JSON schema of its arguments.
        pub parameters: Value,
    }

    /// A namespace of functions.
    pub struct Namespace {
        /// Its name, such as `mcp__echo`.
        pub name: String,
        /// What the model is told of it.
        pub description: Option<String>,
        /// Its tools.
        pub tools: Vec<Tool>,
    }

    /// What a request cost, in tokens.
    #[derive(Copy, Eq)]
    pub struct Usage {
        /// Of the prompt.
        pub input_tokens: u64,
        /// Of the prompt, by origin.
        pub input_tokens_details: InputTokensDetails,
        /// Of the answer, thinking included.
        pub output_tokens: u64,
        /// Of the answer, by kind.
        pub output_tokens_details: OutputTokensDetails,
        /// Both together.
        pub total_tokens: u64,
    }

    /// Where the prompt's tokens came from.
    #[derive(Copy, Eq)]
    pub struct InputTokensDetails {
        /// Read from the prefix cache. Over LiteLLM's bridge a 0 says nothing.
        pub cached_tokens: u64,
    }

    /// What the answer's tokens were.
    #[derive(Copy, Eq)]
    pub struct OutputTokensDetails {
        /// Thinking.
        pub reasoning_tokens: u64,
    }

    /// One event of a streamed answer, with the fields that tell what happened.
    pub struct StreamEvent {
        /// What happened, such as `response.output_text.delta`.
        #[serde(rename = "type")]
        pub kind: String,
        /// The event's place in the stream, from 0.
        pub sequence_number: Option<u64>,
        /// New text of an item.
        pub delta: Option<String>,
        /// The item that was added or is done.
        pub item: Option<Item>,
        /// The whole response, in its first and last events.
        pub response: Option<Response>,
    }

    /// A response object.
    pub struct Response {
        /// Its id.
        pub id: String,
        /// "in_progress", "completed", "incomplete" or "failed".
        pub status: String,
        /// What the model answered.
        pub output: Vec<Item>,
        /// What it cost; absent before the end.
        pub usage: Option<Usage>,
        /// What went wrong.
        pub error: Value,
    }
}

/// The text of a `content`-like value: a string, or the `text` of its parts, joined by newlines.
#[must_use]
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.get("text").and_then(Value::as_str))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn request(body: &Value) -> Request {
        Request::deserialize(body).expect("an object is a request")
    }

    #[test]
    fn what_codex_sends_is_read() {
        let request = request(&json!({
            "model": "m", "stream": true, "tool_choice": "auto", "store": false,
            "reasoning": {"effort": "low"}, "client_metadata": {"a": 1},
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "d"}]},
                {"role": "user", "content": "u"},
                {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}], "encrypted_content": null},
                {"type": "function_call", "name": "say", "namespace": "mcp__echo", "arguments": "{", "call_id": "c"},
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "o"}]},
                {"type": "additional_tools", "tools": []},
            ],
            "tools": [
                {"type": "function", "name": "exec_command", "description": "Runs.", "parameters": {"type": "object"}},
                {"type": "namespace", "name": "mcp__echo", "tools": [{"type": "function", "name": "say"}]},
                {"type": "web_search"},
            ],
        }));
        assert_eq!(request.reasoning.effort.as_deref(), Some("low"));
        assert_eq!(
            request.extra.keys().collect::<Vec<_>>(),
            ["store", "client_metadata"]
        );
        let Input::Items(items) = &request.input else {
            panic!("no items")
        };
        let kinds: Vec<&str> = items.iter().map(Item::kind).collect();
        assert_eq!(
            kinds,
            [
                "message",
                "message",
                "reasoning",
                "function_call",
                "function_call_output",
                "additional_tools"
            ]
        );
        let texts: Vec<String> = items
            .iter()
            .map(|item| match item {
                Item::Message(message) => message.text(),
                Item::Reasoning(thought) => thought.text(),
                Item::FunctionCall(call) => call.arguments.clone(),
                Item::FunctionCallOutput(output) => output.text(),
                _ => String::new(),
            })
            .collect();
        assert_eq!(texts, ["d", "u", "r", "{", "o", ""]);
        let Tool::Namespace(namespace) = &request.tools[1] else {
            panic!("no namespace")
        };
        assert!(matches!(&namespace.tools[0], Tool::Function(say) if say.name == "say"));
        assert_eq!(request.tools[2], Tool::Other(json!({"type": "web_search"})));
    }

    #[test]
    fn a_field_of_another_type_hides_no_other() {
        let request = request(&json!({
            "model": 7, "stream": "yes", "tools": "none", "reasoning": [], "max_output_tokens": -1,
            "input": [{"type": "message", "role": 3, "content": "still read"}, 4],
        }));
        assert_eq!(
            (request.model, request.stream, request.tools),
            (None, false, Vec::new())
        );
        let Input::Items(items) = request.input else {
            panic!("no items")
        };
        assert!(matches!(&items[0], Item::Message(message) if message.text() == "still read"));
        assert_eq!(items[1], Item::Other(json!(4)));
    }

    #[test]
    fn usage_is_read_without_its_details() {
        let usage = json!({"input_tokens": 3, "output_tokens": null, "input_tokens_details": null});
        let usage = Usage::deserialize(&usage).expect("an object is a usage");
        assert_eq!((usage.input_tokens, usage.output_tokens), (3, 0));
        assert_eq!(usage.input_tokens_details.cached_tokens, 0);
    }

    proptest! {
        #[test]
        fn no_object_is_refused(body in crate::lenient::tests::object(&["model", "input", "tools", "type", "content", "item", "usage", "response"])) {
            prop_assert!(Request::deserialize(&body).is_ok());
            prop_assert!(StreamEvent::deserialize(&body).is_ok());
            prop_assert!(Response::deserialize(&body).is_ok());
        }
    }
}
