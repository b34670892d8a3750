//! Turns that go wrong.

use std::io::Read as _;
use std::time::{Duration, Instant};

use codex_ds_wire::standin::{Config, Fault, Play, Script, StandIn, Turn};
use serde_json::{Value, json};

use crate::client;

const RESPONSES: &str = "/v1/responses";

fn start(turn: Turn) -> StandIn {
    StandIn::start(Config::default(), Script::new(vec![turn])).expect("a port is free")
}

fn ask() -> Value {
    json!({"input": "hi", "stream": true, "tools": [{"type": "function", "name": "f"}]})
}

fn running(server: &StandIn) -> bool {
    client::get(server, "/metrics")
        .body
        .contains(r#"running{engine="0",model_name="deepseek-v4-flash"} 1.0"#)
}

#[test]
fn a_cut_breaks_the_connection_after_so_many_events() {
    let server = start(Turn::text("Hello").fault(Fault::Cut { after: 3 }));
    let answer = client::post(&server, RESPONSES, &ask());
    assert_eq!(answer.status, 200);
    assert_eq!(answer.events().len(), 3);
    assert!(
        !answer.whole,
        "the body must not end as if it were complete"
    );
    assert_eq!(
        client::post(&server, RESPONSES, &ask()).status,
        200,
        "the next request is served"
    );
}

#[test]
fn a_stall_keeps_the_connection_open_until_the_client_goes() {
    let server = start(Turn::text("Hello").fault(Fault::Stall { after: 2 }));
    let mut stream = client::send(&server, "POST", RESPONSES, "", &ask().to_string());
    let got = client::read_until(&mut stream, "response.in_progress\"}\n\n");
    assert!(!got.contains("output_item"), "{got}");
    assert!(running(&server));
    drop(stream);
    while running(&server) {
        std::thread::yield_now();
    }
    let page = client::get(&server, "/metrics").body;
    assert!(
        page.contains(r#"finished_reason="abort",model_name="deepseek-v4-flash"} 1.0"#),
        "{page}"
    );
}

#[test]
fn a_stopped_server_breaks_open_streams_off() {
    let server = start(Turn::text("Hello").fault(Fault::Stall { after: 2 }));
    let mut stream = client::send(&server, "POST", RESPONSES, "", &ask().to_string());
    client::read_until(&mut stream, "response.in_progress\"}\n\n");
    drop(server);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(
        !rest.windows(5).any(|bytes| bytes == b"0\r\n\r\n"),
        "the body ended as if complete"
    );
}

#[test]
fn a_slow_model_sends_what_it_has() {
    // At this pace the second token comes after three hours.
    let server = start(Turn::text("Hello, world").tokens_per_second(0.0001));
    let mut stream = client::send(&server, "POST", RESPONSES, "", &ask().to_string());
    let got = client::read_until(&mut stream, "response.content_part.added\"}\n\n");
    assert!(!got.contains("delta"), "{got}");
}

#[test]
fn a_status_has_the_given_body_or_one_in_vllms_form() {
    let own = Fault::Status {
        code: 429,
        body: Some("slow down".to_owned()),
    };
    let answer = client::post(&start(Turn::default().fault(own)), RESPONSES, &ask());
    assert_eq!((answer.status, answer.body.as_str()), (429, "slow down"));
    let bare = Fault::Status {
        code: 503,
        body: None,
    };
    let answer = client::post(&start(Turn::default().fault(bare)), RESPONSES, &ask());
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.body,
        r#"{"error":{"message":"Service Unavailable","type":"ServiceUnavailableError","param":null,"code":503}}"#
    );
}

#[test]
fn malformed_arguments_break_off_in_the_middle() {
    let turn = Turn::call("f", json!({"cmd": "ls"})).fault(Fault::MalformedArguments);
    let events = client::post(&start(turn), RESPONSES, &ask()).data();
    let done = events
        .iter()
        .find(|event| event["type"] == "response.function_call_arguments.done");
    let arguments = done.expect("the call is done")["arguments"]
        .as_str()
        .unwrap_or_default();
    assert_eq!(arguments, r#"{"cmd""#);
}

#[test]
fn a_login_page_is_html_with_status_200() {
    let answer = client::post(
        &start(Turn::default().fault(Fault::Html200)),
        RESPONSES,
        &ask(),
    );
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("content-type: text/html"),
        "{}",
        answer.head
    );
}

#[test]
fn an_answer_that_is_not_streamed_can_be_cut_too() {
    let server = start(Turn::text("Hello").fault(Fault::Cut { after: 0 }));
    let answer = client::post(&server, RESPONSES, &json!({"input": "hi"}));
    assert!(!answer.whole);
    assert_eq!(answer.body, "");
}

#[test]
fn a_delay_and_a_pace_take_their_time() {
    // 100 ms before the first byte, and five tokens at fifty a second; only a lower bound is sure.
    let turn = Turn::text("x".repeat(20))
        .delay_ms(100)
        .tokens_per_second(50.0);
    for stream in [true, false] {
        let server = start(turn.clone());
        let asked = Instant::now();
        let answer = client::post(
            &server,
            RESPONSES,
            &json!({"input": "hi", "stream": stream}),
        );
        assert!(
            answer.whole && answer.body.contains(&"x".repeat(20)),
            "{}",
            answer.body
        );
        assert!(
            asked.elapsed() >= Duration::from_millis(200),
            "{:?}",
            asked.elapsed()
        );
    }
}

#[test]
fn what_was_played_is_told_with_its_times() {
    let turn = Turn::text("x".repeat(4000))
        .stays()
        .prefill_tokens_per_second(1000.0)
        .tokens_per_second(200.0)
        .tokens_per_chunk(4);
    let server = start(turn);
    let body = json!({
        "model": "deepseek-v4-flash", "stream": true, "max_tokens": 20,
        "messages": [{"role": "user", "content": "y".repeat(400)}],
    });
    for _ in 0..2 {
        let answer = client::post(&server, "/v1/chat/completions", &body);
        assert!(answer.whole);
    }
    let plays = server.plays();
    assert_eq!((plays.len(), server.unplayed()), (2, 0));
    let tokens = |play: &Play| -> Vec<u64> {
        let tokens = play.sent.iter().map(|(_, tokens)| *tokens);
        tokens.filter(|tokens| *tokens > 0).collect()
    };
    for play in &plays {
        assert_eq!(tokens(play), [4; 5]);
        let first = play.sent[0].0 - play.arrived;
        let computed = play.prompt_tokens - play.cached_tokens;
        assert!(first >= Duration::from_millis(computed), "{first:?}");
        let (last, _) = *play.sent.last().expect("an event");
        assert!(last - play.sent[0].0 >= Duration::from_millis(80));
    }
    assert!(plays[0].cached_tokens == 0 && plays[1].cached_tokens > 0);

    let page = client::get(&server, "/metrics").body;
    for line in [
        "vllm:spec_decode_num_drafts_total{engine=\"0\",model_name=\"deepseek-v4-flash\"} 10.0",
        "vllm:spec_decode_num_accepted_tokens_total{engine=\"0\",model_name=\"deepseek-v4-flash\"} 30.0",
        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"deepseek-v4-flash\"} 0.0",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}
