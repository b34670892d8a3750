//! What came back for a request: calls, usage, and when each kind of thing arrived.
//!
//! Reads the event streams of Responses, Chat Completions and Anthropic's Messages, and their
//! whole answers, by what they hold; what it does not know it counts and passes over.

use serde_json::Value;

use crate::responses::{InputTokensDetails, OutputTokensDetails, Usage};

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// The tool, `namespace.name` where it is in one.
    pub name: String,
    /// The arguments, as they were sent.
    pub arguments: String,
}

/// What an event brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Brings {
    /// Thinking.
    Reasoning,
    /// Text.
    Text,
    /// A part of a tool call.
    Call,
    /// Anything else.
    #[default]
    Other,
}

/// How an answer ended, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum End {
    /// It does not say: the stream broke off.
    #[default]
    Missing,
    /// It is complete.
    Complete,
    /// It is incomplete or failed, and why.
    Failed(String),
}

/// An answer, read event by event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The tool calls, in order.
    pub calls: Vec<Call>,
    /// The text.
    pub text: String,
    /// The thinking, bytes.
    pub reasoning_bytes: usize,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Whether the usage tells how much came from the prefix cache.
    pub tells_cached: bool,
    /// How it ended.
    pub end: End,
    /// Chat calls in the making, by index.
    open: Vec<Call>,
}

