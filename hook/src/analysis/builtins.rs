//! Shell builtins that change what the following commands mean.

use crate::analysis::call::joined;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::shells;
use crate::analysis::state::State;
use crate::analysis::venv::Venv;
use crate::options::{Word, takes_value, walk};
use crate::text::{Escapes, unescape};
use crate::value::Value;
use crate::variables::{Shared, Variable};
use crate::verdict::Eval;

/// Runs a builtin; `None` if the program is none.
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each builtin: a table that is read as one"
)]
pub(crate) fn run(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<Option<Value>> {
    let output = match program {
        ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "wait" | "jobs"
        | "umask" | "ulimit" | "shopt" | "dirs" | "suspend" | "logout" | "getopts" | "times"
        | "compopt" | "disown" => Value::default(),
        "let" | "test" | "[" => {
            // Numbers and indices are expressions, which substitute once more.
            for arg in args {
                if program == "let" || arg.raw().contains('[') {
                    this.hidden_in_arithmetic(arg, state)?;
                }
            }
            Value::default()
        }
        "bind" | "complete" | "compgen" => {
            for pair in args.windows(2) {
                if matches!(pair[0].raw(), "-C" | "-x") {
                    // `bind -x` has a key before its command.
                    let code = pair[1].raw();
                    let code = code.split_once(": ").map_or(code, |(_, code)| code);
                    let mut inner = state.clone();
                    this.nested(|this| this.code(&Value::known(code), &mut inner))?;
                }
            }
            Value::default()
        }
        "cd" | "chdir" => {
            change_folder(this, args, state);
            Value::default()
        }
        "pushd" => {
            let before = state.cwd.clone();
            change_folder(this, args, state);
            state.folders.push(before);
            Value::default()
        }
        "popd" => {
            state.cwd = state.folders.pop().unwrap_or_else(Value::unknown);
            Value::default()
        }
        "eval" => {
            let text = joined(strip_dashes(args));
            return this.nested(|this| this.code(&text, state)).map(Some);
        }
        "source" | "." => return source(this, args, state).map(Some),
        "trap" => {
            if let [code, _, ..] = strip_dashes(args)
                && !matches!(code.raw(), "-" | "" | "-l" | "-p")
            {
                // It may run at once, and at the end, when more is set: which process a job's
                // variable names, say.
                let mut inner = state.clone();
                match this.nested(|this| this.code(code, &mut inner)) {
                    Err(denial)
                        if denial.rule == "process.kill"
                            && !mentions_only_what_is_set(code.raw(), state) => {}
                    result => drop(result?),
                }
                if !state.traps.contains(code) {
                    state.traps.push(code.clone());
                }
            }
            Value::default()
        }
        "deactivate" => {
            state.venv = Venv::None;
            return Ok(None);
        }
        "enable" if args.iter().any(|arg| arg.raw() == "-f") => {
            this.deny(
                "shell.unknown-code",
                format!("enable {}", joined(args).shown()),
            )?;
            Value::default()
        }
        "alias" => {
            for arg in args {
                if let Some((name, value)) = arg.raw().split_once('=') {
                    state.aliases.insert(name.to_owned(), value.to_owned());
                }
            }
            Value::default()
        }
        "unalias" => {
            for arg in args {
                state.aliases.remove(arg.raw());
            }
            Value::default()
        }
        "hash" => {
            if let [option, path, name] = args
                && option.raw() == "-p"
            {
                state
                    .aliases
                    .insert(name.raw().to_owned(), path.raw().to_owned());
            }
            Value::default()
        }
        "export" if args.first().is_some_and(|arg| arg.raw() == "-f") => {
            for arg in &args[1..] {
                if let Some(function) = state.functions.get(arg.raw()).cloned() {
                    state.exported.insert(arg.raw().to_owned(), function);
                }
            }
            Value::default()
        }
        "declare" | "typeset" | "export" | "readonly"
            if args.is_empty() || matches!(args, [option] if option.raw() == "-p") =>
        {
            listing()
        }
        "declare" | "typeset" | "export"
            if args.iter().any(|arg| arg.raw() == "-p")
                && args
                    .iter()
                    .any(|arg| crate::analysis::environment::is_secret(arg.raw())) =>
        {
            this.deny(
                "secret.environment",
                format!("{program} {}", joined(args).shown()),
            )?;
            Value::default()
        }
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            if matches!(program, "declare" | "typeset" | "local") {
                hide(args, state);
            }
            let refers = args
                .first()
                .is_some_and(|arg| arg.raw().starts_with('-') && arg.raw().contains('n'));
            for arg in args {
                if let (true, Some((name, _))) = (refers, arg.raw().split_once('=')) {
                    // A name for another variable: it may hold whatever that one does.
                    state.set(name, Value::unknown());
                    continue;
                }
                if let Some((name, value)) = arg.raw().split_once('=')
                    && crate::text::is_name(name)
                {
                    this.set_variable(name, Value::known(value), state)?;
                }
            }
            Value::default()
        }
        "unset" => {
            for arg in args {
                state.variables.remove(arg.raw());
                if state.functions.contains_key(arg.raw()) {
                    state.functions.remove(arg.raw());
                }
            }
            Value::default()
        }
        "set" => {
            if args.is_empty() {
                return Ok(Some(listing()));
            }
            if let Some(at) = args.iter().position(|arg| arg.raw() == "--") {
                state.positional = Shared::new(args[at + 1..].to_vec());
            } else if let Some(at) = args
                .iter()
                .position(|arg| !arg.raw().starts_with(['-', '+']))
                .filter(|at| *at == 0)
            {
                state.positional = Shared::new(args[at..].to_vec());
            }
            Value::default()
        }
        "shift" => {
            let count = args.first().map_or(Some(1), |arg| arg.raw().parse().ok());
            let count = count.unwrap_or(1).min(state.positional.len());
            state.positional.drain(..count);
            Value::default()
        }
        "read" => {
            read(this, args, state)?;
            Value::default()
        }
        "mapfile" | "readarray" => {
            lines(args, state);
            Value::default()
        }
        "printf" => return print(this, args, state).map(Some),
        "echo" => echo(args),
        "exec" if args.is_empty() => Value::default(),
        "env" | "printenv" | "history" if args.is_empty() => listing(),
        _ => return Ok(None),
    };
    Ok(Some(output))
}

