//! `--fix`: repairs what set-up wrote, and nothing else. It shows the change first and asks.

use std::ops::ControlFlow;

use anyhow::Result;
use serde_json::{Value as Json, json};

use super::check::Record;
use super::checks::home::{self, Loose};
use super::context::Context;
use crate::error::UserError;
use crate::file::Lock;
use crate::setup::{self, Repair};
use crate::ui;

/// What would be done.
pub(super) struct Fix {
    loose: Vec<Loose>,
    repair: Option<Repair>,
}

/// What the findings that can be repaired come to; `None` where nothing can be.
///
/// # Errors
/// When the profile cannot be read as set-up needs it.
pub(super) fn plan(context: &Context, records: &[Record]) -> Result<Option<Fix>> {
    let fixable = |record: &&Record| {
        record
            .findings
            .iter()
            .any(|finding| finding.remedy.as_ref().is_some_and(|remedy| remedy.fixable))
    };
    let ids: Vec<&str> = records
        .iter()
        .filter(fixable)
        .map(|record| record.id)
        .collect();
    let mut loose = home::loose(context);
    loose.retain(|loose| loose.ours);
    let only_modes = ids.iter().all(|id| *id == "home.permissions");
    let repair = if only_modes {
        None
    } else {
        let repair = setup::repair(&context.home, context.offline)?;
        repair.changes_anything().then_some(repair)
    };
    let nothing = loose.is_empty() && repair.is_none();
    Ok((!nothing && !ids.is_empty()).then_some(Fix { loose, repair }))
}

impl Fix {
    /// The change, for a human to look at.
    pub(super) fn text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        if let Some(repair) = &self.repair {
            text.push_str(&repair.diff());
            if let Some(why) = &repair.left_out {
                let _ = writeln!(
                    text,
                    "left as it is, since the endpoint does not answer: {why}"
                );
            }
        }
        for loose in &self.loose {
            let _ = writeln!(
                text,
                "mode of {}: {:04o} becomes {:04o}",
                loose.path.display(),
                loose.mode,
                loose.wanted
            );
        }
        text
    }

    /// The change, for a program.
    pub(super) fn json(&self) -> Json {
        let mut files: Vec<String> = self
            .loose
            .iter()
            .map(|loose| loose.path.display().to_string())
            .collect();
        if let Some(repair) = &self.repair {
            files.extend(repair.names().into_iter().map(str::to_owned));
        }
        json!({ "changed": files })
    }

    /// Does it.
    ///
    /// # Errors
    /// When something cannot be written; what was done until then stays.
    pub(super) fn apply(&self, context: &Context) -> Result<()> {
        let _lock = Lock::take(&context.home)?;
        if let Some(repair) = &self.repair {
            setup::apply::apply(&context.home, repair.plan(), &mut |_| {
                ControlFlow::Continue(())
            })?;
        }
        for loose in &self.loose {
            tighten(loose)?;
        }
        Ok(())
    }
}

/// Asks whether to do what was shown.
///
/// # Errors
/// When nobody can be asked, and nobody said yes.
pub(super) fn is_wanted(yes: bool) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if !ui::can_ask() {
        return Err(
            UserError::usage("--fix: cannot ask, since this is no terminal")
                .hint("look at the change above, then run it again with --yes")
                .into(),
        );
    }
    Ok(ui::confirm("Do this?")?)
}

#[cfg(unix)]
fn tighten(loose: &Loose) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(loose.wanted);
    Ok(fs_err::set_permissions(&loose.path, permissions)?)
}

#[cfg(not(unix))]
fn tighten(_: &Loose) -> Result<()> {
    Ok(())
}
