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
    /// Its owner only (0600).
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
    // A link is the user's way of keeping the file elsewhere: write there, keep the link.
    let target = if path.is_symlink() {
        path.canonicalize().ok()
    } else {
        None
    };
    let path = target.as_deref().unwrap_or(path);
    let folder = path.parent().context("a file's path has a folder")?;
    fs_err::create_dir_all(folder)?;
    let context = || format!("cannot write {}", path.display());
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        .tempfile_in(folder)
        .with_context(context)?;
    file.write_all(bytes).with_context(context)?;
    set_mode(file.as_file(), mode).with_context(context)?;
    file.as_file().sync_all().with_context(context)?;
    file.persist(path).with_context(context)?;
    Ok(())
}

/// What the name of a file begins with that [`write_atomic`] is still writing.
pub const TEMPORARY_PREFIX: &str = ".codex-ds-";
/// What it ends with.
pub const TEMPORARY_SUFFIX: &str = ".partial";

#[cfg(unix)]
fn set_mode(file: &File, mode: Mode) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(match mode {
        Mode::Private => 0o600,
        Mode::Program => 0o700,
    }))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: Mode) -> std::io::Result<()> {
    Ok(())
}

/// A file's bytes, or `None` when it does not exist.
///
/// # Errors
/// When it exists and cannot be read.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs_err::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes a file; one that is not there is as good as removed.
///
/// # Errors
/// When it is there and cannot be removed.
pub fn remove_optional(path: &Path) -> Result<()> {
    match fs_err::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
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
