use codex_ds_wire::body::Body;
use codex_ds_wire::breakdown::Breakdown;
use serde_json::json;

use super::*;
use crate::dump::recorder::{Recorder, WriterOptions};

/// A session of two requests whose prefix breaks, as the recorder writes it, with fixed times.
fn session_of_two() -> Session {
    let folder = tempfile::tempdir().unwrap();
    let header = store::Header {
        schema_version: store::SCHEMA_VERSION,
        started_ms: 1_796_054_711_000,
        upstream: None,
        codex_args: Vec::new(),
        redacted: true,
    };
    let options = WriterOptions {
        redactor: Some(Vec::new()),
        on_end: None,
        on_failure: Box::new(|error| panic!("{error}")),
    };
    let recorder = Recorder::start(folder.path(), &header, options).unwrap();
    let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let date = |day: u32| {
        message(
            "user",
            &format!(
                "<environment_context>\n  <current_date>2026-11-{day}</current_date>\n</environment_context>"
            ),
        )
    };
    let mut items = vec![
        message("developer", "Be brief."),
        date(29),
        message("user", "hi"),
    ];
    for day in [29, 30] {
        items[1] = date(day);
        let body = json!({
            "model": "m", "prompt_cache_key": "k", "input": items,
            "tools": [{"type": "function", "name": "exec_command", "description": "Runs \u{1b}[31m."}],
        });
        let mut exchange = recorder.begin("POST", "/v1/responses", &axum::http::HeaderMap::new());
        exchange.request_chunk(&body.to_string().into());
        exchange.request_end();
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("content-type", "text/event-stream".parse().unwrap());
        exchange.response(200, &headers);
        let events = [
            json!({"type": "response.reasoning_text.delta", "delta": "hm"}),
            json!({"type": "response.output_text.delta", "delta": "o"}),
            json!({"type": "response.output_text.delta", "delta": "k"}),
            json!({"type": "response.completed", "response": {"status": "completed", "usage": {
                "input_tokens": 120, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 0}}}}),
        ];
        for event in events {
            exchange.chunk(&format!("data: {event}\n\n").into());
        }
        exchange.end(store::Outcome::Complete);
        items.push(message("assistant", "ok"));
        items.push(message("user", "go on"));
    }
    assert!(recorder.flush(std::time::Duration::from_secs(60)));
    let mut session = Session::read(recorder.path()).unwrap();
    for exchange in &mut session.exchanges {
        for (event, us) in exchange
            .events
            .iter_mut()
            .zip([40_000, 60_000, 64_000, 2_300_000])
        {
            event.us = us;
        }
        let end = exchange.end.as_mut().unwrap();
        (end.us, end.first_token_us) = (2_300_100, Some(40_000));
    }
    session
}

#[test]
fn a_session_reads_well() {
    insta::assert_snapshot!(session(&session_of_two(), &BTreeMap::new()));
}

#[test]
fn counted_tokens_are_held_against_the_usage() {
    let two = session_of_two();
    let first = &two.exchanges[0];
    let parts = Breakdown::of(&Body::read(first.request.body.as_ref().unwrap()))
        .parts
        .len();
    let text = request(first, &Analysis::of(&two, first), &Some(vec![10; parts]));
    let counted = format!(
        "tokens: {} counted by /tokenize; usage says 120",
        10 * parts
    );
    assert!(text.contains(&counted) && !text.contains('~'), "{text}");
}