impl Reply {
    /// Reads the data of the next event.
    pub fn event(&mut self, data: &str) -> Brings {
        if data == "[DONE]" {
            self.close();
            return Brings::Other;
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            return Brings::Other;
        };
        if event["choices"].is_array() || event["object"] == "chat.completion.chunk" {
            return self.chat(&event);
        }
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "response.output_item.done" => {
                self.item(&event["item"]);
                Brings::Other
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response(&event["response"]);
                Brings::Other
            }
            "error" => {
                let message = &event["message"];
                let message = if message.is_null() {
                    &event["error"]["message"]
                } else {
                    message
                };
                self.end = End::Failed(plain(message));
                Brings::Other
            }
            _ if kind.starts_with("response.") => self.response_delta(kind, &event),
            _ => self.anthropic(kind, &event),
        }
    }

    /// Reads an answer that is no stream.
    pub fn whole(&mut self, body: &[u8]) {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            self.end = End::Failed(plain(error.get("message").unwrap_or(error)));
        } else if body["object"] == "response" {
            for item in list(&body["output"]) {
                self.item(item);
            }
            self.response(&body);
        } else if let Some(choice) = body["choices"].get(0) {
            self.delta(&choice["message"]);
            self.usage_of(&body["usage"]);
            self.close();
        } else if body["type"] == "message" {
            for block in list(&body["content"]) {
                self.block(block);
            }
            self.usage_of(&body["usage"]);
            self.close();
        }
    }

    fn response_delta(&mut self, kind: &str, event: &Value) -> Brings {
        let delta = event["delta"].as_str().unwrap_or_default();
        let Some(kind) = kind.strip_suffix(".delta") else {
            return Brings::Other;
        };
        if kind.contains("reasoning") {
            self.reasoning_bytes += delta.len();
            Brings::Reasoning
        } else if kind == "response.output_text" {
            self.text.push_str(delta);
            Brings::Text
        } else {
            Brings::Call
        }
    }

    fn item(&mut self, item: &Value) {
        let kind = item["type"].as_str().unwrap_or_default();
        if matches!(kind, "function_call" | "custom_tool_call") {
            let arguments = item.get("arguments").or_else(|| item.get("input"));
            let name = plain(&item["name"]);
            self.calls.push(Call {
                name: match item["namespace"].as_str() {
                    Some(namespace) => format!("{namespace}.{name}"),
                    None => name,
                },
                arguments: arguments.map(plain).unwrap_or_default(),
            });
        }
    }

    fn response(&mut self, response: &Value) {
        self.usage_of(&response["usage"]);
        self.end = match response["status"].as_str() {
            Some("completed") | None => End::Complete,
            Some(status) => {
                let detail = &response["incomplete_details"]["reason"];
                let detail = if detail.is_null() {
                    &response["error"]["message"]
                } else {
                    detail
                };
                End::Failed(format!("{status}: {}", plain(detail)))
            }
        };
        if self.text.is_empty() {
            for item in list(&response["output"]) {
                for part in list(&item["content"]) {
                    if part["type"] == "output_text" {
                        self.text
                            .push_str(part["text"].as_str().unwrap_or_default());
                    }
                }
            }
        }
    }

    fn chat(&mut self, event: &Value) -> Brings {
        self.usage_of(&event["usage"]);
        let choice = &event["choices"][0];
        if choice["finish_reason"].is_string() {
            self.end = End::Complete;
        }
        self.delta(&choice["delta"])
    }

    /// A chat message, or what it grew by.
    fn delta(&mut self, delta: &Value) -> Brings {
        let string = |name: &str| delta[name].as_str().filter(|text| !text.is_empty());
        let mut brings = Brings::Other;
        if let Some(thought) = string("reasoning").or(string("reasoning_content")) {
            self.reasoning_bytes += thought.len();
            brings = Brings::Reasoning;
        }
        if let Some(text) = string("content") {
            self.text.push_str(text);
            brings = Brings::Text;
        }
        for (place, call) in list(&delta["tool_calls"]).iter().enumerate() {
            let index = call["index"]
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            // A hostile index must not make room for itself.
            let index = index.unwrap_or(place).min(self.open.len());
            if index == self.open.len() {
                self.open.push(Call::default());
            }
            let function = &call["function"];
            let open = &mut self.open[index];
            open.name
                .push_str(function["name"].as_str().unwrap_or_default());
            open.arguments
                .push_str(function["arguments"].as_str().unwrap_or_default());
            brings = Brings::Call;
        }
        brings
    }

    fn anthropic(&mut self, kind: &str, event: &Value) -> Brings {
        let delta = &event["delta"];
        let string = |name: &str| delta[name].as_str().unwrap_or_default();
        match kind {
            "message_start" => self.usage_of(&event["message"]["usage"]),
            "message_delta" => self.usage_of(&event["usage"]),
            "message_stop" => self.close(),
            "content_block_start" => self.block(&event["content_block"]),
            "content_block_delta" if delta["type"] == "thinking_delta" => {
                self.reasoning_bytes += string("thinking").len();
                return Brings::Reasoning;
            }
            "content_block_delta" if delta["type"] == "text_delta" => {
                self.text.push_str(string("text"));
                return Brings::Text;
            }
            "content_block_delta" if delta["type"] == "input_json_delta" => {
                if let Some(open) = self.open.last_mut() {
                    open.arguments.push_str(string("partial_json"));
                }
                return Brings::Call;
            }
            _ => {}
        }
        Brings::Other
    }

    fn block(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("tool_use") => {
                let input = &block["input"];
                let empty = input.as_object().is_none_or(serde_json::Map::is_empty);
                self.open.push(Call {
                    name: plain(&block["name"]),
                    // In a stream it is empty here, and comes piece by piece.
                    arguments: if empty {
                        String::new()
                    } else {
                        input.to_string()
                    },
                });
            }
            Some("text") => self
                .text
                .push_str(block["text"].as_str().unwrap_or_default()),
            _ => {}
        }
    }

    fn close(&mut self) {
        self.calls.append(&mut self.open);
        if self.end == End::Missing {
            self.end = End::Complete;
        }
    }

    /// Reads usage in any of the three forms; later fields win over earlier ones.
    fn usage_of(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        let first = |paths: &[&str]| paths.iter().find_map(|path| usage.pointer(path)?.as_u64());
        let old = self.usage.unwrap_or_default();
        let cached = first(&[
            "/input_tokens_details/cached_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/cache_read_input_tokens",
        ]);
        let reasoning = first(&[
            "/output_tokens_details/reasoning_tokens",
            "/completion_tokens_details/reasoning_tokens",
        ]);
        let input_tokens = first(&["/input_tokens", "/prompt_tokens"]).unwrap_or(old.input_tokens);
        let output_tokens =
            first(&["/output_tokens", "/completion_tokens"]).unwrap_or(old.output_tokens);
        self.tells_cached |= cached.is_some();
        self.usage = Some(Usage {
            input_tokens,
            input_tokens_details: InputTokensDetails {
                cached_tokens: cached.unwrap_or(old.input_tokens_details.cached_tokens),
            },
            output_tokens,
            output_tokens_details: OutputTokensDetails {
                reasoning_tokens: reasoning.unwrap_or(old.output_tokens_details.reasoning_tokens),
            },
            total_tokens: first(&["/total_tokens"])
                .unwrap_or_else(|| input_tokens.saturating_add(output_tokens)),
        });
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(events: &[Value]) -> (Reply, Vec<Brings>) {
        let mut reply = Reply::default();
        let brings = events
            .iter()
            .map(|event| reply.event(&event.to_string()))
            .collect();
        (reply, brings)
    }

    #[test]
    fn a_responses_stream_is_read() {
        let (reply, brings) = read(&[
            json!({"type": "response.created", "response": {}}),
            json!({"type": "response.reasoning_text.delta", "delta": "hm"}),
            json!({"type": "response.output_text.delta", "delta": "ok"}),
            json!({"type": "response.function_call_arguments.delta", "delta": "{"}),
            json!({"type": "response.output_item.done", "item": {
                "type": "function_call", "namespace": "mcp__a", "name": "b", "arguments": "{}"}}),
            json!({"type": "response.completed", "response": {"status": "completed", "usage": {
                "input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                "input_tokens_details": {"cached_tokens": 8}}}}),
        ]);
        assert_eq!(
            brings[1..4],
            [Brings::Reasoning, Brings::Text, Brings::Call]
        );
        assert_eq!(
            reply.calls,
            [Call {
                name: "mcp__a.b".into(),
                arguments: "{}".into()
            }]
        );
        assert_eq!(
            (reply.text.as_str(), reply.reasoning_bytes, reply.end),
            ("ok", 2, End::Complete)
        );
        let usage = reply.usage.expect("usage");
        assert_eq!(
            (
                usage.input_tokens,
                usage.output_tokens,
                usage.input_tokens_details.cached_tokens
            ),
            (10, 5, 8)
        );
        assert!(reply.tells_cached);
    }

    #[test]
    fn a_chat_stream_is_read() {
        let call = |function: Value| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]});
        let (mut reply, brings) = read(&[
            json!({"choices": [{"delta": {"role": "assistant", "content": ""}}]}),
            json!({"choices": [{"delta": {"reasoning_content": "hm"}}]}),
            call(json!({"name": "ls", "arguments": ""})),
            call(json!({"arguments": "{}"})),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}),
        ]);
        reply.event("[DONE]");
        assert_eq!(
            brings[..4],
            [Brings::Other, Brings::Reasoning, Brings::Call, Brings::Call]
        );
        assert_eq!(
            reply.calls,
            [Call {
                name: "ls".into(),
                arguments: "{}".into()
            }]
        );
        assert_eq!(reply.usage.map(|usage| usage.total_tokens), Some(9));
        assert!(!reply.tells_cached);
    }

    #[test]
    fn a_messages_stream_is_read() {
        let (reply, _) = read(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "content_block": {"type": "tool_use", "name": "ls", "input": {}}}),
            json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
            json!({"type": "message_delta", "usage": {"output_tokens": 4}}),
            json!({"type": "message_stop"}),
        ]);
        assert_eq!(
            reply.calls,
            [Call {
                name: "ls".into(),
                arguments: "{}".into()
            }]
        );
        assert_eq!(
            reply
                .usage
                .map(|usage| (usage.input_tokens, usage.output_tokens)),
            Some((3, 4))
        );
        assert_eq!(reply.end, End::Complete);
    }

    #[test]
    fn failures_say_why() {
        for (event, why) in [
            (
                json!({"type": "response.failed", "response": {"status": "failed", "error": {"message": "boom"}}}),
                "failed: boom",
            ),
            (
                json!({"type": "response.completed", "response": {"status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"}}}),
                "incomplete: max_output_tokens",
            ),
            (json!({"type": "error", "error": {"message": "no"}}), "no"),
        ] {
            assert_eq!(read(&[event]).0.end, End::Failed(why.into()));
        }
        let mut reply = Reply::default();
        reply.whole(br#"{"error": {"message": "too long", "code": 400}}"#);
        assert_eq!(reply.end, End::Failed("too long".into()));
    }

    proptest! {
        #[test]
        fn any_events_are_read(events in prop::collection::vec(crate::spans::tests::json(), 0..6)) {
            let (mut reply, _) = read(&events);
            for event in events {
                reply.whole(event.to_string().as_bytes());
            }
        }
    }
}
