//! A set-up with the choices of the last one, to bring back what it wrote.

use std::path::Path;

use anyhow::Result;
use toml_edit::{DocumentMut, Item};

use super::plan::{self, CONFIG, Plan, Wanted};
use super::profile::{self, HOOK};
use super::receipt::Receipt;
use super::{decide, report, servers};
use crate::error::UserError;
use crate::file;

/// Files that do not depend on what the endpoint serves.
const WITHOUT_ENDPOINT: &[&str] = &[HOOK, "guard.toml", "instructions.md", "rules/default.rules"];

/// What a repair would write.
pub(crate) struct Repair {
    plan: Plan,
    /// Why files that depend on the endpoint are left as they are.
    pub(crate) left_out: Option<String>,
}

impl Repair {
    /// The plan, to apply.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether anything would be written.
    pub(crate) fn changes_anything(&self) -> bool {
        self.plan.changes_anything()
    }

    /// The change as a diff, secrets masked.
    pub(crate) fn diff(&self) -> String {
        let writes = self.plan.changes.iter().filter(|change| change.writes());
        let text: String = writes.map(report::diff).collect();
        if text.is_empty() && self.plan.receipt_changes {
            return "receipt.json: written anew\n".to_owned();
        }
        text
    }

    /// The files that would be written.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let writes = self.plan.changes.iter().filter(|change| change.writes());
        writes.map(|change| change.name).collect()
    }
}

/// Plans to bring back what the last set-up wrote in `home`, by its receipt. Nothing is installed, and
/// nothing that the user chose is changed. Where the endpoint is not asked (`offline`) or does not
/// answer, what depends on it stays as it is.
///
/// # Errors
/// When there is no receipt, or a file that is there cannot be read or merged.
pub(crate) fn repair(home: &Path, offline: bool) -> Result<Repair> {
    let receipts = Receipt::load(home)?;
    let Some(last) = receipts.latest() else {
        return Err(UserError::not_ready(
            "there is no receipt, so it is not known what set-up wrote",
        )
        .hint("codex-ds setup --endpoint URL makes the profile anew, and keeps what is yours")
        .into());
    };
    let choices = last.choices.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let decided = |offline| runtime.block_on(decide::decide(&choices, offline));
    let (mut decided, left_out) = if offline {
        (decided(true)?, Some("--offline".to_owned()))
    } else {
        match decided(false) {
            Ok(decided) => (decided, None),
            Err(error) => (decided(true)?, Some(error.to_string())),
        }
    };
    if let (Some(why), Some(_)) = (&left_out, &receipts.pending) {
        return Err(UserError::new(format!(
            "a set-up was interrupted, and going on needs the endpoint: {why}"
        ))
        .hint("codex-ds setup, once the endpoint answers")
        .into());
    }
    decided.decisions.mcp = servers::present(&servers::wanted(&choices)?, home, &config(home));
    let mut wanted: Vec<Wanted> = profile::files(&decided.decisions, super::hook_program()?)?;
    if left_out.is_some() {
        wanted.retain(|file| WITHOUT_ENDPOINT.contains(&file.name));
    }
    let guard = plan::Guard {
        command: (!choices.no_guard).then(|| profile::hook_command(home)),
        trust: !choices.no_trust,
    };
    let mut receipt = Receipt::new(home);
    receipt.created_home = last.created_home;
    receipt.codex.clone_from(&last.codex);
    receipt.choices = choices;
    receipt.trees.clone_from(&last.trees);
    let read = |name: &str| file::read_optional(&home.join(name));
    let plan = plan::make(home, wanted, &guard, &receipts, receipt, read)?;
    Ok(Repair { plan, left_out })
}

/// The MCP servers' tables in the present file; empty where it cannot be read.
fn config(home: &Path) -> DocumentMut {
    std::fs::read_to_string(home.join(CONFIG))
        .ok()
        .and_then(|text| text.parse::<DocumentMut>().ok())
        .filter(|document| document.get("mcp_servers").is_some_and(Item::is_table_like))
        .unwrap_or_default()
}
