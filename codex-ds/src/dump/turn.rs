//! What the dump says where there is no server: the least that a client takes for a whole answer.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use codex_ds_wire::sse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::proxy::refused;
use super::recorder::Exchange;
use super::server::Patience;
use super::store::Outcome;
use super::upload::{Upload, note};
use super::writer::KEPT_REQUEST;

/// What the model would have said.
const TEXT: &str = "Recorded by codex-ds dump; no model was asked.";

/// Reads a request to its end and answers it.
pub(super) async fn answer(
    exchange: Exchange,
    request: Request,
    patience: Patience,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let exchange = Arc::new(Mutex::new(exchange));
    let mut upload = Upload::new(&parts.headers, body, &exchange, patience.body);
    let mut body = Vec::new();
    while let Some(next) = upload.next().await {
        match next {
            Ok(bytes) => {
                let room = KEPT_REQUEST.saturating_sub(body.len());
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Err(error) => {
                return refused(
                    &exchange,
                    StatusCode::BAD_REQUEST,
                    &format!("the request broke off: {error}"),
                    Outcome::ClientBroken(error.to_string()),
                );
            }
        }
    }
    let asked = Asked::read(&body);
    let (kind, text) = reply(parts.uri.path(), &asked);
    let mut response = Response::new(Body::empty());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let text = Bytes::from(text);
    note(&exchange, |exchange| {
        exchange.response(200, response.headers());
        exchange.chunk(&text);
        exchange.end(Outcome::Complete);
    });
    *response.body_mut() = Body::from(text);
    response
}

/// What of a request decides the form of its answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    model: Value,
    stream: Value,
}

impl Asked {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Codex always asks for a stream; what cannot be read is most likely from it.
    fn stream(&self) -> bool {
        self.stream.as_bool() != Some(false)
    }
}

const STREAM: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

fn reply(path: &str, asked: &Asked) -> (&'static str, String) {
    let ends = |end: &str| path.ends_with(end);
    let (events, whole) = if ends("/responses") {
        responses(asked)
    } else if ends("/chat/completions") {
        chat(asked)
    } else if ends("/messages") {
        messages(asked)
    } else if ends("/models") {
        return (JSON, json!({"object": "list", "data": []}).to_string());
    } else {
        return (JSON, json!({}).to_string());
    };
    if asked.stream() {
        (STREAM, events)
    } else {
        (JSON, whole.to_string())
    }
}

fn responses(asked: &Asked) -> (String, Value) {
    let part = json!({"type": "output_text", "text": TEXT, "annotations": []});
    let item = json!({
        "type": "message", "id": "msg_dump", "role": "assistant", "status": "completed",
        "content": [part],
    });
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": "resp_dump", "object": "response", "created_at": 0, "status": status,
            "model": asked.model, "output": output, "error": null, "usage": usage,
        })
    };
    // No token was counted, and none is claimed.
    let usage = json!({
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    });
    let whole = response("completed", json!([item]), usage);
    let mut started = item.clone();
    started["status"] = json!("in_progress");
    started["content"] = json!([]);
    let events = [
        json!({"type": "response.created", "response": response("in_progress", json!([]), Value::Null)}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": started}),
        json!({"type": "response.output_text.delta", "item_id": "msg_dump", "output_index": 0,
            "content_index": 0, "delta": TEXT}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": whole}),
    ];
    let mut text = String::new();
    for (number, mut event) in events.into_iter().enumerate() {
        event["sequence_number"] = json!(number);
        text.push_str(&sse::write(event["type"].as_str(), &event.to_string()));
    }
    (text, whole)
}

fn chat(asked: &Asked) -> (String, Value) {
    let body = |object: &str, choice: Value| {
        json!({"id": "chatcmpl-dump", "object": object, "created": 0, "model": asked.model,
            "choices": [choice]})
    };
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        sse::write(None, &body("chat.completion.chunk", choice).to_string())
    };
    let events = [
        chunk(json!({"role": "assistant", "content": TEXT}), Value::Null),
        chunk(json!({}), json!("stop")),
        sse::write(None, "[DONE]"),
    ]
    .concat();
    let message = json!({"role": "assistant", "content": TEXT});
    let whole = json!({"index": 0, "message": message, "finish_reason": "stop"});
    (events, body("chat.completion", whole))
}

fn messages(asked: &Asked) -> (String, Value) {
    let message = |content: Value, stop: Value| {
        json!({"id": "msg_dump", "type": "message", "role": "assistant", "model": asked.model,
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 0, "output_tokens": 0}})
    };
    let block = json!({"type": "text", "text": ""});
    let events = [
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": TEXT}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 0}}),
        json!({"type": "message_stop"}),
    ];
    let events = events
        .iter()
        .map(|event| sse::write(event["type"].as_str(), &event.to_string()))
        .collect();
    let content = json!([{"type": "text", "text": TEXT}]);
    (events, message(content, json!("end_turn")))
}

#[cfg(test)]
mod tests {
    use codex_ds_wire::reply::{End, Reply};
    use codex_ds_wire::sse::SseReader;

    use super::*;

    #[test]
    fn each_api_gets_a_whole_answer_of_its_own() {
        for path in ["/v1/responses", "/v1/chat/completions", "/v1/messages"] {
            let (kind, text) = reply(path, &Asked::default());
            assert_eq!(kind, STREAM);
            let mut streamed = Reply::default();
            for event in SseReader::new().push(text.as_bytes()) {
                streamed.event(&event.data);
            }
            let asked = Asked::read(br#"{"stream": false, "model": "m"}"#);
            let (kind, text) = reply(path, &asked);
            assert_eq!(kind, JSON);
            let mut whole = Reply::default();
            whole.whole(text.as_bytes());
            for reply in [streamed, whole] {
                assert_eq!(
                    (reply.text.as_str(), reply.end),
                    (TEXT, End::Complete),
                    "{path}"
                );
            }
        }
    }
}
