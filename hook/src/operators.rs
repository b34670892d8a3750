//! The operators of parameter expansion on what is known of a value.

use crate::limits;
use crate::syntax::Op;
use crate::value::Value;

/// Matching tries every cut of the text: longer texts are not followed.
const LONGEST: usize = 1_000;

/// Applies an operator that changes a value.
pub(crate) fn apply(op: Op, value: &Value, pattern: &Value, second: &Value) -> Value {
    let Some(text) = value.as_known().filter(|text| text.len() <= LONGEST) else {
        // What is cut off the end leaves the known beginning in place.
        return if matches!(op, Op::RemoveSuffix | Op::RemoveLongSuffix) && !value.is_unknown() {
            let mut kept = Value::known(value.known_prefix());
            kept.push_value(&Value::unknown());
            kept
        } else {
            Value::unknown()
        };
    };
    match op {
        Op::RemovePrefix | Op::RemoveLongPrefix => {
            let mut cuts = cuts(text);
            if op == Op::RemoveLongPrefix {
                cuts.reverse();
            }
            let cut = cuts.into_iter().find(|cut| pattern.may_be(&text[..*cut]));
            Value::known(&text[cut.unwrap_or(0)..])
        }
        Op::RemoveSuffix | Op::RemoveLongSuffix => {
            let mut cuts = cuts(text);
            if op == Op::RemoveSuffix {
                cuts.reverse();
            }
            let cut = cuts.into_iter().find(|cut| pattern.may_be(&text[*cut..]));
            Value::known(&text[..cut.unwrap_or(text.len())])
        }
        Op::Replace | Op::ReplaceAll | Op::ReplacePrefix | Op::ReplaceSuffix => {
            replace(op, text, pattern, second)
        }
        Op::Slice => slice(text, pattern, second),
        Op::UpperAll => Value::known(text.to_uppercase()),
        Op::LowerAll => Value::known(text.to_lowercase()),
        Op::Upper | Op::Lower => {
            let mut chars = text.chars();
            let first = chars.next().map(String::from).unwrap_or_default();
            let first = if op == Op::Upper {
                first.to_uppercase()
            } else {
                first.to_lowercase()
            };
            Value::known(first + chars.as_str())
        }
        Op::Transform => match pattern.as_known() {
            Some("U") => Value::known(text.to_uppercase()),
            Some("L") => Value::known(text.to_lowercase()),
            Some("E" | "P") => {
                Value::known(crate::text::unescape(text, crate::text::Escapes::AnsiC))
            }
            Some("Q" | "K" | "k") => value.clone(),
            _ => Value::unknown(),
        },
        Op::Default | Op::Assign | Op::Error | Op::Alternative => value.clone(),
    }
}

/// Every place where a text can be cut, from its beginning to its end.
fn cuts(text: &str) -> Vec<usize> {
    text.char_indices()
        .map(|(i, _)| i)
        .chain([text.len()])
        .collect()
}

fn replace(op: Op, text: &str, pattern: &Value, second: &Value) -> Value {
    let cuts = cuts(text);
    let mut out = Value::default();
    let mut at = 0;
    let mut work = 0_usize;
    while at < cuts.len() {
        let start = cuts[at];
        let anchored = op == Op::ReplacePrefix && start != 0;
        // The longest match counts.
        let found = (!anchored).then(|| {
            (at + 1..cuts.len()).rev().find(|end| {
                work += 1;
                (op != Op::ReplaceSuffix || cuts[*end] == text.len())
                    && pattern.may_be(&text[start..cuts[*end]])
            })
        });
        if work > limits::VALUE_BYTES {
            return Value::unknown();
        }
        if let Some(Some(end)) = found {
            out.push_value(second);
            at = end;
            if op != Op::ReplaceAll {
                out.push(&text[cuts[at]..]);
                return out;
            }
        } else {
            let end = cuts.get(at + 1).copied().unwrap_or(text.len());
            out.push(&text[start..end]);
            at += 1;
        }
    }
    out
}

fn slice(text: &str, offset: &Value, length: &Value) -> Value {
    let number = |value: &Value| crate::arithmetic::value(value).raw().parse::<i64>().ok();
    let Some(offset) = number(offset) else {
        return Value::unknown();
    };
    let chars: Vec<char> = text.chars().collect();
    let count = i64::try_from(chars.len()).unwrap_or(i64::MAX);
    let from = if offset < 0 {
        (count + offset).max(0)
    } else {
        offset.min(count)
    };
    let to = if length.is_empty() {
        count
    } else {
        match number(length) {
            Some(n) if n < 0 => (count + n).max(from),
            Some(n) => from.saturating_add(n).min(count),
            None => return Value::unknown(),
        }
    };
    let index = |n: i64| usize::try_from(n).unwrap_or(0);
    Value::known(chars[index(from)..index(to)].iter().collect::<String>())
}
