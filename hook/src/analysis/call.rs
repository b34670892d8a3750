//! One simple command: what it runs, what it touches, what it prints.

use codex_ds_rules::readonly::READ_ONLY;
use codex_ds_rules::wrappers::{self, Where};

use crate::analysis::explain::Step;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::judge::Line;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::analysis::venv::Venv;
use crate::analysis::{builtins, candidates, environment, shells, wrapping};
use crate::budgets::passes;
use crate::syntax::{Assign, Piece, Simple, Word};
use crate::value::Value;
use crate::variables::{Shared, Variable};
use crate::verdict::{Denial, Eval};

/// Builtins whose arguments are assignments.
const DECLARES: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

impl Interpreter<'_> {
    pub(crate) fn simple(&mut self, simple: &Simple, state: &mut State) -> Eval<Value> {
        self.step()?;
        if passes(state.names(), self.policy.budgets.names) {
            return Err(Denial::new("shell.limit", "variables and functions"));
        }
        if !self.inner_code {
            self.span = Some(simple.span);
        }
        let words = self.words(simple, state)?;
        environment::check_printed(self, simple, &words, state)?;
        if reopens(&words) {
            self.reopen(&simple.redirects, state)?;
            return self.assigned(simple, &words, state);
        }
        self.redirected(&simple.redirects, state, |this, state| {
            this.assigned(simple, &words, state)
        })
    }

    /// Runs the words of a command with its assignments.
    fn assigned(&mut self, simple: &Simple, words: &[Value], state: &mut State) -> Eval<Value> {
        // Assignments before a command hold for that command only.
        let before: Vec<(String, Option<Variable>)> = if words.is_empty() {
            Vec::new()
        } else {
            let names = simple.assigns.iter().map(|assign| &assign.name);
            names
                .map(|name| (name.clone(), state.variables.get(name).cloned()))
                .collect()
        };
        for assign in &simple.assigns {
            self.assign(assign, state)?;
        }
        let output = self.nested(|this| this.run_words(words, state))?;
        for (name, value) in before {
            state.variables.restore(&name, value);
        }
        Ok(output)
    }

    /// The words of a command, expanded; arrays that `declare` and its like set are set.
    fn words(&mut self, simple: &Simple, state: &mut State) -> Eval<Vec<Value>> {
        let declares = simple.words.first().is_some_and(|word| {
            matches!(word.pieces.as_slice(), [Piece::Plain(name)] if DECLARES.contains(&name.as_str()))
        });
        if !declares {
            return self.expand_all(&simple.words, state);
        }
        let mut words = Vec::new();
        for word in &simple.words {
            match word.pieces.as_slice() {
                [Piece::Plain(name), Piece::Array(_)] => {
                    let (name, append) = match name.strip_suffix("+=") {
                        Some(name) => (name, true),
                        None => (name.trim_end_matches('='), false),
                    };
                    let assign = Assign {
                        name: name.to_owned(),
                        index: false,
                        append,
                        value: Word {
                            pieces: word.pieces[1..].to_vec(),
                            span: word.span,
                        },
                    };
                    self.assign(&assign, state)?;
                }
                // `export a=$b` does not split.
                [Piece::Plain(text), ..] if crate::text::is_assignment(text) => {
                    words.push(self.expand_text(word, state)?);
                }
                _ => words.append(&mut self.expand(word, state)?),
            }
        }
        Ok(words)
    }

    fn assign(&mut self, assign: &Assign, state: &mut State) -> Eval<()> {
        if matches!(assign.name.as_str(), "BASH_CMDS" | "BASH_ALIASES") {
            // What is set there runs under another program's name.
            self.deny("guard.environment", assign.name.as_str())?;
        }
        let mut value = assign.value.clone();
        if assign.index && matches!(value.pieces.first(), Some(Piece::Arithmetic(_))) {
            // The index expands, but is no part of the value.
            if let Piece::Arithmetic(index) = value.pieces.remove(0) {
                self.expand_text(&index, state)?;
            }
        }
        if let [.., Piece::Array(words)] = value.pieces.as_slice() {
            let mut values = Vec::new();
            for word in words {
                values.append(&mut self.expand(&without_key(word), state)?);
            }
            let mut all = match (assign.append, state.variables.remove(&assign.name)) {
                (true, Some(Variable::Array(values))) => values,
                (true, Some(Variable::Scalar(values))) => values.into_iter().take(1).collect(),
                _ => Vec::new(),
            };
            all.append(&mut values);
            state.variables.insert(&assign.name, Variable::Array(all));
            return Ok(());
        }
        let value = self.expand_text(&value, state)?;
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
            state.variables.insert(&assign.name, Variable::Array(all));
            return Ok(());
        }
        self.set_variable(&assign.name, value, state)
    }

    /// Sets a variable, after a check of what it makes other programs do.
    pub(crate) fn set_variable(&mut self, name: &str, value: Value, state: &mut State) -> Eval<()> {
        environment::check(self, name, &value, state)?;
        if name == "PATH" {
            state.venv = Venv::None;
        }
        state.set(name, value);
        Ok(())
    }

    /// Runs a command whose words are expanded. Gives what it prints.
    pub(crate) fn run_words(&mut self, words: &[Value], state: &mut State) -> Eval<Value> {
        self.step()?;
        let Some((name, args)) = words.split_first() else {
            return Ok(Value::default());
        };
        if name.is_empty() {
            // An unset variable in the place of a name: bash looks for an empty name.
            return Ok(Value::default());
        }
        if let Some(trace) = &mut self.trace {
            trace.push(Step {
                level: self.level,
                command: joined(words).shown(),
                words: words.iter().map(Value::shown).collect(),
                place: crate::analysis::explain::place(self.place),
                known: words.iter().all(Value::is_known),
            });
        }
        if name.raw().starts_with("https://") || name.raw().starts_with("http://") {
            // `npx https://…` fetches and runs it.
            self.deny("shell.unknown-code", name.shown())?;
        }
        self.level += 1;
        let program = name.raw().rsplit('/').next().unwrap_or_default();
        let output = if program.is_empty() || !Value::is_known_text(program) {
            candidates::run(self, name, args, state)
        } else {
            self.program(name, program, args, state)
        };
        self.level -= 1;
        output
    }

    /// Runs a program whose base name is known.
    pub(crate) fn program(
        &mut self,
        name: &Value,
        program: &str,
        args: &[Value],
        state: &mut State,
    ) -> Eval<Value> {
        if state.aliases.contains_key(program)
            && let Some(value) = state.aliases.remove(program)
        {
            // Whether a script's aliases are expanded depends on the shell: both must pass.
            let mut inner = state.clone();
            let output = self.alias(&value, args, &mut inner)?;
            self.program(name, program, args, state)?;
            state.join(&inner);
            state.aliases.insert(program.to_owned(), value);
            return Ok(output);
        }
        if !name.raw().contains('/')
            && let Some(function) = state.functions.get(program).cloned()
        {
            if !function.certain {
                let mut other = state.clone();
                other.functions.remove(program);
                self.nested(|this| this.program(name, program, args, &mut other))?;
            }
            let outer = std::mem::replace(&mut state.positional, Shared::new(args.to_vec()));
            let locals = state.locals.replace(Shared::default());
            let body = std::slice::from_ref(&*function.body);
            let output = self.nested(|this| this.run(body, state))?;
            state.positional = outer;
            let hidden = std::mem::replace(&mut state.locals, locals);
            for (name, value) in hidden.iter().flat_map(|locals| locals.iter()).rev() {
                state.variables.restore(name, value.clone());
            }
            return Ok(output);
        }
        if let Some(output) = builtins::run(self, program, args, state)? {
            return Ok(output);
        }
        if let Some(words) = crate::analysis::venv::pip_of(name, program, args) {
            return self.nested(|this| this.run_words(&words, state));
        }
        let line = Line::new(program, args);
        let is_help = line.is_help();
        if !is_help {
            self.judge(
                &line,
                crate::analysis::venv::excuses(self, name, &line, state),
            )?;
        }
        if name.raw().contains('/')
            && let Some(output) = self.file(name, args, state)?
        {
            return Ok(output);
        }
        if is_help {
            return Ok(Value::output());
        }
        if self.place == Where::Remote && !line.is_read_only() && !line.is_exec() {
            self.deny("remote.write", line.shown())?;
        }
        if shells::is_shell(program) {
            return shells::run(self, args, state);
        }
        if crate::analysis::launched::is_launcher(program) {
            crate::analysis::launched::check(self, program, args, state)?;
        }
        if let Some(wrapper) = wrappers::of(program).find(|row| wrapping::wraps(row, args)) {
            return wrapping::run(self, wrapper, program, args, state);
        }
        self.place_allows(&line)?;
        if let Some(output) = crate::analysis::special::run(self, program, args, state)? {
            return Ok(output);
        }
        if !name.raw().contains('/') {
            crate::analysis::launched::check(self, program, args, state)?;
        }
        crate::analysis::acts::check(self, program, args, state)?;
        Ok(crate::analysis::outputs::of(self, program, args, state))
    }

    /// An alias: bash puts its text in the place of the name before it reads the line. The alias
    /// itself is not expanded in it.
    fn alias(&mut self, value: &str, args: &[Value], state: &mut State) -> Eval<Value> {
        let mut text = value.to_owned();
        let mut rest = args;
        // Behind a text that ends in a blank, the next word may be an alias too.
        while text.ends_with([' ', '\t'])
            && let Some((next, after)) = rest.split_first()
            && let Some(more) = state.aliases.get(next.raw())
        {
            text.push_str(more);
            rest = after;
        }
        for arg in rest {
            text.push(' ');
            text.push_str(&crate::text::quoted(arg.raw()));
        }
        self.nested(|this| this.code(&Value::known(text), state))
    }

    /// A program given by its path: a script that the command itself wrote or that lies in a
    /// file, a link to another program, or a service's start script.
    fn file(&mut self, name: &Value, args: &[Value], state: &mut State) -> Eval<Option<Value>> {
        let path = absolute(name, state);
        let Some(path) = path.as_known().map(str::to_owned) else {
            return Ok(None);
        };
        for folder in ["/etc/init.d/", "/etc/rc.d/", "/etc/rc.d/init.d/"] {
            if let Some(service) = path.strip_prefix(folder) {
                let mut words = vec![Value::known("service"), Value::known(service)];
                words.extend_from_slice(args);
                return self.nested(|this| this.run_words(&words, state)).map(Some);
            }
        }
        if let Some(target) = self.links.get(&path).cloned() {
            let mut words = vec![target];
            words.extend_from_slice(args);
            return self.nested(|this| this.run_words(&words, state)).map(Some);
        }
        let written = self.written.has(&path);
        let named = std::path::Path::new(&path).extension() == Some("sh".as_ref());
        let contents = self.contents(&Value::known(path.as_str()), state);
        let is_script = |content: &Value| {
            written || content.is_known() && (named || content.raw().starts_with("#!"))
        };
        if !contents.iter().any(is_script) {
            return Ok(None);
        }
        shells::each(&contents, |content| {
            shells::file(self, &path, content, args, state)
        })
        .map(Some)
    }

    /// Where the command runs bounds what it may be.
    fn place_allows(&self, line: &Line<'_>) -> Eval<()> {
        let read_only = || READ_ONLY.contains(&line.program);
        match self.place {
            Where::Remote
                if (!read_only() && !crate::analysis::snippets::is_interpreter(line.program))
                    || !line.is_read_only() =>
            {
                self.deny("remote.write", line.shown())
            }
            Where::Privileged if !read_only() => {
                self.deny("users.privilege", format!("sudo {}", line.shown()))
            }
            _ => Ok(()),
        }
    }

    /// Text that a shell reads.
    pub(crate) fn code(&mut self, text: &Value, state: &mut State) -> Eval<Value> {
        if text.is_unknown() || passes(text.raw().len(), self.policy.budgets.bytes) {
            self.deny("shell.unknown-code", text.shown())?;
            return Ok(Value::output());
        }
        let outer = std::mem::replace(&mut self.inner_code, true);
        let result = self.script(text.raw(), state);
        self.inner_code = outer;
        result
    }
}

/// Whether a command is `exec` without a command to start.
fn reopens(words: &[Value]) -> bool {
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    last.raw() == "exec"
        && before
            .iter()
            .all(|word| matches!(word.raw(), "builtin" | "command"))
}

/// An element of an array without its `[key]=`.
fn without_key(word: &Word) -> Word {
    let mut word = word.clone();
    if let Some(Piece::Plain(text)) = word.pieces.first_mut()
        && text.starts_with('[')
        && let Some((_, rest)) = text.split_once("]=")
    {
        *text = rest.to_owned();
    }
    word
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
