//! One request on Chat Completions, streamed, and when each part of the answer came.

use std::time::Instant;

use codex_ds_wire::sse::SseReader;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::target::Target;

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The `system` message; empty for none.
    pub system: String,
    /// The `user` message.
    pub user: String,
    /// The longest answer, tokens.
    pub max_tokens: u64,
    /// Whether the answer has to be that long: `ignore_eos` and `min_tokens`, which vLLM and SGLang
    /// know.
    pub exact: bool,
    /// Whether the model thinks.
    pub thinking: bool,
    /// Sent as `x-request-id`, by which an engine's log and a test can tell requests apart.
    pub id: String,
}

/// What `usage` says, tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The prompt.
    pub prompt: u64,
    /// Of it, from the prefix cache, where the server tells.
    pub cached: Option<u64>,
    /// The answer, thinking included.
    pub completion: u64,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// When the request was sent.
    pub start: Instant,
    /// When the first event with a choice came, be it empty.
    pub first_response: Option<Instant>,
    /// When each event with text, thinking or a part of a call came, and its bytes.
    pub chunks: Vec<(Instant, usize)>,
    /// When the stream ended.
    pub end: Instant,
    /// The text without the thinking.
    pub text: String,
    /// Why it ended: "stop", "length", …
    pub finish_reason: String,
    /// The server's count.
    pub usage: Option<Usage>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody answered, or the connection broke.
    #[error("{0}")]
    Connection(String),
    /// The server refused.
    #[error("HTTP {status}: {message}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// What the server said, shortened.
        message: String,
    },
    /// The stream ended before the answer did, or holds an error.
    #[error("the answer broke off: {0}")]
    Broken(String),
}

impl AskError {
    /// Whether the same request may go well later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Broken(_) => true,
            Self::Status { status, .. } => matches!(status, 408 | 409 | 429 | 500..),
        }
    }
}

impl Ask {
    /// The messages alone, as `/tokenize` takes them, too.
    #[must_use]
    pub fn messages(&self) -> Value {
        let mut messages = Vec::new();
        if !self.system.is_empty() {
            messages.push(json!({"role": "system", "content": self.system}));
        }
        messages.push(json!({"role": "user", "content": self.user}));
        Value::Array(messages)
    }

    /// The switches of the chat template: DeepSeek's and Qwen's name for thinking.
    #[must_use]
    pub fn template(&self) -> Value {
        json!({"thinking": self.thinking, "enable_thinking": self.thinking})
    }

    fn body(&self, model: &str) -> Value {
        let mut body = json!({
            "model": model,
            "messages": self.messages(),
            "max_tokens": self.max_tokens,
            "temperature": 0.0,
            "stream": true,
            "stream_options": {"include_usage": true},
            "chat_template_kwargs": self.template(),
        });
        if self.exact {
            body["min_tokens"] = json!(self.max_tokens);
            body["ignore_eos"] = json!(true);
        }
        body
    }
}

/// One event. What is not looked at is not read, which makes this fast.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<UsageField>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<String>,
    reasoning: Option<String>,
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Value>,
}

#[derive(Deserialize)]
struct UsageField {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// Asks, and reads the answer to its end.
///
/// # Errors
/// When there is no whole answer.
pub async fn ask(target: &Target, ask: &Ask) -> Result<Answer, AskError> {
    let body = serde_json::to_vec(&ask.body(&target.model)).unwrap_or_default();
    let mut request = target
        .client
        .post(format!("{}/chat/completions", target.base))
        .header("content-type", "application/json")
        .header("accept", "text/event-stream")
        .header("x-request-id", &ask.id)
        .body(body);
    if let Some(key) = &target.key {
        request = request.bearer_auth(key.expose());
    }
    let start = Instant::now();
    let response = request.send().await.map_err(connection)?;
    let status = response.status();
    if !status.is_success() {
        let text = response.text().await.unwrap_or_default();
        return Err(AskError::Status {
            status: status.as_u16(),
            message: message(&text),
        });
    }
    read(response, start).await
}

async fn read(response: reqwest::Response, start: Instant) -> Result<Answer, AskError> {
    let mut answer = Answer {
        start,
        first_response: None,
        chunks: Vec::new(),
        end: start,
        text: String::new(),
        finish_reason: String::new(),
        usage: None,
    };
    let mut reader = SseReader::new();
    let mut pieces = response.bytes_stream();
    let mut done = false;
    while let Some(piece) = pieces.next().await {
        let now = Instant::now();
        for event in reader.push(&piece.map_err(connection)?) {
            if event.data == "[DONE]" {
                done = true;
            } else {
                take(&mut answer, now, &event.data)?;
            }
        }
        answer.end = now;
    }
    if answer.finish_reason.is_empty() && !done {
        return Err(AskError::Broken(if answer.first_response.is_some() {
            "the stream ended without a finish_reason".to_owned()
        } else {
            "the server sent no event of a chat completion".to_owned()
        }));
    }
    Ok(answer)
}

fn take(answer: &mut Answer, now: Instant, data: &str) -> Result<(), AskError> {
    let chunk: Chunk = serde_json::from_str(data)
        .map_err(|error| AskError::Broken(format!("an event is not as expected ({error})")))?;
    if let Some(error) = chunk.error {
        let text = error["message"].as_str().map_or_else(
            || error.to_string(),
            |message| message.chars().take(200).collect(),
        );
        return Err(AskError::Broken(text));
    }
    if let Some(usage) = chunk.usage {
        answer.usage = Some(Usage {
            prompt: usage.prompt_tokens,
            cached: usage
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens),
            completion: usage.completion_tokens,
        });
    }
    for choice in chunk.choices {
        answer.first_response.get_or_insert(now);
        let delta = choice.delta;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        // Some servers send thinking under both names.
        let thought = length(&delta.reasoning).max(length(&delta.reasoning_content));
        let called = match &delta.tool_calls {
            Some(Value::Array(calls)) => calls.iter().map(called).sum(),
            _ => 0,
        };
        let bytes = length(&delta.content) + thought + called;
        if bytes > 0 {
            answer.chunks.push((now, bytes));
        }
        answer.text.push_str(&delta.content.unwrap_or_default());
        if let Some(reason) = choice.finish_reason {
            answer.finish_reason = reason;
        }
    }
    Ok(())
}

fn called(call: &Value) -> usize {
    let length = |key: &str| call["function"][key].as_str().map_or(0, str::len);
    length("name") + length("arguments")
}

fn connection(error: reqwest::Error) -> AskError {
    let mut text = error.without_url().to_string();
    text.truncate(200);
    AskError::Connection(text)
}

/// The `error.message` of a body, or how it begins.
fn message(body: &str) -> String {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let text = json["error"]["message"].as_str().unwrap_or(body);
    text.chars()
        .take(300)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
