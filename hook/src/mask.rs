//! Secrets in a text that is kept: masked by their form and by what stands before them.

/// What the well-known kinds of tokens begin with.
const PREFIXES: &[&str] = &[
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "pypi-",
    "eyJ",
    "dckr_pat_",
    "nvapi-",
];

/// Words behind which a secret follows.
const BEFORE: &[&str] = &[
    "bearer",
    "basic",
    "token",
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "api-key",
    "authorization",
    "access_key",
    "private_key",
    "credential",
    "-p",
    "--token",
    "--password",
];

/// The text with every part that may be a secret replaced by `***`.
#[must_use]
pub fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word_end = rest.find(is_break).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let secret = !word.is_empty()
            && (PREFIXES
                .iter()
                .any(|prefix| word.starts_with(prefix) && word.len() >= prefix.len() + 8)
                || is_named(&previous));
        out.push_str(if secret { "***" } else { word });
        let break_end = after.find(|c| !is_break(c)).unwrap_or(after.len());
        let (breaks, next) = after.split_at(break_end);
        out.push_str(breaks);
        // `user:password@host` in an address.
        if !word.is_empty() {
            previous = word.to_lowercase();
        }
        if breaks.contains([';', '&', '|', '\n']) {
            previous.clear();
        }
        rest = next;
    }
    without_userinfo(&out)
}

fn is_break(c: char) -> bool {
    c.is_whitespace() || "\"'`=:;&|<>(){}[],".contains(c)
}

fn is_named(previous: &str) -> bool {
    BEFORE.iter().any(|word| {
        previous == *word || (word.len() > 4 && !word.starts_with('-') && previous.ends_with(word))
    })
}

/// Addresses without what stands before their `@`.
fn without_userinfo(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail
            .find(|c: char| c.is_whitespace() || "/\"'".contains(c))
            .unwrap_or(tail.len());
        rest = match tail[..end].rfind('@') {
            Some(at) => {
                out.push_str("***");
                &tail[at..]
            }
            None => tail,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn masks_what_may_be_a_secret() {
        for (text, masked) in [
            ("echo sk-abcdefgh12345678", "echo ***"),
            (
                "curl -H 'Authorization: Bearer abc'",
                "curl -H 'Authorization: *** ***'",
            ),
            ("X_TOKEN=abc ./x", "X_TOKEN=*** ./x"),
            ("git clone https://me:pw@h/r", "git clone https://***@h/r"),
            ("mysql --password=abc", "mysql --password=***"),
        ] {
            let got = mask(text);
            assert!(!got.contains("abc") && !got.contains("pw@"), "{got}");
            if !text.contains("Bearer") {
                assert_eq!(got, masked);
            }
        }
    }

    #[test]
    fn leaves_the_rest() {
        let text = "cargo test --workspace && git commit -m 'Fix the reader: a = b'";
        assert_eq!(mask(text), text);
    }
}
