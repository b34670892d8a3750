//! What `undo` has to do with each file: from the receipts and from what is there now.

use std::path::Path;

use anyhow::Result;
use toml_edit::DocumentMut;

use crate::file::{self, sha256};
use crate::setup::receipt::{BACKUP, FileRecord, Receipts};
use crate::setup::{block, guard_entry, leaves, merge, plan};

/// What is to be done with one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    Remove,
    /// Put this content there: what stood there before the first set-up.
    Restore(Vec<u8>),
    /// Leave what is not ours.
    Reduce(Vec<u8>),
    /// Leave it as the user edited it.
    Keep,
    /// It is as it was before the first set-up.
    AsBefore,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) act: Act,
    /// Keys of ours that the user changed and that stay, or a reason.
    pub(super) kept: Vec<String>,
    /// What stood there before the first set-up and cannot go back: the name of a file beside it.
    pub(super) aside: Option<(String, Vec<u8>)>,
}

/// The files of all receipts, `config.toml` first.
pub(super) fn names(receipts: &Receipts) -> Vec<String> {
    let mut names: Vec<String> = [&receipts.complete, &receipts.pending]
        .into_iter()
        .flatten()
        .flat_map(|receipt| receipt.files.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    names.sort_by_key(|name| name.as_str() != plan::CONFIG);
    names
}

/// What is to be done, `config.toml` first: it must not outlive what it names.
pub(super) fn steps(home: &Path, receipts: &Receipts) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for name in names(receipts) {
        let now = file::read_optional(&home.join(&name))?;
        let digest = now.as_deref().map(sha256);
        let Some(record) = receipts.record(&name, digest.as_deref()) else {
            continue;
        };
        let original = original(home, &name, record)?;
        let (act, kept) = match now {
            None => match &original {
                Some(bytes) => (Act::Restore(bytes.clone()), Vec::new()),
                None => continue,
            },
            Some(_) if record.backup_sha256 == digest => (Act::AsBefore, Vec::new()),
            Some(now) => act(&home.join(&name), now, record, original.as_deref()),
        };
        let aside = match (&act, original) {
            (Act::Keep, Some(bytes)) => Some((beside(home, &name, &bytes)?, bytes)),
            _ => None,
        };
        steps.push(Step {
            name,
            act,
            kept,
            aside,
        });
    }
    Ok(steps)
}

fn act(
    path: &Path,
    now: Vec<u8>,
    record: &FileRecord,
    original: Option<&[u8]>,
) -> (Act, Vec<String>) {
    if sha256(&now) == record.sha256 && !record.shared {
        let act = original.map_or(Act::Remove, |bytes| Act::Restore(bytes.to_vec()));
        return (act, Vec::new());
    }
    let keep = |why: String| (Act::Keep, vec![why]);
    let Ok(text) = String::from_utf8(now) else {
        return keep("it is no text any more".to_owned());
    };
    let (rest, kept) = if let Some(keys) = &record.keys {
        match without_ours(path, &text, keys, record, original) {
            Ok(done) => done,
            Err(error) => return keep(format!("{error:#}")),
        }
    } else if let Some(ours) = &record.block_sha256 {
        match block::split(&text) {
            Some((_, there, _)) if sha256(there.as_bytes()) == *ours => {
                (block::take(&text), Vec::new())
            }
            Some(_) => return keep("the block was edited".to_owned()),
            None => (text, Vec::new()),
        }
    } else {
        return keep("edited since set-up wrote it".to_owned());
    };
    if rest.trim().is_empty() && original.is_none() {
        return (Act::Remove, kept);
    }
    (Act::Reduce(rest.into_bytes()), kept)
}

/// A TOML file without our keys, and which of them stay since the user changed them.
fn without_ours(
    path: &Path,
    text: &str,
    keys: &leaves::Leaves,
    record: &FileRecord,
    original: Option<&[u8]>,
) -> Result<(String, Vec<String>)> {
    let mut document = plan::parse(path, text)?;
    let before = document.clone();
    let original: Option<DocumentMut> = original
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|text| plan::parse(path, text).ok());
    let mut kept = merge::unmerge(&mut document, keys, original.as_ref());
    if let Some(hook) = &record.hook
        && guard_entry::take_out(&mut document, hook)
    {
        kept.push("hooks.PreToolUse".to_owned());
    }
    if let Some(original) = &original {
        merge::regraft(&mut document, &before, original);
    }
    let rest = if document.is_empty() {
        String::new()
    } else {
        document.to_string()
    };
    Ok((plan::Layout::of(text).apply(&rest), kept))
}

fn original(home: &Path, name: &str, record: &FileRecord) -> Result<Option<Vec<u8>>> {
    let Some(digest) = &record.backup_sha256 else {
        return Ok(None);
    };
    let bytes = file::read_optional(&home.join(BACKUP).join(name))?;
    Ok(bytes.filter(|bytes| sha256(bytes) == *digest))
}

/// A name beside `name` that is free, or has these bytes already.
fn beside(home: &Path, name: &str, bytes: &[u8]) -> Result<String> {
    let plain = format!("{name}.before-codex-ds");
    let mut candidate = plain.clone();
    let mut number = 1;
    while let Some(there) = file::read_optional(&home.join(&candidate))? {
        if there == bytes {
            break;
        }
        number += 1;
        candidate = format!("{plain}.{number}");
    }
    Ok(candidate)
}
