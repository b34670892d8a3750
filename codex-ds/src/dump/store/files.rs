//! Which file a session is in.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::UserError;

/// What a session's file ends with.
pub const SUFFIX: &str = ".jsonl";

/// The name of a session's file, without the suffix.
#[must_use]
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(SUFFIX).unwrap_or(&name).to_owned()
}

/// The files of all sessions in `folder`, the newest first: their names begin with their time.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs_err::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            files.push(path);
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files)
}

/// Whether nobody writes to a session's file any more. Who records holds a lock on it, which goes
/// with its process however that ends; on a file system without locks nobody can tell.
#[must_use]
pub fn is_closed(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().is_ok(),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

/// The file that `wanted` names: a path, a session's name or the beginning of one; the newest
/// session when nothing is.
///
/// # Errors
/// When there is none, or more than one fits.
pub fn find(folder: &Path, wanted: Option<&str>) -> Result<PathBuf> {
    let files = files(folder)?;
    let Some(wanted) = wanted else {
        return files.into_iter().next().ok_or_else(|| {
            UserError::not_ready(format!(
                "there is no recorded session in {}",
                folder.display()
            ))
            .hint("record one: codex-ds dump -- exec \"hi\"")
            .into()
        });
    };
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    // A whole name may be how another one begins.
    if let Some(file) = files.iter().find(|file| name(file) == wanted) {
        return Ok(file.clone());
    }
    let found: Vec<&PathBuf> = files
        .iter()
        .filter(|file| name(file).starts_with(wanted))
        .collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(UserError::usage(format!(
            "there is no session {wanted:?} in {}",
            folder.display()
        ))
        .hint("list them: codex-ds dump ls")
        .into()),
        _ => Err(UserError::usage(format!(
            "{} sessions begin with {wanted:?}: {}",
            found.len(),
            found
                .iter()
                .map(|file| name(file))
                .collect::<Vec<_>>()
                .join(", ")
        ))
        .hint("give more of the name")
        .into()),
    }
}
