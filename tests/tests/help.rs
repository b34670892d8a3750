//! The help, and what is made from the same definitions.

use codex_ds_tests::TestEnvironment;

#[test]
fn the_help_lists_the_commands_by_task() {
    let env = TestEnvironment::new();
    let help = env.codex_ds(["help"]).run().success().stdout;
    assert_eq!(env.codex_ds(["--help"]).run().success().stdout, help);
    assert!(help.contains("\nBegin:\n  demo "), "{help}");
    assert!(help.contains("\nServe the model:\n  deploy "), "{help}");
}

#[test]
fn a_mistyped_command_is_refused_before_codex_takes_it_for_a_prompt() {
    let env = TestEnvironment::new();
    let run = env.codex_ds(["setpu"]).run();
    insta::assert_snapshot!(run);
}

#[test]
fn a_mistyped_option_or_word_below_a_command_gets_a_suggestion() {
    let env = TestEnvironment::new();
    for (typed, meant) in [
        (&["setup", "--endpiont", "x"][..], "--endpoint"),
        (&["undo", "--dryrun"], "--dry-run"),
        (&["doctro", "--deep"], "codex-ds doctor"),
        (&["guard", "chek", "ls"], "check"),
        (&["deploy", "aply"], "apply"),
        (&["dump", "--recrod"], "--record"),
        (&["completions", "bsh"], "bash"),
    ] {
        let run = env.codex_ds(typed).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(meant), "{run}");
    }
}

#[test]
fn completions_are_sound_scripts_that_know_the_commands() {
    let env = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = env.codex_ds(["completions", shell]).run().success().stdout;
        for word in ["setup", "recover", "--dry-run"] {
            assert!(
                script.contains(word.trim_start_matches('-')),
                "{shell}: {word}"
            );
        }
        let file = env.write(format!("completion.{shell}"), &script);
        // Only bash is on every machine.
        let parses = env.program("sh", ["-c", "command -v \"$0\"", shell]).run();
        if parses.code == Some(0) {
            env.program(shell, ["-n"]).arg(&file).run().success();
        }
        if shell == "bash" {
            // As bash calls it for `codex-ds guard al<TAB>`, by what was registered.
            let complete = "COMP_WORDS=(codex-ds guard al); COMP_CWORD=2
                $(complete -p codex-ds | sed 's/.*-F \\([^ ]*\\).*/\\1/') codex-ds al guard
                echo \"${COMPREPLY[@]}\"";
            let run = env
                .program("bash", ["-c", &format!(". {}; {complete}", file.display())])
                .run()
                .success();
            assert_eq!(run.stdout, "allow\n");
        }
    }
}

#[test]
fn each_command_has_a_man_page() {
    let env = TestEnvironment::new();
    let folder = env.root().join("man");
    env.codex_ds(
        ["man", "--output"]
            .map(std::ffi::OsStr::new)
            .into_iter()
            .chain([folder.as_os_str()]),
    )
    .run()
    .success();
    for page in [
        "codex-ds",
        "codex-ds-setup",
        "codex-ds-guard-check",
        "codex-ds-deploy-fit",
    ] {
        let text = fs_err::read_to_string(folder.join(format!("{page}.1"))).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    let page = env.codex_ds(["man"]).run().success().stdout;
    assert!(page.starts_with(".ie"), "{page}");
    // Where there is the program that `man` shows them with, it shows this one.
    if env.program("sh", ["-c", "command -v nroff"]).run().code == Some(0) {
        let page = folder.join("codex-ds.1");
        let shown = env.program("nroff", ["-man"]).arg(page).run().success();
        assert!(shown.stdout.contains("SYNOPSIS"), "{shown}");
    }
}
