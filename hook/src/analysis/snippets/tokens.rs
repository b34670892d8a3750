//! A reader of source text that is good enough for many languages: names, strings, signs.

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, with its dots: `os.path.join`, `File::Path`, `Foo->bar`.
    Name(String),
    /// A string; `None` stands for a part that is computed.
    Text(Vec<Option<String>>),
    /// A string in backticks.
    Backticks(String),
    Sign(char),
}

/// What is known of the languages' texts.
pub(super) struct Syntax {
    pub(super) comments: &'static [&'static str],
    pub(super) backticks: bool,
}

/// Cuts source text into tokens.
pub(super) fn read(source: &str, syntax: &Syntax) -> Vec<Token> {
    let mut tokens = Vec::new();
    let chars: Vec<char> = source.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c.is_whitespace() {
            i += 1;
        } else if syntax.comments.iter().any(|mark| starts(&chars, i, mark))
            && (c != '#' || !matches!(chars.get(i.wrapping_sub(1)), Some('$' | '@')))
        {
            while i < chars.len() && chars[i] != '\n' {
                i += 1;
            }
        } else if starts(&chars, i, "/*") {
            while i < chars.len() && !starts(&chars, i, "*/") {
                i += 1;
            }
            i += 2;
        } else if c == '`' && syntax.backticks {
            let (text, next) = until(&chars, i + 1, '`');
            tokens.push(Token::Backticks(text));
            i = next;
        } else if matches!(c, '\'' | '"' | '`') {
            let (token, next) = string(&chars, i, &prefix(&mut tokens));
            tokens.push(token);
            i = next;
        } else if c.is_alphabetic()
            || c == '_'
            || (c == '$'
                && chars
                    .get(i + 1)
                    .is_some_and(|c| c.is_alphabetic() || *c == '_'))
        {
            let (name, next) = name(&chars, i);
            i = next;
            // Perl's and Ruby's quote operators.
            let open = chars.get(i).copied();
            if matches!(name.as_str(), "qx" | "q" | "qq" | "qw")
                && open.is_some_and(|c| "{([</|!".contains(c))
            {
                let (text, next) = until(&chars, i + 1, closing(open.unwrap_or('/')));
                i = next;
                tokens.push(match name.as_str() {
                    "qx" => Token::Backticks(text),
                    _ => Token::Text(vec![Some(text)]),
                });
            } else {
                tokens.push(Token::Name(name));
            }
        } else if starts(&chars, i, "%x") && chars.get(i + 2).is_some_and(|c| "{([<|!".contains(*c))
        {
            let (text, next) = until(&chars, i + 3, closing(chars[i + 2]));
            tokens.push(Token::Backticks(text));
            i = next;
        } else {
            tokens.push(Token::Sign(c));
            i += 1;
        }
    }
    tokens
}

fn starts(chars: &[char], at: usize, text: &str) -> bool {
    text.chars()
        .enumerate()
        .all(|(i, c)| chars.get(at + i) == Some(&c))
}

fn closing(open: char) -> char {
    match open {
        '{' => '}',
        '(' => ')',
        '[' => ']',
        '<' => '>',
        c => c,
    }
}

fn until(chars: &[char], from: usize, close: char) -> (String, usize) {
    let mut text = String::new();
    let mut i = from;
    while i < chars.len() && chars[i] != close {
        if chars[i] == '\\' && i + 1 < chars.len() {
            i += 1;
        }
        text.push(chars[i]);
        i += 1;
    }
    (text, i + 1)
}

/// Takes a string prefix (`f`, `b`, `r`) that was read as a name.
fn prefix(tokens: &mut Vec<Token>) -> String {
    match tokens.last() {
        Some(Token::Name(name))
            if name.len() <= 2 && name.chars().all(|c| "rbfuRBFU".contains(c)) =>
        {
            let name = name.to_lowercase();
            tokens.pop();
            name
        }
        _ => String::new(),
    }
}

/// A quoted string, with three quotes as in Python or one.
fn string(chars: &[char], at: usize, prefix: &str) -> (Token, usize) {
    let quote = chars[at];
    let triple =
        quote != '`' && chars.get(at + 1) == Some(&quote) && chars.get(at + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let raw = prefix.contains('r');
    let template = prefix.contains('f') || quote == '`';
    let mut parts: Vec<Option<String>> = Vec::new();
    let mut text = String::new();
    let mut i = at + width;
    while i < chars.len() {
        let c = chars[i];
        if c == quote
            && (!triple || (chars.get(i + 1) == Some(&quote) && chars.get(i + 2) == Some(&quote)))
        {
            i += width;
            parts.push(Some(text));
            return (Token::Text(parts), i);
        }
        if c == '\\' && !raw && i + 1 < chars.len() {
            let (decoded, next) = escape(chars, i);
            text.push_str(&decoded);
            i = next;
        } else if template && (c == '{' || (c == '$' && chars.get(i + 1) == Some(&'{'))) {
            parts.push(Some(std::mem::take(&mut text)));
            parts.push(None);
            while i < chars.len() && chars[i] != '}' {
                i += 1;
            }
            i += 1;
        } else {
            text.push(c);
            i += 1;
        }
    }
    parts.push(Some(text));
    (Token::Text(parts), i)
}

fn escape(chars: &[char], at: usize) -> (String, usize) {
    let mut end = at + 2;
    let digits = match chars[at + 1] {
        'x' | '0'..='7' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    while digits > 0 && end < chars.len() && end < at + 2 + digits && chars[end].is_ascii_hexdigit()
    {
        end += 1;
    }
    let text: String = chars[at..end].iter().collect();
    (
        crate::text::unescape(&text, crate::text::Escapes::AnsiC),
        end,
    )
}

/// A name with what it is joined to by `.`, `::` or `->`.
fn name(chars: &[char], at: usize) -> (String, usize) {
    let mut text = String::new();
    let mut i = at;
    loop {
        while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_' || chars[i] == '$')
        {
            text.push(chars[i]);
            i += 1;
        }
        let follows = |skip: usize| {
            chars
                .get(i + skip)
                .is_some_and(|c| c.is_alphabetic() || *c == '_')
        };
        if chars.get(i) == Some(&'.') && follows(1) {
            text.push('.');
            i += 1;
        } else if (starts(chars, i, "::") || starts(chars, i, "->")) && follows(2) {
            text.push('.');
            i += 2;
        } else {
            return (text, i);
        }
    }
}
