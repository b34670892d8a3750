//! What parameters expand to, and the operators of `${…}`.

use crate::analysis::expand::{Fields, Mode, separators};
use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::syntax::{Index, Op, Param, Piece, Word};
use crate::value::Value;
use crate::variables::Variable;
use crate::verdict::Eval;

impl Interpreter<'_> {
    pub(crate) fn parameter(
        &mut self,
        param: &Param,
        quoted: bool,
        fields: &mut Fields,
        state: &mut State,
    ) -> Eval<()> {
        let joined = param.name == "*" || matches!(param.index, Some(Index::Joined));
        let all = joined || param.name == "@" || matches!(param.index, Some(Index::All));
        if all && !param.length && !param.indirect {
            let values = if param.name == "@" || param.name == "*" {
                Some(state.positional.to_vec())
            } else {
                match state.variables.get(&param.name) {
                    Some(Variable::Array(values)) => Some(values.clone()),
                    Some(Variable::Scalar(_)) => state.scalar(&param.name).map(|v| vec![v]),
                    None => None,
                }
            };
            if let Some(values) = values {
                if values.is_empty() && matches!(param.op, Some(Op::Default | Op::Assign)) {
                    let value = self.expand_text(&param.first, state)?;
                    fields.value(&value);
                    return Ok(());
                }
                let separators = separators(state);
                for (i, value) in values.into_iter().enumerate() {
                    let value = self.operate(param, Some(value), state)?;
                    if i > 0 {
                        if joined && (quoted || fields.mode != Mode::Fields) {
                            let first = separators.chars().next();
                            fields.text(&first.map(String::from).unwrap_or_default());
                        } else if fields.mode == Mode::Fields {
                            fields.cut();
                        } else {
                            fields.text(" ");
                        }
                    }
                    if quoted {
                        fields.value(&value);
                    } else {
                        fields.split(&value, &separators);
                    }
                }
                return Ok(());
            }
        }
        let base = self.base(param, state)?;
        let set = base
            .as_ref()
            .is_some_and(|value| !(param.null_is_unset && value.is_empty()));
        let takes_word = match param.op {
            Some(Op::Default) => !set,
            Some(Op::Alternative) => set || base.is_none(),
            _ => false,
        };
        if takes_word && !quoted && fields.mode == Mode::Fields {
            // Its quotes keep what is in them together.
            return self.operand(&param.first, fields, state);
        }
        let value = if param.length {
            base.as_ref()
                .and_then(Value::as_known)
                .map_or_else(Value::some_name, |text| {
                    Value::known(text.chars().count().to_string())
                })
        } else {
            self.operate(param, base, state)?
        };
        if quoted {
            fields.value(&value);
        } else {
            let separators = separators(state);
            fields.split(&value, &separators);
        }
        Ok(())
    }

    /// The word of `${name:-word}` where it is not quoted: what is plain in it is split.
    fn operand(&mut self, word: &Word, fields: &mut Fields, state: &mut State) -> Eval<()> {
        let separators = separators(state);
        for (i, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Plain(text) if i > 0 || !text.starts_with('~') => {
                    fields.split(&Value::known(text.as_str()), &separators);
                }
                _ => self.pieces(&word.pieces[i..=i], fields, state)?,
            }
        }
        Ok(())
    }

    /// The value that the operator starts from; `None` if the script never set it.
    fn base(&mut self, param: &Param, state: &mut State) -> Eval<Option<Value>> {
        let mut name = param.name.clone();
        if param.indirect {
            match self.variable(&name, state) {
                Some(value) if value.is_known() => value.raw().clone_into(&mut name),
                _ => return Ok(Some(Value::unknown())),
            }
            if let Some(rest) = name.strip_suffix("[@]") {
                name = rest.to_owned();
            }
        }
        if let Some(Index::At(index)) = &param.index {
            let index = self.expand_text(index, state)?;
            let index = crate::arithmetic::value(&index);
            return Ok(Some(match state.variables.get(&name) {
                Some(Variable::Array(values)) => match index.raw().parse::<i64>() {
                    Ok(i) => {
                        let length = i64::try_from(values.len()).unwrap_or(i64::MAX);
                        let i = if i < 0 { i + length } else { i };
                        usize::try_from(i)
                            .ok()
                            .and_then(|i| values.get(i).cloned())
                            .unwrap_or_default()
                    }
                    Err(_) => Value::unknown(),
                },
                Some(Variable::Scalar(_)) => state.scalar(&name).unwrap_or_default(),
                None => Value::unknown(),
            }));
        }
        Ok(self.variable(&name, state))
    }

    /// A variable's value; `None` if neither the script nor the environment sets it for sure.
    pub(crate) fn variable(&self, name: &str, state: &State) -> Option<Value> {
        if let Some(value) = state.scalar(name) {
            return Some(value);
        }
        if let Ok(index) = name.parse::<usize>() {
            return Some(match index {
                0 => state.zero.clone(),
                i => state.positional.get(i - 1).cloned().unwrap_or_default(),
            });
        }
        let context = self.context;
        Some(match name {
            "HOME" => Value::known(context.home.to_string_lossy()),
            "PWD" => state.cwd.clone(),
            "USER" | "LOGNAME" => Value::known(context.user.as_str()),
            "CODEX_HOME" => Value::known(context.codex_home.to_string_lossy()),
            "TMPDIR" => Value::known("/tmp"),
            // Files that hold secrets wherever they lie.
            "KUBECONFIG" => {
                Value::known(format!("{}/.kube/config", context.home.to_string_lossy()))
            }
            "GOOGLE_APPLICATION_CREDENTIALS" => Value::known("service-account.json"),
            "IFS" => Value::known(" \t\n"),
            "SHELL" | "BASH" => Value::known("/bin/bash"),
            "#" => Value::known(state.positional.len().to_string()),
            "@" | "*" => {
                let mut all = Value::default();
                for (i, value) in state.positional.iter().enumerate() {
                    if i > 0 {
                        all.push(" ");
                    }
                    all.push_value(value);
                }
                all
            }
            // The last job of this very command: rules may tell it from other processes.
            "!" => Value::known("%!"),
            "?" | "$" | "UID" | "EUID" | "PPID" | "RANDOM" | "SECONDS" | "LINENO" | "BASHPID"
            | "HOSTNAME" | "EPOCHSECONDS" | "SHLVL" | "COLUMNS" | "LINES" => Value::some_name(),
            _ => return None,
        })
    }

    fn operate(&mut self, param: &Param, base: Option<Value>, state: &mut State) -> Eval<Value> {
        let Some(op) = param.op else {
            return Ok(base.unwrap_or_else(Value::unknown));
        };
        match op {
            Op::Default | Op::Assign | Op::Alternative | Op::Error => {
                let word = self.expand_text(&param.first, state)?;
                let set = base
                    .as_ref()
                    .is_some_and(|value| !(param.null_is_unset && value.is_empty()));
                return Ok(match (op, base) {
                    (Op::Alternative, Some(_)) if !set => Value::default(),
                    (Op::Alternative, _) => word,
                    (Op::Error, base) => base.unwrap_or_else(Value::unknown),
                    (_, Some(value)) if set => value,
                    (op, _) => {
                        if op == Op::Assign {
                            state.set(&param.name, word.clone());
                        }
                        word
                    }
                });
            }
            _ => {}
        }
        let pattern = self.expand_pattern(&param.first, state)?;
        let second = self.expand_text(&param.second, state)?;
        let value = base.unwrap_or_else(Value::unknown);
        if op == Op::Transform && pattern.raw() == "P" {
            self.substitutions_in(&value, state)?;
        }
        Ok(crate::operators::apply(op, &value, &pattern, &second))
    }
}
