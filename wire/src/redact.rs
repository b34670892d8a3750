//! Masks secrets in what is written to a file or shown.
//!
//! A mask has the length of what it hides, so that sizes and offsets stay true. Masking scans from
//! left to right, in time linear in the text, and doing it twice changes nothing more.
//!
//! It is a net, not a proof: it finds the forms of keys below and the secrets it was told of.

use std::borrow::Cow;
use std::ops::Range;

use crate::Secret;
use crate::redact_rules::{Found, RULES, STARTED_BY};

/// Secrets shorter than this are not looked for: their text would be found everywhere.
pub const SHORTEST_KNOWN_SECRET: usize = 6;

const MASK: u8 = b'*';

/// Headers whose values are shown, beside those that start with `x-codex-`. Everything else is
/// masked, because a header that nobody has heard of may hold a key.
const SHOWN_HEADERS: [&str; 32] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "age",
    "allow",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "expect",
    "host",
    "keep-alive",
    "openai-beta",
    "openai-processing-ms",
    "openai-version",
    "originator",
    "retry-after",
    "server",
    "session-id",
    "session_id",
    "te",
    "thread-id",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "x-client-request-id",
    "x-request-id",
];

/// Masks secrets. See the [module](self).
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Vec<Secret>,
}

impl Redactor {
    /// A redactor that also masks these secrets, wherever they stand; as they are and as they are
    /// written in JSON. One shorter than [`SHORTEST_KNOWN_SECRET`] is left out.
    #[must_use]
    pub fn new<'a>(known: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut all = Vec::new();
        for secret in known {
            let quoted = serde_json::Value::from(secret.expose()).to_string();
            let escaped = Secret::new(quoted.trim_matches('"'));
            all.extend([secret.clone(), escaped]);
        }
        all.retain(|secret| secret.expose().len() >= SHORTEST_KNOWN_SECRET);
        // The longest first: one may be the start of another.
        all.sort_by(|a, b| {
            b.expose()
                .len()
                .cmp(&a.expose().len())
                .then(a.expose().cmp(b.expose()))
        });
        all.dedup();
        Self { known: all }
    }

    /// The text with every secret in it masked. The result has as many bytes.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.known.iter().map(Secret::expose) {
            if text.contains(secret) {
                text = Cow::Owned(text.replace(secret, &"*".repeat(secret.len())));
            }
        }
        // What a rule keeps in front of a secret (a variable's name, say) may itself hold one that
        // shows only now. The kept part is short, so this ends after a time or two.
        while let Some(masked) = masked_by_rules(&text) {
            text = Cow::Owned(masked);
        }
        text
    }

    /// The value of a header, masked unless the header is known to be harmless; of
    /// `Authorization` the scheme is kept. The result has as many bytes.
    #[must_use]
    pub fn header<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        let name = name.to_ascii_lowercase();
        if SHOWN_HEADERS.contains(&name.as_str()) || name.starts_with("x-codex-") {
            return self.text(value);
        }
        let kept = match value.split_once(' ') {
            Some((scheme, _))
                if name.ends_with("authorization")
                    && scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) =>
            {
                scheme.len() + 1
            }
            _ => 0,
        };
        let (scheme, secret) = value.split_at(kept);
        Cow::Owned(format!("{scheme}{}", "*".repeat(secret.len())))
    }
}

/// The text with what the rules find masked; nothing when that is masked already.
fn masked_by_rules(text: &str) -> Option<String> {
    let mut spans = spans(text.as_bytes());
    spans.retain(|span| {
        text.as_bytes()[span.clone()]
            .iter()
            .any(|byte| *byte != MASK)
    });
    if spans.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        bytes[span].fill(MASK);
    }
    // Every span covers whole characters; if one did not, nothing of the text would be shown.
    Some(String::from_utf8(bytes).unwrap_or_else(|_| "*".repeat(text.len())))
}

/// What the rules mask, in order, without overlap.
fn spans(text: &[u8]) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut retry = [0; RULES.len()];
    let mut at = 0;
    // A word may start behind a mask, as it will when the result is masked again.
    let mut masked_to = 0;
    while at < text.len() {
        match rule_at(text, at, masked_to, &mut retry) {
            Some(span) => {
                at = span.end;
                masked_to = span.end;
                spans.push(span);
            }
            None => at += 1,
        }
    }
    spans
}

