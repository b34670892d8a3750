//! The documents' code blocks, and what is to be done with each.

use std::path::{Path, PathBuf};

/// A document: its path from the project's root, and its text.
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Every document, in the order of their names.
pub(crate) fn documents() -> Vec<Document> {
    let root = root();
    let mut paths: Vec<PathBuf> = [root.clone(), root.join("docs")]
        .into_iter()
        .flat_map(|folder| fs_err::read_dir(folder).expect("the folder is there"))
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| Document {
        name: path
            .strip_prefix(&root)
            .expect("it was found below")
            .to_string_lossy()
            .into_owned(),
        text: fs_err::read_to_string(path).expect("a document is text"),
    };
    paths.iter().map(read).collect()
}

/// The document of this name.
pub(crate) fn document(name: &str) -> Document {
    documents()
        .into_iter()
        .find(|document| document.name == name)
        .unwrap_or_else(|| panic!("there is no {name}"))
}

/// The project's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is to be done with a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A command to run, and what it is shown to print (empty where nothing is shown).
    Run { command: String, shown: String },
    /// A text that the product's own reader has to take.
    Read { language: String, text: String },
    /// Nothing: the reason that the document gives.
    Not { reason: String },
    /// Nothing here: another test holds it against what the program prints.
    Elsewhere,
}

/// A code block as it stands.
struct Block {
    line: usize,
    language: String,
    comment: Option<String>,
    text: String,
}

/// Languages of data; [`super::readers`] has a reader for each place where one is used.
const DATA: &[&str] = &["toml", "json", "yaml", "python"];

/// The steps of a document, in order.
///
/// # Panics
/// When a block says neither what it is nor why it is not run.
pub(crate) fn steps(document: &Document) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(&document.text) {
        let place = format!("{}:{}", document.name, block.line);
        match (block.comment.as_deref(), block.language.as_str()) {
            (Some("demo"), "text") => steps.push(Step::Elsewhere),
            (Some(comment), _) => {
                let reason = comment
                    .strip_prefix("not run: ")
                    .unwrap_or_else(|| panic!("{place}: no test knows <!-- {comment} -->"));
                steps.push(Step::Not {
                    reason: reason.to_owned(),
                });
            }
            (None, "console") => steps.extend(commands(&block.text, &place)),
            // What the command before it prints.
            (None, "text") => match steps.last_mut() {
                Some(Step::Run { shown, .. }) if shown.is_empty() => *shown = block.text,
                _ => panic!("{place}: no command stands before this output"),
            },
            (None, language) if DATA.contains(&language) => steps.push(Step::Read {
                language: language.to_owned(),
                text: block.text,
            }),
            (None, language) => panic!("{place}: no test knows what to do with {language:?}"),
        }
    }
    steps
}

/// The commands of a console, each with the lines under it.
fn commands(text: &str, place: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step::Run {
                command: without_remark(command).to_owned(),
                shown: String::new(),
            });
        } else {
            let Some(Step::Run { shown, .. }) = steps.last_mut() else {
                panic!("{place}: a console begins with a command");
            };
            shown.push_str(line);
            shown.push('\n');
        }
    }
    assert!(!steps.is_empty(), "{place}: there is no command in it");
    steps
}

/// The command without the remark behind it.
fn without_remark(command: &str) -> &str {
    let end = command.find(" # ").unwrap_or(command.len());
    command[..end].trim_end()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines
                .by_ref()
                .map(|(line, _)| line)
                .take_while(|line| *line != "```")
                .collect();
            let comment = before
                .strip_prefix("<!-- ")
                .and_then(|rest| rest.strip_suffix(" -->"));
            blocks.push(Block {
                line: number,
                language: language.to_owned(),
                comment: comment.map(str::to_owned),
                text: body.join("\n") + "\n",
            });
        }
        before = line;
    }
    blocks
}

/// The text without its code blocks.
pub(crate) fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}
