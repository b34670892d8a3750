//! Where a path leads, and what may be done there.

use codex_ds_rules::effects::Act;
use codex_ds_rules::paths;
use codex_ds_rules::wrappers::Where;

use crate::interpreter::{Eval, Interpreter};
use crate::state::State;
use crate::value::Value;
use crate::verdict::Denial;

impl Interpreter<'_> {
    /// Denies by a rule that the analysis found, if the policy has it in force.
    pub(crate) fn deny(&self, id: &'static str, offending: impl Into<String>) -> Eval<()> {
        match codex_ds_rules::rule(id) {
            Some(rule) if !self.policy.enforces(rule) => Ok(()),
            _ => Err(Denial::new(id, offending)),
        }
    }

    /// What a path holds: what the script wrote there, or what is there.
    pub(crate) fn content(&self, path: &Value, state: &State) -> Value {
        let path = absolute(path, state);
        let Some(path) = path.as_known() else {
            return Value::unknown();
        };
        if let Some(content) = self.written.get(path) {
            return content.clone();
        }
        match path {
            "/dev/null" => Value::default(),
            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => {
                state.stdin.clone().unwrap_or_else(Value::unknown)
            }
            path => self
                .context
                .files
                .read(path.as_ref(), crate::limits::FILE_BYTES)
                .filter(|text| (text.len() as u64) < crate::limits::FILE_BYTES)
                .map_or_else(Value::unknown, Value::known),
        }
    }

    /// Whether the script itself wrote this file.
    pub(crate) fn has_written(&self, path: &Value) -> bool {
        path.as_known()
            .is_some_and(|path| self.written.contains_key(path))
    }

    /// Whether nothing can be at a path: the script did not write it and it is not there. A glob
    /// of which nothing is known to exist counts as nothing.
    pub(crate) fn is_missing(&self, path: &Value) -> bool {
        match path.as_known() {
            Some(path) => {
                !self.written.contains_key(path) && !self.context.files.exists(path.as_ref())
            }
            None => false,
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
        let full = self.behind_links(absolute(path, state), path);
        let shown = || format!("{} {}", verb(act), path.shown());
        if act == Act::Read {
            if self.is_secret(&full, path) || self.is_listed(&full, &self.policy.secrets) {
                self.deny("secret.read", shown())?;
            }
            return self.network_path(&full);
        }
        let harmless = paths::HARMLESS_DEVICES
            .iter()
            .any(|device| below(&full, device));
        if self.place == Where::Remote && !harmless {
            self.deny("remote.write", shown())?;
        }
        self.network_path(&full)?;
        if self.is_listed(&full, &self.policy.protected)
            || self.is_listed(&full, &self.policy.secrets)
        {
            self.deny("guard.protected", shown())?;
        }
        let removes = matches!(act, Act::Delete | Act::Move);
        if self.is_guard(&full) || (removes && self.contains_guard(&full)) {
            self.deny("guard.tamper", shown())?;
        }
        if is_device(&full) {
            self.deny("disk.write", shown())?;
        }
        if below(&full, "/proc") || below(&full, "/sys") {
            self.deny("kernel.write", shown())?;
        }
        let home = self.context.home.to_string_lossy();
        if act == Act::Mode && below_known(&home, &full) {
            self.deny("users.permissions", shown())?;
        }
        if self.in_home(&full, paths::HISTORIES) || self.in_home(&full, paths::SECRETS) {
            self.deny("secret.read", shown())?;
        }
        if harmless && !removes {
            return Ok(());
        }
        let workspace = self.context.workspace.to_string_lossy().into_owned();
        let cwd = self.context.cwd.to_string_lossy().into_owned();
        if removes
            && [&workspace, &cwd]
                .into_iter()
                .any(|root| below_known(root, &full))
        {
            return self.deny("delete.workspace-root", shown());
        }
        if below(&full, &workspace) || below(&full, &cwd) {
            return self.act_in_workspace(act, &full, &workspace, &shown());
        }
        let temporary = paths::TEMP_FOLDERS
            .iter()
            .any(|folder| strictly_below(&full, folder));
        if temporary {
            return match act {
                Act::Delete => self.deny("delete.file", shown()),
                _ => Ok(()),
            };
        }
        match act {
            Act::Delete | Act::Move if full.is_unknown() => {
                if act == Act::Delete {
                    self.deny("delete.file", shown())?;
                }
                Ok(())
            }
            Act::Delete | Act::Move => self.deny("delete.outside", shown()),
            _ if self.in_home(&full, paths::STARTUP_FILES) => self.deny("system.startup", shown()),
            _ if paths::SYSTEM_ROOTS.iter().any(|root| below(&full, root))
                || full.is_known()
                    && full.raw().trim_end_matches('/').rfind('/').unwrap_or(0) == 0
                    && !paths::TEMP_FOLDERS.contains(&full.raw().trim_end_matches('/')) =>
            {
                self.deny("system.write", shown())
            }
            _ => Ok(()),
        }
    }

    fn act_in_workspace(&self, act: Act, full: &Value, workspace: &str, shown: &str) -> Eval<()> {
        let inner = full.raw().strip_prefix(workspace).unwrap_or(full.raw());
        let mut parts = inner.split('/').filter(|part| !part.is_empty()).peekable();
        let first = Value::known(parts.peek().copied().unwrap_or_default());
        if first.raw() == ".git" {
            let lock = std::path::Path::new(full.raw()).extension() == Some("lock".as_ref());
            return match act {
                Act::Delete if lock => self.deny("delete.file", shown),
                Act::Delete | Act::Move => self.deny("delete.workspace-root", shown),
                // git runs them later.
                Act::Write if parts.nth(1) == Some("hooks") => self.deny("system.startup", shown),
                _ => Ok(()),
            };
        }
        if act != Act::Delete {
            return Ok(());
        }
        let build = parts.any(|part| {
            let part = Value::known(part);
            part.is_known()
                && paths::BUILD_FOLDERS
                    .iter()
                    .any(|folder| part.may_match(folder))
        });
        if build && !full.is_open() {
            return Ok(());
        }
        self.deny("delete.file", shown)
    }

    /// `/dev/tcp/…` opens a connection.
    fn network_path(&self, full: &Value) -> Eval<()> {
        if below(full, "/dev/tcp") || below(full, "/dev/udp") {
            self.deny("secret.read", full.shown())?;
        }
        Ok(())
    }

    /// Whether a path is one of a list whose entries may begin with `~`.
    fn in_home(&self, full: &Value, list: &[&str]) -> bool {
        let home = self.context.home.to_string_lossy();
        let in_home = below(full, &home);
        list.iter().any(|entry| match entry.strip_prefix('~') {
            Some(rest) => in_home && listed(full, &home, rest),
            None => listed(full, "", entry),
        })
    }

    /// The path with the links resolved that the script itself made. A link's own name, without a
    /// slash behind it, is the link.
    fn behind_links(&self, full: Value, written: &Value) -> Value {
        let found = self.symlinks.iter().find_map(|(link, target)| {
            let rest = full.raw().strip_prefix(link.as_str())?;
            let inside = rest.starts_with('/') || (rest.is_empty() && written.raw().ends_with('/'));
            inside.then(|| Value::known(format!("{target}{rest}")))
        });
        found.unwrap_or(full)
    }

    /// Whether a path is, or lies in, one of a list of the policy.
    fn is_listed(&self, full: &Value, list: &[String]) -> bool {
        let home = self.context.home.to_string_lossy();
        list.iter().any(|entry| {
            let entry = entry.trim_end_matches('/');
            match entry.strip_prefix('~') {
                Some(rest) => below(full, &format!("{home}{rest}")),
                None => below(full, entry),
            }
        })
    }

    fn is_secret(&self, full: &Value, written: &Value) -> bool {
        let name = written.base_name();
        if name.is_unknown()
            && !self.in_home(full, paths::SECRETS)
            && !self.in_home(full, paths::SECRET_FOLDERS)
        {
            return false;
        }
        if paths::NOT_SECRET_NAMES
            .iter()
            .any(|pattern| name.is_known() && name.may_match(pattern))
        {
            return false;
        }
        self.in_home(full, paths::SECRETS)
            || self.in_home(full, paths::SECRET_FOLDERS)
            || paths::SECRET_NAMES.iter().any(|pattern| {
                name.is_known() && name.may_match(pattern)
                    || name.is_glob()
                        && (name.shown() == *pattern
                            || name.known_prefix().len() >= 3
                                && pattern.starts_with(name.known_prefix())
                                && !pattern.contains('*')
                                && name.may_match(pattern))
            })
    }

    fn is_guard(&self, full: &Value) -> bool {
        let home = self.context.codex_home.to_string_lossy();
        let workspace = self.context.workspace.to_string_lossy();
        below(full, &home)
            || self.in_home(full, paths::GUARD_PATHS)
            || paths::PROJECT_GUARD_FOLDERS.iter().any(|folder| {
                below(full, &format!("{workspace}/{folder}"))
                    || full.raw().split('/').any(|part| part == *folder)
            })
    }

    /// Whether the guard's home lies in this folder.
    fn contains_guard(&self, full: &Value) -> bool {
        let home = self.context.codex_home.to_string_lossy();
        below_known(&home, full)
    }
}

