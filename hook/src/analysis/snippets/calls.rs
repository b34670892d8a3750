//! Calls that run commands, delete, write or read files.

use std::collections::BTreeMap;

use codex_ds_rules::effects::Act;
use codex_ds_rules::wrappers::Where;

use super::arguments::Argument;
use super::table::{CALLS, Does};
use super::tokens::{self, Syntax, Token};
use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::value::Value;
use crate::verdict::Eval;

/// Checks a snippet.
pub(crate) fn check(
    this: &mut Interpreter<'_>,
    program: &str,
    code: &Value,
    state: &State,
) -> Eval<()> {
    if code.is_empty() {
        return Ok(());
    }
    if code.is_unknown() || crate::budgets::passes(code.raw().len(), this.policy.budgets.bytes) {
        return this.deny("shell.unknown-code", format!("{program}: {}", code.shown()));
    }
    let language = super::language(program);
    let syntax = Syntax {
        comments: language.map_or(&["#"], |l| l.comments),
        backticks: language.is_some_and(|l| l.backticks),
    };
    let tokens = collapse(&tokens::read(code.raw(), &syntax));
    let mut reader = Reader {
        this,
        program,
        state,
        bare: language.is_some_and(|l| l.bare),
        aliases: BTreeMap::new(),
        constants: BTreeMap::new(),
    };
    spoken(reader.this, program, code, state)?;
    if super::languages::is_exotic(program) {
        super::exotic::check(reader.this, program, &tokens, state)?;
    }
    forks(reader.this, &tokens, code)?;
    reader.names(&tokens);
    for at in 0..tokens.len() {
        reader.this.step()?;
        reader.token(&tokens, at)?;
    }
    reader.printed(&tokens, code.raw())
}

/// Debuggers, Tcl and AppleScript: a command word with the command line behind it.
const SPOKEN: &[(&str, &[&str])] = &[
    ("gdb", &["shell ", "!", "pipe "]),
    ("lldb", &["platform shell ", "shell "]),
    ("ipython", &["!", "%sx ", "%system ", "%%bash", "%%sh"]),
    ("tclsh", &["exec "]),
    ("wish", &["exec "]),
    ("expect", &["spawn ", "exec ", "system "]),
    ("osascript", &["do shell script "]),
];

/// Finds the command lines of languages that need no call for them.
fn spoken(this: &mut Interpreter<'_>, program: &str, code: &Value, state: &State) -> Eval<()> {
    let Some((_, words)) = SPOKEN.iter().find(|(name, _)| program.starts_with(name)) else {
        return Ok(());
    };
    for line in code.raw().split(['\n', ';', '[', '{']) {
        let line = line.trim();
        if let Some(command) = words.iter().find_map(|word| line.strip_prefix(word)) {
            let command = command.trim_end_matches([']', '}']).trim();
            // AppleScript quotes the whole line.
            let command = command
                .strip_prefix('"')
                .and_then(|text| text.split('"').next())
                .unwrap_or(command);
            let mut inner = state.clone();
            this.nested(|this| this.code(&Value::known(command), &mut inner))?;
        }
    }
    Ok(())
}

/// Denies a loop that forks.
fn forks(this: &Interpreter<'_>, tokens: &[Token], code: &Value) -> Eval<()> {
    let has = |wanted: &[&str]| {
        tokens
            .iter()
            .any(|token| matches!(token, Token::Name(name) if wanted.contains(&name.as_str())))
    };
    if has(&["fork", "os.fork", "Process.fork"]) && has(&["while", "loop", "for", "until"]) {
        return this.deny("shell.limit", code.shown());
    }
    Ok(())
}

