//! Words: quotes, expansions and substitutions.

use super::ast::{Op, Param, Piece, Word};
use super::parameters::parameter;
use super::scan::{Result, Scanner, is_meta};
use super::{Script, parse};

impl Scanner<'_> {
    /// A word, if one stands here.
    pub(super) fn word(&mut self) -> Result<Option<Word>> {
        self.word_until(is_meta)
    }

    /// The right side of `=~`: parentheses and bars belong to it.
    pub(super) fn regex(&mut self) -> Result<Word> {
        let word = self.word_until(|b| matches!(b, b' ' | b'\t' | b'\n'))?;
        word.ok_or_else(|| self.error("a pattern"))
    }

    fn word_until(&mut self, ends: fn(u8) -> bool) -> Result<Option<Word>> {
        self.node()?;
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut plain = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') && self.pos == start => {
                    self.pos += 1;
                    let script = self.nested(Self::parenthesized)?;
                    pieces.push(Piece::Process(script, byte == b'<'));
                }
                b'?' | b'*' | b'+' | b'@' | b'!' if self.peek_at(1) == Some(b'(') => {
                    flush(&mut plain, &mut pieces);
                    self.pos += 2;
                    pieces.push(Piece::ExtendedGlob(self.extended_glob()?));
                }
                _ if ends(byte) => break,
                b'\\' => {
                    self.pos += 1;
                    if self.peek() == Some(b'\n') {
                        self.pos += 1;
                        continue;
                    }
                    flush(&mut plain, &mut pieces);
                    let quoted = self
                        .take_char()
                        .map_or_else(|| "\\".to_owned(), String::from);
                    pieces.push(Piece::Quoted(quoted));
                }
                b'\'' => {
                    flush(&mut plain, &mut pieces);
                    self.pos += 1;
                    let from = self.pos;
                    while self.peek().is_some_and(|b| b != b'\'') {
                        self.pos += 1;
                    }
                    pieces.push(Piece::Quoted(self.text[from..self.pos].to_owned()));
                    self.is_data(from);
                    self.expect("'")?;
                }
                b'"' => {
                    flush(&mut plain, &mut pieces);
                    self.pos += 1;
                    pieces.push(Piece::Quoted(String::new()));
                    self.nested(|s| s.double_quoted(&mut pieces))?;
                }
                b'$' => {
                    flush(&mut plain, &mut pieces);
                    match self.nested(|s| s.dollar(false))? {
                        Some(piece) => pieces.push(piece),
                        None => plain.push('$'),
                    }
                }
                b'`' => {
                    flush(&mut plain, &mut pieces);
                    pieces.push(self.backticks(false)?);
                }
                _ => {
                    let from = self.pos;
                    self.pos += 1;
                    while self.peek().is_some_and(|b| !is_special(b) && !ends(b)) {
                        self.pos += 1;
                    }
                    plain.push_str(&self.text[from..self.pos]);
                }
            }
        }
        if self.pos == start {
            return Ok(None);
        }
        flush(&mut plain, &mut pieces);
        let span = self.span(start);
        Ok(Some(Word { pieces, span }))
    }

    /// The rest of a string in double quotes.
    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<()> {
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(self.error("\"")),
                Some(b'"') => {
                    self.pos += 1;
                    quoted(&mut text, pieces);
                    return Ok(());
                }
                Some(_) => self.quoted_part(&mut text, pieces, b"$`\"\\")?,
            }
        }
    }

    /// One character or expansion of text in which quotes do not count.
    fn quoted_part(
        &mut self,
        text: &mut String,
        pieces: &mut Vec<Piece>,
        escapable: &[u8],
    ) -> Result<()> {
        match self.peek() {
            Some(b'\\') => {
                self.pos += 1;
                match self.peek() {
                    Some(b'\n') => self.pos += 1,
                    Some(b) if escapable.contains(&b) => text.extend(self.take_char()),
                    _ => text.push('\\'),
                }
            }
            Some(b'$') => match self.nested(|s| s.dollar(true))? {
                Some(piece) => {
                    quoted(text, pieces);
                    pieces.push(piece);
                }
                None => text.push('$'),
            },
            Some(b'`') => {
                quoted(text, pieces);
                pieces.push(self.backticks(true)?);
            }
            _ => {
                let from = self.pos;
                self.pos += 1;
                // What ends the text differs by caller; all of it is among these signs.
                while self.peek().is_some_and(|b| {
                    !matches!(b, b'\\' | b'$' | b'`' | b'"' | b'(' | b')' | b'[' | b']')
                }) {
                    self.pos += 1;
                }
                text.push_str(&self.text[from..self.pos]);
                self.is_data(from);
            }
        }
        Ok(())
    }

    /// The body of a here-document whose delimiter is not quoted.
    pub(super) fn body(&mut self) -> Result<Word> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        while self.peek().is_some() {
            self.quoted_part(&mut text, &mut pieces, b"$`\\")?;
        }
        quoted(&mut text, &mut pieces);
        Ok(Word {
            pieces,
            span: self.span(0),
        })
    }

    /// What follows a `$`; `None` leaves the `$` as it is.
    pub(super) fn dollar(&mut self, in_quotes: bool) -> Result<Option<Piece>> {
        self.node()?;
        self.pos += 1;
        self.skip_continuation();
        match self.peek() {
            Some(b'\'') if !in_quotes => {
                self.pos += 1;
                self.ansi_c().map(Some)
            }
            // `$"…"` is translated text: the quotes follow as usual.
            Some(b'"') if !in_quotes => {
                self.pos += 1;
                let mut pieces = vec![Piece::Quoted(String::new())];
                self.double_quoted(&mut pieces)?;
                Ok(Some(join(pieces)))
            }
            Some(b'(') => {
                if self.starts_with("((") {
                    let start = self.pos;
                    self.pos += 2;
                    if let Some(word) = self.arithmetic("))")? {
                        return Ok(Some(Piece::Arithmetic(word)));
                    }
                    self.pos = start;
                }
                let script = self.parenthesized()?;
                Ok(Some(Piece::Substitution(script, in_quotes)))
            }
            Some(b'[') => {
                self.pos += 1;
                let word = self.arithmetic("]")?.ok_or_else(|| self.error("]"))?;
                Ok(Some(Piece::Arithmetic(word)))
            }
            Some(b'{') => {
                self.pos += 1;
                self.braced(in_quotes).map(Some)
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                let start = self.pos;
                while self
                    .peek()
                    .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
                {
                    self.pos += 1;
                }
                Ok(Some(parameter(&self.text[start..self.pos], in_quotes)))
            }
            Some(b) if b.is_ascii_digit() || b"@*#?$!-".contains(&b) => {
                self.pos += 1;
                Ok(Some(parameter(
                    &self.text[self.pos - 1..self.pos],
                    in_quotes,
                )))
            }
            _ => Ok(None),
        }
    }

    /// `(…)` with commands in it.
    fn parenthesized(&mut self) -> Result<Script> {
        self.expect("(")?;
        let commands = self.list()?;
        self.expect(")")?;
        Ok(Script {
            commands,
            ..Script::default()
        })
    }

    /// The text between backticks, with its own level of backslashes, read as a script.
    pub(super) fn backticks(&mut self, in_quotes: bool) -> Result<Piece> {
        self.pos += 1;
        let mut inner = String::new();
        loop {
            match self.take_char() {
                None => return Err(self.error("`")),
                Some('`') => break,
                Some('\\') => match self.take_char() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some('"') if in_quotes => inner.push('"'),
                    Some('\n') => {}
                    other => {
                        inner.push('\\');
                        inner.extend(other);
                    }
                },
                Some(c) => inner.push(c),
            }
        }
        self.nested(|s| {
            let script = parse(&inner, s.depth, s.budgets);
            if script.concealed.is_some() {
                return Err(s.error("plain characters"));
            }
            match script.error {
                Some(error) => Err(error),
                None => Ok(Piece::Substitution(script, in_quotes)),
            }
        })
    }

    /// `$'…'`.
    fn ansi_c(&mut self) -> Result<Piece> {
        let start = self.pos;
        loop {
            match self.peek() {
                None => return Err(self.error("'")),
                Some(b'\'') => break,
                Some(b'\\') => {
                    self.pos += 1;
                    self.take_char();
                }
                Some(_) => self.pos += 1,
            }
        }
        let text = crate::text::unescape(&self.text[start..self.pos], crate::text::Escapes::AnsiC);
        self.pos += 1;
        Ok(Piece::Quoted(text))
    }

    /// Arithmetic up to `close`, with balanced brackets: what it expands. `None` if the text is
    /// not closed that way, and then the caller goes back.
    pub(super) fn arithmetic(&mut self, close: &'static str) -> Result<Option<Word>> {
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut open = 0_u32;
        loop {
            if open == 0 && self.eat(close) {
                quoted(&mut text, &mut pieces);
                let span = self.span(start);
                return Ok(Some(Word { pieces, span }));
            }
            match self.peek() {
                None => return Ok(None),
                Some(b'(' | b'[') => open += 1,
                Some(b')' | b']') => match open.checked_sub(1) {
                    Some(fewer) => open = fewer,
                    None => return Ok(None),
                },
                Some(b'\'') if close == "))" => {}
                _ => {}
            }
            self.quoted_part(&mut text, &mut pieces, b"$`\"\\")?;
        }
    }

    /// The rest of `@(…)`: its expansions.
    fn extended_glob(&mut self) -> Result<Word> {
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut open = 1_u32;
        loop {
            match self.peek() {
                None => return Err(self.error(")")),
                Some(b'(') => open += 1,
                Some(b')') => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.pos += 1;
                quoted(&mut text, &mut pieces);
                let span = self.span(start);
                return Ok(Word { pieces, span });
            }
            self.quoted_part(&mut text, &mut pieces, b"$`\"\\")?;
        }
    }
}

/// Whether a byte in a word is more than itself. Bytes beyond ASCII are parts of characters.
fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b'?' | b'*' | b'+' | b'@' | b'!' | b'\\' | b'\'' | b'"' | b'$' | b'`' | b'<' | b'>'
    )
}

pub(super) fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Plain(std::mem::take(plain)));
    }
}

fn quoted(text: &mut String, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Quoted(std::mem::take(text)));
    }
}

/// Several quoted pieces as one.
fn join(pieces: Vec<Piece>) -> Piece {
    let word = Word {
        pieces,
        ..Word::default()
    };
    let param = Param {
        // No parameter has an empty name: the default is what stands in the quotes.
        op: Some(Op::Default),
        first: word,
        ..Param::default()
    };
    Piece::Param(Box::new(param), true)
}
