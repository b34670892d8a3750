//! tree-sitter-bash as a second reader: where its grammar reads a command, ours has to have found
//! it too.
//!
//! It is not in the guard itself. Its grammar loses commands in shapes that agents write daily and
//! is quadratic on others (`limits` could not bound it), it would cost a parse for each call, and
//! what it sees beyond ours on these cases is nothing.

use tree_sitter::{Node, Parser};

use super::assert_found;

/// Cases up to this length: the grammar is quadratic.
const LONGEST: usize = 2_000;

#[test]
fn every_command_that_the_grammar_reads_is_found() {
    let language = tree_sitter_bash::LANGUAGE.into();
    let mut parser = Parser::new();
    parser.set_language(&language).expect("the same ABI");
    assert_found(&["allow.tsv", "allow-more.tsv"], 1_500, |command| {
        let tree = parser.parse(command, None).expect("no time limit is set");
        if command.len() > LONGEST || tree.root_node().has_error() {
            return None;
        }
        let mut names = Vec::new();
        collect(tree.root_node(), command, &mut names);
        Some(names)
    });
}

/// The names of commands. A function's body runs only where it is called, and the grammar
/// reads the text of a here-document as it likes.
fn collect(node: Node<'_>, text: &str, names: &mut Vec<String>) {
    if matches!(node.kind(), "function_definition" | "heredoc_body") {
        return;
    }
    if node.kind() == "command_name" {
        let name = &text[node.byte_range()];
        // `time` is a reserved word to bash, and to our reader.
        if name != "time" {
            names.push(name.to_owned());
        }
    }
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        collect(child, text, names);
    }
}
