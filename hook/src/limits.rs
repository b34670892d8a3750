//! The bounds that no policy changes. Those that `guard.toml` may set are in `budgets`.

/// Bytes of Codex's whole request: twice the largest command, and room for the rest.
pub(crate) const REQUEST_BYTES: u64 = 4 << 20;

/// Bytes that one value may grow to; a longer one counts as unknown.
pub(crate) const VALUE_BYTES: usize = 64 << 10;

/// Values that a variable may have at one place, after branches that set it differently.
pub(crate) const ALTERNATIVES: usize = 8;

/// Texts that a file may hold, after it was written more than once; more count as unknown.
pub(crate) const CONTENTS: usize = 16;

/// Combinations of those values that one command is checked with.
pub(crate) const COMBINATIONS: usize = 64;

/// Turns of a `while` whose end is not known: enough for a value to pass through two variables.
pub(crate) const BLIND_TURNS: u32 = 3;

/// Characters of a denial: the model reads all of it.
pub(crate) const REASON_CHARS: usize = 400;
