//! Faults that users of this and other guards reported in public, each as a test of ours.

use std::path::Path;

use codex_ds_hook::{Policy, Verdict, evaluate_patch, respond};

use super::{context, verdict};

#[track_caller]
fn denies(commands: &[&str]) {
    for command in commands {
        assert!(verdict(command).is_deny(), "allowed: {command}");
    }
}

#[track_caller]
fn allows(commands: &[&str]) {
    for command in commands {
        let verdict = verdict(command);
        let why = verdict.denial().map(ToString::to_string);
        assert_eq!(why, None, "denied: {command}");
    }
}

/// A crash, a time-out and an unparsable answer let the command run: there are none, whatever comes.
#[test]
fn openai_codex_41979_a_failing_hook_lets_the_command_run() {
    for request in ["", "{", "null", "[]", "{\"tool_name\":{}}"] {
        assert!(respond(request.as_bytes(), &Policy::default(), Path::new("/h")).is_deny());
    }
    denies(&[
        &"(".repeat(100_000),
        &"`".repeat(50_000),
        &"${".repeat(50_000),
    ]);
}

/// Once the session's folder is gone, the hook is skipped.
#[test]
fn openai_codex_45293_the_sessions_folder_disappears() {
    denies(&[
        "mv \"$PWD\" \"${PWD}_gone\"",
        "mv /home/dev/work/llm-serve /tmp/x",
        "mv ../llm-serve ../other",
        "mv /home/dev/work /tmp",
        "cd .. && mv llm-serve x",
        "rm -rf \"$PWD\"",
    ]);
}

/// What is typed into a running shell is shown to no hook.
#[test]
fn openai_codex_46372_interactive_shells() {
    denies(&[
        "bash",
        "bash -i",
        "sh",
        "zsh -l",
        "python3",
        "node",
        "ssh spark-1",
        "docker exec -it web bash",
        "kubectl exec -it pod -- sh",
    ]);
}

/// A nested tool of another name carries the same command.
#[test]
fn openai_codex_23411_other_names_of_the_shell_tool() {
    let request = r#"{"tool_name":"exec_command","cwd":"/w","tool_input":{"cmd":"sudo reboot"}}"#;
    assert!(respond(request.as_bytes(), &Policy::default(), Path::new("/h")).is_deny());
}

/// A patch is no shell text: its paths count, its content does not.
#[test]
fn openai_codex_16732_patches_are_not_shell() {
    allows(&[
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.sh\n+rm -rf / `reboot` \"$(x\n*** End Patch\nEOF",
    ]);
    denies(&[
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: /etc/hosts\n*** End Patch\nEOF",
    ]);
}

/// A deny counts for patches as well.
#[test]
fn openai_codex_27833_patches_are_denied() {
    let patch = "*** Begin Patch\n*** Update File: ../etc/x\n*** Move to: /etc/passwd\n@@\n-a\n+b\n*** End Patch";
    assert!(evaluate_patch(patch, &Policy::default(), &context()).is_deny());
}

/// There is no third answer: "ask" would let the command run, "allow" marks the hook as failed.
#[test]
fn openai_codex_21753_and_agentric_505_only_deny_or_silence() {
    assert_eq!(verdict("ls"), Verdict::Allow);
    assert!(verdict("sudo reboot").is_deny());
}

