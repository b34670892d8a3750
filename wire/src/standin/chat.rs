//! An answer as vLLM 0.32.0 writes it on `/v1/chat/completions`.

use serde_json::{Value, json};

use super::answer::{Answer, Call, Part};
use super::check::{Asked, Delivery, flat_name};
use super::config::Config;
use super::responses::Stamp;
use super::steps::{Step, pieces};
use crate::sse;

fn usage(answer: &Answer, config: &Config) -> Value {
    let mut usage = json!({
        "prompt_tokens": answer.prompt_tokens,
        "total_tokens": answer.prompt_tokens + answer.output_tokens,
        "completion_tokens": answer.output_tokens,
    });
    if config.prompt_tokens_details {
        usage["prompt_tokens_details"] = json!({"cached_tokens": answer.cached_tokens});
    }
    if config.reasoning_parser {
        usage["completion_tokens_details"] = json!({"reasoning_tokens": answer.reasoning_tokens});
    }
    usage
}

fn finish_reason(answer: &Answer) -> &'static str {
    match (answer.incomplete, answer.calls().next()) {
        (true, _) => "length",
        (false, Some(_)) => "tool_calls",
        (false, None) => "stop",
    }
}

fn name(call: &Call) -> String {
    flat_name(call.namespace.as_deref(), &call.name)
}

/// The whole answer as one JSON body.
pub(super) fn whole(asked: &Asked, answer: &Answer, config: &Config, stamp: &Stamp) -> Value {
    let mut message = json!({
        "role": "assistant", "content": null, "refusal": null, "annotations": null,
        "audio": null, "function_call": null, "tool_calls": [], "reasoning": null,
    });
    let mut calls = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Reasoning(text) => message["reasoning"] = json!(text),
            Part::Text(text) => message["content"] = json!(text),
            Part::Call(call) => calls.push(json!({
                "id": call.id, "type": "function",
                "function": {"name": name(call), "arguments": call.arguments},
            })),
        }
    }
    match (&mut message, calls.is_empty()) {
        (Value::Object(message), true) => {
            message.remove("tool_calls");
        }
        (message, _) => message["tool_calls"] = json!(calls),
    }
    json!({
        "id": format!("chatcmpl-{}", stamp.id),
        "object": "chat.completion",
        "created": stamp.created,
        "model": asked.model.id,
        "choices": [{
            "index": 0, "message": message, "logprobs": null,
            "finish_reason": finish_reason(answer), "stop_reason": null, "token_ids": null,
        }],
        "service_tier": null,
        "system_fingerprint": null,
        "usage": usage(answer, config),
        "prompt_logprobs": null,
        "prompt_token_ids": null,
        "kv_transfer_params": null,
    })
}

/// The answer as a stream of chunks, with `[DONE]` at the end.
pub(super) fn stream(asked: &Asked, answer: &Answer, config: &Config, stamp: &Stamp) -> Vec<Step> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{}", stamp.id),
            "object": "chat.completion.chunk",
            "created": stamp.created,
            "model": asked.model.id,
            "choices": choices,
        })
    };
    let step = |data: &Value, tokens| Step {
        data: sse::write(None, &data.to_string()),
        tokens,
    };
    let delta = |delta: Value, tokens| {
        let choice = json!([{
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": null,
        }]);
        step(&chunk(choice), tokens)
    };
    let mut steps = vec![delta(json!({"role": "assistant", "content": ""}), 0)];
    let mut index = 0;
    for part in &answer.parts {
        match part {
            Part::Reasoning(text) => steps.extend(
                pieces(text, answer.tokens_per_chunk)
                    .map(|(piece, tokens)| delta(json!({"reasoning": piece}), tokens)),
            ),
            Part::Text(text) => steps.extend(
                pieces(text, answer.tokens_per_chunk)
                    .map(|(piece, tokens)| delta(json!({"content": piece}), tokens)),
            ),
            Part::Call(call) => {
                let opened = json!({"tool_calls": [{
                    "id": call.id, "type": "function", "index": index,
                    "function": {"name": name(call), "arguments": ""},
                }]});
                steps.push(delta(opened, 0));
                steps.extend(pieces(&call.arguments, answer.tokens_per_chunk).map(
                    |(piece, tokens)| {
                        let grown = json!({"tool_calls": [{
                            "index": index, "function": {"arguments": piece},
                        }]});
                        delta(grown, tokens)
                    },
                ));
                index += 1;
            }
        }
    }
    let last = json!([{
        "index": 0, "delta": {"content": ""}, "logprobs": null,
        "finish_reason": finish_reason(answer), "stop_reason": null,
    }]);
    steps.push(step(&chunk(last), 0));
    if asked.delivery == Delivery::StreamWithUsage {
        let mut last = chunk(json!([]));
        last["usage"] = usage(answer, config);
        steps.push(step(&last, 0));
    }
    steps.push(Step {
        data: sse::write(None, "[DONE]"),
        tokens: 0,
    });
    steps
}
