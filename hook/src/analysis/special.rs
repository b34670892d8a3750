//! Programs whose arguments hold commands, code or destinations in ways of their own.

use codex_ds_rules::effects::Act;

use crate::analysis::call::joined;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::analysis::{git, http, lists, makefiles, snippets, transfers};
use crate::options::{Word, walk};
use crate::value::Value;
use crate::verdict::Eval;

/// Checks a program of this kind; `None` if it is none, or if its paths have to be checked too.
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each program: a table that is read as one"
)]
pub(crate) fn run(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<Option<Value>> {
    match program {
        "find" | "gfind" | "bfs" => lists::find(this, args, state).map(Some),
        "fd" | "fdfind" => lists::fd(this, args, state).map(Some),
        "xargs" | "gxargs" => lists::xargs(this, args, state).map(Some),
        "parallel" => lists::parallel(this, args, state).map(Some),
        "apply_patch" | "applypatch" => {
            let Some(text) = args.first().or(state.stdin.as_ref()).cloned() else {
                return Ok(Some(Value::output()));
            };
            this.patch(text.raw(), state)?;
            Ok(Some(Value::output()))
        }
        "npm" | "pnpm" | "yarn" | "bun"
            if this.has_written(&absolute(&Value::known("package.json"), state)) =>
        {
            scripts(this, state)?;
            Ok(None)
        }
        _ if options_that_run(program).is_some() => {
            let names = options_that_run(program).unwrap_or_default();
            valued(this, args, names, state)?;
            Ok(None)
        }
        "make" | "gmake" | "gnumake" => {
            makefiles::make(this, args, state)?;
            Ok(None)
        }
        "man" | "less" | "more" | "most" => {
            pager(this, args, state)?;
            Ok(None)
        }
        "rg" if args.iter().any(|arg| arg.raw().starts_with("--pre")) => {
            valued(this, args, &["--pre", "--hostname-bin"], state)?;
            Ok(None)
        }
        "ssh-keygen" => {
            if args.iter().any(|arg| arg.raw().starts_with("-D")) {
                this.deny(
                    "shell.unknown-code",
                    format!("ssh-keygen {}", joined(args).shown()),
                )?;
            }
            Ok(None)
        }
        "openssl" if args.first().is_some_and(|arg| arg.raw() == "s_client") => {
            let sends = state.stdin.as_ref().is_some_and(|text| !text.is_known());
            if sends {
                this.deny(
                    "exfiltration.shell",
                    format!("openssl {}", joined(args).shown()),
                )?;
            }
            Ok(None)
        }
        "ping" | "dig" | "nslookup" | "host" | "drill" | "getent" => {
            // The name that is asked for carries what was read.
            let carries = |arg: &Value| {
                arg.raw()
                    .split_once('.')
                    .is_some_and(|(first, _)| Value::known(first).is_printed())
            };
            if args.iter().any(carries) {
                this.deny(
                    "exfiltration.shell",
                    format!("{program} {}", joined(args).shown()),
                )?;
            }
            Ok(None)
        }
        "npx" | "bunx" | "pnpx"
            if args.iter().any(|arg| {
                arg.raw().starts_with("http://") || arg.raw().starts_with("https://")
            }) =>
        {
            this.deny(
                "shell.unknown-code",
                format!("{program} {}", joined(args).shown()),
            )?;
            Ok(None)
        }
        "cargo" => {
            let code = ["wrapper", "runner", "linker", "rustc=", "rustdoc="];
            let overrides = |arg: &Value| {
                let raw = arg.raw();
                raw.contains('=') && code.iter().any(|key| raw.contains(key))
            };
            if args
                .windows(2)
                .any(|pair| pair[0].raw() == "--config" && overrides(&pair[1]))
                || args
                    .iter()
                    .any(|arg| arg.raw().starts_with("--config=") && overrides(arg))
            {
                this.deny(
                    "guard.environment",
                    format!("cargo {}", joined(args).shown()),
                )?;
            }
            Ok(None)
        }
        "git" => {
            git::check(this, args, state)?;
            Ok(None)
        }
        "curl" => {
            http::curl(this, args, state)?;
            Ok(None)
        }
        "wget" | "wget2" => {
            http::wget(this, args)?;
            Ok(None)
        }
        "http" | "https" | "xh" | "xhs" | "httpie" => {
            http::httpie(this, args)?;
            Ok(None)
        }
        "nc" | "ncat" | "netcat" => {
            transfers::connection(this, args, state)?;
            Ok(None)
        }
        "scp" | "rsync" => {
            transfers::transfer(this, program, args, state)?;
            Ok(None)
        }
        "tar" | "bsdtar" | "gtar" | "zip" | "cpio" => {
            transfers::archive(this, program, args, state)?;
            Ok(None)
        }
        "at" | "batch" => scheduled(this, args, state).map(Some),
        "ed" | "ex" | "vi" | "vim" | "nvim" | "view" | "emacs" => {
            editor(this, args, state)?;
            Ok(None)
        }
        "microk8s" | "k3s" | "minikube" | "rke2" | "k0s"
            if args.first().is_some_and(|arg| {
                matches!(
                    arg.raw(),
                    "kubectl" | "crictl" | "ctr" | "helm" | "helm3" | "etcdctl"
                )
            }) =>
        {
            let rest: Vec<Value> = args
                .iter()
                .filter(|arg| arg.raw() != "--")
                .cloned()
                .collect();
            this.nested(|this| this.run_words(&rest, state)).map(Some)
        }
        "grep" | "egrep" | "fgrep" | "rg" | "awk" | "sed" if listed_secret(args, state) => {
            this.deny(
                "secret.environment",
                format!("env | {program} {}", joined(args).shown()),
            )?;
            Ok(None)
        }
        name if name.starts_with("ld-linux")
            || name.starts_with("ld-musl")
            || matches!(name, "ld.so" | "ld64.so") =>
        {
            let rest: Vec<Value> = args
                .iter()
                .skip_while(|arg| arg.raw().starts_with('-'))
                .cloned()
                .collect();
            this.nested(|this| this.run_words(&rest, state)).map(Some)
        }
        "mysql" | "mariadb" | "psql" | "sqlite3" | "mongosh" | "mongo" | "redis-cli"
        | "clickhouse-client" | "duckdb" | "cqlsh" | "sqlplus" => {
            statements(this, program, state)?;
            Ok(None)
        }
        name if snippets::is_interpreter(name) => snippets::run(this, name, args, state),
        _ => Ok(None),
    }
}

/// The scripts of a `package.json` that the command itself writes.
fn scripts(this: &mut Interpreter<'_>, state: &State) -> Eval<()> {
    for content in this.own_contents(&absolute(&Value::known("package.json"), state)) {
        let parsed: Option<serde_json::Value> = serde_json::from_str(content.raw()).ok();
        let scripts = parsed
            .as_ref()
            .and_then(|json| json.get("scripts")?.as_object());
        let codes = scripts.into_iter().flatten();
        for code in codes.filter_map(|(_, code)| code.as_str()) {
            let mut inner = state.outside();
            this.nested(|this| this.code(&Value::known(code), &mut inner))?;
        }
    }
    Ok(())
}

/// Options of a program whose value is a command line.
fn options_that_run(program: &str) -> Option<&'static [&'static str]> {
    const OPTIONS: &[(&[&str], &[&str])] = &[
        (&["go"], &["-exec", "-toolexec", "-vettool"]),
        (&["fzf", "sk"], &["--preview", "--bind"]),
        (&["split"], &["--filter"]),
        (&["sort"], &["--compress-program"]),
        (
            &["gcc", "g++", "cc", "c++", "clang", "clang++"],
            &["-wrapper"],
        ),
        (&["tcpdump"], &["-z"]),
        (&["npm", "pnpm", "yarn"], &["--script-shell", "--shell"]),
    ];
    let row = OPTIONS
        .iter()
        .find(|(programs, _)| programs.contains(&program));
    row.map(|(_, names)| *names)
}

