//! What the user sees: one line for what is well, everything for what is not; the same as JSON.
//!
//! Both can be pasted into a bug report: keys are masked and the home folder is `~`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use codex_ds_wire::redact::Redactor;
use serde_json::{Value as Json, json};

use super::check::{Check, Finding, Record, Status};
use super::context::Context;
use super::explain;
use crate::{home, ui};

/// The version of the `--json` output.
const SCHEMA_VERSION: u32 = 1;

/// A doctor's visit that has ended.
pub(super) struct Report {
    pub(super) context: Arc<Context>,
    pub(super) records: Vec<Record>,
    /// How many checks were not asked for.
    pub(super) left_out: usize,
    pub(super) took: Duration,
}

/// Shows a visit; `fixed` is what was repaired before it.
pub(super) fn show(report: &Report, fixed: Option<&Json>, as_json: bool) {
    let redact = Redaction::of(&report.context);
    if as_json {
        let mut json = to_json(report);
        if let Some(fixed) = fixed {
            json["fixed"] = fixed.clone();
        }
        ui::json(&redact.json(json));
    } else {
        ui::out(&redact.text(&to_text(report)));
    }
}

/// Takes out of a text what must not be pasted anywhere.
struct Redaction {
    redactor: Redactor,
    user_home: Option<String>,
}

impl Redaction {
    fn of(context: &Context) -> Self {
        let user_home = home::user_home()
            .ok()
            .and_then(|home| home.canonicalize().ok())
            .filter(|home| home.parent().is_some())
            .map(|home| home.to_string_lossy().into_owned());
        Self {
            redactor: Redactor::new(&context.secrets()),
            user_home,
        }
    }

    fn text(&self, text: &str) -> String {
        let text = self.redactor.text(text).into_owned();
        match &self.user_home {
            Some(home) => text.replace(home, "~"),
            None => text,
        }
    }

    fn json(&self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(&text)),
            Json::Array(values) => values.into_iter().map(|value| self.json(value)).collect(),
            Json::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (name, self.json(value)))
                .collect(),
            other => other,
        }
    }
}

fn profile_name(context: &Context) -> &str {
    context.profile.name.as_deref().unwrap_or("all")
}

fn count(records: &[Record], status: Status) -> usize {
    records
        .iter()
        .filter(|record| record.status == status)
        .count()
}

fn to_json(report: &Report) -> Json {
    let statuses = [
        Status::Pass,
        Status::Skip,
        Status::Warn,
        Status::Fail,
        Status::Error,
    ];
    let mut counts: serde_json::Map<String, Json> = statuses
        .iter()
        .map(|status| {
            (
                status.name().to_owned(),
                count(&report.records, *status).into(),
            )
        })
        .collect();
    counts.insert("left_out".into(), report.left_out.into());
    json!({
        "schema_version": SCHEMA_VERSION,
        "home": report.context.home,
        "profile": profile_name(&report.context),
        "versions": versions(&report.context),
        "counts": counts,
        "checks": report.records,
        "duration_ms": u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn versions(context: &Context) -> std::collections::BTreeMap<&'static str, String> {
    let mut versions = context.versions();
    versions.insert("codex-ds", env!("CARGO_PKG_VERSION").to_owned());
    versions.insert("os", system());
    versions
}

fn system() -> String {
    let name = fs_err::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(line.trim_matches('"').to_owned())
        });
    let name = name.unwrap_or_else(|| std::env::consts::OS.to_owned());
    format!("{name} ({})", std::env::consts::ARCH)
}

