//! Runs the real Codex in an arena, through the same launch plan as `codex-ds exec`, with a recorder
//! between it and the model.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use codex_ds_wire::standin::{Config, Model, Script, StandIn, Turn as Said};
use reqwest::Url;
use serde_json::json;
use tokio::process::Command;

use super::arena::Arena;
use super::case::Case;
use crate::dump::profile::Profile;
use crate::dump::store::Session;
use crate::dump::tap::Tap;
use crate::dump::upstream::Upstream;
use crate::error::UserError;
use crate::home;
use crate::launch::{self, Launch};
use crate::process::{self, Ended};
use crate::trust::TrustList;

/// How long Codex may take to delete a session.
const DELETE: Duration = Duration::from_secs(30);

/// How often the file is looked for that an interruption waits for.
const LOOK: Duration = Duration::from_millis(50);

/// The profile's folder and what a run needs of this machine.
pub(crate) struct Setting {
    /// The profile's folder, its real path.
    pub(crate) home: PathBuf,
    /// Where arenas are made.
    pub(crate) ground: PathBuf,
    /// Its providers and keys.
    pub(crate) profile: Profile,
    trusted: TrustList,
    user_home: Option<PathBuf>,
    path: Option<OsString>,
    ourselves: Option<PathBuf>,
}

impl Setting {
    /// The setting of the profile in `home`.
    ///
    /// # Errors
    /// When there is no profile, or it names no endpoint.
    pub(crate) fn new(home: &Path, ground: &Path) -> Result<Self> {
        let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
        let profile = crate::dump::profile::read(&home)?;
        if profile.base_url.is_none() {
            return Err(
                UserError::not_ready(format!("there is no profile in {}", home.display()))
                    .hint("make one: codex-ds setup --endpoint URL")
                    .hint("or name its folder with --home")
                    .into(),
            );
        }
        let (trusted, _) = TrustList::load_or_empty(&home);
        Ok(Self {
            ground: ground.to_path_buf(),
            profile,
            trusted,
            user_home: home::user_home().ok(),
            path: std::env::var_os("PATH"),
            ourselves: std::env::current_exe().ok(),
            home,
        })
    }

    /// The Codex that is launched, once every profile can be.
    ///
    /// # Errors
    /// When there is no Codex, no such profile, or the guard is not live.
    pub(super) fn program(&self, profiles: &[String]) -> Result<PathBuf> {
        fs_err::create_dir_all(&self.ground)?;
        let mut program = PathBuf::new();
        for profile in profiles {
            let args = profile_args(profile).chain(["exec".into(), "hi".into()]);
            let args: Vec<OsString> = args.collect();
            program = self.launch(&self.ground, &args, &[])?.program;
        }
        Ok(program)
    }

    /// Codex with these arguments in an arena, launched as `codex-ds` launches it.
    ///
    /// # Errors
    /// When there is no Codex or the guard is not live.
    pub(super) fn codex(
        &self,
        arena: &Arena,
        args: &[OsString],
        overrides: &[OsString],
    ) -> Result<Command> {
        let launch = self.launch(&arena.work(), args, overrides)?;
        let mut command = Command::from(launch.command());
        arena.dress(&mut command, self.path.as_deref());
        Ok(command)
    }

    fn launch(&self, cwd: &Path, args: &[OsString], overrides: &[OsString]) -> Result<Launch> {
        launch::plan_with(
            &launch::Inputs {
                args,
                cwd,
                home: &self.home,
                trusted: &self.trusted,
                user_home: self.user_home.as_deref(),
                path: self.path.as_deref(),
                ourselves: self.ourselves.as_deref(),
            },
            overrides,
        )
    }
}

/// Which model answers.
pub(super) enum Answers {
    /// The profile's own.
    Endpoint,
    /// The built-in one, which calls the shell with this command and then says that it is done.
    Played(String),
}

/// A recorder, and what is behind it.
pub(super) struct Line {
    tap: Tap,
    overrides: Vec<OsString>,
    // Ends with the line.
    _standin: Option<StandIn>,
}

impl Line {
    /// Opens a line to the model.
    ///
    /// # Errors
    /// When the system gives no port, or the record cannot be written.
    pub(super) async fn open(setting: &Setting, arena: &Arena, answers: Answers) -> Result<Self> {
        let profile = &setting.profile;
        let (upstream, standin) = match answers {
            Answers::Endpoint => {
                let base = profile.base_url.as_ref().context("a setting has one")?;
                (Upstream::new(base, profile.native_url.as_ref())?, None)
            }
            Answers::Played(command) => {
                let standin = play(setting, &command)?;
                let url = Url::parse(&standin.base_url()).context("a stand-in has an address")?;
                (Upstream::new(&url, Some(&url))?, Some(standin))
            }
        };
        let tap = Tap::start(&arena.evidence().join("dump"), upstream, &profile.keys).await?;
        let mut overrides = tap.overrides(profile);
        // A server that is down should end the case, not the user's patience.
        overrides.extend(set("features.unbounded_connection_retries=false"));
        Ok(Self {
            tap,
            overrides,
            _standin: standin,
        })
    }

    /// What passed.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(super) async fn close(self) -> Result<Session> {
        self.tap.finish().await
    }
}

/// A model that does one thing. It answers to whatever name the profile asks for.
fn play(setting: &Setting, command: &str) -> Result<StandIn> {
    let turns = vec![
        Said::call("exec_command", json!({ "cmd": command })),
        Said::text("I ran it."),
    ];
    let models = model_names(&setting.home);
    let config = Config {
        models: models.iter().map(|id| Model::new(id, 262_144)).collect(),
        ..Config::default()
    };
    StandIn::start(config, Script::new(turns)).context("cannot start the built-in model")
}

