//! Characters that hide what a text says: control characters, invisible ones, and those that
//! turn the direction of the text around them.

use crate::verdict::{Denial, Eval};

/// Whether a character hides something from whoever reads the text.
fn hides(c: char) -> bool {
    matches!(
        c,
        '\0' | '\r' | '\u{b}' | '\u{c}' | '\u{1b}' | '\u{8}' | '\u{7f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{2060}'..='\u{2064}'
            | '\u{180e}'
            | '\u{00ad}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Whether a text has such a character at all.
pub(crate) fn any(text: &str) -> bool {
    // All of them are control bytes or lie beyond ASCII, where most commands have nothing.
    let plain = |b: u8| (b' '..0x7f).contains(&b) || matches!(b, b'\n' | b'\t');
    !text.bytes().all(plain) && text.chars().any(hides)
}

/// The first such character outside these ranges of bytes, which are data: the insides of quotes
/// and the bodies of here-documents. No text may hold NUL: bash would never see what follows it.
pub(crate) fn outside(text: &str, mut data: Vec<(usize, usize)>) -> Option<usize> {
    data.sort_unstable();
    // Ranges may lie in each other: how far those that begin up to here reach.
    let (mut next, mut reach) = (0, 0);
    text.char_indices()
        .filter(|(_, c)| hides(*c))
        .find(|(at, c)| {
            while let Some((from, to)) = data.get(next)
                && from <= at
            {
                reach = reach.max(*to);
                next += 1;
            }
            *c == '\0' || *at >= reach
        })
        .map(|(at, _)| at)
}

/// Denies the code around such a character.
pub(crate) fn deny<T>(text: &str, at: usize) -> Eval<T> {
    let before: Vec<char> = text[..at].chars().rev().take(20).collect();
    let before: String = before.into_iter().rev().collect();
    let bad = text[at..].chars().next().unwrap_or_default();
    Err(Denial::new(
        "shell.control-characters",
        format!("{before}{}", bad.escape_unicode()),
    ))
}
