//! What the demo plays. The stand-in says what a model would; the rest is real, and each scene looks
//! at the world afterwards.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context as _, Result};
use codex_ds_wire::standin::{Config, Model, Script, StandIn, Turn};
use serde_json::json;
use tokio::process::Command;

use super::{MCP_HOME, Stage, page};
use crate::process;

/// One row of the demo's table.
pub(super) struct Scene {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) needs_mcp: bool,
    pub(super) play: for<'a> fn(&'a Stage) -> Playing<'a>,
}

type Playing<'a> = Pin<Box<dyn Future<Output = Result<Outcome>> + 'a>>;

/// What was seen.
pub(super) struct Outcome {
    pub(super) held: bool,
    pub(super) lines: Vec<String>,
}

pub(super) const SCENES: &[Scene] = &[
    Scene {
        id: "patch",
        title: "the model fixes a bug with apply_patch, and the test passes",
        needs_mcp: false,
        play: |stage| Box::pin(patch(stage)),
    },
    Scene {
        id: "rules-only",
        title: "Codex's own rules, which forbid rm, do not stop `rm junk.txt && ls 2>&1`",
        needs_mcp: false,
        play: |stage| Box::pin(rules_only(stage)),
    },
    Scene {
        id: "guard",
        title: "the guard stops the same command",
        needs_mcp: false,
        play: |stage| Box::pin(guarded(stage)),
    },
    Scene {
        id: "mcp",
        title: "an MCP call comes back",
        needs_mcp: true,
        play: |stage| Box::pin(mcp_call(stage)),
    },
];

const FORBIDDEN: &str = "rm junk.txt && ls 2>&1";
const BUG: &str = "greeting() { echo \"Hallo\"; }\n";
const TEST: &str = "#!/bin/sh\n. ./greet.sh\ntest \"$(greeting)\" = \"Hello\"\n";
const PATCH: &str = "apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: greet.sh\n@@\n\
                     -greeting() { echo \"Hallo\"; }\n+greeting() { echo \"Hello\"; }\n*** End Patch\nPATCH";

/// The router's two routes, as a stand-in.
pub(super) fn server() -> Result<StandIn> {
    let models = ["deepseek-v4-flash-cc", "deepseek-v4-flash"];
    let config = Config {
        models: models.map(|id| Model::new(id, 262_144)).to_vec(),
        ..Config::router()
    };
    StandIn::start(config, Script::new(Vec::new())).context("cannot start the stand-in server")
}

async fn patch(stage: &Stage) -> Result<Outcome> {
    let work = stage.path("work");
    fs_err::write(work.join("greet.sh"), BUG)?;
    fs_err::write(work.join("test.sh"), TEST)?;
    let failed_before = !test_passes(stage).await?;
    stage.server.push(
        Turn::call("exec_command", json!({ "cmd": PATCH })).reasoning("The greeting is misspelt."),
    );
    stage
        .server
        .push(Turn::call("exec_command", json!({ "cmd": "sh test.sh" })));
    stage
        .server
        .push(Turn::text("greet.sh says Hello now; the test passes."));
    stage.exec("guarded", "fix the failing test").await?;
    let passes = test_passes(stage).await?;
    let said = |failed: bool| if failed { "fails" } else { "passes" };
    Ok(Outcome {
        held: failed_before && passes,
        lines: vec![format!(
            "sh test.sh: {} before, {} after",
            said(failed_before),
            said(!passes)
        )],
    })
}

async fn test_passes(stage: &Stage) -> Result<bool> {
    let mut command = Command::new("sh");
    command.arg("test.sh").current_dir(stage.path("work"));
    Ok(process::run(&mut command, Duration::from_secs(10))
        .await?
        .status
        .success())
}

