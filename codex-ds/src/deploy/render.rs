//! `codex-ds deploy render`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use codex_ds_deploy::check::{self, Severity};
use codex_ds_deploy::engine::Rank;
use codex_ds_deploy::k8s::Manifest;
use codex_ds_deploy::render::{self, docker};
use codex_ds_deploy::site::Site;

use super::SiteArg;
use crate::error::UserError;
use crate::file::{self, Mode};
use crate::{exit, ui};

/// Write the manifests, a kustomization, or lines for plain Docker
///
/// The same site gives the same bytes. The router's key is never written: the manifest that needs
/// it says how to make its Secret.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy render | kubectl apply --server-side -f -
  codex-ds deploy render -o manifests --kustomize
  codex-ds deploy render --staging | kubectl apply -f -
  codex-ds deploy render --docker -o .

Exit codes: 0 rendered; 1 failed, or the site has errors (nothing is written); 2 wrong usage, or a
fault in the site")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(super) struct Args {
    #[command(flatten)]
    site: SiteArg,
    /// The folder to write to; standard output without it
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Add a kustomization.yaml
    #[arg(long, requires = "output", conflicts_with = "docker")]
    kustomize: bool,
    /// Environment files and `docker run` lines, for people without Kubernetes
    #[arg(long)]
    docker: bool,
    /// One Job for each node that downloads and verifies the model, in place of the stack
    #[arg(long, conflicts_with_all = ["docker", "kustomize"])]
    staging: bool,
    /// Render also a site that `codex-ds deploy check` finds errors in
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args) -> Result<u8> {
    let site = args.site.load()?;
    if !args.force {
        refuse(&site)?;
    }
    let files = if args.docker {
        docker_files(&site)
    } else {
        let manifests = if args.staging {
            staging(&site)?
        } else {
            render::manifests(&site)
        };
        let mut files: Vec<(String, String)> = manifests
            .iter()
            .map(|manifest| (manifest.file.clone(), manifest.yaml()))
            .collect();
        if args.kustomize {
            let kustomization = render::kustomization(&manifests);
            files.push((kustomization.file.clone(), kustomization.yaml()));
        }
        files
    };
    match &args.output {
        Some(folder) => write(folder, &files)?,
        None if args.docker => {
            for (name, text) in files {
                ui::out(&format!("# {name}\n{text}\n"));
            }
        }
        None => {
            for (_, text) in files {
                ui::out(&format!("---\n{text}"));
            }
        }
    }
    Ok(exit::OK)
}

fn refuse(site: &Site) -> Result<()> {
    let errors: Vec<String> = check::site(site)
        .into_iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .map(|finding| format!("{finding}\n  fix: {}", finding.rule.fix))
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(UserError::new(format!(
        "{} has errors, nothing was rendered:\n{}",
        site.file,
        errors.join("\n")
    ))
    .hint("correct them, or render nevertheless with --force")
    .into())
}

fn staging(site: &Site) -> Result<Vec<Manifest>> {
    let jobs = render::staging::jobs(site);
    if jobs.is_empty() {
        return Err(UserError::usage(format!(
            "{}:{}: model.revision: found nothing, expected a commit of {}",
            site.file,
            site.line("model"),
            site.recipe.repository
        ))
        .hint("both nodes must get the same files, and a branch moves")
        .into());
    }
    Ok(jobs)
}

fn docker_files(site: &Site) -> Vec<(String, String)> {
    [Rank::Head, Rank::Worker]
        .into_iter()
        .flat_map(|rank| {
            [
                (docker::env_file_name(rank), docker::env_file(site, rank)),
                (
                    format!("{}.sh", rank.word()),
                    format!(
                        "#!/bin/sh\n# On {}; the worker first, then the head.\n{}",
                        rank.node(site).host,
                        docker::run(site, rank)
                    ),
                ),
            ]
        })
        .collect()
}

fn write(folder: &Path, files: &[(String, String)]) -> Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        let mode = if Path::new(name).extension().is_some_and(|end| end == "sh") {
            Mode::Program
        } else {
            Mode::Private
        };
        file::write_atomic(&path, text.as_bytes(), mode)?;
        ui::out(&format!("wrote {}\n", path.display()));
    }
    Ok(())
}
