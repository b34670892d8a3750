//! `codex-ds deploy status`.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use codex_ds_deploy::cluster::diagnose::{Diagnosis, diagnose};
use codex_ds_deploy::cluster::{Canary, Facts, Memory, PodFacts, Role, phase};
use codex_ds_deploy::site::Site;
use serde_json::json;

use super::SiteArg;
use super::cluster::{self, ClusterArg};
use crate::{exit, ui};

/// Show the stack on one screen, and what is wrong with it
///
/// Sends one token through the API: /health alone lies. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy status
  codex-ds deploy status --watch
  codex-ds deploy status --json

Exit codes: 0 it serves; 1 it does not, or a failure was recognised; 2 wrong usage, or a fault in
the site; 3 there is no kubectl")]
pub(super) struct Args {
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    cluster: ClusterArg,
    /// Do not send a token
    #[arg(long)]
    no_canary: bool,
    /// Show it again every five seconds, until it is interrupted
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<u8> {
    let site = args.site.load()?;
    let kubectl = args.cluster.program(&site);
    loop {
        let facts = cluster::facts(&kubectl, &site, !args.no_canary)?;
        let diagnoses = diagnose(&site, &facts);
        if args.json {
            ui::json(&json!({
                "schema_version": 1,
                "phase": phase(&facts),
                "facts": facts,
                "diagnoses": diagnoses,
            }));
        } else {
            ui::out(&text(&site, &facts, &diagnoses));
        }
        if !args.watch {
            return Ok(
                if serves(&facts, !args.no_canary) && !has_error(&diagnoses) {
                    exit::OK
                } else {
                    exit::FAILURE
                },
            );
        }
        std::thread::sleep(Duration::from_secs(5));
        ui::out("\n");
    }
}

fn serves(facts: &Facts, canary: bool) -> bool {
    facts.pod(Role::Head).is_some_and(|head| head.ready)
        && (!canary || facts.canary == Canary::Came)
}

fn has_error(diagnoses: &[Diagnosis]) -> bool {
    diagnoses
        .iter()
        .any(|diagnosis| diagnosis.severity == "error")
}

/// What the engine is doing; `None` where there is no head or its log does not tell.
pub(super) fn phase(facts: &Facts) -> Option<&'static str> {
    let head = facts.pod(Role::Head)?;
    match head.waiting.as_str() {
        "ContainerCreating" | "PodInitializing" => Some(preparing(facts, &head.name)),
        _ => phase::of_log(&facts.head_log),
    }
}

/// What a container that is not there yet waits for, by the newest event of its pod.
fn preparing(facts: &Facts, pod: &str) -> &'static str {
    let newest = facts.events.iter().rev().find(|event| event.object == pod);
    match newest.map(|event| event.reason.as_str()) {
        Some("Pulling") => "pulling the image",
        Some("FailedMount" | "FailedAttachVolume") => "waiting for a folder of the node",
        _ => "pulling the image or mounting volumes",
    }
}

