//! What a check is, and what it finds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::context::Context;

/// A check as the runner starts it. An error says that the check itself broke, not what it looked at.
pub type Running = Pin<Box<dyn Future<Output = anyhow::Result<Outcome>> + Send>>;

/// One check. All of them stand in the tables of [`super::checks`].
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// `area.subject`, public and stable: the name for `--only`, `--explain` and scripts, and the
    /// heading of its section in `docs/checks.md`.
    pub id: &'static str,
    /// What holds when it passes, in a few words.
    pub title: &'static str,
    /// The checks without which this one has nothing to look at. Where one of them does not pass,
    /// this one is skipped. None may cost more than this one.
    pub requires: &'static [&'static str],
    /// What it costs to run.
    pub cost: Cost,
    /// How long it may take; a check that hangs is ended and reported as an error.
    pub deadline: Duration,
    /// Runs it.
    pub run: fn(Arc<Context>) -> Running,
}

impl Check {
    /// The area: what stands before the dot.
    #[must_use]
    pub fn area(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(area, _)| area)
    }
}

/// What a check costs. `--offline` leaves out what is above [`Cost::Codex`]; without `--deep`,
/// [`Cost::Deep`] is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    /// Reads files.
    Offline,
    /// Starts Codex, or another program of this machine.
    Codex,
    /// Asks the endpoint, without a model's work.
    Network,
    /// Has the model work: some hundred tokens.
    Deep,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All is as it should be.
    Pass,
    /// It was not run, since it has nothing to look at.
    Skip,
    /// It works, but not as it should, or it may not work for long.
    Warn,
    /// It does not work.
    Fail,
    /// The check itself broke: nothing is known.
    Error,
}

impl Status {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip => "skip",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }

    /// Whether checks that require one of this status can run.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Pass | Self::Warn)
    }
}

/// One thing that a check saw: what was measured against what was expected, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is; [`Status::Pass`] for a fact without a verdict.
    pub status: Status,
    /// What is wrong, or what was seen, in a line.
    pub text: String,
    /// What was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Where it was measured: a file and key, a URL, a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// What to do about a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// In words.
    pub text: String,
    /// A command that can be pasted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether `doctor --fix` does it.
    pub fixable: bool,
}

impl Finding {
    fn new(status: Status, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            measured: None,
            expected: None,
            source: None,
            remedy: None,
        }
    }

    /// A fact without a verdict.
    pub fn note(text: impl Into<String>) -> Self {
        Self::new(Status::Pass, text)
    }

    /// Something that works, but not as it should.
    pub fn warn(text: impl Into<String>) -> Self {
        Self::new(Status::Warn, text)
    }

    /// Something that does not work.
    pub fn fail(text: impl Into<String>) -> Self {
        Self::new(Status::Fail, text)
    }

    /// Says what was measured.
    #[must_use]
    pub fn measured(mut self, measured: impl Into<String>) -> Self {
        self.measured = Some(measured.into());
        self
    }

    /// Says what was expected.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Says where it was measured.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says in words what to do.
    #[must_use]
    pub fn remedy(mut self, text: impl Into<String>) -> Self {
        self.remedy.get_or_insert_default().text = text.into();
        self
    }

    /// Gives the command to paste.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.remedy.get_or_insert_default().command = Some(command.into());
        self
    }

    /// Says that `doctor --fix` does it.
    #[must_use]
    pub fn fixable(mut self) -> Self {
        self.remedy.get_or_insert_default().fixable = true;
        self
    }
}

/// What a check found. Its status is that of the worst finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub(super) status: Status,
    pub(super) summary: String,
    pub(super) findings: Vec<Finding>,
}

impl Outcome {
    /// All is well, and this is what was seen.
    pub fn pass(summary: impl Into<String>) -> Self {
        Self::of(summary, Vec::new())
    }

    /// There is nothing to look at, for this reason.
    pub fn skip(reason: impl Into<String>) -> Self {
        Self {
            status: Status::Skip,
            ..Self::pass(reason)
        }
    }

    /// What was found, the worst first; `summary` says it when nothing is wrong.
    pub fn of(summary: impl Into<String>, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.status));
        let status = findings
            .first()
            .map_or(Status::Pass, |finding| finding.status);
        let summary = match findings.first() {
            Some(worst) if status != Status::Pass => worst.text.clone(),
            _ => summary.into(),
        };
        Self {
            status,
            summary,
            findings,
        }
    }
}

impl From<Finding> for Outcome {
    fn from(finding: Finding) -> Self {
        Self::of(finding.text.clone(), vec![finding])
    }
}

/// A check that was run, or skipped: one element of `--json`'s `checks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The check's id.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// How it ended.
    pub status: Status,
    /// What was seen, in a line.
    pub summary: String,
    /// The evidence, the worst first.
    pub findings: Vec<Finding>,
    /// Its section in the documentation.
    pub docs: String,
    /// How long it took, milliseconds.
    pub duration_ms: u64,
}

impl Record {
    pub(super) fn new(check: &Check, outcome: Outcome, took: Duration) -> Self {
        Self {
            id: check.id,
            title: check.title,
            status: outcome.status,
            summary: outcome.summary,
            findings: outcome.findings,
            docs: format!("docs/checks.md#{}", check.id),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_speaks_for_the_outcome() {
        let outcome = Outcome::of(
            "fine",
            vec![
                Finding::note("seen"),
                Finding::fail("broken"),
                Finding::warn("odd"),
            ],
        );
        assert_eq!(
            (outcome.status, outcome.summary.as_str()),
            (Status::Fail, "broken")
        );
        let outcome = Outcome::of("fine", vec![Finding::note("seen")]);
        assert_eq!(
            (outcome.status, outcome.summary.as_str()),
            (Status::Pass, "fine")
        );
    }
}
