//! The guard's entry in `config.toml`: the hook itself, and the trust that Codex asks for.
//!
//! Codex runs a hook only when `[hooks.state."KEY"] trusted_hash` equals the hash of the hook's
//! definition; else it skips it without a word. The key holds the real path of the file and the
//! hook's place in it, the hash covers the definition and not the program, so the program is at a
//! stable path and can be replaced (measured on Codex 0.163.0 and 0.171.0).

use std::path::Path;

use serde_json::{Value as Json, json};
use toml_edit::{DocumentMut, Item, Key};

use super::hook_groups::{
    append, definition, find, groups, remove_group, replace_group, set_command, table_in,
};
use super::leaves;
use super::merge::MergeError;
use super::receipt::HookRecord;

/// The event as trust keys and hashes spell it.
const EVENT_KEY: &str = "pre_tool_use";

/// What became of the entry.
#[derive(Debug)]
pub struct Placed {
    /// What to record; `None` when there is no guard in the file.
    pub record: Option<HookRecord>,
    /// The user changed the definition; it stays.
    pub kept: bool,
    /// The user (or `/hooks`) turned our hook off.
    pub disabled: bool,
}

/// Puts the guard's entry into `document`, or takes it out when `command` is `None`.
///
/// `config` is the real path of the file, `base` what was recorded last time.
///
/// # Errors
/// When a key that the entry needs is something else in the document.
pub fn place(
    document: &mut DocumentMut,
    config: &Path,
    command: Option<&str>,
    base: Option<&HookRecord>,
    trust: bool,
) -> Result<Placed, MergeError> {
    let old = base.and_then(|record| group_command(&record.group));
    if let (Some(old), Some(new)) = (old, command)
        && old != new
        && find(document, new).is_none()
        && let Some((index, handler, _)) = find(document, old)
    {
        // The profile was moved: the same hook, at another place.
        set_command(document, index, handler, new);
    }
    let found = command.or(old).and_then(|ours| find(document, ours));
    let mut kept = false;
    let position = match (command, found) {
        (None, None) => None,
        (None, Some((index, _, group))) => {
            if base.is_some_and(|record| record.group == group) {
                remove_group(document, index);
            } else {
                kept = true;
            }
            None
        }
        (Some(command), None) => Some((append(document, command)?, 0)),
        (Some(command), Some((index, handler, group))) => {
            if group != definition(command) {
                if base.is_some_and(|record| record.group == group) {
                    replace_group(document, index, command);
                } else {
                    kept = true;
                }
            }
            Some((index, handler))
        }
    };
    let key = position.map(|(index, handler)| trust_key(config, index, handler));
    if let Some(record) = base
        && key.as_ref() != Some(&record.key)
        && !(kept && command.is_none())
    {
        forget(document, record);
    }
    let (Some((index, handler)), Some(key)) = (position, key) else {
        return Ok(Placed {
            record: None,
            kept,
            disabled: false,
        });
    };
    let group = groups(document).swap_remove(index);
    let hash = match base.and_then(|record| record.trusted_hash.clone()) {
        // Codex itself may have given it: see `verify`.
        Some(hash) if base.is_some_and(|record| record.key == key && record.group == group) => hash,
        _ => definition_hash(&group, handler),
    };
    if trust {
        set_trust(document, &key, &hash)?;
    } else if let Some(record) = base
        && record.trusted_hash.is_some()
        && record.trusted_hash.as_deref()
            == state(document, &key)
                .as_ref()
                .and_then(|state| state["trusted_hash"].as_str())
    {
        forget(document, record);
    }
    let disabled = state(document, &key).is_some_and(|state| state["enabled"] == json!(false));
    Ok(Placed {
        record: Some(HookRecord {
            group: command.map_or(Json::Null, definition),
            key,
            trusted_hash: trust.then_some(hash),
        }),
        kept,
        disabled,
    })
}

/// Why Codex would not run a hook, as far as its configuration tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no hook with this command.
    #[error("no hook starts the guard of this folder; was it moved, copied or restored?")]
    Missing,
    /// The trust entry is not there or is for another definition or place.
    #[error("the guard's trust entry does not fit its hook, so Codex would skip it")]
    Untrusted,
    /// The user switched it off.
    #[error("the guard is switched off (enabled = false in hooks.state); /hooks switches it on")]
    Disabled,
    /// An asynchronous hook cannot stop anything.
    #[error("the guard's hook is asynchronous, so it could not stop a command")]
    Asynchronous,
}

