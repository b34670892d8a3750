//! `codex-ds deploy`: the serving stack.
//!
//! The engine is crate `codex-ds-deploy`; here it is asked, shown and obeyed.

use std::path::{Path, PathBuf};

use anyhow::Result;
use codex_ds_deploy::site::{Site, SiteError};

use crate::error::UserError;

mod apply;
mod check;
mod cluster;
mod fit;
mod init;
mod nodes;
mod recover;
mod render;
mod status;

/// The serving stack: described in one file, checked before, healed after
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy init
  codex-ds deploy check
  codex-ds deploy fit
  codex-ds deploy render -o manifests
  codex-ds deploy apply --wait
  codex-ds deploy status
  codex-ds deploy recover")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a first site.toml, with a comment wherever a value has to be looked up
    Init(Box<init::Args>),
    /// Show what the memory of the two nodes holds, and what each knob does
    Fit(fit::Args),
    /// Write the manifests, a kustomization, or lines for plain Docker
    Render(render::Args),
    /// Find what is wrong with a site, or with anyone's manifests
    Check(check::Args),
    /// Show what apply would change in the cluster
    Diff(apply::DiffArgs),
    /// Bring the cluster to what the site says
    Apply(apply::ApplyArgs),
    /// Show the stack on one screen, and what is wrong with it
    Status(status::Args),
    /// Look at both nodes: cable, RoCE, memory, versions, model files
    Nodes(nodes::Args),
    /// Heal what a restart in the right order can heal
    Recover(recover::Args),
}

/// The option that every command about a site has.
#[derive(Clone, Debug, clap::Args)]
struct SiteArg {
    /// The site
    #[arg(long, short, value_name = "FILE", default_value = "site.toml")]
    site: PathBuf,
}

impl SiteArg {
    fn load(&self) -> Result<Site> {
        load(&self.site)
    }
}

/// Runs the command.
///
/// # Errors
/// When it fails; a finding is no error but an exit code.
pub fn run(args: &Args) -> Result<u8> {
    match &args.command {
        Command::Init(args) => init::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Render(args) => render::run(args),
        Command::Check(args) => check::run(args),
        Command::Diff(args) => apply::diff(args),
        Command::Apply(args) => apply::apply(args),
        Command::Status(args) => status::run(args),
        Command::Nodes(args) => nodes::run(args),
        Command::Recover(args) => recover::run(args),
    }
}

pub(crate) fn load(path: &Path) -> Result<Site> {
    Site::load(path).map_err(|error| {
        let hint = match &error {
            SiteError::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                "`codex-ds deploy init` writes a first one; --site FILE names another"
            }
            SiteError::Read { .. } => "can you read the file?",
            SiteError::Faults(_) => "correct the lines above and run this again; nothing was done",
        };
        UserError::usage(error.to_string()).hint(hint).into()
    })
}