fn text(site: &Site, facts: &Facts, diagnoses: &[Diagnosis]) -> String {
    let mut text = format!(
        "{} in {}, {}\n\n",
        site.name,
        site.namespace,
        site.shape.word()
    );
    for (index, node) in site.nodes().into_iter().enumerate() {
        let known = facts
            .nodes
            .iter()
            .find(|known| known.name == node.host.as_str());
        let state = match known {
            None if facts.nodes.is_empty() => "not asked".to_owned(),
            None => "not in the cluster".to_owned(),
            Some(known) => format!(
                "{}, {} GPU, kernel {}{}",
                if known.ready { "ready" } else { "NOT READY" },
                known.gpus,
                known.kernel,
                if known.driver.is_empty() {
                    String::new()
                } else {
                    format!(", driver {}", known.driver)
                },
            ),
        };
        let _ = writeln!(text, "node    {:<24} {state}", node.host.as_str());
        if let Some(memory) = facts.reports[index].as_ref().and_then(Memory::of) {
            let _ = writeln!(
                text,
                "        {:<24} {:.1} of {:.1} GiB left, swap {:.1} GiB, pressure {} %",
                "", memory.available_gib, memory.total_gib, memory.swap_used_gib, memory.full_avg10
            );
        }
    }
    for role in [Role::Head, Role::Worker, Role::Router] {
        match facts.pod(role) {
            Some(pod) => text += &pod_line(role, pod),
            None if role == Role::Router && site.router.is_none() => {}
            None => {
                let _ = writeln!(text, "{:<7} no pod", name(role));
            }
        }
    }
    for (role, what) in [(Role::Prepull, "image"), (Role::Staging, "model")] {
        for pod in facts
            .pods
            .iter()
            .filter(|pod| pod.role == role && !pod.deleting)
        {
            let state = match (role, pod.phase.as_str()) {
                (Role::Prepull, "Running") | (Role::Staging, "Succeeded") => "there",
                (Role::Staging, "Running") if !pod.progress.is_empty() => &pod.progress,
                (_, "Pending" | "Running") => "on its way",
                (_, other) => other,
            };
            let _ = writeln!(text, "{what:<7} {:<24} {state}", pod.node);
        }
    }
    let _ = writeln!(
        text,
        "\nengine  {}",
        phase(facts).unwrap_or("not known from its log")
    );
    if let Some(metrics) = &facts.metrics {
        let _ = writeln!(
            text,
            "        {} running, {} waiting, KV {:.0} % in use",
            metrics.running,
            metrics.waiting,
            metrics.kv_usage * 100.0
        );
    }
    let _ = writeln!(
        text,
        "canary  {}",
        match &facts.canary {
            Canary::Untried => "not sent".to_owned(),
            Canary::Came => "a token came".to_owned(),
            Canary::Silent => format!("NO TOKEN within {} s", facts.canary_seconds),
            Canary::Failed(said) => format!("REFUSED: {said}"),
        }
    );
    if diagnoses.is_empty() {
        text += "\nno known failure\n";
    }
    for diagnosis in diagnoses {
        let _ = writeln!(
            text,
            "\n{} [{}] {}",
            diagnosis.severity, diagnosis.code, diagnosis.says
        );
        for evidence in diagnosis.evidence.iter().take(6) {
            let _ = writeln!(text, "  seen: {evidence}");
        }
        let _ = writeln!(text, "  fix: {}", diagnosis.fix);
    }
    text
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Head => "head",
        Role::Worker => "worker",
        _ => "router",
    }
}

fn pod_line(role: Role, pod: &PodFacts) -> String {
    let state = if pod.waiting.is_empty() {
        &pod.phase
    } else {
        &pod.waiting
    };
    format!(
        "{:<7} {:<24} {state}{}, {} restarts, {}, {}\n",
        name(role),
        pod.node,
        if pod.ready { " and ready" } else { "" },
        pod.restarts,
        age(&pod.created).map_or_else(
            || format!("since {}", pod.created),
            |age| format!("{age} old")
        ),
        pod.image
    )
}

/// How long ago a time was that the cluster wrote, like `2026-11-30T10:00:00Z`.
fn age(created: &str) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let seconds = now.as_secs().saturating_sub(unix(created)?);
    Some(match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    })
}

/// The seconds since 1970 of such a time.
fn unix(time: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| time.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !time.ends_with('Z') {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month < 3 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let clock = number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?;
    Some((days - 719_468) * 86_400 + clock)
}

#[cfg(test)]
mod tests {
    use super::unix;

    #[test]
    fn times_of_the_cluster_are_read() {
        for (time, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-30T10:00:00Z", 1_796_032_800),
        ] {
            assert_eq!(unix(time), Some(seconds), "{time}");
        }
        for time in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-30 10:00"] {
            assert_eq!(unix(time), None, "{time}");
        }
    }
}
