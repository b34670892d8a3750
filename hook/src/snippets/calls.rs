//! Calls that run commands, delete, write or read files.

use std::collections::BTreeMap;

use codex_ds_rules::effects::Act;
use codex_ds_rules::wrappers::Where;

use super::arguments::{Argument, decodes};
use super::tokens::{self, Syntax, Token};
use crate::interpreter::{Eval, Interpreter};
use crate::state::State;
use crate::value::Value;

/// What a call does with its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Runs the first argument as a command line, or all of them as a command.
    Runs,
    /// Runs a command whose name is the first argument and whose words are a list behind it.
    RunsVector,
    /// Does this to each path among its arguments.
    Each(Act),
    /// Moves the first to the second.
    Moves,
    /// Copies the first to the second.
    Copies,
    /// Opens the first; writes it if the mode says so.
    Opens,
    /// Runs code of the same language.
    Evaluates,
    /// Signals a process.
    Kills,
}

/// Calls by their full names, and by last names that mean only this.
const CALLS: &[(&str, Does)] = &[
    ("kill", Does::Kills),
    ("spawn", Does::Runs),
    ("os.system", Does::Runs),
    ("os.popen", Does::Runs),
    ("os.popen2", Does::Runs),
    ("os.popen3", Does::Runs),
    ("popen2.popen2", Does::Runs),
    ("subprocess.run", Does::Runs),
    ("subprocess.call", Does::Runs),
    ("subprocess.check_call", Does::Runs),
    ("subprocess.check_output", Does::Runs),
    ("subprocess.Popen", Does::Runs),
    ("subprocess.getoutput", Does::Runs),
    ("subprocess.getstatusoutput", Does::Runs),
    ("commands.getoutput", Does::Runs),
    ("commands.getstatusoutput", Does::Runs),
    ("asyncio.create_subprocess_shell", Does::Runs),
    ("asyncio.create_subprocess_exec", Does::Runs),
    ("pty.spawn", Does::Runs),
    ("os.startfile", Does::Runs),
    ("pexpect.spawn", Does::Runs),
    ("pexpect.run", Does::Runs),
    ("os.execv", Does::RunsVector),
    ("os.execvp", Does::RunsVector),
    ("os.execve", Does::RunsVector),
    ("os.execvpe", Does::RunsVector),
    ("os.spawnv", Does::RunsVector),
    ("os.spawnvp", Does::RunsVector),
    ("os.posix_spawn", Does::RunsVector),
    ("os.posix_spawnp", Does::RunsVector),
    ("os.execl", Does::Runs),
    ("os.execlp", Does::Runs),
    ("os.execle", Does::Runs),
    ("os.spawnl", Does::Runs),
    ("os.spawnlp", Does::Runs),
    ("child_process.exec", Does::Runs),
    ("child_process.execSync", Does::Runs),
    ("child_process.spawn", Does::RunsVector),
    ("child_process.spawnSync", Does::RunsVector),
    ("child_process.execFile", Does::RunsVector),
    ("child_process.execFileSync", Does::RunsVector),
    ("execSync", Does::Runs),
    ("spawnSync", Does::RunsVector),
    ("execFileSync", Does::RunsVector),
    ("execFile", Does::RunsVector),
    ("execaSync", Does::RunsVector),
    ("execa", Does::RunsVector),
    ("Bun.spawn", Does::Runs),
    ("Bun.spawnSync", Does::Runs),
    ("Deno.run", Does::Runs),
    ("Deno.Command", Does::RunsVector),
    ("shell_exec", Does::Runs),
    ("passthru", Does::Runs),
    ("proc_open", Does::Runs),
    ("pcntl_exec", Does::Runs),
    ("popen", Does::Runs),
    ("system2", Does::RunsVector),
    ("system", Does::Runs),
    ("check_output", Does::Runs),
    ("check_call", Does::Runs),
    ("Popen", Does::Runs),
    ("getoutput", Does::Runs),
    ("getstatusoutput", Does::Runs),
    ("os.execute", Does::Runs),
    ("io.popen", Does::Runs),
    ("IO.popen", Does::Runs),
    ("Open3.capture3", Does::Runs),
    ("Open3.capture2", Does::Runs),
    ("Open3.popen3", Does::Runs),
    ("Kernel.system", Does::Runs),
    ("Kernel.exec", Does::Runs),
    ("Process.spawn", Does::Runs),
    ("PTY.spawn", Does::Runs),
    ("System.cmd", Does::RunsVector),
    ("os.cmd", Does::Runs),
    ("Runtime.exec", Does::Runs),
    ("getRuntime.exec", Does::Runs),
    ("shutil.rmtree", Does::Each(Act::Delete)),
    ("rmtree", Does::Each(Act::Delete)),
    ("remove_tree", Does::Each(Act::Delete)),
    ("os.remove", Does::Each(Act::Delete)),
    ("os.unlink", Does::Each(Act::Delete)),
    ("os.rmdir", Does::Each(Act::Delete)),
    ("os.removedirs", Does::Each(Act::Delete)),
    ("send2trash", Does::Each(Act::Delete)),
    ("os.truncate", Does::Each(Act::Write)),
    ("truncate", Does::Each(Act::Write)),
    ("fs.rm", Does::Each(Act::Delete)),
    ("fs.rmSync", Does::Each(Act::Delete)),
    ("fs.unlink", Does::Each(Act::Delete)),
    ("fs.unlinkSync", Does::Each(Act::Delete)),
    ("fs.rmdir", Does::Each(Act::Delete)),
    ("fs.rmdirSync", Does::Each(Act::Delete)),
    ("fs.promises.rm", Does::Each(Act::Delete)),
    ("fs.promises.unlink", Does::Each(Act::Delete)),
    ("fs.promises.rmdir", Does::Each(Act::Delete)),
    ("fs.removeSync", Does::Each(Act::Delete)),
    ("fs.remove", Does::Each(Act::Delete)),
    ("fs.emptyDirSync", Does::Each(Act::Delete)),
    ("rmSync", Does::Each(Act::Delete)),
    ("unlinkSync", Does::Each(Act::Delete)),
    ("rmdirSync", Does::Each(Act::Delete)),
    ("rimraf", Does::Each(Act::Delete)),
    ("rimraf.sync", Does::Each(Act::Delete)),
    ("del.sync", Does::Each(Act::Delete)),
    ("Deno.remove", Does::Each(Act::Delete)),
    ("Deno.removeSync", Does::Each(Act::Delete)),
    ("unlink", Does::Each(Act::Delete)),
    ("rmdir", Does::Each(Act::Delete)),
    ("FileUtils.rm", Does::Each(Act::Delete)),
    ("FileUtils.rm_f", Does::Each(Act::Delete)),
    ("FileUtils.rm_r", Does::Each(Act::Delete)),
    ("FileUtils.rm_rf", Does::Each(Act::Delete)),
    ("FileUtils.remove_dir", Does::Each(Act::Delete)),
    ("FileUtils.remove_entry", Does::Each(Act::Delete)),
    ("FileUtils.remove_entry_secure", Does::Each(Act::Delete)),
    ("FileUtils.rmtree", Does::Each(Act::Delete)),
    ("FileUtils.rmdir", Does::Each(Act::Delete)),
    ("rm_rf", Does::Each(Act::Delete)),
    ("File.delete", Does::Each(Act::Delete)),
    ("File.unlink", Does::Each(Act::Delete)),
    ("Dir.rmdir", Does::Each(Act::Delete)),
    ("Dir.delete", Does::Each(Act::Delete)),
    ("Dir.unlink", Does::Each(Act::Delete)),
    ("file.remove", Does::Each(Act::Delete)),
    ("File.rm_rf", Does::Each(Act::Delete)),
    ("File.rm", Does::Each(Act::Delete)),
    ("rm", Does::Each(Act::Delete)),
    ("removeSync", Does::Each(Act::Delete)),
    ("emptyDirSync", Does::Each(Act::Delete)),
    ("shelljs.rm", Does::Each(Act::Delete)),
    ("move", Does::Moves),
    ("shelljs.exec", Does::Runs),
    ("sp.run", Does::Runs),
    ("Open3.capture2e", Does::Runs),
    ("IO.popen2e", Does::Runs),
    ("callCommand", Does::Runs),
    ("readProcess", Does::RunsVector),
    ("ProcessBuilder", Does::RunsVector),
    ("POSIX.kill", Does::Kills),
    ("psutil.Process.kill", Does::Kills),
    ("shutil.move", Does::Moves),
    ("os.rename", Does::Moves),
    ("os.renames", Does::Moves),
    ("os.replace", Does::Moves),
    ("fs.rename", Does::Moves),
    ("fs.renameSync", Does::Moves),
    ("fs.promises.rename", Does::Moves),
    ("renameSync", Does::Moves),
    ("rename", Does::Moves),
    ("FileUtils.mv", Does::Moves),
    ("File.rename", Does::Moves),
    ("shutil.copy", Does::Copies),
    ("shutil.copy2", Does::Copies),
    ("shutil.copyfile", Does::Copies),
    ("shutil.copytree", Does::Copies),
    ("os.symlink", Does::Copies),
    ("os.link", Does::Copies),
    ("fs.copyFile", Does::Copies),
    ("fs.copyFileSync", Does::Copies),
    ("fs.cpSync", Does::Copies),
    ("fs.symlinkSync", Does::Copies),
    ("FileUtils.cp", Does::Copies),
    ("FileUtils.cp_r", Does::Copies),
    ("copy", Does::Copies),
    ("open", Does::Opens),
    ("io.open", Does::Opens),
    ("codecs.open", Does::Opens),
    ("os.open", Does::Opens),
    ("fopen", Does::Opens),
    ("File.open", Does::Opens),
    ("File.new", Does::Opens),
    ("fs.openSync", Does::Opens),
    ("gzip.open", Does::Opens),
    ("fs.writeFile", Does::Each(Act::Write)),
    ("fs.writeFileSync", Does::Each(Act::Write)),
    ("fs.appendFile", Does::Each(Act::Write)),
    ("fs.appendFileSync", Does::Each(Act::Write)),
    ("fs.promises.writeFile", Does::Each(Act::Write)),
    ("fs.createWriteStream", Does::Each(Act::Write)),
    ("fs.truncateSync", Does::Each(Act::Write)),
    ("writeFileSync", Does::Each(Act::Write)),
    ("appendFileSync", Does::Each(Act::Write)),
    ("file_put_contents", Does::Each(Act::Write)),
    ("File.write", Does::Each(Act::Write)),
    ("IO.write", Does::Each(Act::Write)),
    ("Deno.writeTextFile", Does::Each(Act::Write)),
    ("Deno.writeTextFileSync", Does::Each(Act::Write)),
    ("writeLines", Does::Each(Act::Write)),
    ("touch", Does::Each(Act::Write)),
    ("os.chmod", Does::Each(Act::Mode)),
    ("os.chown", Does::Each(Act::Mode)),
    ("os.lchown", Does::Each(Act::Mode)),
    ("shutil.chown", Does::Each(Act::Mode)),
    ("fs.chmodSync", Does::Each(Act::Mode)),
    ("fs.chownSync", Does::Each(Act::Mode)),
    ("chmod", Does::Each(Act::Mode)),
    ("chown", Does::Each(Act::Mode)),
    ("FileUtils.chmod", Does::Each(Act::Mode)),
    ("FileUtils.chmod_R", Does::Each(Act::Mode)),
    ("eval", Does::Evaluates),
    ("exec", Does::Evaluates),
    ("Function", Does::Evaluates),
    ("vm.runInThisContext", Does::Evaluates),
    ("vm.runInNewContext", Does::Evaluates),
    ("loadstring", Does::Evaluates),
    ("instance_eval", Does::Evaluates),
    ("class_eval", Does::Evaluates),
    ("assert_x", Does::Evaluates),
    ("create_function", Does::Evaluates),
    ("builtins.exec", Does::Evaluates),
    ("builtins.eval", Does::Evaluates),
    ("marshal.loads", Does::Evaluates),
    ("pickle.loads", Does::Evaluates),
    ("os.kill", Does::Kills),
    ("os.killpg", Does::Kills),
    ("process.kill", Does::Kills),
    ("Process.kill", Does::Kills),
    ("posix_kill", Does::Kills),
    ("signal.pthread_kill", Does::Kills),
];

