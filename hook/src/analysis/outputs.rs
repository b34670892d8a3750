//! What programs print, as far as it can be known.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::value::Value;

/// Programs that print shell code which sets up an environment: `eval "$(direnv hook bash)"`.
const HOOKS: &[&str] = &[
    "ssh-agent",
    "direnv",
    "pyenv",
    "rbenv",
    "nodenv",
    "conda",
    "mamba",
    "micromamba",
    "brew",
    "dircolors",
    "starship",
    "zoxide",
    "fnm",
    "mise",
    "asdf",
    "rustup",
    "opam",
    "luarocks",
    "minikube",
    "docker-machine",
    "thefuck",
    "mcfly",
    "atuin",
    "lesspipe",
    "poetry",
];

/// What a program prints.
pub(crate) fn of(this: &Interpreter<'_>, program: &str, args: &[Value], state: &State) -> Value {
    let operands: Vec<&Value> = args
        .iter()
        .filter(|arg| !arg.raw().starts_with('-'))
        .collect();
    let first = operands.first().copied();
    let path = |value: &Value| absolute(value, state);
    match program {
        "pwd" => state.cwd.clone(),
        "dirname" => first.map_or_else(Value::output, |value| {
            let raw = value.raw().trim_end_matches('/');
            match raw.rsplit_once('/') {
                Some(("", _)) => Value::known("/"),
                Some((folder, _)) => Value::known(folder),
                None if raw.is_empty() && !value.is_empty() => Value::known("/"),
                None => Value::known("."),
            }
        }),
        "basename" => first.map_or_else(Value::output, |value| {
            let name = value.base_name();
            match operands
                .get(1)
                .and_then(|suffix| name.raw().strip_suffix(suffix.raw()))
            {
                Some(stem) => Value::known(stem),
                None => name,
            }
        }),
        "realpath" => first.map_or_else(Value::output, path),
        "readlink" if operands.len() < args.len() => first.map_or_else(Value::output, path),
        "which" | "whence" => located(args),
        "type"
            if args
                .iter()
                .any(|arg| matches!(arg.raw(), "-p" | "-P" | "-t")) =>
        {
            located(args)
        }
        "mktemp" => {
            // One name for all of them: what is written to one is expected in each.
            Value::known("/tmp/tmp.made_by_mktemp")
        }
        "whoami" | "logname" => Value::known(this.context.user.as_str()),
        "date" | "hostname" | "uname" | "nproc" | "id" | "wc" | "stat" | "getconf" | "arch"
        | "tty" | "sha256sum" | "md5sum" | "cksum" | "uuidgen" | "jot" | "expr" | "bc" | "du" => {
            Value::some_name()
        }
        "seq" => sequence(&operands).unwrap_or_else(Value::some_name),
        "git" => git(this, args),
        "cat" if operands.is_empty() => input(state),
        "cat" => {
            let mut text = Value::default();
            for operand in operands {
                let content = this.content(operand, state);
                text.push_value(if content.is_unknown() {
                    &OUTPUT_VALUE
                } else {
                    &content
                });
            }
            if text.is_unknown() {
                Value::output()
            } else {
                text
            }
        }
        // These give lines of what they read, in some order.
        "tee" | "sort" | "uniq" | "head" | "tail" | "tac" | "cut-x" | "pv" | "sponge" | "less"
        | "more"
            if operands.is_empty() || program == "tee" =>
        {
            input(state)
        }
        "grep" | "rg" | "egrep" | "fgrep" if operands.len() < 2 => input(state),
        "rev" | "tr" | "base64" | "base32" | "xxd" | "openssl" => {
            let text = match (state.stdin.as_ref(), first) {
                (_, Some(file)) if program != "tr" && program != "openssl" => {
                    this.content(file, state)
                }
                (Some(text), _) => text.clone(),
                _ => return Value::output(),
            };
            text.as_known()
                .and_then(|text| crate::decode::filter(program, args, text))
                .map_or_else(Value::output, Value::known)
        }
        name if HOOKS.contains(&name) => Value::default(),
        _ => Value::output(),
    }
}

static OUTPUT_VALUE: std::sync::LazyLock<Value> = std::sync::LazyLock::new(Value::output);

/// What `command -v` or `which` prints: the names, as if each were found.
pub(crate) fn located(args: &[Value]) -> Value {
    let mut text = Value::default();
    for arg in args.iter().filter(|arg| !arg.raw().starts_with('-')) {
        if !text.is_empty() {
            text.push("\n");
        }
        text.push_value(arg);
    }
    text
}

fn input(state: &State) -> Value {
    state.stdin.clone().unwrap_or_else(Value::output)
}

/// `seq`, for up to a hundred numbers.
fn sequence(operands: &[&Value]) -> Option<Value> {
    let numbers: Option<Vec<i64>> = operands.iter().map(|v| v.raw().parse().ok()).collect();
    let (from, step, to) = match numbers?.as_slice() {
        [to] => (1, 1, *to),
        [from, to] => (*from, 1, *to),
        [from, step, to] => (*from, *step, *to),
        _ => return None,
    };
    if step <= 0 || to.checked_sub(from)? > 100 {
        return None;
    }
    let mut text = Value::default();
    let mut number = from;
    while number <= to {
        text.push(&format!("{number}\n"));
        number = number.checked_add(step)?;
    }
    Some(text)
}

fn git(this: &Interpreter<'_>, args: &[Value]) -> Value {
    let has = |word: &str| args.iter().any(|arg| arg.raw() == word);
    if has("rev-parse") && has("--show-toplevel") {
        return Value::known(this.context.workspace.to_string_lossy());
    }
    if has("rev-parse")
        || has("describe")
        || has("symbolic-ref")
        || has("branch")
        || has("merge-base")
    {
        return Value::some_name();
    }
    Value::output()
}