/// Plays the forbidden command in `home`: whether the file is still there, and what the model read.
async fn forbidden(stage: &Stage, home: &str) -> Result<(bool, String)> {
    let junk = stage.path("work").join("junk.txt");
    fs_err::write(&junk, "precious\n")?;
    stage
        .server
        .push(Turn::call("exec_command", json!({ "cmd": FORBIDDEN })));
    stage.server.push(Turn::text("I am done."));
    stage.exec(home, "clean up").await?;
    let answer = last_answer(stage).unwrap_or_default();
    Ok((junk.exists(), answer))
}

async fn rules_only(stage: &Stage) -> Result<Outcome> {
    let (exists, _) = forbidden(stage, "rules-only").await?;
    Ok(Outcome {
        held: !exists,
        lines: vec![format!(
            "junk.txt is {}",
            if exists { "still there" } else { "gone" }
        )],
    })
}

async fn guarded(stage: &Stage) -> Result<Outcome> {
    let (exists, answer) = forbidden(stage, "guarded").await?;
    let denied = answer.contains("blocked by PreToolUse hook");
    Ok(Outcome {
        held: exists && denied,
        lines: vec![
            format!(
                "junk.txt is {}",
                if exists { "still there" } else { "gone" }
            ),
            format!("the model read: {}", shorten(&answer)),
        ],
    })
}

async fn mcp_call(stage: &Stage) -> Result<Outcome> {
    stage.server.push(Turn::mcp_call(
        "mcp__fetch",
        "fetch",
        json!({ "url": stage.page.url() }),
    ));
    stage.server.push(Turn::text("In drawer 7."));
    stage.exec(MCP_HOME, "where is the spare cable?").await?;
    let answer = last_answer(stage).unwrap_or_default();
    Ok(Outcome {
        held: answer.contains(page::CONTENT),
        lines: vec![format!(
            "the model read: {}",
            shorten(
                answer
                    .split_once("Output:")
                    .map_or(answer.as_str(), |(_, output)| output)
            )
        )],
    })
}

/// The output of the last tool call, as the last request told the model.
fn last_answer(stage: &Stage) -> Option<String> {
    let request = stage.server.model_requests().pop()?;
    let body: serde_json::Value = serde_json::from_slice(&request.body).ok()?;
    let output = body["input"]
        .as_array()?
        .iter()
        .rev()
        .find(|item| item["type"] == "function_call_output")?
        .get("output")?;
    // A shell's output is a text, an MCP server's a list of them.
    let parts = output.as_array().map(|parts| {
        parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n")
    });
    parts.or_else(|| output.as_str().map(str::to_owned))
}

fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 180 {
        return line;
    }
    line.chars().take(177).chain("...".chars()).collect()
}

/// The bytes of the request for "hi".
pub(super) struct Sizes {
    pub(super) plain: usize,
    pub(super) ours: usize,
    pub(super) with_mcp: Option<usize>,
}

/// A home with nothing but the provider: Codex as it comes.
pub(super) fn plain_home(stage: &Stage) -> Result<()> {
    let config = format!(
        "model = \"deepseek-v4-flash-cc\"\nmodel_provider = \"demo\"\n\n[model_providers.demo]\nname = \"demo\"\n\
         base_url = \"{}\"\nwire_api = \"responses\"\n\n[features]\nunbounded_connection_retries = false\n",
        stage.server.base_url()
    );
    fs_err::write(stage.path("plain/config.toml"), config)?;
    Ok(())
}

pub(super) async fn sizes(stage: &Stage) -> Result<Sizes> {
    let last = || {
        let request = stage
            .server
            .model_requests()
            .pop()
            .context("a request was made")?;
        anyhow::Ok(request.body.len())
    };
    stage.server.push(Turn::text("Hello."));
    stage.turn(stage.plain("plain"), "hi").await?;
    let plain = last()?;
    stage.server.push(Turn::text("Hello."));
    stage.exec("guarded", "hi").await?;
    let ours = last()?;
    let with_mcp = if stage.mcp.is_some() {
        stage.server.push(Turn::text("Hello."));
        stage.exec(MCP_HOME, "hi").await?;
        Some(last()?)
    } else {
        None
    };
    Ok(Sizes {
        plain,
        ours,
        with_mcp,
    })
}
