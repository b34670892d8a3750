//! `codex-ds doctor` on the way to the model: each fault is switched on alone, and has to be named
//! by the check that is made for it, with its evidence, while what depends on it is skipped.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{obedient, server, setup};
use codex_ds_tests::{Run, TestEnvironment};
use codex_ds_wire::standin::{Config, Fault, Flaw, Model, Recorded, StandIn, Turn};
use serde_json::Value;

/// The areas that look at the way to the model.
const CHAIN: &str = "network,endpoint,wire";

/// A profile for a router, made by the first Codex of those that are tested with.
fn profile() -> TestEnvironment {
    let version = CodexVersion::all().next().expect("there is one");
    let env = TestEnvironment::with_codex(version);
    setup(&env, &server(Config::router(), vec![]), &[]);
    env
}

/// Sends the profile to another address.
fn go_to(env: &TestEnvironment, base_url: &str) {
    let path = env.profile().join("config.toml");
    let config = fs_err::read_to_string(&path).expect("set-up wrote it");
    let lines: Vec<String> = config
        .lines()
        .map(|line| match line.split_once(" = ") {
            Some(("base_url", _)) => format!("base_url = {base_url:?}"),
            _ => line.to_owned(),
        })
        .collect();
    fs_err::write(path, lines.join("\n")).expect("the profile is the test's own");
}

fn doctor(env: &TestEnvironment, only: &str, more: &[&str]) -> Run {
    let args = [&["doctor", "--json", "--only", only], more].concat();
    env.codex_ds(args).run()
}

/// What did not pass: each check with its evidence, and what was skipped for it.
fn wrong(run: &Run) -> String {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"));
    let mut text = String::new();
    let mut skipped: Vec<(String, Vec<String>)> = Vec::new();
    for record in report["checks"].as_array().expect("checks") {
        let of = |value: &Value| value.as_str().map(str::to_owned);
        let status = of(&record["status"]).unwrap_or_default();
        let id = of(&record["id"]).unwrap_or_default();
        match status.as_str() {
            "pass" => {}
            "skip" => {
                let why = of(&record["summary"]).unwrap_or_default();
                match skipped.iter_mut().find(|(reason, _)| *reason == why) {
                    Some((_, ids)) => ids.push(id),
                    None => skipped.push((why, vec![id])),
                }
            }
            _ => {
                let _ = writeln!(text, "{id} {status}");
                for finding in record["findings"].as_array().expect("findings") {
                    let _ = writeln!(text, "  {}", of(&finding["text"]).unwrap_or_default());
                    for key in ["measured", "expected", "source"] {
                        if let Some(value) = of(&finding[key]) {
                            let _ = writeln!(text, "    {key}: {value}");
                        }
                    }
                    if let Some(command) = of(&finding["remedy"]["command"]) {
                        let _ = writeln!(text, "    command: {command}");
                    }
                }
            }
        }
    }
    for (why, ids) in skipped {
        let _ = writeln!(text, "skip {}: {why}", ids.join(", "));
    }
    run.normalised(&text)
}

/// What a stand-in gets wrong, by the whole chain of the default route.
fn deep(env: &TestEnvironment, config: Config, turns: Vec<Turn>) -> String {
    let server = server(config, turns);
    go_to(env, &server.base_url());
    wrong(&doctor(env, CHAIN, &["--deep", "--profile", "default"]))
}

/// Each of these, alone, with what the doctor says of it.
fn each(env: &TestEnvironment, cases: Vec<(String, Config, Vec<Turn>)>) -> String {
    let mut text = String::new();
    for (name, config, turns) in cases {
        let _ = writeln!(text, "--- {name}\n{}", deep(env, config, turns));
    }
    text
}

fn flaws(flaws: &[Flaw]) -> Vec<(String, Config, Vec<Turn>)> {
    flaws
        .iter()
        .map(|flaw| {
            (
                format!("{flaw:?}"),
                Config::router().flaw(*flaw),
                obedient(),
            )
        })
        .collect()
}