fn verb(act: Act) -> &'static str {
    match act {
        Act::Read => "read",
        Act::Write => "write",
        Act::Mode => "change the mode of",
        Act::Delete => "delete",
        Act::Move => "move",
        Act::Nothing => "use",
    }
}

/// Whether a path may be `folder` or lie in it.
pub(crate) fn below(path: &Value, folder: &str) -> bool {
    below_parts(path, folder.split('/'))
}

fn below_parts<'f>(path: &Value, mut folder: impl Iterator<Item = &'f str>) -> bool {
    let mut parts = path.raw().split('/');
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

/// Whether a path is this entry of a list, which begins in the folder `base`: an entry that ends
/// in `/` covers what is below.
fn listed(path: &Value, base: &str, entry: &str) -> bool {
    let parts = |entry: &str| entry.split('/').count();
    let entry_parts = || entry.split('/').skip(usize::from(!base.is_empty()));
    match entry.strip_suffix('/') {
        Some(folder) => {
            let folder = folder.split('/').skip(usize::from(!base.is_empty()));
            in_base(path, base, folder)
        }
        None => {
            in_base(path, base, entry_parts())
                && parts(path.raw())
                    == if base.is_empty() {
                        parts(entry)
                    } else {
                        parts(base) + parts(entry) - 1
                    }
        }
    }
}

fn in_base<'f>(path: &Value, base: &'f str, rest: impl Iterator<Item = &'f str>) -> bool {
    if base.is_empty() {
        below_parts(path, rest)
    } else {
        below_parts(path, base.split('/').chain(rest))
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
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_some_and(|p| Value::known(p).is_open()) {
                    return Value::unknown();
                }
            }
            part => parts.push(part),
        }
    }
    Value::known(format!("/{}", parts.join("/")))
}
