//! `codex-ds trust`: which repositories' own Codex configuration counts.
//!
//! A repository's `.codex` counts only for who said so here, after seeing what it changes, and only
//! as long as it is what was shown. [`crate::launch`] pins everything else untrusted.

mod effects;
mod list;
mod snapshot;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::json;

pub use effects::{Effect, Weight};
pub(crate) use effects::{of as effects_of, plain};
pub use list::{Entry, NAME, Standing, TrustList};
pub use snapshot::{Snapshot, SnapshotError};

use crate::error::UserError;
use crate::file::Lock;
use crate::home::HomeArg;
use crate::project;
use crate::{exit, home, ui};

/// The version of the JSON that this command prints.
const SCHEMA_VERSION: u32 = 1;

/// `codex-ds trust`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A repository's .codex folder can drop the sandbox and start programs. It counts only after this
command, until its content changes. AGENTS.md is always read.

Exit codes: 0 done, or nothing to trust; 1 you said no; 2 wrong usage; 3 no profile yet

Examples:
  codex-ds trust                 show what this repository's .codex changes, then ask
  codex-ds trust --list
  codex-ds trust --revoke .")]
pub struct Args {
    /// A folder of the repository: the .codex folders from its root down to here are trusted
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Show which folders are trusted
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes"])]
    list: bool,
    /// Trust this folder, and all below it, no longer
    #[arg(long, value_name = "PATH", conflicts_with_all = ["path", "yes"])]
    revoke: Option<PathBuf>,
    /// Trust without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON; asks nothing, so that without --yes it only shows
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArg,
}

/// Runs `codex-ds trust`.
///
/// # Errors
/// When there is no profile, when the path is none that can be trusted, or when the list cannot be
/// read or written.
pub fn run(args: &Args) -> Result<u8> {
    let home = home::wanted(args.home.home.as_deref())?;
    let home = home.canonicalize().unwrap_or(home);
    if args.list {
        list(&home, args.json)
    } else if let Some(path) = &args.revoke {
        revoke(&home, path, args.json)
    } else {
        trust(&home, args)
    }
}

/// A folder with a `.codex`, and what it holds.
struct Layer {
    folder: PathBuf,
    snapshot: Snapshot,
    effects: Vec<Effect>,
}

fn trust(home: &Path, args: &Args) -> Result<u8> {
    if !home.is_dir() {
        return Err(
            UserError::not_ready(format!("there is no profile in {}", home.display()))
                .hint("make one: codex-ds setup --endpoint URL")
                .into(),
        );
    }
    let path = args.path.canonicalize().map_err(|error| {
        UserError::usage(format!("cannot use {}: {error}", args.path.display()))
            .hint("name a folder of the repository")
    })?;
    let layers = layers(home, &path)?;
    let ask = !args.yes && !args.json && !layers.is_empty();
    if !args.json {
        ui::out(&describe(&path, &layers));
    }
    if ask && !ui::agreed("Let this count?")? {
        ui::out("Not trusted.\n");
        return Ok(exit::FAILURE);
    }
    let trusted = args.yes || ask;
    if trusted && !layers.is_empty() {
        let _lock = Lock::take(home)?;
        let mut list = TrustList::load(home)?;
        for layer in &layers {
            list.add(Entry {
                path: layer.folder.clone(),
                sha256: layer.snapshot.digest().to_owned(),
            });
        }
        list.save(home)?;
    }
    if args.json {
        let folders: Vec<_> = layers
            .iter()
            .map(|layer| {
                json!({
                    "path": layer.folder,
                    "sha256": layer.snapshot.digest(),
                    "effects": layer.effects,
                    "trusted": trusted,
                })
            })
            .collect();
        ui::json(&json!({ "schema_version": SCHEMA_VERSION, "folders": folders }));
    } else if trusted && !layers.is_empty() {
        ui::out(
            "Trusted, until its content changes. To take it back: codex-ds trust --revoke PATH\n",
        );
    }
    Ok(exit::OK)
}

