//! The Codex model catalog of codex-ds: a lean entry for each served model.
//!
//! Codex reads `model_catalog_json` before its first request, refuses the whole file for one missing
//! field, and falls back to a 40 KB request for a model that the file does not name. So an entry is
//! made here from two things only: the row of the model's [`Family`] (what its chat template knows),
//! and what the server says of the model ([`Served`]). Nothing is copied from Codex's own entries,
//! which bring prompts, tools and request fields that a self-hosted model cannot use.
//!
//! - [`mod@families`]: the table of model families, and how a served id is recognised;
//! - [`mod@window`]: how much of the server's context Codex may use, and when it compacts;
//! - [`mod@entry`]: the entry, and [`render`] for the file's text;
//! - [`mod@fields`]: the fields of an entry, as Codex reads them;
//! - [`mod@check`]: the same file read back, every fault named by its place in the file.
//!
//! **Architecture invariant**: no I/O, and the same inputs give the same bytes.

pub mod check;
pub mod entry;
pub mod families;
pub mod fields;
pub mod window;

pub use check::{Effect, Problem, Slug, check};
pub use entry::{CatalogError, INSTRUCTIONS, Request, Route, Served, render};
pub use families::{FAMILIES, Family, Level, family};
pub use window::{Window, WindowError, window};
