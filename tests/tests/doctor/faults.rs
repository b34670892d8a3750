//! One fault after the other in a profile: of each exactly the right check tells, with the evidence.

use std::path::Path;

use codex_ds_tests::TestEnvironment;
use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{router, setup};
use serde_json::Value;

use super::{HOOK, append, complaints, edit, json, mode, prepend, replace, take_away};

/// One thing that is broken in a profile, and what the doctor has to say of it.
struct Fault {
    name: &'static str,
    /// Breaks it. What it changes below the profile is put back.
    inflict: fn(&TestEnvironment),
    args: &'static [&'static str],
    /// The checks that complain: id, status, a part of what was measured.
    expected: &'static [(&'static str, &'static str, &'static str)],
}

const fn fault(
    name: &'static str,
    inflict: fn(&TestEnvironment),
    expected: &'static [(&'static str, &'static str, &'static str)],
) -> Fault {
    Fault {
        name,
        inflict,
        args: &[],
        expected,
    }
}

const FAULTS: &[Fault] = &[
    fault(
        "the guard's program is gone",
        |env| take_away(env, HOOK),
        &[("guard.installed", "fail", "No such file")],
    ),
    fault(
        "another program is in its place",
        |env| fs_err::write(env.profile().join(HOOK), "#!/bin/sh\nexit 0\n").expect("ours"),
        &[("guard.installed", "fail", "sha256")],
    ),
    fault(
        "it cannot be executed",
        |env| mode(&env.profile().join(HOOK), 0o600),
        &[("guard.installed", "fail", "no executable file")],
    ),
    fault(
        "nobody trusts the hook",
        |env| replace(env, "config.toml", "trusted_hash", "enabled = true\n#"),
        &[("guard.trusted", "fail", "untrusted, with hash sha256:")],
    ),
    fault(
        "the hook's definition was edited",
        |env| replace(env, "config.toml", "timeout = 60", "timeout = 61"),
        &[("guard.trusted", "fail", "modified, with hash sha256:")],
    ),
    fault(
        "/hooks switched it off",
        |env| {
            replace(
                env,
                "config.toml",
                "trusted_hash",
                "enabled = false\ntrusted_hash",
            );
        },
        &[("guard.trusted", "fail", "enabled = false")],
    ),
    fault(
        "a profile switches the hook off",
        |env| {
            let key = env.profile().join("config.toml:pre_tool_use:0:0");
            let state = format!("[hooks.state.{:?}]\nenabled = false\n", key.display());
            append(env, "native.config.toml", &state);
        },
        &[("guard.trusted", "fail", "the guard is switched off")],
    ),
    fault(
        "the user's file switches hooks off",
        |env| replace(env, "config.toml", "\nhooks = true", "\nhooks = false"),
        &[("guard.hooks-on", "fail", "false")],
    ),
    fault(
        "a profile switches hooks off",
        |env| append(env, "native.config.toml", "[features]\nhooks = false\n"),
        &[("guard.hooks-on", "fail", "false")],
    ),
    fault(
        "the model may type",
        |env| {
            replace(
                env,
                "config.toml",
                "unified_exec_tty = false",
                "unified_exec_tty = true",
            );
        },
        &[("guard.typing", "fail", "true")],
    ),
    Fault {
        name: "arguments for Codex switch hooks off",
        inflict: |_| {},
        args: &["--", "-c", "features.hooks=false", "exec"],
        expected: &[("guard.hooks-on", "fail", "false")],
    },
    fault(
        "guard.toml is not valid",
        |env| append(env, "guard.toml", "[classes]\nnonsense = false\n"),
        &[("guard.policy", "fail", "nonsense")],
    ),
    fault(
        "config.toml is not TOML",
        |env| append(env, "config.toml", "= no TOML\n"),
        &[("config.parses", "fail", "not valid TOML")],
    ),
    fault(
        "a value of another type",
        |env| replace(env, "config.toml", "\ngoals = false", "\ngoals = \"no\""),
        &[("config.loads", "fail", "expected a boolean")],
    ),
    fault(
        "a key that Codex does not know",
        |env| prepend(env, "config.toml", "modle = \"x\"\n"),
        &[("config.keys", "warn", "`modle`")],
    ),
    fault(
        "a key of ours in the wrong table",
        |env| {
            edit(env, "config.toml", |text| {
                text.replace("web_search = \"disabled\"\n", "").replace(
                    "supports_websockets = false\n",
                    "supports_websockets = false\nweb_search = \"disabled\"\n",
                )
            });
        },
        &[(
            "config.keys",
            "fail",
            "`model_providers.codex-ds.web_search`",
        )],
    ),
    fault(
        "a key in a profile that Codex does not know",
        |env| append(env, "native.config.toml", "[features]\nnonsense = true\n"),
        &[("config.keys", "warn", "`features.nonsense`")],
    ),
    fault(
        "a search that only OpenAI has",
        |env| {
            replace(
                env,
                "config.toml",
                "web_search = \"disabled\"",
                "web_search = \"live\"",
            );
        },
        &[("config.values", "fail", "\"live\"")],
    ),
    fault(
        "a profile overrides a key of ours",
        |env| {
            append(
                env,
                "native.config.toml",
                "model_reasoning_summary = \"auto\"\n",
            );
        },
        &[("config.overridden", "warn", "\"auto\"")],
    ),
    Fault {
        name: "arguments for Codex override a key of ours",
        inflict: |_| {},
        args: &["--", "-c", "model_reasoning_summary=\"auto\"", "exec"],
        expected: &[("config.overridden", "warn", "\"auto\"")],
    },
    fault(
        "the provider is not there",
        |env| {
            replace(
                env,
                "config.toml",
                "model_provider = \"codex-ds\"",
                "model_provider = \"x\"",
            );
        },
        &[(
            "config.provider",
            "fail",
            "there is no `model_providers.x.base_url`",
        )],
    ),
    fault(
        "the key's variable is not set",
        |env| {
            replace(
                env,
                "config.toml",
                "experimental_bearer_token = \"local-no-auth\"",
                "env_key = \"LAB_KEY\"",
            );
        },
        &[("config.key", "fail", "the variable LAB_KEY is not set")],
    ),
    fault(
        "a profile in Codex's old form",
        |env| append(env, "config.toml", "\n[profiles.old]\nmodel = \"x\"\n"),
        &[("profiles.read", "fail", "[profiles.old]")],
    ),
    fault(
        "a default profile in Codex's old form",
        |env| prepend(env, "config.toml", "profile = \"native\"\n"),
        &[("profiles.read", "fail", "profile = \"native\"")],
    ),
    fault(
        "a profile under a name that Codex does not read",
        |env| fs_err::write(env.profile().join("mine.toml"), "model = \"x\"\n").expect("ours"),
        &[("profiles.read", "warn", "mine.toml")],
    ),
    Fault {
        name: "a profile that is not there",
        inflict: |_| {},
        args: &["--profile", "nativ"],
        expected: &[("profiles.selected", "fail", "no file nativ.config.toml")],
    },
    fault(
        "the catalog is gone",
        |env| take_away(env, "model-catalog.json"),
        &[("catalog.sound", "fail", "No such file")],
    ),
    fault(
        "the catalog lacks a field",
        |env| {
            replace(
                env,
                "model-catalog.json",
                "\"shell_type\"",
                "\"shell_typo\"",
            );
        },
        &[("catalog.sound", "fail", "nothing")],
    ),
    fault(
        "the catalog is named in the wrong table",
        |env| {
            edit(env, "config.toml", |text| {
                let line = "model_catalog_json = \"model-catalog.json\"\n";
                text.replace(line, "").replace(
                    "supports_websockets = false\n",
                    &format!("supports_websockets = false\n{line}"),
                )
            });
        },
        &[(
            "catalog.sound",
            "fail",
            "`model_providers.codex-ds.model_catalog_json`",
        )],
    ),
    fault(
        "a model without an entry",
        |env| {
            replace(
                env,
                "native.config.toml",
                "deepseek-v4-flash",
                "deepseek-v4-flsh",
            );
        },
        &[("catalog.models", "fail", "deepseek-v4-flsh")],
    ),
    fault(
        "an effort that the model has not",
        |env| {
            edit(env, "fast.config.toml", |_| {
                "model_reasoning_effort = \"xhigh\"\n".into()
            });
        },
        &[("catalog.efforts", "fail", "xhigh")],
    ),
    fault(
        "a compaction that comes too late",
        |env| {
            replace(
                env,
                "model-catalog.json",
                "\"auto_compact_token_limit\": 110000",
                "\"auto_compact_token_limit\": 131000",
            );
        },
        &[(
            "catalog.compaction",
            "warn",
            "auto_compact_token_limit 131000",
        )],
    ),
    fault(
        "the instructions are gone",
        |env| take_away(env, "instructions.md"),
        &[("instructions.file", "fail", "No such file")],
    ),
    fault(
        "the rules cannot be read",
        |env| append(env, "rules/default.rules", "prefix_rule(\n"),
        &[("rules.load", "fail", "default.rules")],
    ),
    fault(
        "the rules are gone",
        |env| take_away(env, "rules/default.rules"),
        &[("rules.load", "warn", "no file")],
    ),
    fault(
        "our rules were edited",
        |env| replace(env, "rules/default.rules", "[\"atrm\"]", "[\"atrmx\"]"),
        &[("rules.agree", "warn", "rules")],
    ),
    fault(
        "a set-up was interrupted",
        |env| {
            let receipt = env.profile().join("receipt.json");
            fs_err::copy(receipt, env.profile().join("receipt.pending.json")).expect("ours");
        },
        &[("home.leftovers", "fail", "it is there")],
    ),
    fault(
        "a file was left half written",
        |env| {
            fs_err::write(env.profile().join(".codex-ds-x.partial"), "").expect("ours");
        },
        &[("home.leftovers", "warn", "")],
    ),
    fault(
        "the receipt is gone",
        |env| take_away(env, "receipt.json"),
        &[("home.receipt", "fail", "no file")],
    ),
    fault(
        "others can write to the profile",
        |env| mode(&env.profile().join("config.toml"), 0o666),
        &[("home.permissions", "fail", "mode 0666")],
    ),
    fault(
        "others can read the profile",
        |env| mode(&env.profile().join("config.toml"), 0o644),
        &[("home.permissions", "warn", "mode 0644")],
    ),
    fault(
        "Codex has copied itself into the profile",
        |env| {
            let packages = env.profile().join("packages");
            fs_err::create_dir(&packages).expect("ours");
            fs_err::write(packages.join("codex"), "x".repeat(2_000_000)).expect("ours");
        },
        &[("home.daemon", "warn", "2 MB")],
    ),
    fault(
        "there is no sandbox",
        |env| {
            replace(
                env,
                "config.toml",
                "\"workspace-write\"",
                "\"danger-full-access\"",
            );
        },
        &[("sandbox.mode", "warn", "danger-full-access")],
    ),
    fault(
        "the sandbox leaves the profile writable",
        |env| {
            let roots = format!(
                "network_access = true\nwritable_roots = [\"{}\"]",
                env.home().display()
            );
            replace(env, "config.toml", "network_access = true", &roots);
        },
        &[("sandbox.mode", "fail", "~")],
    ),
    fault(
        "an MCP server whose program is not there",
        |env| append(env, "config.toml", &server("command = \"/nowhere/server\"")),
        &[("mcp.starts", "fail", "there is no program /nowhere/server")],
    ),
    fault(
        "an MCP server that ends at once",
        |env| {
            let says = "command = \"sh\"\nargs = [\"-c\", \"echo out of order >&2; exit 3\"]";
            append(env, "config.toml", &server(says));
        },
        &[("mcp.starts", "fail", "out of order")],
    ),
    fault(
        "an MCP server that needs a network",
        |env| {
            let says =
                "command = \"sh\"\nargs = [\"-c\", \"echo error: Failed to fetch: x >&2; exit 1\"]";
            append(env, "config.toml", &server(says));
        },
        &[("mcp.starts", "fail", "did not reach the package index")],
    ),
    fault(
        "a tool that the MCP server has not",
        |env| {
            let more = format!("{}\nenabled_tools = [\"search\"]", working(env));
            append(env, "config.toml", &server(&more));
        },
        &[("mcp.tools", "fail", "look")],
    ),
    fault(
        "an MCP server whose calls wait for approval",
        |env| {
            let table = server(&working(env)).replace("approve", "prompt");
            append(env, "config.toml", &table);
        },
        &[("mcp.approval", "warn", "prompt")],
    ),
];

