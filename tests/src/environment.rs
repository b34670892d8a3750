//! A test's own world: folders, and programs run in a cleared environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::group::Group;
use crate::peers::{self, CodexVersion};
use crate::run::Run;

/// How long a program may take before its test fails. Nothing here takes a tenth of it on an idle
/// machine; it only keeps a program that hangs from holding up the others.
const PATIENCE: Duration = Duration::from_secs(180);

/// Where system programs are, for tests that must not find a Codex.
const SYSTEM_PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Folders of one test, removed with it, and the environment that its programs get.
///
/// The folders lie under `/var/tmp`, not under the temporary folder: Codex keeps its helper
/// programs out of a `CODEX_HOME` under `TMPDIR`, and its sandbox leaves `/tmp` writable. They do
/// not lie in the build folder either, where Codex would find this project's repository.
#[derive(Debug)]
pub struct TestEnvironment {
    root: TempDir,
    path: OsString,
    variables: Vec<(String, OsString)>,
}

impl TestEnvironment {
    /// An environment without a Codex.
    ///
    /// # Panics
    /// When its folders cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("codex-ds-")
            .tempdir_in("/var/tmp")
            .expect("/var/tmp can be written");
        let environment = Self {
            root,
            path: SYSTEM_PATH.into(),
            variables: Vec::new(),
        };
        for folder in [environment.home(), environment.tmp(), environment.work()] {
            fs_err::create_dir(folder).expect("the new root is empty");
        }
        environment
    }

    /// An environment whose `codex` is of this version.
    ///
    /// # Panics
    /// When that Codex was not fetched, or the folders cannot be made.
    #[must_use]
    pub fn with_codex(version: CodexVersion) -> Self {
        let mut environment = Self::new();
        environment.use_codex(version);
        environment
    }

    /// Puts another version of Codex in the place of the one that was on PATH.
    ///
    /// # Panics
    /// When that Codex was not fetched.
    pub fn use_codex(&mut self, version: CodexVersion) {
        let mut folders = vec![version.bin_dir()];
        folders.extend_from_slice(peers::interpreters());
        folders.extend(std::env::split_paths(SYSTEM_PATH));
        self.path = std::env::join_paths(folders).expect("no folder of PATH holds a colon");
    }

    /// The folder that holds all others, without symbolic links.
    ///
    /// # Panics
    /// When it is gone.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.root
            .path()
            .canonicalize()
            .expect("the root exists as long as the environment")
    }

    /// The user's home folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The profile, at its default place.
    #[must_use]
    pub fn profile(&self) -> PathBuf {
        self.home().join(".codex-ds")
    }

    /// The temporary folder that the programs see.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// The folder that programs are started in.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// What a run is shown with in place of this environment's folders. The longest stands first:
    /// each is in the next one.
    fn names(&self) -> Vec<(String, &'static str)> {
        [
            (self.profile(), "[PROFILE]"),
            (self.home(), "[HOME]"),
            (self.work(), "[WORK]"),
            (self.tmp(), "[TMP]"),
            (self.root(), "[ROOT]"),
        ]
        .map(|(path, name)| (path.to_string_lossy().into_owned(), name))
        .into()
    }

    /// Sets a variable for every program that is started from here on.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// Writes a file below the root, and the folders above it.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.root().join(path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).expect("a folder below the root can be made");
        }
        fs_err::write(&path, text).expect("a file below the root can be written");
        path
    }

    /// `codex-ds` with these arguments.
    #[must_use]
    pub fn codex_ds<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Invocation<'_> {
        self.program(peers::codex_ds(), args)
    }

    /// Plain `codex` on the profile, as without `codex-ds`.
    #[must_use]
    pub fn codex<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Invocation<'_> {
        self.program("codex", args)
            .env("CODEX_HOME", self.profile())
    }

    /// Any program, started in [`TestEnvironment::work`] with the environment's variables alone and
    /// nothing on standard input.
    #[must_use]
    pub fn program<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: I,
    ) -> Invocation<'_> {
        // Looked up here, since the command is given another PATH than ours.
        let program = find(program.as_ref(), &self.path);
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .env("HOME", self.home())
            .env("TMPDIR", self.tmp())
            .env("PATH", &self.path)
            .env("SHELL", "/bin/bash")
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        Invocation {
            environment: self,
            command,
        }
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

impl Default for TestEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

/// The file that `program` names in the folders of `path`; `program` itself where there is none.
fn find(program: &OsStr, path: &OsStr) -> PathBuf {
    if Path::new(program).components().count() > 1 {
        return program.into();
    }
    std::env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .unwrap_or_else(|| program.into())
}

/// A program about to be started.
#[derive(Debug)]
pub struct Invocation<'e> {
    environment: &'e TestEnvironment,
    command: Command,
}

impl Invocation<'_> {
    /// Sets a variable for this program alone.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Starts it in another folder.
    #[must_use]
    pub fn in_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// The command, for a program that is to stay.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it cannot be started, or does not end in three minutes.
    #[expect(clippy::must_use_candidate, reason = "called for its effect")]
    pub fn run(mut self) -> Run {
        let line = format!("{:?}", self.command);
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let group =
            Group::spawn(&mut self.command).unwrap_or_else(|error| panic!("{line}: {error}"));
        let output = group
            .output_within(PATIENCE)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        Run::new(&output, self.environment.names())
    }
}
