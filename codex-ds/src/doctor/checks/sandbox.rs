//! `sandbox.…`: Codex's sandbox, which holds what the guard lets pass.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::process::Command;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::programs::{self, Missing, Printed};
use crate::{env, process};

const LIMIT: Duration = Duration::from_secs(20);
const DEADLINE: Duration = Duration::from_secs(25);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "sandbox.mode",
        title: "commands run in a sandbox that keeps the profile out of reach",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: Duration::from_secs(5),
        run: |context| Box::pin(async move { Ok(mode(&context)) }),
    },
    Check {
        id: "sandbox.works",
        title: "the sandbox works on this machine: a command in it can write to its workspace",
        requires: &["config.loads", "sandbox.mode"],
        cost: Cost::Codex,
        deadline: DEADLINE,
        run: |context| Box::pin(works(context)),
    },
    Check {
        id: "sandbox.home",
        title: "a command in the sandbox cannot write to the profile",
        requires: &["sandbox.works", "home.place"],
        cost: Cost::Codex,
        deadline: DEADLINE,
        run: |context| Box::pin(home(context)),
    },
    Check {
        id: "sandbox.tmp",
        title: "what a command in the sandbox can write to beside its workspace",
        requires: &["sandbox.works"],
        cost: Cost::Codex,
        deadline: DEADLINE,
        run: |context| Box::pin(tmp(context)),
    },
];

fn mode(context: &Context) -> Outcome {
    let mut findings: Vec<Finding> = Vec::new();
    let mut add = |finding: Finding| {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    };
    for profile in context.profiles() {
        let name = profile.name().to_owned();
        if let Some((item, layer)) = profile.get(&["sandbox_mode"])
            && item.as_str() == Some("danger-full-access")
        {
            add(Finding::warn(format!(
                "profile {name} has no sandbox: only the guard is left"
            ))
            .measured("danger-full-access")
            .expected("workspace-write or read-only")
            .source(format!("{}: sandbox_mode", layer.name()))
            .remedy("set it to workspace-write"));
        }
        let roots = ["sandbox_workspace_write", "writable_roots"];
        let Some((item, layer)) = profile.get(&roots) else {
            continue;
        };
        for root in item.as_array().into_iter().flatten() {
            let Some(root) = root.as_str().map(Path::new) else {
                continue;
            };
            let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
            if context.home.starts_with(&real) {
                add(Finding::fail(
                    "the sandbox leaves the profile writable: a command could replace the guard",
                )
                .measured(root.display().to_string())
                .expected("folders that do not hold the profile")
                .source(format!("{}: {}", layer.name(), roots.join(".")))
                .remedy("take it out of the list"));
            }
        }
    }
    let mode = context
        .profile
        .text(&["sandbox_mode"])
        .unwrap_or("read-only, Codex's own");
    Outcome::of(mode, findings)
}

/// What a command could do in the sandbox of this profile.
#[derive(Debug)]
struct Seen {
    /// Whether it could write to its workspace, the profile, and the temporary folders.
    workspace: bool,
    home: bool,
    temporary: Vec<PathBuf>,
    printed: Printed,
}

/// Tries, once. What it makes is removed.
async fn seen(context: &Arc<Context>) -> Arc<Result<Seen, Missing>> {
    let inner = context.clone();
    context
        .once(async move { look(&inner).await.map_err(Missing::from) })
        .await
}

/// Makes a file of its name in each folder that it is given, as far as it can.
const SCRIPT: &str =
    "name=$1; shift; for folder; do (: >\"$folder/$name\"); done 2>/dev/null; exit 0";

