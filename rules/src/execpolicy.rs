//! The same rules as Codex's execpolicy file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::{Matcher, Pattern, Prefixes, Preset, RULES};

/// The body of `rules/default.rules` for a preset: Starlark `prefix_rule` calls, one for each
/// form that a prefix can express. Codex matches these against plain commands only, so the guard
/// stays the layer that decides; this one holds when the hook does not run.
#[must_use]
pub fn execpolicy(preset: Preset) -> String {
    let mut text = format!(
        "# Rendered by codex-ds from its table of rules, preset \"{preset}\".\n\
         # Codex matches plain prefixes only; the guard hook understands the whole command.\n"
    );
    let mut seen = BTreeSet::new();
    for rule in RULES {
        if !rule.presets.contains(&preset) {
            continue;
        }
        let ((Prefixes::These(patterns), _) | (Prefixes::Same, Matcher::Commands(patterns))) =
            (rule.execpolicy, rule.on)
        else {
            continue;
        };
        for pattern in patterns.iter().filter(|pattern| is_prefix(pattern)) {
            let rendered = render(pattern);
            if seen.insert(rendered.clone()) {
                // Writing to a String cannot fail.
                let _ = writeln!(
                    text,
                    "prefix_rule(pattern = {rendered}, decision = \"forbidden\", justification = {})",
                    quote(&format!("{}: {}. {}", rule.id, rule.title, rule.instead))
                );
            }
        }
    }
    text
}

/// Whether a prefix says all that the pattern says.
fn is_prefix(pattern: &Pattern) -> bool {
    pattern.when.is_empty()
        && pattern.unless.is_empty()
        && pattern
            .programs
            .iter()
            .chain(pattern.sub.iter().copied().flatten())
            .all(|word| !word.contains('*'))
}

fn render(pattern: &Pattern) -> String {
    let steps: Vec<String> = std::iter::once(pattern.programs)
        .chain(pattern.sub.iter().copied())
        .map(|words| {
            let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
            match quoted.as_slice() {
                [one] => one.clone(),
                _ => format!("[{}]", quoted.join(", ")),
            }
        })
        .collect();
    format!("[{}]", steps.join(", "))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
