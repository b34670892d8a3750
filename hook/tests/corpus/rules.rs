//! The examples of every rule: what it must deny is denied by that rule or a stricter one, and
//! the near misses pass.

use codex_ds_hook::{Policy, evaluate};
use codex_ds_rules::{Preset, RULES};

use super::{assert_none, context};

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
    assert_none(&wrong);
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