/// Whether a filter looks for secrets in a listing of the environment.
fn listed_secret(args: &[Value], state: &State) -> bool {
    let listing = state
        .stdin
        .as_ref()
        .is_some_and(|text| text.raw().contains(crate::analysis::environment::LISTING));
    // `-v` leaves them out.
    let leaves_out = args
        .iter()
        .any(|arg| arg.raw() == "--invert-match" || arg.raw().starts_with("-v"));
    listing
        && !leaves_out
        && args.iter().any(|arg| {
            let pattern = arg.raw().to_uppercase();
            [
                "TOKEN", "SECRET", "PASS", "KEY", "CRED", "AUTH", "_PAT", "COOKIE",
            ]
            .iter()
            .any(|part| pattern.contains(part))
        })
}

/// Options whose value is a command.
fn valued(
    this: &mut Interpreter<'_>,
    args: &[Value],
    names: &[&str],
    state: &mut State,
) -> Eval<()> {
    for (i, arg) in args.iter().enumerate() {
        let raw = arg.raw();
        let code = if names.contains(&raw) {
            args.get(i + 1).cloned()
        } else {
            raw.split_once('=')
                .filter(|(name, _)| names.contains(name))
                .map(|(_, code)| Value::known(code))
        };
        if let Some(code) = code {
            // fzf: `key:execute(command)`; gcc: `program,argument`.
            let text = code.raw();
            let text = match text.split_once("execute") {
                Some((_, rest)) => rest
                    .trim_start_matches("-silent")
                    .trim_start_matches(['(', ':', '['])
                    .trim_end_matches([')', ']']),
                None if raw.starts_with("--bind") => continue,
                None => text,
            };
            let text = if raw == "-wrapper" {
                text.replace(',', " ")
            } else {
                text.to_owned()
            };
            let mut inner = state.clone();
            inner.stdin = Some(Value::default());
            this.nested(|this| this.code(&Value::known(text), &mut inner))?;
        }
    }
    Ok(())
}

