//! What a set-up would change: pure, from what is wanted, what is there, and the receipts.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use toml_edit::DocumentMut;

use super::receipt::{CodexRecord, FileRecord, Receipt, Receipts};
use super::{block, guard_entry, merge};
use crate::error::UserError;
use crate::file::{Mode, sha256};

/// The main configuration file, which names the others and is therefore written after them.
pub const CONFIG: &str = "config.toml";

/// A file that the profile should have.
#[derive(Debug)]
pub struct Wanted {
    /// Its path in the profile.
    pub name: &'static str,
    /// What should be in it.
    pub content: Content,
}

/// How a file is ours.
#[derive(Debug)]
pub enum Content {
    /// Single keys of a TOML file.
    Toml(DocumentMut),
    /// The whole text.
    Text(String),
    /// A block in a text.
    Block(String),
    /// A program, always replaced: an edited one is no guard.
    Program(Vec<u8>),
}

/// The guard's entry in [`CONFIG`].
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The hook's command; `None` for no guard.
    pub command: Option<String>,
    /// Whether to write the trust entry.
    pub trust: bool,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is new.
    Create,
    /// It changes.
    Update,
    /// It is as wanted.
    Unchanged,
    /// The user changed it; it stays as it is.
    Keep,
}

impl Action {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Unchanged => "unchanged",
            Self::Keep => "kept",
        }
    }
}

/// One file of a plan.
#[derive(Debug)]
pub struct Change {
    /// Its path in the profile.
    pub name: &'static str,
    /// What is there.
    pub before: Option<Vec<u8>>,
    /// What will be there.
    pub after: Vec<u8>,
    /// Who may read it.
    pub mode: Mode,
    /// What happens.
    pub action: Action,
    /// Whether `before` has to be kept for `undo`.
    pub back_up: bool,
    /// Keys that a user wants to know about.
    pub notes: Vec<merge::Note>,
}

impl Change {
    /// Whether the file has to be written.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.action, Action::Create | Action::Update)
    }
}

/// A whole set-up, ready to be shown or applied.
#[derive(Debug)]
pub struct Plan {
    /// The files, in the order in which they are written.
    pub changes: Vec<Change>,
    /// The receipt as it will be.
    pub receipt: Receipt,
    /// Whether the receipt changes, or one of an interrupted set-up is to be cleared.
    pub receipt_changes: bool,
    /// What became of the guard's entry.
    pub guard_kept: bool,
    /// Somebody turned our hook off in Codex.
    pub guard_disabled: bool,
}

impl Plan {
    /// Whether anything would be written.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        self.receipt_changes || self.changes.iter().any(Change::writes)
    }

    /// The trust entry that the plan leaves: its key and hash.
    #[must_use]
    pub fn trusted(&self) -> Option<(&str, &str)> {
        let hook = self.receipt.files.get(CONFIG)?.hook.as_ref()?;
        Some((&hook.key, hook.trusted_hash.as_deref()?))
    }
}

