//! `codex.…`: the installed Codex.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::programs;

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[Check {
    id: "codex.found",
    title: "Codex is installed, and a version that we know",
    requires: &[],
    cost: Cost::Codex,
    deadline: Duration::from_secs(10),
    run: |context| Box::pin(found(context)),
}];

async fn found(context: Arc<Context>) -> Result<Outcome> {
    let codex = programs::codex(&context).await;
    Ok(match &*codex {
        Ok(codex) => Outcome::pass(format!("{} at {}", codex.version, codex.path.display())),
        Err(error) => Finding::fail(error.text.clone())
            .remedy(error.hint.clone())
            .into(),
    })
}
