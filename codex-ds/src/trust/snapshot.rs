//! A `.codex` folder as it is at one moment: what is shown, and what the digest covers.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::file;
use crate::project::DOT_CODEX;

/// The most files that a `.codex` may have to be trusted: the digest is made at every launch.
const FILES: usize = 256;
/// The most bytes of all its files.
const BYTES: u64 = 1024 * 1024;
/// The deepest folder in it.
const DEPTH: usize = 8;

/// Why a `.codex` cannot be trusted.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its content can change without it.
    #[error("{0} is neither a plain file nor a folder")]
    NotPlain(PathBuf),
    /// There is more than is read at every launch.
    #[error("it has more than {FILES} files, {BYTES} bytes or {DEPTH} levels of folders")]
    TooLarge,
}

/// One file of a `.codex`.
#[derive(Debug, PartialEq, Eq)]
pub struct FileIn {
    /// Its path in the `.codex`.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it can be executed.
    pub executable: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Snapshot {
    files: Vec<FileIn>,
    digest: String,
}

impl Snapshot {
    /// Reads the `.codex` in `folder`.
    ///
    /// # Errors
    /// When it is not there, cannot be read, is too large, or has a symbolic link or another thing in
    /// it that is no plain file.
    pub fn read(folder: &Path) -> Result<Self, SnapshotError> {
        let root = folder.join(DOT_CODEX);
        let mut reader = Reader {
            root: &root,
            files: Vec::new(),
            left: BYTES,
        };
        let metadata = metadata(&root)?;
        if !metadata.is_dir() {
            return Err(SnapshotError::NotPlain(root));
        }
        reader.folder(&root, DEPTH)?;
        let mut files = reader.files;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let digest = digest(&files);
        Ok(Self { files, digest })
    }

    /// The files, by path.
    #[must_use]
    pub fn files(&self) -> &[FileIn] {
        &self.files
    }

    /// The SHA-256 over names, modes and contents, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn digest(files: &[FileIn]) -> String {
    let mut all = Vec::new();
    for file in files {
        // Each part's length goes first, so that no two lists of files give the same bytes.
        for part in [
            file.path.as_os_str().as_encoded_bytes(),
            &[u8::from(file.executable)],
            &file.bytes,
        ] {
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part);
        }
    }
    file::sha256(&all)
}

struct Reader<'a> {
    root: &'a Path,
    files: Vec<FileIn>,
    left: u64,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), SnapshotError> {
        let unreadable = |source| SnapshotError::Unreadable {
            path: folder.to_path_buf(),
            source,
        };
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let metadata = metadata(&path)?;
            if metadata.is_dir() && depth > 0 {
                self.folder(&path, depth - 1)?;
            } else if metadata.is_file() && self.files.len() < FILES {
                self.file(&path, &metadata)?;
            } else if metadata.is_dir() || metadata.is_file() {
                return Err(SnapshotError::TooLarge);
            } else {
                return Err(SnapshotError::NotPlain(path));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, metadata: &Metadata) -> Result<(), SnapshotError> {
        let unreadable = |source| SnapshotError::Unreadable {
            path: path.to_path_buf(),
            source,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(self.left + 1).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or(SnapshotError::TooLarge)?;
        self.files.push(FileIn {
            path: path.strip_prefix(self.root).unwrap_or(path).to_path_buf(),
            bytes,
            executable: executable(metadata),
        });
        Ok(())
    }
}

/// Of the thing itself, not of what a symbolic link names.
fn metadata(path: &Path) -> Result<Metadata, SnapshotError> {
    path.symlink_metadata()
        .map_err(|source| SnapshotError::Unreadable {
            path: path.to_path_buf(),
            source,
        })
}

#[cfg(unix)]
fn executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn executable(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (name, content) in files {
            let path = root.path().join(DOT_CODEX).join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs_err::write(path, content).expect("a file");
        }
        root
    }

    fn digest_of(files: &[(&str, &str)]) -> String {
        Snapshot::read(tree(files).path())
            .expect("a snapshot")
            .digest()
            .to_owned()
    }

    #[test]
    fn every_name_and_byte_counts() {
        let one = digest_of(&[("config.toml", "ab"), ("rules/x.rules", "c")]);
        assert_eq!(
            one,
            digest_of(&[("rules/x.rules", "c"), ("config.toml", "ab")])
        );
        for other in [
            vec![("config.toml", "ab")],
            vec![("config.toml", "a"), ("rules/x.rules", "bc")],
            vec![("config.tomla", "b"), ("rules/x.rules", "c")],
            vec![("config.toml", "ab"), ("rules/y.rules", "c")],
            vec![("config.toml", "ab"), ("rules/x.rules", "c"), ("empty", "")],
        ] {
            assert_ne!(one, digest_of(&other), "{other:?}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let many: Vec<String> = (0..=FILES).map(|n| format!("f{n}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
        let long = "x".repeat(usize::try_from(BYTES).expect("fits") + 1);
        let deep = format!("{}/f", ["d"; DEPTH + 1].join("/"));
        for files in [many, vec![("long", &*long)], vec![(&*deep, "")]] {
            let read = Snapshot::read(tree(&files).path());
            assert!(matches!(read, Err(SnapshotError::TooLarge)), "{read:?}");
        }
        let deep = format!("{}/f", ["d"; DEPTH].join("/"));
        assert!(Snapshot::read(tree(&[(&deep, "")]).path()).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_wherever_it_is() {
        let root = tree(&[("config.toml", "")]);
        std::os::unix::fs::symlink("/etc/hostname", root.path().join(".codex/x")).expect("a link");
        assert!(matches!(
            Snapshot::read(root.path()),
            Err(SnapshotError::NotPlain(_))
        ));
        let other = tempfile::tempdir().expect("a temporary folder");
        std::os::unix::fs::symlink(tree(&[("f", "")]).keep(), other.path().join(DOT_CODEX))
            .expect("a link");
        assert!(matches!(
            Snapshot::read(other.path()),
            Err(SnapshotError::NotPlain(_))
        ));
    }
}
