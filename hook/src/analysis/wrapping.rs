//! Programs that run another command: the inner command is found and checked.

use codex_ds_rules::wrappers::{Form, Where, Wrapper};

use crate::analysis::call::joined;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::options::{Word, takes_value, walk};
use crate::policy::Host;
use crate::value::Value;
use crate::variables::Shared;
use crate::verdict::Eval;

/// Programs that start an interactive shell when no command is given.
const SHELL_WITHOUT_COMMAND: &[&str] = &[
    "su",
    "ssh",
    "mosh",
    "chroot",
    "nsenter",
    "unshare",
    "script",
    "screen",
    "autossh",
    "rsh",
    "dbclient",
    "plink",
    "arch-chroot",
    "systemd-nspawn",
    "run0",
    "newgrp",
    "adb",
    "et",
];

/// Whether a wrapper's row is about this command line.
pub(crate) fn wraps(wrapper: &Wrapper, args: &[Value]) -> bool {
    let mut words =
        walk(args, |option| takes_value(option, wrapper.values)).filter_map(|word| match word {
            Word::Operand(word) => Some(word),
            Word::Option(..) => None,
        });
    wrapper.sub.iter().all(|names| {
        words
            .next()
            .is_some_and(|word| names.iter().any(|name| word.may_be(name)))
    })
}

/// Checks the command that a wrapper runs.
#[expect(
    clippy::too_many_lines,
    reason = "one walk over the wrapper's words, which share what they change"
)]
pub(crate) fn run(
    this: &mut Interpreter<'_>,
    wrapper: &Wrapper,
    program: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<Value> {
    let mut skip = wrapper.skip + wrapper.sub.len();
    let mut rest = args;
    let mut ran_script = false;
    let mut shell_asked = false;
    let mut inner = state.clone();
    // `exec` and `builtin` run in this shell; all others have their own.
    let same_shell = matches!(program, "builtin" | "command" | "exec");
    // Whatever else starts the command knows neither the shell's functions nor its aliases; the
    // builtins pass them over.
    if wrapper.form == Form::Words {
        inner = state.outside();
    }
    let outer = (state.functions.clone(), state.aliases.clone());
    while let Some((arg, after)) = rest.split_first() {
        let raw = arg.raw();
        if wrapper.inert.contains(&raw) {
            return Ok(if program == "command" {
                crate::analysis::outputs::located(after)
            } else {
                Value::output()
            });
        }
        if let Some((text, after)) = script_option(wrapper, raw, after) {
            this.at(wrapper.place, |this| this.code(&text, &mut inner))?;
            ran_script = true;
            rest = after;
            continue;
        }
        if raw == "--" {
            rest = after;
            if skip == 0 || skip >= 1000 {
                break;
            }
            continue;
        }
        if raw.len() > 1 && raw.starts_with('-') {
            if let Some(code) = ssh_command(program, raw, after) {
                this.nested(|this| this.code(&code, &mut inner))?;
            }
            shell_asked |= matches!(program, "sudo" | "doas" | "sudo-rs")
                && !raw.starts_with("--")
                && (raw.contains('i') || raw.contains('s'))
                || matches!(raw, "--login" | "--shell");
            if (matches!(raw, "-C" | "-D" | "--chdir") && program == "env" || raw == "--chdir")
                && let Some(folder) = after.first()
            {
                inner.cwd = absolute(folder, state);
            }
            let takes = if wrapper.pairs.contains(&raw) {
                2
            } else {
                usize::from(takes_value(raw, wrapper.values))
            };
            rest = after.get(takes..).unwrap_or_default();
            continue;
        }
        let function = program == "env" && raw.starts_with("BASH_FUNC_") && raw.contains('=');
        if wrapper.assigns && (function || crate::text::is_assignment(raw)) {
            let (name, value) = raw.split_once('=').unwrap_or((raw, ""));
            let (name, value) = (name.to_owned(), Value::known(value));
            this.set_variable(&name, value, &mut inner)?;
            rest = after;
            continue;
        }
        if skip > 0 {
            // The machine that a remote command runs on.
            if wrapper.place == Where::Remote && wrapper.skip == 1 && wrapper.sub.is_empty() {
                match this.policy.host(raw) {
                    Host::ReadOnly => {}
                    Host::Free => return Ok(Value::output()),
                    Host::Forbidden => this.deny("remote.host", format!("{program} {raw}"))?,
                }
            }
            skip -= 1;
            rest = after;
            continue;
        }
        break;
    }
    if rest.is_empty() {
        return without_command(
            this,
            wrapper,
            program,
            args,
            ran_script,
            shell_asked,
            &mut inner,
        );
    }
    let python = matches!(program, "uv" | "rye" | "pdm" | "hatch")
        && rest.first().is_some_and(|first| {
            first.raw() == "-"
                || std::path::Path::new(first.raw()).extension() == Some("py".as_ref())
        });
    let interpreted: Vec<Value>;
    if python {
        interpreted = std::iter::once(Value::known("python3"))
            .chain(rest.iter().cloned())
            .collect();
        rest = &interpreted;
    }
    let script = match wrapper.form {
        Form::Words => false,
        Form::Script => true,
        Form::Either => rest.len() == 1,
    };
    if wrapper.place == Where::Container {
        inner.cwd = Value::unknown();
    }
    let output = this.at(wrapper.place, |this| {
        if script {
            this.code(&joined(rest), &mut inner)
        } else {
            let target = if same_shell { &mut *state } else { &mut inner };
            target.functions = Shared::default();
            target.aliases = Shared::default();
            this.run_words(rest, target)
        }
    })?;
    if same_shell {
        (state.functions, state.aliases) = outer;
    }
    // What runs elsewhere or as someone else prints what we cannot know.
    let listing = output.raw().contains(crate::analysis::environment::LISTING);
    Ok(if listing || matches!(wrapper.place, Where::Here) {
        output
    } else {
        Value::output()
    })
}

/// An option whose value is a script: the value and what follows it.
fn script_option<'v>(
    wrapper: &Wrapper,
    raw: &str,
    after: &'v [Value],
) -> Option<(Value, &'v [Value])> {
    if wrapper.scripts.is_empty() || !raw.starts_with('-') {
        return None;
    }
    if let Some((name, text)) = raw.split_once('=')
        && wrapper.scripts.contains(&name)
    {
        return Some((Value::known(text), after));
    }
    if takes_value(raw, wrapper.scripts) {
        let (text, rest) = after.split_first()?;
        return Some((text.clone(), rest));
    }
    // `-cTEXT`.
    wrapper
        .scripts
        .iter()
        .filter(|name| name.len() == 2 && !raw.starts_with("--"))
        .find_map(|name| raw.strip_prefix(name))
        .filter(|text| !text.is_empty())
        .map(|text| (Value::known(text), after))
}

