//! Healing: a plan from the diagnoses, and its steps, each verified before the next.
//!
//! The order is drilled: first the head is stopped and its rendezvous port gone, or a fresh worker
//! joins the dead group; then the worker is replaced, and waits; then the head is started. A group
//! of LeaderWorkerSet is made anew by deleting its leader.

use std::time::Duration;

use serde::Serialize;

use super::diagnose::{Diagnosis, Recovery};
use super::{Facts, PodFacts, Role, collect};
use crate::kubectl::{Kubectl, KubectlError};
use crate::site::{Shape, Site};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The head's Deployment is scaled to this many pods.
    ScaleHead(u64),
    /// Waits until the role has no pod.
    AwaitGone(Role),
    /// The role's pods are deleted.
    Delete(Role),
    /// Waits until the role has a pod that runs and is not one of these (by uid).
    AwaitNew(Role, Vec<String>),
    /// As [`Step::AwaitNew`], and deletes the old pod when its controller leaves it there.
    AwaitNewOrDelete(Role, Vec<String>),
    /// Failed pods are removed.
    CleanFailed,
}

impl Step {
    /// What it does, for people.
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Self::ScaleHead(0) => "stop the head".to_owned(),
            Self::ScaleHead(_) => "start the head".to_owned(),
            Self::AwaitGone(role) => format!(
                "wait until the {} is gone, and with it its rendezvous port",
                word(*role)
            ),
            Self::Delete(role) => format!("delete the {}'s pod", word(*role)),
            Self::AwaitNew(role, _) => format!("wait until a new {} runs", word(*role)),
            Self::AwaitNewOrDelete(role, _) => format!(
                "wait until a new {} runs; delete the old one if its group forgets it",
                word(*role)
            ),
            Self::CleanFailed => "remove the failed pods".to_owned(),
        }
    }
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Head => "head",
        Role::Worker => "worker",
        Role::Router => "router",
        Role::Prepull => "image pull",
        Role::Staging => "download",
        Role::Other => "pod",
    }
}

/// What is to be done, empty where nothing is for a restart to heal.
#[must_use]
pub fn plan(site: &Site, facts: &Facts, diagnoses: &[Diagnosis]) -> Vec<Step> {
    let has = |recovery| diagnoses.iter().any(|d| d.recovery == recovery);
    let mut steps = Vec::new();
    if has(Recovery::Group) {
        steps.extend(group(site, facts));
    }
    if has(Recovery::Clean)
        || has(Recovery::Group) && facts.pods.iter().any(|p| p.phase == "Failed")
    {
        steps.push(Step::CleanFailed);
    }
    steps
}

/// The restart of both ranks.
#[must_use]
pub fn group(site: &Site, facts: &Facts) -> Vec<Step> {
    let uids = |role: Role| -> Vec<String> {
        facts
            .pods
            .iter()
            .filter(|pod| pod.role == role)
            .map(|pod| pod.uid.clone())
            .collect()
    };
    match site.shape {
        Shape::Deployments => vec![
            Step::ScaleHead(0),
            Step::AwaitGone(Role::Head),
            Step::Delete(Role::Worker),
            Step::AwaitNew(Role::Worker, uids(Role::Worker)),
            Step::ScaleHead(1),
            Step::AwaitNew(Role::Head, uids(Role::Head)),
        ],
        Shape::Lws => vec![
            Step::Delete(Role::Head),
            Step::AwaitNew(Role::Head, uids(Role::Head)),
            Step::AwaitNewOrDelete(Role::Worker, uids(Role::Worker)),
        ],
    }
}

/// Why a step did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The cluster refused.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// What was waited for did not come.
    #[error("{step}: not after {seconds} s; {seen}")]
    Late {
        /// The step.
        step: String,
        /// The limit, seconds.
        seconds: u64,
        /// What was there instead.
        seen: String,
    },
}

