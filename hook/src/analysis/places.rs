//! Where a path leads, and what may be done there.

use std::path::Path;

use codex_ds_rules::effects::Act;
use codex_ds_rules::wrappers::Where;
use codex_ds_rules::{is_form, paths};

use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::context::Context;
use crate::policy::Policy;
use crate::value::Value;
use crate::verdict::{Denial, Eval};

impl Interpreter<'_> {
    /// Denies by a rule that the analysis found, if the policy has it in force.
    pub(crate) fn deny(&self, id: &'static str, offending: impl Into<String>) -> Eval<()> {
        match codex_ds_rules::rule(id) {
            Some(rule) if !self.policy.enforces(rule) => Ok(()),
            _ => Err(Denial::new(id, offending)),
        }
    }

    pub(crate) fn read_path(&self, path: &Value, state: &State) -> Eval<()> {
        self.act(Act::Read, path, state)
    }

    pub(crate) fn write_path(&self, path: &Value, state: &State) -> Eval<()> {
        self.act(Act::Write, path, state)
    }

    /// Checks the paths that a patch touches.
    pub(crate) fn patch(&self, patch: &str, state: &State) -> Eval<()> {
        for (act, path) in crate::patch::targets(patch) {
            self.act(act, &Value::known(path), state)?;
        }
        Ok(())
    }

    /// Checks an act on a path.
    pub(crate) fn act(&self, act: Act, path: &Value, state: &State) -> Eval<()> {
        if act == Act::Nothing || path.is_empty() {
            return Ok(());
        }
        let full = self.behind_links(absolute(path, state), path, act)?;
        self.judge_path(act, &full, path, &self.roots)?;
        if full.raw().starts_with('/') && !is_harmless(&full) {
            self.touch(act, path, &full, state)?;
        }
        Ok(())
    }

    /// Checks an act on a path that is absolute; `written` is what stands in the command.
    pub(crate) fn judge_path(
        &self,
        act: Act,
        full: &Value,
        written: &Value,
        roots: &Roots,
    ) -> Eval<()> {
        let shown = || format!("{} {}", verb(act), written.shown());
        if act == Act::Read {
            let name = if roots.resolved { full } else { written }.base_name();
            if roots.is_secret(full, &name) || is_listed(full, &roots.secrets) {
                self.deny("secret.read", shown())?;
            }
            return self.network_path(full);
        }
        let harmless = is_harmless(full);
        if self.place == Where::Remote && !harmless {
            self.deny("remote.write", shown())?;
        }
        self.network_path(full)?;
        if is_listed(full, &roots.protected) || is_listed(full, &roots.secrets) {
            self.deny("guard.protected", shown())?;
        }
        let removes = matches!(act, Act::Delete | Act::Move);
        // Where the guard's home lies in the folder, it goes with it.
        if roots.is_guard(full) || (removes && below_known(&roots.codex_home, full)) {
            self.deny("guard.tamper", shown())?;
        }
        if is_device(full) {
            self.deny("disk.write", shown())?;
        }
        if below(full, "/proc") || below(full, "/sys") {
            self.deny("kernel.write", shown())?;
        }
        if act == Act::Mode && below_known(&roots.home, full) {
            self.deny("users.permissions", shown())?;
        }
        if roots.in_home(full, paths::HISTORIES) || roots.in_home(full, paths::SECRETS) {
            self.deny("secret.read", shown())?;
        }
        if harmless && !removes {
            return Ok(());
        }
        if removes
            && [&roots.workspace, &roots.cwd]
                .into_iter()
                .any(|root| below_known(root, full))
        {
            return self.deny("delete.workspace-root", shown());
        }
        if below(full, &roots.workspace) || below(full, &roots.cwd) {
            return match in_workspace(act, full, &roots.workspace) {
                Some(rule) => self.deny(rule, shown()),
                None => Ok(()),
            };
        }
        let temporary = paths::TEMP_FOLDERS
            .iter()
            .any(|folder| strictly_below(full, folder));
        if temporary {
            return match act {
                Act::Delete => self.deny("delete.file", shown()),
                _ => Ok(()),
            };
        }
        match act {
            Act::Delete if full.is_unknown() => self.deny("delete.file", shown()),
            Act::Move if full.is_unknown() => Ok(()),
            Act::Delete | Act::Move => self.deny("delete.outside", shown()),
            _ if roots.in_home(full, paths::STARTUP_FILES) => self.deny("system.startup", shown()),
            // Some systems keep the homes in a folder of the system, behind a link.
            _ if roots.resolved && strictly_below(full, &roots.home) => Ok(()),
            _ if paths::SYSTEM_ROOTS.iter().any(|root| below(full, root))
                || full.is_known()
                    && full.raw().trim_end_matches('/').rfind('/').unwrap_or(0) == 0
                    && !paths::TEMP_FOLDERS.contains(&full.raw().trim_end_matches('/')) =>
            {
                self.deny("system.write", shown())
            }
            _ => Ok(()),
        }
    }

    /// `/dev/tcp/…` opens a connection.
    fn network_path(&self, full: &Value) -> Eval<()> {
        if below(full, "/dev/tcp") || below(full, "/dev/udp") {
            self.deny("secret.read", full.shown())?;
        }
        Ok(())
    }

    /// The path with the links resolved that the script itself made. A link's own name, without a
    /// slash behind it, is the link where that is what the act is about.
    fn behind_links(&self, mut full: Value, written: &Value, act: Act) -> Eval<Value> {
        if self.symlinks.is_empty() {
            return Ok(full);
        }
        let name = is_about_the_name(act) && !written.raw().ends_with('/');
        for _ in 0..crate::analysis::links::HOPS {
            let raw = full.raw();
            let ends = raw.match_indices('/').map(|(at, _)| at);
            let whole = (!name).then_some(raw.len());
            let found = ends.chain(whole).find_map(|end| {
                let target = self.symlinks.get(&raw[..end])?;
                Some(Value::known(format!("{target}{}", &raw[end..])))
            });
            match found {
                Some(found) if found != full => full = found,
                _ => return Ok(full),
            }
        }
        // The kernel follows no more either, and says so.
        Err(Denial::new(
            "shell.limit",
            format!("links of {}", written.shown()),
        ))
    }
}

