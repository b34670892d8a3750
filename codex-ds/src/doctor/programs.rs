//! The programs of this machine that checks ask, each started once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value as Json, json};
use tokio::process::Command;

use super::context::Context;
use crate::app_server::{AppServer, ConfigWarning, Hook};
use crate::codex::{self, Codex};
use crate::trust::TrustList;
use crate::{env, error, home, launch, process};

/// Why something cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// What is wrong.
    pub(super) text: String,
    /// What to do.
    pub(super) hint: String,
}

impl From<anyhow::Error> for Missing {
    fn from(error: anyhow::Error) -> Self {
        let (text, _) = error::render(&error);
        let mut missing = Self {
            text: String::new(),
            hint: String::new(),
        };
        let mut of_hint = false;
        for line in text.lines() {
            let part = if let Some(hint) = line.strip_prefix("hint: ") {
                of_hint = true;
                hint
            } else {
                line.trim_start()
                    .trim_start_matches("error: ")
                    .trim_start_matches("cause: ")
            };
            let into = if of_hint {
                &mut missing.hint
            } else {
                &mut missing.text
            };
            if !into.is_empty() {
                into.push_str("; ");
            }
            into.push_str(part);
        }
        missing
    }
}

/// Runs what waits for a program, off the threads that the checks share.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T, Missing> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(Missing::from),
        Err(broken) => Err(Missing::from(anyhow::Error::from(broken))),
    }
}

/// The path of the Codex that a launch starts.
pub(super) fn codex_path(context: &Context) -> Result<PathBuf> {
    let ourselves = std::env::current_exe().ok();
    launch::program::find(
        &context.home,
        &launch::receipt::read(&context.home),
        context.path.as_deref(),
        ourselves.as_deref(),
    )
}

/// The Codex that a launch starts, and its version.
pub(super) async fn codex(context: &Arc<Context>) -> Arc<Result<Codex, Missing>> {
    let inner = context.clone();
    let found = context
        .once(blocking(move || codex::inspect(&codex_path(&inner)?)))
        .await;
    if let Ok(codex) = &*found {
        context.version("codex", codex.version.to_string());
    }
    found
}

/// What Codex makes of the profile, in the working folder and with the pins of a launch.
#[derive(Debug)]
pub(super) struct Asked {
    /// What it says of the configuration.
    pub(super) warnings: Vec<ConfigWarning>,
    /// `config/read` with its layers: `config` and `origins`.
    pub(super) config: Result<Json, Missing>,
    /// The hooks it sees.
    pub(super) hooks: Result<Vec<Hook>, Missing>,
    /// The models it offers, which are those of the catalog.
    pub(super) models: Result<Vec<String>, Missing>,
}

/// Asks Codex, once.
pub(super) async fn asked(context: &Arc<Context>) -> Arc<Result<Asked, Missing>> {
    let inner = context.clone();
    context.once(blocking(move || ask(&inner))).await
}

fn ask(context: &Context) -> Result<Asked> {
    let path = codex_path(context)?;
    let options = options(context, &context.cwd)?;
    let mut server = AppServer::start_with(&path, &options, &context.home, &context.cwd)?;
    let config = server
        .call(
            "config/read",
            &json!({ "includeLayers": true, "cwd": context.cwd }),
        )
        .map_err(Missing::from);
    let hooks = server.hooks(&context.cwd).map_err(Missing::from);
    let models = server
        .call("model/list", &json!({}))
        .map(|answer| {
            let models = answer["data"].as_array().cloned().unwrap_or_default();
            models
                .iter()
                .filter_map(|model| model["model"].as_str().map(str::to_owned))
                .collect()
        })
        .map_err(Missing::from);
    Ok(Asked {
        warnings: server.warnings().to_vec(),
        config,
        hooks,
        models,
    })
}

/// The pins of a launch in the folder `cwd`, with what the user's arguments for Codex set.
pub(super) fn options(context: &Context, cwd: &Path) -> Result<Vec<OsString>> {
    let scan = launch::args::scan(&context.codex_args);
    let mut args: Vec<OsString> = Vec::new();
    for value in &scan.overrides {
        args.extend(["-c".into(), value.clone()]);
    }
    for (name, value) in &scan.options {
        if let ("--enable" | "--disable", Some(value)) = (name.as_str(), value) {
            args.extend([name.into(), value.clone()]);
        }
    }
    // A command without a session: it is only planned, for its pins.
    let command: OsString = "features".into();
    args.push(command.clone());
    let (trusted, _) = TrustList::load_or_empty(&context.home);
    let mut planned = launch::plan(&launch::Inputs {
        args: &args,
        cwd,
        home: &context.home,
        trusted: &trusted,
        user_home: home::user_home().ok().as_deref(),
        path: context.path.as_deref(),
        ourselves: std::env::current_exe().ok().as_deref(),
    })?
    .args;
    planned.truncate(planned.len() - usize::from(planned.last() == Some(&command)));
    Ok(planned)
}

/// Runs Codex with these arguments on the profile, with nothing on its standard input, and gives what
/// it printed on both outputs and how it ended.
pub(super) async fn run_codex(
    context: &Context,
    args: &[&str],
    limit: Duration,
) -> Result<Printed> {
    let mut command = Command::new(codex_path(context)?);
    command
        .args(args)
        .env(env::CODEX_HOME, &context.home)
        .current_dir(&context.home);
    Printed::of(process::run(&mut command, limit).await?)
}

/// What a program printed and how it ended.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    /// Its exit status was 0.
    pub(super) success: bool,
    /// How it ended, in words.
    pub(super) status: String,
    /// Standard output.
    pub(super) stdout: String,
    /// Standard error, without the addresses that Codex prints below a message.
    pub(super) stderr: String,
}

impl Printed {
    pub(super) fn of(output: std::process::Output) -> Result<Self> {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let (stderr, _) = stderr
            .split_once("Stack backtrace")
            .unwrap_or((&stderr, ""));
        Ok(Self {
            success: output.status.success(),
            status: output.status.to_string(),
            stdout: String::from_utf8(output.stdout)
                .context("it printed bytes that are no text")?,
            stderr: stderr.trim().to_owned(),
        })
    }

    /// The last lines of what it complained about.
    pub(super) fn complaint(&self) -> String {
        let lines: Vec<&str> = self
            .stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        match lines.len() {
            0 => self.status.clone(),
            count => lines[count.saturating_sub(6)..].join("\n"),
        }
    }
}
