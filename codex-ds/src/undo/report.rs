//! What the user sees of `undo`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::Undo;
use super::steps::{Act, Step};
use crate::ui;

/// How far it came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Nothing,
    DryRun,
    Undone,
}

impl Act {
    /// The verb, and its past for JSON.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Remove => ("remove", "removed"),
            Self::Restore(_) => ("restore", "restored"),
            Self::Reduce(_) => ("reduce", "reduced"),
            Self::Keep => ("keep", "kept"),
            Self::AsBefore => ("leave", "left"),
        }
    }

    fn why(&self) -> &'static str {
        match self {
            Self::Restore(_) => "  (as it was before the first set-up)",
            Self::Reduce(_) => "  (what is not ours stays)",
            Self::AsBefore => "  (it is as it was before the first set-up)",
            Self::Remove | Self::Keep => "",
        }
    }
}

/// The steps as lines, each after `would`.
pub(super) fn describe(undo: &Undo<'_>, would: &str) -> String {
    let mut text = String::new();
    for Step {
        name,
        act,
        kept,
        aside,
    } in &undo.steps
    {
        let _ = write!(text, "  {would}{:<7} {name}{}", act.words().0, act.why());
        if !kept.is_empty() {
            let _ = write!(text, "  (kept: {})", kept.join(", "));
        }
        text.push('\n');
        if let Some((aside, _)) = aside {
            let _ = writeln!(
                text,
                "  {would}restore {aside}  (what stood there before the first set-up)"
            );
        }
    }
    for tree in &undo.trees {
        let _ = writeln!(text, "  {would}remove  {tree}/");
    }
    if text.is_empty() {
        let _ = writeln!(text, "  nothing of ours is left in {}", undo.home.display());
    }
    text
}

pub(super) fn show(as_json: bool, undo: &Undo<'_>, state: State) {
    let left = left_over(undo.home);
    if as_json {
        let files: Vec<_> = undo
            .steps
            .iter()
            .map(|step| {
                json!({
                    "name": step.name,
                    "action": step.act.words().1,
                    "kept": step.kept,
                    "aside": step.aside.as_ref().map(|(name, _)| name),
                })
            })
            .collect();
        ui::json(&json!({
            "schema_version": 1,
            "home": undo.home,
            "state": match state {
                State::Nothing => "nothing",
                State::DryRun => "dry-run",
                State::Undone => "undone",
            },
            "files": files,
            "trees": undo.trees,
            "left": left,
        }));
        return;
    }
    let home = undo.home.display();
    match state {
        State::Nothing => ui::out(&format!("nothing to undo: no receipt in {home}\n")),
        State::DryRun => {
            ui::out(&format!(
                "codex-ds undo, dry run: {home}\n{}",
                describe(undo, "would ")
            ));
        }
        State::Undone => {
            ui::out(&format!("undone: {home}\n{}", describe(undo, "")));
            if !left.is_empty() {
                ui::out(&format!(
                    "left as it is: {} (Codex's sessions and state, and yours)\n",
                    left.join(", ")
                ));
            }
        }
    }
}

fn left_over(home: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}
