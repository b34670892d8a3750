//! Which cases there are: the built-in ones and those of the user's folder.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::case::Case;
use crate::error::UserError;
use crate::setup::endpoint::nearest;

/// A built-in case: its name and text.
pub(super) struct BuiltIn {
    pub(super) id: &'static str,
    pub(super) text: &'static str,
}

macro_rules! built_in {
    ($($id:literal),* $(,)?) => {
        &[$(BuiltIn {
            id: $id,
            text: include_str!(concat!("../../cases/", $id, ".toml")),
        }),*]
    };
}

/// The built-in cases, in the order in which they run: what the others rest on first.
pub(super) const BUILT_IN: &[BuiltIn] = built_in![
    "guard-alive",
    "fix-by-patch",
    "edit-many",
    "long-output",
    "rm-plain",
    "rm-redirect",
    "ssh-guarded",
    "forge-comment",
    "secret-unread",
    "outside-untouched",
    "web-fetch",
    "web-search",
    "compaction",
    "interrupt-resume",
];

/// The built-in cases.
///
/// # Errors
/// Never in a build whose tests passed.
pub(crate) fn built_in() -> Result<Vec<Case>> {
    BUILT_IN
        .iter()
        .map(|case| {
            Ok(Case::parse(
                case.id,
                &format!("{}.toml", case.id),
                case.text,
            )?)
        })
        .collect()
}

/// The built-in cases and those in `folder`.
///
/// # Errors
/// When the folder cannot be read or holds no case, a file of it has faults (all of them are named),
/// or a case has the name of another.
pub(super) fn all(folder: Option<&Path>) -> Result<Vec<Case>> {
    let mut cases = built_in()?;
    let Some(folder) = folder else {
        return Ok(cases);
    };
    let read = || {
        UserError::usage(format!(
            "--cases {}: cannot read the folder",
            folder.display()
        ))
    };
    let mut files: Vec<_> = fs_err::read_dir(folder)
        .map_err(|error| {
            read()
                .because(error)
                .hint("name a folder with *.toml files")
        })?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(UserError::usage(format!(
            "--cases {}: there is no *.toml file",
            folder.display()
        ))
        .hint("begin with a copy of a built-in case: codex-ds validate --show rm-plain")
        .into());
    }
    let mut faults = Vec::new();
    for path in files {
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs_err::read_to_string(&path).context("cannot read a case")?;
        if !is_name(&id) {
            faults.push(format!(
                "{}: found the name {id:?}, expected letters, digits and - before .toml",
                path.display()
            ));
            continue;
        }
        if cases.iter().any(|case| case.id == *id) {
            faults.push(format!(
                "{}: another case is called {id}; rename the file",
                path.display()
            ));
            continue;
        }
        match Case::parse(&id, &path.display().to_string(), &text) {
            Ok(case) => cases.push(case),
            Err(error) => faults.push(error.to_string()),
        }
    }
    if faults.is_empty() {
        return Ok(cases);
    }
    Err(UserError::usage(format!(
        "these cases cannot be used:\n{}",
        faults.join("\n")
    ))
    .hint("every key of a case: docs/validate.md")
    .into())
}

/// Whether a name can be a part of a folder's and of a path in a report.
fn is_name(id: &str) -> bool {
    !id.is_empty()
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Those of `cases` that `only` names; all without one.
///
/// # Errors
/// When a name is of none.
pub(super) fn select(cases: Vec<Case>, only: &[String]) -> Result<Vec<Case>> {
    if only.is_empty() {
        return Ok(cases);
    }
    for name in only {
        if cases.iter().any(|case| case.id == *name) {
            continue;
        }
        let names: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        let error = UserError::usage(format!("--only {name}: there is no such case"));
        return Err(match nearest(name, &names) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error.hint(format!("cases: {}", names.join(", "))),
        }
        .into());
    }
    Ok(cases
        .into_iter()
        .filter(|case| only.contains(&case.id))
        .collect())
}
