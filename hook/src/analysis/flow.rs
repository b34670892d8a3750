//! Branches and loops, and commands whose variables may hold one of several values.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::limits;
use crate::syntax::{Command, Piece, Simple, Word};
use crate::value::Value;
use crate::verdict::Eval;

impl Interpreter<'_> {
    pub(crate) fn branches(
        &mut self,
        arms: &[(Vec<Command>, Vec<Command>)],
        otherwise: &[Command],
        state: &mut State,
    ) -> Eval<Value> {
        self.nested(|this| {
            let mut joined: Option<State> = None;
            for (condition, body) in arms {
                this.run(condition, state)?;
                let mut inner = state.clone();
                if let Some(name) = set_by(condition)
                    && !inner.variables.contains(name)
                {
                    inner.set(name, Value::unknown());
                }
                this.run(body, &mut inner)?;
                match &mut joined {
                    Some(joined) => joined.join(&inner),
                    None => joined = Some(inner),
                }
            }
            this.run(otherwise, state)?;
            if let Some(joined) = joined {
                state.join(&joined);
            }
            Ok(Value::unknown())
        })
    }

    pub(crate) fn while_loop(
        &mut self,
        condition: &[Command],
        body: &[Command],
        state: &mut State,
    ) -> Eval<Value> {
        if is_always(condition) && body.iter().any(|c| matches!(c, Command::Background(_))) {
            let ends = body.iter().any(|command| match command {
                Command::Simple(simple) => simple.words.first().is_some_and(|word| {
                    matches!(word.pieces.as_slice(), [Piece::Plain(name)]
                        if matches!(name.as_str(), "sleep" | "wait" | "break" | "read" | "exit"))
                }),
                Command::Background(_) => false,
                // Something else may end the loop or slow it down.
                _ => true,
            });
            if !ends {
                self.deny("shell.limit", "an endless loop that starts processes")?;
            }
        }
        let mut output = Value::default();
        let reads = state.stdin.as_ref().is_some_and(Value::is_known);
        let turns = if reads {
            self.policy.budgets.turns
        } else {
            limits::BLIND_TURNS
        };
        for _ in 0..turns {
            let before = (state.variables.clone(), state.stdin.clone());
            output.push_value(&self.run(condition, state)?);
            let skipped = state.clone();
            output.push_value(&self.run(body, state)?);
            let stdin = state.stdin.clone();
            state.join(&skipped);
            state.stdin = stdin;
            // A turn that changed nothing is followed only by turns like it; one that used up
            // its known input has no successor.
            if before == (state.variables.clone(), state.stdin.clone())
                || state.stdin.as_ref().is_some_and(Value::is_empty)
            {
                break;
            }
        }
        output.push_value(&Value::unknown());
        Ok(output)
    }

    pub(crate) fn for_loop(
        &mut self,
        variable: &str,
        words: Option<&[Word]>,
        body: &[Command],
        state: &mut State,
    ) -> Eval<Value> {
        let mut values = match words {
            Some(words) => self.expand_all(words, state)?,
            // A script may be called with arguments that are not known here.
            None if state.positional.is_empty() => vec![Value::unknown()],
            None => state.positional.to_vec(),
        };
        let turns = usize::try_from(self.policy.budgets.turns).unwrap_or(usize::MAX);
        if values.len() > turns {
            values.truncate(turns);
            values.push(Value::unknown());
        }
        let mut output = Value::default();
        for value in values {
            state.set(variable, value);
            output.push_value(&self.run(body, state)?);
        }
        Ok(output)
    }

    /// A simple command, once for each combination of what its variables may hold.
    pub(crate) fn combinations(&mut self, simple: &Simple, state: &mut State) -> Eval<Value> {
        let open: Vec<(String, usize)> = state
            .variables
            .open()
            .filter(|(name, _)| mentions(simple, name))
            .map(|(name, count)| (name.to_string(), count))
            .collect();
        if open.is_empty() {
            return self.simple(simple, state);
        }
        let total: usize = open.iter().map(|(_, count)| *count).product();
        if total > limits::COMBINATIONS {
            for (name, _) in &open {
                state.set(name, Value::unknown());
            }
            return self.simple(simple, state);
        }
        let mut joined: Option<State> = None;
        let mut output = Value::default();
        for turn in 0..total {
            let mut inner = state.clone();
            let mut rest = turn;
            for (name, count) in &open {
                inner.picks.retain(|(n, _)| n != name);
                inner.picks.push((name.clone(), rest % count));
                rest /= count;
            }
            output.push_value(&self.simple(simple, &mut inner)?);
            inner.picks.clone_from(&state.picks);
            match &mut joined {
                Some(joined) => joined.join(&inner),
                None => joined = Some(inner),
            }
        }
        if let Some(joined) = joined {
            *state = joined;
        }
        Ok(output)
    }
}

/// Whether a condition is `true` or `:`.
fn is_always(condition: &[Command]) -> bool {
    match condition {
        [Command::Simple(simple)] => match simple.words.as_slice() {
            [word] => matches!(word.pieces.as_slice(),
                [Piece::Plain(name)] if matches!(name.as_str(), "true" | ":")),
            _ => false,
        },
        _ => false,
    }
}

/// The variable that a condition of the form `[ -n "${name:-}" ]` finds set. Where the script did
/// not set it, the environment did.
fn set_by(condition: &[Command]) -> Option<&str> {
    let [Command::Simple(simple)] = condition else {
        return None;
    };
    let is = |word: &Word, text: &str| matches!(word.pieces.as_slice(), [Piece::Plain(plain)] if plain == text);
    match simple.words.as_slice() {
        [test, option, word, end] if is(test, "[") && is(option, "-n") && is(end, "]") => {
            match word.pieces.as_slice() {
                [Piece::Quoted(start), Piece::Param(param, _)] if start.is_empty() => {
                    Some(param.name.as_str())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a command's text mentions a variable; a substitution inside it may, whatever it says.
fn mentions(simple: &Simple, name: &str) -> bool {
    fn word_mentions(word: &Word, name: &str) -> bool {
        word.pieces.iter().any(|piece| match piece {
            Piece::Plain(_) | Piece::Quoted(_) => false,
            Piece::Param(param, _) => {
                param.name == name
                    || param.indirect
                    || word_mentions(&param.first, name)
                    || word_mentions(&param.second, name)
            }
            Piece::Array(words) => words.iter().any(|word| word_mentions(word, name)),
            Piece::Arithmetic(word) | Piece::ExtendedGlob(word) => word_mentions(word, name),
            Piece::Substitution(..) | Piece::Process(..) => true,
        })
    }
    simple.words.iter().any(|word| word_mentions(word, name))
        || simple
            .assigns
            .iter()
            .any(|assign| word_mentions(&assign.value, name))
        || simple.redirects.iter().any(|redirect| {
            word_mentions(&redirect.target, name)
                || redirect
                    .heredoc
                    .as_ref()
                    .and_then(|slot| slot.get())
                    .is_some_and(|heredoc| word_mentions(&heredoc.body, name))
        })
}