fn layers(home: &Path, path: &Path) -> Result<Vec<Layer>> {
    let codex_home = home::user_home()?.join(project::DOT_CODEX);
    project::layers(path)
        .into_iter()
        .map(|folder| {
            let dot_codex = folder.join(project::DOT_CODEX);
            // Codex takes the user's own ~/.codex for a repository's when it is started in the home
            // folder with another CODEX_HOME.
            if [codex_home.as_path(), home].contains(&dot_codex.as_path()) {
                return Err(UserError::usage(format!("{} is no repository's", dot_codex.display()))
                    .hint("name a folder of the repository")
                    .into());
            }
            if folder.to_str().is_none() {
                return Err(UserError::usage(format!("{} is not UTF-8", folder.display()))
                    .hint("rename the folder: Codex tells folders apart by text")
                    .into());
            }
            let snapshot = Snapshot::read(&folder).map_err(|error| {
                UserError::usage(format!("{} cannot be trusted", dot_codex.display()))
                    .hint("a .codex is trusted only as a few plain files, so that a change is noticed")
                    .because(error)
            })?;
            Ok(Layer { effects: effects::of(&snapshot), folder, snapshot })
        })
        .collect()
}

fn describe(path: &Path, layers: &[Layer]) -> String {
    let mut text = String::new();
    if layers.is_empty() {
        let _ = writeln!(
            text,
            "Nothing to trust: no .codex from the root of the repository down to {}.",
            effects::plain(&path.to_string_lossy())
        );
    }
    for layer in layers {
        let shown = effects::plain(&layer.folder.join(project::DOT_CODEX).to_string_lossy());
        let _ = writeln!(text, "{shown}");
        if layer.effects.is_empty() {
            text.push_str("  changes nothing\n");
        }
        for effect in &layer.effects {
            let mark = match effect.weight {
                Weight::Danger => '!',
                Weight::Change => '~',
                Weight::Nothing => ' ',
            };
            let _ = writeln!(text, "{mark} {}\n    {}", effect.source, effect.text);
        }
    }
    if layers.iter().any(|layer| {
        layer
            .effects
            .iter()
            .any(|effect| effect.weight == Weight::Danger)
    }) {
        text.push_str("\n! weakens the profile or runs something. The guard stays on.\n");
    }
    text
}

fn list(home: &Path, json: bool) -> Result<u8> {
    let list = TrustList::load(home)?;
    let state = |entry: &Entry| match list.standing(&entry.path) {
        Standing::Trusted => "trusted".to_owned(),
        Standing::Changed(why) => format!("no longer: {why}"),
        Standing::Unknown => "unknown".to_owned(),
    };
    if json {
        let folders: Vec<_> = list
            .entries()
            .iter()
            .map(|entry| {
                let trusted = list.standing(&entry.path) == Standing::Trusted;
                json!({ "path": entry.path, "sha256": entry.sha256, "trusted": trusted, "state": state(entry) })
            })
            .collect();
        ui::json(&json!({ "schema_version": SCHEMA_VERSION, "folders": folders }));
    } else if list.entries().is_empty() {
        ui::out("No repository is trusted.\n");
    } else {
        for entry in list.entries() {
            ui::out(&format!(
                "{}  {}\n",
                effects::plain(&entry.path.to_string_lossy()),
                state(entry)
            ));
        }
    }
    Ok(exit::OK)
}

fn revoke(home: &Path, path: &Path, json: bool) -> Result<u8> {
    let absolute = std::path::absolute(path).context("cannot resolve the path")?;
    // A repository that is gone can still be taken off the list.
    let real = home::real_path(&absolute)?;
    let (removed, known) = if home.is_dir() {
        let _lock = Lock::take(home)?;
        let mut list = TrustList::load(home)?;
        let removed = list.remove(|entry| entry.starts_with(&real));
        if !removed.is_empty() {
            list.save(home)?;
        }
        (removed, list)
    } else {
        (Vec::new(), TrustList::default())
    };
    if removed.is_empty() {
        let known: Vec<_> = known
            .entries()
            .iter()
            .map(|entry| entry.path.display().to_string())
            .collect();
        return Err(
            UserError::usage(format!("nothing at or below {} is trusted", real.display()))
                .hint(if known.is_empty() {
                    "no repository is".into()
                } else {
                    format!("trusted: {}", known.join(", "))
                })
                .into(),
        );
    }
    if json {
        let paths: Vec<_> = removed.iter().map(|entry| &entry.path).collect();
        ui::json(&json!({ "schema_version": SCHEMA_VERSION, "revoked": paths }));
    } else {
        for entry in &removed {
            ui::out(&format!(
                "{}  no longer trusted\n",
                effects::plain(&entry.path.to_string_lossy())
            ));
        }
    }
    Ok(exit::OK)
}
