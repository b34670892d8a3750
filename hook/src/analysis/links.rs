//! Where paths really lead. The analysis judges each path as it is written; at its end, what it
//! let pass is judged once more with the symbolic links on the disk followed as the kernel does.
//! At the end, since a disk may be slow, and what is denied anyway needs no look at it.

use std::collections::BTreeMap;
use std::path::Path;

use codex_ds_rules::effects::Act;
use codex_ds_rules::wrappers::Where;

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::{Roots, is_about_the_name};
use crate::analysis::state::State;
use crate::context::{Files, There};
use crate::syntax::Span;
use crate::value::Value;
use crate::verdict::{Denial, Eval};

/// Links on the way to one file that the kernel follows (`MAXSYMLINKS`).
pub(crate) const HOPS: u32 = 40;

/// A path that the script does something to.
pub(crate) struct Touched {
    /// As it is written.
    written: Value,
    /// Where the command stands that does it.
    span: Option<Span>,
}

/// The paths that were met, with `.`, `..` and links in them, by what is done there.
pub(crate) type Touches = BTreeMap<(Act, String), Touched>;

impl Interpreter<'_> {
    /// Keeps a path for [`Self::follow_links`]; `full` is where the links of the script itself lead.
    pub(crate) fn touch(&self, act: Act, path: &Value, full: &Value, state: &State) -> Eval<()> {
        // What is on another machine or in a container has no links here.
        if matches!(self.place, Where::Remote | Where::Container) {
            return Ok(());
        }
        let raw = path.raw();
        let mut joined = if raw.starts_with('/') {
            raw.to_owned()
        } else {
            format!("{}/{raw}", state.cwd.raw())
        };
        if !self.symlinks.is_empty() && crate::analysis::places::normal(&joined) != *full {
            full.raw().clone_into(&mut joined);
        }
        let mut touched = self.touched.borrow_mut();
        // What was moved here has its links where it was before each move.
        let mut before = Vec::new();
        let mut place = joined.clone();
        for (to, from) in self.moved.iter().rev() {
            if let Some(rest) = place.strip_prefix(to.as_str())
                && (rest.starts_with('/') || rest.is_empty() && !is_about_the_name(act))
            {
                place = format!("{from}{rest}");
                before.push(place.clone());
            }
        }
        for joined in before.into_iter().chain([joined]) {
            if crate::budgets::passes(touched.len(), self.policy.budgets.lookups) {
                return Err(Denial::new("shell.limit", "paths"));
            }
            touched.entry((act, joined)).or_insert_with(|| Touched {
                written: path.clone(),
                span: self.span,
            });
        }
        Ok(())
    }

    /// Judges every path that was met where it really leads.
    pub(crate) fn follow_links(&mut self) -> Eval<()> {
        let touched = std::mem::take(self.touched.get_mut());
        if touched.is_empty() {
            return Ok(());
        }
        let mut links = Links::new(self.context.files, self.policy.budgets.lookups);
        let roots = self.roots.resolved(&mut links)?;
        for ((act, path), Touched { written, span }) in touched {
            // A name that is deleted, moved or made a link is the link itself.
            let last = !is_about_the_name(act);
            let real = Value::known(links.resolve(&path, last)?);
            let lexical = crate::analysis::places::normal(&path);
            if real == lexical && roots == self.roots {
                continue;
            }
            let judged = self.judge_path(act, &real, &written, &roots);
            if let Err(mut denial) = judged {
                if real != lexical {
                    denial.offending = format!("{}, which is {}", denial.offending, real.shown());
                }
                self.span = span;
                return Err(denial);
            }
        }
        Ok(())
    }
}

/// Follows links, and remembers what it found.
pub(crate) struct Links<'f> {
    files: &'f dyn Files,
    seen: BTreeMap<String, There>,
    left: u32,
}

impl<'f> Links<'f> {
    pub(crate) fn new(files: &'f dyn Files, budget: u32) -> Self {
        Self {
            files,
            seen: BTreeMap::new(),
            left: budget,
        }
    }

    fn at(&mut self, path: &str) -> Eval<There> {
        if let Some(there) = self.seen.get(path) {
            return Ok(there.clone());
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Denial::new("shell.limit", "looks at the disk"))?;
        let there = self.files.at(Path::new(path));
        self.seen.insert(path.to_owned(), there.clone());
        Ok(there)
    }

    /// The path without links; `last` says whether its last part is followed too. Below what is
    /// not there, or not known, nothing is looked at.
    pub(crate) fn resolve(&mut self, path: &str, last: bool) -> Eval<String> {
        let inside = path.ends_with('/') || path.ends_with("/.");
        let mut rest: Vec<String> = parts(path).collect();
        let mut real = String::new();
        // Where the part begins from which on nothing is looked at.
        let mut blind: Option<usize> = None;
        let mut hops = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                real.truncate(real.rfind('/').unwrap_or(0));
                blind = blind.filter(|from| real.len() > *from);
                continue;
            }
            let before = real.len();
            real.push('/');
            real.push_str(&part);
            if blind.is_some() || (rest.is_empty() && !last && !inside) {
                continue;
            }
            if part.bytes().any(|b| b >= 0xf0) {
                blind = Some(before);
                continue;
            }
            match self.at(&real)? {
                There::Nothing => blind = Some(before),
                There::Something => {}
                There::Link(target) => {
                    hops += 1;
                    if hops > HOPS {
                        return Err(Denial::new("shell.limit", format!("links of {path}")));
                    }
                    let target = target.to_string_lossy();
                    real.truncate(if target.starts_with('/') { 0 } else { before });
                    rest.extend(parts(&target));
                }
            }
        }
        if real.is_empty() {
            real.push('/');
        }
        Ok(real)
    }
}

/// The parts of a path, the last one first.
fn parts(path: &str) -> impl Iterator<Item = String> {
    path.rsplit('/')
        .filter(|part| !matches!(*part, "" | "."))
        .map(str::to_owned)
}

impl Roots {
    /// The same places without links.
    fn resolved(&self, links: &mut Links<'_>) -> Eval<Self> {
        let mut list = |paths: &[String]| -> Eval<Vec<String>> {
            paths.iter().map(|path| links.resolve(path, true)).collect()
        };
        Ok(Self {
            protected: list(&self.protected)?,
            secrets: list(&self.secrets)?,
            home: links.resolve(&self.home, true)?,
            workspace: links.resolve(&self.workspace, true)?,
            cwd: links.resolve(&self.cwd, true)?,
            codex_home: links.resolve(&self.codex_home, true)?,
            resolved: true,
        })
    }
}
