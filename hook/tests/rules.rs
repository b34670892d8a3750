//! The examples of every rule: what it must deny is denied by that rule or a stricter one, and
//! the near misses pass.

use std::path::PathBuf;

use codex_ds_hook::{Context, NoFiles, Policy, evaluate};
use codex_ds_rules::{Preset, RULES};

fn context() -> Context<'static> {
    Context {
        cwd: PathBuf::from("/home/dev/work/llm-serve"),
        workspace: PathBuf::from("/home/dev/work/llm-serve"),
        home: PathBuf::from("/home/dev"),
        user: "dev".to_owned(),
        codex_home: PathBuf::from("/home/dev/.codex-ds"),
        files: &NoFiles,
    }
}

#[test]
fn examples_hold() {
    let context = context();
    let mut wrong = Vec::new();
    for rule in RULES {
        for preset in rule.presets {
            let policy = Policy::builtin(*preset);
            for command in rule.deny {
                if !evaluate(command, &policy, &context).is_deny() {
                    wrong.push(format!("{preset} {}: not denied: {command}", rule.id));
                }
            }
        }
        for command in rule.allow {
            for preset in [Preset::Lab, Preset::Dev] {
                let verdict = evaluate(command, &Policy::builtin(preset), &context);
                if let Some(denial) = verdict.denial() {
                    wrong.push(format!("{preset} {}: denied: {command}: {denial}", rule.id));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_rule_is_complete() {
    let mut ids = std::collections::BTreeSet::new();
    for rule in RULES {
        assert!(ids.insert(rule.id), "{} stands twice", rule.id);
        let class = rule.id.split('.').next().unwrap_or_default();
        assert_eq!(
            class,
            rule.class.name(),
            "{} is not named after its class",
            rule.id
        );
        for text in [rule.title, rule.why, rule.instead] {
            assert!(
                !text.is_empty() && text.len() < 160,
                "{}: {text:?}",
                rule.id
            );
        }
    }
}
