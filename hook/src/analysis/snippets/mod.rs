//! Code in other languages, given on the command line or on standard input: shell-outs and
//! destructive calls in it are found and checked like commands.

mod acts;
mod arguments;
mod calls;
mod exotic;
mod languages;
mod libraries;
mod names;
mod sed;
mod table;
mod tokens;

use crate::analysis::call::joined;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::options::takes_value;
use crate::value::Value;
use crate::verdict::Eval;

pub(crate) use calls::check;
pub(crate) use languages::is_interpreter;
use languages::{INTERACTIVE, Language, language};

/// Checks an interpreter's command line. `None` leaves its operands to be checked as paths.
pub(crate) fn run(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<Option<Value>> {
    if matches!(program, "sed" | "gsed") {
        sed::check(this, args, state)?;
        return Ok(None);
    }
    let Some(language) = language(program) else {
        return Ok(None);
    };
    let mut rest = args;
    let mut ran = false;
    let mut in_place = false;
    while let Some((arg, after)) = rest.split_first()
        && arg.raw().len() > 1
        && arg.raw().starts_with('-')
    {
        let raw = arg.raw();
        if raw == "--" {
            rest = after;
            break;
        }
        if language.names[0] == "python*" && !raw.starts_with("--") {
            if raw.contains('m') && !raw.contains('c') {
                return module(this, after, state).map(Some);
            }
            if raw[1..]
                .bytes()
                .take_while(|b| *b != b'c')
                .any(|b| b == b'i')
            {
                this.deny("shell.interactive", format!("{program} {raw}"))?;
            }
        }
        in_place |= language.bare && !raw.starts_with("--") && raw.contains('i');
        if let Some((code, after)) = code_option(language, raw, after) {
            // What a one-liner reads line by line is data.
            this.nested(|this| check(this, program, &code, state))?;
            ran = true;
            rest = after;
            continue;
        }
        if matches!(raw, "-V" | "--version" | "-h" | "--help" | "-v") && after.is_empty() {
            return Ok(Some(Value::output()));
        }
        let takes = takes_value(raw, language.values);
        rest = after.get(usize::from(takes)..).unwrap_or_default();
    }
    // The operands of a one-liner are files that it reads.
    if ran && !in_place {
        for operand in rest {
            this.read_path(operand, state)?;
        }
    }
    if language.operand {
        operand_code(this, program, args, rest, ran, state)?;
        return Ok(None);
    }
    if ran {
        return Ok((!in_place).then(Value::output));
    }
    let fetched =
        |arg: &&Value| arg.raw().starts_with("https://") || arg.raw().starts_with("http://");
    if let Some(address) = rest.iter().take(4).find(fetched)
        && (program == "deno" || rest.first().is_some_and(|first| fetched(&first)))
    {
        let shown = format!("{program} {}", address.shown());
        this.deny("shell.unknown-code", shown)?;
    }
    match (rest.first(), program) {
        (Some(word), "deno" | "crystal") if word.raw() == "eval" => {
            for code in &rest[1..] {
                this.nested(|this| check(this, program, code, state))?;
            }
        }
        (Some(file), _) if !matches!(file.raw(), "-" | "/dev/stdin") => {
            if this.place == codex_ds_rules::wrappers::Where::Remote {
                // A script on another machine cannot be read here.
                this.deny("remote.write", format!("{program} {}", file.shown()))?;
            }
            if this.has_written(&absolute(file, state)) {
                for content in this.contents(file, state) {
                    this.nested(|this| check(this, program, &content, state))?;
                }
            } else if file.raw().starts_with("/dev/fd/") {
                this.deny("shell.unknown-code", format!("{program} {}", file.shown()))?;
            }
        }
        _ => match state.stdin.clone() {
            // A script file is not read, whether it is named or comes through `<`.
            Some(code) if code == Value::unknown() => {}
            Some(code) => {
                this.nested(|this| check(this, program, &code, state))?;
            }
            None if rest.is_empty()
                && args.iter().all(|arg| arg.raw() == "-i")
                && INTERACTIVE.contains(&program) =>
            {
                this.deny("shell.interactive", program)?;
            }
            None => {}
        },
    }
    Ok(Some(Value::output()))
}

/// awk: the program is an operand, or stands in a file.
fn operand_code(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    rest: &[Value],
    ran: bool,
    state: &State,
) -> Eval<()> {
    let in_place = args
        .windows(2)
        .any(|pair| pair[0].raw() == "-i" && pair[1].raw() == "inplace");
    for operand in rest.iter().skip(1).filter(|_| in_place) {
        this.write_path(operand, state)?;
    }
    for pair in args.windows(2) {
        if pair[0].raw() == "-f" && matches!(pair[1].raw(), "-" | "/dev/stdin") {
            let code = state.stdin.clone().unwrap_or_default();
            this.nested(|this| check(this, program, &code, state))?;
        } else if pair[0].raw() == "-f" && this.has_written(&absolute(&pair[1], state)) {
            for code in this.contents(&pair[1], state) {
                this.nested(|this| check(this, program, &code, state))?;
            }
        }
    }
    let from_file = args.iter().any(|arg| arg.raw().starts_with("-f"));
    if let (false, false, Some((code, _))) = (ran, from_file, rest.split_first()) {
        this.nested(|this| check(this, program, code, state))?;
    }
    Ok(())
}

fn code_option<'v>(
    language: &Language,
    raw: &str,
    after: &'v [Value],
) -> Option<(Value, &'v [Value])> {
    if takes_value(raw, language.code) {
        // In `-pe CODE` the bundle ends in the option; `-p CODE` alone is an option of its own.
        let (code, rest) = after.split_first()?;
        return Some((code.clone(), rest));
    }
    language.code.iter().find_map(|option| {
        let text = raw.strip_prefix(option)?;
        let text = if option.starts_with("--") {
            text.strip_prefix('=')?
        } else {
            text
        };
        (!text.is_empty()).then(|| (Value::known(text), after))
    })
}

/// `python -m MODULE ARGS`: some modules are programs with rules of their own.
fn module(this: &mut Interpreter<'_>, words: &[Value], state: &mut State) -> Eval<Value> {
    match words.first().map(Value::raw) {
        Some(
            "pip" | "twine" | "pipx" | "ansible" | "awscli" | "uv" | "poetry" | "flit" | "build-x"
            | "hatch" | "pdm",
        ) => this.nested(|this| this.run_words(words, state)),
        Some("smtpd" | "telnetlib" | "pty" | "code") => {
            this.deny("shell.interactive", joined(words).shown())?;
            Ok(Value::output())
        }
        _ => Ok(Value::output()),
    }
}
