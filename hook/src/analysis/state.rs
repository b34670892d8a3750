//! What a shell knows at one point of a script.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::analysis::redirects::{Sink, Sinks};
use crate::analysis::venv::Venv;
use crate::syntax::Command;
use crate::value::Value;
use crate::variables::{Shared, Variable, Variables};

/// A function, and whether it is defined on every way that led here.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) body: Rc<Command>,
    pub(crate) certain: bool,
}

/// A local variable of a function, and what it hides.
pub(crate) type Local = (String, Option<Variable>);

/// Variables, functions, working directory and standard input. A copy costs little: every way
/// through a script has its own.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) variables: Variables,
    pub(crate) functions: Shared<BTreeMap<String, Function>>,
    /// Functions that `export -f` hands to the shells started from here.
    pub(crate) exported: Shared<BTreeMap<String, Function>>,
    pub(crate) aliases: Shared<BTreeMap<String, String>>,
    pub(crate) zero: Value,
    pub(crate) positional: Shared<Vec<Value>>,
    pub(crate) cwd: Value,
    /// What standard input holds; `None` if it is what the caller has.
    pub(crate) stdin: Option<Value>,
    /// What `popd` goes back to.
    pub(crate) folders: Shared<Vec<Value>>,
    /// What the local variables of the function at hand hide; `None` outside functions.
    pub(crate) locals: Option<Shared<Vec<Local>>>,
    /// What runs when the shell ends, with the functions and variables that there are then.
    pub(crate) traps: Shared<Vec<Value>>,
    /// Where what is written to the descriptors beyond standard output goes.
    pub(crate) sinks: Shared<Sinks>,
    /// Where `exec` sent standard output just now: the list of commands at hand takes it up.
    pub(crate) reopened: Option<Sink>,
    /// Whether an environment of the workspace is active.
    pub(crate) venv: Venv,
    /// Which of a variable's values the present turn takes.
    pub(crate) picks: Vec<(String, usize)>,
}

impl State {
    pub(crate) fn new(cwd: Value) -> Self {
        Self {
            variables: Variables::default(),
            functions: Shared::default(),
            exported: Shared::default(),
            aliases: Shared::default(),
            zero: Value::known("bash"),
            positional: Shared::default(),
            cwd,
            stdin: None,
            folders: Shared::default(),
            locals: None,
            traps: Shared::default(),
            sinks: Shared::default(),
            reopened: None,
            venv: Venv::None,
            picks: Vec::new(),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name, Variable::Scalar(vec![value]));
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
        state.functions = Shared::default();
        state.aliases = Shared::default();
        state.traps = Shared::default();
        state
    }

    /// How many things the copies of this state may have to copy.
    pub(crate) fn names(&self) -> usize {
        self.variables.len()
            + self.functions.len()
            + self.exported.len()
            + self.aliases.len()
            + self.traps.len()
            + self.folders.len()
            + self.locals.as_ref().map_or(0, |locals| locals.len())
    }

    /// The state after a command that may not have run: what follows it in the same list runs
    /// only if it did, so its folder counts, while its variables may hold either.
    pub(crate) fn join_next(&mut self, after: Self) {
        self.join(&after);
        self.cwd = after.cwd;
        self.folders = after.folders;
        self.stdin = after.stdin;
        self.positional = after.positional;
        self.venv = after.venv;
    }

    /// The state after one of two ways led here: every variable may hold what either left.
    pub(crate) fn join(&mut self, other: &Self) {
        self.variables.join(&other.variables);
        self.venv = self.venv.min(other.venv);
        self.reopened = Sink::joined(self.reopened.take(), other.reopened.as_ref());
        if !self.functions.is_same(&other.functions) {
            for (name, function) in self.functions.iter_mut() {
                function.certain &= other.functions.contains_key(name);
            }
            for (name, function) in other.functions.iter() {
                let mut function = function.clone();
                function.certain &= self.functions.contains_key(name);
                self.functions.insert(name.clone(), function);
            }
        }
        if !self.traps.is_same(&other.traps) {
            for trap in other.traps.iter() {
                if !self.traps.contains(trap) {
                    self.traps.push(trap.clone());
                }
            }
        }
        extend(&mut self.exported, &other.exported);
        extend(&mut self.aliases, &other.aliases);
        if self.cwd != other.cwd {
            self.cwd = Value::unknown();
        }
    }
}

fn extend<T: Clone>(ours: &mut Shared<BTreeMap<String, T>>, theirs: &Shared<BTreeMap<String, T>>) {
    if !ours.is_same(theirs) {
        ours.extend(
            theirs
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
}
