//! The receipt: what set-up wrote, from which choices, and what stood there before. `undo` and the
//! next set-up go by it and by nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::leaves::Leaves;
use crate::error::UserError;
use crate::file;

/// The receipt's file in the profile.
pub const NAME: &str = "receipt.json";
/// The receipt of a set-up that has not ended: it stands beside [`NAME`] while files are written.
pub const PENDING: &str = "receipt.pending.json";
/// The folder in the profile that keeps what stood there before the first set-up.
pub const BACKUP: &str = ".codex-ds-backup";
/// The folder in the profile with the MCP servers that set-up installs.
pub const MCP: &str = "mcp";
/// Every file that a set-up can write. A receipt that names another one was not written by it, and
/// `undo` must not act on it.
pub const FILES: &[&str] = &[
    "bin/codex-ds-hook",
    "config.toml",
    "fast.config.toml",
    "guard.toml",
    "instructions.md",
    "model-catalog.json",
    "native.config.toml",
    "rules/default.rules",
];

const SCHEMA_VERSION: u32 = 1;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of this format.
    pub schema_version: u32,
    /// The version of codex-ds that wrote it.
    pub tool_version: String,
    /// The real path of the profile when it was written. Trust entries hold it.
    pub home: PathBuf,
    /// Whether the first set-up made the folder.
    pub created_home: bool,
    /// The Codex that the profile was made for.
    pub codex: Option<CodexRecord>,
    /// What the user chose: the defaults of the next run.
    pub choices: Choices,
    /// The files, by their path in the profile.
    pub files: BTreeMap<String, FileRecord>,
    /// Folders below the profile that are ours as a whole.
    pub trees: Vec<String>,
}

/// The Codex that a profile was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodexRecord {
    /// The program.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Whether the user named it with `--codex`; else PATH decides at each launch.
    pub pinned: bool,
}

/// What the user chose, by option. `None`: the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// `--endpoint`
    pub endpoint: Option<String>,
    /// `--native-endpoint`
    pub native_endpoint: Option<String>,
    /// `--model`
    pub model: Option<String>,
    /// `--native-model`
    pub native_model: Option<String>,
    /// `--context`, tokens
    pub context: Option<u64>,
    /// `--api-key-env`: the variable's name, never its value
    pub api_key_env: Option<String>,
    /// `--api-key-file`: the file's path, never its content
    pub api_key_file: Option<PathBuf>,
    /// `--mcp`
    pub mcp: Option<String>,
    /// `--preset`
    pub preset: Option<String>,
    /// `--no-guard`
    pub no_guard: bool,
    /// `--no-trust`
    pub no_trust: bool,
}

/// One file that set-up wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The digest of the file as we left it.
    pub sha256: String,
    /// Its length, bytes: what a launch can afford to compare.
    #[serde(default)]
    pub length: usize,
    /// Whether something was in it that is not ours when we left it.
    #[serde(default)]
    pub shared: bool,
    /// The digest of what stood there before the first set-up, which [`BACKUP`] keeps under the
    /// same name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backup_sha256: Option<String>,
    /// The keys that are ours, for a TOML file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub keys: Option<Leaves>,
    /// The guard's entry, for the file that has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hook: Option<HookRecord>,
    /// The digest of our block, for a file that others write to as well.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub block_sha256: Option<String>,
}

/// The guard's entry in Codex's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookRecord {
    /// The hook group as we wrote it.
    pub group: serde_json::Value,
    /// The key of its trust entry.
    pub key: String,
    /// The hash of the definition that is trusted; `None` with `--no-trust`.
    pub trusted_hash: Option<String>,
}

impl Receipt {
    /// A receipt with nothing in it.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            home: home.to_path_buf(),
            created_home: false,
            codex: None,
            choices: Choices::default(),
            files: BTreeMap::new(),
            trees: Vec::new(),
        }
    }

    /// The text of the file: the same for the same receipt.
    ///
    /// # Panics
    /// When a path in it is not UTF-8; [`crate::home::checked`] lets none through.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a receipt is plain data");
        text.push('\n');
        text
    }

    /// Reads the receipts in `home`: of the last set-up that ended, and of one that did not.
    ///
    /// # Errors
    /// When one is there and cannot be read as one.
    pub fn load(home: &Path) -> Result<Receipts> {
        Ok(Receipts {
            complete: read(&home.join(NAME))?,
            pending: read(&home.join(PENDING))?,
        })
    }
}

/// What [`Receipt::load`] found.
#[derive(Clone, Debug, Default)]
pub struct Receipts {
    /// The last set-up that ended.
    pub complete: Option<Receipt>,
    /// A set-up that was interrupted.
    pub pending: Option<Receipt>,
}

impl Receipts {
    /// The receipt with the latest choices.
    #[must_use]
    pub fn latest(&self) -> Option<&Receipt> {
        self.pending.as_ref().or(self.complete.as_ref())
    }

    /// What is recorded of the file `name`, whose digest is `now`.
    ///
    /// Where a set-up was interrupted, its record counts if it came to write the file; what it only
    /// meant to write is no base.
    #[must_use]
    pub fn record(&self, name: &str, now: Option<&str>) -> Option<&FileRecord> {
        let pending = self
            .pending
            .as_ref()
            .and_then(|receipt| receipt.files.get(name));
        let complete = self
            .complete
            .as_ref()
            .and_then(|receipt| receipt.files.get(name));
        let Some(now) = now else {
            return complete.or(pending);
        };
        match (pending, complete) {
            (Some(pending), _) if pending.sha256 == now => Some(pending),
            (_, Some(complete)) => Some(complete),
            // Neither as it was before nor as we meant to leave it: ours, then edited.
            (Some(pending), None) if pending.backup_sha256.as_deref() != Some(now) => Some(pending),
            _ => None,
        }
    }
}

fn read(path: &Path) -> Result<Option<Receipt>> {
    let Some(bytes) = file::read_optional(path)? else {
        return Ok(None);
    };
    let no_receipt = |error: serde_json::Error| {
        UserError::usage(format!("{} is not a receipt of codex-ds", path.display()))
            .because(error)
            .hint("restore it from a copy; or move it away and run codex-ds setup, which then treats every file as yours and keeps a backup")
    };
    let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(no_receipt)?;
    if let Some(version) = json["schema_version"].as_u64()
        && version != u64::from(SCHEMA_VERSION)
    {
        return Err(UserError::usage(format!(
            "{}: schema_version is {version}; this codex-ds knows {SCHEMA_VERSION}",
            path.display()
        ))
        .hint("use the codex-ds that wrote it")
        .into());
    }
    let receipt: Receipt = serde_json::from_value(json).map_err(no_receipt)?;
    let foreign = receipt
        .files
        .keys()
        .find(|name| !FILES.contains(&name.as_str()))
        .or_else(|| receipt.trees.iter().find(|tree| *tree != MCP));
    if let Some(foreign) = foreign {
        return Err(UserError::usage(format!(
            "{} names {foreign:?}, which codex-ds never writes: somebody changed it",
            path.display()
        ))
        .hint("take that entry out, after a look at who put it there")
        .into());
    }
    Ok(Some(receipt))
}
