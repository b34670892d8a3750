//! Programs that run another command from their arguments: one table, in files by what they do.

#[rustfmt::skip] // Rows read best as rows.
mod confined;
#[rustfmt::skip] // Rows read best as rows.
mod elsewhere;
#[rustfmt::skip] // Rows read best as rows.
mod process;
#[rustfmt::skip] // Rows read best as rows.
mod rights;

/// Where the inner command runs, and with which rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Here, with the same rights.
    Here,
    /// Here, with other rights.
    Privileged,
    /// On another machine, or in a container or pod that already runs.
    Remote,
    /// In a new container.
    Container,
    /// Here, but later or out of sight.
    Later,
}

/// How the inner command is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The remaining words are the command.
    Words,
    /// The remaining words, joined by spaces, are read by a shell.
    Script,
    /// One word means a script, several mean a command.
    Either,
}

/// One program that runs another command.
#[derive(Clone, Copy, Debug)]
pub struct Wrapper {
    /// Base names.
    pub names: &'static [&'static str],
    /// Subcommand words before the inner command.
    pub sub: &'static [&'static [&'static str]],
    /// Options that take a value as the next word.
    pub values: &'static [&'static str],
    /// Options that take two.
    pub pairs: &'static [&'static str],
    /// Options whose value is a script for a shell.
    pub scripts: &'static [&'static str],
    /// Operands before the inner command.
    pub skip: usize,
    /// Whether `NAME=value` words may stand before the command.
    pub assigns: bool,
    /// How the command is given.
    pub form: Form,
    /// Where it runs.
    pub place: Where,
    /// Options with which nothing runs.
    pub inert: &'static [&'static str],
}

const BASE: Wrapper = Wrapper {
    names: &[],
    sub: &[],
    values: &[],
    pairs: &[],
    scripts: &[],
    skip: 0,
    assigns: false,
    form: Form::Words,
    place: Where::Here,
    inert: &[],
};

const PARTS: &[&[Wrapper]] = &[rights::ROWS, process::ROWS, confined::ROWS, elsewhere::ROWS];

const COUNT: usize = {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

static ALL: [Wrapper; COUNT] = {
    let mut all = [BASE; COUNT];
    let (mut part, mut row, mut filled) = (0, 0, 0);
    while part < PARTS.len() {
        while row < PARTS[part].len() {
            all[filled] = PARTS[part][row];
            filled += 1;
            row += 1;
        }
        (part, row) = (part + 1, 0);
    }
    all
};

/// First match wins; the more specific row of a program stands first.
pub static WRAPPERS: &[Wrapper] = &ALL;

crate::index::index!(WRAPPERS, names);

/// The rows of a program, in the order of the table.
pub fn of(program: &str) -> impl Iterator<Item = &'static Wrapper> {
    INDEX.rows(program).map(|row| &WRAPPERS[row])
}