/// Whether an act on a link is about the link, and not about what it leads to.
pub(crate) fn is_about_the_name(act: Act) -> bool {
    matches!(act, Act::Delete | Act::Move | Act::Link)
}

/// The places that rules speak of, as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roots {
    pub(crate) home: String,
    pub(crate) workspace: String,
    pub(crate) cwd: String,
    pub(crate) codex_home: String,
    pub(crate) protected: Vec<String>,
    pub(crate) secrets: Vec<String>,
    /// Whether links on the disk are followed in them.
    pub(crate) resolved: bool,
}

impl Roots {
    pub(crate) fn new(context: &Context<'_>, policy: &Policy) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let home = text(&context.home);
        let list = |paths: &[String]| {
            let paths = paths.iter().map(|path| path.trim_end_matches('/'));
            let full = |path: &str| match path.strip_prefix('~') {
                Some(rest) => format!("{home}{rest}"),
                None => path.to_owned(),
            };
            paths.map(full).collect()
        };
        Self {
            protected: list(&policy.protected),
            secrets: list(&policy.secrets),
            workspace: text(&context.workspace),
            cwd: text(&context.cwd),
            codex_home: text(&context.codex_home),
            resolved: false,
            home,
        }
    }

    /// Whether a path is one of a list whose entries may begin with `~`.
    fn in_home(&self, full: &Value, list: &[&str]) -> bool {
        let raw = full.raw();
        let tail = raw
            .strip_prefix(self.home.as_str())
            .filter(|tail| tail.is_empty() || tail.starts_with('/'));
        // A path whose beginning is a glob may lie in it too.
        let maybe = tail.is_none() && below(full, &self.home);
        list.iter()
            .any(|entry| match (entry.strip_prefix('~'), tail) {
                (None, _) => is_entry(raw, entry),
                (Some(rest), Some(tail)) => is_entry(tail, rest),
                (Some(rest), None) => maybe && is_entry(raw, &format!("{}{rest}", self.home)),
            })
    }

    fn is_secret(&self, full: &Value, name: &Value) -> bool {
        let known = name.is_known();
        if known && is_one_of(name.raw(), paths::NOT_SECRET_NAMES) {
            return false;
        }
        (known && is_one_of(name.raw(), paths::SECRET_NAMES))
            || self.in_home(full, paths::SECRETS)
            || self.in_home(full, paths::SECRET_FOLDERS)
            || (name.is_glob()
                && paths::SECRET_NAMES
                    .iter()
                    .any(|form| may_be_named(name, form)))
    }

    fn is_guard(&self, full: &Value) -> bool {
        let folders = paths::PROJECT_GUARD_FOLDERS;
        below(full, &self.codex_home)
            || self.in_home(full, paths::GUARD_PATHS)
            || full.raw().split('/').any(|part| folders.contains(&part))
            || folders
                .iter()
                .any(|folder| below_parts(full.raw(), self.workspace.split('/').chain([*folder])))
    }
}

/// Whether a path is, or lies in, one of a list of the policy.
fn is_listed(full: &Value, list: &[String]) -> bool {
    list.iter().any(|entry| below(full, entry))
}

fn is_one_of(name: &str, forms: &[&str]) -> bool {
    forms.iter().any(|form| is_form(name, form))
}

/// Whether a glob finds a secret of this name: it is that form, or it begins like the name.
fn may_be_named(glob: &Value, form: &str) -> bool {
    let begins = glob.known_prefix();
    glob.shown() == form
        || begins.len() >= 3
            && form.starts_with(begins)
            && !form.contains('*')
            && glob.may_match(form)
}

fn is_harmless(full: &Value) -> bool {
    below(full, "/dev")
        && paths::HARMLESS_DEVICES
            .iter()
            .any(|device| below(full, device))
}

