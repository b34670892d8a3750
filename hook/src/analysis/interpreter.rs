//! Follows a script command by command. Every way through it counts: both sides of a branch, and
//! every turn of a loop over known values.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use codex_ds_rules::wrappers::Where;

use crate::analysis::contents::Written;
use crate::analysis::explain::Step;
use crate::analysis::links::Touches;
use crate::analysis::places::Roots;
use crate::analysis::redirects::Sink;
use crate::analysis::state::{Function, State};
use crate::analysis::venv::Venv;
use crate::context::Context;
use crate::policy::Policy;
use crate::syntax::{self, Command, Error, Join, Script, Span};
use crate::value::Value;
use crate::variables::Shared;
use crate::verdict::{Denial, Eval, Verdict};

/// One analysis.
pub(crate) struct Interpreter<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) context: &'a Context<'a>,
    /// What the script wrote so far.
    pub(crate) written: Written,
    /// Programs that the script linked or copied to another path.
    pub(crate) links: BTreeMap<String, Value>,
    /// Where the symbolic links lead that the script made.
    pub(crate) symlinks: BTreeMap<String, String>,
    /// Where things are that the script moved or copied: the new place and the old one.
    pub(crate) moved: Vec<(String, String)>,
    /// Whether the commands at hand come from a text inside the command.
    pub(crate) inner_code: bool,
    /// Where the commands at hand run.
    pub(crate) place: Where,
    pub(crate) depth: u32,
    /// The commands that were found, if someone wants to know.
    pub(crate) trace: Option<Vec<Step>>,
    /// How many commands run the command at hand.
    pub(crate) level: u32,
    /// Where the command at hand stands in the text that was asked about.
    pub(crate) span: Option<Span>,
    /// Looks at the disk.
    pub(crate) looks: Cell<u32>,
    /// The places that rules speak of.
    pub(crate) roots: Roots,
    /// The paths that were met.
    pub(crate) touched: RefCell<Touches>,
    steps: u32,
    descriptors: u32,
}

impl<'a> Interpreter<'a> {
    pub(crate) fn new(policy: &'a Policy, context: &'a Context<'a>) -> Self {
        Self {
            policy,
            context,
            written: Written::default(),
            links: BTreeMap::new(),
            symlinks: BTreeMap::new(),
            moved: Vec::new(),
            inner_code: false,
            place: Where::Here,
            depth: 0,
            trace: None,
            level: 0,
            span: None,
            looks: Cell::new(0),
            roots: Roots::new(context, policy),
            touched: RefCell::default(),
            steps: 0,
            descriptors: 63,
        }
    }

    /// The verdict at the end of an analysis that came out like this.
    pub(crate) fn verdict(&mut self, result: Eval<()>) -> Verdict {
        match result
            .and_then(|()| self.step())
            .and_then(|()| self.follow_links())
        {
            Ok(()) => Verdict::Allow,
            Err(denial) => Verdict::Deny(denial),
        }
    }

    /// Reads a script and follows it. Gives what it prints.
    pub(crate) fn script(&mut self, text: &str, state: &mut State) -> Eval<Value> {
        let script = syntax::parse(text, self.depth, self.policy.budgets);
        if let Some(at) = script.concealed {
            return crate::characters::deny(text, at);
        }
        self.nested(|this| this.parsed(&script, text, state))
    }

