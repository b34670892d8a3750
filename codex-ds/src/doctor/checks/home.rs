//! `home.…`: the profile's folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::programs::Missing;
use crate::file::{LOCK, TEMPORARY_PREFIX, TEMPORARY_SUFFIX};
use crate::home;
use crate::setup::apply::FOLDERS;
use crate::setup::profile::HOOK;
use crate::setup::receipt::{FILES, NAME, PENDING, Receipt};

const DEADLINE: Duration = Duration::from_secs(5);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "home.place",
        title: "the profile's folder is where one may be",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(place(&context)) }),
    },
    Check {
        id: "home.receipt",
        title: "the receipt of set-up is there, and is this folder's",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(receipt(&context)) }),
    },
    Check {
        id: "home.permissions",
        title: "nobody else can read or change the profile",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(permissions(&context)) }),
    },
    Check {
        id: "home.leftovers",
        title: "no set-up was interrupted, and none is at work",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(leftovers(&context)) }),
    },
    Check {
        id: "home.daemon",
        title: "Codex keeps no copy of itself in the profile",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(daemon(&context)) }),
    },
];

fn place(context: &Context) -> Outcome {
    let named = &context.named_home;
    if let Err(error) = home::checked(named) {
        let missing = Missing::from(error);
        return Finding::fail(missing.text)
            .measured(context.home.display().to_string())
            .expected("a folder of its own, outside of temporary folders and of ~/.codex")
            .source("--home, CODEX_DS_HOME or the default")
            .remedy(format!(
                "set the profile up elsewhere and take this one out with codex-ds undo; {}",
                missing.hint
            ))
            .command("codex-ds setup --home ~/.codex-ds")
            .into();
    }
    let mut findings = Vec::new();
    if context.home.starts_with(&context.cwd) {
        findings.push(
            Finding::warn("the profile lies in the working folder, where no session is started")
                .measured(context.cwd.display().to_string())
                .expected(
                    "a working folder that does not hold the profile: commands can write there",
                )
                .source("the working folder")
                .remedy("start in the repository that you work on"),
        );
    }
    if is_link(named) {
        findings.push(
            Finding::note("the folder is reached by a link")
                .measured(format!(
                    "{} leads to {}",
                    named.display(),
                    context.home.display()
                ))
                .source("the folder's real path, by which Codex keys its trust"),
        );
    }
    Outcome::of(context.home.display().to_string(), findings)
}

/// Whether the last part of a path is a symbolic link.
fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.file_type().is_symlink())
}

fn receipt(context: &Context) -> Outcome {
    let again = |finding: Finding| -> Outcome {
        finding
            .source(context.home.join(NAME).display().to_string())
            .remedy("run set-up again")
            .command("codex-ds setup")
            .into()
    };
    let receipts = match Receipt::load(&context.home) {
        Ok(receipts) => receipts,
        Err(error) => {
            let missing = Missing::from(error);
            return Finding::fail(missing.text).remedy(missing.hint).into();
        }
    };
    let Some(receipt) = receipts.latest() else {
        return again(
            Finding::fail("there is no receipt: set-up did not make this profile, or it was lost")
                .measured("no file")
                .expected("the record of what set-up wrote"),
        );
    };
    if receipt.home != context.home {
        return again(
            Finding::fail("the profile was moved or copied: its receipt is another folder's")
                .measured(receipt.home.display().to_string())
                .expected(context.home.display().to_string())
                .fixable(),
        );
    }
    if receipt.tool_version != env!("CARGO_PKG_VERSION") {
        return again(
            Finding::warn("another version of codex-ds wrote the profile")
                .measured(receipt.tool_version.clone())
                .expected(env!("CARGO_PKG_VERSION"))
                .fixable(),
        );
    }
    let edited: Vec<&str> = receipt
        .files
        .iter()
        // The guard's program is another check's.
        .filter(|(name, record)| {
            *name != HOOK
                && std::fs::read(context.home.join(name))
                    .is_ok_and(|bytes| crate::file::sha256(&bytes) != record.sha256)
        })
        .map(|(name, _)| name.as_str())
        .collect();
    let findings = if edited.is_empty() {
        Vec::new()
    } else {
        vec![
            Finding::note("files that were changed since set-up")
                .measured(edited.join(", "))
                .source(NAME),
        ]
    };
    Outcome::of(
        format!(
            "{} files, by codex-ds {}",
            receipt.files.len(),
            receipt.tool_version
        ),
        findings,
    )
}

/// A file or folder that others have rights to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::doctor) struct Loose {
    pub(in crate::doctor) path: PathBuf,
    /// Its mode, and the one without the others' rights.
    pub(in crate::doctor) mode: u32,
    pub(in crate::doctor) wanted: u32,
    /// Whether set-up wrote it; a key's file is the user's.
    pub(in crate::doctor) ours: bool,
}

/// What others can write to, or read though it is private.
#[cfg(unix)]
pub(in crate::doctor) fn loose(context: &Context) -> Vec<Loose> {
    use std::os::unix::fs::PermissionsExt as _;

    let folders = ["", "bin", "rules"].map(|name| context.home.join(name));
    let ours = folders.into_iter().chain(our_files(context));
    let all = ours
        .map(|path| (path, true))
        .chain(key_files(context).into_iter().map(|path| (path, false)));
    all.filter_map(|(path, ours)| {
        let metadata = std::fs::metadata(&path).ok()?;
        let mode = metadata.permissions().mode() & 0o777;
        // Which names lie in a folder of ours is no secret.
        let private = if metadata.is_dir() { 0o022 } else { 0o066 };
        (mode & private != 0).then_some(Loose {
            path,
            mode,
            wanted: mode & !private & !0o011,
            ours,
        })
    })
    .collect()
}

