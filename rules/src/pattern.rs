//! What a rule applies to.

/// What a rule applies to.
#[derive(Clone, Copy, Debug)]
pub enum Matcher {
    /// Commands of one of these forms.
    Commands(&'static [Pattern]),
    /// Something that the analysis finds out: an act on a path, code that cannot be read. The
    /// guard names the rule by its id.
    Analysis,
}

/// A form of command. All parts must hold.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Base names of programs; `*` stands for any text.
    pub programs: &'static [&'static str],
    /// Words of the subcommand in order, each with its alternatives. Global options are skipped.
    pub sub: &'static [&'static [&'static str]],
    /// All of these must hold.
    pub when: &'static [Test],
    /// None of these may hold.
    pub unless: &'static [Test],
}

/// A test of the arguments of a command.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// One of these options is there: `-f` (also inside `-uf`), `--force` (also abbreviated or
    /// with `=value`), or a word of its own such as `-delete`.
    Flag(&'static [&'static str]),
    /// An option with this exact spelling; nothing is unbundled or abbreviated.
    Word(&'static [&'static str]),
    /// One of the operands after the subcommand has one of these forms (`*` is any text).
    Operand(&'static [&'static str]),
    /// The first operand after the subcommand has one of these forms.
    First(&'static [&'static str]),
    /// There are at least this many operands after the subcommand.
    Operands(usize),
    /// There is no argument at all.
    Bare,
    /// One of the arguments, in any place and of any kind, contains one of these texts. Case
    /// does not count.
    Contains(&'static [&'static str]),
}

/// A pattern for any use of these programs.
#[must_use]
pub const fn on(programs: &'static [&'static str]) -> Pattern {
    Pattern {
        programs,
        sub: &[],
        when: &[],
        unless: &[],
    }
}

impl Pattern {
    /// Whether it is about a program of this name.
    #[must_use]
    pub fn names(&self, program: &str) -> bool {
        self.programs.iter().any(|name| is_form(program, name))
    }

    /// With these subcommand words.
    #[must_use]
    pub const fn sub(mut self, sub: &'static [&'static [&'static str]]) -> Self {
        self.sub = sub;
        self
    }

    /// Only when all of these hold.
    #[must_use]
    pub const fn when(mut self, tests: &'static [Test]) -> Self {
        self.when = tests;
        self
    }

    /// Only when none of these holds.
    #[must_use]
    pub const fn unless(mut self, tests: &'static [Test]) -> Self {
        self.unless = tests;
        self
    }
}

/// Whether a text has a form in which `*` is any text. Nothing is allocated: a
/// command is compared with many.
#[must_use]
pub fn is_form(text: &str, form: &str) -> bool {
    let (wanted, given) = (form.as_bytes().first(), text.as_bytes().first());
    if wanted != given && wanted != Some(&b'*') {
        return false;
    }
    let Some((first, mut rest)) = form.split_once('*') else {
        return text == form;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    while let Some((part, more)) = rest.split_once('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
        rest = more;
    }
    text.ends_with(rest)
}