/// Makes the plan. `read` gives a file's bytes by its path in the profile.
///
/// # Errors
/// When a file that is there cannot be read or merged; nothing has been written then.
pub fn make(
    home: &Path,
    wanted: Vec<Wanted>,
    guard: &Guard,
    receipts: &Receipts,
    mut receipt: Receipt,
    read: impl Fn(&str) -> Result<Option<Vec<u8>>>,
) -> Result<Plan> {
    let mut plan = Plan {
        changes: Vec::new(),
        receipt_changes: false,
        guard_kept: false,
        guard_disabled: false,
        receipt: Receipt::new(home),
    };
    let mut files = BTreeMap::new();
    for Wanted { name, content } in wanted {
        let before = read(name)?;
        let digest = before.as_deref().map(sha256);
        let base = receipts.record(name, digest.as_deref()).cloned();
        let current = Current {
            home,
            name,
            before,
            base,
        };
        let (change, record) = match content {
            Content::Program(bytes) => current.replaced(bytes, Mode::Program),
            Content::Text(text) => current.text(text.into_bytes()),
            Content::Block(text) => current.block(&text)?,
            Content::Toml(document) => {
                let guard = (name == CONFIG).then_some(guard);
                let (change, record, placed) = current.toml(&document, guard)?;
                if let Some(placed) = placed {
                    plan.guard_kept = placed.kept;
                    plan.guard_disabled = placed.disabled;
                }
                (change, record)
            }
        };
        files.insert(name.to_owned(), record);
        plan.changes.push(change);
    }
    // Files that an earlier set-up wrote and this one does not want stay recorded, for `undo`.
    for earlier in [&receipts.complete, &receipts.pending]
        .into_iter()
        .flatten()
    {
        for (name, record) in &earlier.files {
            files.entry(name.clone()).or_insert_with(|| record.clone());
        }
        for tree in &earlier.trees {
            if !receipt.trees.contains(tree) {
                receipt.trees.push(tree.clone());
            }
        }
        receipt.created_home |= earlier.created_home;
    }
    receipt.files = files;
    plan.receipt_changes =
        receipts.pending.is_some() || receipts.complete.as_ref() != Some(&receipt);
    plan.receipt = receipt;
    Ok(plan)
}

struct Current<'a> {
    home: &'a Path,
    name: &'static str,
    before: Option<Vec<u8>>,
    base: Option<FileRecord>,
}

impl Current<'_> {
    fn change(self, after: Vec<u8>, action: Action, record: FileRecord) -> (Change, FileRecord) {
        let back_up = record.backup_sha256.is_some()
            && self.before.as_deref().map(sha256) == record.backup_sha256;
        let change = Change {
            name: self.name,
            before: self.before,
            after,
            mode: Mode::Private,
            action,
            back_up,
            notes: Vec::new(),
        };
        (change, record)
    }

    fn action(&self, after: &[u8]) -> Action {
        match &self.before {
            None => Action::Create,
            Some(before) if before == after => Action::Unchanged,
            Some(_) => Action::Update,
        }
    }

    /// The digest of what stood there before the first set-up.
    fn original(&self) -> Option<String> {
        match &self.base {
            Some(base) => base.backup_sha256.clone(),
            None => self.before.as_deref().map(sha256),
        }
    }

    fn replaced(self, after: Vec<u8>, mode: Mode) -> (Change, FileRecord) {
        let action = self.action(&after);
        let record = FileRecord {
            sha256: sha256(&after),
            length: after.len(),
            backup_sha256: self.original(),
            ..FileRecord::default()
        };
        let (mut change, record) = self.change(after, action, record);
        change.mode = mode;
        (change, record)
    }

    fn text(self, after: Vec<u8>) -> (Change, FileRecord) {
        match (&self.before, &self.base) {
            (Some(before), Some(base)) if *before != after && sha256(before) != base.sha256 => {
                let (before, base) = (before.clone(), base.clone());
                self.change(before, Action::Keep, base)
            }
            _ => self.replaced(after, Mode::Private),
        }
    }

    fn utf8(&self) -> Result<&str> {
        std::str::from_utf8(self.before.as_deref().unwrap_or_default()).map_err(|error| {
            UserError::usage(format!(
                "{}: byte {} is not UTF-8 text",
                self.home.join(self.name).display(),
                error.valid_up_to()
            ))
            .hint("repair the file or move it away, then run this again; nothing was written")
            .into()
        })
    }

    fn block(self, wanted: &str) -> Result<(Change, FileRecord)> {
        let text = self.utf8()?.to_owned();
        let there = block::split(&text).map(|(_, block, _)| block);
        let recorded = self
            .base
            .as_ref()
            .and_then(|base| base.block_sha256.as_deref());
        let keep = match (there, recorded) {
            // Edited, or taken out.
            (Some(there), Some(recorded)) => {
                there != wanted && sha256(there.as_bytes()) != recorded
            }
            (None, Some(_)) => !text.is_empty(),
            (_, None) => false,
        };
        if let (true, Some(base)) = (keep, self.base.clone()) {
            return Ok(self.change(text.into_bytes(), Action::Keep, base));
        }
        let after = block::put(&text, wanted);
        let record = FileRecord {
            sha256: sha256(after.as_bytes()),
            length: after.len(),
            shared: after != wanted,
            backup_sha256: self.original(),
            block_sha256: Some(sha256(wanted.as_bytes())),
            ..FileRecord::default()
        };
        let action = self.action(after.as_bytes());
        Ok(self.change(after.into_bytes(), action, record))
    }

    fn toml(
        self,
        wanted: &DocumentMut,
        guard: Option<&Guard>,
    ) -> Result<(Change, FileRecord, Option<guard_entry::Placed>)> {
        let path = self.home.join(self.name);
        let text = self.utf8()?.to_owned();
        let layout = Layout::of(&text);
        let current = parse(&path, &text)?;
        // A file that is gone is made anew, also where we made it before.
        let base = self.base.as_ref().filter(|_| self.before.is_some());
        let untouched =
            base.is_some_and(|base| !base.shared && sha256(text.as_bytes()) == base.sha256);
        let unmergeable = |error| {
            UserError::usage(format!("{}: {error}", path.display()))
                .hint("repair it or take it out, then run this again; nothing was written")
        };
        // One that is ours alone is written anew, so that its bytes do not depend on its history.
        let merged = if untouched && self.original().is_none() {
            merge::merge(&DocumentMut::new(), None, wanted)
        } else {
            let keys = base.map(|base| base.keys.clone().unwrap_or_default());
            merge::merge(&current, keys.as_ref(), wanted)
        };
        let mut merged = merged.map_err(unmergeable)?;
        let hook = base.and_then(|base| base.hook.as_ref());
        let placed = match guard {
            None => None,
            Some(guard) => {
                let command = guard.command.as_deref();
                let document = &mut merged.document;
                Some(
                    guard_entry::place(document, &path, command, hook, guard.trust)
                        .map_err(unmergeable)?,
                )
            }
        };
        let after = layout.apply(&merged.document.to_string());
        let record = FileRecord {
            sha256: sha256(after.as_bytes()),
            length: after.len(),
            shared: base.is_some() && !untouched,
            backup_sha256: self.original(),
            keys: Some(merged.ours),
            hook: placed.as_ref().and_then(|placed| placed.record.clone()),
            ..FileRecord::default()
        };
        let action = self.action(after.as_bytes());
        let (mut change, record) = self.change(after.into_bytes(), action, record);
        change.notes = merged.notes;
        Ok((change, record, placed))
    }
}

