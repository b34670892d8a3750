//! `codex-ds dump` around the real Codex.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use codex_ds_tests::litellm::MASTER_KEY;
use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::recording::recording;
use codex_ds_tests::scenario::{make_private, router, server, setup, setup_at, shell};
use codex_ds_tests::{LiteLlm, Run, TestEnvironment, each_codex, http};
use codex_ds_wire::Secret;
use codex_ds_wire::standin::{Config, Fault, Turn};
use serde_json::Value;

/// `codex-ds dump OPTIONS -- exec ARGS`.
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

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

fn sessions(env: &TestEnvironment) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs_err::read_dir(env.profile().join("dumps"))
        .expect("the store can be listed")
        .map(|entry| entry.expect("its entries can be read").path())
        .collect();
    files.sort();
    files
}

#[test]
fn a_turn_is_recorded_without_a_server_and_its_parts_sum_up() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let report = json(&dump(env, &["--record", "--json"], &["hi"]).success());
        assert_eq!(server.model_requests().len(), 0);
        let request = &report["requests"][0];
        let parts = request["parts"].as_array().unwrap();
        let sum: u64 = parts
            .iter()
            .map(|part| part["bytes"].as_u64().unwrap())
            .sum();
        let text = fs_err::read_to_string(&sessions(env)[0]).unwrap();
        let sent: Value = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|line| line["type"] == "request")
            .unwrap();
        let length = sent["headers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|header| header[0] == "content-length")
            .unwrap()[1]
            .as_str()
            .unwrap();
        assert_eq!(sum.to_string(), length);
        let names: Vec<&str> = parts
            .iter()
            .map(|part| part["name"].as_str().unwrap())
            .collect();
        for name in [
            "instructions",
            "permissions",
            "environment_context",
            "user",
            "exec_command",
            "write_stdin",
            "client_metadata",
        ] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
    });
}

#[test]
fn a_wrapped_turn_reaches_the_profiles_server_as_without_it() {
    each_codex(|_, env| {
        let server = router(vec![
            shell("echo from-the-command"),
            Turn::text("Done it.").reasoning("Hm."),
        ]);
        setup(env, &server, &[]);
        // An override of the user's own: Codex 0.163.0 drops what stands before the command then.
        let run = dump(env, &["--json"], &["-c", "model_verbosity=\"low\"", "hi"]).success();
        assert!(run.stderr.contains("Done it."), "{run}");
        let report = json(&run);
        let requests = report["requests"].as_array().unwrap();
        let sent = server.model_requests();
        assert_eq!((requests.len(), sent.len()), (2, 2));
        for (request, sent) in requests.iter().zip(&sent) {
            assert_eq!(request["bytes"].as_u64().unwrap(), sent.body.len() as u64);
            assert_eq!(request["end"]["outcome"], "complete");
            assert!(
                request["end"]["tokens"]["input"].as_u64() > Some(0),
                "{request}"
            );
        }
        assert_eq!(requests[0]["calls"][0]["name"], "exec_command");
        assert_eq!(requests[1]["prefix"]["standing"], "extends");
        assert!(requests[1]["timing_us"]["first_reasoning"].is_u64());

        let profile = env.profile().join("dumps");
        let mode = |path: PathBuf| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(profile), 0o700);
        assert_eq!(mode(sessions(env)[0].clone()), 0o600);
        // Nothing of it stays behind in the profile.
        let config = fs_err::read_to_string(env.profile().join("config.toml")).unwrap();
        assert!(config.contains(&server.base_url()));
    });
}

