//! What a request is made of, and what each part costs.

use std::fmt::Write as _;

use codex_ds_wire::breakdown::{Breakdown, Part, Section};

use crate::dump::analysis::Analysis;
use crate::dump::text::{Align, count, one_line, plain, share, table};
use crate::dump::tokens::{BYTES_PER_TOKEN, Counts};

/// The parts, by section; history summed up by kind.
pub(super) fn parts(breakdown: &Breakdown, counts: &Counts) -> String {
    let whole = breakdown.bytes as u64;
    let tokens = |section: Section, bytes: u64, exact: u64| match (section.is_prompt(), counts) {
        (false, _) => String::new(),
        (true, Some(_)) => count(exact),
        (true, None) => format!("~{}", count(bytes.div_ceil(BYTES_PER_TOKEN))),
    };
    let mut rows = vec![["bytes", "share", "tokens", ""].map(str::to_owned).to_vec()];
    for section in Section::ALL {
        let mut named: Vec<(String, u64, u64, u64)> = Vec::new();
        for (index, part) in breakdown.parts.iter().enumerate() {
            if part.section != section || part.bytes() == 0 {
                continue;
            }
            let exact = counts
                .as_ref()
                .and_then(|counts| counts.get(index))
                .copied()
                .unwrap_or(0);
            let bytes = part.bytes() as u64;
            match named.iter_mut().find(|(name, ..)| *name == part.name) {
                Some((_, all, all_exact, number)) => {
                    *all += bytes;
                    *all_exact += exact;
                    *number += 1;
                }
                None => named.push((part.name.clone(), bytes, exact, 1)),
            }
        }
        let bytes: u64 = named.iter().map(|(_, bytes, ..)| bytes).sum();
        let exact: u64 = named.iter().map(|(_, _, exact, _)| exact).sum();
        if bytes == 0 {
            continue;
        }
        let row = |name: String, bytes: u64, exact: u64| {
            vec![
                count(bytes),
                share(bytes, whole),
                tokens(section, bytes, exact),
                name,
            ]
        };
        let alone = match &named[..] {
            [(name, _, _, number)] => Some(format!(": {}{}", one_line(name), repeated(*number))),
            _ => None,
        };
        let listed = alone.is_none() && section != Section::Parameters;
        rows.push(row(
            format!("{}{}", section.name(), alone.unwrap_or_default()),
            bytes,
            exact,
        ));
        if !listed {
            continue;
        }
        for (name, bytes, exact, number) in named {
            rows.push(row(
                format!("  {}{}", one_line(&name), repeated(number)),
                bytes,
                exact,
            ));
        }
    }
    rows.push(vec![
        count(whole),
        share(whole, whole),
        String::new(),
        "all".to_owned(),
    ]);
    table(
        &[Align::Right, Align::Right, Align::Right, Align::Left],
        &rows,
    )
}

/// How often a name stands there, where that is more than once.
fn repeated(number: u64) -> String {
    if number > 1 {
        format!(" x{number}")
    } else {
        String::new()
    }
}

/// The sum of the counted parts beside the server's own count of the prompt.
pub(super) fn token_check(analysis: &Analysis, counts: &Counts) -> String {
    let Some(used) = analysis.tokens().map(|tokens| tokens.input) else {
        return String::new();
    };
    match counts {
        Some(counts) => {
            let counted: u64 = counts.iter().sum();
            let (more, less) = (used.saturating_sub(counted), counted.saturating_sub(used));
            let rest = if less > 0 {
                format!(
                    "{} fewer than the parts: the template leaves some out",
                    count(less)
                )
            } else {
                format!("{} more than the parts: the template's own", count(more))
            };
            format!(
                "tokens: {} counted by /tokenize; usage says {}, {rest}\n",
                count(counted),
                count(used)
            )
        }
        None => format!(
            "tokens: ~ is bytes / {BYTES_PER_TOKEN}; usage says {} for the whole prompt\n",
            count(used)
        ),
    }
}

/// The parts of one section, each with its place and text.
pub(in crate::dump) fn section(body: &str, breakdown: &Breakdown, wanted: Section) -> String {
    let mut text = String::new();
    for part in breakdown.parts.iter().filter(|part| part.section == wanted) {
        let _ = writeln!(
            text,
            "--- {} ({}), {} bytes",
            one_line(&part.name),
            if part.pointer.is_empty() {
                "everywhere".to_owned()
            } else {
                one_line(&part.pointer)
            },
            count(part.bytes() as u64)
        );
        if wanted != Section::Overhead {
            let _ = writeln!(text, "{}", plain(part.text(body).trim_end()));
        }
    }
    text
}

/// The largest parts of a request, ranked.
pub(in crate::dump) fn offenders(breakdown: &Breakdown) -> String {
    let mut parts: Vec<&Part> = breakdown.parts.iter().collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes()));
    let rows: Vec<Vec<String>> = parts
        .iter()
        .take(10)
        .map(|part| {
            vec![
                count(part.bytes() as u64),
                share(part.bytes() as u64, breakdown.bytes as u64),
                format!("{}: {}", part.section.name(), one_line(&part.name)),
                one_line(&part.pointer),
            ]
        })
        .collect();
    table(
        &[Align::Right, Align::Right, Align::Left, Align::Left],
        &rows,
    )
}
