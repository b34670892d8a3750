//! The guard of codex-ds: a PreToolUse hook that understands whole shell commands.
//!
//! [`evaluate`] is the pure core: a command, the policy and the place in, a verdict out. It reads
//! the script exactly as bash does, follows it command by command with what is known of every
//! word, looks through wrappers and nested shells, and asks the table of `codex-ds-rules` about
//! each command and each path it finds. [`main`] is the thin shell around it that speaks Codex's
//! protocol.
//!
//! Nothing here starts a process, opens a connection or waits. Whatever cannot be read to its
//! end is denied.
//!
//! # The map
//!
//! | step | modules |
//! | --- | --- |
//! | the program: Codex's request, the home, the log and the grants | `program`, `protocol`, `installed`, `record`, `mask` |
//! | what is denied, and how much work it may take | `policy`, `budgets`, `limits` |
//! | text to commands | `syntax`, `characters` |
//! | what is known of texts, and what operators make of them | `value`, `variables`, `text`, `braces`, `operators`, `arithmetic`, `decode` |
//! | the words of a command line; the heads of a patch | `options`, `patch` |
//! | what a script does, command by command | `analysis`, with a map of its own |
//! | the place, the answer | `context`, `verdict` |
//!
//! A module uses those below it only; what is recursive by its nature, since commands hold
//! commands, is `analysis` alone.
//!
//! # Why it has a reader of its own
//!
//! Codex reads commands with tree-sitter-bash, and a walk over its tree would be shorter than
//! `syntax`. But that grammar has no node at all for the command behind a here-document in shapes
//! that agents write daily (`<<E;`, `<<E &`, `<<E 2>&1 |`, `<<E > file |`), it takes seconds for
//! 15 KB of some inputs with no way to bound that by work, and a tree with an error in it says
//! nothing of which commands bash still runs. A reader that follows bash's own order has none of
//! that: it counts its work, and the complete lines before an error are commands.
//!
//! The grammar is the second reader of the tests (`tests/corpus/second_reader.rs`): every command that it
//! finds in the cases, ours must have found. Where the two disagree the test fails, and ours is
//! mended; where the grammar reports an error the case is left to ours. At run time there is one
//! reader, and what it cannot read is denied (`shell.unreadable`).

mod analysis;
mod arithmetic;
mod braces;
mod budgets;
mod characters;
mod context;
mod decode;
pub mod installed;
mod limits;
mod mask;
mod operators;
mod options;
mod patch;
mod policy;
mod program;
pub mod protocol;
pub mod record;
mod syntax;
mod text;
mod value;
mod variables;
mod verdict;

pub use analysis::explain::{Explanation, Step, explain};
pub use analysis::{evaluate, evaluate_patch, evaluate_tool};
pub use budgets::Budgets;
pub use context::{Context, Files, NoFiles, RealFiles, There, find_workspace};
pub use mask::mask;
pub use policy::{Host, Log, Policy, PolicyError, default_policy_toml};
pub use program::{main, respond};
pub use verdict::{Denial, Verdict};
