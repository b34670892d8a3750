//! From arguments to the command that is started, without starting it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::args::{self, Scan};
use super::config::{self, Profile};
use super::pins::{self, Folders, Trust};
use super::{agents_md, guard, program, receipt, sessions};
use crate::env;
use crate::error::UserError;
use crate::project;
use crate::trust::{Standing, TrustList};

/// What a launch depends on.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The arguments after our program's name.
    pub args: &'a [OsString],
    /// The working folder, absolute.
    pub cwd: &'a Path,
    /// The profile's folder, its real path.
    pub home: &'a Path,
    /// The repositories that the user trusts.
    pub trusted: &'a TrustList,
    /// The user's home folder, whose `.codex` is no repository's.
    pub user_home: Option<&'a Path>,
    /// The variable PATH.
    pub path: Option<&'a OsStr>,
    /// Our own program, so that it does not start itself.
    pub ourselves: Option<&'a Path>,
}

/// What is started.
#[derive(Debug, PartialEq, Eq)]
pub struct Launch {
    /// Codex.
    pub program: PathBuf,
    /// Its arguments: the pins and the user's own.
    pub args: Vec<OsString>,
    /// Variables to set; the rest of the environment stays.
    pub env: Vec<(OsString, OsString)>,
    /// What the user should know, a line each.
    pub warnings: Vec<String>,
}

