//! `codex-ds dump` and what goes wrong around it: each with its own clear outcome.

use std::io::Write as _;

use codex_ds_tests::recording::{Background, recording};
use codex_ds_tests::scenario::{exec, router, setup};
use codex_ds_tests::{Run, TestEnvironment, each_codex, http};
use codex_ds_wire::standin::{Fault, Turn};

fn dump(env: &TestEnvironment, options: &[&str], exec: &[&str]) -> Run {
    let args = [
        &["dump"],
        options,
        &["--", "exec", "--skip-git-repo-check"],
        exec,
    ]
    .concat();
    env.codex_ds(args).run()
}

#[test]
fn recording_never_makes_codex_ask_twice() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        exec(env, &["hi"]).success();
        let requests = server.model_requests().len();
        // One that compacts first what came before it, a plain one, and one that wants a WebSocket.
        let compacting = "model_auto_compact_token_limit=1";
        let websocket = "model_providers.codex-ds.supports_websockets=true";
        for (args, asked) in [
            (
                &["-c", compacting, "resume", "--last", "go on"][..],
                &["POST /v1/responses", "POST /v1/responses"][..],
            ),
            (&["hi"], &["POST /v1/responses"]),
            (
                &["-c", websocket, "hi"],
                &["GET /v1/responses", "POST /v1/responses"],
            ),
        ] {
            let run = dump(env, &["--record"], args).success();
            let complaints = ["Reconnecting", "retry", "stream disconnected"];
            assert!(
                !complaints.iter().any(|word| run.stderr.contains(word)),
                "{run}"
            );
            assert!(run.stderr.contains("no model was asked"), "{run}");
            let har = env.codex_ds(["dump", "--har"]).run().success();
            let har: serde_json::Value = serde_json::from_str(&har.stdout).unwrap();
            let sent: Vec<String> = har["log"]["entries"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| {
                    let url = entry["request"]["url"].as_str().unwrap();
                    let path = url.split(":8000").nth(1).unwrap();
                    format!("{} {path}", entry["request"]["method"].as_str().unwrap())
                })
                .collect();
            assert_eq!(sent, asked, "{args:?}");
        }
        assert_eq!(server.model_requests().len(), requests);
    });
}

