//! What the user sees of a set-up.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use similar::TextDiff;

use super::decide::Decided;
use super::merge::Note;
use super::plan::{Action, Change, Plan};
use super::profile::Key;
use super::verify::Verified;
use super::{Args, mask};
use crate::codex::{Codex, NEWEST};
use crate::text::count;
use crate::ui;

/// The version of the `--json` output.
const SCHEMA_VERSION: u32 = 1;

pub(super) fn dry_run(args: &Args, home: &Path, plan: &Plan) {
    if args.json {
        ui::json(&json!({
            "schema_version": SCHEMA_VERSION,
            "home": home,
            "dry_run": true,
            "changes": plan.changes_anything(),
            "files": files(plan, true),
        }));
        return;
    }
    for change in plan.changes.iter().filter(|change| change.writes()) {
        ui::out(&diff(change));
    }
    let names = |action: Action| {
        plan.changes
            .iter()
            .filter(move |change| change.action == action)
            .count()
    };
    ui::out(&format!(
        "codex-ds setup, dry run: {}: {} to create, {} to update, {} unchanged, {} kept as you changed them\n",
        home.display(),
        names(Action::Create),
        names(Action::Update),
        names(Action::Unchanged),
        names(Action::Keep),
    ));
    ui::out(&notes_text(home, plan));
}

/// A change as a unified diff, secrets masked; a program by its size only.
pub(super) fn diff(change: &Change) -> String {
    let old = change.before.as_deref().map(std::str::from_utf8);
    let (Ok(old), Ok(new)) = (old.unwrap_or(Ok("")), std::str::from_utf8(&change.after)) else {
        return format!("{}: program, {} bytes\n", change.name, change.after.len());
    };
    let (old, new) = (mask::text(old), mask::text(new));
    let before = if change.before.is_some() {
        change.name
    } else {
        "/dev/null"
    };
    TextDiff::from_lines(old.as_ref(), new.as_ref())
        .unified_diff()
        .header(before, change.name)
        .to_string()
}

fn files(plan: &Plan, with_diff: bool) -> Json {
    plan.changes
        .iter()
        .map(|change| {
            let keys = |wanted: fn(&Note) -> Option<&String>| -> Vec<&String> {
                change.notes.iter().filter_map(wanted).collect()
            };
            let mut file = json!({
                "name": change.name,
                "action": change.action.name(),
                "kept_keys": keys(|note| match note { Note::Kept(key) => Some(key), _ => None }),
                "left_out_keys": keys(|note| match note { Note::LeftOut(key) => Some(key), _ => None }),
                "replaced_keys": keys(|note| match note { Note::Replaced(key) => Some(key), _ => None }),
            });
            if with_diff && change.writes() {
                file["diff"] = json!(diff(change));
            }
            file
        })
        .collect()
}

fn notes_text(home: &Path, plan: &Plan) -> String {
    let mut text = String::new();
    for change in &plan.changes {
        if change.action == Action::Keep {
            let _ = writeln!(
                text,
                "note: {} is as you changed it; to get ours, move it away and run this again",
                home.join(change.name).display()
            );
        }
        for note in &change.notes {
            let _ = match note {
                Note::Kept(key) => {
                    writeln!(text, "note: {}: `{key}` stays as you set it", change.name)
                }
                Note::LeftOut(key) => {
                    writeln!(
                        text,
                        "note: {}: `{key}` stays out, as you took it out",
                        change.name
                    )
                }
                Note::Replaced(key) => writeln!(
                    text,
                    "note: {}: `{key}` stood there before; ours replaced it, `codex-ds undo` restores it",
                    change.name
                ),
            };
        }
    }
    if plan.guard_kept {
        let _ = writeln!(
            text,
            "note: config.toml: the guard's hook stays as you changed it"
        );
    }
    text
}

fn guard_line(decided: &Decided, plan: &Plan, verified: &Verified) -> String {
    let preset = decided.decisions.preset;
    let hash = plan.trusted().map_or("", |(_, hash)| hash);
    match verified {
        Verified::NoGuard => "off, as you asked (--guard puts it back)".to_owned(),
        Verified::Live => format!("on, preset {preset}; Codex confirms that it trusts {hash}"),
        Verified::LiveByUser => format!("on, preset {preset}; Codex confirms that you trust it"),
        Verified::NotAsked => format!("written, preset {preset}; trust entry {hash}, not confirmed: there is no Codex to ask"),
        Verified::LeftToUser => "written, NOT trusted yet: open `codex-ds`, type /hooks and trust it; until then Codex skips it".to_owned(),
        Verified::Dead(why) => format!("NOT LIVE: {why}"),
    }
}

/// A set-up that was carried out.
pub(super) struct Done<'a> {
    pub(super) home: &'a Path,
    pub(super) decided: &'a Decided,
    pub(super) codex: Option<&'a Codex>,
    pub(super) plan: &'a Plan,
    pub(super) verified: &'a Verified,
}

pub(super) fn done(as_json: bool, done: &Done<'_>) {
    if as_json {
        ui::json(&done_json(done));
        return;
    }
    let Done {
        home,
        codex,
        plan,
        verified,
        ..
    } = done;
    ui::out(&done_text(done));
    warnings(home, *codex, plan, verified);
    if !verified.failed() {
        ui::out(&next(home, codex.is_some()));
    }
}

