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
//! | words to values | `expand`, `parameters`, `braces`, `operators`, `arithmetic`, `text`, `value` |
//! | commands in order, branches, loops, and what a shell knows | `interpreter`, `flow`, `state`, `variables` |
//! | one command: what it is | `call`, `judge`, `options`, `candidates`, `builtins` |
//! | what it prints, where that goes, and what files hold then | `outputs`, `decode`, `redirects`, `contents` |
//! | commands inside commands | `wrapping`, `launched`, `shells`, `lists`, `special`, `makefiles`, `snippets` |
//! | what reaches other machines | `transfers`, `http`, `git`, `tools` |
//! | what the rules excuse | `venv` |
//! | paths: what is done to them, what they are, where they really lead | `acts`, `environment`, `places`, `links`, `patch` |
//! | the answer | `verdict`, `explain` |
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

mod acts;
mod arithmetic;
mod braces;
mod budgets;
mod builtins;
mod call;
mod candidates;
mod characters;
mod contents;
mod context;
mod decode;
mod environment;
mod expand;
mod explain;
mod flow;
mod git;
mod http;
pub mod installed;
mod interpreter;
mod judge;
mod launched;
mod limits;
mod links;
mod lists;
mod makefiles;
mod mask;
mod operators;
mod options;
mod outputs;
mod parameters;
mod patch;
mod places;
mod policy;
mod program;
pub mod protocol;
pub mod record;
mod redirects;
mod shells;
mod snippets;
mod special;
mod state;
mod syntax;
mod text;
mod tools;
mod transfers;
mod value;
mod variables;
mod venv;
mod verdict;
mod wrapping;

pub use budgets::Budgets;
pub use context::{Context, Files, NoFiles, RealFiles, There, find_workspace};
pub use explain::{Explanation, Step, explain};
pub use mask::mask;
pub use policy::{Host, Log, Policy, PolicyError, default_policy_toml};
pub use program::{main, respond};
pub use verdict::{Denial, Verdict};

/// Decides about a shell command. Pure: the same inputs give the same verdict.
#[must_use]
pub fn evaluate(command: &str, policy: &Policy, context: &Context<'_>) -> Verdict {
    let mut interpreter = interpreter::Interpreter::new(policy, context);
    let mut state = state::State::new(value::Value::known(context.cwd.to_string_lossy()));
    let result = interpreter.script(command, &mut state).map(drop);
    interpreter.verdict(result)
}

/// Decides about a patch for `apply_patch`: the paths it touches.
#[must_use]
pub fn evaluate_patch(patch: &str, policy: &Policy, context: &Context<'_>) -> Verdict {
    let mut interpreter = interpreter::Interpreter::new(policy, context);
    let state = state::State::new(value::Value::known(context.cwd.to_string_lossy()));
    let result = interpreter.patch(patch, &state);
    interpreter.verdict(result)
}

/// Decides about a call of a tool that is no shell: `mcp__server__tool`, or one of Codex's own.
#[must_use]
pub fn evaluate_tool(
    name: &str,
    input: &serde_json::Value,
    policy: &Policy,
    context: &Context<'_>,
) -> Verdict {
    let mut interpreter = interpreter::Interpreter::new(policy, context);
    let mut state = state::State::new(value::Value::known(context.cwd.to_string_lossy()));
    let result = tools::check(&mut interpreter, name, input, &mut state);
    interpreter.verdict(result)
}