impl Launch {
    /// The command.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Options that weaken the profile: option, value that does (`None`: any or none), what it does.
/// Measured behind the pins, on Codex 0.163.0 and 0.171.0.
const WEAKENING: &[(&str, Option<&str>, &str)] = &[
    ("--disable", Some("hooks"), "turns the guard off"),
    (
        "--enable",
        Some("unified_exec_tty"),
        "lets the model type into a running terminal, which the guard does not see",
    ),
    (
        "--ignore-user-config",
        None,
        "drops the whole profile: no guard, and Codex's own model and endpoint",
    ),
    (
        "--ignore-rules",
        None,
        "drops the profile's command rules; the guard stays on",
    ),
    (
        "--dangerously-bypass-approvals-and-sandbox",
        None,
        "drops the sandbox and every question; the guard stays on",
    ),
    (
        "--yolo",
        None,
        "drops the sandbox and every question; the guard stays on",
    ),
    (
        "--dangerously-bypass-hook-trust",
        None,
        "runs hooks that nobody has reviewed",
    ),
    (
        "--sandbox",
        Some("danger-full-access"),
        "drops the sandbox; the guard stays on",
    ),
    (
        "-s",
        Some("danger-full-access"),
        "drops the sandbox; the guard stays on",
    ),
    (
        "--oss",
        None,
        "uses a provider of Codex's own instead of the profile's endpoint",
    ),
    (
        "--remote",
        None,
        "runs the session in another server, which has neither this profile nor its pins",
    ),
    ("--trust", None, "trusts nothing here: use codex-ds trust"),
];

/// The same for `-c KEY=VALUE`: key, value that is harmless, what any other does.
const WEAKENING_OVERRIDES: &[(&str, Option<&str>, &str)] = &[
    ("features.hooks", Some("true"), "turns the guard off"),
    (
        "features.unified_exec_tty",
        Some("false"),
        "lets the model type into a running terminal, which the guard does not see",
    ),
    (
        "features",
        None,
        "replaces the pins on features; the guard may be off",
    ),
    ("hooks", None, "changes the hooks; the guard may be off"),
];

/// Commands that serve clients, which open folders of their own.
const SERVERS: &[&str] = &["agents", "app-server", "remote-control"];

/// Plans a launch. Starts no process, and writes nothing.
///
/// # Errors
/// When there is no profile, no Codex, no live guard, a profile name that does not exist, or an
/// argument that would lift the pins.
pub fn plan(inputs: &Inputs<'_>) -> Result<Launch> {
    plan_with(inputs, &[])
}

/// The same with options of ours (`-c`, value, …) that hold as the pins do, at every level of the
/// command line; the user's own still win over them.
///
/// # Errors
/// As [`plan`].
pub(crate) fn plan_with(inputs: &Inputs<'_>, overrides: &[OsString]) -> Result<Launch> {
    // `codex-ds -- doctor` is how Codex's command of one of our names is reached.
    let args = match inputs.args {
        [first, rest @ ..] if first == "--" => rest,
        args => args,
    };
    let scan = args::scan(args);
    refuse_projects(&scan)?;
    let names: Vec<String> = scan
        .profiles
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let profile = config::read(inputs.home, &names)?;
    let receipt = receipt::read(inputs.home);
    let program = program::find(inputs.home, &receipt, inputs.path, inputs.ourselves)?;

    let mut warnings = weakened(&scan);
    if scan.has_session() {
        warnings.extend(guard::check(inputs.home, &profile.over, &receipt)?);
    }
    let spelled = match scan.folders.last() {
        Some(folder) => inputs.cwd.join(folder),
        None => inputs.cwd.to_path_buf(),
    };
    if scan.has_session() {
        keep_profile_out_of_reach(inputs, &scan, &profile, &spelled)?;
    }
    let mut folders = Folders::default();
    let session = judge(&spelled, inputs);
    let trusted = session.working == Trust::Trusted;
    // What Codex looks up here comes first: it has to fit, whatever else does not.
    let mut fits = session.pin(&mut folders, &spelled);
    let here = std::iter::once(inputs.cwd.to_path_buf())
        .chain(scan.folders.iter().map(|folder| inputs.cwd.join(folder)));
    for other in here {
        fits &= judge(&other, inputs).pin(&mut folders, &other);
    }
    if !fits {
        return Err(UserError::usage(format!(
            "the path of {} is too long to pin, so a repository could weaken the profile",
            spelled.display()
        ))
        .hint("start from a folder with a shorter path")
        .into());
    }
    let mut complete = true;
    for other in others(inputs, &scan, &profile) {
        complete &= judge(&other, inputs).pin(&mut folders, &other);
    }
    complete &= session.pin_above(&mut folders, &spelled);
    if !complete {
        warnings.push(
            "too many folders to pin them all: do not resume a session of another repository"
                .into(),
        );
    }
    if scan.has_session() {
        warnings.extend_from_slice(&session.warnings);
    }
    if scan.options.iter().any(|(name, _)| name == "--worktree") && !trusted {
        warnings.push(
            "--worktree: Codex makes none of an untrusted repository; see codex-ds trust".into(),
        );
    }

    let mut instructions = (scan.has_session() && !trusted)
        .then(|| agents_md::text(&session.real))
        .flatten()
        .map(|text| match &profile.developer_instructions {
            Some(own) => format!("{}\n\n{text}", own.trim_end()),
            None => text,
        });
    if instructions.take_if(|text| !pins::fits(text)).is_some() {
        warnings.push(
            "AGENTS.md is left out: with the profile's developer_instructions it is too long"
                .into(),
        );
    }
    let mut pins = pins::arguments(&folders, instructions.as_deref());
    pins.extend_from_slice(overrides);
    let mut all = pins.clone();
    for (index, arg) in args.iter().enumerate() {
        if scan.repeat_at.contains(&index) {
            all.extend_from_slice(&pins);
        }
        all.push(arg.clone());
    }
    Ok(Launch {
        program,
        args: all,
        env: vec![(env::CODEX_HOME.into(), inputs.home.into())],
        warnings,
    })
}

/// What is pinned for a folder that a session can be in.
struct Judged {
    /// The folder's real path.
    real: PathBuf,
    /// The folders with a `.codex` from the project's root down to it.
    layers: Vec<PathBuf>,
    /// The folders with a `.codex` that the user trusts, from the project's root down to it.
    trusted: Vec<PathBuf>,
    /// The folder itself: trusted if every `.codex` from the root down to it is.
    working: Trust,
    warnings: Vec<String>,
}

impl Judged {
    /// Pins what Codex looks up for the folder: itself, its project's root, and every folder with a
    /// `.codex` between them. `spelled` is its path as the user wrote it. Gives `false` when there is
    /// no room for all of it.
    fn pin(&self, folders: &mut Folders, spelled: &Path) -> bool {
        let mut room = true;
        for folder in &self.trusted {
            room &= folders.add(folder, Trust::Trusted);
        }
        room &= folders.add(&self.real, self.working);
        room &= folders.add(spelled, self.working);
        room &= pin_project(folders, &self.real, &self.layers);
        if spelled != self.real {
            room &= pin_project(folders, spelled, &project::layers(spelled));
        }
        room
    }

