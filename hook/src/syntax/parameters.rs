//! Parameter expansions: `$name` and `${…}`.

use super::Script;
use super::ast::{Index, Op, Param, Piece, Word};
use super::scan::{Result, Scanner};
use super::words::flush;

impl Scanner<'_> {
    /// The rest of `${…}`.
    pub(super) fn braced(&mut self, in_quotes: bool) -> Result<Piece> {
        // `${ command; }` and `${| command; }` of bash 5.3 run a command.
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            self.pos += 1;
            let commands = self.list()?;
            self.expect("}")?;
            let script = Script {
                commands,
                ..Script::default()
            };
            return Ok(Piece::Substitution(script, in_quotes));
        }
        let mut param = Param::default();
        if self.peek() == Some(b'#') && !matches!(self.peek_at(1), Some(b'}' | b':' | b'#' | b'%'))
        {
            self.pos += 1;
            param.length = true;
        } else if self.peek() == Some(b'!') && !matches!(self.peek_at(1), Some(b'}' | b':')) {
            self.pos += 1;
            param.indirect = true;
        }
        let start = self.pos;
        match self.peek() {
            Some(b) if b.is_ascii_alphanumeric() || b == b'_' => {
                while self
                    .peek()
                    .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
                {
                    self.pos += 1;
                }
            }
            Some(b) if b"@*#?$!-".contains(&b) => self.pos += 1,
            _ => return Err(self.error("a parameter")),
        }
        self.text[start..self.pos].clone_into(&mut param.name);
        if self.eat("[") {
            let all = self.starts_with("@]");
            let joined = self.starts_with("*]");
            let word = self.operand(b"]", in_quotes)?;
            self.expect("]")?;
            param.index = Some(match (all, joined) {
                (true, _) => Index::All,
                (_, true) => Index::Joined,
                _ => Index::At(word),
            });
        }
        self.operator(&mut param, in_quotes)?;
        self.expect("}")?;
        Ok(Piece::Param(Box::new(param), in_quotes))
    }

    /// The operator of a parameter expansion, with its words.
    fn operator(&mut self, param: &mut Param, in_quotes: bool) -> Result<()> {
        const OPERATORS: &[(&str, Op)] = &[
            (":-", Op::Default),
            ("-", Op::Default),
            (":=", Op::Assign),
            ("=", Op::Assign),
            (":?", Op::Error),
            ("?", Op::Error),
            (":+", Op::Alternative),
            ("+", Op::Alternative),
            ("##", Op::RemoveLongPrefix),
            ("#", Op::RemovePrefix),
            ("%%", Op::RemoveLongSuffix),
            ("%", Op::RemoveSuffix),
            ("//", Op::ReplaceAll),
            ("/#", Op::ReplacePrefix),
            ("/%", Op::ReplaceSuffix),
            ("/", Op::Replace),
            ("^^", Op::UpperAll),
            ("^", Op::Upper),
            (",,", Op::LowerAll),
            (",", Op::Lower),
            ("@", Op::Transform),
            ("*", Op::Transform),
            (":", Op::Slice),
        ];
        let found = OPERATORS.iter().find(|(sign, _)| self.starts_with(sign));
        let Some(&(sign, op)) = found else {
            return Ok(());
        };
        self.pos += sign.len();
        param.op = Some(op);
        param.null_is_unset = sign.len() == 2 && sign.starts_with(':');
        let stop: &[u8] = match op {
            Op::Replace | Op::ReplaceAll | Op::ReplacePrefix | Op::ReplaceSuffix => b"/",
            Op::Slice => b":",
            _ => b"",
        };
        param.first = self.operand(stop, in_quotes)?;
        if let [stop] = stop
            && self.peek() == Some(*stop)
        {
            self.pos += 1;
            param.second = self.operand(b"", in_quotes)?;
        }
        Ok(())
    }

    /// A word inside `${…}`: it ends at `}` or at a byte of `stops`.
    fn operand(&mut self, stops: &[u8], in_quotes: bool) -> Result<Word> {
        self.node()?;
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut plain = String::new();
        loop {
            let Some(byte) = self.peek() else {
                return Err(self.error("}"));
            };
            match byte {
                b'}' => break,
                _ if stops.contains(&byte) => break,
                b'\'' if !in_quotes => {
                    flush(&mut plain, &mut pieces);
                    self.pos += 1;
                    let from = self.pos;
                    while self.peek().is_some_and(|b| b != b'\'') {
                        self.pos += 1;
                    }
                    pieces.push(Piece::Quoted(self.text[from..self.pos].to_owned()));
                    self.expect("'")?;
                }
                b'"' => {
                    flush(&mut plain, &mut pieces);
                    self.pos += 1;
                    self.nested(|s| s.double_quoted(&mut pieces))?;
                }
                b'\\' => {
                    flush(&mut plain, &mut pieces);
                    self.pos += 1;
                    pieces.push(Piece::Quoted(
                        self.take_char().map_or_else(String::new, String::from),
                    ));
                }
                b'$' => {
                    flush(&mut plain, &mut pieces);
                    match self.nested(|s| s.dollar(in_quotes))? {
                        Some(piece) => pieces.push(piece),
                        None => plain.push('$'),
                    }
                }
                b'`' => {
                    flush(&mut plain, &mut pieces);
                    pieces.push(self.backticks(in_quotes)?);
                }
                _ => plain.extend(self.take_char()),
            }
        }
        flush(&mut plain, &mut pieces);
        let span = self.span(start);
        Ok(Word { pieces, span })
    }
}

/// `$name`.
pub(super) fn parameter(name: &str, in_quotes: bool) -> Piece {
    let param = Param {
        name: name.to_owned(),
        braceless: true,
        ..Param::default()
    };
    Piece::Param(Box::new(param), in_quotes)
}
