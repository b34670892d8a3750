//! The real programs: what `make peers` fetched, and what `cargo build` built.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use crate::environment::TestEnvironment;

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

/// Runs a test with each version of Codex, each time in a new environment.
///
/// # Panics
/// When the test does, or a Codex was not fetched.
pub fn each_codex(mut test: impl FnMut(CodexVersion, &mut TestEnvironment)) {
    for version in CodexVersion::all() {
        announce(version);
        test(version, &mut TestEnvironment::with_codex(version));
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the test runner shows it when the test fails"
)]
fn announce(version: CodexVersion) {
    println!("with Codex {version}");
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

/// The folder of the `node` that runs the npm package of Codex.
pub(crate) fn node_dir() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|folder| folder.join("node").is_file())
}

/// The `codex-ds` that `cargo build` left; its guard lies beside it.
///
/// # Panics
/// When it is not there, or older than a file that it is made from.
#[must_use]
pub fn codex_ds() -> &'static Path {
    // Once for all tests of a program: who edits while they run does not want to wait for the end.
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| built("codex-ds"));
    &PROGRAM
}

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a file");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("tests lie in deps/ of their profile's folder");
    let program = profile.join(name);
    assert!(
        program.is_file(),
        "{} is not built: run `cargo build`, or `make test` for everything",
        program.display()
    );
    let since = modified(&program);
    // Cargo lists there what the program was made from.
    let sources = fs_err::read_to_string(program.with_extension("d")).unwrap_or_default();
    for source in sources.split_whitespace().skip(1).map(Path::new) {
        assert!(
            !source.is_file() || modified(source) <= since,
            "{} is older than {}: run `cargo build`, or `make test` for everything",
            program.display(),
            source.display()
        );
    }
    program
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

/// Where `make peers` puts what it fetches.
fn cache() -> PathBuf {
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
