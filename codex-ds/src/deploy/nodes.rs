//! `codex-ds deploy nodes`.

use anyhow::Result;
use codex_ds_deploy::engine::Rank;
use codex_ds_deploy::nodes::{self, NodeError, Report};
use serde_json::json;

use super::SiteArg;
use super::cluster::ClusterArg;
use crate::error::UserError;
use crate::{exit, ui};

/// Look at both nodes: cable, RoCE, memory, versions, model files
///
/// Runs one read-only script on each node, in a pod that is removed afterwards, or over ssh. For
/// each thing that is not as it should be it prints the command that mends it, and runs none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy nodes
  codex-ds deploy nodes --ssh me@spark-1 --ssh me@spark-2

Exit codes: 0 all is as it should be; 1 something is not, or a node cannot be asked; 2 wrong usage,
or a fault in the site")]
pub(super) struct Args {
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    cluster: ClusterArg,
    /// Ask over ssh instead: the head first, then the worker
    #[arg(long, value_name = "TARGET", num_args = 1)]
    ssh: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<u8> {
    if !matches!(args.ssh.len(), 0 | 2) {
        return Err(
            UserError::usage(format!("--ssh was given {} times", args.ssh.len()))
                .hint("give it twice: the head first, then the worker")
                .into(),
        );
    }
    let site = args.site.load()?;
    let kubectl = args.cluster.program(&site);
    let mut reports = Vec::new();
    for (index, rank) in [Rank::Head, Rank::Worker].into_iter().enumerate() {
        let host = &rank.node(&site).host;
        let _progress = ui::progress(&format!("asking {host}"));
        let report = match args.ssh.get(index) {
            Some(target) => nodes::over_ssh(&site, rank, target),
            None => nodes::in_pod(&kubectl, &site, rank, &mut std::thread::sleep),
        };
        reports.push(report.map_err(|error| failed(&error))?);
    }
    let [head, worker] = reports.as_slice() else {
        unreachable!("two ranks were asked");
    };
    let findings = nodes::judge(&site, [Some(head), Some(worker)]);
    if args.json {
        ui::json(&json!({
            "schema_version": 1,
            "head": head,
            "worker": worker,
            "findings": findings,
        }));
    } else {
        for (rank, report) in [(Rank::Head, head), (Rank::Worker, worker)] {
            ui::out(&line(rank.node(&site).host.as_str(), report));
        }
        for finding in &findings {
            ui::out(&format!(
                "\n{}: {}: found {}, expected {}\n  {}\n",
                finding.node, finding.what, finding.found, finding.expected, finding.command
            ));
        }
        if findings.is_empty() {
            ui::out("both nodes are as they should be\n");
        }
    }
    Ok(if findings.is_empty() {
        exit::OK
    } else {
        exit::FAILURE
    })
}

fn line(host: &str, report: &Report) -> String {
    let of = |key: &str| report.values.get(key).map_or("?", String::as_str);
    format!(
        "{host}: kernel {}, driver {}, firmware {}, link {} Mb/s, MTU {}, model {} GiB in {} files\n",
        of("kernel"),
        of("driver"),
        of("firmware"),
        of("speed"),
        of("mtu"),
        of("model_gib"),
        of("model_files")
    )
}

fn failed(error: &NodeError) -> anyhow::Error {
    match error {
        NodeError::Kubectl(error) => super::cluster::failed(error),
        NodeError::Ssh { .. } => UserError::new(error.to_string())
            .hint("does `ssh` to it work without a question?")
            .into(),
        NodeError::Unfinished { .. } => UserError::new(error.to_string())
            .hint("is the image on the node, and may privileged pods run in the namespace?")
            .into(),
    }
}
