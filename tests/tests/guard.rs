//! The guard under the real Codex: proved by what a command did or did not do.

use codex_ds_tests::scenario::{exec, router, setup, shell};
use codex_ds_tests::{TestEnvironment, each_codex, request};

#[test]
fn a_denied_command_does_not_run_and_the_model_is_told_why() {
    each_codex(|_, env| {
        // Codex's own rules let this one through: a redirection hides the command from them.
        let server = router(vec![
            shell("rm junk.txt && ls 2>&1"),
            shell("echo > made.txt"),
        ]);
        setup(env, &server, &[]);
        env.write("work/junk.txt", "");
        exec(env, &["clean up"]).success();
        assert!(env.work().join("junk.txt").exists());
        assert!(env.work().join("made.txt").exists(), "the turn went on");
        let requests = server.model_requests();
        let told = request::tool_outputs(&requests[1]).concat();
        assert!(told.contains("blocked by PreToolUse hook"), "{told}");
        assert!(told.contains("rm"), "{told}");
    });
}

#[test]
fn without_the_guard_the_same_command_runs() {
    each_codex(|_, env| {
        let server = router(vec![shell("rm junk.txt && ls 2>&1")]);
        setup(env, &server, &["--no-guard"]);
        env.write("work/junk.txt", "");
        exec(env, &["clean up"]).success();
        assert!(!env.work().join("junk.txt").exists());
    });
}

#[test]
fn setup_finds_out_that_codex_would_skip_the_guard() {
    each_codex(|_, env| {
        let server = router(vec![shell("rm junk.txt && ls 2>&1")]);
        let run = setup(env, &server, &["--no-trust"]);
        assert!(run.stdout.contains("NOT trusted yet"), "{run}");
        // It is right: Codex says nothing and runs the command.
        env.write("work/junk.txt", "");
        exec(env, &["clean up"]).success();
        assert!(!env.work().join("junk.txt").exists());

        let run = setup(env, &server, &["--trust"]);
        assert!(
            run.stdout.contains("Codex confirms that it trusts"),
            "{run}"
        );
    });
}

#[test]
fn setup_fails_when_the_users_edit_keeps_the_guard_from_running() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        edit(env, "hooks = true", "hooks = false");
        let url = server.base_url();
        let run = env
            .codex_ds(["setup", "--endpoint", &url, "--mcp", "none"])
            .run();
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stdout.contains("NOT LIVE"), "{run}");
    });
}

fn edit(env: &TestEnvironment, from: &str, to: &str) {
    let path = env.profile().join("config.toml");
    let text = fs_err::read_to_string(&path).expect("set-up wrote it");
    assert!(text.contains(from), "{text}");
    fs_err::write(&path, text.replace(from, to)).expect("the profile is the test's own");
}
