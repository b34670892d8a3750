//! What a user, a script and a CI system read.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::case::Case;
use super::judge::Status;
use super::trial::{By, Trial};
use crate::eval::stats::wilson;

/// The version of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// What a run is about.
pub(super) struct Head {
    /// Codex's version.
    pub(super) codex: String,
    /// The profile's endpoint.
    pub(super) endpoint: String,
    /// What it is.
    pub(super) server: String,
}

/// A case in a profile, and its runs.
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) profile: String,
    pub(super) trials: Vec<Trial>,
}

impl Row {
    /// The worst of the runs.
    pub(super) fn status(&self) -> Status {
        let worst = [Status::Fail, Status::Inconclusive, Status::Skipped];
        let has = |status: &Status| self.trials.iter().any(|run| run.verdict.status == *status);
        worst.into_iter().find(has).unwrap_or(Status::Pass)
    }

    /// The 95 % interval of its rate.
    fn interval(&self) -> (f64, f64) {
        wilson(self.passed().into(), self.runs().into()).unwrap_or((0.0, 1.0))
    }

    fn passed(&self) -> u32 {
        let passed = |run: &&Trial| run.verdict.status == Status::Pass;
        u32::try_from(self.trials.iter().filter(passed).count()).unwrap_or(u32::MAX)
    }

    fn runs(&self) -> u32 {
        u32::try_from(self.trials.len()).unwrap_or(u32::MAX)
    }

    /// The run that the row's status comes from.
    fn decisive(&self) -> Option<&Trial> {
        let status = self.status();
        self.trials.iter().find(|run| run.verdict.status == status)
    }

    /// Seconds, the mean of the runs.
    fn seconds(&self) -> f64 {
        let all: f64 = self.trials.iter().map(|run| run.took.as_secs_f64()).sum();
        all / f64::from(self.runs().max(1))
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Pass => "pass",
        Status::Fail => "fail",
        Status::Inconclusive => "inconclusive",
        Status::Skipped => "skipped",
    }
}

fn mark(status: Status) -> &'static str {
    match status {
        Status::Pass => "ok  ",
        Status::Fail => "FAIL",
        Status::Inconclusive => "??  ",
        Status::Skipped => "skip",
    }
}

/// The first line of the report.
pub(super) fn head(head: &Head) -> String {
    format!(
        "codex-ds validate: Codex {} on {} ({})\n",
        head.codex, head.endpoint, head.server
    )
}

/// The line of a profile.
pub(super) fn profile(name: &str) -> String {
    format!("\nprofile {name}\n")
}

/// The lines of a case.
pub(super) fn row(row: &Row, verbose: bool) -> String {
    let status = row.status();
    let time = match status {
        Status::Skipped => String::new(),
        _ => format!("{:.1} s", row.seconds()),
    };
    let mut text = format!(
        "{}  {:<18} {time:>8}  {}",
        mark(status),
        row.case.id,
        row.case.title
    );
    if row.runs() > 1 && status != Status::Skipped {
        let (low, high) = row.interval();
        let _ = write!(
            text,
            "\n      {} of {} runs passed: {:.0} %, 95 % interval {:.0} to {:.0} %",
            row.passed(),
            row.runs(),
            100.0 * f64::from(row.passed()) / f64::from(row.runs()),
            100.0 * low,
            100.0 * high
        );
    }
    text.push('\n');
    let Some(run) = row.decisive() else {
        return text;
    };
    if let Some(how) = how(run) {
        let _ = writeln!(text, "      {how}");
    }
    if verbose || status == Status::Fail {
        for proof in &run.verdict.proofs {
            let _ = writeln!(text, "      ok: {proof}");
        }
    }
    for fault in &run.verdict.faults {
        let kind = match status {
            Status::Fail => "wrong: ",
            _ => "",
        };
        let _ = writeln!(text, "      {kind}{fault}");
    }
    if let Some(kept) = &run.kept {
        let _ = writeln!(text, "      kept: {}", kept.display());
    }
    text
}

/// Who made the attempt, where that was not the model by itself.
fn how(run: &Trial) -> Option<&'static str> {
    match run.by? {
        By::Model => None,
        By::Asked => Some("the model did not try by itself; it was asked for the exact command"),
        By::Played => Some("played by the built-in model, not by yours"),
    }
}

/// The end of the report.
pub(super) fn tail(rows: &[Row], seconds: f64) -> String {
    let count = |status: Status| rows.iter().filter(|row| row.status() == status).count();
    let mut parts = vec![format!("{} passed", count(Status::Pass))];
    for status in [Status::Fail, Status::Inconclusive, Status::Skipped] {
        let number = count(status);
        if number > 0 {
            let word = if status == Status::Fail {
                "failed"
            } else {
                word(status)
            };
            parts.push(format!("{number} {word}"));
        }
    }
    let mut text = format!("\n{} in {seconds:.0} s\n", parts.join(", "));
    if let Some(kept) = rows
        .iter()
        .flat_map(|row| &row.trials)
        .find_map(|run| run.kept.as_deref())
    {
        let _ = writeln!(
            text,
            "next: read verdict.txt and *.events.jsonl there; the requests: codex-ds dump show --store {}/dump",
            kept.display()
        );
    }
    text
}

