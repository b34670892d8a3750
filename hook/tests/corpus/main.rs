//! What the guard decides: the case files, the rules' own examples, reported faults, rewritings,
//! policies, and two other readers of shell text beside ours.

mod files;
mod policy;
mod reports;
mod rewrites;
mod rules;
mod second_reader;
mod third_reader;

use std::path::PathBuf;

use codex_ds_hook::{Context, NoFiles, Policy, Verdict, evaluate, explain};

/// The place that the cases speak of.
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

/// Under the policy that holds without a `guard.toml`.
fn verdict(command: &str) -> Verdict {
    evaluate(command, &Policy::default(), &context())
}

/// The cases of a file: a line is `class<TAB>JSON string`.
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
            let command = serde_json::from_str(json).expect("a JSON string");
            (class.to_owned(), command)
        })
        .collect();
    assert!(cases.len() > 10, "{name} has lost its cases");
    cases
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

/// Holds another reader of shell text against ours: every command that it finds in these files,
/// ours must have found. `names` gives the plain names of a text's commands, or nothing where it
/// cannot read it. At least `least` commands have to be compared.
#[track_caller]
fn assert_found(files: &[&str], least: usize, mut names: impl FnMut(&str) -> Option<Vec<String>>) {
    // Nothing stops the analysis before its end that need not.
    let policy = Policy::builtin(codex_ds_rules::Preset::Dev);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    let (mut compared, mut missing) = (0, Vec::new());
    for (_, command) in files.iter().flat_map(|file| cases(file)) {
        let Some(names) = names(&command) else {
            continue;
        };
        let steps = explain(&command, &policy, &context()).steps;
        for name in names.iter().filter(|name| name.bytes().all(plain)) {
            compared += 1;
            if !steps.iter().any(|step| step.words.first() == Some(name)) {
                missing.push(format!("{name} in {command:?}"));
            }
        }
    }
    assert!(compared > least, "only {compared} commands were compared");
    assert_none(&missing);
}