#[test]
fn neither_the_key_nor_what_looks_like_one_is_written() {
    each_codex(|_, env| {
        let config = Config {
            api_key: Some(Secret::new("key-of-the-lab-0123")),
            ..Config::router()
        };
        let secret = "sk-proj-Ab12Cd34Ef56Gh78Ij90";
        let server = server(
            config,
            vec![Turn::text(format!("It is {secret}, key-of-the-lab-0123."))],
        );
        let file = env.write("home/key", "key-of-the-lab-0123\n");
        make_private(&file);
        setup(env, &server, &["--api-key-file", &file.to_string_lossy()]);
        let prompt = format!("remember {secret}");
        let run = dump(env, &[], &[&prompt]).success();
        assert!(
            server.model_requests()[0]
                .header("authorization")
                .unwrap()
                .ends_with("lab-0123")
        );
        let text = fs_err::read_to_string(&sessions(env)[0]).unwrap();
        for secret in ["key-of-the-lab-0123", &secret[8..]] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(
            run.stdout.contains("BREAKS") || run.stdout.contains("first"),
            "{run}"
        );

        // The same test can fail: raw, both are there, and the user is warned.
        let run = dump(env, &["--unsafe-raw"], &[&prompt]).success();
        assert!(run.stderr.contains("warning: --unsafe-raw"), "{run}");
        let text = fs_err::read_to_string(&sessions(env)[1]).unwrap();
        assert!(
            text.contains("key-of-the-lab-0123") && text.contains(secret),
            "{text}"
        );
    });
}

#[test]
fn a_request_over_its_budget_fails_with_the_largest_parts() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let within = dump(env, &["--record", "--max-bytes", "20000"], &["hi"]).success();
        assert!(!within.stderr.contains("--max-bytes"), "{within}");
        let over = dump(env, &["--record", "--max-bytes", "1000"], &["hi"]);
        assert_eq!(over.code, Some(1), "{over}");
        let rows: Vec<&str> = over
            .stderr
            .lines()
            .skip_while(|line| !line.starts_with("error: request 1 has "))
            .collect();
        assert!(rows[0].contains("over --max-bytes 1,000"), "{over}");
        assert!(
            rows[1].contains("system: instructions") && rows[1].contains("/input/0/"),
            "{over}"
        );
        // A check that sees no request has checked nothing.
        let none = env
            .codex_ds(["dump", "--record", "--max-bytes", "9", "--", "--version"])
            .run();
        assert_eq!(none.code, Some(1), "{none}");
        assert!(
            none.stderr.contains("no request for an answer came"),
            "{none}"
        );
    });
}

#[test]
fn what_the_server_does_is_what_codex_sees() {
    each_codex(|_, env| {
        let refused = r#"{"error":{"message":"too long","type":"BadRequestError","code":400}}"#;
        let server = router(vec![Turn::default().fault(Fault::Status {
            code: 400,
            body: Some(refused.to_owned()),
        })]);
        setup(env, &server, &[]);
        let run = dump(env, &[], &["hi"]);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stderr.contains("too long"), "{run}");
        assert!(run.stdout.contains("the server says: too long"), "{run}");
        assert_eq!(server.model_requests().len(), 1);

        // A stream that is cut is cut for Codex too, and tried again by it.
        server.push(Turn::text("Hello.").fault(Fault::Cut { after: 3 }));
        server.push(Turn::text("Hello again."));
        let run = dump(env, &[], &["hi"]).success();
        assert!(run.stdout.contains("Hello again."), "{run}");
        assert!(run.stdout.contains("cut off by the server"), "{run}");
        drop(server);

        let run = dump(env, &[], &["hi"]);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stdout.contains("server not reached"), "{run}");
        assert!(
            run.stderr.contains("no answer from http://127.0.0.1"),
            "{run}"
        );
    });
}