/// How often a wait looks.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a wait may take. A pod may take its grace period to end, and its successor a pull of the
/// image to run.
const PATIENCE: u32 = 300;
/// When a group's worker counts as forgotten.
const FORGOTTEN: u32 = 30;

/// Does one step and verifies it. `pause` is called while it waits.
///
/// # Errors
/// When the cluster refuses, or what is waited for does not come. The step can be done again.
pub fn execute(
    kubectl: &dyn Kubectl,
    site: &Site,
    step: &Step,
    pause: &mut dyn FnMut(Duration),
) -> Result<(), RecoverError> {
    let namespace = site.namespace.as_str();
    match step {
        Step::ScaleHead(count) => {
            let name = format!("{}-head", site.name);
            let replicas = format!("--replicas={count}");
            kubectl.run(
                &[
                    "scale",
                    "deployment",
                    &name,
                    "--namespace",
                    namespace,
                    &replicas,
                ],
                None,
            )?;
            Ok(())
        }
        Step::Delete(role) => delete(kubectl, site, *role),
        Step::CleanFailed => {
            let selector = format!("--selector=app={}", site.name);
            kubectl.run(
                &[
                    "delete",
                    "pods",
                    "--namespace",
                    namespace,
                    &selector,
                    "--field-selector=status.phase=Failed",
                    "--wait=false",
                ],
                None,
            )?;
            await_pods(kubectl, site, step, pause, |pods, _| {
                Ok(!pods.iter().any(|pod| pod.phase == "Failed"))
            })
        }
        Step::AwaitGone(role) => await_pods(kubectl, site, step, pause, |pods, _| {
            Ok(!pods
                .iter()
                .any(|pod| pod.role == *role && pod.phase != "Failed"))
        }),
        Step::AwaitNew(role, old) => await_pods(kubectl, site, step, pause, |pods, _| {
            Ok(is_new(pods, *role, old))
        }),
        Step::AwaitNewOrDelete(role, old) => {
            await_pods(kubectl, site, step, pause, |pods, round| {
                // A controller that recreates the other pod first forgets this one.
                if round == FORGOTTEN && !is_new(pods, *role, old) {
                    delete(kubectl, site, *role)?;
                }
                Ok(is_new(pods, *role, old))
            })
        }
    }
}

fn is_new(pods: &[PodFacts], role: Role, old: &[String]) -> bool {
    pods.iter().any(|pod| {
        pod.role == role && pod.phase == "Running" && !pod.deleting && !old.contains(&pod.uid)
    })
}

fn delete(kubectl: &dyn Kubectl, site: &Site, role: Role) -> Result<(), RecoverError> {
    let selector = format!("--selector=app={},role={}", site.name, word(role));
    kubectl.run(
        &[
            "delete",
            "pods",
            "--namespace",
            site.namespace.as_str(),
            &selector,
            "--field-selector=status.phase!=Failed",
            "--wait=false",
        ],
        None,
    )?;
    Ok(())
}

fn await_pods(
    kubectl: &dyn Kubectl,
    site: &Site,
    step: &Step,
    pause: &mut dyn FnMut(Duration),
    mut done: impl FnMut(&[PodFacts], u32) -> Result<bool, RecoverError>,
) -> Result<(), RecoverError> {
    let mut seen = Vec::new();
    for round in 0..PATIENCE {
        seen = collect::pods(kubectl, site)?;
        if done(&seen, round)? {
            return Ok(());
        }
        pause(PAUSE);
    }
    let seen: Vec<String> = seen
        .iter()
        .map(|pod| {
            format!("{} is {} {}", pod.name, pod.phase, pod.waiting)
                .trim()
                .to_owned()
        })
        .collect();
    Err(RecoverError::Late {
        step: step.says(),
        seconds: u64::from(PATIENCE) * PAUSE.as_secs(),
        seen: if seen.is_empty() {
            "there is no pod".to_owned()
        } else {
            seen.join(", ")
        },
    })
}
