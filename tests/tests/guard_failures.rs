//! A guard that dies, hangs, answers nonsense or is not there. Codex lets the command run then, so
//! `codex-ds` looks before it starts Codex; and what is typed into a running program, which no hook
//! sees, is closed.

use codex_ds_tests::scenario::{exec, router, setup, shell};
use codex_ds_tests::{TestEnvironment, each_codex, request};
use codex_ds_wire::standin::Turn;
use serde_json::json;

/// Deletes a file in a spelling that Codex's own rules let through.
const DENIED: &str = "rm junk.txt && ls 2>&1";

/// What may stand in the place of the guard's program: how it fails, and what it is then.
const BROKEN: &[(&str, Option<&str>)] = &[
    ("is not there", None),
    ("is empty", Some("")),
    ("kills itself", Some("#!/bin/sh\nkill -9 $$\n")),
    ("crashes", Some("#!/bin/sh\nexit 139\n")),
    (
        "answers nonsense",
        Some("#!/bin/sh\necho '{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\"'\n"),
    ),
    (
        "denies without a reason",
        Some("#!/bin/sh\ncat >/dev/null\nexit 2\n"),
    ),
];

/// Puts something else in the place of the guard's program.
fn break_hook(env: &TestEnvironment, with: Option<&str>) {
    use std::os::unix::fs::PermissionsExt as _;
    let hook = env.profile().join("bin/codex-ds-hook");
    fs_err::remove_file(&hook).expect("set-up installed it");
    if let Some(text) = with {
        fs_err::write(&hook, text).expect("the profile is the test's own");
        let mode = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(&hook, mode).expect("the file is the test's own");
    }
}

#[test]
fn a_broken_guard_is_refused_before_codex_starts() {
    each_codex(|_, env| {
        for (how, with) in BROKEN {
            let server = router(vec![shell(DENIED), Turn::text("done"), shell(DENIED)]);
            setup(env, &server, &[]);
            break_hook(env, *with);
            let junk = env.write("work/junk.txt", "");

            // Codex by itself says nothing and runs the command.
            let plain = ["exec", "--skip-git-repo-check", "clean up"];
            env.codex(plain).run().success();
            assert!(!junk.exists(), "a guard that {how} stopped Codex");

            env.write("work/junk.txt", "");
            let before = server.model_requests().len();
            let run = exec(env, &["clean up"]);
            assert_eq!(run.code, Some(3), "a guard that {how}: {run}");
            assert!(run.stderr.contains("the guard is not live"), "{run}");
            assert_eq!(server.model_requests().len(), before, "a turn was started");
            assert!(junk.exists(), "a guard that {how}");
        }
    });
}

#[test]
fn a_guard_that_hangs_ends_with_its_time() {
    each_codex(|_, env| {
        let server = router(vec![shell(DENIED)]);
        setup(env, &server, &[]);
        break_hook(env, Some("#!/bin/sh\nsleep 20\n"));
        let config = env.profile().join("config.toml");
        let text = fs_err::read_to_string(&config).expect("set-up wrote it");
        assert!(text.contains("timeout = 60"), "{text}");
        let text = text.replace("timeout = 60", "timeout = 1");
        fs_err::write(&config, text).expect("the profile is the test's own");
        let junk = env.write("work/junk.txt", "");
        let plain = [
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "clean up",
        ];
        env.codex(plain).run().success();
        assert!(!junk.exists(), "Codex waits for a guard that hangs");
        // `codex-ds` does not start with such a program.
        assert_eq!(exec(env, &["clean up"]).code, Some(3));
    });
}

#[test]
fn what_is_typed_into_a_running_program_is_closed() {
    each_codex(|_, env| {
        let terminal = || {
            Turn::call(
                "exec_command",
                json!({ "cmd": "cat > typed.txt", "tty": true, "yield_time_ms": 250 }),
            )
        };
        let server = router(vec![terminal(), Turn::text("done"), terminal()]);
        setup(env, &server, &[]);
        let told = || {
            let requests = server.model_requests();
            request::tool_outputs(requests.last().expect("a turn was made")).concat()
        };
        exec(env, &["hi"]).success();
        assert!(told().contains("TTY execution is disabled"), "{}", told());
        assert!(!env.work().join("typed.txt").exists());

        // Without the pin and the profile's own line Codex opens a terminal.
        let config = env.profile().join("config.toml");
        let text = fs_err::read_to_string(&config).expect("set-up wrote it");
        let opened = text.replace("unified_exec_tty = false", "unified_exec_tty = true");
        assert_ne!(text, opened, "the profile says so");
        fs_err::write(&config, opened).expect("the profile is the test's own");
        let plain = ["exec", "--skip-git-repo-check", "hi"];
        env.codex(plain).run().success();
        assert!(!told().contains("TTY execution is disabled"), "{}", told());
        assert!(env.work().join("typed.txt").exists());
    });
}
