//! What a shell knows at one point of a script.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::limits;
use crate::syntax::Command;
use crate::value::Value;

/// What a variable may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// One of these values, one for each way that led here.
    Scalar(Vec<Value>),
    Array(Vec<Value>),
}

/// A function, and whether it is defined on every way that led here.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) body: Rc<Command>,
    pub(crate) certain: bool,
}

/// Variables, functions, working directory and standard input.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) functions: BTreeMap<String, Function>,
    /// Functions that `export -f` hands to the shells started from here.
    pub(crate) exported: BTreeMap<String, Function>,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) zero: Value,
    pub(crate) positional: Vec<Value>,
    pub(crate) cwd: Value,
    /// What standard input holds; `None` if it is what the caller has.
    pub(crate) stdin: Option<Value>,
    /// What `popd` goes back to.
    pub(crate) folders: Vec<Value>,
    /// What the local variables of the function at hand hide; `None` outside functions.
    pub(crate) locals: Option<Vec<(String, Option<Variable>)>>,
    /// What runs when the shell ends, with the functions and variables that there are then.
    pub(crate) traps: Vec<Value>,
    /// Which of a variable's values the present turn takes.
    pub(crate) picks: Vec<(String, usize)>,
}

impl State {
    pub(crate) fn new(cwd: Value) -> Self {
        Self {
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            exported: BTreeMap::new(),
            aliases: BTreeMap::new(),
            zero: Value::known("bash"),
            positional: Vec::new(),
            cwd,
            stdin: None,
            folders: Vec::new(),
            locals: None,
            traps: Vec::new(),
            picks: Vec::new(),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.variables
            .insert(name.to_owned(), Variable::Scalar(vec![value]));
    }

    pub(crate) fn scalar(&self, name: &str) -> Option<Value> {
        match self.variables.get(name)? {
            Variable::Scalar(values) => {
                let pick = self.picks.iter().find(|(n, _)| n == name);
                let index = pick.map_or(0, |(_, index)| *index);
                values.get(index).or_else(|| values.first()).cloned()
            }
            Variable::Array(values) => values.first().cloned(),
        }
    }

    /// The state as a program sees it that the shell starts: functions and aliases are gone,
    /// but for the exported ones, which only a shell takes up again.
    pub(crate) fn outside(&self) -> Self {
        let mut state = self.clone();
        state.functions.clear();
        state.aliases.clear();
        state.traps.clear();
        state
    }

    /// How many values a variable may have here.
    pub(crate) fn alternatives(&self, name: &str) -> usize {
        match self.variables.get(name) {
            Some(Variable::Scalar(values)) => values.len(),
            _ => 1,
        }
    }

    /// The state after a command that may not have run: what follows it in the same list runs
    /// only if it did, so its folder counts, while its variables may hold either.
    pub(crate) fn join_next(&mut self, after: Self) {
        let (cwd, folders, stdin) = (
            after.cwd.clone(),
            after.folders.clone(),
            after.stdin.clone(),
        );
        let positional = after.positional.clone();
        self.join(after);
        (self.cwd, self.folders, self.stdin, self.positional) = (cwd, folders, stdin, positional);
    }

    /// The state after one of two ways led here: every variable may hold what either left.
    pub(crate) fn join(&mut self, other: Self) {
        for (name, theirs) in other.variables {
            match self.variables.get_mut(&name) {
                Some(Variable::Scalar(ours)) => {
                    if let Variable::Scalar(values) = theirs {
                        for value in values {
                            if !ours.contains(&value) {
                                ours.push(value);
                            }
                        }
                        if ours.len() > limits::ALTERNATIVES {
                            *ours = vec![Value::unknown()];
                        }
                    }
                }
                Some(Variable::Array(ours)) => {
                    if let Variable::Array(values) = theirs
                        && values.len() > ours.len()
                    {
                        *ours = values;
                    }
                }
                None => {
                    self.variables.insert(name, theirs);
                }
            }
        }
        for (name, function) in &mut self.functions {
            function.certain &= other.functions.contains_key(name);
        }
        for (name, mut function) in other.functions {
            function.certain &= self.functions.contains_key(&name);
            self.functions.insert(name, function);
        }
        for trap in other.traps {
            if !self.traps.contains(&trap) {
                self.traps.push(trap);
            }
        }
        self.exported.extend(other.exported);
        self.aliases.extend(other.aliases);
        if self.cwd != other.cwd {
            self.cwd = Value::unknown();
        }
    }
}
