//! What is known of a text at run time.

use std::fmt::Write as _;

use codex_ds_rules::is_form;

/// Any text.
const ANY: char = '\u{10ffff}';
/// Any text without a slash: an active `*`.
const STAR: char = '\u{10fffe}';
/// Any one character: an active `?` or `[…]`.
const ONE: char = '\u{fffff}';
/// A name or number of which nothing is known: no glob, no slash.
const WORD: char = '\u{ffffe}';
/// Any text that a program printed.
const OUTPUT: char = '\u{effff}';
/// All of them.
const OPEN: [char; 5] = [ANY, STAR, ONE, WORD, OUTPUT];

/// A text of which parts may be unknown.
///
/// The unknown parts are noncharacters in the text. A command that contains one of these
/// literally is read as unknown there, which is the stricter reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value(String);

impl Value {
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn unknown() -> Self {
        Self(ANY.to_string())
    }

    /// A name or number without a slash, of which nothing else is known.
    pub(crate) fn some_name() -> Self {
        Self(WORD.to_string())
    }

    /// What a program prints, of which nothing is known.
    pub(crate) fn output() -> Self {
        Self(OUTPUT.to_string())
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.0.push_str(text);
        self.bound();
    }

    pub(crate) fn push_value(&mut self, other: &Self) {
        self.0.push_str(&other.0);
        self.bound();
    }

    pub(crate) fn push_star(&mut self) {
        self.0.push(STAR);
    }

    pub(crate) fn push_one(&mut self) {
        self.0.push(ONE);
    }

    /// A text that grew too long is not followed any more.
    fn bound(&mut self) {
        if self.0.len() > crate::limits::VALUE_BYTES {
            self.0.clear();
            self.0.push(ANY);
        }
    }

    /// The text, if all of it is known.
    pub(crate) fn as_known(&self) -> Option<&str> {
        self.is_known().then_some(self.0.as_str())
    }

    pub(crate) fn is_known(&self) -> bool {
        Self::is_known_text(&self.0)
    }

    /// Whether a part of a value's text has no marks.
    pub(crate) fn is_known_text(text: &str) -> bool {
        // Every mark is a noncharacter beyond the third plane: its first byte is 0xF3 or 0xF4.
        !text.bytes().any(|b| b >= 0xf3) || !text.contains(OPEN)
    }

    /// Whether any part could be any text.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_known() && self.0.contains([ANY, OUTPUT])
    }

    /// Whether all that is unknown of it are globs.
    pub(crate) fn is_glob(&self) -> bool {
        !self.is_known() && self.0.contains([STAR, ONE]) && !self.0.contains([ANY, WORD, OUTPUT])
    }

    /// Whether a part is what a program printed.
    pub(crate) fn is_printed(&self) -> bool {
        self.0.contains(OUTPUT)
    }

    /// Whether no letter or digit of it is known.
    pub(crate) fn is_vague(&self) -> bool {
        !self.is_known()
            && !self
                .0
                .chars()
                .any(|c| !OPEN.contains(&c) && c.is_alphanumeric())
    }

    /// Whether nothing at all is known.
    pub(crate) fn is_unknown(&self) -> bool {
        !self.0.is_empty()
            && self
                .0
                .chars()
                .all(|c| matches!(c, ANY | WORD | OUTPUT) || c.is_whitespace())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with its marks: for cutting it at known characters.
    pub(crate) fn raw(&self) -> &str {
        &self.0
    }

    /// The known text up to the first unknown part.
    pub(crate) fn known_prefix(&self) -> &str {
        self.0.split(OPEN).next().unwrap_or_default()
    }

    /// The last component of the text read as a path.
    pub(crate) fn base_name(&self) -> Self {
        Self(self.0.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// Whether the value could be this text.
    pub(crate) fn may_be(&self, text: &str) -> bool {
        if self.is_known() {
            return self.0 == text;
        }
        intersects(
            &self.tokens(),
            &text.chars().map(Token::Char).collect::<Vec<_>>(),
        )
    }

    /// Whether the value could have the form of `pattern`, in which `*` is any text.
    pub(crate) fn may_match(&self, pattern: &str) -> bool {
        if self.is_known() {
            return is_form(&self.0, pattern);
        }
        if !pattern.contains('*') {
            return self.may_be(pattern);
        }
        let pattern: Vec<Token> = pattern
            .chars()
            .map(|c| if c == '*' { Token::Any } else { Token::Char(c) })
            .collect();
        intersects(&self.tokens(), &pattern)
    }

    fn tokens(&self) -> Vec<Token> {
        self.0
            .chars()
            .map(|c| match c {
                ANY | OUTPUT => Token::Any,
                STAR | WORD => Token::Star,
                ONE => Token::One,
                c => Token::Char(c),
            })
            .collect()
    }

    /// For a reader: `…` where nothing is known.
    pub(crate) fn shown(&self) -> String {
        let mut out = String::with_capacity(self.0.len());
        for c in self.0.chars() {
            match c {
                ANY | OUTPUT | WORD => out.push('…'),
                STAR => out.push('*'),
                ONE => out.push('?'),
                c if c.is_control() => {
                    let _ = write!(out, "{}", c.escape_default());
                }
                c => out.push(c),
            }
        }
        out
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::known(text)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Star,
    Any,
}

/// Whether two patterns have a text in common. One row of a table at a time, so that no pattern
/// takes more than the product of the lengths.
fn intersects(left: &[Token], right: &[Token]) -> bool {
    let open = |t: Token| matches!(t, Token::Star | Token::Any);
    // Whether an open token may take the place of one other token.
    let takes = |t: Token, other: Token| match t {
        Token::Any => true,
        Token::Star => other != Token::Char('/'),
        _ => false,
    };
    let mut row = vec![false; right.len() + 1];
    row[0] = true;
    for (j, b) in right.iter().enumerate() {
        row[j + 1] = row[j] && open(*b);
    }
    for a in left {
        let mut next = vec![false; right.len() + 1];
        next[0] = row[0] && open(*a);
        for (j, b) in right.iter().enumerate() {
            next[j + 1] = match (*a, *b) {
                (x, y) if open(x) || open(y) => {
                    // An open token is empty, or takes the other side's token and stays.
                    (open(x) && (row[j + 1] || (takes(x, y) && next[j])))
                        || (open(y) && (next[j] || (takes(y, x) && row[j + 1])))
                }
                (Token::Char(x), Token::Char(y)) => row[j] && x == y,
                (Token::One, Token::Char('/')) | (Token::Char('/'), Token::One) => false,
                _ => row[j],
            };
        }
        row = next;
    }
    row[right.len()]
}
