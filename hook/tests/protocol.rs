//! Requests off the happy path: each is decided on purpose.

use std::path::Path;

use codex_ds_hook::{Policy, Verdict, respond};
use serde_json::{Value as Json, json};

fn verdict(request: &[u8]) -> Verdict {
    respond(
        request,
        &Policy::default(),
        Path::new("/home/dev/.codex-ds"),
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "json!(…) stands in each call as it is"
)]
fn request(tool: &str, input: Json) -> Vec<u8> {
    json!({
        "session_id": "s",
        "turn_id": "t",
        "transcript_path": "/x.jsonl",
        "cwd": "/home/dev/work/llm-serve",
        "hook_event_name": "PreToolUse",
        "model": "m",
        "permission_mode": "bypassPermissions",
        "tool_name": tool,
        "tool_use_id": "call_1",
        "tool_input": input,
    })
    .to_string()
    .into_bytes()
}

/// A command that is denied in every preset, and one that never is.
const BAD: &str = "git push --force";
const GOOD: &str = "git status";

#[track_caller]
fn denies(request: &[u8], rule: &str) {
    let verdict = verdict(request);
    let denial = verdict.denial().expect("a denial");
    assert_eq!(denial.rule, rule, "{denial}");
}

#[track_caller]
fn allows(request: &[u8]) {
    assert_eq!(verdict(request), Verdict::Allow);
}

#[test]
fn the_usual_request() {
    denies(&request("Bash", json!({"command": BAD})), "git.push-force");
    allows(&request("Bash", json!({"command": GOOD})));
}

#[test]
fn not_json() {
    denies(b"rubbish", "guard.protocol");
    denies(b"[1]", "guard.protocol");
    denies(b"\xff\xfe", "guard.protocol");
}

#[test]
fn empty_stdin() {
    denies(b"", "guard.protocol");
}

#[test]
fn the_command_is_called_cmd() {
    denies(&request("Bash", json!({"cmd": BAD})), "git.push-force");
    allows(&request("Bash", json!({"cmd": GOOD})));
}

#[test]
fn the_tool_is_called_exec_command() {
    denies(
        &request("exec_command", json!({"cmd": BAD})),
        "git.push-force",
    );
    for tool in [
        "shell",
        "shell_command",
        "local_shell",
        "unified_exec",
        "container.exec",
    ] {
        denies(&request(tool, json!({"command": BAD})), "git.push-force");
    }
}

#[test]
fn the_command_is_an_argument_vector() {
    for tool in ["Bash", "shell"] {
        denies(
            &request(tool, json!({"command": ["git", "push", "--force"]})),
            "git.push-force",
        );
        denies(
            &request(tool, json!({"command": ["bash", "-lc", BAD]})),
            "git.push-force",
        );
        allows(&request(tool, json!({"command": ["git", "log", "it's"]})));
    }
    denies(
        &request("Bash", json!({"command": ["git", 1]})),
        "guard.protocol",
    );
}

#[test]
fn the_command_is_missing_or_of_another_type() {
    denies(&request("Bash", json!({})), "guard.protocol");
    denies(&request("Bash", json!(null)), "guard.protocol");
    denies(&request("Bash", json!({"command": 1})), "guard.protocol");
    denies(&request("Bash", json!({"command": null})), "guard.protocol");
}

#[test]
fn no_cwd_or_one_that_is_not_absolute() {
    let without = json!({"tool_name": "Bash", "tool_input": {"command": GOOD}});
    denies(without.to_string().as_bytes(), "guard.protocol");
    let relative = json!({"tool_name": "Bash", "cwd": "x", "tool_input": {"command": GOOD}});
    denies(relative.to_string().as_bytes(), "guard.protocol");
    let number = json!({"tool_name": "Bash", "cwd": 1, "tool_input": {"command": GOOD}});
    denies(number.to_string().as_bytes(), "guard.protocol");
}

#[test]
fn a_cwd_that_is_not_there_changes_nothing() {
    let gone = |command: &str| {
        json!({"tool_name": "Bash", "cwd": "/no/such/folder", "tool_input": {"command": command}})
            .to_string()
    };
    denies(gone(BAD).as_bytes(), "git.push-force");
    allows(gone(GOOD).as_bytes());
}