/// `require("fs")` and `__import__("os")` are the modules themselves.
fn collapse(tokens: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0;
    while i < tokens.len() {
        let module = match &tokens[i..] {
            [
                Token::Name(call),
                Token::Sign('('),
                Token::Text(text),
                Token::Sign(')'),
                ..,
            ] if matches!(
                call.as_str(),
                "require" | "__import__" | "importlib.import_module" | "import_module" | "import"
            ) =>
            {
                plain(text).map(|name| name.trim_start_matches("node:").replace('/', "."))
            }
            _ => None,
        };
        if let Some(module) = module {
            out.push(Token::Name(module));
            i += 4;
        } else {
            out.push(tokens[i].clone());
            i += 1;
        }
        // `module["name"](…)`.
        while let (
            Some(Token::Name(head)),
            [
                Token::Sign('['),
                Token::Text(text),
                Token::Sign(']'),
                Token::Sign('('),
                ..,
            ],
        ) = (out.last(), tokens.get(i..).unwrap_or_default())
            && let Some(tail) = plain(text).filter(|text| crate::text::is_name(text))
        {
            let whole = format!("{head}.{tail}");
            out.pop();
            out.push(Token::Name(whole));
            i += 3;
        }
        // A method of what was collapsed continues its name.
        while let (Some(Token::Name(head)), Some(Token::Sign('.')), Some(Token::Name(tail))) =
            (out.last(), tokens.get(i), tokens.get(i + 1))
        {
            let whole = format!("{head}.{tail}");
            out.pop();
            out.push(Token::Name(whole));
            i += 2;
        }
    }
    out
}

pub(super) fn plain(text: &[Option<String>]) -> Option<String> {
    match text {
        [Some(text)] => Some(text.clone()),
        _ => None,
    }
}

pub(super) fn value(text: &[Option<String>]) -> Value {
    let mut value = Value::default();
    for part in text {
        match part {
            Some(part) => value.push(part),
            None => value.push_value(&Value::unknown()),
        }
    }
    value
}

pub(super) struct Reader<'r, 'a> {
    pub(super) this: &'r mut Interpreter<'a>,
    pub(super) program: &'r str,
    pub(super) state: &'r State,
    pub(super) bare: bool,
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) constants: BTreeMap<String, Vec<Token>>,
}

impl Reader<'_, '_> {
    fn token(&mut self, tokens: &[Token], at: usize) -> Eval<()> {
        match &tokens[at] {
            Token::Backticks(code) => {
                let mut inner = self.state.clone();
                self.this.code(&Value::known(code.as_str()), &mut inner)?;
            }
            Token::Text(text) => self.text(tokens, at, &value(text))?,
            Token::Name(name) => {
                let open = tokens.get(at + 1) == Some(&Token::Sign('('));
                let bare = self.bare
                    && match tokens.get(at + 1) {
                        Some(Token::Text(_) | Token::Sign('$' | '@' | '[' | '0'..='9')) => true,
                        // `unlink glob "…"`, `kill KILL => 1`, `unlink $_`.
                        Some(Token::Name(next)) => {
                            next.starts_with('$')
                                || matches!(next.as_str(), "glob" | "KILL")
                                || matches!(name.as_str(), "open" | "eval")
                        }
                        // `unlink <*>`, and `unlink` of each line.
                        Some(Token::Sign('<' | ';' | '}')) | None => {
                            matches!(name.as_str(), "unlink" | "rmdir")
                        }
                        _ => false,
                    };
                if open || bare {
                    let end = if open {
                        closing(tokens, at + 1)
                    } else {
                        statement_end(tokens, at + 1)
                    };
                    let from = if open { at + 2 } else { at + 1 };
                    self.call(name, tokens, at, &tokens[from..end])?;
                } else {
                    self.handed_on(name, tokens, at)?;
                }
            }
            Token::Sign(_) => {}
        }
        Ok(())
    }

    /// `map(os.remove, …)`, `array_map("unlink", …)`, and awk's `command | getline`.
    fn handed_on(&mut self, name: &str, tokens: &[Token], at: usize) -> Eval<()> {
        let before = at.checked_sub(1).map(|i| &tokens[i]);
        let after = tokens.get(at + 1);
        if super::language(self.program).is_some_and(|l| l.operand)
            && (after == Some(&Token::Sign('|')) && tokens.get(at + 2) != Some(&Token::Sign('|')))
            && let Some(Argument::Text(text)) =
                self.constants.get(name).map(|c| self.argument(c, 0))
        {
            let mut inner = self.state.clone();
            return self.this.code(&text, &mut inner).map(drop);
        }
        let full = self.resolved(name);
        let argument = matches!(before, Some(Token::Sign('(' | ',' | '&')))
            && matches!(after, Some(Token::Sign(',' | ')')));
        if argument && full.contains('.') {
            self.dangerous(&full)?;
        }
        Ok(())
    }

