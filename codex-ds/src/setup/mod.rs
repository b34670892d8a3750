//! `codex-ds setup`: writes or refreshes the profile.
//!
//! ```text
//! Args + the last receipt ─▶ choices ─▶ decide (asks the endpoint) ─▶ Decisions
//! Decisions ─▶ profile::files ─▶ plan::make ─▶ Plan ─▶ show, or apply ─▶ verify with Codex
//! ```

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use codex_ds_catalog as catalog;

use crate::codex::{self, Codex};
use crate::error::UserError;
use crate::file::{self, Lock};
use crate::home::HomeArg;
use crate::{exit, home, ui};

pub mod apply;
pub mod block;
pub(crate) mod decide;
pub mod endpoint;
pub mod guard_entry;
pub mod hook_groups;
pub mod leaves;
mod mask;
pub mod merge;
pub mod plan;
pub mod profile;
pub mod receipt;
mod repair;
mod report;
mod servers;
pub(crate) mod strangers;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use repair::{Repair, repair};

use plan::Plan;
use receipt::{Choices, Receipt};

/// Write or refresh the profile
///
/// Asks the endpoint what it serves, then writes a complete Codex configuration into a folder of
/// its own: model catalog, instructions, rules, the guard and its trust entry, three profiles
/// (default, native, fast). Run it again at any time: what you changed stays yours and is named,
/// and options that you leave away keep their last value.
#[derive(Clone, Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(after_help = "\
Examples:
  codex-ds setup --endpoint http://192.168.1.20:4000/v1
  codex-ds setup --endpoint http://spark-1:8000/v1 --context 65536 --preset dev
  codex-ds setup --endpoint https://llm.lab/v1 --api-key-env LAB_KEY --mcp none
  codex-ds setup --from-site site.toml
  codex-ds setup --dry-run

