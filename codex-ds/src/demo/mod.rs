//! `codex-ds demo`: the whole product in a minute, on a built-in endpoint, in a temporary home, with
//! the real Codex. Every line of its table is a side effect that was looked at, never a claim.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use codex_ds_mcp as mcp;
use codex_ds_wire::standin::StandIn;
use serde_json::{Value as Json, json};
use tokio::process::Command;

use crate::codex::{self, Codex};
use crate::error::UserError;
use crate::{bench, env, exit, home, process, ui};

mod scenes;

use scenes::Outcome;

/// See everything work: set-up, a guarded turn, a denied rm, an MCP call, the request's size
///
/// Needs no GPU, no account and no model: a built-in server plays one. The Codex is real; if there
/// is none on PATH, the pinned version is fetched with npm into the cache folder, and so is the MCP
/// server with pip. All else happens in a temporary folder, which is removed at the end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds demo
  codex-ds demo --codex /usr/local/bin/codex
  codex-ds demo --json

Exit codes: 0 everything held; 1 something did not; 3 Codex or the MCP server cannot be had")]
pub struct Args {
    /// The Codex to use [default: the one on PATH, else fetched]
    #[arg(long, value_name = "PATH")]
    codex: Option<PathBuf>,
    /// Leave the MCP call out, which needs python3
    #[arg(long)]
    no_mcp: bool,
    /// Keep the temporary folder, and name it
    #[arg(long)]
    keep: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The home with everything but MCP servers.
const GUARDED_HOME: &str = "guarded";
/// The home without the guard: Codex's own rules alone.
const RULES_HOME: &str = "rules-only";
/// The home that has the MCP server.
const MCP_HOME: &str = "mcp";

/// How long one program of the demo may take.
const LIMIT: Duration = Duration::from_secs(90);

/// Runs the command.
///
/// # Errors
/// When Codex or the MCP server cannot be had, or a part of the demo cannot be run at all.
pub fn run(args: &Args) -> Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            result = demo(args) => result,
            () = process::told_to_end() => {
                Err(UserError::new("interrupted; the temporary folder is removed").into())
            }
        }
    })
}

async fn demo(args: &Args) -> Result<u8> {
    let begun = Instant::now();
    let cache = home::cache_folder()?;
    let codex = find_codex(args, &cache).await?;
    let servers = if args.no_mcp {
        None
    } else {
        fetch_server(&cache).await?
    };
    let stage = Stage::build(&cache, codex, servers).await?;
    let mut outcomes = Vec::new();
    for scene in scenes::SCENES {
        if scene.needs_mcp() && stage.mcp.is_none() {
            continue;
        }
        let _progress = ui::progress(scene.title);
        outcomes.push((scene, scenes::play(&stage, scene).await?));
    }
    let sizes = scenes::sizes(&stage).await?;
    let rates = bench::sample().await?;
    let seconds = begun.elapsed().as_secs_f64();
    let held = outcomes.iter().all(|(_, outcome)| outcome.held);
    if args.json {
        ui::json(&report_json(&stage, &outcomes, &sizes, rates, held));
    } else {
        ui::out(&report_text(&stage, &outcomes, &sizes, rates, seconds));
    }
    if args.keep {
        ui::err(&format!("kept: {}\n", stage.keep().display()));
    }
    Ok(if held { exit::OK } else { exit::FAILURE })
}

async fn find_codex(args: &Args, cache: &Path) -> Result<Codex> {
    let path = std::env::var_os("PATH");
    match codex::find(args.codex.as_deref(), path.as_deref()).and_then(|path| codex::inspect(&path))
    {
        Ok(codex) => return Ok(codex),
        Err(error) if args.codex.is_some() => return Err(error),
        Err(error) => ui::err(&format!("no usable Codex on PATH: {error}\n")),
    }
    let folder = cache.join("codex").join(codex::NEWEST.to_string());
    let program = folder.join("node_modules/.bin/codex");
    if !program.is_file() {
        ui::err(&format!(
            "fetching Codex {} with npm into {} (about 420 MB, once)\n",
            codex::NEWEST,
            folder.display()
        ));
        fetch_codex(&folder).await?;
    }
    codex::inspect(&program)
}

