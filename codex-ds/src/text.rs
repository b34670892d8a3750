//! How numbers and tables look.

/// `9,536`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in tenths of a percent: `49.3%`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let permille = (u128::from(part) * 1000 + u128::from(whole) / 2)
        .checked_div(u128::from(whole))
        .unwrap_or(0);
    format!("{}.{}%", permille / 10, permille % 10)
}

/// Microseconds as `0.4 ms`, `12 ms` or `3.21 s`.
pub(crate) fn time(us: u64) -> String {
    match us {
        0..10_000 => format!("{}.{} ms", us / 1000, us % 1000 / 100),
        10_000..1_000_000 => format!("{} ms", us / 1000),
        _ => format!("{}.{:02} s", us / 1_000_000, us % 1_000_000 / 10_000),
    }
}

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows in columns, two spaces apart; no space at a line's end.
pub(crate) fn table(align: &[Align], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..align.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, align), width) in row.iter().zip(align).zip(&widths) {
            line.push_str("  ");
            let space = " ".repeat(width - cell.chars().count());
            match align {
                Align::Left => line.extend([cell.as_str(), &space]),
                Align::Right => line.extend([&space, cell.as_str()]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Text of others for a terminal: control characters are shown, not obeyed.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_format(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// The same on one line.
pub(crate) fn one_line(text: &str) -> String {
    plain(&text.replace('\n', "\\n").replace('\t', "\\t"))
}

/// Characters that change the direction of what follows (Unicode's bidirectional controls).
fn is_format(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [share(1, 3), share(2, 3), share(5, 5), share(0, 0)],
            ["33.3%", "66.7%", "100.0%", "0.0%"]
        );
        assert_eq!(
            [400, 12_000, 3_219_999].map(time),
            ["0.4 ms", "12 ms", "3.21 s"]
        );
    }

    #[test]
    fn a_terminal_is_not_driven_by_what_was_recorded() {
        assert_eq!(plain("a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\n");
        assert_eq!(one_line("a\nb"), "a\\nb");
    }
}