fn done_json(done: &Done<'_>) -> Json {
    let Done {
        home,
        decided,
        codex,
        plan,
        verified,
    } = done;
    let decisions = &decided.decisions;
    let trust = plan
        .trusted()
        .map(|(key, hash)| json!({ "key": key, "hash": hash }));
    json!({
        "schema_version": SCHEMA_VERSION,
        "home": home,
        "dry_run": false,
        "changes": plan.changes_anything(),
        "codex": codex.map(|codex| json!({ "path": codex.path, "version": codex.version.to_string() })),
        "endpoint": { "url": decisions.main.base_url, "kind": decisions.main.kind.name() },
        "profiles": {
            "default": { "model": decisions.main.model.id, "effort": decisions.family().default_level },
            "native": { "model": decisions.native.model.id, "url": decisions.native.base_url },
            "fast": { "effort": decisions.family().lightest().map(|level| level.effort) },
        },
        "context": decisions.window.context,
        "compact_at": decisions.window.compact_at,
        "mcp": servers(decided),
        "guard": {
            "live": matches!(verified, Verified::Live | Verified::LiveByUser),
            "status": guard_line(decided, plan, verified),
            "trust": trust,
        },
        "files": files(plan, false),
        "notes": decided.notes,
    })
}

fn servers(decided: &Decided) -> Vec<&'static str> {
    decided
        .decisions
        .mcp
        .iter()
        .map(|entry| entry.server.name)
        .collect()
}

/// What the profile is, a name and a value each.
fn rows(done: &Done<'_>) -> Vec<(&'static str, String)> {
    let Done {
        decided,
        codex,
        plan,
        verified,
        ..
    } = done;
    let decisions = &decided.decisions;
    let (main, native) = (&decisions.main, &decisions.native);
    let family = decisions.family();
    let effort = family
        .default_level
        .map(|effort| format!(", effort {effort}"));
    let servers = servers(decided);
    vec![
        (
            "codex",
            match codex {
                Some(codex) => format!("{} ({})", codex.version, codex.path.display()),
                None => "not found on PATH".to_owned(),
            },
        ),
        (
            "endpoint",
            format!("{} ({})", main.base_url, main.kind.name()),
        ),
        (
            "default",
            format!(
                "{}, {} tokens of context, compacts at {}{}",
                main.model.id,
                count(decisions.window.context),
                count(decisions.window.compact_at),
                effort.unwrap_or_default(),
            ),
        ),
        (
            "-p native",
            if decisions.has_native_provider() {
                format!("{} at {}", native.model.id, native.base_url)
            } else {
                native.model.id.clone()
            },
        ),
        (
            "-p fast",
            match family.lightest() {
                Some(level) => format!("{}, effort {}", main.model.id, level.effort),
                None => "the same: this model's reasoning levels are not known".to_owned(),
            },
        ),
        (
            "key",
            match &decisions.key {
                Key::Placeholder => "none (a placeholder is sent)".to_owned(),
                Key::Env(name) => format!("from the variable {name}"),
                Key::File(path) => format!("from {}", path.display()),
            },
        ),
        (
            "mcp",
            if servers.is_empty() {
                "none".to_owned()
            } else {
                servers.join(", ")
            },
        ),
        ("guard", guard_line(decided, plan, verified)),
    ]
}

fn done_text(done: &Done<'_>) -> String {
    let Done {
        home,
        decided,
        plan,
        ..
    } = done;
    let mut text = format!("codex-ds profile in {}\n", home.display());
    for (name, value) in rows(done) {
        let _ = writeln!(text, "  {name:<10} {value}");
    }
    if plan.changes_anything() {
        for change in &plan.changes {
            let _ = writeln!(text, "  {:<10} {}", change.action.name(), change.name);
        }
    } else {
        text.push_str("unchanged\n");
    }
    text.push_str(&notes_text(home, plan));
    for note in &decided.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn warnings(home: &Path, codex: Option<&Codex>, plan: &Plan, verified: &Verified) {
    match codex {
        None => ui::warn(&format!(
            "there is no codex on PATH: install it with npm install --global @openai/codex@{NEWEST}, then run codex-ds setup again"
        )),
        Some(codex) if codex.is_untested() => ui::warn(&format!(
            "Codex {} is newer than the newest that was tested, {NEWEST}; if something fails, try that one",
            codex.version
        )),
        Some(_) => {}
    }
    if plan.guard_disabled {
        ui::warn(
            "the guard is switched off in Codex's hooks.state (enabled = false); /hooks switches it on",
        );
    }
    if verified.failed() {
        ui::warn(&format!(
            "commands would run unguarded with the profile in {}; do not use it before this is repaired",
            home.display()
        ));
    }
}

fn next(home: &Path, has_codex: bool) -> String {
    let is_default = crate::home::wanted(None)
        .and_then(|wanted| crate::home::real_path(&wanted))
        .is_ok_and(|wanted| wanted == home);
    let export = if is_default {
        String::new()
    } else {
        format!(
            "  export {}={}\n",
            crate::env::HOME,
            shell_words::quote(&home.to_string_lossy())
        )
    };
    let install = if has_codex {
        String::new()
    } else {
        format!("  npm install --global @openai/codex@{NEWEST}\n  codex-ds setup\n")
    };
    format!(
        "next:\n{export}{install}  codex-ds exec \"say hello\"\n  codex-ds undo            takes all of this out again\n"
    )
}
