//! Languages whose syntax is not read. Where a snippet of one has a word that starts programs, its
//! strings are checked as command lines; where it has one that deletes, as paths.

use codex_ds_rules::effects::Act;

use super::tokens::Token;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::value::Value;
use crate::verdict::Eval;

/// Words that start a program.
const STARTS: &[&str] = &[
    "system",
    "exec",
    "execute",
    "shell",
    "sh",
    "run",
    "cmd",
    "spawn",
    "popen",
    "command",
    "callCommand",
    "callProcess",
    "readProcess",
    "rawSystem",
    "ProcessBuilder",
    "process",
    "Process",
    "port_open",
    "startProcess",
    "launch",
    "shellout",
    "execShellCmd",
    "execCmd",
];

/// Words that delete.
const DELETES: &[&str] = &[
    "delete",
    "rm",
    "rm_rf",
    "rm_r",
    "rmdir",
    "remove",
    "removeFile",
    "removeDirectory",
    "unlink",
    "deleteFile",
    "deleteDirectory",
    "empty",
    "rmtree",
    "deleteIfExists",
];

/// Checks a snippet.
pub(super) fn check(
    this: &mut Interpreter<'_>,
    program: &str,
    tokens: &[Token],
    state: &State,
) -> Eval<()> {
    let says = |words: &[&str]| {
        tokens.iter().any(|token| {
            matches!(token, Token::Name(name)
                if name.split(['.', '_', '-']).chain([name.rsplit('.').next().unwrap_or(name)])
                    .any(|part| words.contains(&part.trim_end_matches('!'))))
        })
    };
    let (starts, deletes) = (says(STARTS), says(DELETES));
    if !starts && !deletes {
        return Ok(());
    }
    if program == "osascript" && deletes && says(&["trash", "Finder"]) {
        this.deny("delete.file", format!("{program}: trash"))?;
    }
    let mut line = Value::default();
    for token in tokens {
        match token {
            Token::Text(text) => {
                let text = super::calls::value(text);
                if deletes && text.raw().contains('/') {
                    this.act(Act::Delete, &text, state)?;
                }
                if !line.is_empty() {
                    line.push(" ");
                }
                line.push_value(&text);
            }
            // Strings that stand together are the words of one command.
            Token::Sign(',' | '[' | '(' | ' ' | ':') => {}
            _ => run(this, starts, &std::mem::take(&mut line), state)?,
        }
    }
    run(this, starts, &line, state)
}

fn run(this: &mut Interpreter<'_>, starts: bool, line: &Value, state: &State) -> Eval<()> {
    if !starts || line.is_empty() {
        return Ok(());
    }
    let mut inner = state.clone();
    inner.stdin = Some(Value::default());
    this.nested(|this| this.code(line, &mut inner)).map(drop)
}
