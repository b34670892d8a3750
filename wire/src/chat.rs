//! Chat Completions as Codex's routers, vLLM and LiteLLM write it; as lenient as
//! [`responses`](crate::responses).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lenient::or_default;
use crate::responses::text_of;

/// The body of `POST /v1/chat/completions`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The model's name.
    #[serde(deserialize_with = "or_default")]
    pub model: Option<String>,
    /// The conversation.
    #[serde(deserialize_with = "or_default")]
    pub messages: Vec<Message>,
    /// The offered tools, each `{"type": "function", "function": {…}}`.
    #[serde(deserialize_with = "or_default")]
    pub tools: Vec<Value>,
    /// "auto", "none", "required", or an object that names a function.
    pub tool_choice: Value,
    /// Whether the answer is a stream of chunks.
    #[serde(deserialize_with = "or_default")]
    pub stream: bool,
    /// What else the stream carries.
    #[serde(deserialize_with = "or_default")]
    pub stream_options: StreamOptions,
    /// The longest answer, in tokens (the old name).
    #[serde(deserialize_with = "or_default")]
    pub max_tokens: Option<u64>,
    /// The longest answer, in tokens.
    #[serde(deserialize_with = "or_default")]
    pub max_completion_tokens: Option<u64>,
    /// How hard the model thinks; "none" turns thinking off.
    #[serde(deserialize_with = "or_default")]
    pub reasoning_effort: Option<String>,
    /// Switches of the model's chat template, such as `thinking` or `enable_thinking`.
    #[serde(deserialize_with = "or_default")]
    pub chat_template_kwargs: Map<String, Value>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The `stream_options` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct StreamOptions {
    /// Whether a last chunk without choices carries the usage.
    #[serde(deserialize_with = "or_default")]
    pub include_usage: bool,
}

/// A message, of a request or of an answer; in a chunk, what it grew by.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    /// "system", "developer", "user", "assistant" or "tool"; empty in most chunks.
    #[serde(deserialize_with = "or_default")]
    pub role: String,
    /// A string, or parts with a `type` and mostly a `text`.
    pub content: Value,
    /// Thinking. Newer vLLM writes `reasoning`, older vLLM and LiteLLM `reasoning_content`; some
    /// write both.
    #[serde(deserialize_with = "or_default")]
    pub reasoning: Option<String>,
    /// The other name of `reasoning`.
    #[serde(deserialize_with = "or_default")]
    pub reasoning_content: Option<String>,
    /// Calls of the assistant.
    #[serde(deserialize_with = "or_default")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's message answers.
    #[serde(deserialize_with = "or_default")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// The message's text; parts are joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    /// The thinking, under whichever name it came.
    #[must_use]
    pub fn thinking(&self) -> Option<&str> {
        self.reasoning
            .as_deref()
            .or(self.reasoning_content.as_deref())
    }
}

/// A call, or in a chunk a piece of one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// Which call of the message a piece belongs to.
    #[serde(deserialize_with = "or_default")]
    pub index: Option<u64>,
    /// What ties the answer to the call; only in a call's first piece.
    #[serde(deserialize_with = "or_default")]
    pub id: Option<String>,
    /// What is called.
    #[serde(deserialize_with = "or_default")]
    pub function: FunctionCall,
}

/// The function of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct FunctionCall {
    /// The function; only in a call's first piece.
    #[serde(deserialize_with = "or_default")]
    pub name: Option<String>,
    /// The arguments as JSON in a string, or the next piece of it.
    #[serde(deserialize_with = "or_default")]
    pub arguments: String,
}

/// An answer, or one chunk of a streamed one.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// Its id, the same in all chunks.
    #[serde(deserialize_with = "or_default")]
    pub id: String,
    /// The alternatives; empty in the chunk that carries the usage.
    #[serde(deserialize_with = "or_default")]
    pub choices: Vec<Choice>,
    /// What the request cost.
    #[serde(deserialize_with = "or_default")]
    pub usage: Option<Usage>,
}

/// One alternative.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// The message, or in a chunk what it grew by.
    #[serde(alias = "delta", deserialize_with = "or_default")]
    pub message: Message,
    /// Why the model stopped: "stop", "tool_calls" or "length".
    #[serde(deserialize_with = "or_default")]
    pub finish_reason: Option<String>,
}

/// What a request cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Of the prompt.
    #[serde(deserialize_with = "or_default")]
    pub prompt_tokens: u64,
    /// Of the answer, thinking included.
    #[serde(deserialize_with = "or_default")]
    pub completion_tokens: u64,
    /// Both together.
    #[serde(deserialize_with = "or_default")]
    pub total_tokens: u64,
    /// Where the prompt's tokens came from; vLLM leaves it out unless it was told to tell.
    #[serde(deserialize_with = "or_default")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    /// What the answer's tokens were.
    #[serde(deserialize_with = "or_default")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
}

/// Where the prompt's tokens came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PromptTokensDetails {
    /// Read from the prefix cache.
    #[serde(deserialize_with = "or_default")]
    pub cached_tokens: Option<u64>,
}

/// What the answer's tokens were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct CompletionTokensDetails {
    /// Thinking.
    #[serde(deserialize_with = "or_default")]
    pub reasoning_tokens: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn thinking_is_read_under_both_names() {
        for name in ["reasoning", "reasoning_content"] {
            let chunk = json!({"choices": [{"index": 0, "delta": {name: "r", "content": null}}]});
            let chunk = Completion::deserialize(&chunk).expect("an object is a chunk");
            assert_eq!(chunk.choices[0].message.thinking(), Some("r"), "{name}");
        }
        let both = json!({"reasoning": "r", "reasoning_content": "r"});
        let both = Message::deserialize(&both).expect("an object is a message");
        assert_eq!(both.thinking(), Some("r"));
    }

    #[test]
    fn a_piece_of_a_call_is_read() {
        let chunk = json!({"choices": [{"delta": {"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]}}]});
        let chunk = Completion::deserialize(&chunk).expect("an object is a chunk");
        let call = &chunk.choices[0].message.tool_calls[0];
        assert_eq!((call.index, call.id.as_deref()), (Some(1), None));
        assert_eq!(
            (
                call.function.name.as_deref(),
                call.function.arguments.as_str()
            ),
            (None, "{")
        );
    }

    proptest! {
        #[test]
        fn no_object_is_refused(body in crate::lenient::tests::object(&["model", "messages", "tools", "choices", "delta", "usage", "function"])) {
            prop_assert!(Request::deserialize(&body).is_ok());
            prop_assert!(Completion::deserialize(&body).is_ok());
        }
    }
}