async fn look(context: &Context) -> Result<Seen> {
    let work = tempfile::Builder::new()
        .prefix("codex-ds-doctor-")
        .tempdir()?;
    let folder = work.path().canonicalize()?;
    let name = format!(".codex-ds-doctor-{}", std::process::id());
    let mut temporary = vec![PathBuf::from("/tmp"), std::env::temp_dir()];
    temporary.dedup();
    temporary.retain(|path| path.is_dir());
    let folders: Vec<&Path> = [folder.as_path(), context.home.as_path()]
        .into_iter()
        .chain(temporary.iter().map(PathBuf::as_path))
        .collect();
    // `codex sandbox` takes no notice of the profile's mode unless it is told.
    let mode = context
        .profile
        .text(&["sandbox_mode"])
        .unwrap_or("read-only");
    let mut command = Command::new(programs::codex_path(context)?);
    command
        .arg("sandbox")
        .args(["-c", &format!("sandbox_mode={mode:?}")])
        .args(["--", "sh", "-c", SCRIPT, "sh", &name])
        .args(&folders)
        .env(env::CODEX_HOME, &context.home)
        .current_dir(&folder);
    let printed = Printed::of(process::run(&mut command, LIMIT).await?)?;
    let wrote = |folder: &Path| std::fs::remove_file(folder.join(&name)).is_ok();
    Ok(Seen {
        workspace: wrote(&folder),
        home: wrote(&context.home),
        temporary: temporary.into_iter().filter(|path| wrote(path)).collect(),
        printed,
    })
}

async fn works(context: Arc<Context>) -> Result<Outcome> {
    let failed = |measured: String| {
        Finding::fail("the sandbox does not work here: Codex runs no command, or each only with approval")
            .measured(measured)
            .expected("a command that ends well")
            .source("codex sandbox -- sh")
            .remedy(
                "on Linux Codex needs bubblewrap, or unprivileged user namespaces; in a container give it \
                 either, or set sandbox_mode knowingly",
            )
    };
    if context.profile.text(&["sandbox_mode"]) == Some("danger-full-access") {
        return Ok(Outcome::skip("the profile has none"));
    }
    let seen = seen(&context).await;
    let seen = match &*seen {
        Ok(seen) => seen,
        Err(error) => return Ok(failed(error.text.clone()).into()),
    };
    if !seen.printed.success {
        return Ok(failed(seen.printed.complaint()).into());
    }
    let mode = context
        .profile
        .text(&["sandbox_mode"])
        .unwrap_or("read-only");
    let mut findings = Vec::new();
    if mode == "workspace-write" && !seen.workspace {
        findings.push(failed("its workspace was not writable".to_owned()));
    }
    let asked = programs::asked(&context).await;
    if let Ok(asked) = &*asked {
        let complaint = asked
            .warnings
            .iter()
            .find(|warning| warning.summary.contains("bubblewrap"));
        findings.extend(complaint.map(|warning| {
            Finding::note("Codex uses the bubblewrap that it brings along")
                .measured(warning.summary.clone())
                .source("codex app-server")
        }));
    }
    Ok(Outcome::of(mode, findings))
}

async fn home(context: Arc<Context>) -> Result<Outcome> {
    let seen = seen(&context).await;
    let Ok(seen) = &*seen else {
        return Ok(Outcome::skip("nothing was tried"));
    };
    Ok(if seen.home {
        Finding::fail(
            "a command in the sandbox can write to the profile: it could replace the guard",
        )
        .measured("a file was made there")
        .expected("a read-only file system")
        .source(format!("codex sandbox -- sh: {}", context.home.display()))
        .remedy(
            "set sandbox_mode to workspace-write, and keep the profile out of its writable folders",
        )
        .into()
    } else {
        Outcome::pass("it was tried")
    })
}

async fn tmp(context: Arc<Context>) -> Result<Outcome> {
    let seen = seen(&context).await;
    let Ok(seen) = &*seen else {
        return Ok(Outcome::skip("nothing was tried"));
    };
    let folders: Vec<String> = seen
        .temporary
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Ok(Outcome::pass(if folders.is_empty() {
        "nothing".to_owned()
    } else {
        format!(
            "{}, which other programs read as well",
            folders.join(" and ")
        )
    }))
}