/// Whether the script has set every variable that a text expands.
fn mentions_only_what_is_set(text: &str, state: &State) -> bool {
    text.split('$').skip(1).all(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        !crate::text::is_name(&rest[..end])
            || state.variables.contains(&rest[..end])
            || ["HOME", "PWD", "USER", "TMPDIR", "CODEX_HOME"].contains(&&rest[..end])
    })
}

/// What `env` prints: unknown, and recognisable.
fn listing() -> Value {
    let mut value = Value::output();
    value.push(crate::analysis::environment::LISTING);
    value
}

/// Keeps what the local variables of a function hide, so that it comes back when it returns.
fn hide(args: &[Value], state: &mut State) {
    let Some(locals) = &mut state.locals else {
        return;
    };
    for arg in args.iter().filter(|arg| !arg.raw().starts_with('-')) {
        let name = arg.raw().split('=').next().unwrap_or_default();
        locals.push((name.to_owned(), state.variables.get(name).cloned()));
    }
}

fn strip_dashes(args: &[Value]) -> &[Value] {
    match args.split_first() {
        Some((first, rest)) if first.raw() == "--" => rest,
        _ => args,
    }
}

fn change_folder(this: &Interpreter<'_>, args: &[Value], state: &mut State) {
    let target = args
        .iter()
        .find(|arg| arg.raw() == "-" || !arg.raw().starts_with('-'));
    state.cwd = match target {
        None => Value::known(this.context.home.to_string_lossy()),
        Some(path) if path.raw() == "-" => Value::unknown(),
        Some(path) => absolute(path, state),
    };
}