/// Methods of a path object: the path stands before them.
const METHODS: &[(&str, Act)] = &[
    ("unlink", Act::Delete),
    ("rmdir", Act::Delete),
    ("rmtree", Act::Delete),
    ("write_text", Act::Write),
    ("write_bytes", Act::Write),
    ("touch", Act::Write),
    ("chmod", Act::Mode),
    ("rename", Act::Move),
    ("remove", Act::Nothing),
];

/// Languages in which `exec` runs a command and not code.
const EXEC_RUNS: &[&str] = &[
    "perl", "ruby", "php", "node", "nodejs", "tclsh", "expect", "bun", "deno",
];

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
    if super::exotic::is_exotic(program) {
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
            && let Some(tail) = plain(text).filter(|text| crate::syntax::is_name(text))
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

fn plain(text: &[Option<String>]) -> Option<String> {
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
    bare: bool,
    aliases: BTreeMap<String, String>,
    pub(super) constants: BTreeMap<String, Vec<Token>>,
}

/// Whether a call looks up another by its name: `getattr(os, "system")`.
fn looked_up(full: &str, args: &[Token]) -> bool {
    let texts: String = args
        .iter()
        .filter_map(|token| match token {
            Token::Text(text) => plain(text),
            _ => None,
        })
        .collect();
    matches!(full, "getattr" | "__getattribute__" | "globals")
        && CALLS
            .iter()
            .any(|(call, _)| call.rsplit('.').next() == Some(texts.as_str()))
}

impl Reader<'_, '_> {
    /// Learns what names stand for: imports, and names set to constants.
    fn names(&mut self, tokens: &[Token]) {
        for (i, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else {
                continue;
            };
            match (name.as_str(), tokens.get(i + 1..)) {
                (
                    "import",
                    Some(
                        [
                            Token::Name(module),
                            Token::Name(word),
                            Token::Name(alias),
                            ..,
                        ],
                    ),
                ) if word == "as" => {
                    self.aliases.insert(alias.clone(), module.clone());
                }
                ("from", Some([Token::Name(module), Token::Name(word), rest @ ..]))
                    if word == "import" =>
                {
                    let mut rest = rest;
                    while let [Token::Name(item), after @ ..] = rest {
                        let mut alias = item;
                        let mut after = after;
                        if let [Token::Name(word), Token::Name(other), tail @ ..] = after
                            && word == "as"
                        {
                            alias = other;
                            after = tail;
                        }
                        self.aliases
                            .insert(alias.clone(), format!("{module}.{item}"));
                        match after {
                            [Token::Sign(','), tail @ ..] => rest = tail,
                            _ => break,
                        }
                    }
                }
                (_, Some([Token::Sign('='), first, ..])) if *first != Token::Sign('=') => {
                    if let Token::Name(module) = first
                        && !matches!(tokens.get(i + 3), Some(Token::Sign('(')))
                    {
                        self.aliases.insert(name.clone(), module.clone());
                    } else {
                        let end = tokens[i + 2..]
                            .iter()
                            .position(|t| {
                                matches!(t, Token::Sign(';')) || matches!(t, Token::Name(_))
                            })
                            .map_or(tokens.len(), |n| i + 2 + n);
                        self.constants
                            .insert(name.clone(), tokens[i + 2..end].to_vec());
                    }
                }
                _ => {}
            }
        }
    }

    /// A name with its first part resolved.
    fn resolved(&self, name: &str) -> String {
        let mut name = name.to_owned();
        for _ in 0..4 {
            let head = name.split('.').next().unwrap_or_default();
            match self.aliases.get(head) {
                Some(module) if module.split('.').next() != Some(head) => {
                    name = format!("{module}{}", &name[head.len()..]);
                }
                _ => break,
            }
        }
        name
    }

    fn does(&self, name: &str) -> Option<Does> {
        if name == "exec"
            && EXEC_RUNS.contains(
                &self
                    .program
                    .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
            )
        {
            return Some(Does::Runs);
        }
        let exact = CALLS.iter().find(|(call, _)| *call == name);
        // A last name that is in the table by itself counts behind any object.
        let last = name.rsplit('.').next().unwrap_or(name);
        let by_last = || {
            CALLS.iter().find(|(call, _)| {
                *call == last
                    && !matches!(
                        last,
                        "open"
                            | "eval"
                            | "exec"
                            | "rename"
                            | "copy"
                            | "rm"
                            | "touch"
                            | "chmod"
                            | "unlink"
                            | "kill"
                            | "spawn"
                            | "rmdir"
                            | "system2"
                            | "move"
                            | "truncate"
                            | "chown"
                    )
            })
        };
        exact.or_else(by_last).map(|(_, does)| *does)
    }

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
                                || name == "open"
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

    fn call(&mut self, name: &str, tokens: &[Token], at: usize, args: &[Token]) -> Eval<()> {
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
                .is_some_and(crate::shells::is_shell)
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
                plain(text).is_some_and(|text| crate::environment::is_secret(&text))
            }
            Token::Name(name) => crate::environment::is_secret(name),
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
