//! Git runs other programs: aliases, hooks, editors, helpers.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::options::leading;
use crate::value::Value;
use crate::verdict::Eval;

/// Configuration whose value is a command.
const COMMANDS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "sequence.editor",
    "diff.external",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "interactive.difffilter",
    "credential.helper",
    "uploadpack.packobjectshook",
    "core.gitproxy",
    "web.browser",
    "sendemail.smtpserver",
];

/// Sections whose subsections name a program of the user's choice.
const DRIVERS: &[&str] = &[
    "filter",
    "diff",
    "merge",
    "difftool",
    "mergetool",
    "browser",
    "man",
    "trailer",
];

/// The variables of such a section that hold its command.
const DRIVER_COMMANDS: &[&str] = &[
    "clean", "smudge", "process", "command", "textconv", "driver", "cmd", "path",
];

/// Options with a value in front of the subcommand.
const VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
];

/// Checks what a git command runs.
pub(crate) fn check(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<()> {
    let mut inner = state.clone();
    let (options, rest) = leading(args, |option| VALUES.contains(&option));
    for (option, value) in options {
        match (option.raw(), value) {
            ("-C", Some(folder)) => inner.cwd = absolute(folder, &inner),
            ("-c", Some(setting)) => configured(this, setting, &mut inner)?,
            (raw, _) if raw.starts_with("--config-env") || raw.starts_with("--exec-path=") => {
                return this.deny("git.config", raw);
            }
            _ => {}
        }
    }
    match rest.split_first() {
        Some((name, args)) => subcommand(this, name.raw(), args, &mut inner),
        None => Ok(()),
    }
}

/// `-c key=value`.
fn configured(this: &mut Interpreter<'_>, setting: &Value, state: &mut State) -> Eval<()> {
    let Some((key, value)) = setting.raw().split_once('=') else {
        return Ok(());
    };
    let key = key.to_lowercase();
    if let Some(code) = value.strip_prefix('!') {
        return this
            .nested(|this| this.code(&Value::known(code), state))
            .map(drop);
    }
    if key.starts_with("alias.") {
        let words = format!("git {value}");
        return this
            .nested(|this| this.code(&Value::known(words), state))
            .map(drop);
    }
    let (section, variable) = (
        key.split('.').next().unwrap_or_default(),
        key.rsplit('.').next().unwrap_or_default(),
    );
    let command = COMMANDS.contains(&key.as_str())
        || section == "pager"
        || DRIVERS.contains(&section) && DRIVER_COMMANDS.contains(&variable);
    if command {
        if value.is_empty() || matches!(value, "true" | "false") {
            return Ok(());
        }
        return this
            .nested(|this| this.code(&Value::known(value), state))
            .map(drop);
    }
    if key == "core.hookspath" && value != "/dev/null"
        || key.starts_with("protocol.ext")
        || key.starts_with("include")
        || matches!(variable, "uploadpack" | "receivepack")
    {
        return this.deny("git.config", setting.shown());
    }
    Ok(())
}

fn subcommand(
    this: &mut Interpreter<'_>,
    name: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<()> {
    // A transport of `ext::` is a command; so are the programs of the other side.
    for arg in args {
        if let Some(code) = arg.raw().strip_prefix("ext::") {
            this.nested(|this| this.code(&Value::known(code), state))?;
            this.deny("git.config", arg.shown())?;
        }
    }
    let options: &[&str] = match name {
        "rebase" => &["-x", "--exec"],
        "clone" | "fetch" | "pull" | "ls-remote" | "push" | "archive" | "fetch-pack" => {
            &["-u", "--upload-pack", "--receive-pack", "--exec"]
        }
        "difftool" => &["-x", "--extcmd"],
        "filter-branch" => &[
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--env-filter",
            "--commit-filter",
            "--parent-filter",
            "--tag-name-filter",
            "--setup",
        ],
        "grep" => &["-O", "--open-files-in-pager"],
        "format-patch" | "send-email" => &["--to-cmd", "--cc-cmd", "--header-cmd"],
        _ => &[],
    };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let raw = arg.raw();
        if raw == "--" {
            break;
        }
        let code = if options.contains(&raw)
            && !(raw == "-u" && matches!(name, "push" | "fetch" | "pull"))
        {
            rest.next().cloned()
        } else {
            options.iter().find_map(|option| {
                let rest = raw.strip_prefix(option)?;
                if option.starts_with("--") {
                    rest.strip_prefix('=').map(Value::known)
                } else {
                    (!rest.is_empty()
                        && name != "push"
                        && name != "fetch"
                        && name != "pull"
                        && name != "clone")
                        .then(|| Value::known(rest))
                }
            })
        };
        if let Some(code) = code {
            this.nested(|this| this.code(&code, state))?;
        }
    }
    if matches!(name, "clone") {
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if matches!(arg.raw(), "-c" | "--config")
                && let Some(setting) = rest.next()
            {
                configured(this, setting, state)?;
            }
        }
    }
    let words: Vec<&Value> = args
        .iter()
        .filter(|arg| !arg.raw().starts_with('-'))
        .collect();
    read_paths(this, name, args, &words, state)?;
    match (name, words.first().map(|word| word.raw())) {
        ("bisect", Some("run")) => {
            let at = args.iter().position(|arg| arg.raw() == "run").unwrap_or(0);
            this.nested(|this| this.run_words(&args[at + 1..], state))?;
        }
        ("submodule", Some("foreach")) => {
            let at = args
                .iter()
                .position(|arg| arg.raw() == "foreach")
                .unwrap_or(0);
            let command: Vec<Value> = args[at + 1..]
                .iter()
                .skip_while(|arg| matches!(arg.raw(), "--recursive" | "--quiet" | "-q"))
                .cloned()
                .collect();
            if let [script] = command.as_slice() {
                this.nested(|this| this.code(script, state))?;
            } else {
                this.nested(|this| this.run_words(&command, state))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The files whose content a subcommand shows.
fn read_paths(
    this: &Interpreter<'_>,
    name: &str,
    args: &[Value],
    words: &[&Value],
    state: &State,
) -> Eval<()> {
    if matches!(
        name,
        "show" | "cat-file" | "blame" | "annotate" | "diff" | "log" | "grep"
    ) {
        // `REVISION:PATH`, and the paths behind `--`.
        let behind = args.iter().skip_while(|arg| arg.raw() != "--").skip(1);
        let named = words
            .iter()
            .filter_map(|word| word.raw().split_once(':'))
            .map(|(_, path)| Value::known(path));
        for path in behind.cloned().chain(named) {
            this.read_path(&path, state)?;
        }
    }
    Ok(())
}