/// The rule that an act inside the workspace breaks.
fn in_workspace(act: Act, full: &Value, workspace: &str) -> Option<&'static str> {
    let inner = full.raw().strip_prefix(workspace).unwrap_or(full.raw());
    let mut parts = inner.split('/').filter(|part| !part.is_empty()).peekable();
    if parts.peek() == Some(&".git") {
        let lock = Path::new(full.raw()).extension() == Some("lock".as_ref());
        return match act {
            Act::Delete if lock => Some("delete.file"),
            Act::Delete | Act::Move => Some("delete.workspace-root"),
            // git runs them later.
            Act::Write | Act::Link if parts.nth(1) == Some("hooks") => Some("system.startup"),
            _ => None,
        };
    }
    if act != Act::Delete {
        return None;
    }
    let known = |part: &str| !part.bytes().any(|b| b >= 0xf0) || Value::known(part).is_known();
    let build = parts.any(|part| known(part) && is_one_of(part, paths::BUILD_FOLDERS));
    (!build || full.is_open()).then_some("delete.file")
}

fn verb(act: Act) -> &'static str {
    match act {
        Act::Read => "read",
        Act::Write | Act::Link => "write",
        Act::Mode => "change the mode of",
        Act::Delete => "delete",
        Act::Move => "move",
        Act::Nothing => "use",
    }
}

/// Whether a path may be `folder` or lie in it.
pub(crate) fn below(path: &Value, folder: &str) -> bool {
    is_below(path.raw(), folder)
}

fn is_below(path: &str, folder: &str) -> bool {
    // Most paths part from most folders in the first letter. A mark begins with a byte above.
    if let ([b'/', ours, ..], [b'/', theirs, ..]) = (path.as_bytes(), folder.as_bytes())
        && ours != theirs
        && *ours < 0xf0
        && *theirs != b'*'
    {
        return false;
    }
    below_parts(path, folder.split('/'))
}

fn below_parts<'f>(path: &str, mut folder: impl Iterator<Item = &'f str>) -> bool {
    let mut parts = path.split('/');
    folder.all(|wanted| match parts.next() {
        Some(part) if part == wanted => true,
        Some(part) if wanted.contains('*') => Value::known(part).may_match(wanted),
        // A glob does not match a leading dot.
        Some(part) if part.bytes().any(|b| b >= 0xf0) => {
            let part = Value::known(part);
            part.is_glob()
                && wanted.starts_with('.') <= part.raw().starts_with('.')
                && part.may_match(wanted)
        }
        _ => false,
    })
}

fn strictly_below(path: &Value, folder: &str) -> bool {
    below(path, folder) && path.raw().split('/').count() > folder.split('/').count()
}

/// Whether a known path is `folder` or lies in it, where `folder` may have globs.
fn below_known(path: &str, folder: &Value) -> bool {
    if folder.is_unknown() {
        return false;
    }
    if folder.raw() == "/" {
        return true;
    }
    let mut parts = path.split('/');
    folder.raw().split('/').all(|wanted| {
        parts.next().is_some_and(|part| {
            part == wanted || {
                let wanted = Value::known(wanted);
                wanted.is_glob()
                    && part.starts_with('.') <= wanted.raw().starts_with('.')
                    && wanted.may_be(part)
            }
        })
    })
}

/// Whether a path is this entry of a list: one that ends in `/` covers what is below.
fn is_entry(path: &str, entry: &str) -> bool {
    let count = |text: &str| text.bytes().filter(|b| *b == b'/').count();
    match entry.strip_suffix('/') {
        Some(folder) => is_below(path, folder),
        None => is_below(path, entry) && count(path) == count(entry),
    }
}

fn is_device(path: &Value) -> bool {
    strictly_below(path, "/dev")
        && !paths::HARMLESS_DEVICES
            .iter()
            .any(|device| below(path, device))
}

/// Whether a text is the path of a disk.
pub(crate) fn is_device_text(text: &str) -> bool {
    [
        "/dev/sd",
        "/dev/nvme",
        "/dev/vd",
        "/dev/hd",
        "/dev/xvd",
        "/dev/mmcblk",
        "/dev/md",
        "/dev/mapper/",
        "/dev/dm-",
        "/dev/disk",
    ]
    .iter()
    .any(|device| text.starts_with(device))
}

/// The absolute path, with `.`, `..` and double slashes resolved.
pub(crate) fn absolute(path: &Value, state: &State) -> Value {
    let raw = path.raw();
    let joined = if raw.starts_with('/') {
        raw.to_owned()
    } else if path.known_prefix().is_empty() && path.is_open() {
        return Value::unknown();
    } else {
        format!("{}/{raw}", state.cwd.raw())
    };
    if !joined.starts_with('/') {
        return Value::unknown();
    }
    normal(&joined)
}

/// A path without `.`, `..` and double slashes; nothing is known behind a `..` after an unknown part.
pub(crate) fn normal(path: &str) -> Value {
    let mut out = String::with_capacity(path.len());
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let cut = out.rfind('/').unwrap_or(0);
                if Value::known(&out[cut..]).is_open() {
                    return Value::unknown();
                }
                out.truncate(cut);
            }
            part => {
                out.push('/');
                out.push_str(part);
            }
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    Value::known(out)
}
