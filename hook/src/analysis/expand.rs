//! Words as bash expands them: braces, tilde, parameters, substitutions, splitting and globs.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::braces;
use crate::budgets::passes;
use crate::syntax::{Command, Piece, RedirectOp, Script, Word};
use crate::value::Value;
use crate::verdict::{Denial, Eval};

/// What an expansion is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// An argument: it is split, and globs are active.
    Fields,
    /// A value: it stays one text.
    Text,
    /// A pattern: globs are active and cross slashes.
    Pattern,
}

/// The fields that a word becomes.
pub(crate) struct Fields {
    done: Vec<Value>,
    current: Value,
    started: bool,
    pub(crate) mode: Mode,
}

impl Fields {
    fn new(mode: Mode) -> Self {
        Self {
            done: Vec::new(),
            current: Value::default(),
            started: false,
            mode,
        }
    }

    pub(crate) fn cut(&mut self) {
        if self.started {
            self.done.push(std::mem::take(&mut self.current));
            self.started = false;
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.current.push(text);
        self.started = true;
    }

    pub(crate) fn value(&mut self, value: &Value) {
        self.current.push_value(value);
        self.started = true;
    }

    /// Text in which globs are active.
    fn globbed(&mut self, text: &str) {
        self.started = true;
        if self.mode == Mode::Text || !text.contains(['*', '?', '[']) {
            self.current.push(text);
            return;
        }
        let mut rest = text;
        while let Some(at) = rest.find(['*', '?', '[']) {
            self.current.push(&rest[..at]);
            let sign = rest.as_bytes()[at];
            let mut next = at + 1;
            match sign {
                b'*' if self.mode == Mode::Pattern => self.current.push_value(&Value::unknown()),
                b'*' => self.current.push_star(),
                b'?' => self.current.push_one(),
                _ => match rest[at + 1..].find(']').filter(|close| *close > 0) {
                    Some(close) => {
                        self.current.push_one();
                        next = at + close + 2;
                    }
                    None => self.current.push("["),
                },
            }
            rest = &rest[next..];
        }
        self.current.push(rest);
    }

    /// The value of an unquoted expansion: split at `separators`, globs active.
    pub(crate) fn split(&mut self, value: &Value, separators: &str) {
        if self.mode != Mode::Fields {
            if self.mode == Mode::Pattern {
                self.globbed(value.raw());
            } else {
                self.value(value);
            }
            return;
        }
        let mut first = true;
        for part in value.raw().split(|c| separators.contains(c)) {
            if !first {
                self.cut();
            }
            first = false;
            if !part.is_empty() {
                self.globbed(part);
            }
        }
    }
}

impl Interpreter<'_> {
    /// All fields of several words.
    pub(crate) fn expand_all(&mut self, words: &[Word], state: &mut State) -> Eval<Vec<Value>> {
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            fields.append(&mut self.expand(word, state)?);
            if passes(fields.len(), self.policy.budgets.words) {
                return Err(Denial::new("shell.limit", "words of one command"));
            }
        }
        self.steps(fields.len())?;
        Ok(fields)
    }

    /// The fields of a word.
    pub(crate) fn expand(&mut self, word: &Word, state: &mut State) -> Eval<Vec<Value>> {
        if let [Piece::Plain(text)] = word.pieces.as_slice()
            && !text.contains(['*', '?', '[', '{', '~'])
        {
            return Ok(vec![Value::known(text.as_str())]);
        }
        let Some(variants) = braces::expand(&word.pieces, self.policy.budgets.words) else {
            return Err(Denial::new("shell.limit", "brace expansion"));
        };
        let mut fields = Fields::new(Mode::Fields);
        for variant in &variants {
            self.pieces(variant, &mut fields, state)?;
            fields.cut();
        }
        Ok(fields.done)
    }

    /// The word as one text.
    pub(crate) fn expand_text(&mut self, word: &Word, state: &mut State) -> Eval<Value> {
        let mut fields = Fields::new(Mode::Text);
        self.pieces(&word.pieces, &mut fields, state)?;
        Ok(fields.current)
    }

    /// The word as a pattern.
    pub(crate) fn expand_pattern(&mut self, word: &Word, state: &mut State) -> Eval<Value> {
        let mut fields = Fields::new(Mode::Pattern);
        self.pieces(&word.pieces, &mut fields, state)?;
        Ok(fields.current)
    }

    pub(crate) fn pieces(
        &mut self,
        pieces: &[Piece],
        fields: &mut Fields,
        state: &mut State,
    ) -> Eval<()> {
        for (i, piece) in pieces.iter().enumerate() {
            self.step()?;
            match piece {
                Piece::Plain(text) => {
                    let rest = if i == 0 && text.starts_with('~') {
                        self.tilde(text, pieces.len() == 1, fields, state)
                    } else {
                        text.as_str()
                    };
                    if !rest.is_empty() {
                        fields.globbed(rest);
                    }
                }
                Piece::Quoted(text) => fields.text(text),
                Piece::Param(param, quoted) => self.parameter(param, *quoted, fields, state)?,
                Piece::Substitution(script, quoted) => {
                    let output = self.substitution(script, state)?;
                    if *quoted {
                        fields.value(&output);
                    } else {
                        let separators = separators(state);
                        fields.split(&output, &separators);
                    }
                }
                Piece::Process(script, reads) => {
                    let path = self.process(script, *reads, state)?;
                    fields.text(&path);
                }
                Piece::Arithmetic(word) => {
                    let text = self.expand_text(word, state)?;
                    self.hidden_in_arithmetic(&text, state)?;
                    fields.value(&crate::arithmetic::value(&text));
                }
                Piece::Array(words) => {
                    for word in words {
                        for value in self.expand(word, state)? {
                            fields.value(&value);
                            fields.cut();
                        }
                    }
                }
                Piece::ExtendedGlob(word) => {
                    self.expand_text(word, state)?;
                    fields.current.push_star();
                    fields.started = true;
                }
            }
            if passes(fields.done.len(), self.policy.budgets.words) {
                return Err(Denial::new("shell.limit", "words of one command"));
            }
        }
        Ok(())
    }

    /// A leading `~`, `~+`, `~-` or `~user`; gives the rest of the text.
    fn tilde<'t>(&self, text: &'t str, alone: bool, fields: &mut Fields, state: &State) -> &'t str {
        let end = text.find(['/', ':']).unwrap_or(text.len());
        if end == text.len() && !alone {
            return text;
        }
        let home = self.context.home.to_string_lossy();
        match &text[1..end] {
            "" => match state.scalar("HOME") {
                Some(value) => fields.value(&value),
                None => fields.text(&home),
            },
            "+" => fields.value(&state.cwd),
            "-" => fields.value(&Value::unknown()),
            "root" => fields.text("/root"),
            user if user == self.context.user => fields.text(&home),
            // Another user's home lies beside ours.
            user => fields.text(&format!("/home/{user}")),
        }
        &text[end..]
    }

    /// What a command substitution prints, without the line ends at its end.
    pub(crate) fn substitution(&mut self, script: &Script, state: &State) -> Eval<Value> {
        if let [Command::Simple(simple)] = script.commands.as_slice()
            && let ([], [], [redirect]) = (
                simple.words.as_slice(),
                simple.assigns.as_slice(),
                simple.redirects.as_slice(),
            )
            && redirect.op == RedirectOp::Read
        {
            // `$(< file)` is what the file holds.
            let mut inner = state.clone();
            self.redirect(&simple.redirects, &mut inner)?;
            return Ok(match inner.stdin {
                Some(text) if !text.is_unknown() => Value::known(text.raw().trim_end_matches('\n')),
                _ => Value::output(),
            });
        }
        let output = self.subshell(&script.commands, state)?;
        Ok(Value::known(output.raw().trim_end_matches('\n')))
    }

    /// bash evaluates the values of the variables in an expression, and what their indices
    /// substitute: `x='a[$(command)]'; echo $((x))`.
    pub(crate) fn hidden_in_arithmetic(&mut self, text: &Value, state: &mut State) -> Eval<()> {
        let names = text
            .raw()
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let values: Vec<Value> = names
            .filter_map(|name| state.scalar(name))
            .chain([text.clone()])
            .filter(|value| value.raw().contains("$(") || value.raw().contains('`'))
            .collect();
        values
            .iter()
            .try_for_each(|value| self.substitutions_in(value, state))
    }

    /// Runs the substitutions in a text, as in double quotes.
    pub(crate) fn substitutions_in(&mut self, text: &Value, state: &mut State) -> Eval<()> {
        let quoted = format!(": \"{}\"", text.raw().replace('"', "\\\""));
        self.nested(|this| this.code(&Value::known(quoted), state))
            .map(drop)
    }

    /// The path of a process substitution; what the script prints is what the path holds.
    fn process(&mut self, script: &Script, reads: bool, state: &State) -> Eval<String> {
        let path = self.descriptor();
        let mut inner = state.clone();
        if !reads {
            inner.stdin = Some(Value::unknown());
        }
        let output = self.apart(inner, |this, inner| this.run(&script.commands, inner))?;
        if reads {
            self.written.replace(&path, output);
        }
        Ok(path)
    }
}

/// The characters that split an expansion into words.
pub(crate) fn separators(state: &State) -> String {
    match state.scalar("IFS") {
        Some(value) => value.as_known().unwrap_or(" \t\n").to_owned(),
        None => " \t\n".to_owned(),
    }
}
