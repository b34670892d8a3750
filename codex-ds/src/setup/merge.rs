//! Three-way merge of TOML: what we wrote last time, what stands there now, what we want.
//!
//! A file is seen as its [leaves](super::leaves). What the user changed stays the user's; what we
//! wrote and nobody touched follows us; all else is not ours and is not looked at. Comments and
//! layout of the file stay as they are.

use std::ops::Range;

use toml_edit::{DocumentMut, InlineTable, Item, Key, Table, TableLike};

use super::leaves::{
    Leaves, get, get_mut, join_key, leaf_paths, leaves, parse_key, remove, to_json,
};

/// What happened to one key, where a user wants to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The user's value stays; ours would be another.
    Kept(String),
    /// The user took the key out; it stays out.
    LeftOut(String),
    /// A value that stood there before our first set-up gave way; `undo` restores it.
    Replaced(String),
}

/// The result of a merge.
#[derive(Debug)]
pub struct Merged {
    /// The merged document.
    pub document: DocumentMut,
    /// What of it is ours: the base of the next merge.
    pub ours: Leaves,
    /// What to tell the user.
    pub notes: Vec<Note>,
}

/// Why a file cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A key that has to be a table is something else.
    #[error("key `{key}` is {found}; expected a table, since `{wanted}` belongs in it")]
    NotATable {
        /// The key that is in the way.
        key: String,
        /// What it is.
        found: &'static str,
        /// The key that has no place.
        wanted: String,
    },
    /// A key that has to be a list of tables is something else.
    #[error("key `{key}` is {found}; expected an array of tables")]
    NotAList {
        /// The key that is in the way.
        key: String,
        /// What it is.
        found: &'static str,
    },
}

/// Merges `desired` into `current`. `base` is what we wrote last time; `None` means that we never
/// wrote this file, so values that stand there give way.
///
/// # Errors
/// When a table of ours is a plain value in `current`.
pub fn merge(
    current: &DocumentMut,
    base: Option<&Leaves>,
    desired: &DocumentMut,
) -> Result<Merged, MergeError> {
    let mut merged = Merged {
        document: current.clone(),
        ours: Leaves::new(),
        notes: Vec::new(),
    };
    let nothing = Leaves::new();
    let before = base.unwrap_or(&nothing);
    let wanted = leaves(desired);
    // In the order of the document, so that a new file reads as it was meant to.
    for path in leaf_paths(desired) {
        let key = &join_key(&path);
        let wanted_value = &wanted[key];
        let now = get(current.as_table(), &path).map(to_json);
        let then = before.get(key);
        let set = match (&now, then) {
            (None, Some(_)) => {
                merged.notes.push(Note::LeftOut(key.clone()));
                merged.ours.insert(key.clone(), wanted_value.clone());
                continue;
            }
            (None, None) => true,
            (Some(now), _) if now == wanted_value => false,
            (Some(now), Some(then)) if now == then => true,
            (Some(_), None) if base.is_none() => {
                merged.notes.push(Note::Replaced(key.clone()));
                true
            }
            (Some(_), then) => {
                merged.notes.push(Note::Kept(key.clone()));
                if let Some(then) = then {
                    merged.ours.insert(key.clone(), then.clone());
                }
                continue;
            }
        };
        if set {
            copy(&mut merged.document, desired, &path)?;
        }
        // A value that was the same before we came is not ours to take away.
        if set || then.is_some() {
            merged.ours.insert(key.clone(), wanted_value.clone());
        }
    }
    for (key, then) in before {
        if wanted.contains_key(key) {
            continue;
        }
        let path = parse_key(key);
        match get(current.as_table(), &path).map(to_json) {
            Some(now) if now == *then => remove(merged.document.as_table_mut(), &path),
            Some(_) => merged.notes.push(Note::Kept(key.clone())),
            None => {}
        }
    }
    Ok(merged)
}

/// Takes what is ours out of `current`, and puts back what gave way, as `original` has it. Gives the
/// keys of ours that the user changed and that therefore stay.
#[must_use]
pub fn unmerge(
    current: &mut DocumentMut,
    ours: &Leaves,
    original: Option<&DocumentMut>,
) -> Vec<String> {
    let mut kept = Vec::new();
    for (key, value) in ours {
        let path = parse_key(key);
        match get(current.as_table(), &path).map(to_json) {
            Some(now) if now == *value => {
                match original.and_then(|original| get(original.as_table(), &path)) {
                    Some(previous) => {
                        if let Some(item) = get_mut(current.as_table_mut(), &path) {
                            *item = previous.clone();
                        }
                    }
                    None => remove(current.as_table_mut(), &path),
                }
            }
            Some(_) => kept.push(key.clone()),
            None => {}
        }
    }
    kept
}

