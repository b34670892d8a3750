//! Which folders count for a working folder, found without starting a process.

use std::path::{Path, PathBuf};

/// The folder that a repository keeps its Codex configuration in.
pub(crate) const DOT_CODEX: &str = ".codex";

/// The folders from the project's root down to `folder`: Codex reads `.codex` and AGENTS.md in each.
/// The root is the nearest folder with a `.git` of any kind; without one it is `folder` itself.
/// `GIT_DIR` and `GIT_WORK_TREE` do not count: Codex does not read them.
pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    let depth = folder
        .ancestors()
        .position(|ancestor| ancestor.join(".git").symlink_metadata().is_ok())
        .unwrap_or(0);
    let mut folders: Vec<PathBuf> = folder
        .ancestors()
        .take(depth + 1)
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}

/// Of [`folders`], those that have a `.codex` with something in it: Codex's layers, the root's first.
/// An empty one is left behind by Codex's own sandbox, which mounts over it.
pub(crate) fn layers(folder: &Path) -> Vec<PathBuf> {
    folders(folder)
        .into_iter()
        .filter(|folder| match folder.join(DOT_CODEX).read_dir() {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in [
            "r/.git",
            "r/a/.codex/rules",
            "r/a/b",
            "r/.codex/rules",
            "r/a/inner/.codex",
        ] {
            std::fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        fs_err::write(root.path().join("r/a/inner/.git"), "gitdir: elsewhere\n").expect("a file");
        root
    }

    #[test]
    fn goes_up_to_the_nearest_git_of_any_kind() {
        let tree = tree();
        let at = |path: &str| tree.path().join(path);
        assert_eq!(folders(&at("r/a/b")), [at("r"), at("r/a"), at("r/a/b")]);
        assert_eq!(folders(&at("r")), [at("r")]);
        assert_eq!(folders(&at("r/a/inner")), [at("r/a/inner")]);
        // A temporary folder may lie in a repository; this one lies nowhere.
        let nowhere = Path::new("/no/such/folder");
        assert_eq!(folders(nowhere), [nowhere]);
    }

    #[test]
    fn a_layer_is_a_folder_with_dot_codex() {
        let tree = tree();
        let at = |path: &str| tree.path().join(path);
        assert_eq!(layers(&at("r/a/b")), [at("r"), at("r/a")]);
        assert_eq!(layers(&at("r/a/inner")), Vec::<PathBuf>::new());
    }
}