/// What a TOML file has besides its document: a byte-order mark, and line ends of two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    mark: bool,
    crlf: bool,
}

impl Layout {
    const MARK: char = '\u{feff}';

    /// The layout of a file's text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self {
            mark: text.starts_with(Self::MARK),
            crlf: text.contains("\r\n"),
        }
    }

    /// A document's text in this layout.
    #[must_use]
    pub fn apply(self, text: &str) -> String {
        let mut text = text.trim_start_matches(Self::MARK).replace("\r\n", "\n");
        if self.crlf {
            text = text.replace('\n', "\r\n");
        }
        if self.mark {
            text.insert(0, Self::MARK);
        }
        text
    }
}

/// Parses a TOML file; the error names the file, the line and what was expected.
///
/// # Errors
/// When it is not TOML.
pub fn parse(path: &Path, text: &str) -> Result<DocumentMut> {
    text.trim_start_matches(Layout::MARK)
        .parse::<DocumentMut>()
        .map_err(|error| {
            let line = merge::line_of(text, error.span());
            UserError::usage(format!(
                "{}:{line}: not valid TOML: {}",
                path.display(),
                error.message()
            ))
            .hint(
                "repair that line or move the file away, then run this again; nothing was written",
            )
            .into()
        })
}

/// What the receipt says of a Codex.
#[must_use]
pub fn codex_record(codex: &crate::codex::Codex, pinned: bool) -> CodexRecord {
    CodexRecord {
        path: codex.path.clone(),
        version: codex.version.to_string(),
        pinned,
    }
}
