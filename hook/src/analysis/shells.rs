//! Shells as programs, and script files.

use codex_ds_rules::wrappers::Where;

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::snippets;
use crate::analysis::state::State;
use crate::options::{leading, takes_value};
use crate::value::Value;
use crate::variables::Shared;
use crate::verdict::Eval;

/// Programs that read shell scripts.
pub(crate) const SHELLS: &[&str] = &[
    "bash",
    "sh",
    "dash",
    "zsh",
    "ksh",
    "ksh93",
    "mksh",
    "pdksh",
    "ash",
    "rbash",
    "rksh",
    "yash",
    "fish",
    "csh",
    "tcsh",
    "rc",
    "elvish",
    "xonsh",
    "nu",
    "pwsh",
    "powershell",
    "oil",
    "osh",
    "bosh",
];

/// Options of these shells that take a value.
const VALUES: &[&str] = &[
    "-o",
    "-O",
    "+o",
    "+O",
    "--rcfile",
    "--init-file",
    "--emulate",
];

pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// A shell started with these arguments.
pub(crate) fn run(this: &mut Interpreter<'_>, args: &[Value], state: &State) -> Eval<Value> {
    let mut inner = state.outside();
    inner.functions = inner.exported.clone();
    inner.positional = Shared::default();
    let mut rest = args;
    let mut checks_only = false;
    let mut asked = false;
    let mut from_stdin = false;
    while let Some((arg, after)) = rest.split_first() {
        let raw = arg.raw();
        let option = raw.len() > 1 && raw.starts_with(['-', '+']);
        if !option {
            break;
        }
        rest = after;
        match raw {
            "--" | "-" => break,
            "--version" | "--help" | "--dump-strings" | "--dump-po-strings" => {
                return Ok(Value::output());
            }
            "--rcfile" | "--init-file" => {
                if let Some((file, after)) = rest.split_first() {
                    each(&this.contents(file, state), |text| {
                        this.nested(|this| this.code(text, &mut inner))
                    })?;
                    rest = after;
                }
                continue;
            }
            "--command" => {
                if let Some((text, _)) = rest.split_first() {
                    return this.nested(|this| this.code(text, &mut inner));
                }
            }
            _ => {}
        }
        if raw.starts_with("--") {
            continue;
        }
        // PowerShell's options are words behind one dash.
        let word = raw.len() > 3 && raw.as_bytes()[1].is_ascii_uppercase();
        let letter = |letter: char| raw.starts_with('-') && !word && raw.contains(letter);
        checks_only |= letter('n');
        asked |= raw == "-i";
        from_stdin |= letter('s');
        let command = letter('c') || raw.eq_ignore_ascii_case("-command");
        if takes_value(raw, VALUES) {
            rest = rest.get(1..).unwrap_or_default();
        }
        if command {
            return command_option(this, rest, checks_only, &mut inner);
        }
    }
    if checks_only {
        return Ok(Value::output());
    }
    if let Some((file, args)) = rest.split_first()
        && !from_stdin
        && file.raw() != "-"
    {
        inner.positional = Shared::new(args.to_vec());
        inner.zero = file.clone();
        let path = absolute(file, state);
        return each(&this.contents(file, state), |content| {
            script_file(this, &path, file, content, &mut inner.clone())
        });
    }
    if from_stdin {
        inner.positional = Shared::new(rest.to_vec());
    }
    if asked {
        this.deny("shell.interactive", "a shell with -i")?;
    }
    if let Some(text) = state.stdin.clone() {
        inner.stdin = Some(Value::default());
        this.nested(|this| this.code(&text, &mut inner))
    } else {
        this.deny("shell.interactive", "a shell without a script")?;
        Ok(Value::output())
    }
}

/// `-c TEXT [NAME ARGS…]`; options may still stand before the text.
fn command_option(
    this: &mut Interpreter<'_>,
    rest: &[Value],
    checks_only: bool,
    inner: &mut State,
) -> Eval<Value> {
    let (options, rest) = leading(rest, |option| takes_value(option, VALUES));
    let checks_only = checks_only || options.iter().any(|(option, _)| option.raw() == "-n");
    let Some((text, args)) = rest.split_first() else {
        return Ok(Value::default());
    };
    if checks_only {
        return Ok(Value::output());
    }
    if let Some((zero, args)) = args.split_first() {
        inner.zero = zero.clone();
        inner.positional = Shared::new(args.to_vec());
    }
    this.nested(|this| this.code(text, inner))
}

/// Runs every text that a file may hold. Gives what that prints.
pub(crate) fn each(texts: &[Value], mut run: impl FnMut(&Value) -> Eval<Value>) -> Eval<Value> {
    if let [text] = texts {
        return run(text);
    }
    for text in texts {
        run(text)?;
    }
    Ok(Value::output())
}

fn script_file(
    this: &mut Interpreter<'_>,
    path: &Value,
    shown: &Value,
    content: &Value,
    inner: &mut State,
) -> Eval<Value> {
    if !content.is_unknown() {
        return this.nested(|this| this.code(content, inner));
    }
    // A file that is not there does not run; one that cannot be read must not.
    if this.place != Where::Remote && this.is_missing(path) {
        return Ok(Value::output());
    }
    this.deny(
        "shell.unknown-code",
        format!("the script {}", shown.shown()),
    )?;
    Ok(Value::output())
}

/// A script run by its path.
pub(crate) fn file(
    this: &mut Interpreter<'_>,
    path: &str,
    content: &Value,
    args: &[Value],
    state: &State,
) -> Eval<Value> {
    let first = content.raw().lines().next().unwrap_or_default();
    let mut inner = state.outside();
    inner.functions = inner.exported.clone();
    inner.zero = Value::known(path);
    inner.positional = Shared::new(args.to_vec());
    if let Some(line) = first.strip_prefix("#!") {
        let mut words = line.split_whitespace();
        let mut program = words.next().unwrap_or_default();
        if program.ends_with("/env") {
            program = words
                .find(|word| !word.starts_with('-'))
                .unwrap_or_default();
        }
        let program = program.rsplit('/').next().unwrap_or_default();
        if !is_shell(program) {
            return if this.written.has(path) {
                snippets::check(this, program, content, &inner).map(|()| Value::output())
            } else {
                Ok(Value::output())
            };
        }
    }
    script_file(
        this,
        &Value::known(path),
        &Value::known(path),
        content,
        &mut inner,
    )
}
