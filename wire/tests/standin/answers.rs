//! What a turn looks like on each API.

use codex_ds_wire::chat::Completion;
use codex_ds_wire::responses::{Item, Response, StreamEvent};
use codex_ds_wire::sse::Event;
use codex_ds_wire::standin::{Config, Script, StandIn, ToolCall, Turn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{self, Answer};

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";

fn start(turns: Vec<Turn>) -> StandIn {
    StandIn::start(Config::default(), Script::new(turns)).expect("a port is free")
}

fn tools() -> Value {
    json!([
        {"type": "function", "name": "exec_command", "parameters": {}},
        {"type": "namespace", "name": "mcp__echo", "tools": [{"type": "function", "name": "say"}]},
    ])
}

/// What Codex sends, in short.
fn ask(extra: &Value) -> Value {
    let mut body = json!({
        "model": "deepseek-v4-flash", "stream": true, "store": false,
        "include": ["reasoning.encrypted_content"], "parallel_tool_calls": true,
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ],
        "tools": tools(),
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    body
}

fn chat(extra: &Value) -> Value {
    let mut body = json!({
        "model": "deepseek-v4-flash", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "mcp__echo__say"}}],
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    body
}

/// One line an event, without ids, times and what repeats the request.
fn outline(answer: &Answer) -> String {
    let line = |event: Event| {
        let mut data: Value = serde_json::from_str(&event.data).expect("an event is JSON");
        assert_eq!(
            data["type"],
            event.event.as_str(),
            "the event is called by its type"
        );
        if let Some(response) = data.get("response") {
            let total = &response["usage"]["total_tokens"];
            data["response"] = json!({"status": response["status"], "total_tokens": total});
        }
        let number = data["sequence_number"].take();
        for id in ["/item_id", "/item/id"] {
            if let Some(id) = data.pointer_mut(id) {
                *id = json!(id.as_str().and_then(|id| id.split('_').next()));
            }
        }
        let fields = data.as_object_mut().expect("an event is an object");
        fields.retain(|name, _| name != "type" && name != "sequence_number");
        format!("{number} {} {data}\n", event.event)
    };
    answer.events().into_iter().map(line).collect()
}

#[test]
fn a_responses_stream_is_vllms() {
    let server = start(vec![
        Turn::mcp_call("mcp__echo", "say", json!({"a": 1}))
            .reasoning("I think")
            .and_call(ToolCall {
                namespace: None,
                name: "exec_command".to_owned(),
                arguments: json!("{"),
                call_id: Some("call_7".to_owned()),
            }),
        Turn::text("Hello you."),
    ]);
    let answer = client::post(&server, RESPONSES, &ask(&json!({})));
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("content-type: text/event-stream"),
        "{}",
        answer.head
    );
    assert!(answer.whole);
    insta::assert_snapshot!("responses_calls", outline(&answer));
    let answer = client::post(&server, RESPONSES, &ask(&json!({})));
    insta::assert_snapshot!("responses_text", outline(&answer));
}

#[test]
fn a_chat_stream_is_vllms() {
    let server = start(vec![
        Turn::mcp_call("mcp__echo", "say", json!({"a": 1}))
            .reasoning("I think")
            .clone(),
        Turn::text("Hello"),
    ]);
    let answer = client::post(&server, CHAT, &chat(&json!({})));
    assert!(
        answer.head.contains("content-type: text/event-stream"),
        "{}",
        answer.head
    );
    let lines: Vec<String> = answer
        .data()
        .iter()
        .map(|chunk| match &chunk["choices"] {
            Value::Array(choices) if choices.is_empty() => chunk["usage"].to_string(),
            Value::Array(choices) => choices[0].to_string(),
            _ => chunk.to_string(),
        })
        .collect();
    insta::assert_snapshot!("chat_call", lines.join("\n"));
    let quiet = client::post(&server, CHAT, &chat(&json!({"stream_options": null})));
    assert!(!quiet.body.contains("usage"), "{}", quiet.body);
    assert!(quiet.body.ends_with("data: [DONE]\n\n"), "{}", quiet.body);
}