    /// Pins every folder above it as well: a profile can name other markers of a project's root than
    /// `.git`.
    fn pin_above(&self, folders: &mut Folders, spelled: &Path) -> bool {
        let mut room = true;
        for folder in self.real.ancestors() {
            room &= folders.add(folder, Trust::Untrusted);
        }
        if spelled != self.real {
            // Codex takes the real path of each of these first.
            for folder in spelled.ancestors() {
                let real = folder.canonicalize();
                room &= folders.add(folder, Trust::Untrusted);
                if let Ok(real) = real {
                    room &= folders.add(&real, Trust::Untrusted);
                }
            }
        }
        room
    }
}

fn pin_project(folders: &mut Folders, start: &Path, layers: &[PathBuf]) -> bool {
    let mut room = true;
    if let Some(root) = project::folders(start).first() {
        room &= folders.add(root, Trust::Untrusted);
    }
    for layer in layers {
        room &= folders.add(layer, Trust::Untrusted);
    }
    room
}

fn judge(folder: &Path, inputs: &Inputs<'_>) -> Judged {
    let real = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let mut judged = Judged {
        layers: project::layers(&real),
        trusted: Vec::new(),
        working: Trust::Untrusted,
        warnings: Vec::new(),
        real,
    };
    for layer in &judged.layers {
        let why = match inputs.trusted.standing(layer) {
            Standing::Trusted => {
                judged.trusted.push(layer.clone());
                continue;
            }
            Standing::Unknown if inputs.user_home == Some(layer) => continue,
            Standing::Unknown => "you have not trusted it".to_owned(),
            Standing::Changed(why) => format!("it is no longer what you trusted: {why}"),
        };
        judged.warnings.push(format!(
            "{} does not count: {why}; see codex-ds trust",
            layer.join(project::DOT_CODEX).display()
        ));
    }
    if !judged.layers.is_empty() && judged.trusted.len() == judged.layers.len() {
        judged.working = Trust::Trusted;
    }
    judged
}

/// Folders that the session can get into later, or that something else marked trusted.
fn others(inputs: &Inputs<'_>, scan: &Scan, profile: &Profile) -> Vec<PathBuf> {
    // Those above the session's folder first: they are looked up for it.
    let (mut others, elsewhere): (Vec<PathBuf>, Vec<PathBuf>) = profile
        .trusted
        .iter()
        .cloned()
        .partition(|folder| inputs.cwd.starts_with(folder));
    others.extend(elsewhere);
    if scan.may_go_elsewhere() {
        others.extend(sessions::folders(inputs.home));
    }
    others.retain(|folder| folder.is_absolute());
    others
}

fn weakened(scan: &Scan) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, value) in &scan.options {
        let value = value.as_ref().map(|value| value.to_string_lossy());
        let found = WEAKENING.iter().find(|(option, only, _)| {
            option == name && only.is_none_or(|only| value.as_deref() == Some(only))
        });
        if let Some((_, only, effect)) = found {
            let shown = only.map(|only| format!(" {only}")).unwrap_or_default();
            warnings.push(format!("{name}{shown} {effect}"));
        }
    }
    for (key, value) in scan.overrides.iter().filter_map(|text| key_and_value(text)) {
        let found = WEAKENING_OVERRIDES
            .iter()
            .find(|(prefix, harmless, _)| match harmless {
                Some(harmless) => key == *prefix && value != *harmless,
                None => key == *prefix || (*prefix == "hooks" && key.starts_with("hooks.")),
            });
        if let Some((_, _, effect)) = found {
            warnings.push(format!("-c {key} {effect}"));
        }
    }
    if let Some(command) = scan
        .command
        .as_deref()
        .filter(|command| SERVERS.contains(command))
    {
        warnings.push(format!(
            "{command}: a folder that a client opens is trusted by Codex itself, with all that its \
             .codex starts; only this folder is pinned"
        ));
    }
    warnings.dedup();
    warnings
}

/// The sandbox lets a command write in the workspace: with the profile in it, a script could replace
/// the guard, and no rule would see that.
fn keep_profile_out_of_reach(
    inputs: &Inputs<'_>,
    scan: &Scan,
    profile: &Profile,
    workspace: &Path,
) -> Result<()> {
    let added = scan
        .options
        .iter()
        .filter(|(name, _)| name == "--add-dir")
        .filter_map(|(_, value)| value.as_ref().map(|value| workspace.join(value)));
    let folders = std::iter::once(workspace.to_path_buf())
        .chain(added)
        .chain(profile.writable.iter().cloned());
    for folder in folders {
        let real = folder.canonicalize().unwrap_or(folder);
        if inputs.home.starts_with(&real) {
            return Err(UserError::usage(format!(
                "the profile in {} lies in {}, which sandboxed commands can write: one of them could \
                 replace the guard",
                inputs.home.display(),
                real.display()
            ))
            .hint("start in the repository that you work on, or name it: codex-ds -C DIR")
            .into());
        }
    }
    Ok(())
}

/// A later `-c projects` would replace the pin.
fn refuse_projects(scan: &Scan) -> Result<()> {
    for (key, _) in scan.overrides.iter().filter_map(|text| key_and_value(text)) {
        if key == "projects" || key.starts_with("projects.") {
            return Err(UserError::usage(format!(
                "-c {key} would lift the pin that keeps repositories from weakening the profile"
            ))
            .hint("to let a repository's own configuration count: codex-ds trust PATH")
            .into());
        }
    }
    Ok(())
}

fn key_and_value(text: &OsStr) -> Option<(String, String)> {
    let text = text.to_string_lossy();
    let (key, value) = text.split_once('=')?;
    Some((key.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
