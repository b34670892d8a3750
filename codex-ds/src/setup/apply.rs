//! Carries a plan out, so that a crash at any point leaves a home that a re-run or `undo` repairs.
//!
//! First the receipt of what is about to be written, then the backups, then the files in the plan's
//! order, then the final receipt. Each write is atomic.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Result;

use super::plan::Plan;
use super::receipt::{BACKUP, NAME, PENDING};
use crate::error::UserError;
use crate::file::{self, Mode};

/// The folders of a profile that set-up makes, each after those in it.
pub const FOLDERS: &[&str] = &[
    ".codex-ds-backup/bin",
    ".codex-ds-backup/rules",
    BACKUP,
    "bin",
    "rules",
];

/// A step that was just done. Tests stop after each of them, as a crash would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The receipt of what is about to be written stands.
    Announced,
    /// The bytes from before the first set-up are kept.
    BackedUp(&'a str),
    /// A file is written.
    Wrote(&'a str),
    /// The final receipt stands.
    Recorded,
}

/// Writes down that a set-up has begun, so that `undo` knows of it.
///
/// # Errors
/// When it cannot be written.
pub fn announce(home: &Path, receipt: &super::receipt::Receipt) -> Result<()> {
    file::write_atomic(
        &home.join(PENDING),
        receipt.to_text().as_bytes(),
        Mode::Private,
    )
}

/// Applies `plan` to the profile in `home`, whose lock the caller holds. `after` is told each step.
///
/// # Errors
/// When something cannot be written; a re-run goes on from there.
pub fn apply(
    home: &Path,
    plan: &Plan,
    after: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<()> {
    sweep(home)?;
    if !plan.changes_anything() {
        return Ok(());
    }
    let receipt = plan.receipt.to_text();
    if plan.changes.iter().any(super::plan::Change::writes) {
        announce(home, &plan.receipt)?;
        if after(Step::Announced).is_break() {
            return Ok(());
        }
    }
    for change in plan.changes.iter().filter(|change| change.back_up) {
        let Some(before) = &change.before else {
            continue;
        };
        let path = home.join(BACKUP).join(change.name);
        match file::read_optional(&path)? {
            None => file::write_atomic(&path, before, Mode::Private)?,
            Some(there) if there == *before => {}
            Some(_) => {
                return Err(UserError::new(format!(
                    "{} holds another backup, which would be lost",
                    path.display()
                ))
                .hint("move it to a safe place, then run this again")
                .into());
            }
        }
        if after(Step::BackedUp(change.name)).is_break() {
            return Ok(());
        }
    }
    for change in plan.changes.iter().filter(|change| change.writes()) {
        file::write_atomic(&home.join(change.name), &change.after, change.mode)?;
        if after(Step::Wrote(change.name)).is_break() {
            return Ok(());
        }
    }
    file::write_atomic(&home.join(NAME), receipt.as_bytes(), Mode::Private)?;
    if after(Step::Recorded).is_break() {
        return Ok(());
    }
    file::remove_optional(&home.join(PENDING))
}

/// Removes what an atomic write left that was killed.
///
/// # Errors
/// When a folder of the profile cannot be read or cleaned.
pub fn sweep(home: &Path) -> Result<()> {
    for folder in FOLDERS.iter().chain(&[""]) {
        let folder = home.join(folder);
        if !folder.is_dir() {
            continue;
        }
        for entry in fs_err::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(file::TEMPORARY_PREFIX) && name.ends_with(file::TEMPORARY_SUFFIX) {
                file::remove_optional(&entry.path())?;
            }
        }
    }
    Ok(())
}
