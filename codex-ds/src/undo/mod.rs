//! `codex-ds undo`: removes exactly what set-up wrote, by the receipt. No network, no Codex.

use std::path::Path;

use anyhow::Result;

use crate::file::{self, Lock, Mode};
use crate::home::HomeArg;
use crate::setup::apply;
use crate::setup::receipt::{BACKUP, NAME, PENDING, Receipt, Receipts};
use crate::{exit, home, ui};

mod report;
mod steps;

use steps::{Act, Step};

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

/// Runs the command.
///
/// # Errors
/// When the receipt cannot be read, or a file cannot be removed or restored.
pub fn run(args: &Args) -> Result<u8> {
    let home = home::real_path(&home::wanted(args.home.home.as_deref())?)?;
    let receipts = Receipt::load(&home)?;
    let undo = Undo::plan(&home, &receipts)?;
    if receipts.latest().is_none() {
        if !args.dry_run {
            // A set-up that was killed before it wrote its receipt left no more than this.
            remove_lock(&home)?;
        }
        report::show(args.json, &undo, report::State::Nothing);
        return Ok(exit::OK);
    }
    if args.dry_run {
        report::show(args.json, &undo, report::State::DryRun);
        return Ok(exit::CHANGES);
    }
    if !args.yes && ui::can_ask() {
        ui::err(&report::describe(&undo, "would "));
        if !ui::confirm(&format!("Undo the set-up in {}?", home.display()))? {
            ui::err("nothing was changed\n");
            return Ok(exit::FAILURE);
        }
    }
    let lock = Lock::take(&home)?;
    undo.carry_out(&receipts)?;
    drop(lock);
    report::show(args.json, &undo, report::State::Undone);
    Ok(exit::OK)
}

fn remove_lock(home: &Path) -> Result<()> {
    if home.join(file::LOCK).exists() {
        let _lock = Lock::take(home)?;
        file::remove_optional(&home.join(file::LOCK))?;
    }
    Ok(())
}

/// Undoes the set-up in `home` without a word.
#[cfg(test)]
pub(crate) fn undo(home: &Path) -> Result<()> {
    let receipts = Receipt::load(home)?;
    Undo::plan(home, &receipts)?.carry_out(&receipts)
}

/// All that is to be done in a profile.
struct Undo<'h> {
    home: &'h Path,
    steps: Vec<Step>,
    /// Folders that are ours as a whole.
    trees: Vec<String>,
}

impl<'h> Undo<'h> {
    fn plan(home: &'h Path, receipts: &Receipts) -> Result<Self> {
        let all = [&receipts.complete, &receipts.pending];
        let mut trees: Vec<String> = all
            .into_iter()
            .flatten()
            .flat_map(|receipt| receipt.trees.iter().cloned())
            .collect();
        trees.sort();
        trees.dedup();
        Ok(Self {
            home,
            steps: steps::steps(home, receipts)?,
            trees,
        })
    }

    fn carry_out(&self, receipts: &Receipts) -> Result<()> {
        let home = self.home;
        for step in &self.steps {
            let path = home.join(&step.name);
            match &step.act {
                Act::Remove => file::remove_optional(&path)?,
                Act::Restore(bytes) | Act::Reduce(bytes) => {
                    file::write_atomic(&path, bytes, Mode::Private)?;
                }
                Act::Keep | Act::AsBefore => {}
            }
            if let Some((name, bytes)) = &step.aside {
                file::write_atomic(&home.join(name), bytes, Mode::Private)?;
            }
        }
        for tree in &self.trees {
            let path = home.join(tree);
            if path.is_dir() {
                fs_err::remove_dir_all(path)?;
            }
        }
        for name in steps::names(receipts) {
            file::remove_optional(&home.join(BACKUP).join(name))?;
        }
        apply::sweep(home)?;
        file::remove_optional(&home.join(PENDING))?;
        file::remove_optional(&home.join(NAME))?;
        // Last the lock, and the folders that are empty now.
        file::remove_optional(&home.join(file::LOCK))?;
        for folder in apply::FOLDERS {
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
}
