//! What a script does: followed command by command, with what is known of every word.
//!
//! Commands hold commands (`env`, `sh -c`, `find -exec`, `$(…)`), so that these modules call each
//! other in a ring: each is a part of the one [`Interpreter`], and none is of use without the
//! others. Nothing outside knows any of them but this one.
//!
//! | step | modules |
//! | --- | --- |
//! | words to values | `expand`, `parameters` |
//! | commands in order, branches, loops, and what a shell knows | `interpreter`, `flow`, `state` |
//! | one command: what it is | `call`, `judge`, `candidates`, `builtins`, `venv` |
//! | what it prints, where that goes, and what files hold then | `outputs`, `redirects`, `contents` |
//! | commands inside commands | `wrapping`, `launched`, `shells`, `lists`, `special`, `makefiles`, `snippets` |
//! | what reaches other machines | `transfers`, `http`, `git`, `tools` |
//! | paths: what is done to them, what they are, where they really lead | `acts`, `environment`, `places`, `links` |
//! | what was understood | `explain` |

mod acts;
mod builtins;
mod call;
mod candidates;
mod contents;
mod environment;
mod expand;
pub(crate) mod explain;
mod flow;
mod git;
mod http;
mod interpreter;
mod judge;
mod launched;
mod links;
mod lists;
mod makefiles;
mod outputs;
mod parameters;
mod places;
mod redirects;
mod shells;
mod snippets;
mod special;
mod state;
mod tools;
mod transfers;
mod venv;
mod wrapping;

use interpreter::Interpreter;
use state::State;

use crate::context::Context;
use crate::policy::Policy;
use crate::value::Value;
use crate::verdict::Verdict;

/// Decides about a shell command. Pure: the same inputs give the same verdict.
#[must_use]
pub fn evaluate(command: &str, policy: &Policy, context: &Context<'_>) -> Verdict {
    let mut interpreter = Interpreter::new(policy, context);
    let mut state = State::new(Value::known(context.cwd.to_string_lossy()));
    let result = interpreter.script(command, &mut state).map(drop);
    interpreter.verdict(result)
}

/// Decides about a patch for `apply_patch`: the paths it touches.
#[must_use]
pub fn evaluate_patch(patch: &str, policy: &Policy, context: &Context<'_>) -> Verdict {
    let mut interpreter = Interpreter::new(policy, context);
    let state = State::new(Value::known(context.cwd.to_string_lossy()));
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
    let mut interpreter = Interpreter::new(policy, context);
    let mut state = State::new(Value::known(context.cwd.to_string_lossy()));
    let result = tools::check(&mut interpreter, name, input, &mut state);
    interpreter.verdict(result)
}