    /// Denies a function that deletes, runs or kills, whatever it is called with.
    fn dangerous(&mut self, name: &str) -> Eval<()> {
        let shown = format!("{}: {name}", self.program);
        match CALLS.iter().find(|(call, _)| *call == name) {
            Some((_, Does::Each(act @ Act::Delete))) => {
                self.this.act(*act, &Value::unknown(), self.state)
            }
            Some((_, Does::Runs | Does::RunsVector | Does::Evaluates | Does::Kills)) => {
                self.this.deny("shell.unknown-code", shown)
            }
            _ => Ok(()),
        }
    }

    /// A string: in `awk` it may be a command or a file; anywhere it may name a secret.
    fn text(&mut self, tokens: &[Token], at: usize, text: &Value) -> Eval<()> {
        let before = at.checked_sub(1).map(|i| &tokens[i]);
        if super::language(self.program).is_some_and(|l| l.operand) {
            let piped = |token: Option<&Token>| token == Some(&Token::Sign('|'));
            let next_is_or = tokens.get(at + 2) == Some(&Token::Sign('|'));
            let before_is_or = at >= 2 && tokens[at - 2] == Token::Sign('|');
            if piped(before) && !before_is_or || piped(tokens.get(at + 1)) && !next_is_or {
                let mut inner = self.state.clone();
                self.this.code(text, &mut inner)?;
            }
            let elsewhere = self.this.place == Where::Remote;
            if before == Some(&Token::Sign('>')) && (elsewhere || text.raw().contains('/')) {
                self.this.write_path(text, self.state)?;
            }
        }
        if before == Some(&Token::Sign('(')) && self.program.starts_with("php") {
            self.dangerous(text.raw())?;
        }
        // zx and Bun: $`command`.
        if before == Some(&Token::Sign('$')) && ["bun", "zx", "node", "tsx"].contains(&self.program)
        {
            let mut inner = self.state.clone();
            self.this.code(text, &mut inner)?;
        }
        if text.raw().starts_with("/inet/") {
            self.this.deny("exfiltration.shell", text.shown())?;
        }
        let raw = text.raw();
        if raw.len() < 300
            && !raw.contains([' ', '\n'])
            && (raw.contains('/') || raw.starts_with('.'))
        {
            let path = match raw.strip_prefix('~') {
                Some(rest) => Value::known(format!(
                    "{}{rest}",
                    self.this.context.home.to_string_lossy()
                )),
                None => text.clone(),
            };
            self.this.act(Act::Read, &path, self.state)?;
        }
        Ok(())
    }

    /// A snippet that names a secret variable and prints.
    fn printed(&mut self, tokens: &[Token], code: &str) -> Eval<()> {
        let prints = [
            "print",
            "console.log",
            "puts",
            "echo",
            "stdout",
            "say",
            "dump",
        ]
        .iter()
        .any(|word| code.contains(word))
            // An expression that is only evaluated is printed by `-p`.
            || code.trim_start().starts_with("process.env");
        let environment = [
            "environ",
            "getenv",
            "process.env",
            "ENV[",
            "ENV{",
            "$_ENV",
            "ENVIRON[",
        ]
        .iter()
        .any(|word| code.contains(word));
        if !prints || !environment {
            return Ok(());
        }
        let secret = tokens.iter().any(|token| match token {
            Token::Text(text) => {
                plain(text).is_some_and(|text| crate::analysis::environment::is_secret(&text))
            }
            Token::Name(name) => crate::analysis::environment::is_secret(name),
            _ => false,
        });
        let whole = [
            "print(os.environ)",
            "print(dict(os.environ",
            "console.log(process.env)",
            "os.environ.items",
            "pprint(os.environ",
            "JSON.stringify(process.env)",
            "json.dumps(dict(os.environ",
        ]
        .iter()
        .any(|text| code.contains(text));
        if secret || whole {
            return self.this.deny(
                "secret.environment",
                format!("{}: the environment", self.program),
            );
        }
        Ok(())
    }
}

/// The index of the parenthesis that closes the one at `open`.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut level = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(' | '[' | '{') => level += 1,
            Token::Sign(')' | ']' | '}') => {
                level -= 1;
                if level == 0 {
                    return i;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

fn statement_end(tokens: &[Token], from: usize) -> usize {
    tokens[from..]
        .iter()
        .position(|token| matches!(token, Token::Sign(';' | '}')))
        .map_or(tokens.len(), |n| from + n)
}
