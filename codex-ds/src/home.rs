//! The profile's folder: which one, and whether it may be one.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::{env, error::UserError};

/// The option that every command about the profile has.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HomeArg {
    /// The profile's folder [default: $CODEX_DS_HOME, else ~/.codex-ds]
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
}

/// The folder that is meant: the flag, else `CODEX_DS_HOME`, else `~/.codex-ds`. Not resolved yet;
/// it need not exist.
///
/// # Errors
/// When there is no home folder to put the default in.
pub fn wanted(flag: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = flag {
        return absolute(path);
    }
    if let Some(path) = std::env::var_os(env::HOME).filter(|value| !value.is_empty()) {
        return absolute(Path::new(&path));
    }
    Ok(user_home()?.join(".codex-ds"))
}

/// The user's home folder.
///
/// # Errors
/// When the system does not name one.
pub fn user_home() -> Result<PathBuf> {
    directories::BaseDirs::new()
        .map(|dirs| dirs.home_dir().to_path_buf())
        .ok_or_else(|| {
            UserError::usage("cannot tell where your home folder is: HOME is not set")
                .hint("set HOME, or name the profile's folder with --home")
                .into()
        })
}

/// The folder for what is fetched, the same that `make peers` fills, and for throw-away worlds:
/// `CODEX_DS_CACHE`, else the user's cache folder, which is `~/.cache` on macOS too.
///
/// # Errors
/// When the system names none.
pub fn cache_folder() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(env::CACHE).filter(|value| !value.is_empty()) {
        return Ok(std::path::absolute(path)?);
    }
    let dirs = directories::BaseDirs::new().ok_or_else(|| {
        UserError::usage("cannot tell where your cache folder is: HOME is not set")
            .hint(format!("set HOME or {}", env::CACHE))
    })?;
    let folder = if cfg!(target_os = "macos") {
        dirs.home_dir().join(".cache")
    } else {
        dirs.cache_dir().to_path_buf()
    };
    Ok(folder.join("codex-ds"))
}

/// Where a throw-away world is made: in the cache, but for a cache in which no profile may be, as
/// where HOME itself is temporary. Codex takes `/var/tmp` for no temporary folder.
#[must_use]
pub fn playground(cache: &Path) -> &Path {
    match checked(&cache.join("world")) {
        Ok(_) => cache,
        Err(_) => Path::new("/var/tmp"),
    }
}

/// Resolves symbolic links in the part of `path` that exists, and keeps the rest. Codex keys its
/// trust entries by the real path, so that is the one to write.
///
/// # Errors
/// When a part that exists cannot be read.
pub fn real_path(path: &Path) -> Result<PathBuf> {
    let mut existing = path;
    let mut rest = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(real) => {
                return Ok(rest.iter().rev().fold(real, |path, part| path.join(part)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(error)
                        .with_context(|| format!("cannot resolve {}", path.display()));
                };
                rest.push(name);
                existing = parent;
            }
            Err(error) => {
                return Err(
                    UserError::usage(format!("{} cannot be a folder", path.display()))
                        .because(error)
                        .hint("name a folder that you can write")
                        .into(),
                );
            }
        }
    }
}

/// Checks that a profile may be in `path`, and gives its real path.
///
/// # Errors
/// When the folder is Codex's own, lies under a temporary folder, or is not a folder.
pub fn checked(path: &Path) -> Result<PathBuf> {
    let real = real_path(path)?;
    if real.to_str().is_none() {
        return Err(UserError::usage(format!(
            "{} is not UTF-8: Codex keys its trust in the guard by the path as text",
            real.display()
        ))
        .hint("name a folder whose whole path is text with --home")
        .into());
    }
    let user = user_home()?;
    let codex = user.join(".codex");
    if real.starts_with(&codex) || real.starts_with(real_path(&codex)?) {
        return Err(UserError::usage(format!(
            "{} is Codex's own folder, or in it; codex-ds never writes there",
            path.display()
        ))
        .hint("leave --home away to use ~/.codex-ds, or name another folder")
        .into());
    }
    if real_path(&user)?.starts_with(&real) {
        return Err(UserError::usage(format!(
            "{} is your home folder, or holds it: a profile needs a folder of its own",
            path.display()
        ))
        .hint("leave --home away to use ~/.codex-ds, or name another folder")
        .into());
    }
    for temporary in temporary_folders() {
        if real.starts_with(&temporary) {
            return Err(UserError::usage(format!(
                "{} lies under the temporary folder {}: a sandboxed command can write there, so it \
                 could rewrite its own rules, and Codex puts no apply_patch on PATH for such a home",
                path.display(),
                temporary.display()
            ))
            .hint("name a folder elsewhere, for example --home ~/.codex-ds")
            .into());
        }
    }
    if real.exists() && !real.is_dir() {
        return Err(
            UserError::usage(format!("{} is not a folder", path.display()))
                .hint("name a folder, or one that does not exist yet, with --home")
                .into(),
        );
    }
    Ok(real)
}

/// The folders that Codex's sandbox leaves writable beside the workspace.
fn temporary_folders() -> Vec<PathBuf> {
    [std::env::temp_dir(), PathBuf::from("/tmp")]
        .into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.parent().is_some())
        .collect()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    // The shell expands a tilde only at the start of a word, so `--home=~/x` arrives as it is.
    if let Ok(rest) = path.strip_prefix("~") {
        return Ok(user_home()?.join(rest));
    }
    std::path::absolute(path).with_context(|| format!("cannot resolve {}", path.display()))
}
