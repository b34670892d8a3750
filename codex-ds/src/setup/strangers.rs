//! What Codex leaves behind only because it was asked.

use std::ffi::OsString;
use std::path::Path;

/// What Codex leaves in a home that no session has used yet, only because it was asked: databases,
/// an installation's id, temporary folders. Without a session they mean nothing, and would be all that
/// `undo` leaves of a profile that was never used.
pub(crate) struct Strangers<'h> {
    home: &'h Path,
    before: Option<Vec<OsString>>,
}

impl<'h> Strangers<'h> {
    /// Looks at what is there now.
    pub(crate) fn before(home: &'h Path) -> Self {
        let used = home.join("sessions").exists();
        Self {
            home,
            before: if used { None } else { names(home) },
        }
    }

    /// Removes what came since.
    pub(crate) fn remove(&self) {
        let (Some(before), Some(now)) = (&self.before, names(self.home)) else {
            return;
        };
        for name in now.iter().filter(|name| !before.contains(name)) {
            let text = name.to_string_lossy();
            let path = self.home.join(name);
            // It is Codex's, and it makes it again; what cannot be removed stays.
            if matches!(text.as_ref(), "tmp" | ".tmp" | "skills" | "shell_snapshots") {
                let _ = std::fs::remove_dir_all(path);
            } else if text.contains(".sqlite")
                || matches!(text.as_ref(), "installation_id" | ".sandbox_migration")
            {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

fn names(folder: &Path) -> Option<Vec<OsString>> {
    Some(
        std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.file_name())
            .collect(),
    )
}
