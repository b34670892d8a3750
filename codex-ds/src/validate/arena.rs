//! The throw-away world of one run of a case: a git workspace, a home, a folder beside them, programs
//! that only record that they were called, and web pages on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::process::Command;

use super::case::Case;
use super::page::Pages;
use super::values::{Folder, Place, Relative};
use crate::error::UserError;
use crate::process;

/// How long git may take for a handful of files.
const GIT: Duration = Duration::from_secs(30);

/// See the module. Removed when dropped.
pub(super) struct Arena {
    root: tempfile::TempDir,
    canary: String,
    pages: Option<Pages>,
}

impl Arena {
    /// Builds the world of `case` in `parent`; `label` becomes a part of its name.
    ///
    /// # Errors
    /// When a file cannot be written, or git is missing.
    pub(super) async fn build(parent: &Path, label: &str, case: &Case) -> Result<Self> {
        fs_err::create_dir_all(parent)?;
        let root = tempfile::Builder::new()
            .prefix(&format!("validate-{label}-"))
            .tempdir_in(parent)
            .with_context(|| format!("cannot make a folder in {}", parent.display()))?;
        // Nobody can guess it, and no rule takes it for a secret and masks it.
        let canary = format!("heron-{}", suffix(root.path(), label));
        let mut arena = Self {
            root,
            canary,
            pages: None,
        };
        for folder in ["work", "home", "outside", "tmp", "bin", EVIDENCE] {
            fs_err::create_dir(arena.root().join(folder))?;
        }
        if !case.pages.is_empty() {
            let pages = case.pages.iter();
            let pages = pages.map(|(path, text)| (path.clone(), arena.fill(text)));
            arena.pages = Some(Pages::serve(pages.collect())?);
        }
        arena.write(Folder::Work, &case.files)?;
        arena.commit().await?;
        arena.write(Folder::Work, &case.untracked)?;
        arena.write(Folder::Home, &case.home)?;
        arena.write(Folder::Outside, &case.outside)?;
        for program in &case.shims {
            arena.shim(&program.0)?;
        }
        Ok(arena)
    }

    /// The folder that holds the others.
    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The workspace.
    pub(super) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Where what is seen is written down.
    pub(super) fn evidence(&self) -> PathBuf {
        self.root().join(EVIDENCE)
    }

    /// The file that a place of a case is.
    pub(super) fn path(&self, place: &Place) -> PathBuf {
        self.folder(place.folder).join(&place.path.0)
    }

    fn folder(&self, folder: Folder) -> PathBuf {
        self.root().join(match folder {
            Folder::Work => "work",
            Folder::Home => "home",
            Folder::Outside => "outside",
        })
    }

    /// `text` with the placeholders of a case replaced.
    pub(super) fn fill(&self, text: &str) -> String {
        let folder = |folder| self.folder(folder).to_string_lossy().into_owned();
        let page = self.pages.as_ref().map(Pages::url).unwrap_or_default();
        text.replace("{work}", &folder(Folder::Work))
            .replace("{home}", &folder(Folder::Home))
            .replace("{outside}", &folder(Folder::Outside))
            .replace("{page}", &page)
            .replace("{canary}", &self.canary)
    }

    /// The pages that were asked for.
    pub(super) fn visited(&self) -> Vec<String> {
        self.pages.as_ref().map(Pages::visited).unwrap_or_default()
    }

    /// The calls of the shims, a line each.
    pub(super) fn shim_calls(&self) -> Vec<String> {
        // Without a call there is no file.
        let text = std::fs::read(self.shim_log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }

    /// The content of a place, where it is a file.
    pub(super) fn read(&self, place: &Place) -> Option<Vec<u8>> {
        let path = self.path(place);
        // A pipe that a model left there would be waited for.
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|data| data.is_file());
        is_file.then(|| std::fs::read(path).ok()).flatten()
    }

    /// What a case put into a place at the start.
    pub(super) fn original(&self, case: &Case, place: &Place) -> Option<String> {
        let files = match place.folder {
            Folder::Work => case.files.iter().chain(&case.untracked),
            Folder::Home => case.home.iter().chain(&[]),
            Folder::Outside => case.outside.iter().chain(&[]),
        };
        let mut files = files.filter(|(path, _)| *path == place.path);
        files.next_back().map(|(_, text)| self.fill(text))
    }

