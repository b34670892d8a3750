//! The exact reader of bash scripts: text in, commands and words out.
//!
//! The guard reads bash itself because the tree-sitter grammar loses commands in shapes that
//! agents write daily (a here-document followed by `;`, `&`, `2>&1 |` or `> file |`) and is
//! quadratic on others. The reader follows bash's own order: a complete line counts even when a
//! later line does not parse.

mod arguments;
mod ast;
mod commands;
mod parameters;
mod scan;
mod words;

pub(crate) use ast::{
    Assign, Command, Index, Join, Op, Param, Piece, Redirect, RedirectOp, Script, Simple, Span,
    Word,
};

use crate::budgets::{Budgets, passes};
use crate::characters;
use scan::Scanner;

/// Reads a whole script. A syntax error does not lose the complete lines before it.
pub(crate) fn parse(text: &str, depth: u32, budgets: Budgets) -> Script {
    let mut scanner = Scanner::new(text, depth, budgets);
    let mut script = Script::default();
    if passes(text.len(), budgets.bytes) {
        script.error = Some(Error::Limit("bytes"));
        return script;
    }
    if let Err(error) = scanner.program(&mut script.commands) {
        script.error = Some(error);
    }
    if let Some(data) = scanner.data.take() {
        script.concealed = characters::outside(text, data);
    }
    script
}

/// Reads text whose expansions count but whose quotes do not: the body of a here-document.
pub(crate) fn parse_body(text: &str, depth: u32, budgets: Budgets) -> Result<Word, Error> {
    Scanner::new(text, depth, budgets).body()
}

/// Why a script could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The text is not bash: the byte where the reader gave up, and what it looked for.
    Syntax(u32, &'static str),
    /// One of the limits was passed: its name.
    Limit(&'static str),
}