/// What would keep Codex from running the hook that `command` starts. `over` are the profiles that
/// are laid over the file, `recorded` is the hash that Codex itself gave, if it was another than ours.
#[must_use]
pub fn fault(
    document: &DocumentMut,
    over: &[DocumentMut],
    config: &Path,
    command: &str,
    recorded: Option<&str>,
) -> Option<Fault> {
    let Some((index, handler, group)) = find(document, command) else {
        return Some(Fault::Missing);
    };
    if group["hooks"][handler]["async"] == json!(true) {
        return Some(Fault::Asynchronous);
    }
    let key = trust_key(config, index, handler);
    let mut state = state(document, &key).unwrap_or_default();
    for layer in over {
        for field in ["enabled", "trusted_hash"] {
            if let Some(value) = self::state(layer, &key)
                .as_ref()
                .and_then(|layer| layer.get(field))
            {
                state[field] = value.clone();
            }
        }
    }
    if state["enabled"] == json!(false) {
        return Some(Fault::Disabled);
    }
    let trusted = state["trusted_hash"].as_str();
    let fits = trusted.is_some()
        && (trusted == Some(&definition_hash(&group, handler)) || trusted == recorded);
    (!fits).then_some(Fault::Untrusted)
}

/// Takes the guard's entry out for good; whether the user's own version of it stayed.
pub fn take_out(document: &mut DocumentMut, record: &HookRecord) -> bool {
    let config = Path::new("");
    place(document, config, None, Some(record), false).is_ok_and(|placed| placed.kept)
}

/// The key of the trust entry for handler `handler` of group `index` in the file `config`.
#[must_use]
pub fn trust_key(config: &Path, index: usize, handler: usize) -> String {
    format!("{}:{EVENT_KEY}:{index}:{handler}", config.display())
}

/// The hash that Codex compares: SHA-256 over the compact JSON of the normalised definition with
/// sorted keys.
#[must_use]
pub fn definition_hash(group: &Json, handler: usize) -> String {
    let entry = &group["hooks"][handler];
    let timeout = entry["timeout"].as_i64().unwrap_or(600).max(1);
    let mut hook = json!({
        "async": entry["async"].as_bool().unwrap_or(false),
        "command": entry["command"],
    });
    if let Some(status) = entry["statusMessage"].as_str() {
        hook["statusMessage"] = json!(status);
    }
    hook["timeout"] = json!(timeout);
    hook["type"] = json!("command");
    let mut identity = json!({ "event_name": EVENT_KEY, "hooks": [hook] });
    if let Some(matcher) = group["matcher"].as_str() {
        identity["matcher"] = json!(matcher);
    }
    format!(
        "sha256:{}",
        crate::file::sha256(identity.to_string().as_bytes())
    )
}

fn group_command(group: &Json) -> Option<&str> {
    group["hooks"][0]["command"].as_str()
}

fn state_path(key: &str) -> [Key; 3] {
    [Key::new("hooks"), Key::new("state"), Key::new(key)]
}

fn state(document: &DocumentMut, key: &str) -> Option<Json> {
    leaves::get(document.as_table(), &state_path(key)).map(leaves::to_json)
}

/// Writes the trust entry: `hash` for the hook with this `key`.
///
/// # Errors
/// When `hooks` or `hooks.state` is no table.
pub fn set_trust(document: &mut DocumentMut, key: &str, hash: &str) -> Result<(), MergeError> {
    let name = "hooks.state";
    let (hooks, inline) = table_in(document.as_table_mut(), false, "hooks", "hooks", name)?;
    let (states, inline) = table_in(hooks, inline, "state", name, key)?;
    let (entry, _) = table_in(states, inline, key, key, "trusted_hash")?;
    if entry.get("trusted_hash").and_then(Item::as_str) != Some(hash) {
        entry.insert("trusted_hash", toml_edit::value(hash));
    }
    Ok(())
}