Exit codes: 0 done or unchanged; 1 failed; 2 wrong usage, or --dry-run found changes; 3 not ready
(no usable Codex, or another codex-ds is at work in this profile)")]
pub struct Args {
    /// The LiteLLM or vLLM address [default: as last time; asked for on a terminal]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Take address, models, window and key from a site of `codex-ds deploy`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["endpoint", "native_endpoint"])]
    pub from_site: Option<PathBuf>,
    /// The address for `-p native`, where it is not the same
    #[arg(long, value_name = "URL")]
    pub native_endpoint: Option<String>,
    /// The model of the default profile [default: the router's -cc route, or what is served]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The model of `-p native` [default: the same without -cc]
    #[arg(long, value_name = "NAME")]
    pub native_model: Option<String>,
    /// The profile's folder.
    #[command(flatten)]
    pub home: HomeArg,
    /// The Codex to use [default: the one on PATH]
    #[arg(long, value_name = "PATH")]
    pub codex: Option<PathBuf>,
    /// The environment variable that holds the server's key
    #[arg(long, value_name = "NAME", conflicts_with = "api_key_file")]
    pub api_key_env: Option<String>,
    /// A file of mode 0600 that holds the server's key
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Go back to no key
    #[arg(long, conflicts_with_all = ["api_key_env", "api_key_file"])]
    pub no_api_key: bool,
    /// Tokens of context to use [default: 131072, or 90 % of the server's limit if that is lower]
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<u64>,
    /// MCP servers: none, or a list of fetch and search [default: fetch,search]
    #[arg(long, value_name = "LIST")]
    pub mcp: Option<String>,
    /// What the guard lets pass: lab (nothing that cannot be taken back) or dev [default: lab]
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<String>,
    /// Leave the guard out
    #[arg(long)]
    pub no_guard: bool,
    /// Put the guard back in
    #[arg(long, conflicts_with = "no_guard")]
    pub guard: bool,
    /// Leave the guard's trust to Codex's /hooks
    #[arg(long)]
    pub no_trust: bool,
    /// Write the guard's trust again
    #[arg(long, conflicts_with = "no_trust")]
    pub trust: bool,
    /// Ask nobody on the network: take the options as they are
    #[arg(long)]
    pub offline: bool,
    /// Show what would change as a diff; exit code 2 if anything would
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When an option or a file is wrong, the endpoint does not answer, or a file cannot be written.
/// Nothing has been written then, but for the last case, which a re-run repairs.
pub fn run(args: &Args) -> Result<u8> {
    let home = home::checked(&home::wanted(args.home.home.as_deref())?)?;
    let receipts = Receipt::load(&home)?;
    let site = args
        .from_site
        .as_deref()
        .map(|path| site(path, args))
        .transpose()?;
    let args = &site.unwrap_or_else(|| args.clone());
    let choices = choices(args, receipts.latest().map(|receipt| &receipt.choices))?;
    let (codex, pinned) = find_codex(args, receipts.latest())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let servers = servers::wanted(&choices)?;
    let mut decided = runtime.block_on(decide::decide(&choices, args.offline))?;

    let mut receipt = Receipt::new(&home);
    receipt.created_home = !home.exists();
    receipt.codex = codex
        .as_ref()
        .map(|codex| plan::codex_record(codex, pinned));
    receipt.choices = choices.clone();
    let folder = servers::Folder::of(&home, &receipts);
    if !servers.is_empty() && folder == servers::Folder::Ours {
        receipt.trees = vec![receipt::MCP.to_owned()];
    }
    if args.dry_run {
        decided.decisions.mcp = servers::expected(&servers, &home);
        let plan = make(&home, &decided, receipt)?;
        report::dry_run(args, &home, &plan);
        return Ok(if plan.changes_anything() {
            exit::CHANGES
        } else {
            exit::OK
        });
    }

    make_home(&home)?;
    let lock = Lock::take(&home)?;
    if !receipt.trees.is_empty() && !home.join(receipt::MCP).exists() {
        // So that `undo` finds the folder, whatever happens while it is filled.
        apply::announce(&home, &receipt)?;
    }
    let named = choices.mcp.is_some();
    decided.decisions.mcp = runtime.block_on(servers::provide(
        &servers,
        &home,
        folder,
        args.offline,
        named,
        &mut decided.notes,
    ))?;
    // Only now is it certain that nobody else writes what the plan is made from.
    let mut plan = make(&home, &decided, receipt)?;
    apply::apply(&home, &plan, &mut |_| ControlFlow::Continue(()))?;
    let verified = runtime.block_on(verify::verify(&home, codex.as_ref(), &mut plan))?;
    drop(lock);
    let done = report::Done {
        home: &home,
        decided: &decided,
        codex: codex.as_ref(),
        plan: &plan,
        verified: &verified,
    };
    report::done(args.json, &done);
    Ok(if verified.failed() {
        exit::FAILURE
    } else {
        exit::OK
    })
}

fn make(home: &Path, decided: &decide::Decided, receipt: Receipt) -> Result<Plan> {
    let guard = plan::Guard {
        command: (!receipt.choices.no_guard).then(|| profile::hook_command(home)),
        trust: !receipt.choices.no_trust,
    };
    let wanted = profile::files(&decided.decisions, hook_program()?)?;
    let read = |name: &str| file::read_optional(&home.join(name));
    plan::make(home, wanted, &guard, &Receipt::load(home)?, receipt, read)
}

fn choices(args: &Args, last: Option<&Choices>) -> Result<Choices> {
    let last = last.cloned().unwrap_or_default();
    let new_key = args.api_key_env.is_some() || args.api_key_file.is_some() || args.no_api_key;
    // Another endpoint serves other models: what was chosen for the old one does not hold.
    let address = |text: &Option<String>| {
        text.as_deref()
            .map(|text| endpoint::base_url("", text).ok())
    };
    let moved = args.endpoint.is_some() && address(&args.endpoint) != address(&last.endpoint);
    let kept = |value: &Option<String>| if moved { None } else { value.clone() };
    let api_key_file = match &args.api_key_file {
        Some(path) => Some(
            std::path::absolute(path)
                .with_context(|| format!("cannot resolve {}", path.display()))?,
        ),
        None if new_key => None,
        None => last.api_key_file.clone(),
    };
    let mut choices = Choices {
        endpoint: args.endpoint.clone().or(last.endpoint.clone()),
        native_endpoint: args
            .native_endpoint
            .clone()
            .or_else(|| kept(&last.native_endpoint)),
        model: args.model.clone().or_else(|| kept(&last.model)),
        native_model: args
            .native_model
            .clone()
            .or_else(|| kept(&last.native_model)),
        context: args.context.or(if moved { None } else { last.context }),
        api_key_env: args
            .api_key_env
            .clone()
            .or(if new_key { None } else { last.api_key_env }),
        api_key_file,
        mcp: args.mcp.clone().or(last.mcp),
        preset: args.preset.clone().or(last.preset),
        no_guard: args.no_guard || (last.no_guard && !args.guard),
        no_trust: args.no_trust || (last.no_trust && !args.trust),
    };
    if choices.endpoint.is_none() {
        choices.endpoint = ask_endpoint(args)?;
    }
    Ok(choices)
}

/// The arguments with what the site says in place of what was left away, so that one file drives both
/// halves of the stack.
fn site(path: &Path, args: &Args) -> Result<Args> {
    let endpoint = crate::deploy::load(path)?.endpoint();
    let window = catalog::window(Some(endpoint.window), args.context).map_err(|error| {
        UserError::usage(format!("--context: {error}")).hint(format!(
            "{} serves {} tokens",
            path.display(),
            endpoint.window
        ))
    })?;
    let model = endpoint.models.first().cloned();
    // Of two routes the second is the server's own API.
    let native = endpoint.models.get(1).cloned().or_else(|| model.clone());
    let keyless = args.api_key_env.is_none() && args.api_key_file.is_none() && !args.no_api_key;
    let key = if keyless {
        endpoint.key_env.map(str::to_owned)
    } else {
        None
    };
    Ok(Args {
        endpoint: Some(endpoint.url),
        model: args.model.clone().or(model),
        native_model: args.native_model.clone().or(native),
        context: Some(window.context),
        api_key_env: args.api_key_env.clone().or(key),
        ..args.clone()
    })
}

fn ask_endpoint(args: &Args) -> Result<Option<String>> {
    if ui::can_ask() && !args.yes {
        let question =
            "The address of your LiteLLM or vLLM (for example http://192.168.1.20:4000/v1): ";
        if let Some(answer) = ui::ask(question)? {
            return Ok(Some(answer));
        }
    }
    Err(
        UserError::usage("no endpoint: where is your LiteLLM router or vLLM server?")
            .hint("for example: codex-ds setup --endpoint http://192.168.1.20:4000/v1")
            .hint("no server at hand? `codex-ds demo` shows everything on a built-in stand-in")
            .into(),
    )
}

/// Finds Codex. None on PATH is no failure: the profile can be written without it.
fn find_codex(args: &Args, last: Option<&Receipt>) -> Result<(Option<Codex>, bool)> {
    let pinned = args.codex.clone().or_else(|| {
        let record = last?.codex.as_ref()?;
        record.pinned.then(|| record.path.clone())
    });
    let path = match codex::find(pinned.as_deref(), std::env::var_os("PATH").as_deref()) {
        Ok(path) => path,
        Err(error) if pinned.is_some() => return Err(error),
        Err(_) => return Ok((None, false)),
    };
    Ok((Some(codex::inspect(&path)?), pinned.is_some()))
}

/// The guard's program: it is installed beside this one.
fn hook_program() -> Result<Vec<u8>> {
    let name = format!("codex-ds-hook{}", std::env::consts::EXE_SUFFIX);
    let ours = std::env::current_exe().context("cannot tell where codex-ds itself is")?;
    let ours = ours.canonicalize().unwrap_or(ours);
    let path = ours.with_file_name(&name);
    file::read_optional(&path)?.ok_or_else(|| {
        UserError::not_ready(format!(
            "{} is missing: the guard belongs beside codex-ds",
            path.display()
        ))
        .hint("install both: cargo install --path codex-ds")
        .into()
    })
}

fn make_home(home: &Path) -> Result<()> {
    #[cfg(unix)]
    let made = !home.exists();
    fs_err::create_dir_all(home).map_err(|error| {
        UserError::usage(format!(
            "cannot make the profile's folder {}",
            home.display()
        ))
        .because(error)
        .hint("name a folder that you can write with --home DIR")
    })?;
    #[cfg(unix)]
    if made {
        use std::os::unix::fs::PermissionsExt as _;
        fs_err::set_permissions(home, std::fs::Permissions::from_mode(0o700))?;
    }
    tempfile::tempfile_in(home).map_err(|error| {
        UserError::usage(format!("cannot write in {}", home.display()))
            .because(error)
            .hint("make it writable, or name another folder with --home DIR")
    })?;
    Ok(())
}
