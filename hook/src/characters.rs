//! Characters that hide what a text says.

use crate::interpreter::Eval;
use crate::verdict::Denial;

/// Denies code with NUL, carriage returns or bidirectional controls in it.
pub(crate) fn check(text: &str) -> Eval<()> {
    let bad = text.char_indices().find(|(_, c)| {
        matches!(c, '\0' | '\r' | '\u{b}' | '\u{c}' | '\u{1b}' | '\u{8}' | '\u{7f}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{2060}'..='\u{2064}' | '\u{180e}' | '\u{00ad}' | '\u{e0000}'..='\u{e007f}')
    });
    match bad {
        None => Ok(()),
        Some((at, c)) => {
            let before: Vec<char> = text[..at].chars().rev().take(20).collect();
            let before: String = before.into_iter().rev().collect();
            Err(Denial::new(
                "shell.control-characters",
                format!("{before}{}", c.escape_unicode()),
            ))
        }
    }
}
