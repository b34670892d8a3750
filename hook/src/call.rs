//! One simple command: what it runs, what it touches, what it prints.

use codex_ds_rules::effects::{Act, EFFECTS, Effect, OTHER, Operands};
use codex_ds_rules::wrappers::{Form, WRAPPERS, Wrapper};

use crate::interpreter::{Eval, Interpreter};
use crate::judge::Line;
use crate::state::{State, Variable};
use crate::syntax::{Assign, Piece, Simple};
use crate::value::Value;

impl Interpreter<'_> {
    pub(crate) fn simple(&mut self, simple: &Simple, state: &mut State) -> Eval<Value> {
        self.step()?;
        let words = self.expand_all(&simple.words, state)?;
        let outer = state.stdin.clone();
        let targets = self.redirect(&simple.redirects, state)?;
        let before =
            (!words.is_empty() && !simple.assigns.is_empty()).then(|| state.variables.clone());
        for assign in &simple.assigns {
            self.assign(assign, state)?;
        }
        let output = self.nested(|this| this.run_words(&words, state))?;
        if let Some(variables) = before {
            state.variables = variables;
        }
        state.stdin = outer;
        Ok(self.store(&targets, output))
    }

    fn assign(&mut self, assign: &Assign, state: &mut State) -> Eval<()> {
        if let [.., Piece::Array(_)] = assign.value.pieces.as_slice() {
            let values = self.expand(&assign.value, state)?;
            let mut all = match (assign.append, state.variables.remove(&assign.name)) {
                (true, Some(Variable::Array(values))) => values,
                (true, Some(Variable::Scalar(values))) => values.into_iter().take(1).collect(),
                _ => Vec::new(),
            };
            all.extend(values);
            state
                .variables
                .insert(assign.name.clone(), Variable::Array(all));
            return Ok(());
        }
        let value = self.expand_text(&assign.value, state)?;
        let value = if assign.append {
            let mut whole = state.scalar(&assign.name).unwrap_or_default();
            whole.push_value(&value);
            whole
        } else {
            value
        };
        if assign.index {
            let mut all = match state.variables.remove(&assign.name) {
                Some(Variable::Array(values)) => values,
                _ => Vec::new(),
            };
            all.push(value);
            state
                .variables
                .insert(assign.name.clone(), Variable::Array(all));
        } else {
            state.set(&assign.name, value);
        }
        Ok(())
    }

    /// Runs a command whose words are expanded. Gives what it prints.
    pub(crate) fn run_words(&mut self, words: &[Value], state: &mut State) -> Eval<Value> {
        self.step()?;
        let Some((name, args)) = words.split_first() else {
            return Ok(Value::default());
        };
        let base = name.base_name();
        let Some(program) = base.as_known() else {
            return Ok(Value::unknown());
        };
        if let Some(body) = state.functions.get(program).cloned() {
            let outer = std::mem::replace(&mut state.positional, args.to_vec());
            let output = self.nested(|this| this.run(std::slice::from_ref(&*body), state))?;
            state.positional = outer;
            return Ok(output);
        }
        if let Some(output) = self.builtin(program, args, state)? {
            return Ok(output);
        }
        let line = Line::new(program, args);
        self.judge(&line)?;
        if Self::asks_help(&line) {
            return Ok(Value::unknown());
        }
        if let Some(wrapper) = WRAPPERS.iter().find(|w| wraps(w, program, args)) {
            return self.wrapped(wrapper, args, state);
        }
        self.effects(program, args, state)?;
        Ok(Value::unknown())
    }

    /// Builtins that change the state, and shells.
    fn builtin(&mut self, program: &str, args: &[Value], state: &mut State) -> Eval<Option<Value>> {
        match program {
            "cd" | "pushd" => {
                let target = args.iter().find(|arg| !arg.raw().starts_with('-'));
                state.cwd = match target {
                    Some(path) => self.absolute(path, state),
                    None => Value::known(self.context.home.to_string_lossy()),
                };
                Ok(Some(Value::default()))
            }
            "eval" => {
                let text = joined(args);
                Ok(Some(self.code(&text, state)?))
            }
            "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" | "rbash" | "fish" | "mksh" => {
                self.shell(args, state).map(Some)
            }
            "echo" => {
                let mut text = joined(args);
                text.push("\n");
                Ok(Some(text))
            }
            "cat" if args.is_empty() => Ok(Some(state.stdin.clone().unwrap_or_default())),
            _ => Ok(None),
        }
    }

    /// Text that a shell reads.
    pub(crate) fn code(&mut self, text: &Value, state: &mut State) -> Eval<Value> {
        match text.as_known() {
            Some(text) => self.script(text, state),
            None => {
                self.deny("shell.unknown-code", text.shown())?;
                Ok(Value::unknown())
            }
        }
    }

    /// A shell as a program of its own.
    fn shell(&mut self, args: &[Value], state: &State) -> Eval<Value> {
        let mut inner = state.clone();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let raw = arg.raw();
            if raw.starts_with("--") {
                continue;
            }
            if raw.starts_with('-') && raw.contains('c') {
                let Some(text) = rest.next() else {
                    return Ok(Value::default());
                };
                if let Some(zero) = rest.next() {
                    inner.zero = zero.clone();
                }
                inner.positional = rest.cloned().collect();
                return self.code(text, &mut inner);
            }
            if raw == "-n" {
                return Ok(Value::default());
            }
            if !raw.starts_with('-') {
                let text = self.content(arg, state);
                inner.positional = rest.cloned().collect();
                return match text.as_known() {
                    Some(text) => self.script(text, &mut inner),
                    None => Ok(Value::unknown()),
                };
            }
        }
        match state.stdin.clone() {
            Some(text) => self.code(&text, &mut inner),
            None => {
                self.deny("shell.interactive", "a shell without a script")?;
                Ok(Value::unknown())
            }
        }
    }

    /// The command that a wrapper runs.
    fn wrapped(&mut self, wrapper: &Wrapper, args: &[Value], state: &mut State) -> Eval<Value> {
        let mut skip = wrapper.skip + wrapper.sub.len();
        let mut rest = args;
        while let Some((arg, after)) = rest.split_first() {
            let raw = arg.raw();
            if wrapper.inert.contains(&raw) {
                return Ok(Value::unknown());
            }
            if wrapper.scripts.contains(&raw) {
                if let Some(text) = after.first() {
                    let text = text.clone();
                    self.at(wrapper.place, |this| this.code(&text, state))?;
                }
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            if raw == "--" {
                rest = after;
                if skip == 0 {
                    break;
                }
                continue;
            }
            if raw.len() > 1 && raw.starts_with('-') {
                let takes = wrapper.values.contains(&raw);
                rest = after.get(usize::from(takes)..).unwrap_or_default();
                continue;
            }
            if wrapper.assigns && crate::text::is_assignment(raw) {
                rest = after;
                continue;
            }
            if skip > 0 {
                skip -= 1;
                rest = after;
                continue;
            }
            break;
        }
        if rest.is_empty() {
            return Ok(Value::unknown());
        }
        let script = match wrapper.form {
            Form::Words => false,
            Form::Script => true,
            Form::Either => rest.len() == 1,
        };
        self.at(wrapper.place, |this| {
            if script {
                this.code(&joined(rest), &mut state.clone())
            } else {
                this.run_words(rest, &mut state.clone())
            }
        })
    }

    /// The acts of a program on the paths in its arguments.
    fn effects(&mut self, program: &str, args: &[Value], state: &State) -> Eval<()> {
        let effect = EFFECTS
            .iter()
            .find(|e| {
                e.programs.contains(&program)
                    && (e.when.is_empty()
                        || args
                            .iter()
                            .any(|arg| e.when.iter().any(|w| arg.raw() == *w)))
            })
            .unwrap_or(&OTHER);
        let operands = self.options(effect, args, state)?;
        let count = operands.len();
        for (i, operand) in operands.into_iter().enumerate() {
            let act = match effect.operands {
                Operands::Each(act) => act,
                Operands::Last(last, others) => {
                    if i + 1 == count && count > 1 {
                        last
                    } else {
                        others
                    }
                }
                Operands::AllButFirst(act) if i > 0 => act,
                Operands::AllButFirst(_) => Act::Nothing,
            };
            self.act(act, operand, state)?;
        }
        Ok(())
    }

    /// Checks the options whose values are paths; gives the operands.
    fn options<'v>(
        &mut self,
        effect: &Effect,
        args: &'v [Value],
        state: &State,
    ) -> Eval<Vec<&'v Value>> {
        let mut operands = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let raw = arg.raw();
            if raw == "--" {
                operands.extend(rest);
                break;
            }
            let key = effect.keys.iter().find_map(|(key, act)| {
                raw.strip_prefix(key)?
                    .strip_prefix('=')
                    .map(|path| (path, *act))
            });
            if let Some((path, act)) = key {
                self.act(act, &Value::known(path), state)?;
            } else if raw.len() > 1 && raw.starts_with('-') {
                if let Some((_, act)) = effect.options.iter().find(|(name, _)| *name == raw) {
                    if let Some(path) = rest.next() {
                        self.act(*act, path, state)?;
                    }
                } else if effect.values.contains(&raw) {
                    rest.next();
                }
            } else {
                operands.push(arg);
            }
        }
        Ok(operands)
    }
}

/// Whether a wrapper's row is about this command line.
fn wraps(wrapper: &Wrapper, program: &str, args: &[Value]) -> bool {
    if !wrapper.names.contains(&program) {
        return false;
    }
    let mut words = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next()
        && words.len() < wrapper.sub.len()
    {
        if arg.raw().starts_with('-') {
            if wrapper.values.contains(&arg.raw()) {
                rest.next();
            }
        } else {
            words.push(arg);
        }
    }
    wrapper.sub.iter().enumerate().all(|(i, names)| {
        words
            .get(i)
            .is_some_and(|word| names.iter().any(|name| word.may_be(name)))
    })
}

/// Arguments with single spaces between them.
pub(crate) fn joined(args: &[Value]) -> Value {
    let mut text = Value::default();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            text.push(" ");
        }
        text.push_value(arg);
    }
    text
}