fn to_text(report: &Report) -> String {
    let context = &report.context;
    let mut text = format!(
        "codex-ds doctor: {}, profile {}\n",
        context.home.display(),
        profile_name(context)
    );
    let versions: Vec<String> = versions(context)
        .iter()
        .map(|(part, version)| format!("{part} {version}"))
        .collect();
    let _ = writeln!(text, "{}\n", versions.join(", "));
    let width = report
        .records
        .iter()
        .map(|record| record.id.len())
        .max()
        .unwrap_or(0);
    let mut records: Vec<&Record> = report.records.iter().collect();
    // What is wrong comes last, where the eye is; each group keeps the order of the chain.
    records.sort_by_key(|record| match record.status {
        Status::Pass => 0,
        Status::Skip => 1,
        Status::Warn => 2,
        Status::Fail | Status::Error => 3,
    });
    for record in records {
        let mark = match record.status {
            Status::Pass => "ok",
            Status::Skip => "skip",
            Status::Warn => "WARN",
            Status::Fail => "FAIL",
            Status::Error => "ERR",
        };
        let summary = one_line(&record.summary);
        let _ = writeln!(text, "{mark:<5} {:<width$}  {summary}", record.id);
        if record.status > Status::Skip {
            for (at, finding) in record
                .findings
                .iter()
                .filter(|finding| finding.status > Status::Pass)
                .enumerate()
            {
                finding_text(&mut text, finding, at > 0);
            }
            let _ = writeln!(
                text,
                "      more      codex-ds doctor --explain {}",
                record.id
            );
        }
    }
    let _ = writeln!(text, "\n{}", last_line(report));
    text
}

fn finding_text(text: &mut String, finding: &Finding, with_text: bool) {
    if with_text {
        let _ = writeln!(text, "      {}", one_line(&finding.text));
    }
    let mut row = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            let mut lines = value.lines();
            let first = lines.next().unwrap_or_default();
            let _ = writeln!(text, "      {name:<9} {first}");
            for line in lines {
                let _ = writeln!(text, "                {line}");
            }
        }
    };
    row("measured", &finding.measured);
    row("expected", &finding.expected);
    row("source", &finding.source);
    if let Some(remedy) = &finding.remedy {
        let fix = if remedy.fixable {
            format!("{} (codex-ds doctor --fix does it)", remedy.text)
        } else {
            remedy.text.clone()
        };
        row("fix", &Some(fix));
        row("run", &remedy.command);
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn last_line(report: &Report) -> String {
    let of = |status| count(&report.records, status);
    let mut parts = Vec::new();
    let failed = of(Status::Fail);
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    let broken = of(Status::Error);
    if broken > 0 {
        parts.push(format!("{broken} could not be told"));
    }
    match of(Status::Warn) {
        0 => {}
        1 => parts.push("1 warning".to_owned()),
        warnings => parts.push(format!("{warnings} warnings")),
    }
    parts.push(format!("{} passed", of(Status::Pass)));
    let skipped = of(Status::Skip);
    if skipped > 0 {
        parts.push(format!("{skipped} skipped"));
    }
    if report.left_out > 0 {
        parts.push(format!("{} not asked for", report.left_out));
    }
    format!("{} ({:.1} s)", parts.join(", "), report.took.as_secs_f64())
}

pub(super) fn list(checks: &[&Check], as_json: bool) {
    if as_json {
        let checks: Vec<Json> = checks
            .iter()
            .map(|check| {
                json!({
                    "id": check.id,
                    "title": check.title,
                    "cost": check.cost,
                    "requires": check.requires,
                })
            })
            .collect();
        ui::json(&json!({ "schema_version": SCHEMA_VERSION, "checks": checks }));
        return;
    }
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let cost = format!("{:?}", check.cost).to_lowercase();
        let _ = writeln!(text, "{:<width$}  {cost:<7}  {}", check.id, check.title);
    }
    ui::out(&text);
}

pub(super) fn explain(check: &Check, as_json: bool) {
    let section = explain::section(check.id).unwrap_or(check.title);
    if as_json {
        ui::json(&json!({
            "schema_version": SCHEMA_VERSION,
            "id": check.id,
            "title": check.title,
            "cost": check.cost,
            "requires": check.requires,
            "text": section,
        }));
    } else {
        ui::out(&format!("{section}\n"));
    }
}
