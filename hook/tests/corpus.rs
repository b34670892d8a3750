//! Every line of the case files against its expected verdict. A line is `class<TAB>JSON string`.

use std::path::PathBuf;

use codex_ds_hook::{Context, NoFiles, Policy, evaluate};
use codex_ds_rules::Preset;

fn context() -> Context<'static> {
    Context {
        cwd: PathBuf::from("/home/dev/work/llm-serve"),
        workspace: PathBuf::from("/home/dev/work/llm-serve"),
        home: PathBuf::from("/home/dev"),
        user: "dev".to_owned(),
        codex_home: PathBuf::from("/home/dev/.codex-ds"),
        files: &NoFiles,
    }
}

fn cases(name: &str) -> Vec<(String, String)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("the case file");
    let cases: Vec<_> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (class, json) = line.split_once('\t').expect("class, tab, JSON");
            (
                class.to_owned(),
                serde_json::from_str(json).expect("a JSON string"),
            )
        })
        .collect();
    assert!(cases.len() > 10, "{name} has lost its cases");
    cases
}

/// Lines with another verdict than expected, for the message of a failed test.
fn wrong(name: &str, preset: Preset, denied: bool, skip: &[&str]) -> Vec<String> {
    let policy = Policy::builtin(preset);
    let context = context();
    cases(name)
        .into_iter()
        .filter(|(class, _)| !skip.contains(&class.as_str()))
        .filter_map(|(class, command)| {
            let verdict = evaluate(&command, &policy, &context);
            (verdict.is_deny() != denied).then(|| {
                let why = verdict
                    .denial()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let short: String = command.chars().take(300).collect();
                format!("{class}\t{short:?}\t{why}")
            })
        })
        .collect()
}

#[track_caller]
fn assert_none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Writes the cases as seeds for the fuzz target `verdict`, each in a file of its own.
#[test]
#[ignore = "writes hook/fuzz/corpus/verdict"]
fn seeds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/verdict");
    fs_err::create_dir_all(&folder).expect("a folder of the fuzz target");
    let files = [
        "deny.tsv",
        "deny-more.tsv",
        "deny-wide.tsv",
        "deny-sound.tsv",
        "allow.tsv",
        "allow-more.tsv",
        "allow-wide.tsv",
    ];
    let all = files.iter().flat_map(|file| cases(file));
    for (at, (class, command)) in all.filter(|(_, command)| command.len() < 2_000).enumerate() {
        fs_err::write(folder.join(format!("{class}-{at}")), command).expect("a seed");
    }
}

#[test]
fn lab_denies() {
    assert_none(&wrong("deny.tsv", Preset::Lab, true, &[]));
}

#[test]
fn lab_denies_more() {
    assert_none(&wrong("deny-more.tsv", Preset::Lab, true, &[]));
}

#[test]
fn lab_denies_what_looks_excused() {
    assert_none(&wrong("deny-sound.tsv", Preset::Lab, true, &[]));
}

#[test]
fn lab_denies_at_large() {
    assert_none(&wrong("deny-wide.tsv", Preset::Lab, true, &[]));
}

#[test]
fn both_presets_allow_at_large() {
    assert_none(&wrong("allow-wide.tsv", Preset::Lab, false, &[]));
    assert_none(&wrong("allow-wide.tsv", Preset::Dev, false, &[]));
}

#[test]
fn both_presets_allow_more() {
    assert_none(&wrong("allow-more.tsv", Preset::Lab, false, &[]));
    assert_none(&wrong("allow-more.tsv", Preset::Dev, false, &[]));
}

#[test]
fn lab_allows() {
    assert_none(&wrong(
        "allow.tsv",
        Preset::Lab,
        false,
        &["rm-workspace", "debatable"],
    ));
}

#[test]
fn dev_allows() {
    assert_none(&wrong("allow.tsv", Preset::Dev, false, &[]));
}
