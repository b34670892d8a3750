//! What the documents tell a reader to type works: every code block is run or read by the program that it
//! is for, and every command in the text is one.
//!
//! A block of a `console` is run, and what stands under a command is held against what it printed; a
//! block of `text` behind it is its output, too. A block of data goes to its reader. A block that can be
//! neither says why in a comment right before it: `<!-- not run: REASON -->`.

#[path = "documents/blocks.rs"]
mod blocks;
#[path = "deploy/cluster.rs"]
#[expect(dead_code, reason = "the tests of the serving stack look into it")]
mod cluster;
#[path = "deploy/discovery.rs"]
mod discovery;
#[path = "documents/messages.rs"]
mod messages;
#[path = "documents/otherwise.rs"]
mod otherwise;
#[path = "documents/readers.rs"]
mod readers;
#[path = "documents/words.rs"]
mod words;
#[path = "documents/world.rs"]
mod world;

use std::collections::BTreeSet;

use blocks::{Step, document, documents, root, steps};
use codex_ds_tests::shown::is_shown;
use otherwise::{OTHERWISE, otherwise};
use world::World;

macro_rules! hold {
    ($($test:ident: $document:literal,)*) => {
        /// The documents with blocks that are run or read.
        const HELD: &[&str] = &[$($document),*];

        $(#[test]
        fn $test() {
            hold($document);
        })*
    };
}

hold! {
    the_readme: "README.md",
    the_bench: "docs/bench.md",
    the_serving_stack: "docs/deploy.md",
    the_nodes: "docs/deploy-nodes.md",
    the_dump: "docs/dump.md",
    the_evaluation: "docs/eval.md",
    the_guard: "docs/guard.md",
    the_set_up: "docs/setup.md",
    the_validation: "docs/validate.md",
}

/// Does what the blocks of a document say, in order, in one world.
fn hold(name: &str) {
    let world = World::of(name);
    for step in steps(&document(name)) {
        match step {
            Step::Run { command, shown } => {
                let other = otherwise(name, &command);
                let (run, codes, because) = other
                    .map_or((command.as_str(), &[0][..], ""), |other| {
                        (other.run, other.codes, other.because)
                    });
                if run.is_empty() {
                    assert_eq!(shown, "", "{name}: {command} is not run: {because}");
                    continue;
                }
                let run = world.run(run);
                assert!(
                    run.code.is_some_and(|code| codes.contains(&code)),
                    "{name}: {command} ({because})\n{run}"
                );
                if let Err(line) = is_shown(&shown, &run.stdout) {
                    panic!("{name}: {command} does not print {line:?}\n{run}");
                }
            }
            Step::Read { language, text } => {
                world.set_up();
                readers::read(world.env(), name, &language, &text);
            }
            Step::Not { .. } | Step::Elsewhere => {}
        }
    }
}

#[test]
fn no_block_is_unaccounted_for() {
    let mut held = BTreeSet::new();
    let mut unused: Vec<_> = OTHERWISE.iter().map(|other| other.at).collect();
    let mut reasons = Vec::new();
    let documents = documents();
    for document in &documents {
        let name = document.name.as_str();
        for step in steps(document) {
            match step {
                Step::Run { command, .. } => {
                    unused.retain(|at| *at != (name, command.as_str()));
                    if otherwise(name, &command).is_none_or(|other| !other.run.is_empty()) {
                        held.insert(name);
                    }
                }
                Step::Read { .. } => {
                    held.insert(name);
                }
                Step::Not { reason } => reasons.push(format!("{name}: {reason}")),
                Step::Elsewhere => {}
            }
        }
    }
    assert_eq!(unused, [], "no document has these any more");
    assert_eq!(held, HELD.iter().copied().collect());
    insta::assert_snapshot!(reasons.join("\n"), @"
    ARCHITECTURE.md: a picture
    CONTRIBUTING.md: it needs cargo-fuzz, and ten minutes
    docs/deploy-nodes.md: it needs the nodes' network cards
    docs/deploy-nodes.md: it needs the nodes' network cards, and changes them
    docs/deploy.md: a formula
    docs/deploy.md: it needs a cluster whose controllers end and make pods
    docs/validate.md: one case of it fails; tests/tests/validate.rs plays such a report
    docs/validate.md: nothing fails here
    ");
}

#[test]
fn every_command_in_the_text_is_one() {
    words::hold();
}

#[test]
fn every_message_that_is_quoted_is_one() {
    messages::hold();
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    let root = root();
    let mut links = 0;
    for document in documents() {
        let path = root.join(&document.name);
        let folder = path.parent().expect("a file is in a folder");
        for target in document.text.split("](").skip(1) {
            let target = target.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            links += 1;
            assert!(folder.join(target).exists(), "{}: {target}", document.name);
        }
    }
    assert!(links > 20, "{links}");
}

#[test]
fn the_readme_leads_to_every_document() {
    let readme = document("README.md").text;
    for document in documents() {
        if document.name.starts_with("docs/") {
            let link = format!("({})", document.name);
            assert!(readme.contains(&link), "README.md has no link to {link}");
        }
    }
}

#[test]
fn every_make_target_exists() {
    let makefile = fs_err::read_to_string(root().join("Makefile")).expect("it is text");
    let mut found = 0;
    for document in documents() {
        let spans = words::spans(&document.text);
        let typed = document
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("$ "));
        for command in typed.chain(spans.iter().map(String::as_str)) {
            let Some(targets) = command.strip_prefix("make ") else {
                continue;
            };
            let target = targets.split_whitespace().next().unwrap_or_default();
            assert!(
                makefile.contains(&format!("\n{target}:")),
                "{}: make {target}",
                document.name
            );
            found += 1;
        }
    }
    assert!(found > 5, "{found}");
}
