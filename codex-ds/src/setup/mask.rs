//! Masks secrets in configuration text before it is shown.

use std::borrow::Cow;

use super::profile::PLACEHOLDER_KEY;

/// Keys whose values are secrets, by a part of their name.
const SECRET_KEYS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "api_key",
    "apikey",
    "authorization",
    "cookie",
    "credential",
];

/// `text` with the values of secret keys, and whatever looks like a secret, masked.
#[must_use]
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !SECRET_KEYS
        .iter()
        .any(|key| text.to_ascii_lowercase().contains(key))
    {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split_inclusive('\n').map(line).collect())
}

fn line(line: &str) -> Cow<'_, str> {
    let lower = line.to_ascii_lowercase();
    let Some(start) = SECRET_KEYS.iter().filter_map(|key| lower.find(key)).min() else {
        return Cow::Borrowed(line);
    };
    // From the first quote behind the key's `=`: inline tables hold their key inside the value.
    let Some(equals) = line[start..].find('=').map(|at| start + at) else {
        return Cow::Borrowed(line);
    };
    if line.trim_start().starts_with('#') || line[equals..].contains(PLACEHOLDER_KEY) {
        return Cow::Borrowed(line);
    }
    let mut quoted = false;
    let mut out = line[..equals].to_owned();
    for c in line[equals..].chars() {
        match c {
            '"' | '\'' => {
                quoted = !quoted;
                out.push(c);
            }
            c if quoted => out.push(if c == '\n' { c } else { '*' }),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_keys_are_masked_and_nothing_else() {
        let shown = text(
            "model = \"m\"\nexperimental_bearer_token = \"abc\"\nenv = { API_KEY = 'xyz', A = \"b\" }\n\
             tool_output_token_limit = 100\nexperimental_bearer_token = \"local-no-auth\"\n",
        );
        assert_eq!(
            shown,
            "model = \"m\"\nexperimental_bearer_token = \"***\"\nenv = { API_KEY = '***', A = \"*\" }\n\
             tool_output_token_limit = 100\nexperimental_bearer_token = \"local-no-auth\"\n"
        );
    }
}