#[test]
fn an_answer_that_is_not_streamed_says_the_same() {
    let turn = || {
        Turn::mcp_call("mcp__echo", "say", json!({"a": 1}))
            .reasoning("I think")
            .when("hi")
    };
    let server = start(vec![turn(), turn(), turn(), turn()]);
    let streamed = client::post(&server, RESPONSES, &ask(&json!({})));
    let last = streamed.data().pop().expect("a stream has a last event");
    let event = StreamEvent::deserialize(&last).expect("an event parses");
    assert_eq!(event.kind, "response.completed");
    let streamed = event.response.expect("the last event holds the response");
    let whole = client::post(&server, RESPONSES, &ask(&json!({"stream": false}))).json();
    let whole = Response::deserialize(&whole).expect("a response parses");
    assert_eq!(whole.status, "completed");
    let call = |response: &Response| match &response.output[1] {
        Item::FunctionCall(call) => (
            call.namespace.clone(),
            call.name.clone(),
            call.arguments.clone(),
        ),
        other => panic!("no call: {other:?}"),
    };
    let expected = (
        Some("mcp__echo".to_owned()),
        "say".to_owned(),
        r#"{"a":1}"#.to_owned(),
    );
    assert_eq!(call(&streamed), expected);
    assert_eq!(call(&whole), expected);
    match &whole.output[0] {
        Item::Reasoning(thought) => assert_eq!(thought.text(), "I think"),
        other => panic!("no reasoning: {other:?}"),
    }

    let chunks: Vec<Completion> = client::post(&server, CHAT, &chat(&json!({})))
        .data()
        .iter()
        .filter_map(|chunk| Completion::deserialize(chunk).ok())
        .collect();
    let thinking: String = chunks
        .iter()
        .flat_map(|chunk| &chunk.choices)
        .filter_map(|choice| choice.message.thinking())
        .collect();
    assert_eq!(thinking, "I think");
    let whole = client::post(&server, CHAT, &chat(&json!({"stream": false}))).json();
    let whole = Completion::deserialize(&whole).expect("a completion parses");
    let choice = &whole.choices[0];
    assert_eq!(choice.message.thinking(), Some("I think"));
    assert_eq!(
        choice.message.tool_calls[0].function.name.as_deref(),
        Some("mcp__echo__say")
    );
    assert_eq!(
        choice.message.tool_calls[0].function.arguments,
        r#"{"a":1}"#
    );
    assert_eq!(choice.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(whole.usage, chunks[chunks.len() - 1].usage);
}

#[test]
fn effort_none_turns_thinking_off() {
    let turn = || Turn::text("Hello").reasoning("I think");
    let server = start(vec![turn(), turn(), turn(), turn()]);
    let off = client::post(
        &server,
        RESPONSES,
        &ask(&json!({"reasoning": {"effort": "none"}})),
    );
    assert!(!off.body.contains("response.reasoning"), "{}", off.body);
    assert!(off.body.contains(r#""reasoning_tokens":0"#));
    for off in [
        json!({"reasoning_effort": "none"}),
        json!({"chat_template_kwargs": {"thinking": false}}),
    ] {
        let off = client::post(&server, CHAT, &chat(&off));
        assert!(
            !off.body.contains("I think") && !off.body.contains(r#""reasoning":"#),
            "{}",
            off.body
        );
    }
    let on = client::post(
        &server,
        RESPONSES,
        &ask(&json!({"reasoning": {"effort": "low"}})),
    );
    assert!(
        on.body.contains("response.reasoning_text.delta"),
        "{}",
        on.body
    );
}

#[test]
fn a_tool_that_was_not_offered_keeps_its_flat_name() {
    let server = start(vec![Turn::mcp_call("mcp__other", "say", json!({}))]);
    let answer = client::post(&server, RESPONSES, &ask(&json!({"stream": false}))).json();
    assert_eq!(answer["output"][0]["name"], "mcp__other__say");
    assert_eq!(answer["output"][0]["namespace"], Value::Null);
}

#[test]
fn without_parsers_responses_answers_raw_markup() {
    let config = Config {
        tool_parser: false,
        reasoning_parser: false,
        ..Config::default()
    };
    let turn = Turn::call("exec_command", json!({"cmd": "ls", "n": 2})).reasoning("I will look.");
    let server = StandIn::start(config, Script::new(vec![turn])).expect("a port is free");
    let answer = client::post(&server, RESPONSES, &ask(&json!({"stream": false})));
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json()["output"][0]["content"][0]["text"],
        "I will look.</think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"exec_command\">\n\
         <｜DSML｜parameter name=\"cmd\" string=\"true\">ls</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"n\" string=\"false\">2</｜DSML｜parameter>\n\
         </｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    );
}

#[test]
fn an_answer_is_cut_at_the_longest_one_asked_for() {
    let server = start(vec![Turn::text("0123456789"), Turn::text("0123456789")]);
    let answer = client::post(&server, RESPONSES, &ask(&json!({"max_output_tokens": 2})));
    let last = answer.data().pop().expect("a stream has a last event");
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["status"], "incomplete");
    assert_eq!(
        last["response"]["incomplete_details"]["reason"],
        "max_output_tokens"
    );
    assert_eq!(
        last["response"]["output"][0]["content"][0]["text"],
        "01234567"
    );
    assert_eq!(last["response"]["usage"]["output_tokens"], 2);
    let answer = client::post(
        &server,
        CHAT,
        &chat(&json!({"max_tokens": 2, "stream": false})),
    )
    .json();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["choices"][0]["message"]["content"], "01234567");
}

#[test]
fn turns_are_played_in_order_each_to_the_first_request_that_fits() {
    let server = start(vec![
        Turn::text("for B").when("conversation B"),
        Turn::text("first"),
    ]);
    server.push(Turn::text("second"));
    let say = |text: &str| {
        let body = json!({"model": "deepseek-v4-flash", "input": text});
        let answer = client::post(&server, RESPONSES, &body).json();
        answer["output"][0]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(say("conversation A"), "first");
    assert_eq!(say("conversation B"), "for B");
    assert_eq!(say("conversation B"), "second");
    assert_eq!(server.unplayed(), 0);
    assert_eq!(say("anything"), "Done.");
}

#[test]
fn a_compaction_is_summed_up_and_takes_no_turn() {
    let server = start(vec![Turn::text("first")]);
    let text = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.";
    let body = ask(
        &json!({"tools": [], "input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}]}),
    );
    let answer = client::post(&server, RESPONSES, &body);
    assert!(answer.body.contains("Summary: "), "{}", answer.body);
    assert_eq!(server.unplayed(), 1);
}

#[test]
fn a_script_is_loaded_from_json_and_a_wrong_one_says_where() {
    let script = Script::from_json(
        r#"[{"reasoning": "r", "calls": [{"namespace": "mcp__echo", "name": "say", "arguments": {}}]},
            {"text": "t", "when": "w", "delay_ms": 5, "tokens_per_second": 2.5, "fault": {"cut": {"after": 3}}},
            {"fault": "html200"}, {"fault": {"status": {"code": 503}}}]"#,
    )
    .expect("the script is right");
    assert_eq!(
        script.turns[0].calls[0].namespace.as_deref(),
        Some("mcp__echo")
    );
    let written = serde_json::to_string(&script).expect("a script is JSON");
    assert_eq!(
        Script::from_json(&written).expect("what was written is read"),
        script
    );
    insta::assert_snapshot!(
        Script::from_json(r#"[{"txt": "t"}]"#).expect_err("there is no such key"),
        @"the script is not a JSON array of turns: unknown field `txt`, expected one of `when`, `stays`, `quote`, `reasoning`, `text`, `calls`, `delay_ms`, `tokens_per_second`, `prefill_tokens_per_second`, `tokens_per_chunk`, `fault` at line 1 column 7"
    );
    let missing = Script::from_file("no/such/script.json".as_ref()).expect_err("there is no file");
    assert!(
        missing
            .to_string()
            .starts_with("cannot read the script no/such/script.json: ")
    );
}
