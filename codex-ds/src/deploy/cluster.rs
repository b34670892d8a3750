//! What the commands about a live stack share: `kubectl`, and how facts are asked for.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use codex_ds_deploy::cluster::{Facts, collect};
use codex_ds_deploy::kubectl::{Kubectl, KubectlError, Program};
use codex_ds_deploy::site::Site;

use crate::error::UserError;
use crate::{exit, ui};

/// How long one run of kubectl may take; above the canary's own limit.
const LIMIT: Duration = Duration::from_secs(100);

/// The options that every command about a live stack has.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ClusterArg {
    /// The kubectl to use
    #[arg(long, value_name = "PROGRAM", default_value = "kubectl")]
    kubectl: PathBuf,
    /// The context of kubectl [default: the site's, else the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl ClusterArg {
    pub(super) fn program(&self, site: &Site) -> Program {
        Program {
            program: self.kubectl.clone(),
            context: self.context.clone().or_else(|| site.context.clone()),
            limit: LIMIT,
        }
    }
}

/// The name of the context that is used, for people to see before anything is changed.
pub(super) fn context(kubectl: &Program) -> Result<String> {
    if let Some(context) = &kubectl.context {
        return Ok(context.clone());
    }
    let name = kubectl
        .run(&["config", "current-context"], None)
        .map_err(|error| failed(&error))?;
    Ok(name.trim().to_owned())
}

pub(super) fn facts(kubectl: &dyn Kubectl, site: &Site, canary: bool) -> Result<Facts> {
    let _progress = ui::progress("asking the cluster");
    collect::facts(kubectl, site, canary.then_some(collect::CANARY)).map_err(|error| failed(&error))
}

pub(super) fn failed(error: &KubectlError) -> anyhow::Error {
    let code = match error {
        KubectlError::Start { .. } => exit::NOT_READY,
        _ => exit::FAILURE,
    };
    UserError::new(error.to_string())
        .hint(error.hint())
        .code(code)
        .into()
}
