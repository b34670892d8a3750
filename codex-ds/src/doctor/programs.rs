//! The programs of this machine that checks ask, each started once.

use std::sync::Arc;

use super::context::Context;
use crate::codex::{self, Codex};
use crate::error;
use crate::launch;

/// Why a program cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// What is wrong.
    pub(super) text: String,
    /// What to do.
    pub(super) hint: String,
}

impl From<anyhow::Error> for Missing {
    fn from(error: anyhow::Error) -> Self {
        let (text, _) = error::render(&error);
        let lines = |prefix: &str| {
            let found: Vec<&str> = text
                .lines()
                .filter_map(|line| line.trim_start().strip_prefix(prefix))
                .collect();
            found.join("; ")
        };
        Self {
            text: [lines("error: "), lines("cause: ")]
                .iter()
                .filter(|part| !part.is_empty())
                .cloned()
                .collect::<Vec<_>>()
                .join(": "),
            hint: lines("hint: "),
        }
    }
}

/// The Codex that a launch starts.
pub(super) async fn codex(context: &Arc<Context>) -> Arc<Result<Codex, Missing>> {
    let inputs = context.clone();
    let found = context
        .once(async move {
            let found = tokio::task::spawn_blocking(move || {
                let ourselves = std::env::current_exe().ok();
                let path = launch::program::find(
                    &inputs.home,
                    inputs.path.as_deref(),
                    ourselves.as_deref(),
                )?;
                codex::inspect(&path)
            })
            .await;
            match found {
                Ok(found) => found.map_err(Missing::from),
                Err(broken) => Err(Missing::from(anyhow::Error::from(broken))),
            }
        })
        .await;
    if let Ok(codex) = &*found {
        context.version("codex", codex.version.to_string());
    }
    found
}
