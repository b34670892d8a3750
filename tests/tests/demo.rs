//! `codex-ds demo`, and that the README shows what it prints.

use std::path::Path;

use codex_ds_tests::peers::{self, CodexVersion};
use codex_ds_tests::shown::is_shown;
use codex_ds_tests::{TestEnvironment, each_codex};

const README: &str = include_str!("../../README.md");

#[test]
fn everything_holds_and_nothing_is_left_behind() {
    each_codex(|version, env| {
        let cache = peers::cache();
        env.set("CODEX_DS_CACHE", &cache);
        let run = env.codex_ds(["demo"]).run().success();
        assert_eq!(entries(&env.home()), [""; 0]);
        assert_eq!(entries(&env.work()), [""; 0]);
        assert_eq!(entries(&env.tmp()), [""; 0]);
        let left = entries(&cache);
        assert!(
            !left.iter().any(|name| name.starts_with("demo-")),
            "{left:?}"
        );

        if Some(version) == CodexVersion::all().last()
            && let Err(line) = is_shown(shown(), &run.stdout)
        {
            panic!("README.md shows {line:?}\n{run}");
        }
    });
}

#[test]
fn it_plays_where_the_cache_is_under_the_temporary_folder() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let mut env = TestEnvironment::with_codex(newest);
    env.set("CODEX_DS_CACHE", env.tmp().join("cache"));
    env.codex_ds(["demo", "--no-mcp"]).run().success();
    assert_eq!(entries(&env.tmp()), ["cache"]);
    assert_eq!(entries(&env.tmp().join("cache")), [""; 0]);
}

#[test]
fn without_codex_or_npm_it_says_what_to_install() {
    let mut env = TestEnvironment::new();
    env.set("PATH", env.tmp());
    let run = env.codex_ds(["demo"]).run();
    insta::assert_snapshot!(run, @"
    ------- stderr -------
    no usable Codex on PATH: there is no codex on PATH
    fetching Codex 0.171.0 with npm into [HOME]/.cache/codex-ds/codex/0.171.0 (about 420 MB, once)
    error: there is no codex on PATH, and no npm to fetch it with
    hint: install Node.js, which brings npm, and run this again
    hint: or name a Codex that you have: codex-ds demo --codex PATH
    [exit status: 3]
    ");
}

/// The demo's output in the README.
fn shown() -> &'static str {
    README
        .split_once("<!-- demo -->\n```text\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .expect("the README has the demo's output")
        .0
}

fn entries(folder: &Path) -> Vec<String> {
    fs_err::read_dir(folder)
        .expect("the folder is the test's own")
        .map(|entry| {
            let entry = entry.expect("it is only read");
            entry.file_name().to_string_lossy().into_owned()
        })
        .collect()
}