/// Installs beside the folder and renames, so that a folder that is there is whole.
async fn fetch_codex(folder: &Path) -> Result<()> {
    let parent = folder.parent().context("a cache folder has a parent")?;
    fs_err::create_dir_all(parent)?;
    let partial = tempfile::Builder::new()
        .prefix(".fetch-")
        .tempdir_in(parent)?;
    let npm = which::which("npm").map_err(|_| {
        UserError::not_ready("there is no codex on PATH, and no npm to fetch it with")
            .hint("install Node.js, which brings npm, and run this again")
            .hint("or name a Codex that you have: codex-ds demo --codex PATH")
    })?;
    let package = format!("@openai/codex@{}", codex::NEWEST);
    let _progress = ui::progress(&format!("npm install {package}"));
    let output = process::run(
        Command::new(npm)
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
            ])
            .arg(partial.path())
            .arg(&package),
        Duration::from_secs(600),
    )
    .await?;
    if !output.status.success() {
        return Err(
            UserError::not_ready(format!("npm could not install {package}"))
                .because(String::from_utf8_lossy(&output.stderr).trim().to_owned())
                .hint("is the npm registry reachable from here?")
                .into(),
        );
    }
    match std::fs::rename(partial.path(), folder) {
        // Another one was faster; what it fetched is the same.
        Err(_) if folder.is_dir() => Ok(()),
        other => other.with_context(|| format!("cannot make {}", folder.display())),
    }
}

/// Installs the fetch server into the cache, once. Without python3 the demo goes on without it.
async fn fetch_server(cache: &Path) -> Result<Option<PathBuf>> {
    let folder = cache.join("mcp");
    let servers = mcp::parse_list("fetch")?;
    if !folder.is_dir() {
        ui::err(&format!(
            "fetching the MCP server with pip into {} (once)\n",
            folder.display()
        ));
    }
    let progress = ui::progress("looking for the MCP server");
    match mcp::install(&folder, &servers, |line| progress.set(line)).await {
        Ok(_) => Ok(Some(folder)),
        Err(error) => {
            drop(progress);
            ui::warn(&format!(
                "the MCP call is left out: {error}; {}",
                error.remedy()
            ));
            Ok(None)
        }
    }
}

/// Where the demo plays: a temporary folder with three homes and a workspace, and the servers.
struct Stage {
    root: tempfile::TempDir,
    codex: Codex,
    server: StandIn,
    /// The folder of the MCP servers.
    mcp: Option<PathBuf>,
}

impl Stage {
    async fn build(cache: &Path, codex: Codex, mcp: Option<PathBuf>) -> Result<Self> {
        fs_err::create_dir_all(cache)?;
        let root = tempfile::Builder::new()
            .prefix("demo-")
            .tempdir_in(home::playground(cache))?;
        let stage = Self {
            server: scenes::server()?,
            root,
            codex,
            mcp,
        };
        for folder in ["user", "tmp", "work", "plain"] {
            fs_err::create_dir(stage.path(folder))?;
        }
        let _progress = ui::progress("codex-ds setup");
        stage.set_up(GUARDED_HOME, &[]).await?;
        stage.set_up(RULES_HOME, &["--no-guard"]).await?;
        if let Some(folder) = &stage.mcp {
            fs_err::create_dir(stage.path("mcp"))?;
            #[cfg(unix)]
            std::os::unix::fs::symlink(folder, stage.path("mcp/mcp"))?;
            stage
                .set_up(MCP_HOME, &["--mcp", "fetch", "--offline"])
                .await?;
        }
        scenes::plain_home(&stage)?;
        Ok(stage)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    async fn set_up(&self, home: &str, more: &[&str]) -> Result<()> {
        let mut command = self.ours();
        command
            .args([
                "setup",
                "--yes",
                "--endpoint",
                &self.server.base_url(),
                "--codex",
            ])
            .arg(&self.codex.path)
            .arg("--home")
            .arg(self.path(home))
            .args(more);
        if !more.contains(&"--mcp") {
            command.args(["--mcp", "none"]);
        }
        let output = process::run(&mut command, LIMIT).await?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(
            UserError::new("codex-ds setup failed in the demo's own home")
                .because(text)
                .into(),
        )
    }

    /// This program, in the demo's environment.
    fn ours(&self) -> Command {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("codex-ds"));
        self.quiet(Command::new(program))
    }

