//! The profile that `codex-ds setup` writes, as the real Codex reads it: what it accepts, and what
//! it sends.

use codex_ds_tests::scenario::{
    exec, make_private, one_request, plain_home, router, server, setup, shell, written_files,
};
use codex_ds_tests::{TestEnvironment, each_codex, request};
use codex_ds_wire::Secret;
use codex_ds_wire::standin::Config;

/// The most that a request that says "hi" may have, in bytes.
const MOST_BYTES: usize = 9_500;

#[test]
fn strict_config_has_no_complaint() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        for profile in [&[][..], &["-p", "native"], &["-p", "fast"]] {
            let strict = ["--strict-config", "exec", "--skip-git-repo-check", "hi"];
            let run = env.codex_ds(profile.iter().chain(&strict)).run().success();
            for line in run.stderr.lines() {
                // Which program makes the sandbox is no matter of the profile.
                let known = line.contains("could not find bubblewrap on PATH");
                assert!(known || !line.starts_with("warning"), "{run}");
            }
        }
        let mut config = fs_err::read_to_string(env.profile().join("config.toml")).unwrap();
        config.push_str("\n[no_such_section]\nkey = 1\n");
        fs_err::write(env.profile().join("config.toml"), config).unwrap();
        let run = env.codex_ds(["--strict-config", "exec", "hi"]).run();
        assert!(run.stderr.contains("no_such_section"), "{run}");
    });
}

#[test]
fn each_profile_sends_its_model_and_effort() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        for (args, model, effort) in [
            (&["hi"][..], "deepseek-v4-flash-cc", "high"),
            (&["-p", "native", "hi"], "deepseek-v4-flash", "high"),
            (&["-p", "fast", "hi"], "deepseek-v4-flash-cc", "none"),
        ] {
            let body = one_request(env, &server, args).json();
            assert_eq!(body["model"], model, "{args:?}");
            assert_eq!(body["reasoning"]["effort"], effort, "{args:?}");
        }
    });
}

#[test]
fn tools_are_functions_and_the_body_is_small() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let request = one_request(env, &server, &["hi"]);
        assert_eq!(
            request::tool_names(&request),
            ["exec_command", "write_stdin"]
        );
        assert_eq!(request::tool_types(&request), ["function", "function"]);
        let size = request.body.len();
        assert!(size <= MOST_BYTES, "{size} bytes");

        let plain = plain_home(env, &server.base_url());
        env.codex(["exec", "--skip-git-repo-check", "hi"])
            .env("CODEX_HOME", plain)
            .run()
            .success();
        let plain = server.model_requests().pop().unwrap();
        let types = request::tool_types(&plain);
        assert!(types.iter().any(|kind| kind != "function"), "{types:?}");
        assert!(plain.body.len() > 4 * size, "{} bytes", plain.body.len());
    });
}

#[test]
fn the_key_comes_from_a_private_file() {
    each_codex(|_, env| {
        let server = with_key("sk-from-a-file");
        let file = env.write("home/key", "sk-from-a-file\n");
        make_private(&file);
        setup(env, &server, &["--api-key-file", &file.to_string_lossy()]);
        let request = one_request(env, &server, &["hi"]);
        assert_eq!(
            request.header("authorization"),
            Some("Bearer sk-from-a-file")
        );
        for file in written_files(env) {
            assert!(!holds(&file, "sk-from-a-file"), "{}", file.display());
        }
    });
}

#[test]
fn the_key_comes_from_a_variable_that_commands_do_not_see() {
    each_codex(|_, env| {
        // Nothing in its name says that it is a secret: only the profile can know.
        env.set("LAB_PASS", "from-a-variable");
        env.set("HARMLESS", "seen");
        let server = with_key("from-a-variable");
        server.push(shell("env"));
        setup(env, &server, &["--api-key-env", "LAB_PASS"]);
        exec(env, &["hi"]).success();
        let requests = server.model_requests();
        assert_eq!(
            requests[0].header("authorization"),
            Some("Bearer from-a-variable")
        );
        let output = request::tool_outputs(&requests[1]).concat();
        assert!(output.contains("HARMLESS=seen"), "{output}");
        assert!(!output.contains("from-a-variable"), "{output}");
        for file in written_files(env) {
            assert!(!holds(&file, "from-a-variable"), "{}", file.display());
        }
    });
}

#[test]
fn a_server_that_is_vllm_itself_serves_the_default_profile() {
    each_codex(|_, env| {
        let mut config = Config::default();
        config
            .models
            .retain(|model| model.id == "deepseek-v4-flash");
        let server = server(config, vec![]);
        setup(env, &server, &[]);
        for args in [&["hi"][..], &["-p", "native", "hi"]] {
            let body = one_request(env, &server, args).json();
            assert_eq!(body["model"], "deepseek-v4-flash", "{args:?}");
        }
    });
}

fn with_key(key: &str) -> codex_ds_wire::standin::StandIn {
    let config = Config {
        api_key: Some(Secret::new(key)),
        ..Config::router()
    };
    server(config, vec![])
}

fn holds(file: &std::path::Path, text: &str) -> bool {
    let bytes = fs_err::read(file).expect("the receipt lists files that are there");
    String::from_utf8_lossy(&bytes).contains(text)
}

#[test]
fn patching_alone_is_tracked_and_changes_the_file() {
    each_codex(|_, env| {
        let patch = "apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nPATCH";
        let server = router(vec![shell(patch)]);
        setup(env, &server, &[]);
        env.write("work/a.txt", "one\n");
        let run = exec(env, &["--json", "patch it"]).success();
        assert!(run.stdout.contains("\"file_change\""), "{run}");
        assert_eq!(text(env, "a.txt"), "two\n");
    });
}

fn text(env: &TestEnvironment, name: &str) -> String {
    fs_err::read_to_string(env.work().join(name)).expect("the test wrote it")
}
