//! Brace expansion: `a{b,c}d` and `{1..3}`.

use crate::budgets::passes;
use crate::syntax::Piece;

/// One character of a word outside quotes, or a piece that braces do not look into.
#[derive(Clone)]
enum Item<'p> {
    Char(char),
    Piece(&'p Piece),
}

/// All words that a word's braces stand for; `None` if there are too many.
pub(crate) fn expand(pieces: &[Piece], most: u32) -> Option<Vec<Vec<Piece>>> {
    let braced = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Plain(text) if text.contains('{')));
    if !braced {
        return Some(vec![pieces.to_vec()]);
    }
    let mut items = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Plain(text) => items.extend(text.chars().map(Item::Char)),
            other => items.push(Item::Piece(other)),
        }
    }
    let mut queue = vec![items];
    let mut words = Vec::new();
    while let Some(items) = queue.pop() {
        match split(&items, most) {
            Some(variants) => {
                // The first variant must come out first.
                queue.extend(variants.into_iter().rev());
            }
            None => words.push(lengthened(collect(&items))),
        }
        if passes(queue.len() + words.len(), most) {
            return None;
        }
    }
    Some(words)
}

/// A word in which a variable's name goes on with what a brace put behind it: `$v{1,2}` is `$v1 $v2`.
fn lengthened(mut pieces: Vec<Piece>) -> Vec<Piece> {
    for i in 1..pieces.len() {
        let (before, after) = pieces.split_at_mut(i);
        if let (Some(Piece::Param(param, false)), Some(Piece::Plain(text))) =
            (before.last_mut(), after.first_mut())
            && param.braceless
            && crate::text::is_name(&param.name)
        {
            let end = text
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(text.len());
            param.name.push_str(&text[..end]);
            text.drain(..end);
        }
    }
    pieces
}

/// Expands the first brace that can be expanded.
fn split<'p>(items: &[Item<'p>], most: u32) -> Option<Vec<Vec<Item<'p>>>> {
    let is = |i: usize, c: char| matches!(items.get(i), Some(Item::Char(x)) if *x == c);
    for open in (0..items.len()).filter(|i| is(*i, '{')) {
        let mut level = 0;
        let mut commas = Vec::new();
        for i in open..items.len() {
            if is(i, '{') {
                level += 1;
            } else if is(i, ',') && level == 1 {
                commas.push(i);
            } else if is(i, '}') {
                level -= 1;
                if level > 0 {
                    continue;
                }
                let inner = &items[open + 1..i];
                let alternatives: Vec<Vec<Item<'p>>> = if commas.is_empty() {
                    match sequence(inner, most) {
                        Some(texts) => texts
                            .iter()
                            .map(|text| text.chars().map(Item::Char).collect())
                            .collect(),
                        None => break,
                    }
                } else {
                    let mut from = open + 1;
                    commas
                        .iter()
                        .copied()
                        .chain([i])
                        .map(|to| {
                            let part = items[from..to].to_vec();
                            from = to + 1;
                            part
                        })
                        .collect()
                };
                return Some(
                    alternatives
                        .into_iter()
                        .map(|part| [&items[..open], &part, &items[i + 1..]].concat())
                        .collect(),
                );
            }
        }
    }
    None
}

/// `1..5`, `1..9..2` or `a..e`.
fn sequence(items: &[Item<'_>], most: u32) -> Option<Vec<String>> {
    let mut text = String::new();
    for item in items {
        match item {
            Item::Char(c) => text.push(*c),
            Item::Piece(_) => return None,
        }
    }
    let mut parts = text.split("..");
    let (first, last) = (parts.next()?, parts.next()?);
    let step = parts
        .next()
        .map_or(Some(1), |step| step.parse::<i64>().ok())?;
    let single = |s: &str| {
        let mut chars = s.chars();
        chars
            .next()
            .filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (from, to, letters) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (
            i64::from(u32::from(single(first)?)),
            i64::from(u32::from(single(last)?)),
            true,
        ),
    };
    let step = step.saturating_abs().max(1);
    let count = usize::try_from(from.abs_diff(to) / step.unsigned_abs()).ok()?;
    let count = count.min(usize::try_from(most).ok()?);
    let step = if from <= to { step } else { -step };
    let width = if !letters && (first.starts_with('0') || last.starts_with('0')) {
        first.len().max(last.len())
    } else {
        0
    };
    (0..=count)
        .map(|i| {
            let n = from.checked_add(step.checked_mul(i64::try_from(i).ok()?)?)?;
            if letters {
                char::from_u32(u32::try_from(n).ok()?).map(String::from)
            } else {
                Some(format!("{n:0width$}"))
            }
        })
        .collect()
}

fn collect(items: &[Item<'_>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    for item in items {
        match item {
            Item::Char(c) => plain.push(*c),
            Item::Piece(piece) => {
                if !plain.is_empty() {
                    pieces.push(Piece::Plain(std::mem::take(&mut plain)));
                }
                pieces.push((*piece).clone());
            }
        }
    }
    if !plain.is_empty() {
        pieces.push(Piece::Plain(plain));
    }
    pieces
}
