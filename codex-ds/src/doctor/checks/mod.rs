//! The checks, an area a file. Adding one is a value in its area's table and a section in
//! `docs/checks.md`.

use super::check::Check;

mod catalog;
mod cluster;
mod codex;
mod config;
mod endpoint;
mod engine;
mod guard;
pub(in crate::doctor) mod home;
mod instructions;
mod mcp;
mod network;
mod profiles;
mod rules;
mod sandbox;
mod wire;

/// The areas, along the chain from the keyboard to the GPU.
const AREAS: &[&[Check]] = &[
    codex::CHECKS,
    home::CHECKS,
    config::CHECKS,
    profiles::CHECKS,
    catalog::CHECKS,
    instructions::CHECKS,
    rules::CHECKS,
    guard::CHECKS,
    sandbox::CHECKS,
    mcp::CHECKS,
    network::CHECKS,
    endpoint::CHECKS,
    wire::CHECKS,
    engine::CHECKS,
    cluster::CHECKS,
];

/// Every check, in the order of the report.
pub fn all() -> impl Iterator<Item = &'static Check> + Clone {
    AREAS.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::check::Cost;
    use super::*;

    #[test]
    fn ids_are_unique_and_what_is_required_is_there_and_costs_no_more() {
        let mut seen = std::collections::HashSet::new();
        for area in AREAS {
            for check in *area {
                assert_eq!(check.area(), area[0].area(), "{}", check.id);
                assert!(
                    check
                        .id
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || ".-".contains(c)),
                    "{}",
                    check.id
                );
                assert!(seen.insert(check.id), "{} twice", check.id);
                assert!(!check.deadline.is_zero(), "{}", check.id);
            }
        }
        for check in all() {
            for id in check.requires {
                let required = all().find(|other| other.id == *id);
                let required =
                    required.unwrap_or_else(|| panic!("{} requires {id}, which is not", check.id));
                let affordable = required.cost <= check.cost
                    || (required.cost <= Cost::Codex && check.cost <= Cost::Codex);
                assert!(affordable, "{} requires {id}, which costs more", check.id);
            }
        }
    }

    /// A ring of prerequisites would wait for itself.
    #[test]
    fn nothing_requires_itself() {
        for check in all() {
            let mut todo: Vec<&str> = check.requires.to_vec();
            let mut seen = Vec::new();
            while let Some(id) = todo.pop() {
                assert_ne!(id, check.id, "{id} requires itself");
                if !seen.contains(&id) {
                    seen.push(id);
                    todo.extend(all().find(|other| other.id == id).unwrap().requires);
                }
            }
        }
    }
}
