//! The messages that the documents quote are what the programs print, word for word.

use std::path::Path;

use codex_ds_tests::TestEnvironment;
use codex_ds_tests::peers::CodexVersion;

use crate::blocks::{document, root};

/// Words of a server's that are put together there; a stand-in or a running server of the tests says
/// them, word for word.
const PLAYED: &str = "wire/src/standin/check.rs";

/// Holds each message in the tables of messages against Codex's program, our source, and what the
/// stand-in plays of vLLM.
pub(crate) fn hold() {
    let env = TestEnvironment::new();
    let ours = sources(&root().join("codex-ds/src"));
    let played = fs_err::read_to_string(root().join(PLAYED)).expect("it is text");
    let played = played.replace("\\\"", "\"");
    let mut wrong = Vec::new();
    let messages = messages();
    for message in &messages {
        for piece in pieces(message) {
            if ours.contains(piece) || played.contains(piece) {
                continue;
            }
            for version in CodexVersion::all() {
                let programs = version.bin_dir().join("../@openai");
                let found = env.program("grep", ["-raqF", "-e", piece]).arg(programs);
                if found.run().code != Some(0) {
                    wrong.push(format!("Codex {version} has no {piece:?}, of {message:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(messages.len() > 20, "{messages:?}");
}

/// What stands between backticks in the first column of the tables of messages.
fn messages() -> Vec<String> {
    let tables = [
        ("README.md", "| you see | it means |"),
        ("docs/troubleshooting.md", "| message | what it means |"),
    ];
    let mut messages = Vec::new();
    for (name, heading) in tables {
        let text = document(name).text;
        for table in text.split(heading).skip(1) {
            let rows = table
                .lines()
                .skip(2)
                .take_while(|line| line.starts_with('|'));
            messages.extend(
                rows.filter_map(|row| row.split('`').nth(1))
                    .map(str::to_owned),
            );
        }
    }
    messages
}

/// The parts of a message that a program holds as they are: between what it fills in.
fn pieces(message: &str) -> impl Iterator<Item = &str> {
    message
        .split(|c: char| c == '…' || c.is_ascii_digit())
        .flat_map(|part| part.split(": "))
        .map(str::trim)
        .filter(|piece| piece.len() > 8)
}

/// Every source file below a folder, as one text.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs_err::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            text.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs_err::read_to_string(path).expect("source is text"));
        }
    }
    text
}