    /// Codex itself, without us, in the home `name`.
    fn plain(&self, name: &str) -> Command {
        let mut command = self.quiet(Command::new(&self.codex.path));
        command.env(env::CODEX_HOME, self.path(name));
        command
    }

    /// `codex-ds exec PROMPT` in the home `name`.
    async fn exec(&self, name: &str, prompt: &str) -> Result<()> {
        let mut command = self.ours();
        command.env(env::HOME, self.path(name));
        self.turn(command, prompt).await
    }

    async fn turn(&self, mut command: Command, prompt: &str) -> Result<()> {
        command
            .args(["exec", "--skip-git-repo-check", prompt])
            .current_dir(self.path("work"));
        let output = process::run(&mut command, LIMIT).await?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<&str> = text.lines().rev().take(8).collect();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
        Err(UserError::new(format!("codex exec {prompt:?} failed"))
            .because(tail)
            .into())
    }

    /// Nothing of the user's reaches the demo's programs, and nothing of theirs the user's home.
    fn quiet(&self, mut command: Command) -> Command {
        command
            .env("HOME", self.path("user"))
            .env("TMPDIR", self.path("tmp"))
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("no_proxy", "127.0.0.1,localhost")
            .env_remove(env::CODEX_HOME)
            .env_remove(env::HOME)
            .env_remove("OPENAI_API_KEY")
            .current_dir(self.path("work"));
        command
    }

    fn keep(self) -> PathBuf {
        self.root.keep()
    }
}

fn report_text(
    stage: &Stage,
    outcomes: &[(&scenes::Scene, Outcome)],
    sizes: &scenes::Sizes,
    (played, measured): (f64, f64),
    seconds: f64,
) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "codex-ds demo: Codex {} against a built-in stand-in for the model\n\n",
        stage.codex.version
    );
    for (scene, outcome) in outcomes {
        let mark = if outcome.held { "ok  " } else { "FAIL" };
        let _ = writeln!(text, "{mark}  {}", scene.title);
        for line in &outcome.lines {
            let _ = writeln!(text, "      {line}");
        }
    }
    let _ = writeln!(
        text,
        "\nsize of the request for \"hi\"\n      unmodified Codex   {:>7} bytes\n      this profile       {:>7} bytes",
        sizes.plain, sizes.ours
    );
    if let Some(with_mcp) = sizes.with_mcp {
        let _ = writeln!(text, "      with an MCP server {with_mcp:>7} bytes");
    }
    let _ = writeln!(
        text,
        "\nspeed of the stand-in, by codex-ds bench\n      played   {played:>6.1} tokens/s\n      measured {measured:>6.1} tokens/s"
    );
    let _ = writeln!(
        text,
        "\n{} of {} held, in {seconds:.0} s; nothing was left behind\nnext: codex-ds setup --endpoint http://YOUR-SERVER:4000/v1",
        outcomes.iter().filter(|(_, outcome)| outcome.held).count(),
        outcomes.len()
    );
    text
}

fn report_json(
    stage: &Stage,
    outcomes: &[(&scenes::Scene, Outcome)],
    sizes: &scenes::Sizes,
    (played, measured): (f64, f64),
    held: bool,
) -> Json {
    json!({
        "schema_version": 1,
        "codex": stage.codex.version.to_string(),
        "held": held,
        "scenes": outcomes
            .iter()
            .map(|(scene, outcome)| {
                json!({ "id": scene.id, "title": scene.title, "held": outcome.held, "evidence": outcome.lines })
            })
            .collect::<Vec<_>>(),
        "request_bytes": {
            "unmodified": sizes.plain,
            "profile": sizes.ours,
            "profile_with_mcp": sizes.with_mcp,
        },
        "tokens_per_second": { "played": played, "measured": measured },
    })
}
