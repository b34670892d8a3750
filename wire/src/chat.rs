//! Chat Completions as Codex's routers, vLLM and LiteLLM write it; as lenient as
//! [`responses`](crate::responses).

use serde_json::{Map, Value};

use crate::lenient::lenient;
use crate::responses::text_of;

lenient! {
    /// The body of `POST /v1/chat/completions`.
    pub struct Request {
        /// The model's name.
        pub model: Option<String>,
        /// The conversation.
        pub messages: Vec<Message>,
        /// The offered tools, each `{"type": "function", "function": {…}}`.
        pub tools: Vec<Value>,
        /// "auto", "none", "required", or an object that names a function.
        pub tool_choice: Value,
        /// Whether the answer is a stream of chunks.
        pub stream: bool,
        /// What else the stream carries.
        pub stream_options: StreamOptions,
        /// The longest answer, in tokens (the old name).
        pub max_tokens: Option<u64>,
        /// The longest answer, in tokens.
        pub max_completion_tokens: Option<u64>,
        /// How hard the model thinks; "none" turns thinking off.
        pub reasoning_effort: Option<String>,
        /// Switches of the model's chat template, such as `thinking` or `enable_thinking`.
        pub chat_template_kwargs: Map<String, Value>,
        rest {
            /// Everything else.
            pub extra: Map<String, Value>,
        }
    }

    /// The `stream_options` of a request.
    #[derive(Copy, Eq)]
    pub struct StreamOptions {
        /// Whether a last chunk without choices carries the usage.
        pub include_usage: bool,
    }

    /// A message, of a request or of an answer; in a chunk, what it grew by.
    pub struct Message {
        /// "system", "developer", "user", "assistant" or "tool"; empty in most chunks.
        pub role: String,
        /// A string, or parts with a `type` and mostly a `text`.
        pub content: Value,
        /// Thinking. Newer vLLM writes `reasoning`, older vLLM and LiteLLM `reasoning_content`; some
        /// write both.
        pub reasoning: Option<String>,
        /// The other name of `reasoning`.
        pub reasoning_content: Option<String>,
        /// Calls of the assistant.
        pub tool_calls: Vec<ToolCall>,
        /// The call that a tool's message answers.
        pub tool_call_id: Option<String>,
    }
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

lenient! {
    /// A call, or in a chunk a piece of one.
    #[derive(Eq)]
    pub struct ToolCall {
        /// Which call of the message a piece belongs to.
        pub index: Option<u64>,
        /// What ties the answer to the call; only in a call's first piece.
        pub id: Option<String>,
        /// What is called.
        pub function: FunctionCall,
    }

    /// The function of a call.
    #[derive(Eq)]
    pub struct FunctionCall {
        /// The function; only in a call's first piece.
        pub name: Option<String>,
        /// The arguments as JSON in a string, or the next piece of it.
        pub arguments: String,
    }

    /// An answer, or one chunk of a streamed one.
    pub struct Completion {
        /// Its id, the same in all chunks.
        pub id: String,
        /// The alternatives; empty in the chunk that carries the usage.
        pub choices: Vec<Choice>,
        /// What the request cost.
        pub usage: Option<Usage>,
    }

    /// One alternative.
    pub struct Choice {
        /// The message, or in a chunk what it grew by.
        #[serde(alias = "delta")]
        pub message: Message,
        /// Why the model stopped: "stop", "tool_calls" or "length".
        pub finish_reason: Option<String>,
    }

    /// What a request cost, in tokens.
    #[derive(Copy, Eq)]
    pub struct Usage {
        /// Of the prompt.
        pub prompt_tokens: u64,
        /// Of the answer, thinking included.
        pub completion_tokens: u64,
        /// Both together.
        pub total_tokens: u64,
        /// Where the prompt's tokens came from; vLLM leaves it out unless it was told to tell.
        pub prompt_tokens_details: Option<PromptTokensDetails>,
        /// What the answer's tokens were.
        pub completion_tokens_details: Option<CompletionTokensDetails>,
    }

    /// Where the prompt's tokens came from.
    #[derive(Copy, Eq)]
    pub struct PromptTokensDetails {
        /// Read from the prefix cache.
        pub cached_tokens: Option<u64>,
    }

    /// What the answer's tokens were.
    #[derive(Copy, Eq)]
    pub struct CompletionTokensDetails {
        /// Thinking.
        pub reasoning_tokens: u64,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize as _;
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
