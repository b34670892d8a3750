//! Against the real vLLM: what only its tokenizer and parsers can tell. Opt-in, since it takes 4 GB
//! of memory and a minute to start.

use codex_ds_tests::litellm::MASTER_KEY;
use codex_ds_tests::scenario::{exec, input_tokens, make_private, plain_home, setup_at};
use codex_ds_tests::{LiteLlm, TestEnvironment, Vllm, each_codex};

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