/// The command may be called `cmd`.
#[test]
fn instar_370_cmd_and_command() {
    for key in ["cmd", "command"] {
        let request =
            format!(r#"{{"tool_name":"Bash","cwd":"/w","tool_input":{{"{key}":"sudo reboot"}}}}"#);
        assert!(respond(request.as_bytes(), &Policy::default(), Path::new("/h")).is_deny());
    }
}

/// A program counts by its base name.
#[test]
fn openai_codex_37079_programs_by_path() {
    denies(&[
        "/tmp/git push",
        "/usr/bin/git push -f",
        "./bin/../git push",
        "\"/usr/bin/git\" push",
    ]);
}

/// Rules hold behind `zsh -lc`, assignments and redirections.
#[test]
fn openai_codex_13175_prefixes_are_seen_through() {
    denies(&[
        "zsh -lc 'git push'",
        "bash -lc \"git push\"",
        "A=1 git push",
        "git push > log 2>&1",
        ">log git push",
    ]);
}

/// A here-document with `2>&1 |` behind it hid the command after the bar.
#[test]
fn pi_packages_875_heredoc_redirect_pipe() {
    denies(&[
        "cat <<'EOF' 2>&1 | xargs rm\na\nEOF",
        "python3 - <<'PY' 2>&1 | sudo tee /etc/x\nprint(1)\nPY",
    ]);
    allows(&["cat <<'EOF' 2>&1 | tail -1\nrm -rf /\nEOF"]);
}

/// Shapes that tree-sitter-bash loses commands in.
#[test]
fn tree_sitter_bash_346_349_305_283_301_334_heredoc_shapes() {
    denies(&[
        "cat <<'EOF'; sudo reboot\nx\nEOF",
        "cat <<'EOF' & sudo reboot\nx\nEOF",
        "cat <<'A' <<'B'; sudo reboot\na\nA\nb\nB",
        "<<'EOF' cat; sudo reboot\nx\nEOF",
        "cat <<''; sudo reboot\nx\n\n",
        "cat <<'EOF' > f | sudo reboot\nx\nEOF",
        "git commit -F - <<'M' 2>&1 | sudo reboot\nm\nM",
    ]);
}

/// Seven bytes hung a tokenizer.
#[test]
fn brush_1270_bytes_that_hang_a_tokenizer() {
    // A here-document without a command runs nothing; that it is read at all is the point.
    allows(&["<<E$[\t\t", "cat <<E$[\n\t\t", "<<E$["]);
}

/// Nested unclosed `$(` took exponential time.
#[test]
fn dcg_189_unclosed_substitutions() {
    for n in [20, 60, 200, 5_000] {
        denies(&[&"$(".repeat(n), &"a=(".repeat(n), &"{ ".repeat(n)]);
    }
}

/// An assignment in front silenced a hook.
#[test]
fn dcg_231_an_assignment_in_front() {
    denies(&["FOO=1 rm -rf /", "A=1 B=2 rm -rf /", "A=$(date) rm -rf /"]);
}

/// An argument that looks harmless disarmed a rule.
#[test]
fn dcg_448_an_argument_does_not_excuse_a_command() {
    denies(&[
        "mkfs.ext4 /dev/sdb # lsblk",
        "wipefs -a /dev/sdb --backup=lsblk",
        "dd if=lsblk of=/dev/sda",
    ]);
}

/// Text given to an interpreter: what it runs counts, what it prints does not.
#[test]
fn dcg_136_278_heredocs_of_interpreters() {
    allows(&["python3 - <<'EOF'\nprint('rm -rf /')\nEOF"]);
    denies(&["python3 - <<'EOF'\nimport os\nos.system('rm -rf /')\nEOF"]);
}

/// A quoted delimiter means that nothing is expanded.
#[test]
fn dcg_357_439_backticks_in_a_quoted_heredoc() {
    allows(&["cat > a.md <<'EOF'\n`rm -rf /`\n```\nreboot\n```\nEOF"]);
    denies(&["cat > a.md <<EOF\n`rm -rf /`\nEOF"]);
}

/// The guard can be asked about a command.
#[test]
fn dcg_170_the_guard_may_be_asked() {
    allows(&[
        "codex-ds guard check 'rm -rf /'",
        "codex-ds guard explain 'sudo reboot'",
    ]);
    denies(&[
        "codex-ds guard check \"$(sudo reboot)\"",
        "codex-ds guard allow abc123",
    ]);
}

/// The rest of the line with the delimiter is a command.
#[test]
fn jcode_922_the_rest_of_the_delimiters_line() {
    denies(&[
        "cat <<EOF; rm -rf ~\nx\nEOF",
        "cat <<EOF && rm -rf ~\nx\nEOF",
    ]);
}

/// No input takes more than its share of work.
#[test]
fn autonomous_dev_1620_and_claude_code_hooks_67_no_input_is_slow() {
    let heredocs = "cat <<E\n".repeat(3_000);
    let braces = format!("echo {}", "{a,b}".repeat(30));
    let globs = format!("rm {}", "*a".repeat(3_000));
    let nested = format!("{}x{}", "echo $(".repeat(90), ")".repeat(90));
    for text in [&heredocs, &braces, &globs, &nested] {
        // It ends; the work is bounded by constants.
        let _ = verdict(text);
    }
}

/// The denial is in the status, whether or not its reason could be written.
#[test]
fn claude_code_plugins_1524_the_verdict_is_one_value() {
    assert!(matches!(verdict("sudo reboot"), Verdict::Deny(_)));
}

/// Wrappers have options with values; a depth that is passed denies.
#[test]
fn nah_16_and_hermes_agent_71996_wrappers() {
    denies(&[
        "timeout -k 5 10 rm -rf /",
        "time -p rm -rf /",
        "env -u A -C / rm -rf etc",
        "nice -n 5 ionice -c 3 rm -rf /",
        &format!("{}rm -rf /", "nice ".repeat(500)),
        &format!("{}ls", "env ".repeat(500)),
    ]);
}

/// Zero-width characters are literal to the shell.
#[test]
fn hermes_agent_49192_zero_width_characters() {
    denies(&["ls\u{200b}; rm -rf /", "rm\u{200b} -rf /"]);
    allows(&["git commit -m 'a\u{200b}b'", "grep '\u{feff}' a.txt"]);
}

/// A process substitution in the target of a redirection runs.
#[test]
fn connectonion_155_process_substitution_in_a_redirection() {
    denies(&[
        "echo x > >(rm -rf /)",
        "cat < <(rm -rf /)",
        "ls 2> >(sudo tee /etc/x)",
    ]);
}

/// Nothing in a command's text overrides the guard.
#[test]
fn gatling_kafka_plugin_186_no_token_in_the_text_overrides() {
    denies(&[
        "git commit -m 'guard: allow' && git push",
        "CODEX_DS_GUARD=off git push",
        "git push # guard allow abc123",
    ]);
}

/// A denial says why and what to do instead.
#[test]
fn melodic_software_2148_a_denial_says_what_to_do_instead() {
    let verdict = verdict("rm notes.txt");
    let text = verdict.denial().expect("a denial").to_string();
    for part in ["delete.file", "notes.txt", "Instead:"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Commit messages and search strings are data.
#[test]
fn gstack_1060_pact_1140_hermes_94469_messages_and_patterns() {
    allows(&[
        "git commit -m 'remove rm -rf / from the installer'",
        "git commit -m \"$(cat <<'EOF'\nkubectl delete ns x\nEOF\n)\"",
        "grep -rn 'rm -rf /' .",
        "rg 'git push --force' docs",
    ]);
}

/// Real losses: a variable in a clean-up, a slip of a quote, a parent of the workspace.
#[test]
fn claude_code_93099_49129_codex_42875_40329_real_losses() {
    denies(&[
        "rm -rf \"$HOME\"",
        "rm -rf $HOME/",
        "rm -rf \"$UNSET/\"*",
        "rm -rf ~/",
        "rm -rf ..",
        "rm -rf ../*",
        "rmdir /s /q \"C:\\x\" /",
        "cd .. && rm -rf *",
        "trap 'rm -rf \"$HOME\"' EXIT",
        "TMP=$HOME; rm -rf \"$TMP\"",
    ]);
}
