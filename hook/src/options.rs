//! The one walk over a command's words: options, their values, and operands. Programs that end
//! their options at the first operand have [`leading`].

use crate::value::Value;

/// A word of a command line, as its program reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word<'v> {
    /// An option, and the next word where that is its value.
    Option(&'v Value, Option<&'v Value>),
    /// An operand.
    Operand(&'v Value),
}

/// Reads the words of a command: `takes` says of an option whether the next word is its value.
/// Behind `--` everything is an operand.
pub(crate) fn walk(args: &[Value], takes: impl Fn(&str) -> bool) -> impl Iterator<Item = Word<'_>> {
    let mut rest = args.iter();
    let mut ended = false;
    std::iter::from_fn(move || {
        let mut arg = rest.next()?;
        if !ended && arg.raw() == "--" {
            ended = true;
            arg = rest.next()?;
        }
        if ended || !is_option(arg) {
            return Some(Word::Operand(arg));
        }
        let value = if takes(arg.raw()) { rest.next() } else { None };
        Some(Word::Option(arg, value))
    })
}

/// The options in front of the first operand, each with the next word where that is its value,
/// and the words behind them.
pub(crate) fn leading(
    args: &[Value],
    takes: impl Fn(&str) -> bool,
) -> (Vec<(&Value, Option<&Value>)>, &[Value]) {
    let mut options = Vec::new();
    let mut rest = args;
    while let Some((option, after)) = rest.split_first().filter(|(word, _)| is_option(word)) {
        rest = after;
        if option.raw() == "--" {
            break;
        }
        let value = after.first().filter(|_| takes(option.raw()));
        if value.is_some() {
            rest = &after[1..];
        }
        options.push((option, value));
    }
    (options, rest)
}

/// Whether a word is an option: a dash and more.
pub(crate) fn is_option(word: &Value) -> bool {
    word.raw().len() > 1 && word.raw().starts_with('-')
}

/// Whether an option takes the next word as its value: it is listed, or it is a bundle of
/// letters of which the last is listed, and none before it.
pub(crate) fn takes_value(option: &str, values: &[&str]) -> bool {
    takes(option, |name| values.contains(&name))
}

/// The same for a list of another form.
pub(crate) fn takes(option: &str, is_listed: impl Fn(&str) -> bool) -> bool {
    if is_listed(option) {
        return true;
    }
    let Some(letters) = option.strip_prefix('-').filter(|l| !l.starts_with('-')) else {
        return false;
    };
    let first = letters.char_indices().find(|(_, c)| {
        let mut name = [b'-'; 5];
        let length = c.encode_utf8(&mut name[1..]).len();
        std::str::from_utf8(&name[..=length]).is_ok_and(&is_listed)
    });
    first.is_some_and(|(at, c)| at + c.len_utf8() == letters.len())
}
