//! What the guard understood of a command: every command it found, in the order it found them.

use std::ops::Range;

use codex_ds_rules::wrappers::Where;

use crate::context::Context;
use crate::policy::Policy;
use crate::verdict::Verdict;

/// One command that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How many commands run this one.
    pub level: u32,
    /// Its words with expansions resolved; `…` stands for what is not known.
    pub command: String,
    /// The same, word by word.
    pub words: Vec<String>,
    /// Where it runs.
    pub place: &'static str,
    /// Whether all of it is known.
    pub known: bool,
}

/// What was understood, and the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The commands, up to the one that was denied.
    pub steps: Vec<Step>,
    /// The verdict.
    pub verdict: Verdict,
    /// The bytes of the command that the denial is about.
    pub span: Option<Range<usize>>,
}

/// Decides about a shell command as [`crate::evaluate`] does, and says what was understood.
#[must_use]
pub fn explain(command: &str, policy: &Policy, context: &Context<'_>) -> Explanation {
    let mut interpreter = crate::analysis::interpreter::Interpreter::new(policy, context);
    interpreter.trace = Some(Vec::new());
    let cwd = crate::value::Value::known(context.cwd.to_string_lossy());
    let mut state = crate::analysis::state::State::new(cwd);
    let result = interpreter.script(command, &mut state).map(drop);
    let verdict = interpreter.verdict(result);
    let span = interpreter
        .span
        .map(|span| span.start as usize..span.end as usize)
        .filter(|span| verdict.is_deny() && command.get(span.clone()).is_some());
    Explanation {
        steps: interpreter.trace.unwrap_or_default(),
        verdict,
        span,
    }
}

/// A place for a reader.
pub(crate) fn place(place: Where) -> &'static str {
    match place {
        Where::Here => "here",
        Where::Privileged => "with other rights",
        Where::Remote => "elsewhere",
        Where::Container => "in a new container",
        Where::Later => "later",
    }
}