/// Takes the trust entry out that we wrote for `record`.
fn forget(document: &mut DocumentMut, record: &HookRecord) {
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut) else {
        return;
    };
    if let Some(states) = hooks.get_mut("state").and_then(Item::as_table_like_mut) {
        states.remove(&record.key);
        if states.is_empty() {
            hooks.remove("state");
        }
    }
    if hooks.is_empty() {
        document.remove("hooks");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "/home/u/.codex-ds/config.toml";
    const COMMAND: &str = "/home/u/.codex-ds/bin/codex-ds-hook";

    fn placed(text: &str, base: Option<&HookRecord>) -> (String, Placed) {
        let mut document: DocumentMut = text.parse().unwrap();
        let placed = place(&mut document, Path::new(CONFIG), Some(COMMAND), base, true).unwrap();
        (document.to_string(), placed)
    }

    #[test]
    fn a_second_time_changes_no_byte() {
        let (first, once) = placed("a = 1\n", None);
        let (second, twice) = placed(&first, once.record.as_ref());
        assert_eq!(first, second);
        assert_eq!(once.record, twice.record);
        assert!(first.parse::<DocumentMut>().is_ok(), "{first}");
    }

    #[test]
    fn comes_after_the_users_own_hooks_and_follows_when_they_move() {
        let users = "[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/mine\"\n";
        let (text, first) = placed(users, None);
        let record = first.record.unwrap();
        assert!(record.key.ends_with("pre_tool_use:1:0"), "{}", record.key);
        let moved = text.replace(users, "");
        let (text, second) = placed(&moved, Some(&record));
        let moved_record = second.record.unwrap();
        assert!(moved_record.key.ends_with("pre_tool_use:0:0"));
        assert!(!text.contains(":1:0"), "{text}");
    }

    #[test]
    fn the_users_version_stays_and_is_trusted_as_it_is() {
        let (text, first) = placed("", None);
        let record = first.record.unwrap();
        let edited = text.replace("timeout = 60", "timeout = 90");
        let (again, second) = placed(&edited, Some(&record));
        assert!(second.kept);
        assert!(again.contains("timeout = 90"));
        assert_ne!(second.record.unwrap().trusted_hash, record.trusted_hash);
    }

    #[test]
    fn whatever_form_hooks_have_the_entry_is_live() {
        for users in [
            "hooks = {}\n",
            "hooks = { state = {} }\n",
            "[hooks]\nPreToolUse = []\n",
            "hooks.PreToolUse = []\n",
        ] {
            let (text, _) = placed(users, None);
            let document: DocumentMut = text.parse().expect(&text);
            assert_eq!(
                fault(&document, &[], Path::new(CONFIG), COMMAND, None),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_hold_the_entry_is_named() {
        for (users, expected) in [
            (
                "hooks = 1\n",
                "key `hooks` is integer; expected a table, since `hooks.PreToolUse` belongs in it",
            ),
            (
                "[hooks]\nPreToolUse = \"x\"\n",
                "key `hooks.PreToolUse` is string; expected an array of tables",
            ),
            (
                "[hooks.PreToolUse]\na = 1\n",
                "key `hooks.PreToolUse` is table; expected an array of tables",
            ),
        ] {
            let mut document: DocumentMut = users.parse().unwrap();
            let error =
                place(&mut document, Path::new(CONFIG), Some(COMMAND), None, true).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let mut document: DocumentMut = "hooks.state = 3\n".parse().unwrap();
        let error = place(&mut document, Path::new(CONFIG), Some(COMMAND), None, true).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("key `hooks.state` is integer"),
            "{error}"
        );
    }

    #[test]
    fn without_trust_ours_goes_and_the_users_own_stays() {
        let (text, first) = placed("", None);
        let untrust = |text: &str, base: &HookRecord| {
            let mut document: DocumentMut = text.parse().unwrap();
            let placed = place(
                &mut document,
                Path::new(CONFIG),
                Some(COMMAND),
                Some(base),
                false,
            )
            .unwrap();
            (document.to_string(), placed.record.unwrap())
        };
        let (without, record) = untrust(&text, first.record.as_ref().unwrap());
        assert!(!without.contains("trusted_hash"), "{without}");
        // The user trusts it in /hooks.
        let (again, _) = untrust(&text, &record);
        assert!(again.contains("trusted_hash"), "{again}");
    }

    #[test]
    fn a_moved_profile_gets_the_same_hook_at_its_new_place() {
        for edit in ["", "timeout = 90"] {
            let (text, first) = placed("", None);
            let text = if edit.is_empty() {
                text
            } else {
                text.replace("timeout = 60", edit)
            };
            let mut document: DocumentMut = text.parse().unwrap();
            let config = Path::new("/elsewhere/config.toml");
            let command = Some("/elsewhere/bin/codex-ds-hook");
            let moved = place(&mut document, config, command, first.record.as_ref(), true).unwrap();
            let text = document.to_string();
            assert!(!text.contains(COMMAND) && !text.contains(CONFIG), "{text}");
            assert!(text.contains(edit), "{text}");
            assert_eq!(
                moved.record.unwrap().key,
                "/elsewhere/config.toml:pre_tool_use:0:0"
            );
        }
    }

    #[test]
    fn taking_it_out_leaves_what_was_there() {
        for users in [
            "a = 1\n",
            "a = 1\n\n[hooks.state.\"/x:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
            "a = 1\n\n[hooks]\nPreToolUse = [{ matcher = \"^Bash$\", hooks = [{ type = \"command\", command = \"/mine\" }] }]\n",
            "a = 1\n\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/mine\"\n",
        ] {
            let (text, first) = placed(users, None);
            let mut document: DocumentMut = text.parse().unwrap();
            assert!(!take_out(&mut document, first.record.as_ref().unwrap()));
            assert_eq!(document.to_string().trim_end(), users.trim_end());
        }
    }

    #[test]
    fn the_hash_is_codexs() {
        // What `hooks/list` of Codex 0.163.0 and 0.171.0 says of this definition (`currentHash`).
        let group = json!({"matcher": "^Bash$", "hooks": [{"type": "command", "command": "/abs/guard", "timeout": 5, "statusMessage": "guard"}]});
        assert_eq!(
            definition_hash(&group, 0),
            "sha256:58dee39de480c7448a0aef4bef4eff70817e18ec20623c8ab4c4f1e4df3cfe64"
        );
    }
}
