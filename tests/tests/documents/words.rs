//! The commands in the documents' text and tables: each is parsed by the program itself.

use std::collections::{BTreeMap, BTreeSet};

use codex_ds_tests::TestEnvironment;
use codex_ds_tests::peers::CodexVersion;

use crate::blocks::{documents, prose};

/// Options in the text that are no options of `codex-ds`, and whose they are.
const OTHERS: &[(&str, &[&str])] = &[
    (
        "vLLM",
        &[
            "--chat-template",
            "--enable-prefix-caching",
            "--max-model-len",
            "--max-num-batched-tokens",
            "--max-num-seqs",
            "--enable-auto-tool-choice",
            "--reasoning-parser",
            "--tokenizer-mode",
            "--tool-call-parser",
            "--master-addr",
            "--stream-interval",
        ],
    ),
    ("llama-benchy", &["--no-cache"]),
    ("Codex", &["--skip-git-repo-check"]),
];

/// What stands between backticks outside of code blocks, on one line.
pub(crate) fn spans(text: &str) -> Vec<String> {
    prose(text)
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "))
        .map(|span| span.replace("\\|", "|"))
        .collect()
}

/// Has `codex-ds` parse each of its commands, and looks up each option.
pub(crate) fn hold() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let env = TestEnvironment::with_codex(newest);
    let ours = env.codex_ds(["--help"]).run().success().stdout;
    let codex = env.codex(["--help"]).run().success().stdout;
    let options = options(&env);
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for document in documents() {
        for span in spans(&document.text) {
            seen.entry(span).or_insert_with(|| document.name.clone());
        }
    }
    let mut wrong = Vec::new();
    let mut commands = 0;
    for (span, document) in seen {
        if let Some(line) = span.strip_prefix("codex-ds ") {
            for words in readings(line) {
                commands += 1;
                if let Err(why) = parse(&env, &words, &ours, &codex) {
                    wrong.push(format!("{document}: {span}: {why}"));
                }
            }
        } else if span.starts_with("--") {
            let option = span.split([' ', '=', '[']).next().unwrap_or_default();
            let others = OTHERS.iter().flat_map(|(_, options)| *options);
            if !options.contains(option) && !others.into_iter().any(|other| *other == option) {
                wrong.push(format!("{document}: no command has {option}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands > 60, "{commands}");
}

/// The words of a command line without `codex-ds`; several lines where it names alternatives
/// (`guard check|explain`). Brackets around what may be left out are taken away.
fn readings(line: &str) -> Vec<Vec<String>> {
    let words = shell_words::split(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let mut readings = vec![Vec::new()];
    for word in words {
        if word == "--" {
            if readings.iter().any(Vec::is_empty) {
                for reading in &mut readings {
                    reading.push(word.clone());
                }
                continue;
            }
            break;
        }
        let word = word.trim_start_matches('[').trim_end_matches(']');
        let choices: Vec<&str> = word.split('|').collect();
        let plain = |choice: &&str| choice.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let choices = if choices.iter().all(plain) {
            choices
        } else {
            vec![word]
        };
        readings = choices
            .iter()
            .flat_map(|choice| {
                readings.iter().map(|reading| {
                    let mut reading = reading.clone();
                    reading.push((*choice).to_owned());
                    reading
                })
            })
            .collect();
    }
    readings
}

fn parse(env: &TestEnvironment, words: &[String], ours: &str, codex: &str) -> Result<(), String> {
    let Some(first) = words.first() else {
        return Ok(());
    };
    if !ours.contains(&format!("\n  {first} ")) {
        let theirs = if first == "--" {
            words.get(1)
        } else {
            Some(first)
        };
        // A placeholder stands for any of Codex's words.
        return match theirs {
            Some(word) if word.contains('…') || codex.contains(word.as_str()) => Ok(()),
            Some(word) => Err(format!("neither codex-ds nor codex has {word:?}")),
            None => Ok(()),
        };
    }
    let words = words.iter().filter(|word| *word != "…").map(String::as_str);
    // The parser refuses what it does not know before it comes to the end, and then asks for no more.
    let run = env.codex_ds(words.chain(["--help"])).run();
    // A placeholder stands for a number, or the value is left out.
    let value = run.stderr.split('\'').nth(1).unwrap_or_default();
    let placeholder = run.stderr.contains("invalid value")
        && value.chars().all(|c| c.is_ascii_uppercase() || c == '…');
    let left_out = run.stderr.contains("a value is required");
    if run.code == Some(0) || placeholder || left_out {
        return Ok(());
    }
    Err(run.stderr.lines().next().unwrap_or_default().to_owned())
}

/// Every long option of every command, as the man pages have them.
fn options(env: &TestEnvironment) -> BTreeSet<String> {
    let folder = env.root().join("man");
    env.codex_ds(["man", "--output"])
        .arg(&folder)
        .run()
        .success();
    let mut options = BTreeSet::new();
    for entry in fs_err::read_dir(folder).expect("it was written") {
        let page = fs_err::read_to_string(entry.expect("it can be listed").path());
        let page = page.expect("a man page is text").replace("\\-", "-");
        options.extend(page.split("\\fB").filter_map(|bold| {
            let option = bold.split("\\fR").next()?;
            option.starts_with("--").then(|| option.to_owned())
        }));
    }
    options
}
