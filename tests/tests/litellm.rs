//! The whole chain but for the model: Codex, the real LiteLLM, and a stand-in for vLLM behind it.

use codex_ds_tests::litellm::MASTER_KEY;
use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{
    checks, doctor_of_the_chain, exec, make_private, obedient, one_request, server, setup_at,
    shell, wrong_checks,
};
use codex_ds_tests::{LiteLlm, TestEnvironment, each_codex, mcp};
use codex_ds_wire::standin::{Config, Model, StandIn, Turn};
use serde_json::{Value, json};

const ECHO: mcp::Tool = mcp::Tool {
    name: "echo",
    argument: "text",
    answer: r#""echoed: " + said"#,
};

#[test]
fn a_turn_goes_through_the_router_on_both_routes() {
    let vllm = server(Config::default(), vec![]);
    let router = LiteLlm::start(&vllm.base_url());
    each_codex(|_, env| {
        let key = env.write("home/key", MASTER_KEY);
        make_private(&key);
        let key = key.to_string_lossy();
        let url = router.base_url();
        let run = setup_at(env, url, &["--mcp", "none", "--api-key-file", &key]);
        assert!(run.stdout.contains("(LiteLLM)"), "{run}");
        the_bridge_keeps_instructions_and_effort(env, &vllm);
        mcp::add(env, ECHO);
        commands_and_mcp_calls_come_back(env, &vllm, &[], "/v1/chat/completions");
        commands_and_mcp_calls_come_back(env, &vllm, &["-p", "native"], "/v1/responses");
    });
}

#[test]
fn the_doctor_sees_through_the_router() {
    // A small window: LiteLLM takes its time over a megabyte of prompt.
    let config = Config {
        models: vec![Model::new("deepseek-v4-flash", 32_768)],
        ..Config::default()
    };
    let vllm = server(config, obedient());
    let router = LiteLlm::start(&vllm.base_url());
    let env = TestEnvironment::with_codex(CodexVersion::all().next().expect("there is one"));
    let key = env.write("home/key", MASTER_KEY);
    make_private(&key);
    let file = key.to_string_lossy();
    let more = ["--mcp", "none", "--api-key-file", &file];
    setup_at(&env, router.base_url(), &more);
    let run = doctor_of_the_chain(&env, &["--deep"]);
    assert_eq!(wrong_checks(&run), [""; 0], "{run}");
    assert!(
        run.stdout.contains(&format!("{}/metrics", vllm.root_url())),
        "{run}"
    );
    for profile in [&[][..], &["-p", "native"]] {
        exec(&env, &[profile, &["hi"]].concat()).success();
    }

    fs_err::write(&key, "sk-another").expect("the file is the test's own");
    let run = doctor_of_the_chain(&env, &[]);
    assert_eq!(wrong_checks(&run), ["endpoint.key fail"], "{run}");
    assert!(run.stdout.contains("No connected db."), "{run}");
    assert!(!run.stdout.contains("sk-another"), "{run}");

    fs_err::write(&key, MASTER_KEY).expect("the file is the test's own");
    drop(vllm);
    let run = doctor_of_the_chain(&env, &[]);
    assert_eq!(wrong_checks(&run), ["wire.answer fail"], "{run}");
}

#[test]
fn the_doctor_judges_what_comes_and_not_the_status() {
    let config = Config {
        tool_parser: false,
        ..Config::default()
    };
    let vllm = server(config, obedient());
    let router = LiteLlm::start(&vllm.base_url());
    let env = TestEnvironment::with_codex(CodexVersion::all().next().expect("there is one"));
    let key = env.write("home/key", MASTER_KEY);
    make_private(&key);
    let file = key.to_string_lossy();
    setup_at(
        &env,
        router.base_url(),
        &["--mcp", "none", "--api-key-file", &file],
    );
    let run = doctor_of_the_chain(&env, &["--deep"]);
    let checks = checks(&run);
    let call = checks
        .iter()
        .find(|record| record["id"] == "wire.tool-call")
        .expect("it is among them");
    let found = call["findings"].to_string();
    // The bridge's Chat Completions refuses the tool; the native route answers 200.
    assert!(
        found.contains(
            "default: the request with a tool is refused: vLLM was started without a tool parser"
        ),
        "{run}"
    );
    assert!(
        found.contains("native: the call stands in the text"),
        "{run}"
    );
}

fn the_bridge_keeps_instructions_and_effort(env: &TestEnvironment, vllm: &StandIn) {
    for (profile, effort) in [(&[][..], "high"), (&["-p", "fast"], "none")] {
        let body = one_request(env, vllm, &[profile, &["hi"]].concat()).json();
        assert_eq!(body["messages"][0]["role"], "system");
        let text = body["messages"][0]["content"].to_string();
        assert!(text.contains("coding agent"), "{text}");
        assert_eq!(body["reasoning_effort"], effort);
        assert_eq!(tool_names(&body), ["exec_command", "write_stdin"]);
    }
}

fn commands_and_mcp_calls_come_back(
    env: &TestEnvironment,
    vllm: &StandIn,
    profile: &[&str],
    path: &str,
) {
    vllm.push(shell("echo made > made.txt").reasoning("I will make it."));
    let echo = json!({"text": "there"});
    vllm.push(Turn::mcp_call("mcp__echo", "echo", echo));
    let before = vllm.model_requests().len();
    exec(env, &[profile, &["do it"]].concat()).success();
    let requests = vllm.model_requests().split_off(before);
    let paths: Vec<_> = requests.iter().map(|asked| &asked.path).collect();
    assert_eq!(paths, [path; 3]);
    fs_err::remove_file(env.work().join("made.txt")).expect("the command made it");
    let last = requests[2].json().to_string();
    assert!(last.contains("echoed: there"), "{last}");
}

fn tool_names(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect()
}
