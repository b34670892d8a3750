//! What a call of another language does: the command that it runs, the path that it deletes, writes
//! or reads.

use codex_ds_rules::effects::Act;

use super::arguments::{Argument, decodes};
use super::calls::{Reader, check, plain};
use super::names::looked_up;
use super::table::{Does, METHODS};
use super::tokens::Token;
use crate::value::Value;
use crate::verdict::Eval;

impl Reader<'_, '_> {
    pub(super) fn call(
        &mut self,
        name: &str,
        tokens: &[Token],
        at: usize,
        args: &[Token],
    ) -> Eval<()> {
        let mut full = self.resolved(name);
        // PHP calls the function that a variable names.
        if name.starts_with('$')
            && let Some([Token::Text(text), ..]) = self.constants.get(name).map(Vec::as_slice)
            && let Some(text) = plain(text)
        {
            full = text;
        }
        self.library(&full, tokens, args)?;
        let shown = |this: &Self| format!("{}: {name}(…)", this.program);
        if looked_up(&full, args) {
            return self.this.deny("shell.unknown-code", shown(self));
        }
        if let Some((_, act)) = METHODS
            .iter()
            .find(|(method, act)| {
                *act != Act::Nothing
                    && name.rsplit('.').next() == Some(method)
                    && (name.contains('.') || at > 0 && tokens[at - 1] == Token::Sign('.'))
            })
            .filter(|_| self.does(&full).is_none() || at > 0 && tokens[at - 1] == Token::Sign('.'))
        {
            let path = self.receiver(tokens, at).unwrap_or_else(Value::unknown);
            return self.this.act(*act, &path, self.state);
        }
        if let Some(command) = full
            .strip_prefix("sh.")
            .filter(|_| self.program.starts_with("py"))
        {
            return self.sh_module(command, args);
        }
        if matches!(
            full.as_str(),
            "code.interact" | "IPython.embed" | "pty.spawn-x"
        ) {
            return self.this.deny("shell.interactive", shown(self));
        }
        let Some(does) = self.does(&full) else {
            return Ok(());
        };
        let arguments = self.arguments(args);
        match does {
            Does::Runs | Does::RunsVector => self.runs(does, arguments, args),
            Does::Each(act) => self.each(act, &arguments),
            Does::Moves => {
                let from = self.path(&arguments, 0);
                let to = self.path(&arguments, 1);
                self.this.act(Act::Move, &from, self.state)?;
                self.this.act(Act::Write, &to, self.state)
            }
            Does::Copies => {
                let to = self.path(&arguments, 1);
                self.this.act(Act::Write, &to, self.state)
            }
            Does::Opens => {
                let writes = args.iter().any(|token| {
                    matches!(token, Token::Name(name) if [
                        "O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND",
                    ]
                    .iter()
                    .any(|flag| name.ends_with(flag)))
                });
                if writes {
                    let path = self.path(&arguments, 0);
                    self.this.act(Act::Write, &path, self.state)?;
                }
                self.opens(&arguments)
            }
            Does::Evaluates => match arguments.first() {
                Some(Argument::Text(code)) if code.is_known() => {
                    let program = self.program.to_owned();
                    let state = self.state;
                    self.this.nested(|this| check(this, &program, code, state))
                }
                None => Ok(()),
                _ => self.this.deny("shell.unknown-code", shown(self)),
            },
            Does::Kills => self.this.deny("process.kill", shown(self)),
        }
    }

    /// An act on each path among the arguments.
    fn each(&mut self, act: Act, arguments: &[Argument]) -> Eval<()> {
        // The mode stands before the paths in some languages, and options before them.
        let first = arguments
            .iter()
            .take_while(|argument| match argument {
                Argument::Text(text) => {
                    text.as_known().is_some_and(|text| text.starts_with('-'))
                        || act == Act::Mode && !text.raw().contains('/')
                }
                Argument::List(_) => false,
            })
            .count();
        let first = if first < arguments.len() { first } else { 0 };
        let path = self.path(arguments, first);
        // In Ruby and Perl a delete takes several.
        if self.bare && act == Act::Delete {
            for i in 1..arguments.len() {
                let path = self.path(arguments, i);
                if path.is_known() {
                    self.this.act(act, &path, self.state)?;
                }
            }
        }
        if act != Act::Delete && path.is_unknown() {
            return Ok(());
        }
        self.this.act(act, &path, self.state)
    }

