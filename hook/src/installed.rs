//! The home that the guard belongs to: where it is, its policy, and the place of a request.

use std::path::{Path, PathBuf};

use crate::context::{Context, RealFiles, find_workspace};
use crate::policy::Policy;

/// The home that set-up installed this program into (`HOME/bin/codex-ds-hook`), and whether its
/// policy counts. Without such a home the environment only says what to protect: a changed
/// variable must not point the guard to a looser policy.
pub(crate) fn home() -> (PathBuf, bool) {
    let installed = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent()?.parent().map(Path::to_path_buf))
        .filter(|home| home.join("guard.toml").exists());
    if let Some(home) = installed {
        return (home, true);
    }
    let home =
        std::env::var_os("CODEX_HOME").map_or_else(|| user_home().join(".codex-ds"), PathBuf::from);
    (home, false)
}

fn user_home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from)
}

/// The policy of a home, and what is wrong with its file. A file that is missing or bad never
/// opens the guard: the built-in lab preset holds, and a bad file is named.
#[must_use]
pub fn read_policy(home: &Path) -> (Policy, Option<String>) {
    let path = home.join("guard.toml");
    let problem = match std::fs::read_to_string(&path) {
        Ok(text) => match Policy::parse(&text) {
            Ok(policy) => return (policy, None),
            Err(e) => format!("is not valid: {e}"),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return (Policy::default(), None),
        Err(e) => format!("cannot be read: {e}"),
    };
    let problem = format!("({} {problem}; preset lab holds.)", path.display());
    (Policy::default(), Some(problem))
}

/// The place of a request in this folder, on this machine.
#[must_use]
pub fn place(cwd: &Path, codex_home: &Path) -> Context<'static> {
    let home = user_home();
    let user = std::env::var("USER").unwrap_or_else(|_| {
        home.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    });
    Context {
        workspace: find_workspace(cwd),
        cwd: cwd.to_path_buf(),
        home,
        user,
        codex_home: codex_home.to_path_buf(),
        files: &RealFiles,
    }
}