#[cfg(unix)]
fn permissions(context: &Context) -> Outcome {
    use std::os::unix::fs::MetadataExt as _;

    let ourselves = rustix::process::geteuid().as_raw();
    let mut findings = Vec::new();
    for loose in loose(context) {
        let shown = loose.path.display().to_string();
        let finding = if loose.mode & 0o022 != 0 {
            Finding::fail(format!(
                "others can change {shown}: they could turn the guard off"
            ))
        } else if loose.ours {
            Finding::warn(format!("others can read {shown}"))
        } else {
            Finding::fail(format!("others can read the key in {shown}"))
        };
        let finding = finding
            .measured(format!("mode {:04o}", loose.mode))
            .expected(format!("mode {:04o}", loose.wanted))
            .source(shown.clone())
            .remedy("take the others' rights away")
            .command(format!(
                "chmod {:o} {}",
                loose.wanted,
                shell_words::quote(&shown)
            ));
        findings.push(if loose.ours {
            finding.fixable()
        } else {
            finding
        });
    }
    let owner = std::fs::metadata(&context.home).map(|metadata| metadata.uid());
    if let Some(owner) = owner.ok().filter(|owner| *owner != ourselves) {
        findings.push(
            Finding::warn("the profile belongs to another user")
                .measured(format!("user {owner}"))
                .expected(format!("user {ourselves}"))
                .source(context.home.display().to_string())
                .remedy("use codex-ds as the user who ran set-up"),
        );
    }
    Outcome::of("readable by you alone", findings)
}

#[cfg(not(unix))]
pub(in crate::doctor) fn loose(_: &Context) -> Vec<Loose> {
    Vec::new()
}

#[cfg(not(unix))]
fn permissions(_: &Context) -> Outcome {
    Outcome::skip("only Unix has modes")
}

/// The files that set-up wrote and that are there.
#[cfg(unix)]
fn our_files(context: &Context) -> Vec<PathBuf> {
    FILES
        .iter()
        .chain(&[NAME])
        .map(|name| context.home.join(name))
        .filter(|path| path.is_file())
        .collect()
}

/// The files that hold a key, by the providers' `auth`.
#[cfg(unix)]
fn key_files(context: &Context) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = context
        .routes
        .iter()
        .filter_map(|route| {
            let args = ["model_providers", &route.provider, "auth", "args"];
            let (args, _) = context.profile.get(&args)?;
            Some(PathBuf::from(args.as_array()?.get(0)?.as_str()?))
        })
        .collect();
    files.sort();
    files.dedup();
    files
}

fn leftovers(context: &Context) -> Outcome {
    let mut findings = Vec::new();
    if is_locked(&context.home) {
        findings.push(
            Finding::warn("another codex-ds is changing the profile right now")
                .source(context.home.join(LOCK).display().to_string())
                .remedy("wait for it to end, then run this again"),
        );
    }
    if context.home.join(PENDING).exists() {
        findings.push(
            Finding::fail("a set-up was interrupted: the profile may be half old and half new")
                .measured("it is there")
                .expected("no such file once a set-up has ended")
                .source(context.home.join(PENDING).display().to_string())
                .remedy("run set-up again: it goes on from there")
                .command("codex-ds setup")
                .fixable(),
        );
    }
    for folder in FOLDERS.iter().chain(&[""]) {
        let entries = std::fs::read_dir(context.home.join(folder));
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX) {
                findings.push(
                    Finding::warn("a file was left that was still being written")
                        .source(entry.path().display().to_string())
                        .remedy("run set-up again: it sweeps them up")
                        .command("codex-ds setup")
                        .fixable(),
                );
            }
        }
    }
    Outcome::of("none", findings)
}

/// Whether another process holds the profile's lock. Nothing is made where there is none.
fn is_locked(home: &Path) -> bool {
    let Ok(file) = std::fs::File::open(home.join(LOCK)) else {
        return false;
    };
    matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}

fn daemon(context: &Context) -> Outcome {
    let packages = context.home.join("packages");
    let bytes = size(&packages);
    let mut findings = Vec::new();
    if bytes > 0 {
        findings.push(
            Finding::warn("Codex's daemon has copied itself into the profile")
                .measured(format!("{} MB", bytes / 1_000_000))
                .expected("nothing")
                .source(packages.display().to_string())
                .remedy(
                    "keep features.daemon_auto_start = false, end the daemon (`codex app-server \
                     daemon`), then remove the folder: Codex does not need it",
                ),
        );
    }
    let on = context.profile.get(&["features", "daemon_auto_start"]);
    if let Some((value, layer)) = on.filter(|(value, _)| value.as_bool() != Some(false)) {
        findings.push(
            Finding::warn("Codex's daemon is switched on: it copies 400 MB and outlives a session")
                .measured(value.to_string().trim().to_owned())
                .expected("false")
                .source(format!("{}: features.daemon_auto_start", layer.name()))
                .remedy("set it to false"),
        );
    }
    Outcome::of("none", findings)
}

/// The bytes of the files below a folder; 0 where there is none.
fn size(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => todo.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}
