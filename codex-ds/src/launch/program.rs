//! Which `codex` is started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::codex::NEWEST;
use crate::error::UserError;

/// What set-up recorded of Codex.
#[derive(Debug, Deserialize)]
struct Codex {
    path: PathBuf,
    #[serde(default)]
    pinned: bool,
}

/// Finds Codex for the profile in `home`, which set-up left `receipt` of: the one that it was given with `--codex`, else the first on `path` that is not
/// `ourselves` by another name, else the one that set-up found.
///
/// # Errors
/// When there is none, with how to install it.
pub(crate) fn find(
    home: &Path,
    receipt: &Json,
    path: Option<&OsStr>,
    ourselves: Option<&Path>,
) -> Result<PathBuf> {
    let recorded = Codex::deserialize(&receipt["codex"]).ok();
    if let Some(codex) = recorded.as_ref().filter(|codex| codex.pinned) {
        if codex.path.is_file() {
            return Ok(codex.path.clone());
        }
        return Err(UserError::not_ready(format!(
            "{} is gone: set-up was told to use it",
            codex.path.display()
        ))
        .hint("name another: codex-ds setup --codex PATH")
        .into());
    }
    let ourselves = ourselves.and_then(|path| path.canonicalize().ok());
    let on_path = which::which_in_all("codex", path, home)
        .into_iter()
        .flatten()
        .find(|found| ourselves.is_none() || found.canonicalize().ok() != ourselves);
    on_path
        .or_else(|| {
            recorded
                .map(|codex| codex.path)
                .filter(|path| path.is_file())
        })
        .ok_or_else(|| {
            UserError::not_ready("there is no codex on PATH")
                .hint(format!(
                    "install it: npm install --global @openai/codex@{NEWEST}"
                ))
                .hint("or name it: codex-ds setup --codex PATH")
                .into()
        })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs_err::write(path, "").expect("a file");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    #[test]
    fn the_named_one_wins_then_path_then_the_one_that_was_found() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| root.path().join(name);
        program(&at("bin/codex"));
        program(&at("recorded/codex"));
        program(&at("ours/codex-ds"));
        std::os::unix::fs::symlink(at("ours/codex-ds"), at("ours/codex")).expect("a link");
        let path = std::env::join_paths([at("ours"), at("bin")]).expect("a PATH");
        let receipt = |pinned: bool, file: &str| {
            let json =
                serde_json::json!({"codex": {"path": at(file), "pinned": pinned}, "more": 1});
            fs_err::write(at("receipt.json"), json.to_string()).expect("a file");
        };
        let find = |path: Option<&OsStr>| {
            let receipt = crate::launch::receipt::read(root.path());
            find(root.path(), &receipt, path, Some(&at("ours/codex-ds")))
        };

        assert_eq!(find(Some(&path)).expect("on PATH"), at("bin/codex"));
        receipt(false, "recorded/codex");
        assert_eq!(find(Some(&path)).expect("on PATH"), at("bin/codex"));
        assert_eq!(
            find(Some(OsStr::new(""))).expect("recorded"),
            at("recorded/codex")
        );
        receipt(true, "recorded/codex");
        assert_eq!(find(Some(&path)).expect("named"), at("recorded/codex"));
        receipt(true, "gone/codex");
        assert!(find(Some(&path)).is_err());
        fs_err::write(at("receipt.json"), "no JSON").expect("a file");
        assert_eq!(find(Some(&path)).expect("on PATH"), at("bin/codex"));
        assert!(find(Some(OsStr::new(""))).is_err());
    }
}
