//! `codex-ds undo`: removes exactly what set-up wrote, by the receipt. No network, no Codex.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;
use toml_edit::DocumentMut;

use crate::cli::HomeArg;
use crate::file::{self, Lock, Mode, sha256};
use crate::setup::receipt::{BACKUP, FileRecord, NAME, PENDING, Receipt, Receipts};
use crate::setup::{apply, block, guard_entry, merge, plan};
use crate::{exit, home, ui};

/// Remove exactly what set-up wrote
///
/// Goes by the receipt that set-up left, and needs neither network nor Codex. What was there before
/// the first set-up comes back byte for byte; a file or key that you changed stays and is named;
/// sessions and history are never touched. Safe to run again after an interruption.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds undo
  codex-ds undo --dry-run
  codex-ds undo --home ~/other-profile

Exit codes: 0 done, or nothing to do; 1 failed; 2 wrong usage, or --dry-run found something to do;
3 another codex-ds is at work in this profile")]
pub struct Args {
    #[command(flatten)]
    home: HomeArg,
    /// Say what would be done, and do nothing; exit code 2 if that is anything
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What is to be done with one file.
#[derive(Debug, PartialEq, Eq)]
enum Act {
    Remove,
    /// Put this content there.
    Restore(Vec<u8>),
    /// Leave what is not ours.
    Reduce(Vec<u8>),
    Keep,
}

#[derive(Debug)]
struct Step {
    name: String,
    act: Act,
    /// Keys of ours that the user changed and that stay, or a reason.
    kept: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When the receipt cannot be read, or a file cannot be removed or restored.
pub fn run(args: &Args) -> Result<u8> {
    let wanted = home::wanted(args.home.home.as_deref())?;
    let home = home::real_path(&wanted)?;
    let receipts = Receipt::load(&home)?;
    if receipts.latest().is_none() {
        let text = format!("nothing to undo: no receipt in {}\n", home.display());
        report(args, &home, &[], &[], "nothing", &text);
        return Ok(exit::OK);
    }
    let steps = steps(&home, &receipts)?;
    let trees = trees(&receipts);
    if args.dry_run {
        report(args, &home, &steps, &trees, "dry-run", "");
        return Ok(exit::CHANGES);
    }
    if !args.yes && ui::can_ask() {
        ui::err(&describe(&home, &steps, &trees, "would "));
        if !ui::confirm(&format!("Undo the set-up in {}?", home.display()))? {
            ui::err("nothing was changed\n");
            return Ok(exit::FAILURE);
        }
    }
    let lock = Lock::take(&home)?;
    carry_out(&home, &receipts, &steps, &trees)?;
    drop(lock);
    report(args, &home, &steps, &trees, "undone", "");
    Ok(exit::OK)
}

fn trees(receipts: &Receipts) -> Vec<String> {
    let mut trees: Vec<String> = [&receipts.complete, &receipts.pending]
        .into_iter()
        .flatten()
        .flat_map(|receipt| receipt.trees.iter().cloned())
        .collect();
    trees.sort();
    trees.dedup();
    trees
}

/// The files of all receipts, `config.toml` first.
fn names(receipts: &Receipts) -> Vec<String> {
    let mut names: Vec<String> = [&receipts.complete, &receipts.pending]
        .into_iter()
        .flatten()
        .flat_map(|receipt| receipt.files.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    names.sort_by_key(|name| name.as_str() != plan::CONFIG);
    names
}

/// What is to be done, `config.toml` first: it must not outlive what it names.
fn steps(home: &Path, receipts: &Receipts) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for name in &names(receipts) {
        let Some(now) = file::read_optional(&home.join(name))? else {
            continue;
        };
        let digest = sha256(&now);
        let Some(record) = receipts.record(name, Some(&digest)) else {
            continue;
        };
        if record.backup_sha256.as_ref() == Some(&digest) {
            continue;
        }
        steps.push(step(home, name, now, record)?);
    }
    Ok(steps)
}

fn step(home: &Path, name: &str, now: Vec<u8>, record: &FileRecord) -> Result<Step> {
    let mut step = Step {
        name: name.to_owned(),
        act: Act::Keep,
        kept: Vec::new(),
    };
    let original = original(home, name, record)?;
    if sha256(&now) == record.sha256 && !record.shared {
        step.act = match original {
            Some(bytes) => Act::Restore(bytes),
            None => Act::Remove,
        };
        return Ok(step);
    }
    let text = String::from_utf8(now).unwrap_or_default();
    let rest = if let Some(keys) = &record.keys {
        match plan::parse(&home.join(name), &text) {
            Ok(mut document) => {
                let mut kept = merge::unmerge(&mut document, keys, &record.replaced);
                if let Some(hook) = &record.hook
                    && guard_entry::take_out(&mut document, hook)
                {
                    kept.push("hooks.PreToolUse".to_owned());
                }
                step.kept = kept;
                Some(text_of(&document))
            }
            Err(error) => {
                step.kept = vec![format!("{error:#}")];
                None
            }
        }
    } else if let Some(ours) = &record.block_sha256 {
        match block::split(&text) {
            Some((_, there, _)) if sha256(there.as_bytes()) == *ours => Some(block::take(&text)),
            Some(_) => {
                step.kept = vec!["the block was edited".to_owned()];
                None
            }
            None => Some(text),
        }
    } else {
        step.kept = vec!["edited since set-up wrote it".to_owned()];
        None
    };
    step.act = match rest {
        None => Act::Keep,
        Some(rest) if rest.trim().is_empty() && original.is_none() => Act::Remove,
        Some(rest) => Act::Reduce(rest.into_bytes()),
    };
    Ok(step)
}

fn text_of(document: &DocumentMut) -> String {
    if document.is_empty() {
        String::new()
    } else {
        document.to_string()
    }
}

fn original(home: &Path, name: &str, record: &FileRecord) -> Result<Option<Vec<u8>>> {
    let Some(digest) = &record.backup_sha256 else {
        return Ok(None);
    };
    let bytes = file::read_optional(&home.join(BACKUP).join(name))?;
    Ok(bytes.filter(|bytes| sha256(bytes) == *digest))
}

/// Undoes the set-up in `home` without a word, whose lock the caller holds.
///
/// # Errors
/// As [`run`].
#[cfg(test)]
pub(crate) fn undo(home: &Path) -> Result<()> {
    let receipts = Receipt::load(home)?;
    carry_out(home, &receipts, &steps(home, &receipts)?, &trees(&receipts))
}

fn carry_out(home: &Path, receipts: &Receipts, steps: &[Step], trees: &[String]) -> Result<()> {
    for step in steps {
        let path = home.join(&step.name);
        match &step.act {
            Act::Remove => file::remove_optional(&path)?,
            Act::Restore(bytes) | Act::Reduce(bytes) => {
                file::write_atomic(&path, bytes, Mode::Private)?;
            }
            Act::Keep => {}
        }
    }
    for tree in trees {
        let path = home.join(tree);
        if path.is_dir() {
            fs_err::remove_dir_all(path)?;
        }
    }
    for name in &names(receipts) {
        // The bytes from before stay where our file could not give way to them.
        let kept = |step: &&Step| step.name == *name && step.act == Act::Keep;
        if steps.iter().find(kept).is_none() {
            file::remove_optional(&home.join(BACKUP).join(name))?;
        }
    }
    apply::sweep(home)?;
    file::remove_optional(&home.join(PENDING))?;
    file::remove_optional(&home.join(NAME))?;
    // Last the lock, and the folders that are empty now.
    file::remove_optional(&home.join(file::LOCK))?;
    for folder in ["backup/bin", "backup/rules", BACKUP, "bin", "rules"] {
        let _ = std::fs::remove_dir(home.join(folder));
    }
    if receipts
        .latest()
        .is_some_and(|receipt| receipt.created_home)
    {
        let _ = std::fs::remove_dir(home);
    }
    Ok(())
}

fn describe(home: &Path, steps: &[Step], trees: &[String], would: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for step in steps {
        let word = match step.act {
            Act::Remove => "remove ",
            Act::Restore(_) => "restore",
            Act::Reduce(_) => "reduce ",
            Act::Keep => "keep   ",
        };
        let _ = write!(text, "  {would}{word} {}", step.name);
        match step.act {
            Act::Restore(_) => text.push_str("  (as it was before the first set-up)"),
            Act::Reduce(_) => text.push_str("  (what is not ours stays)"),
            Act::Remove | Act::Keep => {}
        }
        if !step.kept.is_empty() {
            let _ = write!(text, "  (kept: {})", step.kept.join(", "));
        }
        text.push('\n');
    }
    for tree in trees {
        let _ = writeln!(text, "  {would}remove  {tree}/");
    }
    if text.is_empty() {
        let _ = writeln!(text, "  nothing of ours is left in {}", home.display());
    }
    text
}

fn report(args: &Args, home: &Path, steps: &[Step], trees: &[String], state: &str, text: &str) {
    let left = left_over(home);
    if args.json {
        let files: Vec<_> = steps
            .iter()
            .map(|step| {
                let act = match step.act {
                    Act::Remove => "removed",
                    Act::Restore(_) => "restored",
                    Act::Reduce(_) => "reduced",
                    Act::Keep => "kept",
                };
                json!({ "name": step.name, "action": act, "kept": step.kept })
            })
            .collect();
        ui::json(&json!({
            "schema_version": 1,
            "home": home,
            "state": state,
            "files": files,
            "trees": trees,
            "left": left,
        }));
        return;
    }
    if !text.is_empty() {
        ui::out(text);
        return;
    }
    let would = if args.dry_run { "would " } else { "" };
    ui::out(&format!(
        "{} {}\n{}",
        if args.dry_run {
            "codex-ds undo, dry run:"
        } else {
            "undone:"
        },
        home.display(),
        describe(home, steps, trees, would)
    ));
    if !args.dry_run && !left.is_empty() {
        ui::out(&format!(
            "left as it is: {} (Codex's sessions and state, and yours)\n",
            left.join(", ")
        ));
    }
}

fn left_over(home: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name()).display().to_string()))
        .collect();
    names.sort();
    names
}
