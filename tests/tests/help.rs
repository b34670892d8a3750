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
        if shell == "bash" {
            let file = env.write("completion.bash", &script);
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
}