/// The models that the profile's files name.
fn model_names(home: &Path) -> Vec<String> {
    let files = std::fs::read_dir(home).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .filter(|entry| entry.file_name().to_string_lossy().ends_with("config.toml"))
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .filter_map(|text| text.parse::<toml_edit::DocumentMut>().ok())
        .filter_map(|document| document.get("model")?.as_str().map(str::to_owned))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// One run of `codex exec`.
pub(super) struct Exec<'r> {
    /// Its number in the arena; names the files of what it printed.
    pub(super) n: usize,
    /// The prompt.
    pub(super) prompt: &'r str,
    /// The profile.
    pub(super) profile: &'r str,
    /// The session to go on with.
    pub(super) resume: Option<&'r str>,
    /// Whether the session has to be kept for a later turn.
    pub(super) keep: bool,
    /// The file at which it is interrupted.
    pub(super) interrupt_at: Option<PathBuf>,
}

/// Runs one turn. What Codex printed lies in the arena's evidence: `N.events.jsonl`, `N.stderr.txt`.
///
/// # Errors
/// When Codex cannot be started, or the guard is not live.
pub(super) async fn exec(
    setting: &Setting,
    arena: &Arena,
    case: &Case,
    line: &Line,
    run: Exec<'_>,
) -> Result<(Ended, String)> {
    let mut args: Vec<OsString> = profile_args(run.profile).collect();
    args.extend(["exec", "--json", "--skip-git-repo-check"].map(OsString::from));
    if !run.keep {
        args.push("--ephemeral".into());
    }
    if let Some(id) = run.resume {
        args.extend(["resume".into(), id.into()]);
    }
    args.push(run.prompt.into());
    let mut overrides = line.overrides.clone();
    for option in &case.config {
        overrides.extend(set(&arena.fill(option)));
    }
    if !case.pages.is_empty() {
        overrides.extend(fetch_from_here(&setting.home));
    }
    let mut command = setting.codex(arena, &args, &overrides)?;
    let file = |name: &str| arena.evidence().join(format!("{}.{name}", run.n));
    let events = file("events.jsonl");
    command
        .stdout(fs_err::File::create(&events)?.into_parts().0)
        .stderr(fs_err::File::create(file("stderr.txt"))?.into_parts().0);
    let interrupt = appears(run.interrupt_at);
    let ended = process::supervise(&mut command, case.limit, interrupt).await?;
    let printed = fs_err::read(&events)?;
    Ok((ended, String::from_utf8_lossy(&printed).into_owned()))
}

/// The name of the profile that is the base file alone.
pub(crate) const DEFAULT: &str = "default";

/// The option that names a profile.
fn profile_args(profile: &str) -> impl Iterator<Item = OsString> {
    let named = profile != DEFAULT;
    let args = ["-p", profile].map(OsString::from);
    args.into_iter().filter(move |_| named)
}

fn set(option: &str) -> [OsString; 2] {
    ["-c".into(), option.into()]
}

/// The fetch server looks at no address of this machine unless it is told to.
fn fetch_from_here(home: &Path) -> Vec<OsString> {
    let args = std::fs::read_to_string(home.join("config.toml"))
        .ok()
        .and_then(|text| text.parse::<toml_edit::DocumentMut>().ok())
        .and_then(|document| {
            let server = document.get("mcp_servers")?.get("fetch")?;
            let args = server.get("args").and_then(toml_edit::Item::as_array);
            Some(args.cloned().unwrap_or_default())
        });
    let Some(mut args) = args else {
        return Vec::new();
    };
    let option = "--allow-private-ips";
    if !args.iter().any(|arg| arg.as_str() == Some(option)) {
        args.push(option);
    }
    let value = args.to_string();
    set(&format!("mcp_servers.fetch.args={}", value.trim())).to_vec()
}

/// Ends when the file is there; without a file never.
async fn appears(file: Option<PathBuf>) {
    let Some(file) = file else {
        return std::future::pending().await;
    };
    while !file.exists() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Runs a command of a case in the workspace, inside Codex's sandbox: by now it may be the model's.
///
/// # Errors
/// When Codex cannot be started.
pub(super) async fn test(
    setting: &Setting,
    arena: &Arena,
    case: &Case,
    command: &str,
) -> Result<(bool, String)> {
    let args = [
        "sandbox",
        "-c",
        "sandbox_mode=\"workspace-write\"",
        "--",
        "sh",
        "-c",
        command,
    ];
    let mut command = setting.codex(arena, &args.map(OsString::from), &[])?;
    outcome(&mut command, case.limit).await
}

/// Runs a command of a case in the workspace as the case left it.
///
/// # Errors
/// When there is no shell.
pub(super) async fn test_before(
    setting: &Setting,
    arena: &Arena,
    case: &Case,
    command: &str,
) -> Result<(bool, String)> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    arena.dress(&mut shell, setting.path.as_deref());
    outcome(&mut shell, case.limit).await
}

/// Whether it succeeded, and the end of what it printed.
async fn outcome(command: &mut Command, limit: Duration) -> Result<(bool, String)> {
    match process::run(command, limit).await {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stderr));
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            Ok((
                output.status.success(),
                last.unwrap_or_default().trim().to_owned(),
            ))
        }
        // One that hangs does not succeed.
        Err(error) => Ok((false, error.to_string())),
    }
}

/// Deletes a session that was made here. What fails leaves a session more in the profile.
pub(super) async fn forget(setting: &Setting, arena: &Arena, thread: &str) {
    let args = ["delete", "--force", thread].map(OsString::from);
    if let Ok(mut command) = setting.codex(arena, &args, &[]) {
        let _ = process::run(&mut command, DELETE).await;
    }
}
