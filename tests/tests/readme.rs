//! What the documents tell a reader to type works.

use codex_ds_tests::peers::{self, CodexVersion};
use codex_ds_tests::scenario::{router, setup};
use codex_ds_tests::{Run, TestEnvironment};

const README: &str = include_str!("../../README.md");
const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");
const MAKEFILE: &str = include_str!("../../Makefile");

/// The address of a server in the README's examples.
const EXAMPLE_ENDPOINT: &str = "http://192.168.1.20:4000/v1";

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut documents = vec![root.clone(), root.join("docs")]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the folder is there"))
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect::<Vec<_>>();
    documents.sort();
    let mut links = 0;
    for document in &documents {
        let text = fs_err::read_to_string(document).expect("it is text");
        for target in text.split("](").skip(1) {
            let target = target.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            links += 1;
            let folder = document.parent().expect("a file is in a folder");
            assert!(
                folder.join(target).exists(),
                "{}: {target}",
                document.display()
            );
        }
    }
    assert!(links > 20, "{links}");
}

#[test]
fn every_make_target_exists() {
    for document in [README, CONTRIBUTING] {
        let commands: Vec<_> = console_lines(document)
            .chain(document.split('`').skip(1).step_by(2))
            .filter_map(|command| command.strip_prefix("make "))
            .collect();
        assert!(commands.len() > 1, "{commands:?}");
        for command in commands {
            let target = command.split_whitespace().next().unwrap_or_default();
            let rule = format!("\n{target}:");
            assert!(MAKEFILE.contains(&rule), "make {target}");
        }
    }
}

#[test]
fn every_command_of_the_readme_runs() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let env = TestEnvironment::with_codex(newest);
    let server = router(vec![]);
    env.program("git", ["init", "--quiet"]).run().success();
    let commands: Vec<_> = console_lines(README)
        .filter(|line| line.starts_with("codex-ds "))
        .collect();
    assert!(commands.len() > 4, "{commands:?}");
    for command in commands {
        // An earlier one may have been `codex-ds undo`.
        setup(&env, &server, &[]);
        shell(&env, &command.replace(EXAMPLE_ENDPOINT, &server.base_url())).success();
    }
}

/// Runs a command line as a reader would, but that set-up installs no MCP servers.
fn shell(env: &TestEnvironment, line: &str) -> Run {
    let line = line.replacen("codex-ds setup", "codex-ds setup --mcp none", 1);
    let programs = peers::codex_ds().parent().expect("a file is in a folder");
    let path = format!("PATH='{}':$PATH", programs.display());
    // The example of a site lies in the working folder by then, and no cluster answers for it.
    let folder = if line.starts_with("codex-ds doctor") {
        env.tmp()
    } else {
        env.work()
    };
    let script = format!("{path}; {line}");
    env.program("sh", ["-c", &script]).in_dir(folder).run()
}

/// What stands after the prompt in the blocks of a console.
fn console_lines(document: &str) -> impl Iterator<Item = &str> {
    document.lines().filter_map(|line| line.strip_prefix("$ "))
}
