//! The real programs: what `make peers` fetched, and what `cargo build` built.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::SystemTime;

/// The same file that the fetching script reads.
const VERSIONS: &str = include_str!("../peers/versions");

/// A version of Codex that is tested against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodexVersion(&'static str);

impl CodexVersion {
    /// Every version, the oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        versions("codex").map(Self)
    }

    /// The folder that holds its `codex`.
    ///
    /// # Panics
    /// When it was not fetched.
    #[must_use]
    pub fn bin_dir(self) -> PathBuf {
        let folder = cache().join("codex").join(self.0).join("node_modules/.bin");
        fetched(&folder.join("codex"));
        folder
    }
}

impl fmt::Display for CodexVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The `litellm` program.
///
/// # Panics
/// When it was not fetched.
#[must_use]
pub fn litellm() -> PathBuf {
    let folder = cache().join("litellm");
    for version in versions("litellm") {
        fetched(&folder.join(format!(".installed-{version}")));
    }
    folder.join("bin/litellm")
}

/// The folder that `make peers-vllm` filled: a venv, and `model/`.
///
/// # Panics
/// When it was not fetched.
#[must_use]
pub fn vllm() -> PathBuf {
    let folder = cache().join("vllm");
    assert!(
        folder.join(".installed").exists(),
        "{} is missing or half done: run `make peers-vllm`",
        folder.display()
    );
    folder
}

/// The folder with `kube-apiserver` and `etcd`: that of `KUBEBUILDER_ASSETS`, or the one that
/// `make test-apiserver` filled.
///
/// # Panics
/// When they are not there.
#[must_use]
pub fn apiserver() -> PathBuf {
    let folder = std::env::var_os("KUBEBUILDER_ASSETS")
        .map_or_else(|| cache().join("apiserver"), PathBuf::from);
    for program in ["kube-apiserver", "etcd"] {
        assert!(
            folder.join(program).exists(),
            "{} has no {program}: run `make test-apiserver`",
            folder.display()
        );
    }
    folder
}

/// The folders of the `node` that runs the npm package of Codex, and of the `python3` that sets up
/// the MCP servers: those of whoever runs the tests.
pub(crate) fn interpreters() -> &'static [PathBuf] {
    static FOLDERS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        [
            ("node", "-p", "process.execPath"),
            ("python3", "-c", "import sys; print(sys._base_executable)"),
        ]
        .map(|(program, option, code)| {
            // A version manager's shim says where the real one is.
            let output = Command::new(program)
                .args([option, code])
                .output()
                .unwrap_or_else(|error| panic!("{program}: {error}"));
            let path = String::from_utf8_lossy(&output.stdout);
            let path = Path::new(path.trim_end());
            path.parent()
                .unwrap_or_else(|| panic!("{program} does not say where it is: {output:?}"))
                .to_owned()
        })
        .into()
    });
    &FOLDERS
}

/// The `codex-ds` to test; its guard lies beside it. It is the one that `cargo build` left, or
/// that in the folder `CODEX_DS_PROGRAMS`, such as `target/release` or `~/.cargo/bin`.
///
/// # Panics
/// When it is not there, or older than a file that it is made from.
#[must_use]
pub fn codex_ds() -> &'static Path {
    // Once for all tests of a program: who edits while they run does not want to wait for the end.
    static PROGRAM: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let folder = std::env::var_os("CODEX_DS_PROGRAMS").filter(|folder| !folder.is_empty());
        folder.map_or_else(
            || built("codex-ds"),
            |folder| Ok(Path::new(&folder).join("codex-ds")),
        )
    });
    PROGRAM.as_ref().unwrap_or_else(|error| {
        panic!("{error}: run `cargo build`, or `make test` for everything");
    })
}

fn built(name: &str) -> Result<PathBuf, String> {
    let test = std::env::current_exe().expect("a running test has a file");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("tests lie in deps/ of their profile's folder");
    let program = profile.join(name);
    if !program.is_file() {
        return Err(format!("{} is not built", program.display()));
    }
    let since = modified(&program);
    // Cargo lists there what the program was made from.
    let sources = fs_err::read_to_string(program.with_extension("d")).unwrap_or_default();
    let newer = sources
        .split_whitespace()
        .skip(1)
        .map(Path::new)
        .find(|source| source.is_file() && modified(source) > since);
    match newer {
        Some(source) => Err(format!(
            "{} is older than {}",
            program.display(),
            source.display()
        )),
        None => Ok(program),
    }
}

fn modified(file: &Path) -> SystemTime {
    fs_err::metadata(file)
        .and_then(|metadata| metadata.modified())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn versions(name: &'static str) -> impl Iterator<Item = &'static str> {
    VERSIONS
        .lines()
        .filter_map(move |line| line.strip_prefix(name)?.strip_prefix(' '))
}

fn fetched(file: &Path) {
    assert!(
        file.exists(),
        "{} is missing: run `make peers`",
        file.display()
    );
}

/// Where pip keeps what it downloads for the tests, so that the next run has it.
#[must_use]
pub fn pip_cache() -> PathBuf {
    cache().join("pip")
}

/// Where `make peers` and the demo put what they fetch.
///
/// # Panics
/// When there is no `HOME`.
#[must_use]
pub fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("CODEX_DS_CACHE").map_or_else(
        || {
            set("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))
                .expect("HOME is set")
                .join("codex-ds")
        },
        PathBuf::from,
    )
}