#[test]
fn what_other_clients_ask_is_answered_in_its_form() {
    let env = TestEnvironment::new();
    let (dump, address) = recording(&env, &[]);
    let models = http::get(&address, "/v1/models");
    assert!(
        models.starts_with("HTTP/1.1 200 ") && models.ends_with(r#"{"object":"list","data":[]}"#),
        "{models}"
    );
    for (path, ends) in [
        ("/v1/responses", r#""status":"completed""#),
        ("/v1/chat/completions", r#""finish_reason":"stop""#),
        ("/v1/messages", r#""stop_reason":"end_turn""#),
    ] {
        let answer = http::post(&address, path, "", br#"{"model":"m","stream":false}"#);
        assert!(
            answer.contains("content-type: application/json"),
            "{answer}"
        );
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            serde_json::from_str::<serde_json::Value>(body).is_ok(),
            "{answer}"
        );
        assert!(body.contains(ends), "{answer}");
        let answer = http::post(&address, path, "", br#"{"model":"m","stream":true}"#);
        assert!(
            answer.contains("content-type: text/event-stream"),
            "{answer}"
        );
    }
    assert_eq!(dump.interrupt().code, Some(0));
}

#[test]
fn a_server_that_fails_or_hangs_is_recorded_as_such() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let once = [
            "-c",
            "model_providers.codex-ds.request_max_retries=0",
            "-c",
            "model_providers.codex-ds.stream_max_retries=0",
            "-c",
            "model_providers.codex-ds.stream_idle_timeout_ms=300",
            "hi",
        ];
        for (fault, says) in [
            (
                Fault::Status {
                    code: 503,
                    body: Some("the GPU is gone".to_owned()),
                },
                "the GPU is gone",
            ),
            (
                Fault::Status {
                    code: 404,
                    body: None,
                },
                "404",
            ),
            (
                Fault::Html200,
                "the stream ended without its last event|complete",
            ),
            (Fault::Cut { after: 2 }, "cut off by the server"),
            (Fault::Stall { after: 2 }, "client gone"),
        ] {
            server.push(Turn::text("one two three").fault(fault.clone()));
            let run = dump(env, &[], &once);
            assert_eq!(run.code, Some(1), "{fault:?}: {run}");
            assert!(
                says.split('|').any(|says| run.stdout.contains(says)),
                "{fault:?}: {run}"
            );
        }
    });
}

#[test]
fn a_store_that_cannot_be_written_is_named_before_anything_runs() {
    let env = TestEnvironment::new();
    let file = env.write("file", "");
    for store in [file.clone(), file.join("below"), "/proc/dumps".into()] {
        let store = store.to_string_lossy();
        let run = env.codex_ds(["dump", "--store", &store]).run();
        assert_eq!(run.code, Some(1), "{run}");
        assert!(
            run.stderr.contains(&format!("error: cannot make {store}")),
            "{run}"
        );
        assert!(
            run.stderr
                .contains("hint: name a folder that you can write to: --store DIR"),
            "{run}"
        );
    }
}

/// With a limit on the size of its files a program gets errors as on a full disk.
#[test]
fn a_full_disk_costs_the_record_and_says_so() {
    let env = TestEnvironment::new();
    let program = codex_ds_tests::peers::codex_ds();
    // The signal that comes with the error is ignored, as `trap` hands it on.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" dump";
    let script = ["-c".as_ref(), script.as_ref(), program.as_os_str()];
    let mut dump = Background::start(env.program("bash", script).into_command());
    let line = dump.line("listening on http://");
    let address = line.split(['/', '/']).nth(2).unwrap().to_owned();
    let body = format!(r#"{{"input":"{}"}}"#, "a".repeat(3000));
    for _ in 0..10 {
        let answer = http::post(&address, "/v1/responses", "", body.as_bytes());
        assert!(answer.contains("response.completed"), "{answer}");
    }
    dump.line("warning: the record has a hole: the disk refuses it: File too large");
    let ended = dump.interrupt();
    assert_eq!(
        ended.stderr.matches("the record has a hole").count(),
        1,
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = env.codex_ds(["dump", "show"]).run().success();
    assert!(
        shown.stdout.contains("1 lines could not be read"),
        "{shown}"
    );
    assert!(
        shown.stdout.contains("request 1: POST /v1/responses"),
        "{shown}"
    );
}

#[test]
fn sessions_of_a_newer_version_are_refused_and_the_others_are_there() {
    let env = TestEnvironment::new();
    let header = |version: u32| {
        format!(
            r#"{{"type":"session","schema_version":{version},"started_ms":1,"upstream":null,"redacted":true}}"#
        ) + "\n"
    };
    let folder = "home/.codex-ds/dumps";
    env.write(format!("{folder}/2026-01-01T00-00-00Z.jsonl"), &header(1));
    env.write(format!("{folder}/2026-01-02T00-00-00Z.jsonl"), &header(9));
    env.write(
        format!("{folder}/2026-01-03T00-00-00Z.jsonl"),
        "no session\n",
    );
    let list = env.codex_ds(["dump", "ls"]).run().success();
    assert!(list.stdout.contains("2026-01-01T00-00-00Z"), "{list}");
    assert!(list.stderr.contains("schema_version is 9"), "{list}");
    assert!(list.stderr.contains("is no recorded session"), "{list}");
    for command in [
        &["show"][..],
        &["show", "--follow"],
        &["diff", "1", "2"],
        &["replay", "1", "--to", "http://127.0.0.1:9/v1"],
    ] {
        let args = [&["dump"], command, &["--session", "2026-01-02"]].concat();
        let run = env.codex_ds(args).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(
            run.stderr
                .contains("newer codex-ds: its schema_version is 9, this one reads up to 1"),
            "{run}"
        );
        assert!(run.stderr.contains("hint: update codex-ds"), "{run}");
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let env = TestEnvironment::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (args, says) in [
        (&["--session", "x"][..], "--har|--curl"),
        (
            &["--har", "--session", "x", "--", "exec"],
            "cannot be used with",
        ),
        (
            &["--record", "--upstream", "http://127.0.0.1:9/v1"],
            "cannot be used with",
        ),
        (&["--port", &port], "is taken by another program"),
        (&["--bind", "0.0.0.0"], "--allow-remote"),
        (&["--bind", "::"], "--allow-remote"),
        (&["--max-bytes", "many"], "invalid value 'many'"),
    ] {
        let run = env.codex_ds([&["dump"], args].concat()).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(says), "{says}: {run}");
        assert_eq!(run.stdout, "", "{run}");
    }
    assert!(!env.profile().exists(), "nothing was recorded");
}

#[test]
fn bodies_of_every_kind_pass_and_are_kept_as_far_as_they_are_text() {
    let server = router(vec![]);
    let env = TestEnvironment::new();
    let (mut dump, address) = recording(&env, &["--upstream", &server.base_url()]);
    let mut gzip = std::process::Command::new("gzip")
        .arg("--stdout")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let plain = br#"{"model":"deepseek-v4-flash","input":"hello"}"#;
    gzip.stdin.take().unwrap().write_all(plain).unwrap();
    let zipped = gzip.wait_with_output().unwrap().stdout;
    let bodies: [(&str, &[u8], Option<&str>); 4] = [
        ("", b"no JSON at all", Some("no JSON at all")),
        ("", b"\xff\xfe\x00", None),
        (
            "content-encoding: gzip\r\n",
            &zipped,
            Some(std::str::from_utf8(plain).unwrap()),
        ),
        ("content-encoding: zstd\r\n", b"no zstd", None),
    ];
    for (header, body, _) in bodies {
        let answer = http::post(&address, "/v1/responses", header, body);
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
        dump.line(" bytes");
    }
    let sent: Vec<Vec<u8>> = server
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.body.clone())
        .collect();
    for (index, (_, body, kept)) in bodies.iter().enumerate() {
        assert_eq!(&sent[index], body, "it arrives as it was sent");
        let n = (index + 1).to_string();
        let shown = env.codex_ds(["dump", "show", &n]).run().success();
        assert!(
            shown
                .stdout
                .contains(&format!("request {n}: POST /v1/responses")),
            "{shown}"
        );
        assert_eq!(shown.stdout.contains("note: "), kept.is_none(), "{shown}");
    }
    let har = env.codex_ds(["dump", "--har"]).run().success();
    let har: serde_json::Value = serde_json::from_str(&har.stdout).unwrap();
    for (index, (.., kept)) in bodies.iter().enumerate() {
        let text = &har["log"]["entries"][index]["request"]["postData"]["text"];
        assert_eq!(text.as_str(), Some(kept.unwrap_or_default()));
    }
    assert_eq!(dump.interrupt().code, Some(0));
}
