//! What vLLM refuses, in its own words.

use codex_ds_wire::standin::{Config, Model, Script, StandIn};
use serde_json::{Value, json};

use crate::client;

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";

fn start(config: Config) -> StandIn {
    let models = vec![Model::new("deepseek-tiny", 16384)];
    StandIn::start(Config { models, ..config }, Script::default()).expect("a port is free")
}

fn error(answer: &client::Answer) -> (u16, String, Value) {
    let error = &answer.json()["error"];
    assert_eq!(error["code"], answer.status);
    (
        answer.status,
        error["message"].as_str().unwrap_or_default().to_owned(),
        error["param"].clone(),
    )
}

#[test]
fn responses_refuses_what_vllm_refuses() {
    let server = start(Config::default());
    let user = json!({"role": "user", "content": "hi"});
    for (body, status, message) in [
        (
            json!({"model": "nope"}),
            404,
            "The model `nope` does not exist. Valid aliases: deepseek-tiny.",
        ),
        (
            json!({"tools": [{"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}]}),
            400,
            "Custom tools with a grammar format are not supported; only free-form text custom tools are accepted. (parameter=tools)",
        ),
        (
            json!({"input": [{"type": "additional_tools", "tools": []}, user]}),
            400,
            "Unsupported input item type: additional_tools (parameter=input)",
        ),
        (
            json!({"input": [{"type": "compaction", "encrypted_content": "x"}]}),
            400,
            "Unsupported input item type: compaction (parameter=input)",
        ),
        (
            json!({"input": [{"type": "reasoning", "summary": [], "encrypted_content": "x"}]}),
            400,
            "Encrypted content is not supported. (parameter=input)",
        ),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]}),
            400,
            "deepseek-tiny is not a multimodal model",
        ),
        (
            json!({"max_output_tokens": 32768}),
            400,
            "max_output_tokens=32768 cannot be greater than max_model_len=16384. Please request fewer output tokens. (parameter=max_output_tokens, value=32768)",
        ),
        (
            json!({"input": "x".repeat(4 * 16384)}),
            400,
            "This model's maximum context length is 16384 tokens. However, your prompt contains at least 16385 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=16385)",
        ),
        (
            json!({"previous_response_id": "resp_1"}),
            404,
            "Response with id 'resp_1' not found.",
        ),
        (
            json!({"background": true, "store": false}),
            400,
            "background can only be used when `store` is true (parameter=background)",
        ),
    ] {
        let mut request = json!({"input": [user], "stream": true});
        for (key, value) in body.as_object().into_iter().flatten() {
            request[key] = value.clone();
        }
        let (got_status, got, _) = error(&client::post(&server, RESPONSES, &request));
        assert_eq!((got_status, got.as_str()), (status, message), "{body}");
    }
}

#[test]
fn the_schema_refuses_unknown_values() {
    let server = start(Config::default());
    for (body, words) in [
        (
            json!({"reasoning": {"effort": "ultra"}}),
            ["body.reasoning.effort", "'ultra'"],
        ),
        (
            json!({"service_tier": "fast"}),
            ["body.service_tier", "'fast'"],
        ),
        (
            json!({"tools": [{"type": "bogus"}]}),
            ["27 validation errors", "'bogus'"],
        ),
        (json!({"input": null}), ["body.input", "Field required"]),
    ] {
        let mut request = json!({"input": "hi"});
        for (key, value) in body.as_object().into_iter().flatten() {
            request[key] = value.clone();
        }
        let (status, message, _) = error(&client::post(&server, RESPONSES, &request));
        assert_eq!(status, 400, "{body}");
        for word in words {
            assert!(message.contains(word), "{word} in {message}");
        }
    }
    let (status, message, _) = error(&client::request(
        &server,
        "POST",
        RESPONSES,
        "content-type: application/json\r\n",
        "{",
    ));
    assert_eq!(status, 400);
    assert!(message.contains("JSON decode error"), "{message}");
}

#[test]
fn responses_accepts_what_vllm_accepts() {
    let server = start(Config::default());
    for body in [
        json!({"model": null}),
        json!({"tools": [{"type": "web_search"}, {"type": "tool_search"}, {"type": "local_shell"}]}),
        json!({"tools": [{"type": "custom", "name": "free"}]}),
        json!({"reasoning": {"effort": "xhigh", "summary": "auto"}, "text": {"verbosity": "low"}}),
        json!({"include": ["reasoning.encrypted_content"], "prompt_cache_key": "k", "client_metadata": {}}),
        json!({"truncation": "auto", "input": "x".repeat(4 * 16384)}),
        json!({"input": [
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}], "encrypted_content": null},
            {"type": "function_call", "name": "f", "arguments": "{", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "o"}]},
            {"type": "custom_tool_call", "name": "g", "input": "i", "call_id": "d"},
            {"type": "custom_tool_call_output", "call_id": "d", "output": "o"},
        ]}),
    ] {
        let mut request = json!({"input": "hi"});
        for (key, value) in body.as_object().into_iter().flatten() {
            request[key] = value.clone();
        }
        let answer = client::post(&server, RESPONSES, &request);
        assert_eq!(answer.status, 200, "{body}: {}", answer.body);
    }
}

#[test]
fn chat_refuses_tools_without_a_parser() {
    let server = start(Config {
        tool_parser: false,
        ..Config::default()
    });
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let messages = json!([{"role": "user", "content": "hi"}]);
    let ask = |choice: Value| {
        let body =
            json!({"messages": messages, "tools": tools, "tool_choice": choice, "stream": true});
        client::post(&server, CHAT, &body)
    };
    let refused = ask(json!("auto"));
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (
            400,
            r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}}"#
        )
    );
    let (_, message, _) = error(&ask(json!("required")));
    assert_eq!(
        message,
        "tool_choice=\"required\" requires --tool-call-parser to be set"
    );
    assert_eq!(ask(json!("none")).status, 200);
    assert_eq!(
        client::post(&server, CHAT, &json!({"messages": messages})).status,
        200
    );
}

#[test]
fn chat_refuses_what_vllm_refuses() {
    let server = start(Config::default());
    let messages = json!([{"role": "user", "content": "hi"}]);
    let namespace = json!([{"type": "namespace", "name": "mcp__echo"}]);
    let (status, message, _) = error(&client::post(
        &server,
        CHAT,
        &json!({"messages": messages, "tools": namespace}),
    ));
    assert_eq!(status, 400);
    assert!(message.contains("Input should be 'function'"), "{message}");
    let (status, message, param) = error(&client::post(
        &server,
        CHAT,
        &json!({"messages": messages, "model": "nope"}),
    ));
    assert_eq!((status, param), (404, json!("model")));
    assert_eq!(
        message,
        "The model `nope` does not exist. Valid aliases: deepseek-tiny."
    );
    let long = json!([{"role": "user", "content": "x".repeat(4 * 16384)}]);
    let (status, message, _) = error(&client::post(&server, CHAT, &json!({"messages": long})));
    assert_eq!(status, 400);
    assert!(message.starts_with("This model's maximum context length is 16384 tokens."));
    let (status, message, _) = error(&client::post(&server, CHAT, &json!({})));
    assert_eq!(status, 400);
    assert!(message.contains("Field required"), "{message}");
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    let server = start(Config::default());
    for (method, path, status) in [
        ("GET", "/nowhere", 404),
        ("POST", "/v1/messages", 404),
        ("GET", "/v1/responses", 405),
        ("POST", "/v1/responses/compact", 405),
    ] {
        let answer = client::request(&server, method, path, "", "");
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.json()["error"]["code"], status);
    }
}
