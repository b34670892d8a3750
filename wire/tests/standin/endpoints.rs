//! The paths beside the model's.

use std::time::Duration;

use codex_ds_wire::Secret;
use codex_ds_wire::standin::{Config, Flavor, Model, Script, StandIn, Turn};
use serde_json::{Value, json};

use crate::client;

fn start(config: Config) -> StandIn {
    StandIn::start(config, Script::default()).expect("a port is free")
}

#[test]
fn vllm_tells_its_version_models_and_limits() {
    let server = start(Config {
        models: vec![Model::new("m", 4096)],
        ..Config::default()
    });
    assert_eq!(server.base_url(), format!("{}/v1", server.root_url()));
    let health = client::get(&server, "/health");
    assert_eq!((health.status, health.body.as_str()), (200, ""));
    assert_eq!(
        client::get(&server, "/version").body,
        r#"{"version":"0.32.0"}"#
    );
    let models = client::get(&server, "/v1/models").json();
    let model = &models["data"][0];
    assert_eq!(
        (models["object"].as_str(), model["id"].as_str()),
        (Some("list"), Some("m"))
    );
    assert_eq!(
        (&model["owned_by"], &model["max_model_len"]),
        (&json!("vllm"), &json!(4096))
    );
    assert_eq!(client::get(&server, "/health/liveliness").status, 404);
}

#[test]
fn a_router_hides_what_stands_behind_it() {
    let server = start(Config::router());
    let models = client::get(&server, "/v1/models").json();
    assert_eq!(models["data"][0]["owned_by"], "openai");
    assert_eq!(models["data"][0].get("max_model_len"), None);
    assert_eq!(
        client::get(&server, "/health/liveliness").body,
        r#""I'm alive!""#
    );
    for path in ["/version", "/metrics"] {
        assert_eq!(client::get(&server, path).status, 404, "{path}");
    }
    assert_eq!(
        client::post(&server, "/tokenize", &json!({"prompt": "a"})).status,
        404
    );
}

