//! Nothing leaves the machine but what the model's own commands ask for.

use codex_ds_tests::scenario::{exec, plain_home, router, setup, shell};
use codex_ds_tests::{RecordingProxy, each_codex};

#[test]
fn a_headless_turn_asks_nobody_but_the_endpoint() {
    each_codex(|_, env| {
        let server = router(vec![shell("echo hi")]);
        let proxy = RecordingProxy::start();
        proxy.watch(env);
        setup(env, &server, &[]);
        exec(env, &["hi"]).success();
        exec(env, &["resume", "--last", "go on"]).success();
        assert_eq!(server.model_requests().len(), 3);
        assert_eq!(proxy.asked(), [""; 0]);

        // The proxy would have seen it: unmodified, Codex does ask.
        env.codex(["exec", "--skip-git-repo-check", "hi"])
            .env("CODEX_HOME", plain_home(env, &server.base_url()))
            .run()
            .success();
        let asked = proxy.asked().join("\n");
        assert!(asked.contains("chatgpt.com"), "{asked}");
    });
}
