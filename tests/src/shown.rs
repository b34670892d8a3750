//! What a document shows of a program's output, held against what the program printed.

/// Whether `shown` is what `printed` is, line by line: numbers, times and padding may differ, an
/// ellipsis stands for any part of a line, and lines of `printed` may be left out.
///
/// # Errors
/// The first line that was not printed, as it was compared.
pub fn is_shown(shown: &str, printed: &str) -> Result<(), String> {
    let printed = without_numbers(printed);
    let mut printed = printed.lines();
    for shown in without_numbers(shown).lines() {
        if !printed.any(|printed| is_line(printed, shown)) {
            return Err(shown.to_owned());
        }
    }
    Ok(())
}

/// Each number as `0`, each time as `TIME`, and no padding: sizes, ports and seconds differ.
fn without_numbers(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words = line.split_whitespace().map(masked).collect::<Vec<_>>();
        let mut line = words.join(" ");
        for time in ["0 ms", "0 s", "0 min"] {
            line = line.replace(time, "TIME");
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `word` with every number in it as one `0`: `~1,234`, `43.0%`, `0.171.0`, `2026-11-30T16-42-50Z`.
fn masked(word: &str) -> String {
    let chars: Vec<char> = word.chars().collect();
    let mut masked = String::new();
    for (at, c) in chars.iter().enumerate() {
        let joins = matches!(c, ',' | '.')
            && masked.ends_with('0')
            && chars.get(at + 1).is_some_and(char::is_ascii_digit);
        if joins || (c.is_ascii_digit() && masked.ends_with('0')) {
            continue;
        }
        masked.push(if c.is_ascii_digit() { '0' } else { *c });
    }
    masked
}

fn is_line(printed: &str, shown: &str) -> bool {
    match shown.split_once('…') {
        None => printed == shown,
        Some((before, after)) => {
            printed.starts_with(before) && (after.is_empty() || printed.contains(after.trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_shown;

    #[test]
    fn numbers_times_and_padding_may_differ_and_words_may_not() {
        let printed = "a  1,234  43.0%\nleft out\nb 610 ms  2.5 s  ~7\n";
        assert_eq!(is_shown("a 1 1%\nb 41 ms 980 ms ~1,000", printed), Ok(()));
        assert_eq!(is_shown("a 1 …\nb …", printed), Ok(()));
        assert_eq!(is_shown("a 1 1", printed), Err("a 0 0".to_owned()));
        assert_eq!(is_shown("b …\na …", printed), Err("a …".to_owned()));
    }
}
