//! Programs that run a command for each thing of a list: `find`, `fd`, `xargs`, `parallel`.

use codex_ds_rules::effects::Act;

use crate::analysis::call::joined;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::options::{leading, takes_value};
use crate::value::Value;
use crate::verdict::Eval;

/// Tests of `find` that leave something out.
const FILTERS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-newer",
    "-size",
    "-empty",
    "-user",
    "-group",
    "-perm",
    "-links",
    "-samefile",
    "-inum",
    "-lname",
    "-type",
];

/// `find PATHS TESTS ACTIONS`.
pub(crate) fn find(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<Value> {
    let starts = args
        .iter()
        .position(|arg| {
            let raw = arg.raw();
            (raw.starts_with('-') && !matches!(raw, "-H" | "-L" | "-P"))
                || matches!(raw, "(" | "!" | ")")
        })
        .unwrap_or(args.len());
    let mut roots: Vec<Value> = args[..starts]
        .iter()
        .filter(|arg| !arg.raw().starts_with('-'))
        .cloned()
        .collect();
    if roots.is_empty() {
        roots.push(Value::known("."));
    }
    let filtered = args
        .iter()
        .any(|arg| FILTERS.contains(&arg.raw()) && arg.raw() != "-type");
    // One `-name` says what everything that is found is called.
    let negated = args
        .iter()
        .any(|arg| matches!(arg.raw(), "!" | "-not" | "-o" | "-or" | ","));
    let name = args
        .windows(2)
        .find(|pair| pair[0].raw() == "-name")
        .filter(|_| !negated)
        .map(|pair| starred(&pair[1]));
    let found: Vec<Value> = roots
        .iter()
        .map(|root| {
            let mut path = root.clone();
            if filtered {
                path.push("/");
                path.push_star();
                if let Some(name) = &name {
                    path.push("/");
                    path.push_value(name);
                }
            }
            path
        })
        .collect();
    let mut rest = &args[starts..];
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        match arg.raw() {
            "-delete" => {
                for path in &found {
                    this.act(Act::Delete, path, state)?;
                }
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(path) = rest.first() {
                    this.write_path(path, state)?;
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let end = rest
                    .iter()
                    .enumerate()
                    .position(|(i, word)| {
                        word.raw() == ";"
                            || (word.raw() == "+" && i > 0 && rest[i - 1].raw() == "{}")
                    })
                    .unwrap_or(rest.len());
                for path in &found {
                    let words: Vec<Value> = rest[..end]
                        .iter()
                        .map(|word| fill(word, "{}", path))
                        .collect();
                    let mut inner = state.outside();
                    this.nested(|this| this.run_words(&words, &mut inner))?;
                }
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            _ => {}
        }
    }
    let mut output = Value::default();
    for path in &found {
        output.push_value(path);
        output.push("\n");
    }
    Ok(if name.is_some() {
        output
    } else {
        Value::output()
    })
}

/// A pattern that the program itself matches, as a glob.
fn starred(pattern: &Value) -> Value {
    let mut value = Value::default();
    for (i, part) in pattern.raw().split('*').enumerate() {
        if i > 0 {
            value.push_star();
        }
        value.push(part);
    }
    value
}

/// `fd PATTERN PATHS -x COMMAND`.
pub(crate) fn fd(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<Value> {
    const VALUES: &[&str] = &[
        "-e",
        "--extension",
        "-t",
        "--type",
        "-d",
        "--max-depth",
        "-E",
        "--exclude",
        "-c",
        "--color",
        "-j",
        "--threads",
        "-S",
        "--size",
        "-o",
        "--owner",
        "--base-directory",
        "--search-path",
        "--changed-within",
        "--changed-before",
    ];
    let mut operands = Vec::new();
    let mut commands: Vec<&[Value]> = Vec::new();
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        let raw = arg.raw();
        if matches!(raw, "-x" | "--exec" | "-X" | "--exec-batch") {
            let end = rest
                .iter()
                .position(|word| word.raw() == ";")
                .unwrap_or(rest.len());
            commands.push(&rest[..end]);
            rest = rest.get(end + 1..).unwrap_or_default();
        } else if raw.starts_with('-') {
            if takes_value(raw, VALUES) {
                rest = rest.get(1..).unwrap_or_default();
            }
        } else {
            operands.push(arg);
        }
    }
    let mut found: Vec<Value> = operands
        .iter()
        .skip(1)
        .map(|path| (*path).clone())
        .collect();
    if found.is_empty() {
        found.push(Value::known("."));
    }
    for command in commands {
        for root in &found {
            let mut path = root.clone();
            path.push("/");
            path.push_star();
            let mut words: Vec<Value> =
                command.iter().map(|word| fill(word, "{}", &path)).collect();
            if !command.iter().any(|word| word.raw().contains('{')) {
                words.push(path);
            }
            let mut inner = state.outside();
            this.nested(|this| this.run_words(&words, &mut inner))?;
        }
    }
    Ok(Value::output())
}

/// `xargs OPTIONS COMMAND`, with the words of standard input behind it.
pub(crate) fn xargs(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<Value> {
    const VALUES: &[&str] = &[
        "-I",
        "-n",
        "-P",
        "-L",
        "-s",
        "-d",
        "-a",
        "-E",
        "-R",
        "-S",
        "-J",
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--max-chars",
        "--delimiter",
        "--arg-file",
        "--eof",
        "--process-slot-var",
    ];
    let mut replace: Option<String> = None;
    let mut whole = false;
    let mut from_file = false;
    let (options, rest) = leading(args, |option| takes_value(option, VALUES));
    for (option, value) in options {
        let raw = option.raw();
        whole |= matches!(raw, "-0" | "--null" | "-d" | "--delimiter")
            || raw.starts_with("--delimiter=")
            || (!raw.starts_with("--") && raw.contains('0'));
        from_file |= raw.starts_with("-a") || raw.starts_with("--arg-file");
        let mark = ["-I", "-J", "--replace=", "-i"]
            .iter()
            .find_map(|name| raw.strip_prefix(name));
        replace = match (raw, mark, value) {
            ("-i" | "--replace", ..) => Some("{}".to_owned()),
            (_, Some(""), Some(mark)) => Some(mark.raw().to_owned()),
            (_, Some(mark), _) if !mark.is_empty() => Some(mark.to_owned()),
            _ => replace,
        };
    }
    let items: Vec<Value> = match &state.stdin {
        Some(text) if !from_file && (text.is_known() || text.is_glob()) && !text.is_empty() => {
            let raw = text.raw();
            if whole {
                vec![Value::known(raw.trim_end_matches(['\n', '\0']))]
            } else if replace.is_some() {
                raw.lines().take(50).map(Value::known).collect()
            } else {
                raw.split_whitespace()
                    .take(200)
                    .map(|word| Value::known(word.trim_matches(['"', '\''])))
                    .collect()
            }
        }
        _ => vec![Value::unknown()],
    };
    if rest.is_empty() {
        return Ok(joined(&items));
    }
    // The command reads nothing: its standard input is /dev/null.
    let mut inner = state.outside();
    inner.stdin = Some(Value::default());
    if let Some(mark) = replace {
        for item in &items {
            let words: Vec<Value> = rest.iter().map(|word| fill(word, &mark, item)).collect();
            this.nested(|this| this.run_words(&words, &mut inner))?;
        }
    } else {
        let words: Vec<Value> = rest.iter().chain(&items).cloned().collect();
        this.nested(|this| this.run_words(&words, &mut inner))?;
    }
    Ok(Value::output())
}

/// `parallel OPTIONS COMMAND ::: ITEMS`.
pub(crate) fn parallel(
    this: &mut Interpreter<'_>,
    args: &[Value],
    state: &mut State,
) -> Eval<Value> {
    const VALUES: &[&str] = &[
        "-j",
        "--jobs",
        "-N",
        "-n",
        "-L",
        "-a",
        "--arg-file",
        "-S",
        "--sshlogin",
        "--delay",
        "--timeout",
        "--retries",
        "--joblog",
        "--results",
        "--tagstring",
        "--colsep",
        "-C",
        "-I",
        "--workdir",
        "--wd",
        "-d",
        "--delimiter",
        "--memfree",
        "--load",
        "--nice",
        "-P",
        "--max-procs",
    ];
    const MARK: &str = "__parallel_item";
    let (options, rest) = leading(args, |option| takes_value(option, VALUES));
    let remote = options
        .iter()
        .any(|(option, _)| matches!(option.raw(), "-S" | "--sshlogin" | "--onall" | "--nonall"));
    let separator = |word: &Value| matches!(word.raw(), ":::" | "::::" | ":::+" | "::::+");
    let end = rest.iter().position(separator).unwrap_or(rest.len());
    let command = &rest[..end];
    let listed = rest.get(end).is_some_and(|word| word.raw() == ":::");
    let items: Vec<Value> = if listed {
        rest[end..]
            .iter()
            .filter(|word| !separator(word))
            .take(50)
            .cloned()
            .collect()
    } else {
        match &state.stdin {
            Some(text) if end == rest.len() && text.is_known() && !text.is_empty() => {
                text.raw().lines().take(50).map(Value::known).collect()
            }
            _ => vec![Value::unknown()],
        }
    };
    let mut inner = state.outside();
    inner.stdin = Some(Value::default());
    for item in items {
        if command.is_empty() {
            // Without a command the items are command lines.
            this.nested(|this| this.code(&item, &mut inner))?;
            continue;
        }
        inner.set(MARK, item);
        let text = joined(command);
        let mut script = text.raw().to_owned();
        let mut filled = false;
        for mark in ["{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{3}"] {
            if script.contains(mark) {
                script = script.replace(mark, &format!("${{{MARK}}}"));
                filled = true;
            }
        }
        if !filled {
            script.push_str(" ${");
            script.push_str(MARK);
            script.push('}');
        }
        let place = if remote {
            codex_ds_rules::wrappers::Where::Remote
        } else {
            codex_ds_rules::wrappers::Where::Here
        };
        this.at(place, |this| this.code(&Value::known(script), &mut inner))?;
    }
    Ok(Value::output())
}

/// A word with each `mark` replaced by a value.
fn fill(word: &Value, mark: &str, value: &Value) -> Value {
    if mark.is_empty() || !word.raw().contains(mark) {
        return word.clone();
    }
    Value::known(word.raw().replace(mark, value.raw()))
}
