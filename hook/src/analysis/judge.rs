//! Matches a command against the table of rules.

use codex_ds_rules::readonly::LOOKING;
use codex_ds_rules::{Form, Pattern, Rule, Test, programs};

use crate::analysis::interpreter::Interpreter;
use crate::options::{Word, takes_value, walk};
use crate::value::Value;
use crate::verdict::{Denial, Eval};

/// A command line, cut into the parts that rules speak of.
pub(crate) struct Line<'a> {
    pub(crate) program: &'a str,
    args: &'a [Value],
    /// Operands, with the values of global options skipped.
    words: Vec<&'a Value>,
    /// Everything that begins with a dash, up to `--`.
    flags: Vec<&'a Value>,
    abbreviates: bool,
    has_subcommands: bool,
}

impl<'a> Line<'a> {
    pub(crate) fn new(program: &'a str, args: &'a [Value]) -> Self {
        let row = programs::of(program);
        let values = row.map_or(&[] as &[&str], |row| row.values);
        let mut line = Self {
            program,
            args,
            words: Vec::new(),
            flags: Vec::new(),
            abbreviates: row.is_some_and(|row| row.abbreviates),
            has_subcommands: row.is_some(),
        };
        // Where one dash begins a long option, letters do not bundle.
        let abbreviates = line.abbreviates;
        let takes = |option: &str| {
            if abbreviates {
                values.contains(&option)
            } else {
                takes_value(option, values)
            }
        };
        for word in walk(args, takes) {
            match word {
                Word::Option(flag, _) => line.flags.push(flag),
                Word::Operand(word) => line.words.push(word),
            }
        }
        line
    }

    /// For a reader.
    pub(crate) fn shown(&self) -> String {
        let mut text = self.program.to_owned();
        for arg in self.args {
            text.push(' ');
            text.push_str(&arg.shown());
        }
        text
    }

    /// Whether the command only asks for help or a version: the flag is the last word, and
    /// only subcommand words stand before it.
    pub(crate) fn is_help(&self) -> bool {
        let Some((last, before)) = self.args.split_last() else {
            return false;
        };
        let subcommands = self.has_subcommands;
        let plain = |value: &Value| {
            value.as_known().is_some_and(|text| {
                text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !text.starts_with('-')
            })
        };
        let most = if subcommands { 3 } else { 0 };
        before.len() <= most
            && before.iter().all(plain)
            && (matches!(last.raw(), "--help" | "-help" | "--version")
                || (before.is_empty()
                    && matches!(last.raw(), "-V" | "-h" | "help" | "version" | "--usage"))
                || (subcommands && last.raw() == "-h"))
    }

    /// Whether the subcommand is one that only looks, where the table lists such subcommands of
    /// the program.
    pub(crate) fn is_read_only(&self) -> bool {
        let row = LOOKING
            .iter()
            .find(|(names, _)| names.contains(&self.program));
        let Some((_, looking)) = row else {
            return true;
        };
        match self.words.first() {
            Some(word) => looking.iter().any(|name| word.may_be(name)),
            None => true,
        }
    }

    /// Whether the command runs another in something that is there: that one is judged.
    pub(crate) fn is_exec(&self) -> bool {
        self.words.iter().take(2).any(|word| word.raw() == "exec")
    }

    /// Whether a word begins like this.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.args.iter().any(|arg| arg.raw().starts_with(text))
    }

    fn matches(&self, pattern: &Pattern) -> bool {
        let steps = pattern.sub.len();
        let path = pattern.sub.iter().enumerate().all(|(i, names)| {
            self.words.get(i).is_some_and(|word| {
                names.iter().any(|name| {
                    word.may_match(name)
                        || (self.abbreviates && !word.is_empty() && name.starts_with(word.raw()))
                })
            })
        });
        path && pattern
            .when
            .iter()
            .all(|test| self.holds(test, steps, true))
            && !pattern
                .unless
                .iter()
                .any(|test| self.holds(test, steps, false))
    }

    /// `bundles` says whether an option may be one letter of a longer bundle: what excuses a
    /// command must be plain.
    fn holds(&self, test: &Test, steps: usize, bundles: bool) -> bool {
        let operands = self.words.get(steps..).unwrap_or_default();
        let form = |value: &Value, forms: &[&str]| {
            !(value.is_unknown() || value.is_vague() && value.is_open())
                && forms.iter().any(|form| value.may_match(form))
        };
        match test {
            Test::Flag(names) => self
                .flags
                .iter()
                .any(|flag| is_flag(flag, names, if bundles { usize::MAX } else { 4 })),
            Test::Word(names) => self.args.iter().any(|arg| form(arg, names)),
            Test::Operand(forms) => operands.iter().any(|value| form(value, forms)),
            Test::First(forms) => operands.first().is_some_and(|value| form(value, forms)),
            Test::Operands(count) => operands.len() >= *count,
            Test::Bare => self.args.is_empty(),
            Test::Contains(texts) => self.args.iter().any(|arg| {
                let lower = arg.raw().to_lowercase();
                texts.iter().any(|text| lower.contains(text))
            }),
        }
    }
}

/// Whether an option is one of these: `-f` also inside `-uf`, `--force` also shortened to a
/// prefix of three letters or more, or with a value.
fn is_flag(flag: &Value, names: &[&str], longest: usize) -> bool {
    if flag.is_unknown() {
        return false;
    }
    let raw = flag.raw();
    names.iter().any(|name| {
        if let Some(long) = name.strip_prefix("--") {
            let Some(given) = raw.strip_prefix("--") else {
                return false;
            };
            let given = given.split('=').next().unwrap_or(given);
            return (given.len() >= 3 && long.starts_with(given))
                || Value::known(given).may_be(long);
        }
        let single = name.len() == 2;
        if single && !raw.starts_with("--") && raw.starts_with('-') {
            return raw == *name || (raw.len() <= longest && raw[1..].contains(&name[1..]));
        }
        flag.may_be(name)
            || raw
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('='))
    })
}

impl Interpreter<'_> {
    /// Denies a command that a rule in force matches by a pattern that is not excused.
    pub(crate) fn judge(
        &self,
        line: &Line<'_>,
        excused: impl Fn(&Rule, &Pattern) -> bool,
    ) -> Eval<()> {
        let mut forms = self.forms(line.program);
        match forms.find(|(rule, pattern)| line.matches(pattern) && !excused(rule, pattern)) {
            Some((rule, _)) => Err(Denial::by(rule, line.shown())),
            None => Ok(()),
        }
    }

    /// Whether a rule in force is about this program.
    pub(crate) fn is_ruled(&self, program: &str) -> bool {
        self.forms(program).next().is_some()
    }

    /// The patterns in force that name a program, in the order of the table; the user's own are
    /// last.
    fn forms(&self, program: &str) -> impl Iterator<Item = Form> {
        let extra = self.policy.extra.iter().copied();
        let extra = extra.flat_map(|rule| rule.patterns().iter().map(move |form| (rule, form)));
        codex_ds_rules::forms(program)
            .chain(extra.filter(move |(_, pattern)| pattern.names(program)))
            .filter(|(rule, _)| self.policy.enforces(rule))
    }
}
