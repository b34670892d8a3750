use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn rows(body: &Value) -> Vec<(Section, String, usize)> {
    let body = body.to_string();
    let broken = Breakdown::of(&Body::read(&body));
    assert_eq!(
        broken.parts.iter().map(Part::bytes).sum::<usize>(),
        body.len()
    );
    broken
        .parts
        .into_iter()
        .map(|part| (part.section, part.name.clone(), part.bytes()))
        .filter(|(section, _, _)| *section != Section::Overhead)
        .collect()
}

#[test]
fn a_request_of_codex_is_named_part_by_part() {
    let text = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let body = json!({
        "model": "m",
        "input": [
            text("developer", "Be brief."),
            text("developer", "<permissions instructions>no</permissions instructions>"),
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "# AGENTS.md instructions for /w\n\nx"},
                {"type": "input_text", "text": "<environment_context>\n</environment_context>"},
            ]},
            text("user", "hi"),
            {"type": "reasoning", "id": "rs_1", "summary": [],
             "content": [{"type": "reasoning_text", "text": "hm"}], "encrypted_content": null},
            {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "a b"},
            text("assistant", "ok"),
        ],
        "tools": [
            {"type": "function", "name": "exec"},
            {"type": "namespace", "name": "mcp__a", "tools": [{"type": "function", "name": "b"}]},
            {"type": "web_search"},
        ],
        "client_metadata": {"a": "b"},
    });
    let rows = rows(&body);
    let shown: Vec<(Section, &str, usize)> = rows
        .iter()
        .map(|(section, name, bytes)| (*section, name.as_str(), *bytes))
        .collect();
    assert_eq!(
        shown,
        [
            (Section::Parameters, "model", 3),
            (Section::System, "instructions", 9),
            (Section::System, "permissions", 55),
            (Section::Agents, "AGENTS.md", 36),
            (Section::Environment, "environment_context", 45),
            (Section::History, "user", 2),
            (Section::History, "reasoning", 2),
            (Section::History, "tool calls", 4),
            (Section::History, "tool outputs", 3),
            (Section::History, "assistant", 2),
            (Section::Tools, "exec", 33),
            (Section::Tools, "mcp__a", 47),
            (Section::Tools, "mcp__a.b", 30),
            (Section::Tools, "web_search", 21),
            (Section::Metadata, "client_metadata", 9),
        ]
    );
}

#[test]
fn chat_and_messages_bodies_are_understood() {
    let chat = json!({"messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "out"},
    ], "tools": [{"type": "function", "function": {"name": "ls"}}]});
    let names: Vec<String> = rows(&chat).into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(
        names,
        ["instructions", "user", "tool calls", "tool outputs", "ls"]
    );
    let anthropic = json!({"system": [{"type": "text", "text": "s"}], "messages": [
        {"role": "user", "content": [{"type": "text", "text": "u"}]},
    ], "tools": [{"name": "ls", "input_schema": {}}]});
    let names: Vec<String> = rows(&anthropic)
        .into_iter()
        .map(|(_, name, _)| name)
        .collect();
    assert_eq!(names, ["instructions", "user", "ls"]);
}

#[test]
fn the_text_of_a_part_is_what_it_says() {
    let body = json!({"instructions": "a\n\"b\" é"}).to_string();
    let broken = Breakdown::of(&Body::read(&body));
    assert_eq!(broken.parts[0].text(&body), "a\n\"b\" é");
}

fn assert_sums(body: &[u8]) -> Result<(), TestCaseError> {
    let broken = Breakdown::of(&Body::read(body));
    let mut spans: Vec<Range<usize>> = broken
        .parts
        .iter()
        .flat_map(|part| part.spans.clone())
        .collect();
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut at = 0;
    for span in spans {
        // Each byte is in one part, and in one only.
        prop_assert_eq!(span.start, at);
        at = span.end;
    }
    prop_assert_eq!(at, body.len());
    prop_assert_eq!(
        broken.parts.iter().map(Part::bytes).sum::<usize>(),
        body.len()
    );
    Ok(())
}

proptest! {
    #[test]
    fn the_parts_of_any_json_sum_up_exactly(value in spans::tests::json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        assert_sums(text.as_bytes())?;
    }

    #[test]
    fn the_parts_of_any_bytes_sum_up_exactly(body in prop::collection::vec(any::<u8>(), 0..64)) {
        assert_sums(&body)?;
    }

    #[test]
    fn the_parts_of_any_request_sum_up_exactly(items in prop::collection::vec(spans::tests::json(), 0..4),
        tools in prop::collection::vec(spans::tests::json(), 0..3)) {
        let body = json!({"input": items, "tools": tools, "instructions": "x", "client_metadata": null});
        assert_sums(body.to_string().as_bytes())?;
    }
}