    /// `sh.rm("-rf", "x")` of Python's module `sh`.
    fn sh_module(&mut self, command: &str, args: &[Token]) -> Eval<()> {
        let mut words = vec![Value::known(command)];
        words.extend(
            self.arguments(args)
                .into_iter()
                .filter_map(|argument| match argument {
                    Argument::Text(text) => Some(text),
                    Argument::List(_) => None,
                }),
        );
        let mut inner = self.state.clone();
        self.this
            .nested(|this| this.run_words(&words, &mut inner))
            .map(drop)
    }

    fn opens(&mut self, arguments: &[Argument]) -> Eval<()> {
        let mode = match arguments.get(1) {
            Some(Argument::Text(mode)) => mode.raw().to_owned(),
            _ => String::new(),
        };
        let mut path = self.path(arguments, 0);
        // Perl: `open(F, ">path")`, `open(F, ">", "path")`, `open(F, "|command")`.
        if self.bare {
            let third = self.path(arguments, 2);
            let piped = mode.strip_prefix('|').or_else(|| mode.strip_suffix('|'));
            if let Some(code) = piped.filter(|code| *code != "-") {
                let mut inner = self.state.clone();
                self.this.code(&Value::known(code), &mut inner)?;
            } else if matches!(mode.as_str(), "|-" | "-|") {
                let mut inner = self.state.clone();
                self.this.code(&third, &mut inner)?;
            } else if let Some(rest) = mode.strip_prefix('>') {
                let rest = rest.trim_start_matches('>').trim();
                path = if rest.is_empty() {
                    third
                } else {
                    Value::known(rest)
                };
                return self.this.act(Act::Write, &path, self.state);
            }
        }
        if mode.contains(['w', 'a', 'x', '+']) && mode.len() <= 4 {
            if path.is_unknown() {
                return Ok(());
            }
            return self.this.act(Act::Write, &path, self.state);
        }
        self.this.act(Act::Read, &path, self.state)
    }

    fn runs(&mut self, does: Does, arguments: Vec<Argument>, args: &[Token]) -> Eval<()> {
        let mut inner = self.state.clone();
        inner.stdin = Some(Value::default());
        let mut words = Vec::new();
        for (i, argument) in arguments.into_iter().enumerate() {
            match argument {
                Argument::List(items) => {
                    // `execvp(name, [name, …])` repeats the name in the list.
                    if does == Does::RunsVector
                        && words.len() == 1
                        && items.first() == words.first()
                    {
                        words.clear();
                    }
                    words.extend(items);
                    break;
                }
                Argument::Text(text) if i == 0 || self.bare || does == Does::RunsVector => {
                    words.push(text);
                }
                Argument::Text(text) if text.is_known() => words.push(text),
                Argument::Text(_) => {}
            }
        }
        if let [one] = words.as_slice()
            && one
                .base_name()
                .as_known()
                .is_some_and(crate::analysis::shells::is_shell)
        {
            // A shell alone reads whatever its standard input is.
            inner.stdin = None;
        }
        match words.as_slice() {
            [] => Ok(()),
            // A text that is decoded or put together in the call is code nobody can read.
            [one] if one.is_unknown() && decodes(args) => {
                let shown = format!("{}: a command that is decoded", self.program);
                self.this.deny("shell.unknown-code", shown)
            }
            [one] => self
                .this
                .nested(|this| this.code(one, &mut inner))
                .map(drop),
            [first, second, ..] if first == second => {
                // `execlp("rm", "rm", …)`.
                let words = words[1..].to_vec();
                self.this
                    .nested(|this| this.run_words(&words, &mut inner))
                    .map(drop)
            }
            [first, rest @ ..]
                if first.raw().contains(' ')
                    && rest
                        .iter()
                        .all(|word| !word.is_known() || !word.raw().starts_with('-')) =>
            {
                let first = first.clone();
                self.this
                    .nested(|this| this.code(&first, &mut inner))
                    .map(drop)
            }
            words => self
                .this
                .nested(|this| this.run_words(words, &mut inner))
                .map(drop),
        }
    }
}