/// What a rule masks at `at`. `retry` holds where each rule may match again: what it has scanned in
/// vain is not scanned twice.
fn rule_at(
    text: &[u8],
    at: usize,
    masked_to: usize,
    retry: &mut [usize; RULES.len()],
) -> Option<Range<usize>> {
    let mut rules = STARTED_BY[usize::from(text[at])];
    while rules != 0 {
        let index = rules.trailing_zeros() as usize;
        rules &= rules - 1;
        let rule = &RULES[index];
        if at < retry[index] || (rule.boundary && !starts_word(&text[masked_to..at])) {
            continue;
        }
        match (rule.find)(&text[at..]) {
            Found::Secret(span) => return Some(at + span.start..at + span.end),
            Found::NotBefore(offset) => retry[index] = at + offset,
        }
    }
    None
}

/// Whether a word may start behind `before`: it is empty, or ends in no letter or digit but that
/// of a JSON escape (`\n`, `\u0022`).
fn starts_word(before: &[u8]) -> bool {
    match before {
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(text: &str) -> String {
        Redactor::default().text(text).into_owned()
    }

    /// `|` marks the start and end of what is masked.
    fn assert_masks(marked: &str) {
        let parts: Vec<&str> = marked.split('|').collect();
        let expected: String = parts
            .iter()
            .enumerate()
            .map(|(index, part)| match index % 2 {
                0 => (*part).to_owned(),
                _ => "*".repeat(part.len()),
            })
            .collect();
        assert_eq!(masked(&parts.concat()), expected, "{marked}");
    }

    #[test]
    fn keys_of_known_forms_are_masked() {
        for marked in [
            "key sk-|proj-Ab12Cd34Ef56Gh78|.",
            r#"{"a":"line\nsk-|svcacct-0123456789ab|"}"#,
            r"\u0022sk-|litellm-0123456789|\u0022",
            "ghp_|0123456789abcdefghijABCDEFGHIJ012345|",
            "gho_|0123456789abcdefghijABCDEFGHIJ012345| ",
            "github_pat_|11AAAAAAA0abcdefghijkl_0123456789abcdefghijklmnop|",
            "id=AKIA|IOSFODNN7EXAMPLE|,",
            "t: eyJ|hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N|;",
            "Authorization: Bearer |abc.def-0123456789|\"",
            "authorization: bearer |local-0123|",
            "-H 'Authorization: Basic |dXNlcjpwYXNzd29yZA==|'",
            "hf_|abcdefghijklmnopqrstuvwxyz01234567|",
            "nvapi-|0123456789_abcdefghij-ABCDEFGHIJ|",
            "xoxb-|1234567890-abcdefghij|",
            "https://|me:hunter2|@host/path",
            "https://|ghs0123|@github.com/a/b",
            "GET /v1?a=1&api_key=|0123456789|&b=2",
            r"?x=1\u0026token=|abcdef0|#f",
            "export DB_PASSWORD=|hunter2|",
            r#"{"env":"PATH=/usr/bin:/bin\nMY_API_KEY=\"|abc:def0|\"\nHOME=/root"}"#,
            "?X-Amz-Signature=|fe5f80f77d5fa3beca038a248ff027|",
        ] {
            assert_masks(marked);
        }
    }

    #[test]
    fn a_private_key_is_masked_between_its_markers() {
        assert_masks(
            "a -----BEGIN RSA PRIVATE KEY-----|\nMIIE+/=\nx\n|-----END RSA PRIVATE KEY----- b",
        );
        assert_masks(
            r#"{"k":"-----BEGIN OPENSSH PRIVATE KEY-----|\nb3BlbnNz\n|-----END OPENSSH PRIVATE KEY-----\n"}"#,
        );
        assert_masks(
            r#"{"cut":"-----BEGIN PRIVATE KEY-----|\nMIIE|","b":"-----END PRIVATE KEY-----"}"#,
        );
        assert_masks("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----");
    }

    #[test]
    fn a_start_in_vain_hides_no_secret_right_behind_it() {
        for marked in [
            "http://a:http://|me:hunter2|@host",
            "ghp_ghp_|0123456789abcdefghijABCDEFGHIJ012345|",
            "Bearer Bearer |abc.def-0123456789|",
            "eyJ.eyJ|hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N|",
            "?token=?token=|hunter2|",
            "-----BEGIN -----BEGIN PRIVATE KEY-----|MIIE|-----END PRIVATE KEY-----",
            "X_AKIA|IOSFODNN7EXAMPLE|_KEY=|hunter2|",
        ] {
            assert_masks(marked);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "a task-0123456789abcdefgh, a risk-averse disk-2024-11-30-backup",
            "sk-learn and sk-toggleable-content-label, hf_token, sk-",
            "the bearer token authentication of bearer authentication",
            "git@github.com:a/b.git, https://host/path?q=a@b, mailto:a@b.c",
            "?key=a&page=2, key = value, eyJust.words.here",
            "API_KEY=$OTHER_KEY, PASSWORD=, MONKEY=1, KEYS=abcdefgh, TOKEN = abcdefgh",
            "AKIA, AKIAlowercase0000000, -----BEGIN PRIVATE KEY",
        ] {
            assert_masks(text);
        }
    }

    #[test]
    fn known_secrets_are_masked_also_in_json() {
        let redactor = Redactor::new(&[
            Secret::new("hunter22"),
            Secret::new("a\"b\\c\nd"),
            Secret::new("x"),
        ]);
        assert_eq!(redactor.text("xhunter22x"), "x********x");
        let json = serde_json::json!({"k": "a\"b\\c\nd"}).to_string();
        assert_eq!(redactor.text(&json), r#"{"k":"**********"}"#);
    }

    #[test]
    fn headers_are_masked_unless_they_are_known() {
        let redactor = Redactor::default();
        for (name, value, shown) in [
            ("Authorization", "Bearer abc", "Bearer ***"),
            ("authorization", "abc", "***"),
            ("proxy-authorization", "Basic dTpw", "Basic ****"),
            ("Cookie", "a=1; b=2", "********"),
            ("x-api-key", "k€y", "*****"),
            ("content-type", "application/json", "application/json"),
            ("x-codex-window-id", "0", "0"),
            ("user-agent", "sk-0123456789abcdef", "sk-****************"),
        ] {
            assert_eq!(redactor.header(name, value), shown, "{name}");
        }
    }

    #[test]
    fn hostile_repetitions_are_scanned_once() {
        // Scanned quadratically, these would take hours.
        for piece in [
            "sk-",
            "eyJ-",
            "eyJaaaaaaaa.",
            "://a",
            "?key=",
            "-----BEGIN PRIVATE KEY-----",
            "Bearer ",
        ] {
            let text = piece.repeat((1 << 21) / piece.len());
            assert_eq!(masked(&text).len(), text.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_length_stays_and_a_second_time_changes_nothing(
            text in dense_text(),
            known in proptest::collection::vec("[a-z0-9€\"]{6,9}", 0..3),
        ) {
            let known: Vec<Secret> = known.into_iter().map(Secret::from).collect();
            let redactor = Redactor::new(&known);
            let once = redactor.text(&text).into_owned();
            prop_assert_eq!(once.len(), text.len());
            for secret in &known {
                prop_assert!(!once.contains(secret.expose()));
            }
            let twice = redactor.text(&once).into_owned();
            prop_assert_eq!(twice, once);
        }

        #[test]
        fn a_header_keeps_its_length(name in "[a-zA-Z-]{1,20}", value in ".{0,40}") {
            let redactor = Redactor::default();
            let once = redactor.header(&name, &value).into_owned();
            prop_assert_eq!(once.len(), value.len());
            prop_assert_eq!(redactor.header(&name, &once).into_owned(), once.clone());
        }
    }

    /// Text that is dense in what the rules look for.
    fn dense_text() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            3 => prop::sample::select(vec![
                "sk-", "ghp_", "github_pat_", "AKIA", "eyJ", ".", "Bearer ", "Authorization: Basic ", "hf_",
                "nvapi-", "xoxb-", "://", "@", ":", "?", "&", "token=", "A_TOKEN=", "KEY=", "$", "api_key=", "\\n", "\\u0026",
                "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----", "\"", " ", "*",
            ]).prop_map(str::to_owned),
            2 => "[A-Za-z0-9_-]{1,24}",
            1 => ".{0,3}",
        ];
        proptest::collection::vec(token, 0..16).prop_map(|tokens| tokens.concat())
    }
}
