//! Redirections: what a command reads, and which files hold what it prints.

use std::collections::BTreeMap;

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::syntax::{Redirect, RedirectOp};
use crate::value::Value;
use crate::verdict::Eval;

/// What becomes of the text that is written to one descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sink {
    /// Files, and whether each was emptied first.
    files: Vec<(String, bool)>,
    /// Whether it also reaches whoever reads what the command prints.
    prints: bool,
}

impl Sink {
    /// Where nothing else is known, the text is printed.
    fn printed() -> Self {
        Self {
            files: Vec::new(),
            prints: true,
        }
    }

    fn add(&mut self, other: &Self) {
        for file in &other.files {
            if !self.files.contains(file) {
                self.files.push(file.clone());
            }
        }
        self.prints |= other.prints;
    }

    /// The sink after one of two ways led here.
    pub(crate) fn joined(ours: Option<Self>, theirs: Option<&Self>) -> Option<Self> {
        let mut both = ours.or_else(|| theirs.cloned())?;
        if let Some(theirs) = theirs {
            both.add(theirs);
        }
        Some(both)
    }
}

/// Sinks by the numbers of their descriptors.
pub(crate) type Sinks = BTreeMap<u32, Sink>;

/// The descriptor that a path is another name of.
fn descriptor(path: &str) -> Option<u32> {
    match path {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        _ => ["/dev/fd/", "/proc/self/fd/"]
            .iter()
            .find_map(|folder| path.strip_prefix(folder)?.parse().ok()),
    }
}

impl Interpreter<'_> {
    /// Applies redirections to the state, checks what they write, and gives the sinks of the
    /// descriptors that they change.
    pub(crate) fn redirect(&mut self, redirects: &[Redirect], state: &mut State) -> Eval<Sinks> {
        let mut sinks = Sinks::new();
        for redirect in redirects {
            let number = redirect.descriptor;
            match redirect.op {
                RedirectOp::HereDoc => {
                    let body = redirect.heredoc.as_ref().and_then(|slot| slot.get());
                    if let Some(heredoc) = body {
                        let text = self.expand_text(&heredoc.body, state)?;
                        self.feed(number, text, state);
                    }
                }
                RedirectOp::HereString => {
                    let mut text = self.expand_text(&redirect.target, state)?;
                    text.push("\n");
                    self.feed(number, text, state);
                }
                RedirectOp::Read => {
                    let path = self.expand_text(&redirect.target, state)?;
                    self.read_path(&path, state)?;
                    let text = self.content(&path, state);
                    self.feed(number, text, state);
                }
                RedirectOp::Write | RedirectOp::Append | RedirectOp::ReadWrite => {
                    for path in self.expand(&redirect.target, state)? {
                        self.write_path(&path, state)?;
                        let path = absolute(&path, state);
                        let Some(path) = path.as_known() else {
                            continue;
                        };
                        let other = descriptor(path).map(|other| behind(other, &sinks, state));
                        let sink = other.unwrap_or_else(|| {
                            let emptied = redirect.op == RedirectOp::Write;
                            if emptied {
                                self.written.put(path, Value::default());
                            }
                            Sink {
                                files: vec![(path.to_owned(), emptied)],
                                prints: false,
                            }
                        });
                        sinks.entry(number.unwrap_or(1)).or_default().add(&sink);
                        if redirect.both {
                            sinks.entry(2).or_default().add(&sink);
                        }
                    }
                }
                RedirectOp::Duplicate => {
                    let other = self.expand_text(&redirect.target, state)?;
                    let other = other.raw().trim_end_matches('-').parse::<u32>().ok();
                    match number.unwrap_or(1) {
                        // What another descriptor reads is not followed.
                        0 if other != Some(0) => state.stdin = Some(Value::output()),
                        0 => {}
                        number => {
                            let sink = match other {
                                Some(other) => behind(other, &sinks, state),
                                // It may be any of them.
                                None => anywhere(&sinks, state),
                            };
                            sinks.insert(number, sink);
                        }
                    }
                }
            }
        }
        Ok(sinks)
    }

    /// Runs `inner` with these redirections. Gives what it prints besides.
    pub(crate) fn redirected(
        &mut self,
        redirects: &[Redirect],
        state: &mut State,
        inner: impl FnOnce(&mut Self, &mut State) -> Eval<Value>,
    ) -> Eval<Value> {
        if redirects.is_empty() {
            return inner(self, state);
        }
        let outer = (state.stdin.clone(), state.sinks.clone());
        let mut sinks = self.redirect(redirects, state)?;
        let own = sinks.remove(&1);
        state.sinks.extend(sinks);
        let output = inner(self, state)?;
        (state.stdin, state.sinks) = outer;
        Ok(match own {
            Some(sink) => {
                // What it did to its own output ends with it.
                state.reopened = None;
                self.keep(&sink, &output)?;
                if sink.prints {
                    output
                } else {
                    Value::default()
                }
            }
            None => output,
        })
    }

    /// `exec` with nothing but redirections: they hold for the rest of the shell.
    pub(crate) fn reopen(&mut self, redirects: &[Redirect], state: &mut State) -> Eval<()> {
        let mut sinks = self.redirect(redirects, state)?;
        if let Some(sink) = sinks.remove(&1) {
            state.reopened = Some(sink);
        }
        state.sinks.extend(sinks);
        Ok(())
    }

    /// Gives a text to standard input, or to another descriptor under its path.
    fn feed(&mut self, number: Option<u32>, text: Value, state: &mut State) {
        match number {
            None | Some(0) => state.stdin = Some(text),
            Some(number) => self.written.replace(&format!("/dev/fd/{number}"), text),
        }
    }

    /// Keeps what was printed in the files that it went to.
    pub(crate) fn keep(&mut self, sink: &Sink, output: &Value) -> Eval<()> {
        self.steps(sink.files.len())?;
        for (path, emptied) in &sink.files {
            if *emptied {
                self.written.extend(path, output);
            } else {
                self.written.append(path, output);
            }
        }
        Ok(())
    }
}

fn behind(number: u32, sinks: &Sinks, state: &State) -> Sink {
    let sink = sinks.get(&number).or_else(|| state.sinks.get(&number));
    sink.cloned().unwrap_or_else(Sink::printed)
}

fn anywhere(sinks: &Sinks, state: &State) -> Sink {
    let mut all = Sink::printed();
    for sink in sinks.values().chain(state.sinks.values()) {
        all.add(sink);
    }
    all
}
