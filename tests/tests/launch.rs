//! Launching the real Codex: what it is given, and what it gives back.

use codex_ds_tests::scenario::{exec, router, setup};
use codex_ds_tests::{TestEnvironment, each_codex};

#[test]
fn codex_takes_over_and_its_exit_status_is_ours() {
    each_codex(|version, env| {
        setup(env, &router(vec![]), &[]);
        let run = env.codex_ds(["--", "--version"]).run().success();
        assert_eq!(run.stdout, format!("codex-cli {version}\n"));
        let run = env.codex_ds(["exec", "--no-such-option"]).run();
        assert_eq!(run.code, Some(2), "{run}");
        let run = env.codex_ds(["login", "status"]).run();
        assert_eq!(run.code, Some(1), "{run}");
        assert_eq!(run.stderr, "Not logged in\n");
    });
}

#[test]
fn a_weakening_option_is_passed_on_with_a_warning() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let run = exec(env, &["--json", "--disable", "hooks", "hi"]).success();
        let warning = "warning: --disable hooks turns the guard off\n";
        assert!(run.stderr.starts_with(warning), "{run}");
        assert!(run.stdout.starts_with('{'), "{run}");
    });
}

#[test]
fn what_cannot_be_launched_says_what_to_do() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!("no-profile", env.codex_ds(["exec", "hi"]).run());
    env.write("home/.codex-ds/config.toml", "");
    insta::assert_snapshot!("no-codex", env.codex_ds(["exec", "hi"]).run());
    insta::assert_snapshot!(
        "wrong-profile",
        env.codex_ds(["exec", "-p", "natve", "hi"]).run()
    );
    insta::assert_snapshot!("lifted-pin", env.codex_ds(["-c", "projects={}"]).run());
}
