//! `codex-ds guard rules`: the table, or one rule in full.

use std::fmt::Write as _;

use anyhow::Result;
use codex_ds_rules::{Class, Preset, RULES, Rule};
use serde_json::{Value as Json, json};

use super::{SCHEMA_VERSION, policy};
use crate::error::UserError;
use crate::home::HomeArg;
use crate::{exit, home, ui};

/// The arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds guard rules
  codex-ds guard rules git.push-force
  codex-ds guard rules --json | jq '.rules[].id'

Exit codes: 0 shown; 2 there is no such rule, or wrong usage")]
pub(super) struct Args {
    /// One rule, by its id
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Print the table of the documentation
    #[arg(long, conflicts_with_all = ["id", "json"])]
    markdown: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArg,
}

/// Runs the command.
///
/// # Errors
/// When there is no rule with the id.
pub(super) fn run(args: &Args) -> Result<u8> {
    if args.markdown {
        ui::out(&markdown());
        return Ok(exit::OK);
    }
    let policy = policy(&home::wanted(args.home.home.as_deref())?);
    let rules: Vec<&Rule> = RULES.iter().chain(policy.extra.iter().copied()).collect();
    let Some(id) = &args.id else {
        if args.json {
            let rules: Vec<Json> = rules.iter().map(|rule| full(rule)).collect();
            ui::json(&json!({ "schema_version": SCHEMA_VERSION, "rules": rules }));
        } else {
            ui::out(&table(&rules, policy.preset, &policy.off));
        }
        return Ok(exit::OK);
    };
    let Some(rule) = rules.iter().find(|rule| rule.id == id) else {
        let nearest = rules
            .iter()
            .max_by(|a, b| strsim::jaro(a.id, id).total_cmp(&strsim::jaro(b.id, id)))
            .map_or("", |rule| rule.id);
        return Err(UserError::usage(format!("there is no rule {id}"))
            .hint(format!(
                "did you mean {nearest}? `codex-ds guard rules` lists all"
            ))
            .into());
    };
    if args.json {
        let mut answer = full(rule);
        answer["schema_version"] = json!(SCHEMA_VERSION);
        ui::json(&answer);
    } else {
        ui::out(&describe(rule));
    }
    Ok(exit::OK)
}

fn presets(rule: &Rule) -> String {
    let names: Vec<&str> = rule.presets.iter().map(|preset| preset.name()).collect();
    names.join(", ")
}

fn full(rule: &Rule) -> Json {
    json!({
        "id": rule.id,
        "class": rule.class.name(),
        "title": rule.title,
        "why": rule.why,
        "instead": rule.instead,
        "presets": rule.presets.iter().map(|preset| preset.name()).collect::<Vec<_>>(),
        "denies": rule.deny,
        "passes": rule.allow,
    })
}

fn table(rules: &[&Rule], preset: Preset, off: &[Class]) -> String {
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let mut text = format!("Preset {preset}. A rule in brackets is not in force.\n\n");
    for rule in rules {
        let id = if rule.presets.contains(&preset) && !off.contains(&rule.class) {
            rule.id.to_owned()
        } else {
            format!("[{}]", rule.id)
        };
        let _ = writeln!(text, "{id:w$}  {}", rule.title, w = width + 2);
    }
    text
}

fn describe(rule: &Rule) -> String {
    let mut text = format!(
        "{}: {}\n  presets   {}\n  why       {}\n  instead   {}\n",
        rule.id,
        rule.title,
        presets(rule),
        rule.why,
        rule.instead
    );
    for (head, examples) in [("denies", rule.deny), ("passes", rule.allow)] {
        for (i, example) in examples.iter().enumerate() {
            let head = if i == 0 { head } else { "" };
            let _ = writeln!(text, "  {head:8}  {}", example.replace('\n', "\\n"));
        }
    }
    text
}

/// The table of rules in `docs/guard.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "| rule | what is denied | presets | an example |\n| --- | --- | --- | --- |\n",
    );
    for rule in RULES {
        let example = rule.deny.first().map_or(String::new(), |example| {
            format!(
                "`{}`",
                example
                    .replace('|', "\\|")
                    .replace('\n', "⏎")
                    .replace('\r', "␍")
            )
        });
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {example} |",
            rule.id,
            rule.title,
            presets(rule)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_documentation_has_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guard.md");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            text.contains(&super::markdown()),
            "docs/guard.md is behind the table of rules: put the output of `codex-ds guard rules --markdown` into it"
        );
    }
}