    /// Puts a file of the case back.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(super) fn replace(&self, place: &Place, text: &str) -> Result<()> {
        let path = self.path(place);
        let folder = path.parent().context("a file's path has a folder")?;
        fs_err::create_dir_all(folder)?;
        // Never through a link that was left in its place, or in that of a folder.
        if !folder
            .canonicalize()?
            .starts_with(self.root().canonicalize()?)
        {
            return Ok(());
        }
        if path.is_symlink() {
            fs_err::remove_file(&path)?;
        }
        fs_err::write(&path, text).context("cannot put a file of the case back")
    }

    /// Turns a program to this world: nothing of it reaches the user's home.
    pub(super) fn dress(&self, command: &mut Command, path: Option<&std::ffi::OsStr>) {
        let mut folders = vec![self.root().join("bin")];
        folders.extend(path.map(std::env::split_paths).into_iter().flatten());
        command
            .current_dir(self.work())
            .env("HOME", self.folder(Folder::Home))
            .env("TMPDIR", self.root().join("tmp"))
            .env_remove("OPENAI_API_KEY");
        // A folder with a colon in its name cannot be put in front; then the shims are not found.
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, with_loopback(std::env::var_os(name)));
        }
    }

    /// What changed in the workspace since the start, as git tells it.
    pub(super) async fn diff(&self) -> String {
        let mut command = self.git(&["add", "--intent-to-add", "--all"]);
        // Only for the reader of a failed case: what git cannot tell is left out.
        let _ = process::run(&mut command, GIT).await;
        match process::run(&mut self.git(&["diff"]), GIT).await {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(_) => String::new(),
        }
    }

    fn write(&self, folder: Folder, files: &[(Relative, String)]) -> Result<()> {
        for (path, text) in files {
            let file = self.folder(folder).join(&path.0);
            if let Some(parent) = file.parent() {
                fs_err::create_dir_all(parent)?;
            }
            fs_err::write(file, self.fill(text))?;
        }
        Ok(())
    }

    async fn commit(&self) -> Result<()> {
        let steps: [&[&str]; 3] = [
            &["init", "--quiet"],
            &["add", "--all"],
            &["commit", "--quiet", "--allow-empty", "--message=The start"],
        ];
        for step in steps {
            let output = process::run(&mut self.git(step), GIT)
                .await
                .map_err(|error| {
                    UserError::not_ready("a case needs a git repository, and git cannot be run")
                        .because(error)
                        .hint("install git")
                })?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(UserError::new(format!("git {} failed", step[0]))
                    .because(said)
                    .into());
            }
        }
        Ok(())
    }

    fn git(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args([
                "-c",
                "user.name=validate",
                "-c",
                "user.email=validate@localhost",
            ])
            .args([
                "-c",
                "commit.gpgSign=false",
                "-c",
                "core.hooksPath=/dev/null",
            ])
            .args(args)
            .current_dir(self.work())
            .env("HOME", self.folder(Folder::Home))
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE");
        command
    }

    fn shim_log(&self) -> PathBuf {
        // Codex's sandbox lets a command write there.
        self.root().join("tmp/calls.log")
    }

    fn shim(&self, name: &str) -> Result<()> {
        let log = self.shim_log();
        let script = format!(
            "#!/bin/sh\n# Stands in for {name}: writes down that it was called, and does nothing.\n\
             printf '%s\\n' \"$(printf '%s ' {name} \"$@\" | tr '\\n' ' ')\" >> {}\n",
            shell_words::quote(&log.to_string_lossy())
        );
        let path = self.root().join("bin").join(name);
        crate::file::write_atomic(&path, script.as_bytes(), crate::file::Mode::Program)
    }
}

const EVIDENCE: &str = "evidence";

/// The random part of the folder's name.
fn suffix(root: &Path, label: &str) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let at = "validate-".len() + label.len() + 1;
    name.get(at..).unwrap_or(&name).to_lowercase()
}

/// The hosts without a proxy, and this machine: the recorder in front of the model is on it.
fn with_loopback(hosts: Option<OsString>) -> OsString {
    let mut all = OsString::from("127.0.0.1,localhost");
    if let Some(hosts) = hosts.filter(|hosts| !hosts.is_empty()) {
        all.push(",");
        all.push(hosts);
    }
    all
}
