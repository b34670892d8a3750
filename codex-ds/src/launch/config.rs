//! What launching has to know of the profile's own files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use toml_edit::{DocumentMut, Item};

use crate::error::UserError;

/// The profile's base file.
const CONFIG: &str = "config.toml";
/// What the file of a named profile ends with.
const SUFFIX: &str = ".config.toml";
/// The name that stands for the base file alone. Codex takes any name without a file so.
const DEFAULT: &str = "default";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// The value of `developer_instructions`: a launch that sets it must keep it.
    pub(super) developer_instructions: Option<String>,
    /// The folders that `[projects]` marks trusted: an answer in Codex's own dialog, or 0.163.0 by
    /// itself.
    pub(super) trusted: Vec<PathBuf>,
    /// The folders beside the workspace that the sandbox leaves writable.
    pub(super) writable: Vec<PathBuf>,
    /// The named profiles, in the order in which they are laid over the base file.
    pub(super) over: Vec<DocumentMut>,
}

/// Reads the base file and the named profiles over it.
///
/// # Errors
/// When there is no profile in `home`, or none of a name that is asked for. A file that is no TOML
/// is Codex's to complain about: it does not start then.
pub(super) fn read(home: &Path, names: &[String]) -> Result<Profile> {
    let base = home.join(CONFIG);
    if !base.is_file() {
        return Err(UserError::not_ready(format!("there is no profile in {}", home.display()))
            .hint("make one: codex-ds setup --endpoint URL, for example --endpoint http://127.0.0.1:4000/v1")
            .hint("or set CODEX_DS_HOME to the folder of one")
            .into());
    }
    let mut files = vec![base];
    for name in names.iter().filter(|name| *name != DEFAULT) {
        let file = home.join(format!("{name}{SUFFIX}"));
        if name.is_empty() || name.contains(['/', '\\']) || !file.is_file() {
            return Err(UserError::usage(format!(
                "there is no profile named {name:?}: {} is not there",
                file.display()
            ))
            .hint(format!("profiles: {}", existing(home)?.join(", ")))
            .into());
        }
        files.push(file);
    }
    let mut profile = Profile::default();
    for (index, file) in files.into_iter().enumerate() {
        let text = fs_err::read_to_string(&file).context("cannot read the profile")?;
        let Ok(document) = text.parse::<DocumentMut>() else {
            continue;
        };
        if let Some(value) = document
            .get("developer_instructions")
            .and_then(Item::as_str)
        {
            profile.developer_instructions = Some(value.to_owned());
        }
        let projects = document.get("projects").and_then(Item::as_table_like);
        for (folder, entry) in projects.into_iter().flat_map(|table| table.iter()) {
            if entry.get("trust_level").and_then(Item::as_str) == Some("trusted") {
                profile.trusted.push(PathBuf::from(folder));
            }
        }
        let writable = document
            .get("sandbox_workspace_write")
            .and_then(|sandbox| sandbox.get("writable_roots"))
            .and_then(Item::as_array);
        for folder in writable
            .into_iter()
            .flatten()
            .filter_map(|folder| folder.as_str())
        {
            profile.writable.push(PathBuf::from(folder));
        }
        if index > 0 {
            profile.over.push(document);
        }
    }
    Ok(profile)
}

/// The profiles in `home`: `default`, then the named ones by name.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn existing(home: &Path) -> Result<Vec<String>> {
    let mut names = vec![DEFAULT.to_owned()];
    for entry in fs_err::read_dir(home)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(
            name.strip_suffix(SUFFIX)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
        );
    }
    names[1..].sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_counts_from_the_base_and_the_profile_over_it() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            fs_err::write(home.path().join(name), text).expect("a file");
        };
        write(
            "config.toml",
            "developer_instructions = \"base\"\n[projects.\"/a\"]\ntrust_level = \"trusted\"\n\
             [projects.\"/b\"]\ntrust_level = \"untrusted\"\n[projects]\n\"/c\" = { trust_level = \"trusted\" }\n",
        );
        write(
            "native.config.toml",
            "developer_instructions = \"native\"\n",
        );
        write("broken.config.toml", "= no TOML");
        let of = |names: &[&str]| {
            read(
                home.path(),
                &names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(),
            )
            .expect("a profile")
        };
        assert_eq!(of(&[]).developer_instructions.as_deref(), Some("base"));
        assert_eq!(of(&["default"]).trusted, of(&[]).trusted);
        assert_eq!(
            of(&["native"]).developer_instructions.as_deref(),
            Some("native")
        );
        assert_eq!(of(&["broken"]).trusted, of(&[]).trusted);
    }

    #[test]
    fn a_wrong_name_is_an_error_that_lists_the_right_ones() {
        let home = tempfile::tempdir().expect("a temporary folder");
        for name in ["config.toml", "native.config.toml", "fast.config.toml"] {
            fs_err::write(home.path().join(name), "").expect("a file");
        }
        for name in ["nativ", "", "../x"] {
            let error = read(home.path(), &[name.to_owned()]).expect_err("no such profile");
            let (text, code) = crate::error::render(&error);
            assert_eq!(code, crate::exit::USAGE);
            assert!(
                text.contains("hint: profiles: default, fast, native\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn without_a_profile_it_says_how_to_make_one() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (text, code) = crate::error::render(&read(home.path(), &[]).expect_err("no profile"));
        assert_eq!(code, crate::exit::NOT_READY);
        assert!(text.contains("codex-ds setup --endpoint"), "{text}");
    }
}
