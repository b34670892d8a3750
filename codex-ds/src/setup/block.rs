//! A block of ours in a text file that others write to as well: `rules/default.rules`, to which
//! Codex appends the approvals that a user gives.

const BEGIN: &str =
    "# >>> codex-ds >>> made by `codex-ds setup`; what is outside this block is yours\n";
const END: &str = "# <<< codex-ds <<<\n";

/// The block around `body`, which has to end with a newline.
#[must_use]
pub fn wrap(body: &str) -> String {
    format!("{BEGIN}{body}{END}")
}

/// A file's text as what is before our block, the block with its marks, and what is after it.
/// `None` when there is no whole block.
#[must_use]
pub fn split(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find(BEGIN)?;
    let end = start + text[start..].find(END)? + END.len();
    Some((&text[..start], &text[start..end], &text[end..]))
}

/// `text` with `block` in place of the block that stands there, or in front when there is none.
#[must_use]
pub fn put(text: &str, block: &str) -> String {
    match split(text) {
        Some((before, _, after)) => format!("{before}{block}{after}"),
        None if text.is_empty() => block.to_owned(),
        None => format!("{block}\n{text}"),
    }
}

/// `text` without our block.
#[must_use]
pub fn take(text: &str) -> String {
    match split(text) {
        Some((before, _, after)) => {
            let after = if before.is_empty() {
                after.strip_prefix('\n').unwrap_or(after)
            } else {
                after
            };
            format!("{before}{after}")
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_the_block_survives_putting_and_taking() {
        for outside in ["", "prefix_rule(pattern=[\"ls\"])\n", "# mine\n\nx\n"] {
            let once = put(outside, &wrap("a\n"));
            let twice = put(&once, &wrap("b\n"));
            assert_eq!(put(&twice, &wrap("b\n")), twice);
            assert!(!twice.contains("a\n#") && twice.contains("b\n"));
            assert_eq!(take(&twice), outside);
        }
        let appended = format!("{}appended\n", wrap("a\n"));
        assert_eq!(take(&put(&appended, &wrap("b\n"))), "appended\n");
    }
}