#[test]
fn what_was_recorded_is_listed_shown_compared_and_sent_again() {
    each_codex(|_, env| {
        let server = router(vec![shell("echo one"), Turn::text("Done.")]);
        setup(env, &server, &[]);
        dump(env, &[], &["hi"]).success();
        dump(env, &["--record"], &["ho"]).success();

        let list = json(&env.codex_ds(["dump", "ls", "--json"]).run().success());
        let counts: Vec<u64> = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["requests"].as_u64().unwrap())
            .collect();
        assert_eq!(counts, [1, 2]);
        let older = list["sessions"][1]["session"].as_str().unwrap();
        let at = ["--session", older];

        let tools = env
            .codex_ds([&["dump", "show", "1", "--section", "tools"], &at[..]].concat())
            .run()
            .success();
        assert!(
            tools.stdout.contains("--- exec_command (/tools/0)"),
            "{tools}"
        );

        let diff = env
            .codex_ds([&["dump", "diff", "1", "2"], &at[..]].concat())
            .run();
        assert_eq!(diff.code, Some(1), "{diff}");
        assert!(
            diff.stdout.contains("added function_call_output "),
            "{diff}"
        );
        assert!(!diff.stdout.contains("tool exec_command"), "{diff}");

        server.push(shell("echo one"));
        server.push(shell("echo two"));
        let to = server.base_url();
        let replay = [
            &[
                "dump",
                "replay",
                "1",
                "--json",
                "--n",
                "2",
                "--to",
                &to,
                "--model",
                "deepseek-v4-flash",
            ],
            &at[..],
        ]
        .concat();
        let replay = json(&env.codex_ds(replay).run().success());
        let verdicts: Vec<&str> = replay["answers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|answer| answer["calls_compared"].as_str().unwrap())
            .collect();
        assert_eq!(verdicts, ["same", "same tools, other arguments"]);
        let sent = server.model_requests();
        let (first, again) = (sent[0].json(), sent.last().unwrap().json());
        assert_eq!(again["model"], "deepseek-v4-flash");
        assert_eq!(first["input"], again["input"]);

        let har = json(
            &env.codex_ds([&["dump", "--har"], &at[..]].concat())
                .run()
                .success(),
        );
        assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 2);
        assert!(
            !har["log"]["entries"][0]["response"]["_events"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        let curl = env
            .codex_ds([&["dump", "--curl", "1"], &at[..]].concat())
            .run()
            .success();
        assert!(curl.stdout.contains("/v1/responses"), "{curl}");
    });
}

#[test]
fn another_provider_is_no_silent_nothing() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let other = format!(
            "model_providers.x={{name=\"x\",base_url=\"{}\"}}",
            server.base_url()
        );
        let past = ["-c", "model_provider=\"x\"", "-c", &other, "hi"];
        let run = dump(env, &[], &past).success();
        assert!(run.stdout.contains("no request was recorded"), "{run}");
        let run = dump(env, &["--max-bytes", "99999"], &past);
        assert_eq!(run.code, Some(1), "{run}");
        assert_eq!(server.model_requests().len(), 2);
    });
}

#[test]
fn wrong_usage_says_what_to_do() {
    let env = TestEnvironment::new();
    for (args, says) in [
        (&["dump", "show"][..], "there is no recorded session"),
        (&["dump", "--curl", "1"], "there is no recorded session"),
        (&["dump", "--bind", "0.0.0.0"], "--allow-remote"),
        (&["dump", "--upstream", "ftp://x"], "the scheme is ftp"),
        (&["dump", "--follow", "--", "resume"], "dump show --follow"),
        (&["dump", "--", "exec", "hi"], "codex-ds setup --endpoint"),
    ] {
        let run = env.codex_ds(args).run();
        assert!(matches!(run.code, Some(2 | 3)), "{run}");
        assert!(run.stderr.contains(says), "{run}");
        assert!(run.stderr.contains("hint: "), "{run}");
    }
}

#[test]
fn a_vllm_counts_the_tokens_and_says_what_it_had_cached() {
    each_codex(|_, env| {
        let mut config = Config::default();
        config
            .models
            .retain(|model| model.id == "deepseek-v4-flash");
        let server = server(config, vec![shell("echo one"), Turn::text("Done.")]);
        setup(env, &server, &[]);
        let run = dump(env, &[], &["hi"]).success();
        assert!(
            run.stdout.contains(" counted by /tokenize; usage says "),
            "{run}"
        );
        assert!(!run.stdout.contains('~'), "{run}");
        let sessions = json(&env.codex_ds(["dump", "show", "--json"]).run().success());
        let second = &sessions["requests"][1];
        assert_eq!(second["prefix"]["standing"], "extends");
        let cached = second["cached_tokens"].as_u64().unwrap();
        let input = second["end"]["tokens"]["input"].as_u64().unwrap();
        assert!(cached > 0 && cached < input, "{second}");
    });
}

