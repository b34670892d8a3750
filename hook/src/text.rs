//! Escapes of `$'…'`, `printf` and `echo -e`, and quotes.

/// Whose escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// `$'…'`.
    AnsiC,
    /// The format of `printf`, and its `%b`; `echo -e` writes octal with a leading zero.
    Printf,
}

/// Whether a text is a variable's name.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A word as a shell has to read it to get this text.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Resolves backslash escapes.
pub(crate) fn unescape(text: &str, kind: Escapes) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let Some(escape) = chars.next() else {
            out.push(b'\\');
            break;
        };
        match escape {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(27),
            'f' => out.push(12),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(11),
            '\\' | '"' | '?' => push(&mut out, escape),
            '\'' => out.push(b'\''),
            'c' if kind == Escapes::AnsiC => {
                if let Some(control) = chars.next() {
                    out.push(u8::try_from(control).unwrap_or(0) & 0x1f);
                }
            }
            'c' => break,
            'x' | 'u' | 'U' => {
                let most = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                match digits(&mut chars, 16, most) {
                    Some(code) if escape == 'x' => out.push(u8::try_from(code & 0xff).unwrap_or(0)),
                    Some(code) => push(&mut out, char::from_u32(code).unwrap_or('\u{fffd}')),
                    None => {
                        out.push(b'\\');
                        push(&mut out, escape);
                    }
                }
            }
            '0'..='7' => {
                let mut code = escape.to_digit(8).unwrap_or(0);
                let most = if kind == Escapes::Printf && escape == '0' {
                    3
                } else {
                    2
                };
                for _ in 0..most {
                    match chars.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => {
                            code = code * 8 + digit;
                            chars.next();
                        }
                        None => break,
                    }
                }
                out.push(u8::try_from(code & 0xff).unwrap_or(0));
            }
            other => {
                out.push(b'\\');
                push(&mut out, other);
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn digits(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
) -> Option<u32> {
    let mut code = None;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        code = Some(
            code.unwrap_or(0_u32)
                .wrapping_mul(radix)
                .wrapping_add(digit),
        );
        chars.next();
    }
    code
}

/// Whether a text is `NAME=value`.
pub(crate) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}
