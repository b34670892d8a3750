//! The user's own list of trusted repositories: `trusted.json` in the profile.
//!
//! An entry is one folder that has a `.codex`, by its real path, which is the key that Codex looks
//! up first (measured on Codex 0.163.0 and 0.171.0), with the digest of that `.codex`. Another
//! folder of the same repository, a nested repository and a linked worktree have entries of their own.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;
use crate::error::UserError;
use crate::file::{self, Mode};

/// The list's file in the profile.
pub const NAME: &str = "trusted.json";

const SCHEMA_VERSION: u32 = 1;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustList {
    entries: Vec<Entry>,
}

/// A folder that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The folder that has the `.codex`, its real path.
    pub path: PathBuf,
    /// The digest of the `.codex` that the user saw.
    pub sha256: String,
}

/// Whether a folder's `.codex` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user trusts it, and it is as it was then.
    Trusted,
    /// The user trusted another content; why this one does not count.
    Changed(String),
    /// It is not on the list.
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema_version: u32,
    trusted: Vec<Entry>,
}

impl TrustList {
    /// Reads the list of the profile in `home`; none yet is an empty one.
    ///
    /// # Errors
    /// When the file is there and is no list of ours.
    pub fn load(home: &Path) -> Result<Self> {
        let path = home.join(NAME);
        let Some(bytes) = file::read_optional(&path)? else {
            return Ok(Self::default());
        };
        let stored: Stored =
            serde_json::from_slice(&bytes).map_err(|error| broken(&path, &error.to_string()))?;
        if stored.schema_version != SCHEMA_VERSION {
            let found = format!(
                "schema_version {}, not {SCHEMA_VERSION}",
                stored.schema_version
            );
            return Err(broken(&path, &found).into());
        }
        Ok(Self {
            entries: stored.trusted,
        })
    }

    /// As [`TrustList::load`], but a list that cannot be read trusts nothing; the second value says so.
    #[must_use]
    pub fn load_or_empty(home: &Path) -> (Self, Option<String>) {
        match Self::load(home) {
            Ok(list) => (list, None),
            Err(error) => (
                Self::default(),
                Some(format!("{error}; no repository is trusted")),
            ),
        }
    }

    /// Writes the list.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was.
    pub fn save(&self, home: &Path) -> Result<()> {
        let stored = Stored {
            schema_version: SCHEMA_VERSION,
            trusted: self.entries.clone(),
        };
        let mut text = serde_json::to_string_pretty(&stored)?;
        text.push('\n');
        file::write_atomic(&home.join(NAME), text.as_bytes(), Mode::Private)
    }

    /// The entries, by path.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds an entry, or renews the one of its path.
    pub fn add(&mut self, entry: Entry) {
        self.entries.retain(|old| old.path != entry.path);
        self.entries.push(entry);
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Takes out the entries that `matches` says, and gives them.
    pub fn remove(&mut self, matches: impl Fn(&Path) -> bool) -> Vec<Entry> {
        let (removed, kept) = self
            .entries
            .drain(..)
            .partition(|entry| matches(&entry.path));
        self.entries = kept;
        removed
    }

    /// Whether the `.codex` in `folder`, a real path, counts. Reads it only if it is on the list.
    #[must_use]
    pub fn standing(&self, folder: &Path) -> Standing {
        let Some(entry) = self.entries.iter().find(|entry| entry.path == folder) else {
            return Standing::Unknown;
        };
        match Snapshot::read(folder) {
            Ok(now) if now.digest() == entry.sha256 => Standing::Trusted,
            Ok(_) => Standing::Changed("its content changed".into()),
            Err(error) => Standing::Changed(error.to_string()),
        }
    }
}

fn broken(path: &Path, found: &str) -> UserError {
    UserError::usage(format!(
        "{} is not a list of trusted repositories: {found}",
        path.display()
    ))
    .hint("repair it, or delete it and trust the repositories again: codex-ds trust PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry {
            path: path.into(),
            sha256: "00".into(),
        }
    }

    #[test]
    fn is_stored_in_order_for_its_owner_alone() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut list = TrustList::load(home.path()).expect("an empty list");
        list.add(entry("/b"));
        list.add(entry("/a"));
        list.add(Entry {
            sha256: "11".into(),
            ..entry("/b")
        });
        list.save(home.path()).expect("saved");
        let file = home.path().join(NAME);
        insta::assert_snapshot!(std::fs::read_to_string(&file).expect("the file"), @r#"
        {
          "schema_version": 1,
          "trusted": [
            {
              "path": "/a",
              "sha256": "00"
            },
            {
              "path": "/b",
              "sha256": "11"
            }
          ]
        }
        "#);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                file.metadata().expect("the file").permissions().mode() & 0o777,
                0o600
            );
        }
        assert_eq!(TrustList::load(home.path()).expect("the list"), list);
        assert_eq!(list.remove(|path| path == Path::new("/a")), [entry("/a")]);
        assert_eq!(list.entries().len(), 1);
    }

    #[test]
    fn a_broken_list_trusts_nothing_and_says_so() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"schema_version":2,"trusted":[]}"#,
            r#"{"schema_version":1}"#,
        ] {
            let home = tempfile::tempdir().expect("a temporary folder");
            fs_err::write(home.path().join(NAME), text).expect("a file");
            assert!(TrustList::load(home.path()).is_err(), "{text}");
            let (list, complaint) = TrustList::load_or_empty(home.path());
            assert_eq!(list, TrustList::default());
            assert!(
                complaint
                    .is_some_and(|c| c.contains(NAME) && c.contains("no repository is trusted"))
            );
        }
    }

    #[test]
    fn trust_ends_when_the_content_changes_and_comes_back_with_it() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = root.path().canonicalize().expect("a path");
        let config = root.join(".codex/config.toml");
        std::fs::create_dir(root.join(".codex")).expect("a folder");
        fs_err::write(&config, "a = 1\n").expect("a file");
        let mut list = TrustList::default();
        assert_eq!(list.standing(&root), Standing::Unknown);
        let sha256 = Snapshot::read(&root)
            .expect("a snapshot")
            .digest()
            .to_owned();
        list.add(Entry {
            path: root.clone(),
            sha256,
        });
        assert_eq!(list.standing(&root), Standing::Trusted);
        assert_eq!(list.standing(&root.join("sub")), Standing::Unknown);
        fs_err::write(&config, "a = 2\n").expect("a file");
        assert_eq!(
            list.standing(&root),
            Standing::Changed("its content changed".into())
        );
        fs_err::write(&config, "a = 1\n").expect("a file");
        assert_eq!(list.standing(&root), Standing::Trusted);
        std::fs::remove_dir_all(root.join(".codex")).expect("the folder");
        assert!(matches!(list.standing(&root), Standing::Changed(_)));
    }
}
