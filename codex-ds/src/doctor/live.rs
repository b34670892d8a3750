//! One headless turn of the real Codex on the profile, against a stand-in for the model: what Codex
//! really sends, and whether the guard really stops a command.
//!
//! The session is not stored, MCP servers stay out, and the command that the stand-in asks for does
//! no harm where it does run: it makes a file in a temporary folder.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use codex_ds_wire::standin::{Config, Model, Script, StandIn, Turn as Said};
use serde_json::{Value as Json, json};
use tokio::process::Command;

use super::context::Context;
use super::programs::{self, Missing, Printed};
use crate::{env, process};

/// How long the turn may take; it takes a second.
const LIMIT: Duration = Duration::from_secs(60);
/// A little more, for checks that look at it.
pub(super) const DEADLINE: Duration = Duration::from_secs(70);

/// The file that the command makes where it runs.
const MARK: &str = "it-ran";
/// No preset and no switch of `guard.toml` lets this pass (`guard.environment`), and Codex's own
/// rules have nothing on it: whoever stops it is the guard.
const FORBIDDEN: &str = "touch it-ran && CODEX_HOME=/nowhere true";
/// The provider that stands in for the profile's, so that the turn needs neither its address nor its
/// key.
const PROVIDER: &str = "codex-ds-doctor";

/// What was seen of the turn.
#[derive(Debug)]
pub(super) struct Turn {
    /// Whether the command that the guard has to stop ran.
    pub(super) ran: bool,
    /// What the model was told of it.
    pub(super) answer: String,
    /// The instructions that the model got: `instructions`, and what Codex says as a developer.
    pub(super) instructions: String,
    /// How many requests were made.
    pub(super) requests: usize,
    /// What Codex printed.
    pub(super) printed: Printed,
}

/// The turn, played once.
pub(super) async fn turn(context: &Arc<Context>) -> Arc<Result<Turn, Missing>> {
    let inner = context.clone();
    context
        .once(async move { play(&inner).await.map_err(Missing::from) })
        .await
}

async fn play(context: &Context) -> Result<Turn> {
    let model = context.profile.text(&["model"]).unwrap_or_default();
    let config = Config {
        models: vec![Model::new(model, 262_144)],
        ..Config::router()
    };
    let turns = vec![
        Said::call("exec_command", json!({ "cmd": FORBIDDEN })),
        Said::text("Done."),
    ];
    let server =
        StandIn::start(config, Script::new(turns)).context("cannot start the stand-in server")?;
    let work = tempfile::Builder::new()
        .prefix("codex-ds-doctor-")
        .tempdir()?;
    let folder = work.path().canonicalize()?;

    let mut command = Command::new(programs::codex_path(context)?);
    command
        .args(arguments(context, &folder, &server.base_url())?)
        .env(env::CODEX_HOME, &context.home)
        .env("NO_PROXY", "127.0.0.1")
        .env("no_proxy", "127.0.0.1")
        .current_dir(&folder);
    let printed = Printed::of(process::run(&mut command, LIMIT).await?)?;
    let requests = server.model_requests();
    let first = requests.first().map(codex_ds_wire::standin::Recorded::json);
    let last = requests.last().map(codex_ds_wire::standin::Recorded::json);
    Ok(Turn {
        ran: folder.join(MARK).exists(),
        answer: last.map(|body| answer(&body)).unwrap_or_default(),
        instructions: first.map(|body| instructions(&body)).unwrap_or_default(),
        requests: requests.len(),
        printed,
    })
}

fn arguments(context: &Context, folder: &Path, base_url: &str) -> Result<Vec<OsString>> {
    let text = |text: &str| Json::from(text).to_string();
    let mut settings = vec![
        format!(
            "model_providers.{PROVIDER}={{name={},base_url={},wire_api=\"responses\",\
             experimental_bearer_token=\"none\"}}",
            text(PROVIDER),
            text(base_url)
        ),
        format!("model_provider={}", text(PROVIDER)),
    ];
    // One that is required and does not start would stop Codex, which is another check's to find.
    settings.extend(
        context
            .profile
            .mcp_servers()
            .iter()
            .map(|server| format!("mcp_servers.{}.enabled=false", toml_edit::Key::new(server))),
    );
    let mut args = programs::options(context, folder)?;
    for setting in settings {
        args.extend(["-c".into(), setting.into()]);
    }
    if let Some(name) = &context.profile.name {
        args.extend(["-p".into(), name.into()]);
    }
    args.extend(
        [
            "exec",
            "--ephemeral",
            "--skip-git-repo-check",
            "look around",
        ]
        .map(OsString::from),
    );
    Ok(args)
}

/// The output of the last tool call, as the request tells the model.
fn answer(body: &Json) -> String {
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let last = items
        .iter()
        .rev()
        .find(|item| item["type"] == "function_call_output");
    match last.map(|item| &item["output"]) {
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn instructions(body: &Json) -> String {
    let mut text = body["instructions"].as_str().unwrap_or_default().to_owned();
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    for item in items.iter().filter(|item| item["role"] == "developer") {
        for part in item["content"].as_array().into_iter().flatten() {
            text.push('\n');
            text.push_str(part["text"].as_str().unwrap_or_default());
        }
    }
    text
}
