//! Words as bash expands them: braces, tilde, parameters, substitutions, splitting and globs.

use crate::braces;
use crate::budgets::passes;
use crate::interpreter::{Eval, Interpreter};
use crate::state::State;
use crate::syntax::{Command, Index, Op, Param, Piece, RedirectOp, Script, Word};
use crate::value::Value;
use crate::variables::Variable;
use crate::verdict::Denial;

/// What an expansion is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// An argument: it is split, and globs are active.
    Fields,
    /// A value: it stays one text.
    Text,
    /// A pattern: globs are active and cross slashes.
    Pattern,
}

/// The fields that a word becomes.
struct Fields {
    done: Vec<Value>,
    current: Value,
    started: bool,
    mode: Mode,
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

    fn cut(&mut self) {
        if self.started {
            self.done.push(std::mem::take(&mut self.current));
            self.started = false;
        }
    }

    fn text(&mut self, text: &str) {
        self.current.push(text);
        self.started = true;
    }

    fn value(&mut self, value: &Value) {
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
    fn split(&mut self, value: &Value, separators: &str) {
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
    fn expand_pattern(&mut self, word: &Word, state: &mut State) -> Eval<Value> {
        let mut fields = Fields::new(Mode::Pattern);
        self.pieces(&word.pieces, &mut fields, state)?;
        Ok(fields.current)
    }

    fn pieces(&mut self, pieces: &[Piece], fields: &mut Fields, state: &mut State) -> Eval<()> {
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

    fn parameter(
        &mut self,
        param: &Param,
        quoted: bool,
        fields: &mut Fields,
        state: &mut State,
    ) -> Eval<()> {
        let joined = param.name == "*" || matches!(param.index, Some(Index::Joined));
        let all = joined || param.name == "@" || matches!(param.index, Some(Index::All));
        if all && !param.length && !param.indirect {
            let values = if param.name == "@" || param.name == "*" {
                Some(state.positional.to_vec())
            } else {
                match state.variables.get(&param.name) {
                    Some(Variable::Array(values)) => Some(values.clone()),
                    Some(Variable::Scalar(_)) => state.scalar(&param.name).map(|v| vec![v]),
                    None => None,
                }
            };
            if let Some(values) = values {
                if values.is_empty() && matches!(param.op, Some(Op::Default | Op::Assign)) {
                    let value = self.expand_text(&param.first, state)?;
                    fields.value(&value);
                    return Ok(());
                }
                let separators = separators(state);
                for (i, value) in values.into_iter().enumerate() {
                    let value = self.operate(param, Some(value), state)?;
                    if i > 0 {
                        if joined && (quoted || fields.mode != Mode::Fields) {
                            let first = separators.chars().next();
                            fields.text(&first.map(String::from).unwrap_or_default());
                        } else if fields.mode == Mode::Fields {
                            fields.cut();
                        } else {
                            fields.text(" ");
                        }
                    }
                    if quoted {
                        fields.value(&value);
                    } else {
                        fields.split(&value, &separators);
                    }
                }
                return Ok(());
            }
        }
        let base = self.base(param, state)?;
        let set = base
            .as_ref()
            .is_some_and(|value| !(param.null_is_unset && value.is_empty()));
        let takes_word = match param.op {
            Some(Op::Default) => !set,
            Some(Op::Alternative) => set || base.is_none(),
            _ => false,
        };
        if takes_word && !quoted && fields.mode == Mode::Fields {
            // Its quotes keep what is in them together.
            return self.operand(&param.first, fields, state);
        }
        let value = if param.length {
            base.as_ref()
                .and_then(Value::as_known)
                .map_or_else(Value::some_name, |text| {
                    Value::known(text.chars().count().to_string())
                })
        } else {
            self.operate(param, base, state)?
        };
        if quoted {
            fields.value(&value);
        } else {
            let separators = separators(state);
            fields.split(&value, &separators);
        }
        Ok(())
    }

    /// The word of `${name:-word}` where it is not quoted: what is plain in it is split.
    fn operand(&mut self, word: &Word, fields: &mut Fields, state: &mut State) -> Eval<()> {
        let separators = separators(state);
        for (i, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Plain(text) if i > 0 || !text.starts_with('~') => {
                    fields.split(&Value::known(text.as_str()), &separators);
                }
                _ => self.pieces(&word.pieces[i..=i], fields, state)?,
            }
        }
        Ok(())
    }

    /// The value that the operator starts from; `None` if the script never set it.
    fn base(&mut self, param: &Param, state: &mut State) -> Eval<Option<Value>> {
        let mut name = param.name.clone();
        if param.indirect {
            match self.variable(&name, state) {
                Some(value) if value.is_known() => value.raw().clone_into(&mut name),
                _ => return Ok(Some(Value::unknown())),
            }
            if let Some(rest) = name.strip_suffix("[@]") {
                name = rest.to_owned();
            }
        }
        if let Some(Index::At(index)) = &param.index {
            let index = self.expand_text(index, state)?;
            let index = crate::arithmetic::value(&index);
            return Ok(Some(match state.variables.get(&name) {
                Some(Variable::Array(values)) => match index.raw().parse::<i64>() {
                    Ok(i) => {
                        let length = i64::try_from(values.len()).unwrap_or(i64::MAX);
                        let i = if i < 0 { i + length } else { i };
                        usize::try_from(i)
                            .ok()
                            .and_then(|i| values.get(i).cloned())
                            .unwrap_or_default()
                    }
                    Err(_) => Value::unknown(),
                },
                Some(Variable::Scalar(_)) => state.scalar(&name).unwrap_or_default(),
                None => Value::unknown(),
            }));
        }
        Ok(self.variable(&name, state))
    }

    /// A variable's value; `None` if neither the script nor the environment sets it for sure.
    pub(crate) fn variable(&self, name: &str, state: &State) -> Option<Value> {
        if let Some(value) = state.scalar(name) {
            return Some(value);
        }
        if let Ok(index) = name.parse::<usize>() {
            return Some(match index {
                0 => state.zero.clone(),
                i => state.positional.get(i - 1).cloned().unwrap_or_default(),
            });
        }
        let context = self.context;
        Some(match name {
            "HOME" => Value::known(context.home.to_string_lossy()),
            "PWD" => state.cwd.clone(),
            "USER" | "LOGNAME" => Value::known(context.user.as_str()),
            "CODEX_HOME" => Value::known(context.codex_home.to_string_lossy()),
            "TMPDIR" => Value::known("/tmp"),
            // Files that hold secrets wherever they lie.
            "KUBECONFIG" => {
                Value::known(format!("{}/.kube/config", context.home.to_string_lossy()))
            }
            "GOOGLE_APPLICATION_CREDENTIALS" => Value::known("service-account.json"),
            "IFS" => Value::known(" \t\n"),
            "SHELL" | "BASH" => Value::known("/bin/bash"),
            "#" => Value::known(state.positional.len().to_string()),
            "@" | "*" => {
                let mut all = Value::default();
                for (i, value) in state.positional.iter().enumerate() {
                    if i > 0 {
                        all.push(" ");
                    }
                    all.push_value(value);
                }
                all
            }
            // The last job of this very command: rules may tell it from other processes.
            "!" => Value::known("%!"),
            "?" | "$" | "UID" | "EUID" | "PPID" | "RANDOM" | "SECONDS" | "LINENO" | "BASHPID"
            | "HOSTNAME" | "EPOCHSECONDS" | "SHLVL" | "COLUMNS" | "LINES" => Value::some_name(),
            _ => return None,
        })
    }

    fn operate(&mut self, param: &Param, base: Option<Value>, state: &mut State) -> Eval<Value> {
        let Some(op) = param.op else {
            return Ok(base.unwrap_or_else(Value::unknown));
        };
        match op {
            Op::Default | Op::Assign | Op::Alternative | Op::Error => {
                let word = self.expand_text(&param.first, state)?;
                let set = base
                    .as_ref()
                    .is_some_and(|value| !(param.null_is_unset && value.is_empty()));
                return Ok(match (op, base) {
                    (Op::Alternative, Some(_)) if !set => Value::default(),
                    (Op::Alternative, _) => word,
                    (Op::Error, base) => base.unwrap_or_else(Value::unknown),
                    (_, Some(value)) if set => value,
                    (op, _) => {
                        if op == Op::Assign {
                            state.set(&param.name, word.clone());
                        }
                        word
                    }
                });
            }
            _ => {}
        }
        let pattern = self.expand_pattern(&param.first, state)?;
        let second = self.expand_text(&param.second, state)?;
        let value = base.unwrap_or_else(Value::unknown);
        if op == Op::Transform && pattern.raw() == "P" {
            self.substitutions_in(&value, state)?;
        }
        Ok(crate::operators::apply(op, &value, &pattern, &second))
    }
}

/// The characters that split an expansion into words.
fn separators(state: &State) -> String {
    match state.scalar("IFS") {
        Some(value) => value.as_known().unwrap_or(" \t\n").to_owned(),
        None => " \t\n".to_owned(),
    }
}