/// A wrapper without a command: some start a shell then, which reads what there is to read.
fn without_command(
    this: &mut Interpreter<'_>,
    wrapper: &Wrapper,
    program: &str,
    args: &[Value],
    ran_script: bool,
    shell_asked: bool,
    inner: &mut State,
) -> Eval<Value> {
    let shell = shell_asked || SHELL_WITHOUT_COMMAND.contains(&program);
    if ran_script || !shell {
        return Ok(Value::output());
    }
    let forwards = |arg: &Value| {
        let raw = arg.raw();
        raw.starts_with('-') && !raw.starts_with("--") && raw.contains('N')
    };
    if program == "ssh"
        && (args.iter().any(forwards) || args.iter().any(|arg| arg.raw().starts_with("git@")))
    {
        return Ok(Value::output());
    }
    if let Some(text) = inner.stdin.clone() {
        this.at(wrapper.place, |this| this.code(&text, inner))
    } else {
        this.deny(
            "shell.interactive",
            format!("{program} {}", joined(args).shown()),
        )?;
        Ok(Value::output())
    }
}

/// The command of an option of ssh such as `-o ProxyCommand=…`: it runs here.
fn ssh_command(program: &str, raw: &str, after: &[Value]) -> Option<Value> {
    if !matches!(program, "ssh" | "autossh" | "scp" | "sftp") {
        return None;
    }
    let setting = match raw.strip_prefix("-o")? {
        "" => after.first()?.raw(),
        attached => attached,
    };
    let (key, value) = setting.split_once(['=', ' '])?;
    let key = key.trim().to_lowercase();
    let runs = matches!(
        key.as_str(),
        "proxycommand" | "localcommand" | "knownhostscommand"
    );
    (runs && value.trim() != "none").then(|| {
        let code = ["%h", "%p", "%r", "%n"]
            .iter()
            .fold(value.to_owned(), |code, mark| code.replace(mark, "host"));
        Value::known(code)
    })
}
