//! The bounds of the analysis. Passing one denies, so that no input makes the guard slow or
//! lets a command through unread. They bound work, not time: a busy machine gives the same
//! verdict.

/// Bytes of Codex's whole request: twice the largest command, and room for the rest.
pub(crate) const REQUEST_BYTES: u64 = 4 << 20;

/// Bytes of one script: 30 times the longest command in the corpora. Linux itself takes at most
/// 128 KiB for one argument (`MAX_ARG_STRLEN`), and `bash -c` gets the command as one.
pub(crate) const SCRIPT_BYTES: usize = 128 << 10;

/// Levels of nesting, of syntax and of scripts inside scripts together.
pub(crate) const DEPTH: u32 = 100;

/// Commands, words and expansions in one script.
pub(crate) const NODES: u32 = 50_000;

/// Commands evaluated for one request, counting every turn of a loop.
pub(crate) const STEPS: u32 = 20_000;

/// Words that one word may expand to.
pub(crate) const FIELDS: usize = 1_000;

/// Bytes that one value may grow to; a longer one counts as unknown.
pub(crate) const VALUE_BYTES: usize = 64 << 10;

/// Variables, functions, aliases and the like that a script may have at one place: each way
/// through it that sets one copies the list.
pub(crate) const NAMES: usize = 2_000;

/// Values that a variable may have at one place, after branches that set it differently.
pub(crate) const ALTERNATIVES: usize = 8;

/// Combinations of those values that one command is checked with.
pub(crate) const COMBINATIONS: usize = 64;

/// Turns of a loop over known values.
pub(crate) const TURNS: usize = 200;

/// Turns of a `while` whose end is not known: enough for a value to pass through two variables.
pub(crate) const BLIND_TURNS: usize = 3;

/// Bytes of a script file that are read.
pub(crate) const FILE_BYTES: u64 = 64 << 10;

/// Characters of a denial: the model reads all of it.
pub(crate) const REASON_CHARS: usize = 400;
