//! Python environments of the workspace's own. What is installed into one can be made again, as
//! what lies in any build folder, so that `pip install` passes there.

use codex_ds_rules::wrappers::Where;
use codex_ds_rules::{Pattern, Rule};

use crate::analysis::interpreter::Interpreter;
use crate::analysis::judge::Line;
use crate::analysis::places::{absolute, below};
use crate::analysis::state::State;
use crate::value::Value;

/// What such an environment's folder is called.
const FOLDERS: &[&str] = &[".venv", "venv"];

/// The rule that is about all other environments.
const RULE: &str = "system.environment";

/// Whether an environment of the workspace is the active one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Venv {
    #[default]
    None,
    /// In the commands behind `&&` only: whether it was activated is known there.
    Listed,
    /// From here on.
    Active,
}

/// After a script was sourced: whether that activated an environment. One that is not there yet
/// may be made by a command before it.
pub(crate) fn sourced(this: &Interpreter<'_>, script: &Value, is_there: bool, state: &mut State) {
    if is_own(this, script, "activate", state) {
        state.venv = if is_there { Venv::Active } else { Venv::Listed };
    }
}

/// Whether a pattern is excused: it is about installing with pip, and the pip is that of such an
/// environment.
pub(crate) fn excuses(
    this: &Interpreter<'_>,
    name: &Value,
    line: &Line<'_>,
    state: &State,
) -> impl Fn(&Rule, &Pattern) -> bool + use<> {
    let pip = this.place == Where::Here
        && line.program.starts_with("pip")
        && !line.mentions("--python")
        && if name.raw().contains('/') {
            is_own(this, name, line.program, state)
        } else {
            state.venv != Venv::None
        };
    move |rule, pattern| {
        let installs = || {
            pattern
                .sub
                .first()
                .is_some_and(|sub| sub.contains(&"install"))
        };
        pip && rule.id == RULE && installs()
    }
}

/// `python -m pip` is the `pip` that lies beside that python.
pub(crate) fn pip_of(name: &Value, program: &str, args: &[Value]) -> Option<Vec<Value>> {
    let [option, module, rest @ ..] = args else {
        return None;
    };
    let is_pip = option.raw() == "-m" && module.raw() == "pip" && program.starts_with("python");
    let (folder, _) = name.raw().rsplit_once('/').filter(|_| is_pip)?;
    let pip = Value::known(format!("{folder}/pip"));
    Some(std::iter::once(pip).chain(rest.iter().cloned()).collect())
}

/// Whether a path is this file in the `bin` of such an environment.
fn is_own(this: &Interpreter<'_>, path: &Value, file: &str, state: &State) -> bool {
    let full = absolute(path, state);
    let Some(known) = full.as_known() else {
        return false;
    };
    let mut parts = known.rsplit('/');
    below(&full, &this.roots.workspace)
        && parts.next() == Some(file)
        && parts.next() == Some("bin")
        && parts.next().is_some_and(|folder| FOLDERS.contains(&folder))
}
