//! What the facts mean: each known failure by its signature.

use serde::Serialize;

use super::Facts;
use crate::check::Severity;
use crate::site::Site;

mod logs;
mod node;
mod pods;
mod stack;

/// Every known failure, by what shows it.
pub static FAILURES: &[&[Failure]] = &[
    stack::FAILURES,
    pods::FAILURES,
    logs::FAILURES,
    node::FAILURES,
];

/// Every known failure.
pub fn failures() -> impl Iterator<Item = &'static Failure> {
    FAILURES.iter().copied().flatten()
}

/// A failure that was recognised.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Its code, which is its heading in the docs.
    pub code: &'static str,
    /// How bad it is.
    pub severity: &'static str,
    /// What it is.
    pub says: &'static str,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What to do.
    pub fix: &'static str,
    /// What `recover` does about it.
    pub recovery: Recovery,
}

/// What `recover` does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Nothing: it is not for a restart to heal.
    None,
    /// It removes the failed pods.
    Clean,
    /// It restarts both ranks, in the right order.
    Group,
}

/// A known failure.
pub struct Failure {
    /// Its code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub says: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// What `recover` does about it.
    pub recovery: Recovery,
    evidence: fn(&Site, &Facts) -> Vec<String>,
}

/// The failures that the facts show, the worst first.
#[must_use]
pub fn diagnose(site: &Site, facts: &Facts) -> Vec<Diagnosis> {
    let mut found: Vec<(Severity, Diagnosis)> = failures()
        .filter_map(|failure| {
            let evidence = (failure.evidence)(site, facts);
            (!evidence.is_empty()).then_some((
                failure.severity,
                Diagnosis {
                    code: failure.code,
                    severity: failure.severity.word(),
                    says: failure.says,
                    evidence,
                    fix: failure.fix,
                    recovery: failure.recovery,
                },
            ))
        })
        .collect();
    found.sort_by_key(|(severity, _)| *severity);
    found.into_iter().map(|(_, diagnosis)| diagnosis).collect()
}

/// One row.
macro_rules! failure {
    ($code:literal, $severity:ident, $recovery:ident, $says:literal, $fix:literal, $evidence:expr) => {
        $crate::cluster::diagnose::Failure {
            code: $code,
            severity: $crate::check::Severity::$severity,
            says: $says,
            fix: $fix,
            recovery: $crate::cluster::diagnose::Recovery::$recovery,
            evidence: $evidence,
        }
    };
}
use failure;

/// The first line that each of the words is in, cut to a screen's width.
fn matching(log: &str, words: &[&str]) -> Vec<String> {
    words
        .iter()
        .filter_map(|word| log.lines().find(|line| line.contains(word)))
        .map(|line| line.trim().chars().take(160).collect())
        .fold(Vec::new(), |mut lines, line| {
            if !lines.contains(&line) {
                lines.push(line);
            }
            lines
        })
}

fn in_logs(facts: &Facts, words: &[&str]) -> Vec<String> {
    [
        ("head", &facts.head_log),
        ("head, before its restart", &facts.head_previous_log),
        ("worker", &facts.worker_log),
    ]
    .into_iter()
    .flat_map(|(who, log)| {
        matching(log, words)
            .into_iter()
            .map(move |line| format!("{who}: {line}"))
    })
    .collect()
}
