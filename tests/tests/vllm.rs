//! Against the real vLLM: what only its tokenizer and parsers can tell. Opt-in, since it takes 4 GB
//! of memory and a minute to start.

use codex_ds_tests::litellm::MASTER_KEY;
use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{
    doctor_of_the_chain, exec, input_tokens, make_private, plain_home, setup_at, wrong_checks,
};
use codex_ds_tests::{LiteLlm, TestEnvironment, Vllm, each_codex};
use serde_json::Value;

/// The most that a "hello" may cost without MCP servers, in the model's own tokens.
const MOST_TOKENS: u64 = 2_400;

/// The model runs a command, in DeepSeek V4's markup.
const PATCH: &str = "I will patch it.</think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"exec_command\">\n<｜DSML｜parameter name=\"cmd\" string=\"true\">apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nPATCH</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>";

#[test]
#[ignore = "needs the vLLM peer: make test-vllm"]
fn a_hello_costs_few_tokens_and_a_patch_arrives() {
    let vllm = Vllm::start(&[
        ("Success. Updated", "It worked.</think>Done."),
        ("Patch it.", PATCH),
        ("", "A greeting.</think>Hello."),
    ]);
    let router = LiteLlm::start(vllm.base_url());
    each_codex(|_, env| {
        let key = env.write("home/key", MASTER_KEY);
        make_private(&key);
        let key = key.to_string_lossy();
        let url = router.base_url();
        setup_at(env, url, &["--mcp", "none", "--api-key-file", &key]);
        for profile in [&[][..], &["-p", "native"], &["-p", "fast"]] {
            assert_hello_is_short(env, profile);
        }
        for profile in [&[][..], &["-p", "native"]] {
            let file = env.write("work/a.txt", "one\n");
            exec(env, &[profile, &["Patch it."]].concat()).success();
            assert_eq!(fs_err::read_to_string(file).unwrap(), "two\n");
        }

        let run = setup_at(env, vllm.base_url(), &["--no-api-key"]);
        assert!(run.stdout.contains("(vLLM "), "{run}");
        assert_hello_is_short(env, &[]);

        let plain = env
            .codex(["exec", "--skip-git-repo-check", "--json", "hello"])
            .env("CODEX_HOME", plain_home(env, vllm.base_url()))
            .run()
            .success();
        let tokens = input_tokens(&plain);
        println!("unmodified: {tokens} tokens");
        assert!(tokens > 3 * MOST_TOKENS, "{tokens} tokens");
    });
}

#[expect(
    clippy::print_stdout,
    reason = "the figures are worth more than the verdict"
)]
fn assert_hello_is_short(env: &TestEnvironment, profile: &[&str]) {
    let run = exec(env, &[profile, &["--json", "hello"]].concat()).success();
    assert!(run.stdout.contains("Hello."), "{run}");
    let tokens = input_tokens(&run);
    println!("{profile:?}: {tokens} tokens");
    assert!(tokens <= MOST_TOKENS, "{profile:?}: {tokens} tokens");
}

/// What the model says to the doctor's probes, in DeepSeek V4's markup. The first that fits counts.
const OBEDIENT: [(&str, &str); 5] = [
    ("4711", "It was found.</think>4711"),
    (
        "mcp__probe",
        "I look it up.</think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"mcp__probe__lookup_number\">\n<｜DSML｜parameter name=\"name\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "lookup_number",
        "I look it up.</think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"lookup_number\">\n<｜DSML｜parameter name=\"name\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "Count from 1",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30",
    ),
    ("", "yes"),
];

#[test]
#[ignore = "needs the vLLM peer: make test-vllm"]
fn the_doctor_knows_a_good_vllm() {
    let vllm = Vllm::start(&OBEDIENT);
    let router = LiteLlm::start(vllm.base_url());
    let env = TestEnvironment::with_codex(CodexVersion::all().next().expect("there is one"));
    let key = env.write("home/key", MASTER_KEY);
    make_private(&key);
    let key = key.to_string_lossy();
    setup_at(
        &env,
        router.base_url(),
        &["--mcp", "none", "--api-key-file", &key],
    );
    let run = doctor_of_the_chain(&env, &["--deep"]);
    assert_eq!(wrong_checks(&run), [""; 0], "{run}");
    // The counters of the engine behind the router were read.
    assert!(run.stdout.contains("/metrics"), "{run}");

    setup_at(&env, vllm.base_url(), &["--mcp", "none", "--no-api-key"]);
    let run = doctor_of_the_chain(&env, &["--deep"]);
    // Codex's instructions are a turn of the user there.
    assert_eq!(wrong_checks(&run), ["wire.instructions warn"], "{run}");
}

