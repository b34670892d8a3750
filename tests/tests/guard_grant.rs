//! A user lets one denied command pass, an agent cannot; and Codex's own rules, made from the same
//! table, say the same of plain commands.

use codex_ds_tests::scenario::{exec, router, setup, shell};
use codex_ds_tests::{TestEnvironment, each_codex, request};
use codex_ds_wire::standin::{Recorded, Turn};

const DENIED: &str = "rm junk.txt && ls 2>&1";

#[test]
fn a_grant_lets_one_command_pass_once() {
    each_codex(|_, env| {
        let server = router(vec![
            shell(DENIED),
            Turn::text("done"),
            shell(DENIED),
            Turn::text("done"),
            shell(DENIED),
            Turn::text("done"),
        ]);
        setup(env, &server, &[]);
        let junk = env.write("work/junk.txt", "");
        exec(env, &["clean up"]).success();
        assert!(junk.exists());
        let code = code(&server.model_requests());

        let allow = env.codex_ds(["guard", "allow", &code, "--yes"]).run();
        allow.success();
        exec(env, &["clean up"]).success();
        assert!(!junk.exists(), "the grant counts");

        env.write("work/junk.txt", "");
        exec(env, &["clean up"]).success();
        assert!(junk.exists(), "only once");
        let log = env.codex_ds(["guard", "log", "--json"]).run().success();
        assert!(log.stdout.contains("\"granted\""), "{log}");
    });
}

#[test]
fn an_agent_cannot_grant() {
    each_codex(|_, env| {
        let server = router(vec![shell(DENIED), Turn::text("done")]);
        setup(env, &server, &[]);
        env.write("work/junk.txt", "");
        exec(env, &["clean up"]).success();
        let code = code(&server.model_requests());
        let command = format!("codex-ds guard allow {code} --yes");
        let check = env.codex_ds(["guard", "check", &command]).run();
        assert_eq!(check.code, Some(1), "{check}");
        assert!(check.stdout.contains("guard.command"), "{check}");
        let path = env.profile().join("guard/grants").join(&code);
        let command = format!("echo x > {}", path.display());
        let check = env.codex_ds(["guard", "check", &command]).run();
        assert!(check.stdout.contains("guard.tamper"), "{check}");
    });
}

/// The code that the model read in a denial.
fn code(requests: &[Recorded]) -> String {
    let told: String = requests.iter().flat_map(request::tool_outputs).collect();
    let (_, rest) = told.split_once("guard allow ").expect("a code");
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn codexs_own_rules_agree() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        for command in [
            &["rm", "x"][..],
            &["git", "push", "origin", "main"],
            &["kubectl", "delete", "pod", "x"],
            &["reboot"],
            &["docker", "rm", "db"],
        ] {
            assert!(decision(env, command).contains("forbidden"), "{command:?}");
        }
        for command in [
            &["git", "status"][..],
            &["kubectl", "get", "pods"],
            &["cargo", "test"],
            &["docker", "ps"],
        ] {
            assert!(!decision(env, command).contains("forbidden"), "{command:?}");
        }
    });
}

/// What `codex execpolicy check` says of a command under the rules that set-up wrote.
fn decision(env: &TestEnvironment, command: &[&str]) -> String {
    let rules = env.profile().join("rules/default.rules");
    let rules = rules.to_str().expect("a text");
    let mut args = vec!["execpolicy", "check", "--rules", rules];
    args.extend(command);
    env.codex(args).run().success().stdout
}
