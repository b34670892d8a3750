//! Files: atomic writes, digests, and the lock of a profile.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::error::UserError;

/// Who may read a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Its owner only (0600); a file that is there keeps its own mode.
    Private,
    /// Its owner only, and it can be executed (0700).
    Program,
}

/// Writes `bytes` to `path` so that a reader sees the old content or the new, never a part: into a
/// temporary file beside it, synced, then renamed.
///
/// # Errors
/// When the folder cannot be made or written; `path` is then as it was.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: Mode) -> Result<()> {
    let path = &behind_links(path);
    let folder = path.parent().context("a file's path has a folder")?;
    fs_err::create_dir_all(folder)?;
    let context = || format!("cannot write {}", path.display());
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        .tempfile_in(folder)
        .with_context(context)?;
    file.write_all(bytes).with_context(context)?;
    set_mode(file.as_file(), path, mode).with_context(context)?;
    file.as_file().sync_all().with_context(context)?;
    file.persist(path).with_context(context)?;
    Ok(())
}

/// What the name of a file begins with that [`write_atomic`] is still writing.
pub const TEMPORARY_PREFIX: &str = ".codex-ds-";
/// What it ends with.
pub const TEMPORARY_SUFFIX: &str = ".partial";

/// The file that `path` leads to. A link is the user's way of keeping the file elsewhere, also where
/// nothing is there yet.
fn behind_links(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

#[cfg(unix)]
fn set_mode(file: &File, old: &Path, mode: Mode) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = match (mode, std::fs::metadata(old)) {
        (Mode::Private, Ok(there)) => there.permissions(),
        (Mode::Private, Err(_)) => std::fs::Permissions::from_mode(0o600),
        (Mode::Program, _) => std::fs::Permissions::from_mode(0o700),
    };
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: &Path, _: Mode) -> std::io::Result<()> {
    Ok(())
}

/// A file's bytes, or `None` when it does not exist.
///
/// # Errors
/// When it exists and is no file, or cannot be read.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(fs_err::read(path)?)),
        // Reading a pipe would wait for ever.
        Ok(metadata) => {
            let found = if metadata.is_dir() {
                "a folder"
            } else {
                "a pipe, socket or device"
            };
            Err(
                UserError::usage(format!("{} is {found}; expected a file", path.display()))
                    .hint("move it away, then run this again")
                    .into(),
            )
        }
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// Removes a file; one that is not there is as good as removed.
///
/// # Errors
/// When it is there and cannot be removed.
pub fn remove_optional(path: &Path) -> Result<()> {
    let remove = |path: &Path| match fs_err::remove_file(path) {
        Err(error) if !is_absent(&error) => Err(error),
        _ => Ok(()),
    };
    // What a link leads to is the file.
    if path.is_symlink() {
        remove(&behind_links(path))?;
    }
    Ok(remove(path)?)
}

/// The SHA-256 of `bytes` in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Holds a profile for one writer at a time; released when dropped, also by a crash.
pub struct Lock {
    _file: File,
}

/// The name of the lock's file in the profile.
pub const LOCK: &str = ".codex-ds.lock";

impl Lock {
    /// Takes the lock of the profile in `home`.
    ///
    /// # Errors
    /// When another process has it, or its file cannot be opened.
    pub fn take(home: &Path) -> Result<Self> {
        let path: PathBuf = home.join(LOCK);
        let file = fs_err::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)?
            .into_parts()
            .0;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => Err(UserError::not_ready(format!(
                "another codex-ds is changing {} right now",
                home.display()
            ))
            .hint("wait for it to end, then run this again")
            .into()),
            Err(std::fs::TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }
}
