//! Variables that make other programs run code, and variables that hold secrets.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::syntax::{Piece, Simple, Word};
use crate::value::Value;
use crate::verdict::Eval;

/// The value is a command line that some program runs.
const COMMANDS: &[&str] = &[
    "PROMPT_COMMAND",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EDITOR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_SEQUENCE_EDITOR",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "SUDO_ASKPASS",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "GIT_PROXY_COMMAND",
    "RSYNC_RSH",
    "CVS_RSH",
    "KUBE_EDITOR",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "PSQL_EDITOR",
    "FCEDIT",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "DEBUGINFOD_CMD",
    "AWS_PAGER",
    "GH_PAGER",
    "GH_EDITOR",
    "GH_BROWSER",
    "BAT_PAGER",
    "DELTA_PAGER",
    "TAR_OPTIONS_CMD",
    "npm_config_script_shell",
    "NPM_CONFIG_SCRIPT_SHELL",
    "npm_config_editor",
    "CC",
    "CXX",
    "LD",
    "AR",
    "FC",
];

/// The value is a text whose substitutions the shell runs when it shows it.
const PROMPTS: &[&str] = &["PS0", "PS1", "PS2", "PS4"];

/// The value is a file that some program runs first.
const FILES: &[&str] = &["BASH_ENV", "ENV", "PYTHONSTARTUP"];

/// Setting one of these changes which code runs, whatever the value.
const CODE: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "CODEX_HOME",
    "PERL5DB",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "BASH_FUNC_*",
    "SHELLOPTS",
    "BASHOPTS",
    "CODEX_DS_*",
    "GLIBC_TUNABLES",
    "LD_ORIGIN_PATH",
    "PERL5OPT",
    "RUBYOPT",
];

/// Parts of the names of variables that hold secrets.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
    "_PAT",
    "_PASS",
    "AUTH_KEY",
    "_KEY_ID",
    "ENCRYPTION_KEY",
    "SIGNING_KEY",
    "MASTER_KEY",
    "SSH_KEY",
    "DATABASE_URL",
    "CONNECTION_STRING",
    "COOKIE",
];

/// Marks the output of `env` and its like, so that a filter behind it can be recognised.
pub(crate) const LISTING: &str = "\u{0}environment";

/// Checks an assignment.
pub(crate) fn check(
    this: &mut Interpreter<'_>,
    name: &str,
    value: &Value,
    state: &State,
) -> Eval<()> {
    let shown = || format!("{name}={}", value.shown());
    if COMMANDS.contains(&name) {
        if !value.is_unknown() && !value.is_empty() {
            let mut inner = state.clone();
            this.nested(|this| this.script(value.raw(), &mut inner))?;
        }
        return Ok(());
    }
    if PROMPTS.contains(&name) {
        let mut inner = state.clone();
        return this.substitutions_in(value, &mut inner);
    }
    if FILES.contains(&name) && !value.is_empty() {
        let contents = this.contents(value, state);
        if contents.iter().all(Value::is_known) {
            for content in contents {
                let mut inner = state.clone();
                this.nested(|this| this.script(content.raw(), &mut inner))?;
            }
            return Ok(());
        }
        return this.deny("guard.environment", shown());
    }
    let listed = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => *pattern == name,
    };
    if CODE.iter().any(listed) && !value.is_empty() {
        return this.deny("guard.environment", shown());
    }
    match name {
        "PATH" => {
            for part in value.raw().split(':') {
                let folder = Value::known(part);
                let temporary = codex_ds_rules::paths::TEMP_FOLDERS
                    .iter()
                    .any(|temporary| crate::analysis::places::below(&folder, temporary));
                if part == "." || part.is_empty() && value.raw() != "" || temporary {
                    return this.deny("guard.environment", shown());
                }
            }
            Ok(())
        }
        "NODE_OPTIONS"
            if value.raw().contains("--require")
                || value.raw().contains("--import")
                || value.raw().contains("-r ") =>
        {
            this.deny("guard.environment", shown())
        }
        "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS" if value.raw().contains("agent") => {
            this.deny("guard.environment", shown())
        }
        _ => Ok(()),
    }
}

/// Denies printing a variable that holds a secret.
pub(crate) fn check_printed(
    this: &Interpreter<'_>,
    simple: &Simple,
    words: &[Value],
    state: &State,
) -> Eval<()> {
    let prints = words
        .first()
        .is_some_and(|name| matches!(name.raw(), "echo" | "printf" | "print" | "logger" | "wall"));
    let feeds = |word: &Word| secret_in(word, state);
    if prints && let Some(name) = simple.words.iter().find_map(feeds) {
        return this.deny("secret.environment", format!("${name}"));
    }
    let sends = words
        .first()
        .is_some_and(|name| matches!(name.raw(), "curl" | "wget" | "http" | "https" | "xh"));
    if sends {
        for word in &simple.words {
            let address = match word
                .pieces
                .iter()
                .find(|piece| !matches!(piece, Piece::Quoted(text) if text.is_empty()))
            {
                Some(Piece::Plain(text) | Piece::Quoted(text)) => text.contains("://"),
                _ => false,
            };
            let local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| {
                word.pieces.iter().any(|piece| {
                    matches!(piece, Piece::Plain(text) | Piece::Quoted(text) if text.contains(host))
                })
            });
            if let (true, false, Some(name)) = (address, local, feeds(word)) {
                return this.deny("secret.environment", format!("${name} in an address"));
            }
        }
    }
    let reads = words.first().is_some_and(|name| {
        matches!(
            name.raw(),
            "cat" | "tee" | "base64" | "xxd" | "od" | "rev" | "head" | "tail" | "wc-x"
        )
    });
    if reads
        && let Some(name) = simple
            .redirects
            .iter()
            .filter(|redirect| redirect.op == crate::syntax::RedirectOp::HereString)
            .find_map(|redirect| feeds(&redirect.target))
    {
        return this.deny("secret.environment", format!("${name}"));
    }
    Ok(())
}

/// The name of a secret variable of the environment that a word expands.
fn secret_in(word: &Word, state: &State) -> Option<String> {
    word.pieces.iter().find_map(|piece| match piece {
        Piece::Param(param, _)
            if !param.length
                && !matches!(param.op, Some(crate::syntax::Op::Alternative))
                && is_secret(&param.name)
                && !state.variables.contains(&param.name) =>
        {
            Some(param.name.clone())
        }
        _ => None,
    })
}

/// Whether a variable's name says that it holds a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    SECRET_PARTS.iter().any(|part| name.contains(part))
}
