//! `codex-ds guard test`: a file of commands with the verdicts that are expected.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use codex_ds_hook::{Verdict, evaluate};
use serde_json::json;

use super::{PlaceArgs, SCHEMA_VERSION, policy};
use crate::error::UserError;
use crate::{exit, ui};

/// The arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A line is `allow COMMAND`, `deny COMMAND` or `deny:RULE COMMAND`. A command in double quotes is
read as a JSON string, so that it can hold line ends. Empty lines and lines with # are skipped.

Exit codes: 0 every verdict is as expected; 1 one is not; 2 the file cannot be understood

Example:
  codex-ds guard test team-rules.txt --cwd .")]
pub(super) struct Args {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

/// A line of the file.
struct Case {
    line: usize,
    deny: bool,
    rule: Option<String>,
    command: String,
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be read or has a line of another form.
pub(super) fn run(args: &Args) -> Result<u8> {
    let text = fs_err::read_to_string(&args.file).context("cannot read the cases")?;
    let cases = parse(&text, &args.file.display().to_string())?;
    let home = args.place.home()?;
    let policy = policy(&home);
    let context = codex_ds_hook::installed::place(&args.place.cwd()?, &home);
    let mut wrong = Vec::new();
    for case in &cases {
        let verdict = evaluate(&case.command, &policy, &context);
        let fits = verdict.is_deny() == case.deny
            && case
                .rule
                .as_ref()
                .is_none_or(|rule| verdict.denial().is_some_and(|denial| denial.rule == *rule));
        if !fits {
            wrong.push((case, verdict));
        }
    }
    if args.place.json {
        let wrong: Vec<_> = wrong
            .iter()
            .map(|(case, verdict)| {
                json!({
                    "line": case.line,
                    "command": case.command,
                    "verdict": if verdict.is_deny() { "deny" } else { "allow" },
                    "rule": verdict.denial().map(|denial| &denial.rule),
                })
            })
            .collect();
        ui::json(
            &json!({ "schema_version": SCHEMA_VERSION, "cases": cases.len(), "wrong": wrong }),
        );
    } else {
        let mut text = String::new();
        for (case, verdict) in &wrong {
            let found = match verdict {
                Verdict::Allow => "allowed".to_owned(),
                Verdict::Deny(denial) => format!("denied by {}", denial.rule),
            };
            let _ = writeln!(
                text,
                "{}:{}: {found}: {}",
                args.file.display(),
                case.line,
                case.command.replace('\n', "\\n")
            );
        }
        let _ = writeln!(text, "{} cases, {} wrong", cases.len(), wrong.len());
        ui::out(&text);
    }
    Ok(if wrong.is_empty() {
        exit::OK
    } else {
        exit::FAILURE
    })
}

fn parse(text: &str, file: &str) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let bad = |found: &str| {
            UserError::usage(format!(
                "{file}:{}: found {found:?}, expected allow, deny or deny:RULE and a command",
                i + 1
            ))
            .hint("for example: deny:git.push git push origin main")
        };
        let (verdict, command) = trimmed
            .split_once(char::is_whitespace)
            .ok_or_else(|| bad(trimmed))?;
        let (deny, rule) = match verdict.split_once(':') {
            None if verdict == "allow" => (false, None),
            None if verdict == "deny" => (true, None),
            Some(("deny", rule)) => (true, Some(rule.to_owned())),
            _ => return Err(bad(verdict).into()),
        };
        let command = command.trim();
        let command = match serde_json::from_str::<String>(command) {
            Ok(text) if command.starts_with('"') => text,
            _ => command.to_owned(),
        };
        cases.push(Case {
            line: i + 1,
            deny,
            rule,
            command,
        });
    }
    Ok(cases)
}
