//! An answer as vLLM 0.32.0 writes it on `/v1/responses`.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Call, Part};
use super::check::Asked;
use super::prompt::tokens;
use super::steps::{Step, pieces};
use crate::sse;

/// The ids and the time of one response.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    /// What the ids end in.
    pub id: String,
    /// Unix time, in seconds.
    pub created: u64,
}

/// The response object, before its end (no answer) or at it. What the request said is repeated in
/// it, tools included.
fn response(body: &Value, asked: &Asked, answer: Option<&Answer>, stamp: &Stamp) -> Value {
    let echo = |field: &str| body.get(field).cloned().unwrap_or(Value::Null);
    let echo_or = |field: &str, default: Value| match echo(field) {
        Value::Null => default,
        value => value,
    };
    let choice = if asked.functions.is_empty() {
        "none"
    } else {
        "auto"
    };
    let status = match answer {
        None => "in_progress",
        Some(answer) if answer.incomplete => "incomplete",
        Some(_) => "completed",
    };
    let incomplete = match status {
        "incomplete" => json!({"reason": "max_output_tokens"}),
        _ => Value::Null,
    };
    let room = asked
        .model
        .max_model_len
        .saturating_sub(tokens(asked.prompt.len()));
    json!({
        "id": format!("resp_{}", stamp.id),
        "created_at": stamp.created,
        "incomplete_details": incomplete,
        "instructions": echo("instructions"),
        "metadata": echo("metadata"),
        "model": asked.model.id,
        "object": "response",
        "output": answer.map(|answer| output(answer, stamp)).unwrap_or_default(),
        "parallel_tool_calls": echo_or("parallel_tool_calls", json!(true)),
        "temperature": echo_or("temperature", json!(1.0)),
        "tool_choice": echo_or("tool_choice", json!(choice)),
        "tools": echo_or("tools", json!([])),
        "top_p": echo_or("top_p", json!(1.0)),
        "background": false,
        "max_output_tokens": asked.max_output.unwrap_or(room),
        "max_tool_calls": echo("max_tool_calls"),
        "previous_response_id": null,
        "prompt": null,
        "reasoning": echo("reasoning"),
        "service_tier": echo_or("service_tier", json!("auto")),
        "status": status,
        "text": echo("text"),
        "top_logprobs": null,
        "truncation": echo_or("truncation", json!("disabled")),
        "usage": answer.map(usage),
        "user": echo("user"),
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "kv_transfer_params": null,
        "ec_transfer_params": null,
        "input_messages": null,
        "output_messages": null,
    })
}

fn output(answer: &Answer, stamp: &Stamp) -> Vec<Value> {
    let parts = answer.parts.iter().enumerate();
    parts
        .map(|(index, part)| item_done(part, &item_id(part, stamp, index)))
        .collect()
}

fn usage(answer: &Answer) -> Value {
    json!({
        "input_tokens": answer.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": answer.cached_tokens,
            "cache_write_tokens": 0,
            "input_tokens_per_turn": [],
            "cached_tokens_per_turn": [],
        },
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {
            "reasoning_tokens": answer.reasoning_tokens,
            "tool_output_tokens": 0,
            "output_tokens_per_turn": [],
            "tool_output_tokens_per_turn": [],
        },
        "total_tokens": answer.prompt_tokens + answer.output_tokens,
    })
}

/// The whole answer as one JSON body.
pub(super) fn whole(body: &Value, asked: &Asked, answer: &Answer, stamp: &Stamp) -> Value {
    response(body, asked, Some(answer), stamp)
}

/// The answer as a stream of events.
pub(super) fn stream(body: &Value, asked: &Asked, answer: &Answer, stamp: &Stamp) -> Vec<Step> {
    let mut events = Events {
        tokens_per_chunk: answer.tokens_per_chunk,
        ..Events::default()
    };
    let started = response(body, asked, None, stamp);
    events.push(0, "response.created", json!({"response": started}));
    events.push(0, "response.in_progress", json!({"response": started}));
    for (index, part) in answer.parts.iter().enumerate() {
        events.part(part, &item_id(part, stamp, index), index);
    }
    // An answer cut at max_output_tokens ends with "completed" too; its status tells.
    let ended = response(body, asked, Some(answer), stamp);
    events.push(0, "response.completed", json!({"response": ended}));
    events.steps
}

