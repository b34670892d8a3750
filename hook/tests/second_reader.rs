//! tree-sitter-bash as a second reader: where its grammar reads a command, ours has to have found
//! it too.
//!
//! It is not in the guard itself. Its grammar loses commands in shapes that agents write daily and
//! is quadratic on others (`limits` could not bound it), it would cost a parse for each call, and
//! what it sees beyond ours on these cases is nothing.

use std::path::PathBuf;

use codex_ds_hook::{Context, NoFiles, Policy, explain};
use codex_ds_rules::Preset;
use tree_sitter::{Node, Parser};

/// Cases up to this length: the grammar is quadratic.
const LONGEST: usize = 2_000;

#[test]
fn every_command_that_the_grammar_reads_is_found() {
    let language = tree_sitter_bash::LANGUAGE.into();
    let mut parser = Parser::new();
    parser.set_language(&language).expect("the same ABI");
    let context = Context {
        cwd: PathBuf::from("/home/dev/work/llm-serve"),
        workspace: PathBuf::from("/home/dev/work/llm-serve"),
        home: PathBuf::from("/home/dev"),
        user: "dev".to_owned(),
        codex_home: PathBuf::from("/home/dev/.codex-ds"),
        files: &NoFiles,
    };
    let policy = Policy::builtin(Preset::Dev);
    let (mut compared, mut missing) = (0, Vec::new());
    for file in ["allow.tsv", "allow-more.tsv"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases")
            .join(file);
        let text = std::fs::read_to_string(path).expect("the case file");
        for line in text.lines() {
            let (_, json) = line.split_once('\t').expect("class, tab, JSON");
            let command: String = serde_json::from_str(json).expect("a JSON string");
            let tree = parser.parse(&command, None).expect("no time limit is set");
            if command.len() > LONGEST || tree.root_node().has_error() {
                continue;
            }
            let mut names = Vec::new();
            collect(tree.root_node(), &command, &mut names);
            let steps = explain(&command, &policy, &context).steps;
            for name in names {
                compared += 1;
                let found = steps
                    .iter()
                    .any(|step| step.command.split(' ').next() == Some(name.as_str()));
                if !found {
                    missing.push(format!("{name} in {command:?}"));
                }
            }
        }
    }
    assert!(compared > 1_500, "only {compared} commands were compared");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The plain names of commands. A function's body runs only where it is called, and the grammar
/// reads the text of a here-document as it likes.
fn collect(node: Node<'_>, text: &str, names: &mut Vec<String>) {
    if matches!(node.kind(), "function_definition" | "heredoc_body") {
        return;
    }
    if node.kind() == "command_name" {
        let name = &text[node.byte_range()];
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
        // `time` is a reserved word to bash, and to our reader.
        if name != "time" && name.bytes().all(plain) {
            names.push(name.to_owned());
        }
    }
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        collect(child, text, names);
    }
}