#[test]
fn a_key_is_asked_for_under_v1_only() {
    for (flavor, wrong, missing) in [
        (
            Flavor::Vllm,
            (401, r#"{"error":"Unauthorized"}"#),
            (401, r#"{"error":"Unauthorized"}"#),
        ),
        (
            Flavor::Router,
            (
                400,
                r#"{"error":{"message":"No connected db.","type":"no_db_connection","code":"400"}}"#,
            ),
            (
                401,
                r#"{"error":{"message":"Authentication Error, No api key passed in.","type":"auth_error","param":"None","code":"401"}}"#,
            ),
        ),
    ] {
        let api_key = Some(Secret::new("sk-right"));
        let server = start(Config {
            flavor,
            api_key,
            ..Config::default()
        });
        let models = |headers: &str| {
            let answer = client::request(&server, "GET", "/v1/models", headers, "");
            (answer.status, answer.body)
        };
        assert_eq!(models("authorization: bearer sk-right\r\n").0, 200);
        assert_eq!(
            models("authorization: Bearer sk-wrong\r\n"),
            (wrong.0, wrong.1.to_owned())
        );
        assert_eq!(models(""), (missing.0, missing.1.to_owned()));
        assert_eq!(client::get(&server, "/health").status, 200);
        assert!(
            !format!("{server:?}").contains("sk-right"),
            "a key is never printed"
        );
    }
}

#[test]
fn tokens_are_counted_alike_everywhere() {
    let server = start(Config::default());
    let count = client::post(&server, "/tokenize", &json!({"prompt": "12345"})).json();
    assert_eq!(count["count"], 2);
    assert_eq!(count["tokens"].as_array().map(Vec::len), Some(2));
    assert_eq!(count["max_model_len"], 262_144);

    let messages = json!([{"role": "user", "content": "hello, how are you?"}]);
    let count = client::post(&server, "/tokenize", &json!({"messages": messages})).json();
    let body = json!({"messages": messages});
    let usage = client::post(&server, "/v1/chat/completions", &body).json()["usage"].clone();
    assert_eq!(count["count"], usage["prompt_tokens"]);
    let body = json!({"input": messages});
    let usage = client::post(&server, "/v1/responses", &body).json()["usage"].clone();
    assert_eq!(count["count"], usage["input_tokens"]);
}

fn metric(server: &StandIn, name: &str) -> u64 {
    let page = client::get(server, "/metrics").body;
    let line = page
        .lines()
        .find(|line| line.starts_with(&format!("{name}{{")));
    let value = line
        .and_then(|line| line.rsplit(' ').next())
        .expect("the metric is there");
    value
        .trim_end_matches(".0")
        .parse()
        .expect("a counter is a number")
}

#[test]
fn metrics_and_usage_agree() {
    let server = start(Config {
        models: vec![Model::new("m", 4096)],
        ..Config::default()
    });
    let ask = |text: &str| {
        let body = json!({"input": text, "stream": true});
        let events = client::post(&server, "/v1/responses", &body).data();
        events[events.len() - 1]["response"]["usage"].clone()
    };
    let opening = "x".repeat(640);
    let first = ask(&opening);
    let second = ask(&format!("{opening} and more"));
    let sum = |field: &str| {
        first[field]
            .as_u64()
            .zip(second[field].as_u64())
            .map(|(a, b)| a + b)
    };
    assert_eq!(
        Some(metric(&server, "vllm:prompt_tokens_total")),
        sum("input_tokens")
    );
    assert_eq!(
        Some(metric(&server, "vllm:generation_tokens_total")),
        sum("output_tokens")
    );
    assert_eq!(
        Some(metric(&server, "vllm:prefix_cache_queries_total")),
        sum("input_tokens")
    );
    assert_eq!(first["input_tokens_details"]["cached_tokens"], 0);
    assert_eq!(second["input_tokens_details"]["cached_tokens"], 160);
    assert_eq!(metric(&server, "vllm:prefix_cache_hits_total"), 160);
    assert_eq!(metric(&server, "vllm:num_requests_running"), 0);
    let page = client::get(&server, "/metrics").body;
    let stopped =
        r#"vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 2.0"#;
    assert!(page.contains(stopped), "{page}");
}

#[test]
fn chat_tells_cached_tokens_only_when_told_to() {
    for told in [false, true] {
        let server = start(Config {
            prompt_tokens_details: told,
            ..Config::default()
        });
        let body = json!({"messages": [{"role": "user", "content": "x".repeat(640)}]});
        client::post(&server, "/v1/chat/completions", &body);
        let usage = client::post(&server, "/v1/chat/completions", &body).json()["usage"].clone();
        let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64();
        assert_eq!(cached, told.then_some(160));
    }
}

#[test]
fn every_request_is_recorded_as_it_came() {
    let server = start(Config::default());
    client::request(
        &server,
        "POST",
        "/v1/responses?a=1",
        "X-Odd: \u{fc}\r\n",
        r#"{"input": "hi"}"#,
    );
    client::get(&server, "/nowhere");
    assert!(server.wait_for(1, Duration::from_secs(30)));
    assert!(
        !server.wait_for(2, Duration::ZERO),
        "/nowhere is no request for an answer"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        (requests[0].method.as_str(), requests[0].path.as_str()),
        ("POST", "/v1/responses?a=1")
    );
    assert_eq!(requests[0].header("x-odd"), Some("\u{fc}"));
    assert_eq!(requests[0].json(), json!({"input": "hi"}));
    assert_eq!(requests[1].json(), Value::Null);
    assert_eq!(server.model_requests(), requests[..1]);
}

#[test]
fn it_serves_inside_an_asynchronous_runtime_and_stops_there() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let server = StandIn::start(Config::default(), Script::new(vec![Turn::text("hi")]))
            .expect("a port is free");
        let address = server.address();
        assert_eq!(client::get(&server, "/health").status, 200);
        drop(server);
        assert!(
            std::net::TcpStream::connect(address).is_err(),
            "it still listens"
        );
    });
}
