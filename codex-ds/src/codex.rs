//! The installed Codex: where it is, and whether its version is one that we know.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use semver::Version;

use crate::env;
use crate::error::UserError;

/// The oldest Codex that the profile was tested with. Older ones lack keys that it needs.
pub const OLDEST: Version = Version::new(0, 163, 0);
/// The newest Codex that the profile was tested with; later ones are used with a warning.
pub const NEWEST: Version = Version::new(0, 171, 0);

/// A Codex that was found and asked for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codex {
    /// The program, absolute.
    pub path: PathBuf,
    /// What `codex --version` said.
    pub version: Version,
}

impl Codex {
    /// Whether this version is newer than the tests have seen.
    #[must_use]
    pub fn is_untested(&self) -> bool {
        self.version > NEWEST
    }
}

/// Finds Codex: `explicit` if given, else the first `codex` in `path` (as the variable PATH has it).
///
/// # Errors
/// When there is none, with how to install it.
pub fn find(explicit: Option<&Path>, path: Option<&OsStr>) -> Result<PathBuf> {
    if let Some(program) = explicit {
        let program = std::path::absolute(program)
            .with_context(|| format!("cannot resolve {}", program.display()))?;
        if !program.is_file() {
            return Err(UserError::not_ready(format!("no program at {}", program.display()))
                .hint("--codex names the codex program itself, for example --codex /usr/local/bin/codex")
                .into());
        }
        return Ok(program);
    }
    which::which_in_global("codex", path)
        .ok()
        .and_then(|mut found| found.next())
        .ok_or_else(|| {
            UserError::not_ready("there is no codex on PATH")
                .hint(format!(
                    "install it: npm install --global @openai/codex@{NEWEST}"
                ))
                .hint("or name it: --codex PATH")
                .into()
        })
}

/// Asks the program at `path` for its version, and checks it against the supported range.
///
/// # Errors
/// When it does not answer as Codex does, or is older than [`OLDEST`].
pub fn inspect(path: &Path) -> Result<Codex> {
    if path.to_str().is_none() {
        return Err(UserError::usage(format!("{} is not UTF-8", path.display()))
            .hint("use a Codex whose whole path is text")
            .into());
    }
    // Even for its version Codex makes a folder in its home, which is `~/.codex` unless told.
    let nowhere = tempfile::tempdir().context("cannot make a temporary folder")?;
    let output = Command::new(path)
        .arg("--version")
        .env(env::CODEX_HOME, nowhere.path())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = parse_version(&text).ok_or_else(|| {
        UserError::not_ready(format!(
            "{} --version said {:?}, which is not Codex's answer",
            path.display(),
            text.trim()
        ))
        .hint(format!(
            "install Codex: npm install --global @openai/codex@{NEWEST}"
        ))
    })?;
    if version < OLDEST {
        return Err(UserError::not_ready(format!(
            "{} is Codex {version}; this needs {OLDEST} or newer (tested up to {NEWEST})",
            path.display()
        ))
        .hint(format!(
            "install it: npm install --global @openai/codex@{NEWEST}"
        ))
        .into());
    }
    Ok(Codex {
        path: path.to_path_buf(),
        version,
    })
}

/// Reads `codex-cli 0.171.0`, the form that `codex --version` prints.
fn parse_version(text: &str) -> Option<Version> {
    Version::parse(text.trim().strip_prefix("codex-cli ")?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_codex_prints_and_nothing_else() {
        assert_eq!(
            parse_version("codex-cli 0.171.0\n"),
            Some(Version::new(0, 171, 0))
        );
        assert!(parse_version("codex-cli 0.172.0-alpha.2\n").is_some_and(|v| v > NEWEST));
        assert_eq!(parse_version("codex 1.0 (not openai)"), None);
        assert_eq!(parse_version(""), None);
    }
}
