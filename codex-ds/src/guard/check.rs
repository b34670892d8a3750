//! `codex-ds guard check` and `explain`.

use std::fmt::Write as _;
use std::io::Read as _;

use anyhow::{Context as _, Result};
use codex_ds_hook::{Explanation, Verdict, evaluate_patch};
use serde_json::{Value as Json, json};

use super::{PlaceArgs, SCHEMA_VERSION, policy};
use crate::{exit, ui};

/// What a patch for `apply_patch` begins with.
const PATCH: &str = "*** Begin Patch";

/// The arguments of both.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the command passes; 1 it is denied; 2 wrong usage

Examples:
  codex-ds guard check 'git status && git push'
  codex-ds guard explain 'find . -name \"*.o\" -exec rm {} +'
  codex-ds guard check --json - < command.sh")]
pub(super) struct Args {
    /// The command as one word, or - to read it from standard input
    #[arg(value_name = "CMD")]
    command: String,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Says whether a command passes.
///
/// # Errors
/// When standard input or the folder cannot be read.
pub(super) fn check(args: &Args) -> Result<u8> {
    let (_, explanation) = understand(args)?;
    if args.place.json {
        let mut answer = verdict(&explanation.verdict);
        answer["schema_version"] = json!(SCHEMA_VERSION);
        ui::json(&answer);
    } else {
        match explanation.verdict.denial() {
            None => ui::out("allowed\n"),
            Some(denial) => ui::out(&format!("denied: {denial}\n")),
        }
    }
    Ok(code(&explanation.verdict))
}

/// Says what was understood.
///
/// # Errors
/// As [`check`].
pub(super) fn explain(args: &Args) -> Result<u8> {
    let (command, explanation) = understand(args)?;
    if args.place.json {
        let mut answer = verdict(&explanation.verdict);
        answer["schema_version"] = json!(SCHEMA_VERSION);
        answer["span"] = json!(explanation.span.as_ref().map(|s| [s.start, s.end]));
        answer["steps"] = explanation
            .steps
            .iter()
            .map(|step| {
                json!({
                    "level": step.level,
                    "command": step.command,
                    "place": step.place,
                    "known": step.known,
                })
            })
            .collect();
        ui::json(&answer);
    } else {
        ui::out(&describe(&command, &explanation));
    }
    Ok(code(&explanation.verdict))
}

fn understand(args: &Args) -> Result<(String, Explanation)> {
    let command = if args.command == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read the command from standard input")?;
        text.trim_end_matches('\n').to_owned()
    } else {
        args.command.clone()
    };
    let home = args.place.home()?;
    let policy = policy(&home);
    let context = codex_ds_hook::installed::place(&args.place.cwd()?, &home);
    let explanation = if command.trim_start().starts_with(PATCH) {
        Explanation {
            steps: Vec::new(),
            verdict: evaluate_patch(&command, &policy, &context),
            span: None,
        }
    } else {
        codex_ds_hook::explain(&command, &policy, &context)
    };
    Ok((command, explanation))
}

fn code(verdict: &Verdict) -> u8 {
    if verdict.is_deny() {
        exit::FAILURE
    } else {
        exit::OK
    }
}

fn verdict(verdict: &Verdict) -> Json {
    match verdict.denial() {
        None => json!({ "verdict": "allow" }),
        Some(denial) => json!({
            "verdict": "deny",
            "rule": denial.rule,
            "title": denial.title,
            "offending": denial.offending,
            "instead": denial.instead,
            "message": denial.to_string(),
        }),
    }
}

fn describe(command: &str, explanation: &Explanation) -> String {
    let mut text = String::from("Understood:\n");
    for step in &explanation.steps {
        let indent = "  ".repeat(step.level as usize + 1);
        let place = match step.place {
            "here" => String::new(),
            place => format!("   ({place})"),
        };
        let unknown = if step.known {
            ""
        } else {
            "   (… is not known)"
        };
        let _ = writeln!(text, "{indent}{}{place}{unknown}", one_line(&step.command));
    }
    if explanation.steps.is_empty() {
        text.push_str("  no command\n");
    }
    let Some(denial) = explanation.verdict.denial() else {
        text.push_str("\nAllowed.\n");
        return text;
    };
    let _ = writeln!(text, "\nDenied by {}: {}", denial.rule, denial.title);
    if let Some(span) = &explanation.span {
        underline(&mut text, command, span.start, span.end);
    }
    let _ = writeln!(text, "  what      {}", one_line(&denial.offending));
    if let Some(rule) = codex_ds_rules::rule(&denial.rule) {
        let _ = writeln!(text, "  why       {}", rule.why);
    }
    let _ = writeln!(text, "  instead   {}", denial.instead);
    text
}

/// The line of the command that the span begins on, with the span marked below it.
fn underline(text: &mut String, command: &str, start: usize, end: usize) {
    let from = command[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = command[start..]
        .find('\n')
        .map_or(command.len(), |at| start + at);
    let line = &command[from..to];
    let before = command[from..start].chars().count();
    let width = command[start..end.clamp(start, to)].chars().count().max(1);
    let _ = writeln!(text, "    {line}");
    let _ = writeln!(text, "    {}{}", " ".repeat(before), "^".repeat(width));
}

fn one_line(text: &str) -> String {
    /// As much of a command as a reader wants on one line.
    const WIDTH: usize = 200;
    let flat = text.replace('\n', "\\n");
    match flat.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &flat[..end]),
        None => flat,
    }
}