/// The table of an MCP server.
fn server(keys: &str) -> String {
    format!("\n[mcp_servers.x]\ndefault_tools_approval_mode = \"approve\"\n{keys}\n")
}

/// The keys of an MCP server that works, with one tool.
fn working(env: &TestEnvironment) -> String {
    let script = env.write(
        "mcp.sh",
        r#"while read -r line; do
case $line in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}' ;;
*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}}' ;;
esac
done
"#,
    );
    format!("command = \"sh\"\nargs = [{:?}]", script.display())
}

#[test]
fn of_each_fault_exactly_the_right_check_tells() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    tell(newest, |_| true);
}

/// Checks that go by what Codex says.
const BY_CODEX: &[&str] = &[
    "config.keys",
    "config.loads",
    "config.overridden",
    "guard.hooks-on",
    "guard.trusted",
    "guard.typing",
    "rules.load",
];

#[test]
fn an_older_codex_is_understood_as_well() {
    let oldest = CodexVersion::all().next().expect("a version is listed");
    tell(oldest, |fault| {
        fault.expected.iter().any(|(id, ..)| BY_CODEX.contains(id))
    });
}

/// Inflicts the faults that are wanted, one after the other.
fn tell(version: CodexVersion, wanted: impl Fn(&Fault) -> bool) {
    let env = TestEnvironment::with_codex(version);
    setup(&env, &router(vec![]), &[]);
    let kept = env.root().join("kept");
    copy(&env.profile(), &kept);
    let mut wrong = Vec::new();
    for fault in FAULTS.iter().filter(|fault| wanted(fault)) {
        (fault.inflict)(&env);
        let (run, report) = json(&env, fault.args);
        if !fits(&report, fault.expected) || run.code != Some(exit_code(fault.expected)) {
            let found = complaints(&report);
            wrong.push(format!("{}: {found:#?} {:?}", fault.name, run.code));
        }
        fs_err::remove_dir_all(env.profile()).expect("it is the test's own");
        copy(&kept, &env.profile());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

type Expected = [(&'static str, &'static str, &'static str)];

/// Whether these checks complain, and no other.
fn fits(report: &Value, expected: &Expected) -> bool {
    let found = complaints(report);
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            (found.0.as_str(), found.1.as_str()) == (expected.0, expected.1)
                && found.2.contains(expected.2)
        })
}

fn exit_code(expected: &Expected) -> i32 {
    i32::from(expected.iter().any(|(_, status, _)| *status == "fail"))
}

/// What a Codex does that is not as it should be: a script around the real one, `$real`.
const CODEXES: &[(&str, &str, &Expected)] = &[
    (
        "every file looks right, and the guard is not asked",
        r#"case " $* " in *" exec "*) exec $real "$@" -c features.hooks=false ;; esac"#,
        &[("guard.denies", "fail", "exited with code 0")],
    ),
    (
        "it fails in a turn",
        r#"case " $* " in *" exec "*) echo 'out of order' >&2; exit 1 ;; esac"#,
        &[("codex.turn", "fail", "out of order")],
    ),
    (
        "it sends other instructions",
        r#"echo other >$HOME/other.md
case " $* " in *" exec "*) exec $real "$@" -c model_instructions_file="$HOME/other.md" ;; esac"#,
        &[("instructions.sent", "fail", "other")],
    ),
    (
        "its sandbox does not work",
        r#"[ "$1" = sandbox ] && { echo 'bwrap: no user namespaces' >&2; exit 1; }"#,
        &[("sandbox.works", "fail", "no user namespaces")],
    ),
    (
        "its sandbox holds nothing",
        r#"[ "$1" = sandbox ] && { shift 4; exec "$@"; }"#,
        &[("sandbox.home", "fail", "a file was made there")],
    ),
    (
        "it does not speak",
        r#"case " $* " in *" app-server "*) echo 'out of order' >&2; exit 1 ;; esac"#,
        &[("config.loads", "fail", "out of order")],
    ),
];

#[test]
fn what_codex_says_is_not_believed_where_it_can_be_seen() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let mut env = TestEnvironment::with_codex(newest);
    setup(&env, &router(vec![]), &[]);
    let real = newest.bin_dir().join("codex");
    let shims = env.root().join("shims");
    env.set(
        "PATH",
        format!(
            "{}:{}",
            shims.display(),
            std::env::var("PATH").expect("there is one")
        ),
    );
    for (name, script, expected) in CODEXES {
        let text = format!(
            "#!/bin/sh\nreal={}\n{script}\nexec $real \"$@\"\n",
            real.display()
        );
        mode(&env.write("shims/codex", &text), 0o755);
        // The path is another one, and so are others on it.
        let (run, report) = json(&env, &["--skip", "codex.others"]);
        assert!(fits(&report, expected), "{name}: {run}");
        assert_eq!(run.code, Some(1), "{name}");
    }
}

/// Copies a folder with the modes of its files.
fn copy(from: &Path, to: &Path) {
    fs_err::create_dir(to).expect("it is not there");
    let modes = fs_err::metadata(from).expect("it is there").permissions();
    for entry in fs_err::read_dir(from).expect("it is there") {
        let path = entry.expect("it is only read").path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs_err::copy(&path, &target).expect("the target is new");
        }
    }
    fs_err::set_permissions(to, modes).expect("it is ours");
}
