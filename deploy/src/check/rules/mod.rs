//! The table of rules.

use super::{ManifestRule, Rule};

mod engine;
mod network;
mod objects;
mod pods;
mod site;

pub use site::SITE_RULES;

/// The rules about manifests, by what they look at.
pub static MANIFEST_RULES: &[&[ManifestRule]] =
    &[pods::RULES, engine::RULES, network::RULES, objects::RULES];

/// Every rule, each code once.
#[must_use]
pub fn all() -> Vec<&'static Rule> {
    let mut rules: Vec<&Rule> = MANIFEST_RULES
        .iter()
        .copied()
        .flatten()
        .map(|row| &row.rule)
        .chain(SITE_RULES.iter().map(|row| &row.rule))
        .collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}

/// One row about manifests.
macro_rules! rule {
    ($code:literal, $severity:ident, $says:literal, $fix:literal, $check:expr) => {
        $crate::check::ManifestRule {
            rule: $crate::check::Rule {
                code: $code,
                severity: $crate::check::Severity::$severity,
                says: $says,
                fix: $fix,
            },
            check: $check,
        }
    };
}
use rule;