/// The whole result for scripts.
pub(super) fn json(head: &Head, rows: &[Row], seconds: f64) -> Json {
    let count = |status: Status| rows.iter().filter(|row| row.status() == status).count();
    json!({
        "schema_version": SCHEMA_VERSION,
        "codex": head.codex,
        "endpoint": head.endpoint,
        "server": head.server,
        "seconds": rounded(seconds),
        "passed": count(Status::Pass),
        "failed": count(Status::Fail),
        "inconclusive": count(Status::Inconclusive),
        "skipped": count(Status::Skipped),
        "cases": rows.iter().map(row_json).collect::<Vec<_>>(),
    })
}

fn row_json(row: &Row) -> Json {
    let (low, high) = row.interval();
    json!({
        "case": row.case.id,
        "title": row.case.title,
        "profile": row.profile,
        "status": word(row.status()),
        "runs": row.runs(),
        "passed": row.passed(),
        "rate_low": rounded(low),
        "rate_high": rounded(high),
        "seconds": rounded(row.seconds()),
        "trials": row.trials.iter().map(trial_json).collect::<Vec<_>>(),
    })
}

fn trial_json(run: &Trial) -> Json {
    json!({
        "status": word(run.verdict.status),
        "attempt_by": run.by.map(|by| match by {
            By::Model => "model",
            By::Asked => "asked",
            By::Played => "played",
        }),
        "proofs": run.verdict.proofs,
        "faults": run.verdict.faults,
        "tool_calls": run.calls,
        "seconds": rounded(run.took.as_secs_f64()),
        "kept": run.kept.as_deref().map(Path::to_string_lossy),
    })
}

/// To thousandths.
fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

/// The cases that there are.
pub(super) fn list(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        let mut line = format!("{:<18} {}", case.id, case.title);
        if !case.servers.is_empty() {
            let _ = write!(line, " (needs the MCP server {})", case.servers.join(", "));
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The same for scripts.
pub(super) fn list_json(cases: &[Case]) -> Json {
    let cases: Vec<Json> = cases
        .iter()
        .map(|case| {
            json!({
                "case": case.id,
                "title": case.title,
                "profiles": case.profiles,
                "servers": case.servers,
                "limit_seconds": case.limit.as_secs(),
            })
        })
        .collect();
    json!({ "schema_version": SCHEMA_VERSION, "cases": cases })
}

/// The result as JUnit XML: a suite a profile, a test a case. What is inconclusive counts as
/// skipped there, with the reason, since the format has no word for it.
pub(super) fn junit(rows: &[Row], seconds: f64) -> String {
    let mut profiles: Vec<&str> = rows.iter().map(|row| row.profile.as_str()).collect();
    profiles.dedup();
    let count =
        |rows: &[&Row], status: Status| rows.iter().filter(|r| r.status() == status).count();
    let all: Vec<&Row> = rows.iter().collect();
    let skipped = |rows: &[&Row]| count(rows, Status::Inconclusive) + count(rows, Status::Skipped);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"codex-ds validate\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{seconds:.3}\">",
        all.len(),
        count(&all, Status::Fail),
        skipped(&all)
    );
    for profile in profiles {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.profile == profile).collect();
        let time: f64 = rows.iter().map(|row| row.seconds()).sum();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{time:.3}\">",
            xml(profile),
            rows.len(),
            count(&rows, Status::Fail),
            skipped(&rows)
        );
        for row in rows {
            junit_case(&mut text, row);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn junit_case(text: &mut String, row: &Row) {
    let _ = write!(
        text,
        "    <testcase classname=\"validate.{}\" name=\"{}\" time=\"{:.3}\"",
        xml(&row.profile),
        xml(&row.case.id),
        row.seconds()
    );
    let element = match row.status() {
        Status::Pass => {
            text.push_str("/>\n");
            return;
        }
        Status::Fail => "failure",
        Status::Inconclusive | Status::Skipped => "skipped",
    };
    let (faults, kept) = match row.decisive() {
        Some(run) => (run.verdict.faults.join("; "), run.kept.as_deref()),
        None => (String::new(), None),
    };
    let _ = write!(text, ">\n      <{element} message=\"{}\"/>\n", xml(&faults));
    if let Some(kept) = kept {
        let _ = writeln!(
            text,
            "      <system-out>kept: {}</system-out>",
            xml(&kept.to_string_lossy())
        );
    }
    text.push_str("    </testcase>\n");
}

/// A text for an attribute or an element of XML 1.0, which has no place for most control characters.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            c if c < ' ' || c == '\u{fffe}' || c == '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
