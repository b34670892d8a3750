//! One streamed answer of `/v1/responses`, asked for as Codex asks.

use std::time::{Duration, Instant};

use codex_ds_wire::reply::{Brings, End, Reply};
use codex_ds_wire::sse::SseReader;
use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Failure, Target, reasoning};

/// The longest answer where any answer will do, tokens: OpenAI's smallest limit.
pub(super) const FEW_TOKENS: u64 = 16;

/// A request with the fields that Codex always sends.
#[derive(Clone, Debug)]
pub struct Ask {
    body: Value,
    limit: Duration,
}

impl Ask {
    /// A request with this `input`, for at most `tokens` tokens, whose answer may take `limit`.
    #[must_use]
    pub fn new(input: &Value, tokens: u64, limit: Duration) -> Self {
        Self {
            body: json!({
                "model": null,
                "input": input,
                "tools": [],
                "tool_choice": "auto",
                "parallel_tool_calls": true,
                "store": false,
                "stream": true,
                "include": ["reasoning.encrypted_content"],
                "max_output_tokens": tokens,
            }),
            limit,
        }
    }

    /// Offers these tools.
    #[must_use]
    pub fn tools(mut self, tools: Value) -> Self {
        self.body["tools"] = tools;
        self
    }

    /// Asks for a level of reasoning.
    #[must_use]
    pub fn effort(mut self, effort: &str) -> Self {
        self.body["reasoning"] = json!({ "effort": effort });
        self
    }

    /// Asks for as little reasoning as the target's model has, where that is known.
    #[must_use]
    pub fn lightly(self, target: &Target) -> Self {
        match reasoning::lightest(&target.model) {
            Some(effort) => self.effort(effort),
            None => self,
        }
    }
}

/// A message of a role, as an item of `input`.
#[must_use]
pub fn message(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

/// A complete answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What it says, calls and costs.
    pub reply: Reply,
    /// The items as they came, to be sent back in the next turn.
    pub items: Vec<Value>,
    /// The arguments of each call as they were streamed.
    pub deltas: Vec<String>,
    /// When each part of thinking, text or arguments came, after the request was sent.
    pub arrivals: Vec<Duration>,
    /// When the last event came.
    pub took: Duration,
    /// Whether it was cut at the longest answer asked for.
    pub is_cut: bool,
}

impl Answer {
    /// The first call, without its namespace's prefix: what Codex looks at.
    #[must_use]
    pub fn call(&self) -> Option<&Value> {
        self.items
            .iter()
            .find(|item| item["type"] == "function_call" || item["type"] == "custom_tool_call")
    }

    fn event(&mut self, data: &str, at: Duration) {
        if !matches!(self.reply.event(data), Brings::Other) {
            self.arrivals.push(at);
        }
        let Ok(mut event) = serde_json::from_str::<Value>(data) else {
            return;
        };
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                self.deltas.push(String::new());
            }
            "response.function_call_arguments.delta" => {
                let piece = event["delta"].as_str().unwrap_or_default();
                match self.deltas.last_mut() {
                    Some(deltas) => deltas.push_str(piece),
                    None => self.deltas.push(piece.to_owned()),
                }
            }
            "response.output_item.done" => self.items.push(event["item"].take()),
            _ => {}
        }
    }
}

/// Asks for a few tokens, with as little thinking as the model has.
///
/// # Errors
/// When none come.
pub async fn few_tokens(
    target: &Target,
    input: &Value,
    limit: Duration,
) -> Result<Answer, Failure> {
    ask(target, Ask::new(input, FEW_TOKENS, limit).lightly(target)).await
}

/// Asks, and reads the answer to its end.
///
/// # Errors
/// When no complete answer comes. One that is cut at the longest answer asked for is complete.
pub async fn ask(target: &Target, ask: Ask) -> Result<Answer, Failure> {
    let Ask { mut body, limit } = ask;
    body["model"] = json!(target.model);
    let start = Instant::now();
    let request = target
        .request(Method::POST, "/responses")
        .header("accept", "text/event-stream")
        .json(&body);
    let response = super::send(request, limit).await?;
    let status = response.status();
    let kind = response
        .headers()
        .get("content-type")
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    if !status.is_success() || !kind.starts_with("text/event-stream") {
        let left = limit.saturating_sub(start.elapsed());
        let body = tokio::time::timeout(left, response.text()).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        return Err(if status.is_success() {
            Failure::Other {
                found: format!("{status} with {kind}: {}", super::excerpt(&body)),
                expected: "text/event-stream",
            }
        } else {
            Failure::Refused {
                status: status.as_u16(),
                said: super::said(&body),
            }
        });
    }
    let mut answer = Answer::default();
    let mut events = 0;
    let how = {
        let read = read(response, start, &mut answer, &mut events);
        let left = limit.saturating_sub(start.elapsed());
        match tokio::time::timeout(left, read).await {
            Ok(()) => "broke off",
            Err(_) => "stopped",
        }
    };
    answer.took = start.elapsed();
    match std::mem::take(&mut answer.reply.end) {
        End::Complete => Ok(answer),
        End::Failed(why) if why.starts_with("incomplete: max_output_tokens") => {
            answer.is_cut = true;
            Ok(answer)
        }
        End::Failed(why) => Err(Failure::Failed(why)),
        End::Missing if events == 0 && how == "stopped" => Err(Failure::Silent(limit)),
        End::Missing => Err(Failure::Unfinished { how, events }),
    }
}

async fn read(
    response: reqwest::Response,
    start: Instant,
    answer: &mut Answer,
    events: &mut usize,
) {
    let mut reader = SseReader::new();
    let mut chunks = response.bytes_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        let at = start.elapsed();
        for event in reader.push(&chunk) {
            *events += 1;
            answer.event(&event.data, at);
        }
        // A server may leave the connection open behind its last event.
        if answer.reply.end != End::Missing {
            return;
        }
    }
    if let Some(event) = reader.finish() {
        *events += 1;
        answer.event(&event.data, start.elapsed());
    }
}
