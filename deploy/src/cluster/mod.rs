//! What the cluster makes of a site: the facts, what they mean, and what to do.
//!
//! ```text
//! collect(kubectl) ─▶ Facts ─▶ diagnose ─▶ recover::plan ─▶ steps, each verified
//! ```
//!
//! Only [`mod@collect`] and the execution of steps touch the cluster; what facts mean is decided
//! without it.

use std::time::{Duration, Instant};

use serde::Serialize;

use self::diagnose::{Diagnosis, diagnose};
use crate::kubectl::{KubectlError, Program};
use crate::nodes::Report;
use crate::site::Site;

pub mod apply;
pub mod collect;
pub mod diagnose;
pub mod phase;
pub mod recover;
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod stand_in;
#[cfg(test)]
mod tests;

/// What is known of a stack in its cluster.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The two nodes, as far as they exist; the head's first.
    pub nodes: Vec<NodeFacts>,
    /// The stack's pods.
    pub pods: Vec<PodFacts>,
    /// How many pods the head's workload asks for; `None` where there is no such workload.
    pub head_wanted: Option<u64>,
    /// The end of the head's log.
    #[serde(skip)]
    pub head_log: String,
    /// The end of the log of the head's run before this one.
    #[serde(skip)]
    pub head_previous_log: String,
    /// The end of the worker's log.
    #[serde(skip)]
    pub worker_log: String,
    /// What the head's pod and the worker's see of their nodes.
    pub reports: [Option<Report>; 2],
    /// What the cluster noted about the stack's objects, the newest last.
    pub events: Vec<Event>,
    /// What the engine counts.
    pub metrics: Option<Metrics>,
    /// What became of one token through the API.
    pub canary: Canary,
    /// How long that token was waited for, seconds.
    pub canary_seconds: u64,
}

/// A node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it reports memory pressure.
    pub memory_pressure: bool,
    /// Its kernel.
    pub kernel: String,
    /// Its NVIDIA driver, where the GPU operator labels it.
    pub driver: String,
    /// How many GPUs it can give.
    pub gpus: u64,
}

/// What a pod is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Rank 0.
    Head,
    /// Rank 1.
    Worker,
    /// The router.
    Router,
    /// The image pull.
    Prepull,
    /// The download of the model.
    Staging,
    /// None of those.
    #[default]
    Other,
}

/// A pod.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PodFacts {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// What it is for.
    pub role: Role,
    /// Its node.
    pub node: String,
    /// Its phase.
    pub phase: String,
    /// Why it is in that phase, for a failed one.
    pub reason: String,
    /// The same in a sentence.
    pub message: String,
    /// Whether all its containers are ready.
    pub ready: bool,
    /// How often its containers were started anew.
    pub restarts: u64,
    /// When it was made, as the cluster writes times.
    pub created: String,
    /// Its image.
    pub image: String,
    /// What its container waits for.
    pub waiting: String,
    /// Why it is not on a node yet.
    pub unscheduled: String,
    /// How its container ended last: exit code and reason.
    pub last_end: Option<(i64, String)>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// How far it is, for a download of the model: the last line of its log.
    pub progress: String,
}

/// What the cluster noted about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The object's name.
    pub object: String,
    /// Whether it is a warning.
    pub warning: bool,
    /// What happened, in a word.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// When it happened last, as the cluster writes times.
    pub last: String,
}

/// A node's memory, as a pod on it sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// The share of the last ten seconds in which everything waited for memory, percent.
    pub full_avg10: f64,
    /// What can still be had, GiB.
    pub available_gib: f64,
    /// The swap in use, GiB.
    pub swap_used_gib: f64,
    /// All of it, GiB.
    pub total_gib: f64,
}

impl Memory {
    /// The memory in a node's report, where it has all of it.
    #[must_use]
    pub fn of(report: &Report) -> Option<Self> {
        let gib = |key: &str| report.number(key).map(|kib| kib / KIB_PER_GIB);
        Some(Self {
            full_avg10: report.number("pressure")?,
            available_gib: gib("MemAvailable")?,
            swap_used_gib: gib("SwapTotal")? - gib("SwapFree")?,
            total_gib: gib("MemTotal")?,
        })
    }
}

const KIB_PER_GIB: f64 = 1_048_576.0;

/// What the engine counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Requests that run.
    pub running: f64,
    /// Requests that wait.
    pub waiting: f64,
    /// The share of the KV pool in use, 0 to 1.
    pub kv_usage: f64,
    /// Tokens that were generated, before the canary and after it.
    pub generated: [f64; 2],
    /// Tokens that went through the engine's steps, those of prompts too; before and after.
    pub worked: [f64; 2],
    /// Blocks of the KV pool.
    pub blocks: Option<f64>,
}

/// What became of one token through the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Canary {
    /// It was not tried.
    #[default]
    Untried,
    /// It came.
    Came,
    /// No answer in time.
    Silent,
    /// An error.
    Failed(String),
}

impl Facts {
    /// The pod of a role that counts: the one that did not fail, the newest of several.
    #[must_use]
    pub fn pod(&self, role: Role) -> Option<&PodFacts> {
        self.pods
            .iter()
            .filter(|pod| pod.role == role && pod.phase != "Failed" && !pod.deleting)
            .max_by(|a, b| a.created.cmp(&b.created))
    }
}

/// Looks at a site's stack within `deadline`, and says what is wrong with it, the worst first. The
/// token that it asks for gets what time is left after the pods are known, 90 s at most; waiting for
/// less than that, it takes a slow engine for a wedged one.
///
/// # Errors
/// When pods cannot be listed in a third of the time.
pub fn examine(
    kubectl: &Program,
    site: &Site,
    deadline: Duration,
) -> Result<(Facts, Vec<Diagnosis>), KubectlError> {
    let start = Instant::now();
    let within = |limit: Duration| Program {
        limit: kubectl.limit.min(limit),
        ..kubectl.clone()
    };
    let pods = collect::pods(&within(deadline / 3), site)?;
    let left = deadline.saturating_sub(start.elapsed());
    // The engine is asked three times in a row: its counts, a token, its counts.
    let canary = collect::CANARY.min(left / 2);
    let facts = collect::about(&within(canary), site, pods, Some(canary));
    let diagnoses = diagnose(site, &facts);
    Ok((facts, diagnoses))
}
