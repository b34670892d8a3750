//! Launching: `codex-ds [codex's arguments]` becomes `codex`, in our profile, with the pins that keep
//! a repository from weakening it.
//!
//! What a repository ships in `.codex` can drop the sandbox, turn the guard off and start a program
//! of its own outside the sandbox, as soon as Codex holds the folder for trusted; Codex 0.163.0
//! trusts a fresh clone by itself on the first `codex exec`. The pins are `-c` options: they win over
//! every file.
//!
//! Measured on Codex 0.163.0 and 0.171.0, alike unless said:
//!
//! - Each folder with a `.codex`, from the git root (without one: the working folder alone) down to
//!   the working folder, is a layer. Its trust is looked up under its own path first (the real one,
//!   then as spelled), only then under the root and, for a linked worktree, the main checkout. So
//!   every folder above the working folder is pinned under its own name; one of them is not enough.
//! - A pin merges with `[projects]` of `config.toml` and wins over a `trusted` there.
//! - 0.163.0 drops each `-c` in front of a command when that command has a `-c` of its own. So the
//!   pins are repeated in front of the first `-c` of each deeper level.
//! - A later `-c projects=…` replaces the pin. It is refused here.
//! - Where a folder is pinned untrusted, Codex leaves out the project's AGENTS.md. It is handed over
//!   as `developer_instructions` ([`agents_md`]).
//! - `resume` and `fork` in the terminal interface can go to the folder of the stored session. These
//!   folders are pinned too ([`sessions`]). The app server marks any folder that a client opens as
//!   trusted, which no pin stops: the user is told.

mod agents_md;
pub(crate) mod args;
mod config;
mod guard;
mod pins;
mod plan;
pub(crate) mod program;
pub(crate) mod receipt;
mod sessions;

use std::ffi::OsString;

use anyhow::{Context as _, Result};

pub(crate) use args::is_codex_command;
pub(crate) use config::existing as profile_names;
pub(crate) use plan::plan_with;
pub use plan::{Inputs, Launch, plan};

use crate::trust::TrustList;
use crate::{home, ui};

/// Becomes Codex. Gives its exit code where a process cannot be replaced; on Unix it only returns
/// with an error.
///
/// # Errors
/// When there is no profile, no Codex, no live guard, a profile name that does not exist, or an
/// argument that would lift the pins.
pub fn run(args: &[OsString]) -> Result<u8> {
    let home = home::wanted(None)?;
    let home = home.canonicalize().unwrap_or(home);
    let cwd = std::env::current_dir().context("cannot tell the working folder")?;
    let (trusted, complaint) = TrustList::load_or_empty(&home);
    let launch = plan(&Inputs {
        args,
        cwd: &cwd,
        home: &home,
        trusted: &trusted,
        user_home: home::user_home().ok().as_deref(),
        path: std::env::var_os("PATH").as_deref(),
        ourselves: std::env::current_exe().ok().as_deref(),
    })?;
    for warning in complaint.iter().chain(&launch.warnings) {
        ui::warn(warning);
    }
    become_codex(&launch)
}

#[cfg(unix)]
fn become_codex(launch: &Launch) -> Result<u8> {
    use std::os::unix::process::CommandExt as _;

    let error = launch.command().exec();
    Err(error).with_context(|| format!("cannot start {}", launch.program.display()))
}

#[cfg(not(unix))]
fn become_codex(launch: &Launch) -> Result<u8> {
    let status = launch
        .command()
        .status()
        .with_context(|| format!("cannot start {}", launch.program.display()))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(crate::exit::FAILURE))
}
