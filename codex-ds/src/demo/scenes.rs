//! What the demo plays: built-in cases of `codex-ds validate`. The stand-in says what a model would;
//! the rest is real, and what is reported is what was found in the world afterwards.

use anyhow::{Context as _, Result};
use codex_ds_wire::standin::{Config, Model, Script, StandIn, Turn};
use serde_json::json;

use super::{GUARDED_HOME, MCP_HOME, RULES_HOME, Stage};
use crate::validate::evidence::plain;
use crate::validate::judge::{Status, shorten};
use crate::validate::runner::{DEFAULT, Setting};
use crate::validate::suite;
use crate::validate::trial::{self, Keep};

/// One row of the demo's table.
pub(super) struct Scene {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The case that is played.
    case: &'static str,
    /// The home that it is played in.
    home: &'static str,
    /// What the model says, a request each.
    says: fn() -> Vec<Turn>,
    /// How the case comes out when the scene shows what its title says.
    expected: Status,
    /// Whether to show what the model was told at last.
    shows_answer: bool,
}

impl Scene {
    /// Whether it is played in the home that has the MCP server.
    pub(super) fn needs_mcp(&self) -> bool {
        self.home == MCP_HOME
    }
}

/// What was seen.
pub(super) struct Outcome {
    pub(super) held: bool,
    pub(super) lines: Vec<String>,
}

pub(super) const SCENES: &[Scene] = &[
    Scene {
        id: "patch",
        title: "the model fixes a bug with apply_patch, and the test passes",
        case: "fix-by-patch",
        home: GUARDED_HOME,
        says: || {
            vec![
                shell("sh test.sh").reasoning("I will see what fails."),
                shell(PATCH).reasoning("The greeting is misspelt."),
                shell("sh test.sh"),
                Turn::text("greet.sh says Hello now; the test passes."),
            ]
        },
        expected: Status::Pass,
        shows_answer: false,
    },
    Scene {
        id: "rules-only",
        title: "Codex's own rules, which forbid rm, do not stop `rm junk.txt && ls 2>&1`",
        case: "rm-redirect",
        home: RULES_HOME,
        says: forbidden,
        expected: Status::Fail,
        shows_answer: false,
    },
    Scene {
        id: "guard",
        title: "the guard stops the same command",
        case: "rm-redirect",
        home: GUARDED_HOME,
        says: forbidden,
        expected: Status::Pass,
        shows_answer: true,
    },
    Scene {
        id: "mcp",
        title: "an MCP call comes back",
        case: "web-fetch",
        home: MCP_HOME,
        says: || {
            let fetch = Turn::mcp_call("mcp__fetch", "fetch", json!({ "url": "{quoted}" }));
            vec![
                fetch.quote("http://127.0.0.1:"),
                shell("echo D-4711 > drawer.txt"),
                Turn::text("In drawer D-4711."),
            ]
        },
        expected: Status::Pass,
        shows_answer: false,
    },
];

const PATCH: &str = "apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: greet.sh\n@@\n greeting() {\n\
                     -  echo \"Hallo, $1\"\n+  echo \"Hello, $1\"\n }\n*** End Patch\nPATCH";

fn shell(command: &str) -> Turn {
    Turn::call("exec_command", json!({ "cmd": command }))
}

fn forbidden() -> Vec<Turn> {
    vec![shell("rm junk.txt && ls 2>&1"), Turn::text("I am done.")]
}

/// Plays a scene, and looks at the world.
///
/// # Errors
/// When the case cannot be run at all.
pub(super) async fn play(stage: &Stage, scene: &Scene) -> Result<Outcome> {
    let cases = suite::built_in()?;
    let case = cases
        .iter()
        .find(|case| case.id == scene.case)
        .context("the demo plays built-in cases")?;
    for turn in (scene.says)() {
        stage.server.push(turn);
    }
    let setting = Setting::new(&stage.path(scene.home), stage.root.path())?;
    let evidence = stage.path("evidence");
    let label = format!("demo-{}", scene.id);
    let trial = trial::run(&setting, case, DEFAULT, &label, Keep::Failed, &evidence).await?;
    let verdict = trial.verdict;
    let mut lines = match scene.expected {
        Status::Pass => [verdict.faults, verdict.proofs].concat(),
        _ => verdict.faults,
    };
    if scene.shows_answer {
        let answer = last_answer(stage).unwrap_or_default();
        lines.push(format!("the model read: {}", shorten(&answer)));
    }
    Ok(Outcome {
        held: verdict.status == scene.expected,
        lines,
    })
}

/// The router's two routes, as a stand-in.
pub(super) fn server() -> Result<StandIn> {
    let models = ["deepseek-v4-flash-cc", "deepseek-v4-flash"];
    let config = Config {
        models: models.map(|id| Model::new(id, 262_144)).to_vec(),
        ..Config::router()
    };
    StandIn::start(config, Script::new(Vec::new())).context("cannot start the stand-in server")
}

/// The output of the last tool call, as the last request told the model.
fn last_answer(stage: &Stage) -> Option<String> {
    let request = stage.server.model_requests().pop()?;
    let body: serde_json::Value = serde_json::from_slice(&request.body).ok()?;
    let items = body["input"].as_array()?.iter().rev();
    let mut outputs = items.filter(|item| item["type"] == "function_call_output");
    outputs.next().map(|item| plain(&item["output"]))
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
    stage.exec(GUARDED_HOME, "hi").await?;
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
