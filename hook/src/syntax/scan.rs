//! The scanner's place in the text, its limits, and the here-documents that wait for their lines.

use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{Heredoc, Piece, Span, Word};
use super::{Error, parse_body};
use crate::budgets::Budgets;

/// A here-document whose lines begin after the next line end.
pub(super) struct Pending {
    pub(super) slot: Rc<OnceCell<Heredoc>>,
    pub(super) delimiter: String,
    pub(super) strip_tabs: bool,
    pub(super) expands: bool,
}

/// A place in a text.
pub(super) struct Scanner<'s> {
    pub(super) text: &'s str,
    pub(super) bytes: &'s [u8],
    pub(super) pos: usize,
    pub(super) depth: u32,
    pub(super) budgets: Budgets,
    nodes: u32,
    pub(super) pending: Vec<Pending>,
    /// Ranges of bytes that are data, if the text has characters for which that matters.
    pub(super) data: Option<Vec<(usize, usize)>>,
}

pub(super) type Result<T> = std::result::Result<T, Error>;

impl<'s> Scanner<'s> {
    pub(super) fn new(text: &'s str, depth: u32, budgets: Budgets) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            depth,
            budgets,
            nodes: 0,
            pending: Vec::new(),
            data: crate::characters::any(text).then(Vec::new),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.pos + ahead).copied()
    }

    pub(super) fn starts_with(&self, prefix: &str) -> bool {
        self.bytes[self.pos..].starts_with(prefix.as_bytes())
    }

    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.starts_with(prefix);
        if found {
            self.pos += prefix.len();
        }
        found
    }

    pub(super) fn expect(&mut self, prefix: &'static str) -> Result<()> {
        if self.eat(prefix) {
            Ok(())
        } else {
            Err(self.error(prefix))
        }
    }

    pub(super) fn error(&self, wanted: &'static str) -> Error {
        Error::Syntax(u32::try_from(self.pos).unwrap_or(u32::MAX), wanted)
    }

    pub(super) fn span(&self, start: usize) -> Span {
        Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(self.pos).unwrap_or(u32::MAX),
        }
    }

    /// Takes one character, whatever its length.
    pub(super) fn take_char(&mut self) -> Option<char> {
        let c = self.text[self.pos..].chars().next()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    /// Notes that what was read since `start` is data.
    pub(super) fn is_data(&mut self, start: usize) {
        let end = self.pos;
        if let Some(data) = &mut self.data {
            data.push((start, end));
        }
    }

    /// Counts a node of the tree.
    pub(super) fn node(&mut self) -> Result<()> {
        self.nodes += 1;
        if self.nodes > self.budgets.nodes {
            return Err(Error::Limit("nodes"));
        }
        Ok(())
    }

    /// Runs `inner` one level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= self.budgets.depth {
            return Err(Error::Limit("depth"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Skips `\` followed by a line end, which joins lines everywhere but in single quotes.
    pub(super) fn skip_continuation(&mut self) -> bool {
        let mut skipped = false;
        while self.starts_with("\\\n") {
            self.pos += 2;
            skipped = true;
        }
        skipped
    }

    /// Skips blanks, line continuations and a comment, but no line end.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.starts_with("\\\n") => self.pos += 2,
                Some(b'#') if self.at_word_start() => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.pos += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Whether a `#` here would begin a comment.
    fn at_word_start(&self) -> bool {
        self.pos == 0
            || matches!(
                self.bytes[self.pos - 1],
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')'
            )
    }

    /// Skips blanks, comments and line ends.
    pub(super) fn lines(&mut self) -> Result<()> {
        loop {
            self.blanks();
            if !self.line_end()? {
                return Ok(());
            }
        }
    }

    /// Takes a line end, with the lines of the here-documents that wait for it.
    pub(super) fn line_end(&mut self) -> Result<bool> {
        if self.peek() != Some(b'\n') {
            return Ok(false);
        }
        self.pos += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.heredoc(&pending)?;
        }
        Ok(true)
    }

    /// Reads the lines of one here-document, up to its delimiter or the end of the text.
    pub(super) fn heredoc(&mut self, pending: &Pending) -> Result<()> {
        let start = self.pos;
        let mut text = String::new();
        while self.pos < self.bytes.len() {
            let rest = &self.text[self.pos..];
            let mut line = rest.split_inclusive('\n').next().unwrap_or(rest);
            self.pos += line.len();
            if pending.strip_tabs {
                line = line.trim_start_matches('\t');
            }
            if line.strip_suffix('\n').unwrap_or(line) == pending.delimiter {
                break;
            }
            text.push_str(line);
        }
        self.is_data(start);
        let span = self.span(start);
        let body = if pending.expands {
            let mut word = parse_body(&text, self.depth + 1, self.budgets)?;
            word.span = span;
            word
        } else {
            Word {
                pieces: vec![Piece::Quoted(text)],
                span,
            }
        };
        // A here-document is read once; a second fill cannot happen.
        let _ = pending.slot.set(Heredoc { body });
        Ok(())
    }
}

/// Whether a byte ends a word.
pub(super) fn is_meta(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
    )
}
