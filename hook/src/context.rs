//! What the guard knows of the place a command runs in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Files that the analysis may look at. Behind a trait, so that the analysis does no I/O of its
/// own and tests need no disk.
pub trait Files {
    /// The beginning of a regular file as text, at most `limit` bytes; `None` if there is no such
    /// file or it is not text.
    fn read(&self, path: &Path, limit: u64) -> Option<String>;

    /// Whether anything is at this path.
    fn exists(&self, path: &Path) -> bool;

    /// What is at this path, of which only the last part may be a link.
    fn at(&self, path: &Path) -> There {
        if self.exists(path) {
            There::Something
        } else {
            There::Nothing
        }
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum There {
    /// Nothing.
    Nothing,
    /// Something that is no link.
    Something,
    /// A symbolic link to this.
    Link(PathBuf),
}

/// No file exists.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &Path, _limit: u64) -> Option<String> {
        None
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path, limit: u64) -> Option<String> {
        use std::io::Read as _;
        // Opening a pipe or a device could block.
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut text = String::new();
        std::fs::File::open(path)
            .ok()?
            .take(limit)
            .read_to_string(&mut text)
            .ok()?;
        Some(text)
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn at(&self, path: &Path) -> There {
        match std::fs::read_link(path) {
            Ok(target) => There::Link(target),
            Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => There::Something,
            Err(_) => There::Nothing,
        }
    }
}

/// Files by their paths, for tests and for `guard check`.
impl Files for BTreeMap<PathBuf, String> {
    fn read(&self, path: &Path, _limit: u64) -> Option<String> {
        self.get(path).cloned()
    }

    fn exists(&self, path: &Path) -> bool {
        self.contains_key(path)
    }
}

/// The place a command runs in.
pub struct Context<'a> {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The root of the work tree that the working directory is in; without one, the working
    /// directory itself counts.
    pub workspace: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The user's name.
    pub user: String,
    /// The Codex home that the guard protects.
    pub codex_home: PathBuf,
    /// The files that may be looked at.
    pub files: &'a dyn Files,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("cwd", &self.cwd)
            .field("workspace", &self.workspace)
            .field("home", &self.home)
            .field("codex_home", &self.codex_home)
            .finish_non_exhaustive()
    }
}

/// The nearest folder upwards that holds a `.git`, or the folder itself.
#[must_use]
pub fn find_workspace(cwd: &Path) -> PathBuf {
    cwd.ancestors()
        .find(|folder| folder.join(".git").exists())
        .unwrap_or(cwd)
        .to_path_buf()
}