/// A pager that is named on the command line, and the commands that one runs first.
fn pager(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<()> {
    valued(this, args, &["-P", "--pager", "-H", "--html"], state)?;
    for arg in args {
        if let Some(code) = arg
            .raw()
            .strip_prefix("+!")
            .or_else(|| arg.raw().strip_prefix("-H").filter(|code| !code.is_empty()))
            .or_else(|| arg.raw().strip_prefix("++!"))
        {
            let mut inner = state.clone();
            this.nested(|this| this.code(&Value::known(code), &mut inner))?;
        }
    }
    Ok(())
}

/// `at` runs what it reads.
fn scheduled(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<Value> {
    if args
        .iter()
        .any(|arg| matches!(arg.raw(), "-l" | "-c" | "-V"))
    {
        return Ok(Value::output());
    }
    match state.stdin.clone() {
        Some(text) => {
            let mut inner = state.clone();
            this.nested(|this| this.code(&text, &mut inner))?;
        }
        None => this.deny("shell.interactive", "at without commands")?,
    }
    this.deny("power.schedule", format!("at {}", joined(args).shown()))?;
    Ok(Value::output())
}

/// Editors run commands given on the command line, or after `!` in what they read.
fn editor(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<()> {
    const COMMANDS: &[&str] = &["-c", "--cmd", "--eval", "-eval", "-e", "--execute", "-S"];
    let mut texts: Vec<Value> = Vec::new();
    let takes = |option: &str| {
        COMMANDS.contains(&option) || option.starts_with("-s") && option.ends_with('c')
    };
    for word in walk(args, takes) {
        let attached = match word {
            Word::Option(_, Some(text)) => {
                texts.push(text.clone());
                continue;
            }
            Word::Option(option, None) => option.raw().strip_prefix("--eval="),
            Word::Operand(operand) => operand.raw().strip_prefix('+'),
        };
        texts.extend(attached.map(Value::known));
    }
    if let Some(text) = &state.stdin {
        texts.extend(text.raw().lines().map(Value::known));
    }
    for text in texts {
        let raw = text
            .raw()
            .trim_start_matches("silent! ")
            .trim_start_matches("silent ");
        let after = raw
            .strip_prefix('!')
            .or_else(|| raw.split_once(":!").map(|(_, code)| code))
            .or_else(|| raw.split_once("r !").map(|(_, code)| code))
            .or_else(|| raw.split_once("w !").map(|(_, code)| code));
        if let Some(code) = after {
            let mut inner = state.clone();
            this.nested(|this| this.code(&Value::known(code), &mut inner))?;
        }
        for call in [
            "system(",
            "shell-command",
            "call-process",
            "start-process",
            "delete(",
            "delete-file",
            "delete-directory",
            "make-process",
            "io.popen",
            "os.execute",
            "writefile(",
        ] {
            if raw.contains(call) {
                this.deny("shell.unknown-code", raw)?;
            }
        }
        if let Some(path) = raw.strip_prefix("w ").or_else(|| raw.strip_prefix("w! ")) {
            this.act(Act::Write, &Value::known(path.trim()), state)?;
        }
    }
    Ok(())
}

/// Statements that a database client reads from standard input.
fn statements(this: &Interpreter<'_>, program: &str, state: &State) -> Eval<()> {
    const WRITES: &[&str] = &[
        "drop", "delete", "truncate", "update", "insert", "alter", "grant", "revoke", "create",
        "replace", "merge", "flushall", "flushdb", "set ", "del ", "\\!", ".shell", ".system",
        "copy ", "vacuum", "attach",
    ];
    let Some(text) = &state.stdin else {
        return Ok(());
    };
    let lower = text.raw().to_lowercase();
    // `deleted_at` is a column.
    let is_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let writes = WRITES.iter().any(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let plain = word.bytes().all(|b| b.is_ascii_lowercase());
            !plain
                || !is_name(lower[..at].chars().next_back())
                    && !is_name(lower[at + word.len()..].chars().next())
        })
    });
    if writes || text.is_unknown() && !text.is_empty() {
        let short: String = text.shown().chars().take(80).collect();
        this.deny("data.write", format!("{program} <<< {short}"))?;
    }
    Ok(())
}