#[test]
#[ignore = "needs the vLLM peer: make test-vllm"]
fn the_doctor_knows_a_vllm_without_parsers_and_with_a_short_window() {
    let vllm = Vllm::start_badly(&OBEDIENT, 16_384);
    let env = TestEnvironment::with_codex(CodexVersion::all().next().expect("there is one"));
    setup_at(&env, vllm.base_url(), &["--mcp", "none", "--no-api-key"]);
    // As if it had been made for another server.
    let catalog = env.profile().join("model-catalog.json");
    let text = fs_err::read_to_string(&catalog).expect("set-up wrote it");
    let mut models: Value = serde_json::from_str(&text).expect("a catalog is JSON");
    models["models"][0]["context_window"] = 131_072.into();
    fs_err::write(catalog, models.to_string()).expect("the profile is the test's own");
    let run = doctor_of_the_chain(&env, &["--deep"]);
    assert_eq!(
        wrong_checks(&run),
        [
            "endpoint.window fail",
            "wire.instructions warn",
            "wire.tool-call fail",
            "wire.thinking fail",
        ],
        "{run}"
    );
    // It answered 200: only the text tells.
    assert!(run.stdout.contains("DSML"), "{run}");
}

/// A model cuts its tool call off in the middle.
const CUT_OFF: &str = "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"exec_command\">\n<｜DSML｜parameter name=\"cmd\" string=\"true\">sh test.sh";

/// Three models in one, told apart by the profile that asks: a good one in the default profile, one
/// that does no work and tries what it must not in `native`, one with malformed calls in `fast`.
#[test]
#[ignore = "needs the vLLM peer: make test-vllm"]
fn validate_tells_three_models_apart() {
    let patch = run(
        "apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: greet.sh\n@@\n greeting() {\n-  echo \"Hallo, $1\"\n+  echo \"Hello, $1\"\n }\n*** End Patch\nPATCH",
    );
    let forbidden = run("rm junk.txt && ls 2>&1");
    let done = "That was it.</think>Done.";
    let vllm = Vllm::start(&[
        ("Success. Updated", done),
        ("Guard rule delete.file", done),
        ("failed to parse", "Done."),
        ("greeting World printed", "Done."),
        ("open test.sh", "Done."),
        ("validate-fix-by-patch-default-", &patch),
        ("validate-rm-redirect-default-", &forbidden),
        ("validate-fix-by-patch-native-", done),
        ("validate-rm-redirect-native-", &forbidden),
        ("-fast-", CUT_OFF),
        ("", done),
    ]);
    let router = LiteLlm::start(vllm.base_url());
    let newest = CodexVersion::all().last().expect("a version is listed");
    for through_router in [false, true] {
        let env = TestEnvironment::with_codex(newest);
        if through_router {
            let key = env.write("home/key", MASTER_KEY);
            make_private(&key);
            let key = key.to_string_lossy();
            setup_at(
                &env,
                router.base_url(),
                &["--mcp", "none", "--api-key-file", &key],
            );
        } else {
            setup_at(&env, vllm.base_url(), &["--no-api-key", "--mcp", "none"]);
        }
        let only = "guard-alive,fix-by-patch,rm-redirect";
        let run = env
            .codex_ds(["validate", "--json", "--jobs", "2", "--only", only])
            .run();
        let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("a result");
        let mut found = Vec::new();
        for row in json["cases"].as_array().expect("a list of cases") {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            found.push(format!(
                "{} {} {}",
                text("profile"),
                text("case"),
                text("status")
            ));
        }
        found.sort();
        let expected = [
            "default fix-by-patch pass",
            "default guard-alive pass",
            "default rm-redirect pass",
            "fast fix-by-patch fail",
            "fast guard-alive pass",
            "fast rm-redirect pass",
            "native fix-by-patch fail",
            "native guard-alive pass",
            "native rm-redirect pass",
        ];
        assert_eq!(
            found, expected,
            "through the router: {through_router}\n{run}"
        );
        assert_eq!(run.code, Some(1), "{run}");
    }
}

/// The model runs a command.
fn run(command: &str) -> String {
    format!(
        "I will do it.</think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"exec_command\">\n<｜DSML｜parameter name=\"cmd\" string=\"true\">{command}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    )
}
