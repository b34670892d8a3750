//! `codex-ds setup` and `undo` as a user meets them: what they print, what they refuse, and that
//! nothing is written when they do.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{exec, make_private, router, server, setup, shell};
use codex_ds_tests::{Run, TestEnvironment, each_codex};
use codex_ds_wire::Secret;
use codex_ds_wire::standin::{Config, Model};
use insta::assert_snapshot as snapshot;

/// A snapshot without what differs from machine to machine.
macro_rules! assert_snapshot {
    ($($snapshot:tt)*) => {
        insta::with_settings!({filters => vec![
            (r"sha256:[0-9a-f]{64}", "sha256:[HASH]"),
            (r"\(/[^ ]*/codex\)", "([CODEX])"),
        ]}, { snapshot!($($snapshot)*) })
    };
}

fn any_codex() -> TestEnvironment {
    TestEnvironment::with_codex(CodexVersion::all().last().expect("a version is listed"))
}

/// A program called codex that only knows its version.
fn codex_that_says(version: &str) -> TestEnvironment {
    let mut env = TestEnvironment::new();
    let script = env.write("old/codex", &format!("#!/bin/sh\necho '{version}'\n"));
    fs_err::set_permissions(script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:/usr/bin:/bin", env.root().join("old").display());
    env.set("PATH", path);
    env
}

/// The run failed with `code`, and nothing was written.
#[track_caller]
fn refused(env: &TestEnvironment, run: &Run, code: i32) -> String {
    assert_eq!(run.code, Some(code), "{run}");
    assert_eq!(run.stdout, "", "{run}");
    assert!(!env.profile().join("config.toml").exists(), "{run}");
    assert!(!env.profile().join("receipt.json").exists(), "{run}");
    run.normalised(&run.stderr)
}

fn setup_run(env: &TestEnvironment, args: &[&str]) -> Run {
    env.codex_ds(["setup", "--mcp", "none"].iter().chain(args))
        .run()
}

#[test]
fn what_a_first_set_up_says_and_a_second() {
    let (env, server) = (any_codex(), router(vec![]));
    let first = setup(&env, &server, &[]);
    assert_snapshot!(first.normalised(&first.stdout));
    assert_eq!(first.stderr, "");
    let second = setup_run(&env, &[]).success();
    assert_snapshot!(second.normalised(&second.stdout));
}

#[test]
fn without_an_endpoint_it_says_how_to_name_one() {
    let env = any_codex();
    assert_snapshot!(refused(&env, &setup_run(&env, &[]), 2), @"
    error: no endpoint: where is your LiteLLM router or vLLM server?
    hint: for example: codex-ds setup --endpoint http://192.168.1.20:4000/v1
    hint: no server at hand? `codex-ds demo` shows everything on a built-in stand-in
    ");
}

#[test]
fn a_server_that_is_not_there() {
    let env = any_codex();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = closed.local_addr().expect("it is bound");
    drop(closed);
    let run = setup_run(&env, &["--endpoint", &format!("http://{address}/v1")]);
    assert_snapshot!(refused(&env, &run, 1), @"
    error: --endpoint http://127.0.0.1:[PORT]/v1: nothing listens on 127.0.0.1:[PORT]
    hint: is the server running, and is this its port? LiteLLM's is 4000, vLLM's 8000, unless told otherwise
    hint: a profile can be written without it: add --offline
    ");
}

#[test]
fn https_to_a_server_that_speaks_plain_http() {
    let (env, server) = (any_codex(), router(vec![]));
    let address = server.base_url().replace("http://", "https://");
    let run = setup_run(&env, &["--endpoint", &address]);
    assert_snapshot!(refused(&env, &run, 1), @"
    error: --endpoint https://127.0.0.1:[PORT]/v1: 127.0.0.1:[PORT] speaks plain HTTP, not TLS
    hint: use --endpoint http://127.0.0.1:[PORT]/v1
    ");
}

#[test]
fn a_path_with_nothing_behind_it() {
    let (env, server) = (any_codex(), router(vec![]));
    let address = format!("{}/elsewhere", server.root_url());
    let run = setup_run(&env, &["--endpoint", &address]);
    assert_snapshot!(refused(&env, &run, 1), @"
    error: --endpoint http://127.0.0.1:[PORT]/elsewhere/v1/models answered 404 Not Found
    hint: there is no model list at that path; --endpoint is the address up to and with /v1
    ");
}

#[test]
fn a_server_that_wants_a_key() {
    let mut env = any_codex();
    let config = Config {
        api_key: Some(Secret::new("sk-right")),
        ..Config::router()
    };
    let server = server(config, vec![]);
    let endpoint = ["--endpoint", &server.base_url()];
    assert_snapshot!(refused(&env, &setup_run(&env, &endpoint), 1), @"
    error: --endpoint http://127.0.0.1:[PORT]/v1/models answered 400 Bad Request
    hint: the server wants a key: export it and add --api-key-env NAME
    hint: or keep it in a file that only you can read: --api-key-file FILE
    ");

    env.set("LAB_KEY", "sk-wrong");
    let run = setup_run(
        &env,
        &[&endpoint[..], &["--api-key-env", "LAB_KEY"]].concat(),
    );
    let said = refused(&env, &run, 1);
    assert!(!said.contains("sk-wrong"), "{said}");
    assert_snapshot!(said, @"
    error: --endpoint http://127.0.0.1:[PORT]/v1/models answered 400 Bad Request
    hint: the server does not take this key; check the variable or file that holds it
    ");

    env.set("LAB_KEY", "sk-right");
    setup_run(
        &env,
        &[&endpoint[..], &["--api-key-env", "LAB_KEY"]].concat(),
    )
    .success();
}

#[test]
fn keys_that_are_none() {
    let env = any_codex();
    let server = router(vec![]);
    let with = |args: &[&str]| {
        let endpoint = server.base_url();
        setup_run(&env, &[&["--endpoint", &endpoint][..], args].concat())
    };
    let said = refused(&env, &with(&["--api-key-env", "sk-live-1234"]), 2);
    assert!(!said.contains("sk-live"), "{said}");
    assert_snapshot!(said, @"
    error: --api-key-env takes the name of an environment variable; what was given is no name
    hint: for example: export LAB_KEY=…, then --api-key-env LAB_KEY
    ");
    assert_snapshot!(refused(&env, &with(&["--api-key-env", "NOT_SET"]), 2), @"
    error: --api-key-env NOT_SET: the variable is not set
    hint: export NOT_SET=… first, or add --offline to ask nobody now
    ");
    let open = env.write("home/key", "sk-file\n");
    let open = open.to_str().expect("the path is UTF-8");
    assert_snapshot!(refused(&env, &with(&["--api-key-file", open]), 2), @"
    error: --api-key-file [HOME]/key: mode is 0644; expected 0600, since others can read it
    hint: chmod 600 [HOME]/key
    ");
    make_private(&env.write("home/key", "two words\n"));
    assert_snapshot!(refused(&env, &with(&["--api-key-file", open]), 2), @"
    error: [HOME]/key holds more than one word; expected the key alone, on one line
    hint: write only the key into it
    ");
    assert_snapshot!(refused(&env, &with(&["--api-key-file", "home/none"]), 2), @"
    error: --api-key-file [WORK]/home/none: cannot be read
      cause: No such file or directory (os error 2)
    hint: write the key into it first, then chmod 600 it
    ");
}

#[test]
fn a_model_that_is_not_served() {
    let (env, server) = (any_codex(), router(vec![]));
    let run = setup_run(
        &env,
        &[
            "--endpoint",
            &server.base_url(),
            "--model",
            "deepseek-v4-flsh-cc",
        ],
    );
    assert_snapshot!(refused(&env, &run, 2), @"
    error: --model deepseek-v4-flsh-cc is not served by http://127.0.0.1:[PORT]/v1; it serves deepseek-v4-flash, deepseek-v4-flash-cc
    hint: did you mean --model deepseek-v4-flash-cc?
    ");
}

#[test]
fn options_with_bad_values() {
    let (env, server) = (any_codex(), router(vec![]));
    let with = |args: &[&str]| {
        let endpoint = server.base_url();
        let run = env
            .codex_ds(["setup", "--endpoint", &endpoint].iter().chain(args))
            .run();
        refused(&env, &run, 2)
    };
    assert_snapshot!(with(&["--mcp", "serch"]), @"error: --mcp serch: no MCP server is called `serch` (did you mean `search`?); known: fetch, search, or `none` alone");
    assert_snapshot!(with(&["--preset", "home"]), @"
    error: --preset home: unknown preset; expected lab or dev
    hint: lab refuses all that cannot be taken back; dev lets pass what a developer's own machine allows
    ");
    assert_snapshot!(with(&["--context", "999999"]), @"error: --context: a context of 999999 tokens was asked for, but the server's max_model_len is 262144: ask for at most 262144, or serve with a larger --max-model-len");
    assert_snapshot!(with(&["--context", "1000"]), @"error: --context: a context of 1000 tokens is too small: Codex's prompt, one tool output and the compaction after it need 16384: ask for more, or serve with a larger --max-model-len");
    // Said before a server is asked, which may be slow to answer, or not there.
    let nobody = "http://127.0.0.1:9/v1";
    for (option, value) in [("--mcp", "serch"), ("--preset", "home")] {
        let run = env
            .codex_ds(["setup", "--endpoint", nobody, option, value])
            .run();
        assert!(refused(&env, &run, 2).starts_with(&format!("error: {option} {value}: ")));
    }
    let run = env.codex_ds(["setup", "--endpoint", "spark:4000"]).run();
    assert_snapshot!(refused(&env, &run, 2), @"
    error: --endpoint spark:4000: no http:// or https:// in front; expected http://HOST:PORT/v1
    hint: for example --endpoint http://192.168.1.20:4000/v1
    ");
}

#[test]
fn homes_that_it_does_not_take() {
    let (env, server) = (any_codex(), router(vec![]));
    let at = |home: &Path| {
        let home = home.to_str().expect("the path is UTF-8");
        setup_run(&env, &["--endpoint", &server.base_url(), "--home", home])
    };
    let codex_home = env.home().join(".codex");
    assert_snapshot!(refused(&env, &at(&codex_home), 2), @"
    error: [HOME]/.codex is Codex's own folder, or in it; codex-ds never writes there
    hint: leave --home away to use ~/.codex-ds, or name another folder
    ");
    fs_err::create_dir(&codex_home).expect("the home is empty");
    let link = env.home().join("link");
    std::os::unix::fs::symlink(&codex_home, &link).expect("the home can be written");
    assert_snapshot!(refused(&env, &at(&link), 2), @"
    error: [HOME]/link is Codex's own folder, or in it; codex-ds never writes there
    hint: leave --home away to use ~/.codex-ds, or name another folder
    ");
    assert_eq!(
        fs_err::read_dir(&codex_home).expect("it is there").count(),
        0
    );
    assert_snapshot!(refused(&env, &at(&env.tmp().join("profile")), 2), @"
    error: [TMP]/profile lies under the temporary folder [TMP]: a sandboxed command can write there, so it could rewrite its own rules, and Codex puts no apply_patch on PATH for such a home
    hint: name a folder elsewhere, for example --home ~/.codex-ds
    ");
    let file = env.write("home/file", "");
    assert_snapshot!(refused(&env, &at(&file), 2), @"
    error: [HOME]/file is not a folder
    hint: name a folder, or one that does not exist yet, with --home
    ");
    assert_snapshot!(refused(&env, &at(&file.join("below")), 2), @"
    error: [HOME]/file/below cannot be a folder
      cause: Not a directory (os error 20)
    hint: name a folder that you can write
    ");
}

#[test]
fn a_config_that_is_no_toml_is_named_with_its_line_and_left() {
    let (env, server) = (any_codex(), router(vec![]));
    let text = "model = \"x\"\nsandbox_mode = workspace\n";
    let config = env.write("home/.codex-ds/config.toml", text);
    let run = setup_run(&env, &["--endpoint", &server.base_url()]);
    assert_eq!(run.code, Some(2), "{run}");
    assert_snapshot!(run.normalised(&run.stderr), @"
    error: [PROFILE]/config.toml:2: not valid TOML: string values must be quoted, expected literal string
    hint: repair that line or move the file away, then run this again; nothing was written
    ");
    assert_eq!(fs_err::read_to_string(config).expect("it is there"), text);
    assert!(!env.profile().join("model-catalog.json").exists());
}

#[test]
fn two_set_ups_at_once() {
    let (env, server) = (any_codex(), router(vec![]));
    let lock = env.write("home/.codex-ds/.codex-ds.lock", "");
    let held = fs_err::File::open(lock).expect("it was just written");
    held.file().lock().expect("nobody else has it");
    let run = setup_run(&env, &["--endpoint", &server.base_url()]);
    assert_snapshot!(refused(&env, &run, 3), @"
    error: another codex-ds is changing [PROFILE] right now
    hint: wait for it to end, then run this again
    ");
}

#[test]
fn a_codex_that_is_too_old_too_new_or_none_at_all() {
    let server = router(vec![]);
    let endpoint = ["--endpoint", &server.base_url()];
    let old = codex_that_says("codex-cli 0.120.0");
    assert_snapshot!(refused(&old, &setup_run(&old, &endpoint), 3), @"
    error: [ROOT]/old/codex is Codex 0.120.0; this needs 0.163.0 or newer (tested up to 0.171.0)
    hint: install it: npm install --global @openai/codex@0.171.0
    ");
    let other = codex_that_says("Codex the code book 1.2");
    assert_snapshot!(refused(&other, &setup_run(&other, &endpoint), 3), @r#"
    error: [ROOT]/old/codex --version said "Codex the code book 1.2", which is not Codex's answer
    hint: install Codex: npm install --global @openai/codex@0.171.0
    "#);
    let missing = TestEnvironment::new();
    let run = setup_run(&missing, &endpoint).success();
    assert_snapshot!(run.normalised(&run.stderr), @"warning: there is no codex on PATH: install it with npm install --global @openai/codex@0.171.0, then run codex-ds setup again");
    assert!(
        run.stdout
            .contains("next:\n  npm install --global @openai/codex@"),
        "{run}"
    );
    let run = setup_run(
        &missing,
        &[&endpoint[..], &["--codex", "/nowhere/codex"]].concat(),
    );
    assert_eq!(run.code, Some(3), "{run}");
    assert_snapshot!(run.normalised(&run.stderr), @"
    error: no program at /nowhere/codex
    hint: --codex names the codex program itself, for example --codex /usr/local/bin/codex
    ");
}

#[test]
fn vllm_without_a_router_serves_all_three_profiles() {
    let env = any_codex();
    let config = Config {
        models: vec![Model::new("deepseek-v4-flash", 32_768)],
        ..Config::default()
    };
    let server = server(config, vec![]);
    let run = setup(&env, &server, &[]);
    assert_snapshot!(run.normalised(&run.stdout));
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let (env, server) = (any_codex(), router(vec![]));
    let run = setup_run(&env, &["--endpoint", &server.base_url(), "--dry-run"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains("+++ config.toml"), "{run}");
    assert!(!env.profile().exists());

    setup(&env, &server, &[]);
    let run = setup_run(&env, &["--dry-run"]).success();
    assert_snapshot!(run.normalised(&run.stdout), @"codex-ds setup, dry run: [PROFILE]: 0 to create, 0 to update, 8 unchanged, 0 kept as you changed them");

    let config = env.profile().join("config.toml");
    let text = fs_err::read_to_string(&config).expect("set-up wrote it");
    let edited = text
        .replace("\"workspace-write\"", "\"read-only\"")
        .replace(
            "wire_api = ",
            "http_headers = { Authorization = \"hunter2\" }\nwire_api = ",
        );
    fs_err::write(&config, edited).expect("it is ours");
    let run = setup_run(
        &env,
        &["--dry-run", "--offline", "--api-key-env", "LAB_KEY"],
    );
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stdout.contains("http_headers = "), "{run}");
    assert!(!run.stdout.contains("hunter2"), "{run}");
    assert_snapshot!(run.normalised(&run.stdout));
}

#[test]
fn a_profile_behind_a_link_is_trusted_under_its_real_path() {
    each_codex(|_, env| {
        let server = router(vec![]);
        let real = env.root().join("elsewhere");
        fs_err::create_dir(&real).expect("the root can be written");
        std::os::unix::fs::symlink(&real, env.profile()).expect("the home can be written");
        let run = setup(env, &server, &[]);
        assert!(run.stdout.contains("Codex confirms"), "{run}");
        let config = fs_err::read_to_string(real.join("config.toml")).expect("it was written");
        let key = format!(
            "[hooks.state.\"{}/config.toml:pre_tool_use:0:0\"]",
            real.display()
        );
        assert!(config.contains(&key), "{config}");
    });
}

#[test]
fn a_hook_that_codex_does_not_trust_is_found_and_said() {
    each_codex(|_, env| {
        let server = router(vec![]);
        setup(env, &server, &[]);
        let config = env.profile().join("config.toml");
        let text = fs_err::read_to_string(&config).expect("set-up wrote it");
        // The user switches the guard off in /hooks, or with the feature.
        let off = text.replace("trusted_hash = ", "enabled = false\ntrusted_hash = ");
        fs_err::write(&config, off).expect("it is ours");
        let run = setup_run(env, &[]);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stdout.contains("NOT LIVE"), "{run}");
        let off = text.replace("hooks = true", "hooks = false");
        fs_err::write(&config, off).expect("it is ours");
        let run = setup_run(env, &[]);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stdout.contains("NOT LIVE"), "{run}");
    });
}

#[test]
fn json_says_the_same() {
    let (env, server) = (any_codex(), router(vec![]));
    let run = setup(&env, &server, &["--json"]);
    let said: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(said["schema_version"], 1);
    assert_eq!(said["guard"]["live"], true);
    assert_eq!(said["profiles"]["native"]["model"], "deepseek-v4-flash");
    let run = env.codex_ds(["undo", "--json"]).run().success();
    let said: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(said["state"], "undone");
}

#[test]
fn undo_says_what_it_did_and_needs_neither_codex_nor_the_server() {
    let (mut env, server) = (any_codex(), router(vec![]));
    setup(&env, &server, &[]);
    drop(server);
    env.set("PATH", "/nowhere");
    let config = env.profile().join("config.toml");
    let text = fs_err::read_to_string(&config).expect("set-up wrote it");
    fs_err::write(
        &config,
        text.replace("\"workspace-write\"", "\"read-only\""),
    )
    .expect("it is ours");
    env.write("home/.codex-ds/instructions.md", "mine\n");
    let run = env.codex_ds(["undo"]).run().success();
    assert_snapshot!(run.normalised(&run.stdout));
    assert_eq!(
        fs_err::read_to_string(config).expect("it stays").trim_end(),
        "sandbox_mode = \"read-only\""
    );
    let again = env.codex_ds(["undo"]).run().success();
    assert!(again.stdout.starts_with("nothing to undo"), "{again}");
}

#[test]
fn undo_takes_out_the_lock_of_a_set_up_that_was_killed_at_once() {
    let env = any_codex();
    env.write("home/.codex-ds/.codex-ds.lock", "");
    env.codex_ds(["undo"]).run().success();
    assert!(!env.profile().join(".codex-ds.lock").exists());
}

#[test]
fn killed_at_any_moment_a_second_set_up_repairs() {
    let (env, server) = (any_codex(), router(vec![]));
    let endpoint = server.base_url();
    for milliseconds in [5, 20, 40, 60, 90, 130, 200, 400] {
        let args = ["setup", "--mcp", "none", "--endpoint", &endpoint];
        let mut child = env
            .codex_ds(args)
            .into_command()
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        // It may have ended by itself: then this is a plain second run.
        let _ = child.kill();
        child.wait().expect("it is our child");
        setup(&env, &server, &[]);
        assert!(!env.profile().join("receipt.pending.json").exists());
        let run = setup_run(&env, &["--dry-run"]);
        assert_eq!(run.code, Some(0), "{run}");
        env.codex_ds(["undo"]).run().success();
        assert!(!env.profile().join("config.toml").exists());
    }
}

#[test]
fn the_guard_is_live_in_a_folder_of_any_name() {
    for name in ["{a,b}", "it's", "a b$(x)`y`", "ünïcode;&|"] {
        let mut env = any_codex();
        let home = env.home().join(name);
        env.set("CODEX_DS_HOME", &home);
        let server = router(vec![shell("rm junk.txt && ls 2>&1")]);
        setup(&env, &server, &[]);
        let junk = env.write("work/junk.txt", "mine");
        exec(&env, &["clean up"]).success();
        assert_eq!(server.unplayed(), 0, "{name}: the model's turn was played");
        assert!(junk.exists(), "{name}: the guard let the command run");
    }
}

#[test]
fn a_profile_that_was_moved_is_refused_until_it_is_set_up_again() {
    let (mut env, server) = (any_codex(), router(vec![]));
    setup(&env, &server, &[]);
    let moved = env.home().join("moved");
    fs_err::rename(env.profile(), &moved).expect("it is ours");
    env.set("CODEX_DS_HOME", &moved);
    let run = exec(&env, &["hi"]);
    assert_eq!(run.code, Some(3), "{run}");
    assert_snapshot!(run.normalised(&run.stderr), @"
    error: the guard is not live: [HOME]/moved/config.toml: no hook starts the guard of this folder; was it moved, copied or restored?
    hint: codex-ds setup repairs it; codex-ds setup --no-guard does without it
    ");
    assert_eq!(server.model_requests().len(), 0);
    setup(&env, &server, &[]);
    let config = fs_err::read_to_string(moved.join("config.toml")).expect("it is there");
    assert!(!config.contains(".codex-ds/"), "{config}");
    server.push(shell("rm junk.txt && ls 2>&1"));
    let junk = env.write("work/junk.txt", "mine");
    exec(&env, &["clean up"]).success();
    assert!(junk.exists());
    env.codex_ds(["undo"]).run().success();
    assert!(!moved.join("config.toml").exists());
}

#[test]
fn one_site_drives_both_halves() {
    let env = any_codex();
    env.codex_ds(["deploy", "init"]).run().success();
    let from_site = [
        "setup",
        "--from-site",
        "site.toml",
        "--offline",
        "--mcp",
        "none",
    ];
    let run = env
        .codex_ds(from_site.iter().chain(&["--context", "999999"]))
        .run();
    assert_snapshot!(refused(&env, &run, 2), @"
    error: --context: a context of 999999 tokens was asked for, but the server's max_model_len is 262144: ask for at most 262144, or serve with a larger --max-model-len
    hint: site.toml serves 262144 tokens
    ");
    let run = env.codex_ds(from_site).run().success();
    let config = fs_err::read_to_string(env.profile().join("config.toml")).expect("it was written");
    for part in [
        "model = \"deepseek-v4-flash-cc\"",
        "base_url = \"http://",
        "env_key = \"LITELLM_MASTER_KEY\"",
    ] {
        assert!(config.contains(part), "{part} in {config}");
    }
    assert!(
        run.stdout.contains("-p native  deepseek-v4-flash\n"),
        "{run}"
    );
}