/// Puts back what `original` has and `before` still had, but `current` lost: tables and arrays that
/// went because they became empty, though they were the user's.
pub fn regraft(current: &mut DocumentMut, before: &DocumentMut, original: &DocumentMut) {
    fn graft(current: &mut dyn TableLike, before: &dyn TableLike, original: &Table) {
        for (name, item) in original {
            let Some(was) = before.get(name) else {
                continue;
            };
            if !current.contains_key(name) {
                let mut item = item.clone();
                if let Item::Table(table) = &mut item {
                    table.clear();
                }
                current.insert(name, item);
                if let (Some(mut key), Some((old, _))) =
                    (current.key_mut(name), original.get_key_value(name))
                {
                    *key.leaf_decor_mut() = old.leaf_decor().clone();
                }
            }
            if let (Item::Table(original), Some(Item::Table(now))) = (item, current.get_mut(name)) {
                // Without a value of ours in it, it needs a header of its own no more.
                now.set_implicit(original.is_implicit());
            }
            if let (Item::Table(original), Some(now), Some(was)) = (
                item,
                current.get_mut(name).and_then(Item::as_table_like_mut),
                was.as_table_like(),
            ) {
                graft(now, was, original);
            }
        }
    }
    graft(
        current.as_table_mut(),
        before.as_table(),
        original.as_table(),
    );
}

/// Copies the leaf at `path` from `from` to `to` with its comments; makes the tables on the way.
/// Inside an inline table there is no room for comments.
fn copy(to: &mut DocumentMut, from: &DocumentMut, path: &[Key]) -> Result<(), MergeError> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(());
    };
    let mut source: &Table = from.as_table();
    let mut target: &mut dyn TableLike = to.as_table_mut();
    let mut inline = false;
    for (depth, key) in parents.iter().enumerate() {
        let Some(Item::Table(next)) = source.get(key.get()) else {
            return Ok(());
        };
        source = next;
        let entry = target.entry(key.get()).or_insert_with(|| {
            if inline {
                return toml_edit::value(InlineTable::new());
            }
            let mut table = Table::new();
            table.set_implicit(next.is_implicit());
            table.set_dotted(next.is_dotted());
            *table.decor_mut() = next.decor().clone();
            Item::Table(table)
        });
        inline |= entry.is_inline_table();
        let found = entry.type_name();
        target = entry
            .as_table_like_mut()
            .ok_or_else(|| MergeError::NotATable {
                key: join_key(&path[..=depth]),
                found,
                wanted: join_key(path),
            })?;
    }
    let Some((key, item)) = source.get_key_value(last.get()) else {
        return Ok(());
    };
    match target.get_mut(last.get()) {
        // Keep the decoration of a value that stands there: its comment is the user's.
        Some(Item::Value(old)) => {
            if let Item::Value(new) = item {
                let decor = old.decor().clone();
                *old = new.clone();
                *old.decor_mut() = decor;
            }
        }
        Some(other) => *other = item.clone(),
        None => {
            let mut item = item.clone();
            if let (true, Item::Value(value)) = (inline, &mut item) {
                value.decor_mut().clear();
            }
            target.insert(last.get(), item);
            if let (false, Some(mut inserted)) = (inline, target.key_mut(last.get())) {
                *inserted.leaf_decor_mut() = key.leaf_decor().clone();
            }
        }
    }
    Ok(())
}