#[test]
fn what_was_recorded_survives_a_kill_and_its_torn_end() {
    let env = TestEnvironment::new();
    let (mut dump, address) = recording(&env, &[]);
    let answer = http::post(&address, "/v1/responses", "", b"{}");
    assert!(answer.contains("response.completed"), "{answer}");
    // The line of the request's end is the sign that it is written.
    dump.line("2 bytes");
    // Kills it at once.
    drop(dump);
    let file = sessions(&env).remove(0);
    let mut text = fs_err::read_to_string(&file).unwrap();
    text.push_str("{\"type\":\"request\",\"n\":2,\"at");
    fs_err::write(&file, text).unwrap();
    let run = env.codex_ds(["dump", "show"]).run().success();
    assert!(
        run.stdout.contains("request 1: POST /v1/responses"),
        "{run}"
    );
    assert!(run.stdout.contains("1 lines could not be read"), "{run}");
}

#[test]
fn the_two_routes_of_a_real_router_are_compared() {
    let vllm = server(Config::default(), vec![]);
    let router = LiteLlm::start(&vllm.base_url());
    let version = CodexVersion::all().next().expect("there is one");
    let env = TestEnvironment::with_codex(version);
    let key = env.write("home/key", MASTER_KEY);
    make_private(&key);
    let key = key.to_string_lossy();
    let profile = ["--mcp", "none", "--api-key-file", &key];
    setup_at(&env, router.base_url(), &profile);
    vllm.push(shell("echo one"));
    vllm.push(Turn::text("Done."));
    dump(&env, &[], &["hi"]).success();

    let replay = |model: &str, with_key: bool| {
        let args = ["dump", "replay", "1", "--json", "--n", "2", "--to"];
        let more = [router.base_url(), "--model", model];
        let mut command = env.codex_ds(args.iter().chain(&more));
        if with_key {
            command = command
                .arg("--api-key-env")
                .arg("LAB_KEY")
                .env("LAB_KEY", MASTER_KEY);
        }
        command.run()
    };
    for (model, path) in [
        ("deepseek-v4-flash-cc", "/v1/chat/completions"),
        ("deepseek-v4-flash", "/v1/responses"),
    ] {
        let before = vllm.model_requests().len();
        vllm.push(shell("echo one"));
        vllm.push(shell("echo two"));
        let report = json(&replay(model, true).success());
        let answers = report["answers"].as_array().unwrap();
        let of = |key: &str| -> Vec<&Value> { answers.iter().map(|answer| &answer[key]).collect() };
        assert_eq!(
            of("calls_compared"),
            ["same", "same tools, other arguments"],
            "{model}"
        );
        assert_eq!(of("complete"), [true, true]);
        for answer in answers {
            assert!(answer["input_tokens"].as_u64() > Some(100), "{answer}");
            assert!(
                answer["first_token_us"].as_u64() <= answer["end_us"].as_u64(),
                "{answer}"
            );
        }
        let asked = &vllm.model_requests()[before..];
        assert!(asked.iter().all(|request| request.path == path), "{model}");
        assert_eq!(asked.len(), 2);
    }
    // The key is not in the record: without one the router refuses, and that is no success.
    let refused = replay("deepseek-v4-flash", false);
    assert_eq!(refused.code, Some(1), "{refused}");
    let answer = &json(&refused)["answers"][0];
    assert!(answer["status"].as_u64() >= Some(400), "{answer}");
    assert_eq!(answer["complete"], false);
}