    fn parsed(&mut self, script: &Script, text: &str, state: &mut State) -> Eval<Value> {
        let output = self.run(&script.commands, state)?;
        self.traps(state)?;
        match script.error {
            None => Ok(output),
            Some(Error::Limit(name)) => Err(Denial::new("shell.limit", name)),
            Some(Error::Syntax(at, wanted)) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
                let before = text.get(..at).unwrap_or(text);
                let near: Vec<char> = before.chars().rev().take(30).collect();
                let near: String = near.into_iter().rev().collect();
                Err(Denial::new(
                    "shell.unreadable",
                    format!("{} (expected {wanted} here)", near.trim()),
                ))
            }
        }
    }

    /// What the traps of a shell run when it ends.
    fn traps(&mut self, state: &State) -> Eval<()> {
        if state.traps.is_empty() {
            return Ok(());
        }
        let mut inner = state.clone();
        for code in std::mem::take(&mut inner.traps).iter() {
            self.nested(|this| this.code(code, &mut inner.clone()))?;
        }
        Ok(())
    }

    /// Runs `inner` one level deeper.
    pub(crate) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Eval<T>) -> Eval<T> {
        if self.depth >= self.policy.budgets.depth {
            return Err(Denial::new("shell.limit", "depth"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Runs `inner` as if it were at another place.
    pub(crate) fn at<T>(
        &mut self,
        place: Where,
        inner: impl FnOnce(&mut Self) -> Eval<T>,
    ) -> Eval<T> {
        let before = self.place;
        // What is remote stays remote whatever it is wrapped in.
        if before != Where::Remote && place != Where::Here {
            self.place = place;
        }
        let result = self.nested(inner);
        self.place = before;
        result
    }

    pub(crate) fn step(&mut self) -> Eval<()> {
        self.steps(1)
    }

    /// Counts work: commands, and words of them.
    pub(crate) fn steps(&mut self, count: usize) -> Eval<()> {
        self.steps = self
            .steps
            .saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if self.steps > self.policy.budgets.steps {
            return Err(Denial::new("shell.limit", "steps"));
        }
        if self.looks.get() > self.policy.budgets.lookups {
            return Err(Denial::new("shell.limit", "looks at the disk"));
        }
        Ok(())
    }

    /// A path for a process substitution.
    pub(crate) fn descriptor(&mut self) -> String {
        self.descriptors += 1;
        format!("/dev/fd/{}", self.descriptors)
    }

    pub(crate) fn run(&mut self, commands: &[Command], state: &mut State) -> Eval<Value> {
        let mut output = Value::default();
        let mut sink = state.reopened.take();
        for command in commands {
            output.push_value(&self.next(command, &mut sink, state)?);
            if state.venv == Venv::Listed {
                state.venv = Venv::None;
            }
        }
        state.reopened = sink;
        Ok(output)
    }

    /// Runs a command of a list. What it prints also goes where `exec` sent the output of this
    /// shell; since `exec` may not have run, it is printed all the same.
    fn next(
        &mut self,
        command: &Command,
        sink: &mut Option<Sink>,
        state: &mut State,
    ) -> Eval<Value> {
        let output = self.command(command, state)?;
        if let Some(sink) = sink {
            self.keep(sink, &output)?;
        }
        if let Some(new) = state.reopened.take() {
            *sink = Some(new);
        }
        Ok(output)
    }

    /// Runs commands in a subshell: what they set is forgotten.
    pub(crate) fn subshell(&mut self, commands: &[Command], state: &State) -> Eval<Value> {
        self.apart(state.clone(), |this, inner| this.run(commands, inner))
    }

    /// Runs `inner` in a shell of its own, whose traps run when it ends.
    pub(crate) fn apart(
        &mut self,
        mut state: State,
        inner: impl FnOnce(&mut Self, &mut State) -> Eval<Value>,
    ) -> Eval<Value> {
        state.traps = Shared::default();
        self.nested(|this| {
            let output = inner(this, &mut state)?;
            this.traps(&state)?;
            Ok(output)
        })
    }

    fn command(&mut self, command: &Command, state: &mut State) -> Eval<Value> {
        self.step()?;
        match command {
            Command::Simple(simple) => self.combinations(simple, state),
            Command::Pipeline(stages) => self.pipeline(stages, state),
            Command::AndOr(first, rest) => {
                let mut sink = None;
                let mut output = self.next(first, &mut sink, state)?;
                let venv = state.venv;
                for (join, command) in rest {
                    if *join == Join::Or {
                        state.venv = Venv::None;
                    }
                    // What stands behind `&&` or `||` may not run.
                    let before = state.clone();
                    let more = self.next(command, &mut sink, state)?;
                    let after = std::mem::replace(state, before);
                    state.join_next(after);
                    // Behind `||` it prints only if what came before failed.
                    if *join == Join::And || output.is_empty() {
                        output.push_value(&more);
                    }
                }
                state.reopened = sink;
                // What stands behind the first command may not have activated one.
                state.venv = venv;
                Ok(output)
            }
            Command::Background(command) => {
                self.apart(state.clone(), |this, inner| this.command(command, inner))
            }
            Command::Subshell(commands) => self.subshell(commands, state),
            Command::Group(commands) => self.nested(|this| this.run(commands, state)),
            Command::If { arms, otherwise } => self.branches(arms, otherwise, state),
            Command::While { condition, body } => {
                self.nested(|this| this.while_loop(condition, body, state))
            }
            Command::For {
                variable,
                words,
                body,
            } => self.nested(|this| this.for_loop(variable, words.as_deref(), body, state)),
            Command::Loop { header, body } => self.nested(|this| {
                this.expand_text(header, state)?;
                let mut output = this.run(body, state)?;
                output.push_value(&Value::unknown());
                Ok(output)
            }),
            Command::Case { subject, arms } => self.nested(|this| {
                this.expand_text(subject, state)?;
                let mut output = Value::default();
                let mut joined = state.clone();
                for arm in arms {
                    for pattern in &arm.patterns {
                        this.expand_text(pattern, state)?;
                    }
                    let mut inner = state.clone();
                    output.push_value(&this.run(&arm.body, &mut inner)?);
                    joined.join(&inner);
                }
                *state = joined;
                Ok(if arms.len() > 1 {
                    Value::unknown()
                } else {
                    output
                })
            }),
            Command::Function { name, body } => {
                let function = Function {
                    body: body.clone(),
                    certain: true,
                };
                state.functions.insert(name.clone(), function);
                Ok(Value::default())
            }
            Command::Test(words) => {
                for word in words {
                    self.expand_text(word, state)?;
                }
                Ok(Value::default())
            }
            Command::Arithmetic(word, commands) => {
                let text = self.expand_text(word, state)?;
                self.hidden_in_arithmetic(&text, state)?;
                if let Some(commands) = commands {
                    self.subshell(commands, state)?;
                }
                Ok(Value::default())
            }
            Command::Redirected(command, redirects) => {
                self.redirected(redirects, state, |this, state| {
                    this.nested(|this| this.command(command, state))
                })
            }
        }
    }

    /// Each stage runs in a subshell and reads what the one before it prints.
    fn pipeline(&mut self, stages: &[Command], state: &State) -> Eval<Value> {
        let mut stdin = state.stdin.clone();
        for stage in stages {
            let mut inner = state.clone();
            inner.stdin = stdin;
            stdin = Some(self.apart(inner, |this, inner| this.command(stage, inner))?);
        }
        Ok(stdin.unwrap_or_default())
    }
}
