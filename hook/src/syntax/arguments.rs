//! Redirections, assignments and arguments.

use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{Assign, Piece, Redirect, RedirectOp, Word};
use super::scan::{Pending, Result, Scanner};
use crate::text::is_name;

/// Longest first, so that a prefix never hides a longer operator.
const OPERATORS: &[(&str, RedirectOp)] = &[
    ("<<<", RedirectOp::HereString),
    ("<<-", RedirectOp::HereDoc),
    ("<<", RedirectOp::HereDoc),
    ("<>", RedirectOp::ReadWrite),
    ("<&", RedirectOp::Duplicate),
    ("<", RedirectOp::Read),
    ("&>>", RedirectOp::Append),
    ("&>", RedirectOp::Write),
    (">>", RedirectOp::Append),
    (">|", RedirectOp::Write),
    (">&", RedirectOp::Duplicate),
    (">", RedirectOp::Write),
];

impl Scanner<'_> {
    /// A redirection, if one stands here.
    pub(super) fn redirect(&mut self) -> Result<Option<Redirect>> {
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return Ok(None);
        }
        let start = self.pos;
        let descriptor = self.descriptor();
        let operator = OPERATORS
            .iter()
            .find(|(sign, _)| self.starts_with(sign))
            .filter(|_| !self.starts_with("<(") && !self.starts_with(">("));
        let Some(&(sign, mut op)) = operator else {
            self.pos = start;
            return Ok(None);
        };
        self.node()?;
        self.pos += sign.len();
        self.blanks();
        let mut both = sign.starts_with('&');
        let descriptor = descriptor.or((sign == "<&").then_some(0));
        if op == RedirectOp::HereDoc {
            return self.heredoc_start(descriptor, sign == "<<-").map(Some);
        }
        let Some(target) = self.word()? else {
            return Err(self.error("the target of a redirection"));
        };
        if op == RedirectOp::Duplicate && !is_descriptor(&target) {
            // `>& file` writes both outputs; `<& word` has an unknown descriptor.
            both |= sign == ">&";
            op = if sign == ">&" {
                RedirectOp::Write
            } else {
                RedirectOp::Read
            };
        }
        Ok(Some(Redirect {
            descriptor,
            op,
            both,
            target,
            heredoc: None,
        }))
    }

    /// `2` of `2>`, or `{name}` of `{name}>`.
    fn descriptor(&mut self) -> Option<u32> {
        let rest = &self.text[self.pos..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && matches!(rest.as_bytes().get(digits), Some(b'<' | b'>')) {
            self.pos += digits;
            return rest[..digits].parse().ok();
        }
        if let Some(inner) = rest.strip_prefix('{') {
            let name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            let length = inner.bytes().take_while(name).count();
            if is_name(&inner[..length])
                && matches!(inner.as_bytes()[length..], [b'}', b'<' | b'>', ..])
            {
                self.pos += length + 2;
            }
        }
        None
    }

    /// The delimiter of a here-document; its lines are read after the next line end.
    fn heredoc_start(&mut self, descriptor: Option<u32>, strip_tabs: bool) -> Result<Redirect> {
        let start = self.pos;
        let mut delimiter = String::new();
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' | b'"' => {
                    quoted = true;
                    self.pos += 1;
                    let from = self.pos;
                    while self.peek().is_some_and(|b| b != byte) {
                        self.pos += 1;
                    }
                    delimiter.push_str(&self.text[from..self.pos]);
                    self.expect(if byte == b'"' { "\"" } else { "'" })?;
                }
                b'\\' if self.peek_at(1) == Some(b'\n') => self.pos += 2,
                b'\\' => {
                    quoted = true;
                    self.pos += 1;
                    delimiter.extend(self.take_char());
                }
                b'$' if matches!(self.peek_at(1), Some(b'\'' | b'"')) => self.pos += 1,
                _ if super::scan::is_meta(byte) => break,
                _ => delimiter.extend(self.take_char()),
            }
        }
        if self.pos == start {
            return Err(self.error("the delimiter of a here-document"));
        }
        let target = Word {
            pieces: vec![Piece::Quoted(delimiter.clone())],
            span: self.span(start),
        };
        let slot = Rc::new(OnceCell::new());
        self.pending.push(Pending {
            slot: Rc::clone(&slot),
            delimiter,
            strip_tabs,
            expands: !quoted,
        });
        Ok(Redirect {
            descriptor,
            op: RedirectOp::HereDoc,
            both: false,
            target,
            heredoc: Some(slot),
        })
    }

    /// `name=`, `name+=` or `name[…]=` with its value, if one stands here.
    pub(super) fn assignment(&mut self) -> Result<Option<Assign>> {
        let rest = &self.text[self.pos..];
        let length = rest
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count();
        let name = &rest[..length];
        if !is_name(name) {
            return Ok(None);
        }
        let mut after = length;
        let index = rest.as_bytes().get(after) == Some(&b'[');
        if index {
            let Some(close) = rest[after..].find(']') else {
                return Ok(None);
            };
            after += close + 1;
        }
        let append = rest[after..].starts_with("+=");
        if !append && !rest[after..].starts_with('=') {
            return Ok(None);
        }
        let name = name.to_owned();
        // The index may expand something of its own; it is kept in front of the value.
        let mut value = Word::default();
        if index {
            let inner = rest[length + 1..after - 1].to_owned();
            if let Ok(word) = super::parse_body(&inner, self.depth + 1, self.budgets) {
                value.pieces.push(Piece::Arithmetic(word));
            }
        }
        self.pos += after + if append { 2 } else { 1 };
        let start = self.pos;
        if self.peek() == Some(b'(') {
            value.pieces.push(self.array()?);
        } else if let Some(word) = self.word()? {
            value.pieces.extend(word.pieces);
        }
        value.span = self.span(start);
        Ok(Some(Assign {
            name,
            index,
            append,
            value,
        }))
    }

    /// `(a b c)`: the value of an array.
    fn array(&mut self) -> Result<Piece> {
        self.pos += 1;
        let mut words = Vec::new();
        loop {
            self.lines()?;
            if self.eat(")") {
                return Ok(Piece::Array(words));
            }
            match self.word()? {
                Some(word) => words.push(word),
                None => return Err(self.error(")")),
            }
        }
    }

    /// A word of a simple command; `name=(…)` is one, as `declare` and `export` take it.
    pub(super) fn argument(&mut self) -> Result<Option<Word>> {
        let start = self.pos;
        let Some(mut word) = self.word()? else {
            return Ok(None);
        };
        let written = &self.text[start..self.pos];
        if self.peek() == Some(b'(')
            && let Some(name) = written.strip_suffix('=')
            && is_name(name.strip_suffix('+').unwrap_or(name))
        {
            let array = self.nested(Self::array)?;
            word.pieces.push(array);
            word.span = self.span(start);
        }
        Ok(Some(word))
    }
}

/// Whether the target of `>&` is a descriptor (or `-`) and not a file.
fn is_descriptor(word: &Word) -> bool {
    match word.pieces.as_slice() {
        [Piece::Plain(text)] => {
            let number = text.strip_suffix('-').unwrap_or(text);
            number.bytes().all(|b| b.is_ascii_digit())
        }
        [Piece::Param(..)] => true,
        _ => false,
    }
}
