//! `codex-ds bench` against a stand-in whose own record of what it sent is the truth.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{self, setup};
use codex_ds_tests::{Run, TestEnvironment};
use codex_ds_wire::standin::{Config, Play, StandIn, Turn};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// How far a figure may be from what was played.
const TOLERANCE: f64 = 0.02;

/// A model that reads and writes at these paces, and thinks first where it may.
fn model(prefill: f64, decode: f64, bundle: u64) -> Turn {
    Turn::text("word".repeat(20_000))
        .reasoning("hm, ".repeat(20))
        .prefill_tokens_per_second(prefill)
        .tokens_per_second(decode)
        .tokens_per_chunk(bundle)
        .stays()
}

fn server(turn: Turn) -> StandIn {
    scenario::server(Config::default(), vec![turn])
}

fn bench(env: &TestEnvironment, server: &StandIn, more: &[&str]) -> Run {
    let url = server.base_url();
    let args = ["bench", "--endpoint", &url];
    env.codex_ds(args.iter().chain(more)).run()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

#[expect(clippy::cast_precision_loss, reason = "no test plays 2^52 tokens")]
fn number(value: u64) -> f64 {
    value as f64
}

/// The figures of one run as they were played: the definitions of `docs/bench.md`, over the
/// stand-in's own times.
struct Played {
    prefill: f64,
    decode: f64,
    decode_each: f64,
    output: f64,
    ttfr_ms: f64,
    ttft_ms: f64,
}

impl Played {
    fn of(plays: &[Play]) -> Self {
        let n = number(plays.len() as u64);
        let origin = plays
            .iter()
            .map(|play| play.arrived)
            .min()
            .expect("what the stand-in and the program make");
        let at = |time: std::time::Instant| (time - origin).as_secs_f64();
        let tokens = |play: &Play| -> Vec<(f64, f64)> {
            let sent = play.sent.iter().filter(|(_, tokens)| *tokens > 0);
            sent.map(|(time, tokens)| (at(*time), number(*tokens)))
                .collect()
        };
        let sum = |value: &dyn Fn(&Play) -> f64| plays.iter().map(value).sum::<f64>();
        let max = |value: &dyn Fn(&Play) -> f64| plays.iter().map(value).fold(f64::MIN, f64::max);
        let min = |value: &dyn Fn(&Play) -> f64| plays.iter().map(value).fold(f64::MAX, f64::min);
        let first = |play: &Play| tokens(play)[0].0;
        let last = |play: &Play| {
            tokens(play)
                .last()
                .expect("what the stand-in and the program make")
                .0
        };
        let after = |play: &Play| tokens(play).iter().skip(1).map(|t| t.1).sum::<f64>();
        let prompt = |play: &Play| number(play.prompt_tokens);
        let response = |play: &Play| at(play.sent[0].0) - at(play.arrived);
        Self {
            prefill: if plays.len() == 1 {
                prompt(&plays[0]) / response(&plays[0])
            } else {
                sum(&prompt) / max(&first)
            },
            decode: sum(&after) / (max(&last) - min(&first)),
            decode_each: sum(&|play| after(play) / (last(play) - first(play))) / n,
            output: sum(&|play| tokens(play).iter().map(|t| t.1).sum()) / max(&last),
            ttfr_ms: sum(&response) / n * 1e3,
            ttft_ms: sum(&|play| first(play) - at(play.arrived)) / n * 1e3,
        }
    }
}

/// How far the nearest run of a row is from what was played in it. A loaded machine may hold a
/// run up between sending and reading; a wrong definition is off in all of them.
fn off(row: &Value, figure: &str, played: &[f64]) -> f64 {
    let measured = row[figure]["values"]
        .as_array()
        .expect("what the stand-in and the program make");
    assert_eq!(measured.len(), played.len(), "{figure}");
    measured
        .iter()
        .zip(played)
        .map(|(measured, played)| {
            (measured
                .as_f64()
                .expect("what the stand-in and the program make")
                / played
                - 1.0)
                .abs()
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn every_figure_is_within_two_percent_of_what_was_played() {
    const SHAPES: [(&str, usize); 3] = [
        ("pp1024 tg128", 1),
        ("pp512 tg128 @ d512 think", 1),
        ("pp1024 tg128 c4", 4),
    ];
    let env = TestEnvironment::new();
    let server = server(model(1000.0, 64.0, 4));
    let mut args = vec!["--json", "--runs", "2"];
    args.extend(SHAPES.iter().flat_map(|(shape, _)| ["--shape", shape]));
    let result = json(&bench(&env, &server, &args).success());
    assert_eq!(result["schema_version"], 1);

    // Each shape: a warm-up and two runs, and nothing else was asked of the model.
    let plays = server.plays();
    let streams: usize = SHAPES.iter().map(|(_, streams)| 3 * streams).sum();
    assert_eq!(plays.len(), streams);
    // Every prompt has its exact length, and none was known.
    for play in &plays {
        assert_eq!((play.prompt_tokens, play.cached_tokens), (1024, 0));
    }
    let mut rest = plays.as_slice();
    for (row, (shape, streams)) in result["rows"].as_array().unwrap().iter().zip(SHAPES) {
        assert_eq!(row["test"], shape);
        let (all, after) = rest.split_at(3 * streams);
        rest = after;
        assert!(
            all[0]
                .id
                .as_deref()
                .unwrap()
                .starts_with("codex-ds-bench-warm-up-")
        );
        let played: Vec<Played> = all[streams..].chunks(streams).map(Played::of).collect();
        for (figure, read) in [
            ("prefill", (|p| p.prefill) as fn(&Played) -> f64),
            ("decode", |p| p.decode),
            ("decode_each", |p| p.decode_each),
            ("output", |p| p.output),
            ("ttfr_ms", |p| p.ttfr_ms),
            ("ttft_ms", |p| p.ttft_ms),
        ] {
            let played: Vec<f64> = played.iter().map(read).collect();
            let off = off(row, figure, &played);
            assert!(
                off < TOLERANCE,
                "{shape}: {figure} is off by {off:.3}\n{row:#}"
            );
        }
        let mean = |figure: &str| row[figure]["mean"].as_f64().unwrap();
        assert_eq!(
            (mean("prompt_tokens"), mean("completion_tokens")),
            (1024.0, 128.0)
        );
        assert!((mean("acceptance_length") - 4.0).abs() < 0.01, "{row:#}");
        assert_eq!(row["prefix_hit_rate"], 0.0);
        assert_eq!(row["attempts"].as_array().unwrap().len(), 2);
    }
    // Thinking is off unless the shape says so.
    for request in server.model_requests() {
        let body = request.json();
        let thinks = body["chat_template_kwargs"]["thinking"].as_bool().unwrap();
        assert_eq!(thinks, body["messages"][0]["role"] == "system");
    }
}

/// Another client: asks, and reads the answer to its end.
fn ask_as_another(server: &StandIn, body: &Value) {
    let mut stream =
        TcpStream::connect(server.address()).expect("what the stand-in and the program make");
    let body = body.to_string();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("what the stand-in and the program make");
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .expect("what the stand-in and the program make");
}

#[test]
fn a_run_that_another_client_spoiled_is_marked_and_repeated() {
    let env = TestEnvironment::new();
    let server = server(model(10_000.0, 100.0, 1));
    let args = ["--shape", "pp64 tg60", "--runs", "2", "--json"];
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| bench(&env, &server, &args));
        // The second request is the first one that counts.
        assert!(server.wait_for(2, Duration::from_secs(60)));
        let other = json!({
            "model": "deepseek-v4-flash", "max_tokens": 100, "stream": true,
            "messages": [{"role": "user", "content": "somebody else"}],
        });
        ask_as_another(&server, &other);
        json(&run.join().unwrap().success())
    });
    let row = &result["rows"][0];
    let attempts = row["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "{row:#}");
    let why = attempts[0]["spoiled"].as_str().unwrap();
    assert!(why.contains("of others"), "{why}");
    assert!(
        attempts[1]["spoiled"].is_null() && attempts[2]["spoiled"].is_null(),
        "{row:#}"
    );
    assert_eq!(row["spoiled"], false);
    assert_eq!(row["decode"]["values"].as_array().unwrap().len(), 2);
}

#[test]
fn a_later_result_is_compared_with_an_earlier_one() {
    let env = TestEnvironment::new();
    let shape = ["--shape", "pp64 tg40"];
    let file = env.work().join("before.json");
    let file = file.to_str().unwrap();
    let fast = server(model(2000.0, 200.0, 1));
    bench(&env, &fast, &[&shape[..], &["--save", file]].concat()).success();

    let slow = server(model(2000.0, 100.0, 1));
    let run = bench(
        &env,
        &slow,
        &[&shape[..], &["--compare", file, "--json"]].concat(),
    );
    assert_eq!(run.code, Some(1), "{run}");
    let changes = json(&run)["comparison"]["changes"].clone();
    let decode = changes
        .as_array()
        .unwrap()
        .iter()
        .find(|change| change["figure"] == "decode t/s")
        .unwrap()
        .clone();
    assert_eq!(decode["verdict"], "worse", "{decode}");
    assert!(
        (decode["change"].as_f64().unwrap() + 0.5).abs() < 0.1,
        "{decode}"
    );

    let faster = server(model(8000.0, 400.0, 1));
    let run = bench(&env, &faster, &[&shape[..], &["--compare", file]].concat()).success();
    let row = run
        .stdout
        .lines()
        .rfind(|line| line.contains("decode t/s "))
        .unwrap();
    assert!(row.ends_with("better"), "{run}");

    let wrong = env.write("work/no.json", "{}");
    let run = bench(&env, &fast, &["--compare", wrong.to_str().unwrap()]);
    assert_snapshot!(run, @"
    ------- stderr -------
    error: --compare [WORK]/no.json: schema_version is null; this codex-ds knows 1; expected a result of codex-ds bench
    hint: write one with codex-ds bench --save FILE
    [exit status: 2]
    ");
}

#[test]
fn what_the_router_costs_is_told_as_a_ratio() {
    let env = TestEnvironment::new();
    let router = scenario::server(
        Config::router(),
        vec![model(10_000.0, 200.0, 1).delay_ms(150)],
    );
    let native = server(model(10_000.0, 200.0, 1));
    let native_url = native.base_url();
    let svg = env.work().join("plot.svg");
    let args = [
        "--native-endpoint",
        &native_url,
        "--route",
        "both",
        "--pp",
        "64",
        "--tg",
        "40",
        "--depth",
        "0",
        "--thinking",
        "off",
        "--concurrency",
        "1,2",
        "--runs",
        "2",
        "--json",
        "--svg",
        svg.to_str().unwrap(),
    ];
    let result = json(&bench(&env, &router, &args).success());
    assert_eq!(result["rows"].as_array().unwrap().len(), 4);
    let cost = &result["router_cost"][0];
    assert_eq!(cost["test"], "pp64 tg40");
    assert!(cost["ttft_added_ms"].as_f64().unwrap() > 100.0, "{cost}");
    assert!(cost["ttft_ratio"].as_f64().unwrap() > 2.0, "{cost}");
    assert!(
        (cost["decode_ratio"].as_f64().unwrap() - 1.0).abs() < 0.2,
        "{cost}"
    );
    // The counters are the engine's, which the router has not.
    assert_eq!(result["counters"], format!("{}/metrics", native.root_url()));
    // The router's model is asked of the router, the engine's of the engine.
    let models = |server: &StandIn| server.model_requests()[0].json()["model"].clone();
    assert_eq!(models(&router), "deepseek-v4-flash-cc");
    assert_eq!(models(&native), "deepseek-v4-flash");
    let svg = fs_err::read_to_string(svg).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 4, "{svg}");
}

#[test]
fn the_profile_names_the_endpoint_the_key_and_the_model() {
    let env = TestEnvironment::with_codex(CodexVersion::all().last().unwrap());
    let key = env.write("home/key", "sk-of-the-lab\n");
    scenario::make_private(&key);
    let config = Config {
        api_key: Some("sk-of-the-lab".to_owned().into()),
        ..Config::default()
    };
    let server = scenario::server(config, vec![model(10_000.0, 400.0, 1)]);
    setup(
        &env,
        &server,
        &[
            "--api-key-file",
            key.to_str().unwrap(),
            "--model",
            "deepseek-v4-flash",
        ],
    );
    let args = ["bench", "--shape", "pp64 tg20", "--runs", "1", "--json"];
    let run = env.codex_ds(args).run().success();
    let result = json(&run);
    assert_eq!(result["routes"][0]["model"], "deepseek-v4-flash");
    assert!(!run.stdout.contains("sk-of") && !run.stderr.contains("sk-of"));
}

#[test]
fn what_cannot_be_measured_is_said() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.codex_ds(["bench"]).run(), @"
    ------- stderr -------
    error: no endpoint: there is no profile in [PROFILE]
    hint: name one: --endpoint http://HOST:PORT/v1
    hint: or write a profile first: codex-ds setup --endpoint URL
    [exit status: 3]
    ");
    let vllm = server(model(10_000.0, 400.0, 1));
    for (args, expected) in [
        (&["--shape", "pp2048 x4"][..], "\"x4\" in a shape"),
        (&["--route", "both"], "is the engine itself"),
        (
            &["--shape", "pp300000 tg1"],
            "no shape fits into the server's window",
        ),
        (
            &["--metrics", "http://127.0.0.1:9/metrics"],
            "no counters of a vLLM there",
        ),
    ] {
        let run = bench(&env, &vllm, args);
        assert!(run.stderr.contains(expected), "{run}");
        assert_ne!(run.code, Some(0));
    }
    assert_eq!(vllm.model_requests().len(), 0);
    let router = scenario::router(vec![]);
    let run = bench(&env, &router, &["--route", "native"]);
    assert!(
        run.stderr.contains("--native-endpoint http://HOST:8000/v1"),
        "{run}"
    );

    let refusing = server(
        Turn::text("x")
            .stays()
            .fault(codex_ds_wire::standin::Fault::Status {
                code: 400,
                body: Some(
                    json!({"error": {"message": "Unsupported parameter: min_tokens"}}).to_string(),
                ),
            }),
    );
    let run = bench(&env, &refusing, &["--shape", "pp64 tg20"]);
    assert_snapshot!(run, @"
    ------- stderr -------
    error: pp64 tg20 through http://127.0.0.1:[PORT]/v1: HTTP 400: Unsupported parameter: min_tokens
    hint: the server has to know min_tokens, ignore_eos and chat_template_kwargs, as vLLM and SGLang do
    [exit status: 1]
    ");
}

/// The same stand-in, measured by others. `LLAMA_BENCHY` names the program, else it is on PATH.
#[test]
#[ignore = "needs llama-benchy (Python 3.12): make test-benchy"]
fn llama_benchy_finds_the_same() {
    let env = TestEnvironment::new();
    let benchy = std::env::var("LLAMA_BENCHY").unwrap_or_else(|_| "llama-benchy".to_owned());
    for bundle in [1, 4] {
        let server = server(model(2000.0, 50.0, bundle));
        let ours = json(
            &bench(
                &env,
                &server,
                &[
                    "--pp",
                    "2048",
                    "--tg",
                    "128",
                    "--depth",
                    "0,2048",
                    "--concurrency",
                    "1,4",
                    "--thinking",
                    "off",
                    "--json",
                ],
            )
            .success(),
        );
        let theirs = run_benchy(&env, &benchy, &server);
        for row in ours["rows"].as_array().unwrap() {
            let shape = &row["shape"];
            let twin = theirs["benchmarks"]
                .as_array()
                .unwrap()
                .iter()
                .find(|other| {
                    other["context_size"] == shape["depth"]
                        && other["concurrency"] == shape["concurrency"]
                });
            let Some(twin) = twin else { continue };
            for (ours, theirs) in [
                ("prefill", "pp_throughput"),
                ("decode", "tg_throughput"),
                ("decode_each", "tg_req_throughput"),
                ("ttfr_ms", "ttfr"),
                ("ttft_ms", "e2e_ttft"),
            ] {
                let (a, b) = (
                    row[ours]["mean"].as_f64().unwrap(),
                    twin[theirs]["mean"].as_f64().unwrap(),
                );
                println!(
                    "bundle {bundle}, {}: {ours} {a:.2}, llama-benchy {b:.2} ({:+.1}%)",
                    row["test"],
                    (a / b - 1.0) * 100.0
                );
                // It takes the first event for one token, however many that brings.
                let first = f64::from(u8::try_from(bundle).unwrap());
                let b = if ours.starts_with("decode") {
                    b * (128.0 - first) / 127.0
                } else {
                    b
                };
                assert!((a / b - 1.0).abs() < 0.03, "{ours}: {a} {b}");
            }
        }
    }
}

/// Its result. It counts with a tokenizer of its own, for which words of the stand-in's length of a
/// token stand here, and takes its text from a cache that it would fill from the network.
fn run_benchy(env: &TestEnvironment, program: &str, server: &StandIn) -> Value {
    let words: Vec<String> = (0..4096)
        .map(|n| format!("{}{}{}", letter(n >> 8), letter(n >> 4), letter(n)))
        .collect();
    let vocabulary: serde_json::Map<String, Value> = words
        .iter()
        .enumerate()
        .map(|(id, word)| (word.clone(), json!(id + 1)))
        .chain([("[UNK]".to_owned(), json!(0))])
        .collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    });
    let tokenizer = env.write("work/tokenizer.json", &tokenizer.to_string());
    // Without a period, or two of its random starts would be the same to the prefix cache.
    let mut state = 1_u64;
    let text: Vec<&str> = (0..60_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let word = usize::try_from(state >> 52).expect("twelve bits");
            words[word].as_str()
        })
        .collect();
    // The MD5 of the text's address, which is "local" here, names it in the cache.
    let cached = "home/.cache/llama-benchy/f5ddaf0ca7929578b408c909429f68f2.txt";
    env.write(cached, &text.join(" "));
    let out = env.work().join("benchy.json");
    let url = server.base_url();
    let folder = Path::new(program)
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    env.program(
        program,
        [
            "--base-url",
            &url,
            "--api-key",
            "none",
            "--model",
            "deepseek-v4-flash",
            "--tokenizer",
            tokenizer
                .to_str()
                .expect("what the stand-in and the program make"),
            "--book-url",
            "local",
            "--pp",
            "2048",
            "--tg",
            "128",
            "--depth",
            "0",
            "2048",
            "--concurrency",
            "1",
            "4",
            "--runs",
            "3",
            "--exact-tg",
            "--no-cache",
            "--skip-coherence",
            "--extra-body",
            "temperature=0",
            "--format",
            "json",
            "--save-result",
            out.to_str()
                .expect("what the stand-in and the program make"),
        ],
    )
    .env("PATH", path)
    .run()
    .success();
    let text = fs_err::read_to_string(out).expect("what the stand-in and the program make");
    serde_json::from_str(&text).expect("what the stand-in and the program make")
}

fn letter(n: usize) -> char {
    char::from(b'a' + u8::try_from(n % 16).expect("what the stand-in and the program make"))
}
