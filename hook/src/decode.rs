//! Filters that turn a known text into another: a name hidden by one is still known.

use crate::value::Value;

/// What a filter makes of a text; `None` if that is not followed.
pub(crate) fn filter(program: &str, args: &[Value], text: &str) -> Option<String> {
    let has = |words: &[&str]| args.iter().any(|arg| words.contains(&arg.raw()));
    let bundled = |letter: char| {
        args.iter().any(|arg| {
            arg.raw().starts_with('-') && !arg.raw().starts_with("--") && arg.raw().contains(letter)
        })
    };
    match program {
        "rev" => Some(
            text.lines()
                .map(|line| line.chars().rev().collect::<String>() + "\n")
                .collect(),
        ),
        "tr" => translate(args, text),
        "base64" if has(&["--decode"]) || bundled('d') || bundled('D') => base64(text),
        "openssl" if has(&["base64", "-base64", "-a"]) && has(&["-d"]) => base64(text),
        "xxd" if bundled('r') => hexadecimal(text),
        _ => None,
    }
}

fn base64(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    String::from_utf8(out).ok()
}

fn hexadecimal(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok())
        .collect::<Option<Vec<u8>>>()?;
    String::from_utf8(bytes).ok()
}

/// `tr SET1 SET2` and `tr -d SET1`.
fn translate(args: &[Value], text: &str) -> Option<String> {
    let deletes = args.iter().any(|arg| arg.raw() == "-d");
    let sets: Vec<Vec<char>> = args
        .iter()
        .filter(|arg| !arg.raw().starts_with('-') || arg.raw().len() == 1)
        .map(|arg| arg.as_known().and_then(set))
        .collect::<Option<_>>()?;
    match sets.as_slice() {
        [from] if deletes => Some(text.chars().filter(|c| !from.contains(c)).collect()),
        [from, to] if args.len() == 2 => Some(
            text.chars()
                .map(|c| match from.iter().rposition(|f| *f == c) {
                    Some(at) => to.get(at).or(to.last()).copied().unwrap_or(c),
                    None => c,
                })
                .collect(),
        ),
        _ => None,
    }
}

/// The characters of one of `tr`'s sets.
fn set(text: &str) -> Option<Vec<char>> {
    let text = match text {
        "[:upper:]" => "A-Z",
        "[:lower:]" => "a-z",
        text if text.contains("[:") => return None,
        text => text,
    };
    let text = crate::text::unescape(text, crate::text::Escapes::Printf);
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        if let (Some('-'), Some(end)) = (chars.get(i + 1), chars.get(i + 2)) {
            out.extend(chars[i]..=*end);
            i += 3;
        } else {
            out.push(chars[i]);
            i += 1;
        }
        if out.len() > 1_000 {
            return None;
        }
    }
    Some(out)
}