/// `source FILE args`: the file's lines run in this shell.
fn source(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<Value> {
    let Some((file, rest)) = strip_dashes(args).split_first() else {
        return Ok(Value::default());
    };
    let texts = this.contents(file, state);
    let path = absolute(file, state);
    let outer = (!rest.is_empty())
        .then(|| std::mem::replace(&mut state.positional, Shared::new(rest.to_vec())));
    let is_there = !this.is_missing(&path);
    let output = if texts.iter().all(Value::is_known) {
        shells::each(&texts, |text| this.nested(|this| this.code(text, state)))?
    } else if !is_there {
        // bash fails on a file that is not there.
        Value::default()
    } else {
        this.deny("shell.unknown-code", format!("source {}", file.shown()))?;
        Value::output()
    };
    if let Some(outer) = outer {
        state.positional = outer;
    }
    crate::analysis::venv::sourced(this, file, is_there, state);
    Ok(output)
}

/// `read`: takes one line of standard input.
fn read(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<()> {
    const VALUES: &[&str] = &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"];
    let mut names = Vec::new();
    let mut array = None;
    for word in walk(args, |option| takes_value(option, VALUES)) {
        match word {
            Word::Option(option, Some(name)) if option.raw().ends_with('a') => {
                array = Some(name.raw().to_owned());
            }
            Word::Option(..) => {}
            Word::Operand(name) => names.push(name.raw().to_owned()),
        }
    }
    if names.is_empty() && array.is_none() {
        names.push("REPLY".to_owned());
    }
    let line = match &mut state.stdin {
        None => Value::unknown(),
        Some(text) => {
            let raw = text.raw().to_owned();
            let (line, rest) = raw.split_once('\n').unwrap_or((raw.as_str(), ""));
            let line = Value::known(line);
            *text = Value::known(rest);
            line
        }
    };
    let separators = state
        .scalar("IFS")
        .map_or_else(|| " \t\n".to_owned(), |value| value.raw().to_owned());
    let mut words: Vec<&str> = line
        .raw()
        .split(|c| separators.contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    if let Some(array) = array {
        let values = words.into_iter().map(Value::known).collect();
        state.variables.insert(&array, Variable::Array(values));
        return Ok(());
    }
    let unknown = line.is_unknown();
    let last = names.len() - 1;
    for (i, name) in names.iter().enumerate() {
        let value = if unknown {
            line.clone()
        } else if i == last {
            Value::known(words.join(" "))
        } else if words.is_empty() {
            Value::default()
        } else {
            Value::known(words.remove(0))
        };
        this.set_variable(name, value, state)?;
    }
    Ok(())
}

/// `mapfile`: standard input as an array of lines.
fn lines(args: &[Value], state: &mut State) {
    let name = args
        .iter()
        .rev()
        .find(|arg| crate::text::is_name(arg.raw()))
        .map_or("MAPFILE", Value::raw)
        .to_owned();
    let text = state.stdin.clone().unwrap_or_else(Value::unknown);
    let values = text.raw().lines().map(Value::known).collect();
    state.variables.insert(&name, Variable::Array(values));
    state.stdin = Some(Value::default());
}

fn echo(args: &[Value]) -> Value {
    let mut rest = args;
    let mut newline = true;
    let mut escapes = false;
    while let Some((first, after)) = rest.split_first() {
        let raw = first.raw();
        let option = raw.len() > 1
            && raw.starts_with('-')
            && raw[1..].bytes().all(|b| matches!(b, b'n' | b'e' | b'E'));
        if !option {
            break;
        }
        newline &= !raw.contains('n');
        escapes |= raw.contains('e');
        rest = after;
    }
    let mut text = joined(rest);
    if escapes {
        text = Value::known(unescape(text.raw(), Escapes::Printf));
    }
    if newline {
        text.push("\n");
    }
    text
}

/// `printf [-v name] format args`.
fn print(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<Value> {
    let mut rest = strip_dashes(args);
    let mut target = None;
    if let [option, name, after @ ..] = rest
        && option.raw() == "-v"
    {
        target = Some(name.raw().to_owned());
        rest = after;
    }
    let Some((format, args)) = rest.split_first() else {
        return Ok(Value::default());
    };
    let text = formatted(format, args);
    match target {
        Some(name) => {
            this.set_variable(&name, text, state)?;
            Ok(Value::default())
        }
        None => Ok(text),
    }
}

/// What `printf` prints: the format once for all arguments.
fn formatted(format: &Value, args: &[Value]) -> Value {
    let format = unescape(format.raw(), Escapes::Printf);
    let mut out = Value::default();
    let mut next = args.iter();
    loop {
        let mut used = false;
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c.encode_utf8(&mut [0; 4]));
                continue;
            }
            let mut spec = String::new();
            while let Some(flag) = chars.peek().filter(|c| "-+ #0123456789.*'".contains(**c)) {
                spec.push(*flag);
                chars.next();
            }
            match chars.next() {
                Some('%') => out.push("%"),
                Some('s' | 'q' | 'd' | 'i' | 'u' | 'c') => {
                    used = true;
                    let empty = Value::default();
                    out.push_value(next.next().unwrap_or(&empty));
                }
                Some('b') => {
                    used = true;
                    if let Some(arg) = next.next() {
                        out.push(&unescape(arg.raw(), Escapes::Printf));
                    }
                }
                Some('x' | 'X' | 'o' | 'f' | 'e' | 'g') => {
                    used = true;
                    next.next();
                    out.push_value(&Value::some_name());
                }
                _ => out.push_value(&Value::unknown()),
            }
        }
        if !used || next.len() == 0 {
            return out;
        }
    }
}
