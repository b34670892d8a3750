//! `codex-ds deploy nodes`.

use anyhow::Result;
use codex_ds_deploy::engine::Rank;
use codex_ds_deploy::kubectl::Program;
use codex_ds_deploy::nccl::{self, NcclError, Transport};
use codex_ds_deploy::nodes::{self, Finding, NodeError, Report};
use codex_ds_deploy::site::Site;
use serde_json::json;

use super::SiteArg;
use super::cluster::ClusterArg;
use crate::error::UserError;
use crate::{exit, ui};

/// Look at both nodes: cable, RoCE, memory, versions, model files, image
///
/// Runs one read-only script on each node, in a pod that is removed afterwards, or over ssh. For
/// each thing that is not as it should be it prints the command that mends it, and runs none.
/// With --nccl both nodes add numbers over the cable instead, in Jobs of the serving image that are
/// removed afterwards: it reports how fast, and whether over RoCE or sockets. That needs both GPUs, so
/// the stack must not run; it shows its plan, and asks.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy nodes
  codex-ds deploy nodes --ssh me@spark-1 --ssh me@spark-2
  codex-ds deploy nodes --nccl

Exit codes: 0 all is as it should be; 1 something is not, a node cannot be asked, or you said no; 2
wrong usage, or a fault in the site; 3 there is no kubectl, or nobody to ask")]
pub(super) struct Args {
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    cluster: ClusterArg,
    /// Ask over ssh instead: the head first, then the worker
    #[arg(long, value_name = "TARGET", num_args = 1)]
    ssh: Vec<String>,
    /// Measure an all-reduce of both nodes over the cable
    #[arg(long, conflicts_with = "ssh")]
    nccl: bool,
    /// Do not ask
    #[arg(long, short, requires = "nccl")]
    yes: bool,
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
    if args.nccl {
        return all_reduce(args, &site, &kubectl);
    }
    // Who may only look at a namespace, or has no cluster at all, learns the rest all the same.
    let images = nodes::images(&kubectl, &site).unwrap_or_default();
    let mut reports = Vec::new();
    for (index, rank) in [Rank::Head, Rank::Worker].into_iter().enumerate() {
        let host = &rank.node(&site).host;
        let _progress = ui::progress(&format!("asking {host}"));
        let report = match args.ssh.get(index) {
            Some(target) => nodes::over_ssh(&site, rank, target),
            None => nodes::in_pod(
                &kubectl,
                &site,
                rank,
                images[index],
                &mut std::thread::sleep,
            ),
        };
        let mut report = report.map_err(|error| failed(&error))?;
        if let Some(there) = images[index] {
            let word = if there { "yes" } else { "no" };
            report.values.insert("image".to_owned(), word.to_owned());
        }
        reports.push(report);
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
        show(&findings);
        if findings.is_empty() {
            ui::out("both nodes are as they should be\n");
        }
    }
    Ok(code(&findings))
}

fn show(findings: &[Finding]) {
    for finding in findings {
        ui::out(&format!(
            "\n{}: {}: found {}, expected {}\n  {}\n",
            finding.node, finding.what, finding.found, finding.expected, finding.command
        ));
    }
}

fn code(findings: &[Finding]) -> u8 {
    if findings.is_empty() {
        exit::OK
    } else {
        exit::FAILURE
    }
}

fn all_reduce(args: &Args, site: &Site, kubectl: &Program) -> Result<u8> {
    nccl::is_free(kubectl, site).map_err(|error| not_measured(&error))?;
    if !args.json {
        let context = super::cluster::context(kubectl)?;
        ui::out(&format!("plan, in context {context}:\n"));
        for (index, step) in nccl::plan(site).iter().enumerate() {
            ui::out(&format!("  {}. {step}\n", index + 1));
        }
    }
    super::recover::agree(args.yes)?;
    let progress = ui::progress("starting both ranks");
    let outcome = nccl::run(kubectl, site, &mut std::thread::sleep, &mut |seen| {
        progress.set(seen);
    });
    drop(progress);
    let outcome = outcome.map_err(|error| not_measured(&error))?;
    let findings = nccl::judge(site, &outcome);
    if args.json {
        ui::json(&json!({
            "schema_version": 1,
            "nccl": outcome,
            "gb_per_second": outcome.best(),
            "findings": findings,
        }));
        return Ok(code(&findings));
    }
    for sample in &outcome.samples {
        ui::out(&format!(
            "{:>10} bytes  {:>10.1} µs  {:>6.2} GB/s\n",
            sample.bytes,
            sample.seconds * 1e6,
            sample.gb_per_second()
        ));
    }
    ui::out(&format!(
        "{:.1} GB/s of the link's {:.0}, over {}{}\n",
        outcome.best(),
        outcome.limit,
        outcome
            .transport
            .map_or("a way that NCCL's log does not tell", Transport::word),
        if outcome.devices.is_empty() {
            String::new()
        } else {
            format!(" ({})", outcome.devices.join(", "))
        }
    ));
    for warning in &outcome.warnings {
        ui::out(&format!("NCCL warns: {warning}\n"));
    }
    show(&findings);
    Ok(code(&findings))
}

fn not_measured(error: &NcclError) -> anyhow::Error {
    match error {
        NcclError::Kubectl(error) => super::cluster::failed(error),
        NcclError::Busy(_) => UserError::new(error.to_string())
            .hint("measure before the first `codex-ds deploy apply`, or stop the stack: scale its workloads to 0")
            .into(),
        NcclError::Unfinished { log, .. } => {
            let mut user = UserError::new(error.to_string());
            for line in log.lines() {
                user = user.hint(format!("its log: {line}"));
            }
            user.hint("`codex-ds deploy nodes` looks at each node by itself").into()
        }
    }
}

fn line(host: &str, report: &Report) -> String {
    let of = |key: &str| report.values.get(key).map_or("?", String::as_str);
    let firmware = report
        .values
        .iter()
        .find(|(key, _)| key.ends_with(".firmware"))
        .map_or("?", |(_, version)| version.as_str());
    format!(
        "{host}: kernel {}, driver {}, firmware {firmware}, link {} Mb/s, MTU {}, model {} GiB in {} files, image {}\n",
        of("kernel"),
        of("driver"),
        of("speed"),
        of("mtu"),
        of("model_gib"),
        of("model_files"),
        match of("image") {
            "yes" => "there",
            "no" => "missing",
            _ => "?",
        }
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