fn item_id(part: &Part, stamp: &Stamp, index: usize) -> String {
    let prefix = match part {
        Part::Reasoning(_) => "rs",
        Part::Text(_) => "msg",
        Part::Call(_) => "fc",
    };
    format!("{prefix}_{}{index:02x}", stamp.id)
}

fn item_done(part: &Part, id: &str) -> Value {
    match part {
        Part::Reasoning(text) => json!({
            "id": id, "summary": [], "type": "reasoning",
            "content": [{"text": text, "type": "reasoning_text"}],
            "encrypted_content": null, "status": "completed",
        }),
        Part::Text(text) => json!({
            "id": id, "content": [text_part(text)], "role": "assistant",
            "status": "completed", "type": "message", "phase": null,
        }),
        Part::Call(call) => call_item(call, id, call.complete_arguments(), "completed"),
    }
}

fn text_part(text: &str) -> Value {
    json!({"annotations": [], "text": text, "type": "output_text", "logprobs": null})
}

fn call_item(call: &Call, id: &str, arguments: &str, status: &str) -> Value {
    json!({
        "arguments": arguments, "call_id": call.id, "name": call.name, "type": "function_call",
        "id": id, "async": null, "caller": null, "namespace": call.namespace, "status": status,
    })
}

#[derive(Default)]
struct Events {
    tokens_per_chunk: u64,
    steps: Vec<Step>,
}

impl Events {
    /// Adds an event of `fields`; every event carries its number and its type.
    fn push(&mut self, tokens: u64, kind: &str, fields: Value) {
        let mut event = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        event.insert("sequence_number".to_owned(), json!(self.steps.len()));
        event.insert("type".to_owned(), json!(kind));
        let data = Value::Object(event).to_string();
        self.steps.push(Step {
            data: sse::write(Some(kind), &data),
            tokens,
        });
    }

    fn part(&mut self, part: &Part, id: &str, index: usize) {
        let opened = match part {
            Part::Reasoning(_) => json!({
                "id": id, "summary": [], "type": "reasoning", "content": null,
                "encrypted_content": null, "status": "in_progress",
            }),
            Part::Text(_) => json!({
                "id": id, "content": [], "role": "assistant", "status": "in_progress",
                "type": "message", "phase": null,
            }),
            Part::Call(call) => call_item(call, id, "", "in_progress"),
        };
        self.push(
            0,
            "response.output_item.added",
            json!({"item": opened, "output_index": index}),
        );
        match part {
            Part::Reasoning(text) => self.text(text, id, index, "reasoning_text"),
            Part::Text(text) => self.text(text, id, index, "output_text"),
            Part::Call(call) => self.arguments(call, id, index),
        }
        let done = json!({"item": item_done(part, id), "output_index": index});
        self.push(0, "response.output_item.done", done);
    }

    /// The events of a part of text; `kind` is the type of its content.
    fn text(&mut self, text: &str, id: &str, index: usize, kind: &str) {
        let shown = kind == "output_text";
        let event = |field: &str, value: Value| {
            let mut event = json!({"content_index": 0, "item_id": id, "output_index": index});
            if shown && field != "part" {
                event["logprobs"] = json!([]);
            }
            event[field] = value;
            event
        };
        let part = |text: &str| {
            if shown {
                text_part(text)
            } else {
                json!({"text": text, "type": kind})
            }
        };
        let mut opened = part("");
        if shown {
            opened["logprobs"] = json!([]);
        }
        self.push(0, "response.content_part.added", event("part", opened));
        let delta = format!("response.{kind}.delta");
        for (piece, tokens) in pieces(text, self.tokens_per_chunk) {
            self.push(tokens, &delta, event("delta", json!(piece)));
        }
        self.push(
            0,
            &format!("response.{kind}.done"),
            event("text", json!(text)),
        );
        self.push(0, "response.content_part.done", event("part", part(text)));
    }

    fn arguments(&mut self, call: &Call, id: &str, index: usize) {
        for (piece, tokens) in pieces(&call.arguments, self.tokens_per_chunk) {
            let delta = json!({"delta": piece, "item_id": id, "output_index": index});
            self.push(tokens, "response.function_call_arguments.delta", delta);
        }
        let done = json!({
            "arguments": call.complete_arguments(), "item_id": id, "name": call.name,
            "output_index": index,
        });
        self.push(0, "response.function_call_arguments.done", done);
    }
}