#[test]
fn a_sound_chain_is_green_on_each_route() {
    let env = profile();
    let server = server(Config::router(), obedient());
    go_to(&env, &server.base_url());
    let run = doctor(&env, CHAIN, &["--deep"]).success();
    assert_eq!(wrong(&run), "");
    for model in ["deepseek-v4-flash-cc", "deepseek-v4-flash"] {
        let asked = server.model_requests();
        let of_model = |request: &&Recorded| request.json()["model"] == model;
        assert!(asked.iter().filter(of_model).count() > 10, "{model}");
    }
}

#[test]
fn a_stream_that_is_held_back_is_named() {
    let env = profile();
    let found = deep(&env, Config::router().flaw(Flaw::Buffers), obedient());
    // The times in it differ.
    assert!(
        found.starts_with("wire.buffering fail\n  default: the whole answer comes at once"),
        "{found}"
    );
    assert!(!found.contains("skip"), "{found}");
}

#[test]
fn a_flaw_in_tools_is_named() {
    insta::assert_snapshot!(each(&profile(), flaws(&[
        Flaw::NamespaceDropped,
        Flaw::NamespaceRefused,
        Flaw::NamespaceFlat,
        Flaw::NamespaceDotted,
        Flaw::ArgumentsLost,
        Flaw::HistoryRefused,
    ])), @r#"
    --- NamespaceDropped
    wire.namespace fail
      default: the model did not call the tool that it was told to
        measured: I have no such tool.
        expected: a function_call of lookup_number
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc

    --- NamespaceRefused
    wire.namespace fail
      default: the request with an MCP tool is refused: the server takes no tool but functions, and Codex sends an MCP server's tools as a namespace
        measured: HTTP 400: tool type namespace not supported
        expected: a tool of type namespace is accepted
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc

    --- NamespaceFlat
    wire.namespace fail
      default: the call comes back under another name: Codex says "unsupported call" to it
        measured: name mcp__probe__lookup_number, no namespace
        expected: namespace mcp__probe, name lookup_number
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
        command: codex-ds setup --mcp none

    --- NamespaceDotted
    wire.namespace fail
      default: the call comes back under another name: Codex says "unsupported call" to it
        measured: name mcp__probe.lookup_number, no namespace
        expected: namespace mcp__probe, name lookup_number
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
        command: codex-ds setup --mcp none

    --- ArgumentsLost
    wire.tool-call fail
      default: the arguments of the call are not those that were streamed
        measured: {}
        expected: {"name":"Oslo"}
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- HistoryRefused
    wire.history fail
      default: the second turn is refused: HTTP 400: 1 validation error: {'type': 'string_type', 'loc': 'body.input.str', 'msg': 'Input should be a valid string'}
        measured: HTTP 400: 1 validation error: {'type': 'string_type', 'loc': 'body.input.str', 'msg': 'Input should be a valid string'}
        expected: the tool's answer is accepted, with the call and the thinking before it
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.namespace: needs wire.history, which did not pass
    "#);
}

#[test]
fn a_flaw_in_prompts_is_named() {
    insta::assert_snapshot!(each(&profile(), flaws(&[
        Flaw::DeveloperAsUser,
        Flaw::DeveloperRefused,
        Flaw::SystemOnce,
        Flaw::ThinksAlways,
        Flaw::EffortRefused("max"),
    ])), @r#"
    --- DeveloperAsUser
    wire.instructions warn
      default: they are a turn of the user: the model minds them less
        measured: 23 tokens as developer, 24 as system, 23 as user
        expected: as many tokens as developer as as system
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc

    --- DeveloperRefused
    wire.developer fail
      default: developer messages are refused: the model's chat template does not take what Codex sends: several developer messages at the start
        measured: HTTP 400: Unexpected message role.
        expected: two developer messages before the user's, as Codex sends them
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- SystemOnce
    wire.developer fail
      default: developer messages are refused: the model's chat template does not take what Codex sends: several developer messages at the start
        measured: HTTP 400: System message must be at the beginning.
        expected: two developer messages before the user's, as Codex sends them
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- ThinksAlways
    wire.effort fail
      default: the model thinks although the level is none
        measured: 6 tokens, 22 bytes of thinking
        expected: 0 tokens of thinking
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc

    --- EffortRefused("max")
    wire.effort fail
      default: the level max is refused: a field of the request is not passed on, or a reasoning level is not known
        measured: HTTP 400: invalid reasoning value: "max"
        expected: each level of the catalog is accepted
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    "#);
}

#[test]
fn a_flaw_in_between_is_named() {
    insta::assert_snapshot!(each(&profile(), flaws(&[
        Flaw::SmallBodies,
        Flaw::Truncates,
        Flaw::ResponsesMissing,
        Flaw::EngineDead,
    ])), @"
    --- SmallBodies
    wire.long-prompt fail
      default: a long prompt does not get through: a proxy in between takes no body of this size: a long session ends there, long before the model's window is full. Codex shows: unexpected status 413 Payload Too Large
        measured: HTTP 413: <html> <head><title>413 Request Entity Too Large</title></head> <body> <center><h1>413 Request Entity Too Large</h1></center> <hr><center>nginx</center> </body> </html>
        expected: 400, with the limit of 262144 tokens in words
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc

    --- Truncates
    wire.long-prompt fail
      default: a prompt that is longer than the window is answered: it was cut, or the window is another
        measured: an answer to 262210 tokens
        expected: 400, with the limit of 262144 tokens in words
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc

    --- ResponsesMissing
    wire.path fail
      default: no Responses API: the server has no /v1/responses, which is all that Codex speaks. Codex shows: unexpected status 404 Not Found, after six tries
        measured: HTTP 404: there is no /v1/responses
        expected: /v1/responses
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.answer: needs wire.path, which did not pass
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- EngineDead
    endpoint.health fail
      LiteLLM says that it is not: HTTP 503: Service Unavailable
        measured: HTTP 503: Service Unavailable
        expected: 200
        source: GET http://127.0.0.1:[PORT]/health/readiness
        command: codex-ds deploy status
    skip wire.answer: needs endpoint.health, which did not pass
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass
    ");
}

#[test]
fn a_server_without_parsers_is_named_by_what_it_answers() {
    let without = |change: fn(&mut Config)| {
        let mut config = Config::router();
        change(&mut config);
        config
    };
    insta::assert_snapshot!(each(&profile(), vec![
        ("no tool parser".to_owned(), without(|config| config.tool_parser = false), obedient()),
        ("no reasoning parser".to_owned(), without(|config| config.reasoning_parser = false), obedient()),
    ]), @r#"
    --- no tool parser
    wire.tool-call fail
      default: the call stands in the text: the server has no tool parser, and says 200
        measured: <｜DSML｜tool_calls> <｜DSML｜invoke name="lookup_number"> <｜DSML｜parameter name="name" string="true">Oslo</｜DSML｜parameter> </｜DSML｜invoke> </｜DSML｜tool_calls>
        expected: a function_call of lookup_number
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- no reasoning parser
    wire.thinking fail
      default: the model's thinking stands in its answer: there is no reasoning parser
        measured: </think> in the text
        expected: an item of type reasoning
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    "#);
}

#[test]
fn an_error_is_told_as_it_is_and_as_codex_shows_it() {
    let always = |fault| vec![Turn::text("Hello").fault(fault).stays()];
    let status = |code, body: &str| {
        always(Fault::Status {
            code,
            body: (!body.is_empty()).then(|| body.to_owned()),
        })
    };
    let cool_down = r#"{"error":{"message":"No deployments available for selected model, Try again in 5 seconds. Passed model=deepseek-v4-flash-cc.","type":"None","param":"None","code":"429"}}"#;
    let cases = [
        ("500", status(500, "")),
        ("cool-down", status(429, cool_down)),
        ("HTML", always(Fault::Html200)),
        ("cut", always(Fault::Cut { after: 3 })),
    ];
    let cases = cases
        .into_iter()
        .map(|(name, turns)| (name.to_owned(), Config::router(), turns))
        .collect();
    insta::assert_snapshot!(each(&profile(), cases), @"
    --- 500
    wire.answer fail
      default: no answer of the model: the server failed; its log has the reason. Codex shows: We’re currently experiencing high demand, which may cause temporary errors.
        measured: HTTP 500: Internal Server Error
        expected: a stream of events up to response.completed
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- cool-down
    wire.answer fail
      default: no answer of the model: LiteLLM has set the server behind it aside after an error, and hides that error. Codex shows: exceeded retry limit, last status: 429 Too Many Requests
        measured: HTTP 429: No deployments available for selected model, Try again in 5 seconds. Passed model=deepseek-v4-flash-cc.
        expected: a stream of events up to response.completed
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- HTML
    wire.answer fail
      default: no answer of the model: no stream of events came: a proxy's page in the way, or a server that does not stream. Codex shows: stream disconnected before completion: stream closed before response.completed
        measured: answered 200 OK with text/html; charset=utf-8: <!doctype html><title>Sign in</title><p>Please sign in.</p>; expected text/event-stream
        expected: a stream of events up to response.completed
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- cut
    wire.answer fail
      default: no answer of the model: the stream has no end: the server or a proxy in between broke it off. Codex shows: stream disconnected before completion: stream closed before response.completed
        measured: the stream broke off after 3 events, before response.completed
        expected: a stream of events up to response.completed
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass
    ");
}

#[test]
fn a_wrong_key_model_window_or_version_is_named() {
    let guarded = |config: Config| Config {
        api_key: Some("the-right-one".to_owned().into()),
        ..config
    };
    let cases = vec![
        ("LiteLLM's key", guarded(Config::router())),
        ("vLLM's key", guarded(Config::default())),
        (
            "another model",
            Config {
                models: vec![Model::new("deepseek-v4-flash-fast", 262_144)],
                ..Config::router()
            },
        ),
        (
            "a small window",
            Config {
                models: ["deepseek-v4-flash-cc", "deepseek-v4-flash"]
                    .map(|id| Model::new(id, 32_768))
                    .to_vec(),
                ..Config::router()
            },
        ),
        (
            "an old vLLM",
            Config {
                version: "0.24.0".to_owned(),
                ..Config::default()
            },
        ),
    ];
    let cases = cases
        .into_iter()
        .map(|(name, config)| (name.to_owned(), config, obedient()))
        .collect();
    insta::assert_snapshot!(each(&profile(), cases), @r#"
    --- LiteLLM's key
    endpoint.key fail
      the key is refused: LiteLLM does not know this key: without a database it knows its master key alone, and looks any other one up where there is nothing. Codex shows: a 400 with "No connected db."
        measured: HTTP 400: No connected db.
        expected: 200
        source: GET http://127.0.0.1:[PORT]/v1/models
        command: codex-ds setup --api-key-file FILE
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- vLLM's key
    endpoint.key fail
      the key is refused: the server does not take the key. Codex shows: unexpected status 401 Unauthorized, after six tries
        measured: HTTP 401: Unauthorized
        expected: 200
        source: GET http://127.0.0.1:[PORT]/v1/models
        command: codex-ds setup --api-key-file FILE
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- another model
    endpoint.models fail
      deepseek-v4-flash-cc is not served
        measured: deepseek-v4-flash-fast
        expected: deepseek-v4-flash-cc
        source: GET http://127.0.0.1:[PORT]/v1/models
        command: codex-ds setup
    skip endpoint.window, wire.answer: needs endpoint.models, which did not pass
    skip wire.developer, wire.effort, wire.long-prompt, wire.buffering: needs wire.answer, which did not pass
    skip wire.instructions, wire.tool-call, wire.thinking: needs wire.developer, which did not pass
    skip wire.history: needs wire.tool-call, which did not pass
    skip wire.namespace: needs wire.history, which did not pass

    --- a small window
    endpoint.window fail
      default: the catalog's window is larger than the server's: a session ends with an error before Codex thinks of compacting
        measured: 131072 tokens in the catalog
        expected: at most the server's 32768
        source: GET http://127.0.0.1:[PORT]/v1/models
        command: codex-ds setup

    --- an old vLLM
    endpoint.kind warn
      http://127.0.0.1:[PORT]/v1 is vLLM 0.24.0, which flattens the names of MCP tools
        measured: 0.24.0
        expected: 0.25.1 or later
        source: http://127.0.0.1:[PORT]/v1: /version
        command: codex-ds setup --mcp none
    wire.instructions warn
      default: they are a turn of the user: the model minds them less
        measured: 23 tokens as developer, 24 as system, 23 as user
        expected: as many tokens as developer as as system
        source: POST http://127.0.0.1:[PORT]/v1/responses, model deepseek-v4-flash-cc
    "#);
}

#[test]
fn what_the_engine_counts_is_judged() {
    let env = profile();
    let mut text = String::new();
    let cases: [(&str, &[(&'static str, f64)]); 7] = [
        ("sound", &[]),
        ("others wait", &[("vllm:num_requests_waiting", 3.0)]),
        ("full", &[("vllm:kv_cache_usage_perc", 0.97)]),
        ("preempted", &[("vllm:num_preemptions_total", 50.0)]),
        (
            "no prefix",
            &[
                ("vllm:prefix_cache_queries_total", 1e6),
                ("vllm:prefix_cache_hits_total", 1e4),
            ],
        ),
        (
            "bad drafts",
            &[
                ("vllm:spec_decode_num_drafts_total", 1e3),
                ("vllm:spec_decode_num_accepted_tokens_total", 1e2),
            ],
        ),
        (
            "slow prefill",
            &[
                ("vllm:request_prefill_time_seconds_sum", 1e4),
                ("vllm:request_prefill_kv_computed_tokens_sum", 1e6),
            ],
        ),
    ];
    for (name, metrics) in cases {
        let config = Config {
            metrics: metrics.to_vec(),
            ..Config::default()
        };
        let server = server(config, obedient());
        go_to(&env, &server.base_url());
        let run = doctor(&env, "engine", &[]);
        let _ = writeln!(text, "--- {name}\n{}", wrong(&run));
    }
    insta::assert_snapshot!(text, @"
    --- sound

    --- others wait
    engine.load warn
      the engine is full: 0 running (our own among them), 6 waiting, KV 0 % in use
        measured: 0 running (our own among them), 6 waiting, KV 0 % in use
        expected: none waiting, and KV below 95 %
        source: http://127.0.0.1:[PORT]/metrics

    --- full
    engine.load warn
      the engine is full: 0 running (our own among them), 0 waiting, KV 97 % in use
        measured: 0 running (our own among them), 0 waiting, KV 97 % in use
        expected: none waiting, and KV below 95 %
        source: http://127.0.0.1:[PORT]/metrics

    --- preempted
    engine.preemptions warn
      requests are thrown out of the KV pool: 100 times in 0 requests since its start
        measured: 100 times in 0 requests since its start
        expected: at most one in a hundred
        source: http://127.0.0.1:[PORT]/metrics

    --- no prefix
    engine.prefix-cache warn
      the prefix cache is seldom hit: 20000 of 2000000 tokens since its start
        measured: 20000 of 2000000 tokens since its start
        expected: a third or more, for agents
        source: http://127.0.0.1:[PORT]/metrics

    --- bad drafts
    engine.speculation warn
      drafts are seldom accepted: 1.10 tokens a step, over 2000 steps
        measured: 1.10 tokens a step, over 2000 steps
        expected: more than 1.5
        source: http://127.0.0.1:[PORT]/metrics

    --- slow prefill
    engine.idle-timeout warn
      a long prompt takes longer than Codex waits: 100 tokens/s of prefill: 2621 s for a window of 262144 tokens; Codex waits 600 s
        measured: 100 tokens/s of prefill: 2621 s for a window of 262144 tokens; Codex waits 600 s
        expected: a wait that is longer than the longest prefill
        source: model_providers.codex-ds.stream_idle_timeout_ms
    ");
}

/// What the doctor says of each address.
fn at_each(env: &TestEnvironment, addresses: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, url) in addresses {
        go_to(env, url);
        let run = doctor(env, CHAIN, &[]);
        let _ = writeln!(text, "--- {name}\n{}", wrong(&run));
    }
    text
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    (listener, address)
}

/// A server that answers whatever comes with these bytes.
fn raw(answer: &'static [u8]) -> SocketAddr {
    let (listener, address) = listen();
    // It ends with the test.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    address
}

#[test]
fn a_port_that_is_closed_or_silent_is_named_and_costs_one_deadline() {
    // Takes connections into its queue, and never looks at them.
    let (_silent, silent) = listen();
    let (_, closed) = listen();
    insta::assert_snapshot!(at_each(&profile(), &[
        ("nothing listens", format!("http://{closed}/v1")),
        ("nothing is said", format!("http://{silent}/v1")),
    ]), @"
    --- nothing listens
    network.port fail
      nothing takes connections at 127.0.0.1:[PORT]: 127.0.0.1:[PORT]: connection refused
        measured: 127.0.0.1:[PORT]: connection refused
        expected: an open port
        source: http://127.0.0.1:[PORT]/v1
    skip network.speaks: needs network.port, which did not pass
    skip endpoint.kind: needs network.speaks, which did not pass
    skip endpoint.health, endpoint.key: needs endpoint.kind, which did not pass
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass

    --- nothing is said
    network.speaks fail
      http://127.0.0.1:[PORT]/v1: the port takes connections and then says nothing
        measured: no byte
        expected: an answer within 4 s
        source: http://127.0.0.1:[PORT]/v1
    skip endpoint.kind: needs network.speaks, which did not pass
    skip endpoint.health, endpoint.key: needs endpoint.kind, which did not pass
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass
    ");
}

#[test]
fn a_port_that_speaks_something_else_is_named() {
    let stand_in = server(Config::router(), vec![]);
    // A TLS server's alert: unexpected message.
    let tls = raw(b"\x15\x03\x03\x00\x02\x02\x0a");
    let mail = raw(b"220 mail ESMTP\r\n");
    insta::assert_snapshot!(at_each(&profile(), &[
        ("TLS to a plain port", format!("https://{}/v1", stand_in.address())),
        ("plain to a TLS port", format!("http://{tls}/v1")),
        ("no HTTP", format!("http://{mail}/v1")),
    ]), @"
    --- TLS to a plain port
    network.speaks fail
      https://127.0.0.1:[PORT]/v1: the port speaks plain HTTP, and the address says https
        measured: plain HTTP
        expected: HTTP with TLS
        source: https://127.0.0.1:[PORT]/v1
        command: codex-ds setup --endpoint http://127.0.0.1:[PORT]/v1
    skip endpoint.kind: needs network.speaks, which did not pass
    skip endpoint.health, endpoint.key: needs endpoint.kind, which did not pass
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass

    --- plain to a TLS port
    network.speaks fail
      http://127.0.0.1:[PORT]/v1: the port speaks TLS, and the address says http
        measured: TLS
        expected: plain HTTP
        source: http://127.0.0.1:[PORT]/v1
        command: codex-ds setup --endpoint https://127.0.0.1:[PORT]/v1
    skip endpoint.kind: needs network.speaks, which did not pass
    skip endpoint.health, endpoint.key: needs endpoint.kind, which did not pass
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass

    --- no HTTP
    network.speaks fail
      http://127.0.0.1:[PORT]/v1: what answers there is no HTTP
        measured: invalid HTTP version parsed
        expected: plain HTTP
        source: http://127.0.0.1:[PORT]/v1
    skip endpoint.kind: needs network.speaks, which did not pass
    skip endpoint.health, endpoint.key: needs endpoint.kind, which did not pass
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass
    ");
}

#[test]
fn a_proxy_that_catches_the_endpoint_is_named() {
    let mut env = profile();
    let stand_in = server(Config::router(), obedient());
    go_to(&env, &stand_in.base_url());
    env.set("HTTP_PROXY", "http://127.0.0.1:9");
    insta::assert_snapshot!(wrong(&doctor(&env, CHAIN, &[])), @r#"
    network.proxy fail
      HTTP_PROXY sends requests for 127.0.0.1 to the proxy 127.0.0.1:[PORT], which is not in that network
        measured: HTTP_PROXY: 127.0.0.1:[PORT]
        expected: 127.0.0.1 in NO_PROXY
        source: this environment, which Codex gets as well
        command: export NO_PROXY="$NO_PROXY,127.0.0.1"
    skip network.name: needs network.proxy, which did not pass
    skip network.port: needs network.name, which did not pass
    skip network.speaks: needs network.port, which did not pass
    skip endpoint.kind: needs network.speaks, which did not pass
    skip endpoint.health, endpoint.key: needs endpoint.kind, which did not pass
    skip endpoint.models, wire.path: needs endpoint.key, which did not pass
    skip endpoint.window: needs endpoint.models, which did not pass
    skip wire.answer: needs wire.path, which did not pass
    "#);
    env.set("NO_PROXY", "127.0.0.1");
    assert_eq!(wrong(&doctor(&env, CHAIN, &[]).success()), "");
}

#[test]
fn a_name_without_an_address_is_named() {
    let env = profile();
    go_to(&env, "http://no-such-host.invalid:4000/v1");
    let run = doctor(&env, "network", &[]);
    let text = wrong(&run);
    assert!(
        text.starts_with("network.name fail\n  the name no-such-host.invalid cannot be resolved"),
        "{text}"
    );
    assert!(
        text.contains("skip network.port: needs network.name"),
        "{text}"
    );
}

#[test]
fn what_would_call_home_is_named() {
    let env = profile();
    let path = env.profile().join("config.toml");
    let config = fs_err::read_to_string(&path).expect("set-up wrote it");
    let config = config.replace("plugins = false", "plugins = true");
    fs_err::write(path, config).expect("the profile is the test's own");
    insta::assert_snapshot!(wrong(&doctor(&env, "network.phones-home", &[])), @"
    network.phones-home warn
      features.plugins is not false: Codex asks github.com, api.github.com, chatgpt.com
        measured: not false
        expected: false
        source: ~/.codex-ds/config.toml
    ");
}

#[test]
fn the_probes_change_nothing_and_cost_little() {
    let env = profile();
    let stand_in = server(Config::router(), obedient());
    go_to(&env, &stand_in.base_url());
    doctor(&env, CHAIN, &[]).success();
    let shallow = spent(&stand_in);
    assert!(shallow <= 2 * 40, "{shallow} tokens");
    doctor(&env, CHAIN, &["--deep", "--profile", "default"]).success();
    let deep = spent(&stand_in) - shallow;
    // Without the prompt that is refused for its length.
    assert!(deep < 1_500, "{deep} tokens");
    let others: Vec<String> = stand_in
        .requests()
        .iter()
        .filter(|request| request.method != "GET" && !request.is_model_request())
        .map(|request| request.path.clone())
        .collect();
    assert_eq!(others, [""; 0]);
}

/// Tokens that were read and made so far.
fn spent(server: &StandIn) -> u64 {
    server
        .plays()
        .iter()
        .map(|play| play.prompt_tokens + play.sent.iter().map(|(_, tokens)| tokens).sum::<u64>())
        .sum()
}
