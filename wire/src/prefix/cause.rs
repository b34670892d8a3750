//! Why the prefix broke, where the payload proves it.

use std::collections::BTreeSet;

use super::diverge::Place;
use super::rendered::Rendered;
use crate::breakdown::{Breakdown, Section};

/// What the payload proves.
pub(super) fn of(old: &Rendered<'_>, new: &Rendered<'_>, place: &Place) -> Option<String> {
    if place.pointer.starts_with("/tools") {
        return Some(tools_cause(old, new));
    }
    let old_parts = Breakdown::of_json(old.json);
    let new_parts = Breakdown::of_json(new.json);
    let (a, b) = (old_parts.at(place.before), new_parts.at(place.after));
    // The same part on both sides, or the payload does not tell what became of what.
    let (a, b) = (a?, b?);
    if (a.section, &a.name) != (b.section, &b.name) {
        return None;
    }
    match a.section {
        Section::Environment => Some(environment_cause(
            &a.text(old.json.text),
            &b.text(new.json.text),
        )),
        Section::System | Section::Agents => Some(format!("the text of {} changed", a.name)),
        Section::History => Some(format!("an earlier item was rewritten: {}", a.name)),
        _ => None,
    }
}

fn tools_cause(old: &Rendered<'_>, new: &Rendered<'_>) -> String {
    let names = |rendered: &Rendered<'_>| -> Vec<String> {
        Breakdown::of_json(rendered.json)
            .parts
            .into_iter()
            .filter(|part| part.section == Section::Tools)
            .map(|part| part.name)
            .collect()
    };
    let (old, new) = (names(old), names(new));
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    let (old_set, new_set) = (set(&old), set(&new));
    let list = |names: Vec<&String>| {
        names
            .into_iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let added = list(new_set.difference(&old_set).collect());
    let removed = list(old_set.difference(&new_set).collect());
    match (added.is_empty(), removed.is_empty()) {
        (false, true) => format!("tools were added: {added}"),
        (true, false) => format!("tools were removed: {removed}"),
        (false, false) => format!("tools were added ({added}) and removed ({removed})"),
        (true, true) if old != new => "the same tools in another order".to_owned(),
        (true, true) => "a tool's definition changed".to_owned(),
    }
}

/// Which line of the environment changed, by its tag.
fn environment_cause(old: &str, new: &str) -> String {
    let line = old
        .lines()
        .zip(new.lines())
        .find(|(a, b)| a != b)
        .map(|(_, b)| b.trim());
    let tag = line
        .and_then(|line| line.strip_prefix('<'))
        .and_then(|line| line.split(['>', ' ', '/']).next())
        .filter(|tag| !tag.is_empty());
    tag.map_or_else(
        || "the environment changed".to_owned(),
        |tag| format!("the environment changed: {tag}"),
    )
}
