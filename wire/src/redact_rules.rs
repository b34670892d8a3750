//! The forms of secrets that [`redact`](crate::redact) knows.

use std::ops::Range;

/// What a rule finds at the start of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// What to mask.
    Secret(Range<usize>),
    /// Nothing, and nothing either at any offset before this one.
    NotBefore(usize),
}

/// One form of secret.
pub(crate) struct Rule {
    /// The bytes that it may start with.
    first: &'static [u8],
    /// Whether it may only start where a word starts.
    pub boundary: bool,
    /// Looks at the start of a text.
    pub find: fn(&[u8]) -> Found,
}

/// The forms, tried in this order.
pub(crate) const RULES: [Rule; 24] = [
    // OpenAI, Anthropic, OpenRouter and LiteLLM.
    word(b"s", |text| key(text, b"sk-", dashed, 12, true)),
    // GitHub and GitLab.
    word(b"g", |text| key(text, b"ghp_", alphanumeric, 20, false)),
    word(b"g", |text| key(text, b"gho_", alphanumeric, 20, false)),
    word(b"g", |text| key(text, b"ghu_", alphanumeric, 20, false)),
    word(b"g", |text| key(text, b"ghs_", alphanumeric, 20, false)),
    word(b"g", |text| key(text, b"ghr_", alphanumeric, 20, false)),
    word(b"g", |text| key(text, b"github_pat_", dashed, 20, false)),
    word(b"g", |text| key(text, b"glpat-", dashed, 16, false)),
    // AWS, Google.
    word(b"A", |text| key(text, b"AKIA", upper, 16, false)),
    word(b"A", |text| key(text, b"ASIA", upper, 16, false)),
    word(b"A", |text| key(text, b"AIza", dashed, 30, false)),
    // Hugging Face, NVIDIA, npm.
    word(b"h", |text| key(text, b"hf_", alphanumeric, 20, false)),
    word(b"n", |text| key(text, b"nvapi-", dashed, 20, false)),
    word(b"n", |text| key(text, b"npm_", alphanumeric, 30, false)),
    // Slack.
    word(b"x", |text| key(text, b"xoxb-", dashed, 10, true)),
    word(b"x", |text| key(text, b"xoxp-", dashed, 10, true)),
    word(b"x", |text| key(text, b"xapp-", dashed, 10, true)),
    word(b"e", web_token),
    word(b"Bb", |text| bearer(text, b"bearer ")),
    word(b"Aa", |text| bearer(text, b"authorization: basic ")),
    word(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", assignment),
    anywhere(b"-", private_key),
    anywhere(b":", user_info),
    anywhere(b"?&\\", query),
];

/// For each byte the rules that may start with it, a bit each. Most of a text starts none.
pub(crate) const STARTED_BY: [u32; 256] = {
    let mut started = [0; 256];
    let mut rule = 0;
    while rule < RULES.len() {
        let first = RULES[rule].first;
        let mut index = 0;
        while index < first.len() {
            started[first[index] as usize] |= 1 << rule;
            index += 1;
        }
        rule += 1;
    }
    started
};

const fn word(first: &'static [u8], find: fn(&[u8]) -> Found) -> Rule {
    Rule {
        first,
        boundary: true,
        find,
    }
}

const fn anywhere(first: &'static [u8], find: fn(&[u8]) -> Found) -> Rule {
    Rule {
        first,
        boundary: false,
        find,
    }
}

/// Parameters of a URL's query whose values are secrets, in lower case.
const QUERY_KEYS: [&str; 20] = [
    "access_key",
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "client_secret",
    "id_token",
    "key",
    "passwd",
    "password",
    "pwd",
    "refresh_token",
    "secret",
    "sig",
    "signature",
    "token",
    "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature",
];

/// Ends of the names of environment variables whose values are secrets.
const SECRET_NAMES: [&str; 5] = ["KEY", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

type Class = fn(u8) -> bool;

// No class holds the mask's star, so a mask is never part of a secret found later.

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn dashed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn token68(byte: u8) -> bool {
    dashed(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn in_user_info(byte: u8) -> bool {
    dashed(byte) || b".~%!$&'()+,;=:".contains(&byte)
}

fn in_query_value(byte: u8) -> bool {
    token68(byte) || b"%!$:@?".contains(&byte)
}

/// The characters of a PEM body, with its line ends also as JSON escapes.
fn in_key_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\')
}

fn run(text: &[u8], class: Class) -> usize {
    text.iter()
        .position(|byte| !class(*byte))
        .unwrap_or(text.len())
}

fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

/// A prefix, and behind it at least `min` bytes of a class; `digit` when one must be a digit,
/// because without one it is rather a name.
fn key(text: &[u8], prefix: &[u8], class: Class, min: usize, digit: bool) -> Found {
    let Some(rest) = text.strip_prefix(prefix) else {
        return Found::NotBefore(1);
    };
    let length = run(rest, class);
    let end = prefix.len() + length;
    if length < min || (digit && !has_digit(&rest[..length])) {
        return Found::NotBefore(behind(end, prefix));
    }
    Found::Secret(prefix.len()..end)
}

/// A JSON Web Token: three runs with dots between, the first of which starts with `{"`.
fn web_token(text: &[u8]) -> Found {
    let Some(rest) = text.strip_prefix(b"eyJ") else {
        return Found::NotBefore(1);
    };
    let first = 3 + run(rest, dashed);
    let mut end = first;
    for _ in 0..2 {
        let Some(rest) = text[end..].strip_prefix(b".") else {
            return Found::NotBefore(first);
        };
        let length = run(rest, dashed);
        if length < 8 {
            return Found::NotBefore(first);
        }
        end += 1 + length;
    }
    if first < 11 {
        Found::NotBefore(first)
    } else {
        Found::Secret(3..end)
    }
}

/// A scheme, and behind it what looks more like a token than like a word.
fn bearer(text: &[u8], scheme: &[u8]) -> Found {
    if !text
        .get(..scheme.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    {
        return Found::NotBefore(1);
    }
    let length = run(&text[scheme.len()..], token68);
    let end = scheme.len() + length;
    let token = &text[scheme.len()..end];
    if length >= 8 && (length >= 20 || has_digit(token)) {
        return Found::Secret(scheme.len()..end);
    }
    Found::NotBefore(behind(end, scheme))
}

/// Where a prefix may stand again when the run behind it ends at `end` and is no secret: one that
/// lies wholly in the run has less of the same run behind it.
fn behind(end: usize, prefix: &[u8]) -> usize {
    end + 1 - prefix.len()
}

/// The value of an environment variable that is called a secret, as in `DB_PASSWORD="…"`.
fn assignment(text: &[u8]) -> Found {
    let name = run(text, |byte| upper(byte) || byte == b'_');
    let secret = SECRET_NAMES
        .iter()
        .any(|end| text[..name].ends_with(end.as_bytes()));
    let Some(rest) = text[name..].strip_prefix(b"=").filter(|_| secret) else {
        return Found::NotBefore(name);
    };
    let quotes = run(rest, |byte| matches!(byte, b'"' | b'\'' | b'\\')).min(2);
    let value = name + 1 + quotes;
    let length = run(&rest[quotes..], in_query_value);
    // What starts with a dollar sign is the name of another variable.
    if length < 6 || text[value] == b'$' {
        return Found::NotBefore(name);
    }
    Found::Secret(value..value + length)
}

/// A private key in PEM form: all between its markers, or, where it is cut, what looks like its
/// body.
fn private_key(text: &[u8]) -> Found {
    const START: &[u8] = b"-----BEGIN ";
    const DASHES: &[u8] = b"-----";
    let Some(rest) = text.strip_prefix(START) else {
        return Found::NotBefore(1);
    };
    let label = run(&rest[..rest.len().min(40)], |byte| {
        byte.is_ascii_uppercase() || byte == b' '
    });
    let is_key = rest[..label]
        .windows(11)
        .any(|words| words == b"PRIVATE KEY");
    if !is_key || !rest[label..].starts_with(DASHES) {
        return Found::NotBefore(START.len());
    }
    let start = START.len() + label + DASHES.len();
    let body = &text[start..];
    // A quote ends the JSON string that holds the key; no PEM body has one.
    let mut places = 0..body.len();
    match places.find(|at| body[*at] == b'"' || body[*at..].starts_with(DASHES)) {
        Some(end) if body[end..].starts_with(b"-----END ") => Found::Secret(start..start + end),
        _ => Found::Secret(start..start + run(body, in_key_body)),
    }
}

/// What stands before the `@` of a URL: a password, or a token in the user's place.
fn user_info(text: &[u8]) -> Found {
    let Some(rest) = text.strip_prefix(b"://") else {
        return Found::NotBefore(1);
    };
    let end = 3 + run(rest, in_user_info);
    if end == 3 || text.get(end) != Some(&b'@') {
        // The run may end with the colon of the next "://".
        return Found::NotBefore(end - 1);
    }
    Found::Secret(3..end)
}

/// The value of a query parameter that is known to hold a secret.
fn query(text: &[u8]) -> Found {
    let start = match text {
        [b'?' | b'&', ..] => 1,
        _ if text.starts_with(br"\u0026") => 6,
        _ => return Found::NotBefore(1),
    };
    let name = run(&text[start..], dashed);
    let value = start + name + 1;
    let known = |key: &&str| {
        key.as_bytes()
            .eq_ignore_ascii_case(&text[start..start + name])
    };
    if text.get(start + name) != Some(&b'=') || !QUERY_KEYS.iter().any(known) {
        return Found::NotBefore(start);
    }
    let length = run(&text[value..], |byte| in_query_value(byte) && byte != b'?');
    if length < 6 {
        return Found::NotBefore(start);
    }
    Found::Secret(value..value + length)
}