#[test]
fn a_lone_surrogate() {
    let text = String::from_utf8(request("Bash", json!({"command": "MARK; git push -f"}))).unwrap();
    denies(
        text.replace("MARK", "ls \\ud800").as_bytes(),
        "guard.protocol",
    );
}

#[test]
fn three_megabytes() {
    let command = format!("echo {}", "a".repeat(3 << 20));
    denies(&request("Bash", json!({"command": command})), "shell.limit");
    let command = format!("echo {}", "a".repeat(5 << 20));
    denies(
        &request("Bash", json!({"command": command})),
        "guard.protocol",
    );
}

#[test]
fn fields_that_we_do_not_know_do_not_matter() {
    let mut json: Json =
        serde_json::from_slice(&request("Bash", json!({"command": GOOD}))).unwrap();
    json["agent_id"] = json!("a");
    json["new_field"] = json!({"x": [1]});
    allows(json.to_string().as_bytes());
}

const PATCH: &str = "*** Begin Patch\n*** Update File: PATH\n@@\n-a\n+b\n*** End Patch";

#[test]
fn a_patch_in_each_form() {
    let inside = PATCH.replace("PATH", "src/main.rs");
    let outside = PATCH.replace("PATH", "/home/dev/.codex-ds/guard.toml");
    for shape in ["command", "input"] {
        allows(&request("apply_patch", json!({ shape: inside })));
        denies(
            &request("apply_patch", json!({ shape: outside })),
            "guard.tamper",
        );
    }
    denies(&request("apply_patch", json!(outside)), "guard.tamper");
    let heredoc = format!("cd src && apply_patch <<'EOF'\n{outside}\nEOF");
    denies(
        &request("Bash", json!({"command": heredoc})),
        "guard.tamper",
    );
    let heredoc = format!("apply_patch <<'EOF'\n{inside}\nEOF");
    allows(&request("Bash", json!({"command": heredoc})));
    denies(&request("apply_patch", json!({})), "guard.protocol");
}

#[test]
fn tools_of_servers() {
    // Servers that set-up installs.
    allows(&request(
        "mcp__fetch__fetch",
        json!({"url": "https://example.com"}),
    ));
    // A server of the user's own: what it is called says what it does.
    allows(&request("mcp__github__get_issue", json!({"number": 1})));
    allows(&request("mcp__github__list_pull_requests", json!({})));
    allows(&request("mcp__notes__search", json!({"q": "delete"})));
    for tool in [
        "mcp__github__create_issue",
        "mcp__github__add_issue_comment",
        "mcp__github__merge_pull_request",
        "mcp__gitlab__deleteBranch",
        "mcp__slack__post-message",
        "mcp__k8s__scale_deployment",
    ] {
        denies(&request(tool, json!({})), "forge.tool");
    }
    // One that runs commands is a shell.
    denies(
        &request("mcp__x__run_command", json!({"command": BAD})),
        "git.push-force",
    );
    allows(&request("mcp__x__run_command", json!({"command": GOOD})));
    denies(
        &request("mcp__x__execute", json!({"what": 1})),
        "guard.tool",
    );
    // No server is a way around a path's protection.
    denies(
        &request(
            "mcp__fs__write_file",
            json!({"path": "/home/dev/.codex-ds/guard.toml"}),
        ),
        "guard.tamper",
    );
    denies(
        &request(
            "mcp__fs__read_file",
            json!({"path": "file:///home/dev/work/x/id_rsa"}),
        ),
        "secret.read",
    );
}

#[test]
fn codexs_own_tools() {
    for tool in ["view_image", "update_plan", "spawn_agent", "wait_agent"] {
        allows(&request(tool, json!({"path": "a.png"})));
    }
    allows(&request(
        "write_stdin",
        json!({"session_id": 1, "chars": ""}),
    ));
    denies(
        &request("write_stdin", json!({"session_id": 1, "chars": "ls\n"})),
        "shell.interactive",
    );
}

#[test]
fn the_reason_fits_what_a_model_reads() {
    let command = format!("git push --force {}", "x".repeat(2_000));
    let text = verdict(&request("Bash", json!({"command": command})))
        .denial()
        .expect("a denial")
        .to_string();
    assert!(
        text.chars().count() <= 400,
        "{} characters",
        text.chars().count()
    );
    assert!(
        text.contains("git.push-force") && text.contains("Instead:"),
        "{text}"
    );
}
