//! Which checks run: by cost, by name, and with what they require.

use crate::error::UserError;

use super::check::{Check, Cost};

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection<'a> {
    pub(super) only: &'a [String],
    pub(super) skip: &'a [String],
    pub(super) offline: bool,
    pub(super) deep: bool,
}

/// The checks of `all` that run, in its order. What a wanted check requires runs as well, unless the
/// user skips it by name.
///
/// # Errors
/// When a pattern fits no check.
pub(super) fn select<'c>(
    all: impl Iterator<Item = &'c Check> + Clone,
    selection: &Selection<'_>,
) -> Result<Vec<&'c Check>, UserError> {
    for (option, patterns) in [("--only", selection.only), ("--skip", selection.skip)] {
        for pattern in patterns {
            if !all.clone().any(|check| fits(pattern, check.id)) {
                return Err(unknown(option, pattern, all));
            }
        }
    }
    let affordable = |check: &Check| match check.cost {
        Cost::Offline | Cost::Codex => true,
        Cost::Network => !selection.offline,
        Cost::Deep => !selection.offline && selection.deep,
    };
    let named = |check: &Check| {
        selection.only.is_empty() || selection.only.iter().any(|pattern| fits(pattern, check.id))
    };
    let mut wanted: Vec<&str> = all
        .clone()
        .filter(|check| affordable(check) && named(check))
        .map(|check| check.id)
        .collect();
    let mut at = 0;
    while let Some(id) = wanted.get(at) {
        let requires = all
            .clone()
            .find(|check| check.id == *id)
            .map_or(&[][..], |check| check.requires);
        let more: Vec<&str> = requires
            .iter()
            .filter(|id| !wanted.contains(id))
            .copied()
            .collect();
        wanted.extend(more);
        at += 1;
    }
    Ok(all
        .filter(|check| {
            wanted.contains(&check.id)
                && affordable(check)
                && !selection.skip.iter().any(|pattern| fits(pattern, check.id))
        })
        .collect())
}

/// The check called `id`.
///
/// # Errors
/// When there is none, with the nearest name.
pub(super) fn by_id<'c>(
    all: impl Iterator<Item = &'c Check> + Clone,
    option: &str,
    id: &str,
) -> Result<&'c Check, UserError> {
    all.clone()
        .find(|check| check.id == id)
        .ok_or_else(|| unknown(option, id, all))
}

fn unknown<'c>(option: &str, name: &str, all: impl Iterator<Item = &'c Check>) -> UserError {
    let ids: Vec<&str> = all.map(|check| check.id).collect();
    let error = UserError::usage(format!("{option} {name}: there is no such check"));
    match crate::setup::endpoint::nearest(name, &ids) {
        Some(near) => error.hint(format!("did you mean {option} {near}?")),
        None => error.hint("codex-ds doctor --list names them all"),
    }
}

/// Whether a name fits a pattern in which `*` stands for any text. A pattern without one also fits
/// every check of an area of that name.
fn fits(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = id.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty() || rest.starts_with('.');
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const fn check(id: &'static str, requires: &'static [&'static str], cost: Cost) -> Check {
        Check {
            id,
            title: "",
            requires,
            cost,
            deadline: Duration::ZERO,
            run: |_| Box::pin(std::future::pending()),
        }
    }

    const CHECKS: &[Check] = &[
        check("home.place", &[], Cost::Offline),
        check("guard.live", &["home.place"], Cost::Codex),
        check("guard.denies", &["guard.live"], Cost::Codex),
        check("wire.turn", &["endpoint.up"], Cost::Deep),
        check("endpoint.up", &["home.place"], Cost::Network),
    ];

    fn names(only: &[&str], skip: &[&str], offline: bool, deep: bool) -> Vec<&'static str> {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let (only, skip) = (own(only), own(skip));
        let selection = Selection {
            only: &only,
            skip: &skip,
            offline,
            deep,
        };
        let found = select(CHECKS.iter(), &selection).unwrap();
        found.iter().map(|check| check.id).collect()
    }

    #[test]
    fn cost_and_names_decide_and_prerequisites_follow() {
        assert_eq!(
            names(&[], &[], false, false),
            ["home.place", "guard.live", "guard.denies", "endpoint.up"]
        );
        assert_eq!(
            names(&[], &[], true, true),
            ["home.place", "guard.live", "guard.denies"]
        );
        assert_eq!(
            names(&["wire"], &[], false, true),
            ["home.place", "wire.turn", "endpoint.up"]
        );
        assert_eq!(
            names(&["guard.d*"], &["home"], false, false),
            ["guard.live", "guard.denies"]
        );
    }

    #[test]
    fn patterns() {
        for (pattern, id, expected) in [
            ("guard", "guard.live", true),
            ("guard.live", "guard.live", true),
            ("guar", "guard.live", false),
            ("*.live", "guard.live", true),
            ("g*d.*e", "guard.live", true),
            ("*x*", "guard.live", false),
            ("guard.l*ve*", "guard.live", true),
            ("*", "guard.live", true),
        ] {
            assert_eq!(fits(pattern, id), expected, "{pattern} {id}");
        }
    }

    #[test]
    fn a_pattern_that_fits_nothing_is_an_error() {
        let only = ["gaurd.live".to_owned()];
        let selection = Selection {
            only: &only,
            ..Selection::default()
        };
        let error = select(CHECKS.iter(), &selection).unwrap_err();
        let (text, code) = crate::error::render(&error.into());
        assert_eq!(code, crate::exit::USAGE);
        assert!(text.contains("did you mean --only guard.live?"), "{text}");
    }
}