/// The line (from 1) of a byte range in `text`.
#[must_use]
pub fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let end = span.map_or(0, |span| span.start).min(text.len());
    1 + text[..end].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn document(text: &str) -> DocumentMut {
        text.parse().expect("test input is TOML")
    }

    fn undo(current: &mut DocumentMut, ours: &Leaves, original: &DocumentMut) -> Vec<String> {
        let before = current.clone();
        let kept = unmerge(current, ours, Some(original));
        regraft(current, &before, original);
        kept
    }

    #[test]
    fn first_set_up_fills_an_empty_file_and_undo_empties_it() {
        let desired = document("# why\na = 1\n[t]\nb = \"x\" # note\n");
        let merged = merge(&DocumentMut::new(), None, &desired).unwrap();
        assert_eq!(merged.document.to_string(), desired.to_string());
        let mut document = merged.document;
        assert!(undo(&mut document, &merged.ours, &DocumentMut::new()).is_empty());
        assert!(document.is_empty());
    }

    #[test]
    fn what_the_user_changed_added_or_took_out_stays() {
        let first = document("a = 1\nb = 2\nc = 3\n[t]\nd = 4\n");
        let base = leaves(&first);
        let users =
            document("a = 9 # mine\nc = 3\nz = 0\n\n# my table\n[mine]\nx = 1\n[t]\nd = 4\n");
        let desired = document("a = 5\nb = 5\nc = 5\n[t]\nd = 5\ne = 5\n");
        let merged = merge(&users, Some(&base), &desired).unwrap();
        assert_eq!(
            merged.document.to_string(),
            "a = 9 # mine\nc = 5\nz = 0\n\n# my table\n[mine]\nx = 1\n[t]\nd = 5\ne = 5\n"
        );
        assert_eq!(
            merged.notes,
            [Note::Kept("a".into()), Note::LeftOut("b".into())]
        );
    }

    #[test]
    fn a_key_that_we_no_longer_want_goes_unless_the_user_changed_it() {
        let base = leaves(&document("[s.one]\nx = 1\n[s.two]\nx = 1\n"));
        let users = document("[s.one]\nx = 1\n[s.two]\nx = 2\n");
        let merged = merge(&users, Some(&base), &DocumentMut::new()).unwrap();
        assert_eq!(merged.document.to_string(), "[s.two]\nx = 2\n");
        assert_eq!(merged.notes, [Note::Kept("s.two.x".into())]);
    }

    #[test]
    fn what_stood_there_before_the_first_set_up_comes_back() {
        let desired = document("model = \"ours\"\n[features]\nhooks = true\nother = true\n");
        for users in [
            "model = 'mine' # keep\n[features]\nhooks = false # why\nother = true\n",
            "[model]\na = 1\n",
            "model.a = 1\n",
            "# mine\n[features]\n# only a comment\n",
            "features = { other = 1 }\n",
            "features = {}\n",
            "[features.deep]\nx = 1\n",
        ] {
            let users = document(users);
            let merged = merge(&users, None, &desired).unwrap();
            for (key, value) in leaves(&desired) {
                let path = parse_key(&key);
                let now = get(merged.document.as_table(), &path).map(to_json);
                assert_eq!(now.as_ref(), Some(&value), "{key} in {}", merged.document);
            }
            let reread: DocumentMut = merged.document.to_string().parse().unwrap();
            let mut reread = reread;
            assert!(undo(&mut reread, &merged.ours, &users).is_empty());
            assert_eq!(reread.to_string(), users.to_string());
        }
    }

    #[test]
    fn inside_an_inline_table_there_are_no_comments() {
        let users = document("t = { a = 1 }\n");
        let desired = document("[t]\n# why\nb = 2 # note\n\n# more\n[t.u]\nc = 3\n");
        let merged = merge(&users, None, &desired).unwrap();
        assert_eq!(
            merged.document.to_string(),
            "t = { a = 1 , b = 2, u = { c = 3 } }\n"
        );
    }

    #[test]
    fn a_value_where_a_table_has_to_be_is_an_error_that_names_both() {
        let error = merge(
            &document("features = 1\n"),
            None,
            &document("[features]\nhooks = true\n"),
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "key `features` is integer; expected a table, since `features.hooks` belongs in it"
        );
    }

    #[test]
    fn keys_with_dots_and_quotes_survive() {
        let desired =
            document("[hooks.state.\"/a b/c.toml:pre_tool_use:0:0\"]\ntrusted_hash = \"x\"\n");
        let base = leaves(&desired);
        assert_eq!(
            base.keys().collect::<Vec<_>>(),
            [r#"hooks.state."/a b/c.toml:pre_tool_use:0:0".trusted_hash"#]
        );
        let merged = merge(&desired, Some(&base), &DocumentMut::new()).unwrap();
        assert!(merged.document.is_empty());
    }

    /// Documents over few keys, so that two of them meet: values, tables and tables in tables.
    fn any_document() -> impl Strategy<Value = DocumentMut> {
        let value = prop_oneof![
            (0..3i64).prop_map(|n| n.to_string()),
            Just("\"x\"".to_owned()),
            Just("[1, 2]".to_owned()),
            Just("{ k = 1 }".to_owned()),
        ];
        let leaf = ("[abc]", value);
        let table = (
            "[tuv]",
            proptest::collection::btree_map("[abc]", "[0-2]", 0..3),
        );
        (
            proptest::collection::btree_map(leaf.0, leaf.1, 0..3),
            proptest::collection::btree_map(table.0, table.1, 0..3),
        )
            .prop_map(|(leaves, tables)| {
                let mut text = String::new();
                for (key, value) in leaves {
                    writeln!(text, "{key} = {value} # note").unwrap();
                }
                for (name, keys) in tables {
                    writeln!(text, "# table\n[{name}.\"quoted {name}\"]").unwrap();
                    for (key, value) in keys {
                        writeln!(text, "{key} = {value}").unwrap();
                    }
                }
                document(&text)
            })
    }

    proptest! {
        /// Set-up on whatever stood there, once more, and undo.
        #[test]
        fn a_round_trip_loses_nothing(users in any_document(), desired in any_document()) {
            let first = merge(&users, None, &desired).unwrap();
            for (key, value) in leaves(&desired) {
                prop_assert_eq!(&leaves(&first.document)[&key], &value);
            }
            let second = merge(&first.document, Some(&first.ours), &desired).unwrap();
            prop_assert_eq!(second.document.to_string(), first.document.to_string());
            prop_assert_eq!(&second.ours, &first.ours);
            let mut undone = second.document;
            prop_assert!(undo(&mut undone, &first.ours, &users).is_empty());
            prop_assert_eq!(undone.to_string(), users.to_string());
        }

        /// What the user changed after set-up outlives the next set-up, whatever that wants.
        #[test]
        fn the_users_changes_stay(first in any_document(), users in any_document(), next in any_document()) {
            let merged = merge(&users, Some(&leaves(&first)), &next).unwrap();
            let (before, after) = (leaves(&first), leaves(&merged.document));
            for (key, value) in leaves(&users) {
                if before.get(&key) != Some(&value) {
                    prop_assert_eq!(after.get(&key), Some(&value), "{}", key);
                }
            }
        }
    }
}
