//! Whether Codex will run the guard, as far as files tell without starting anything.
//!
//! Codex skips a hook without a word when its trust entry does not fit (the entry holds the real path
//! of the file and the hook's place in it), and runs the command when the hook's program is gone. So
//! a profile that was moved, copied or restored, or got another hook in front, would work on
//! unguarded.

use std::path::Path;

use anyhow::Result;
use serde_json::Value as Json;
use toml_edit::DocumentMut;

use crate::error::UserError;
use crate::setup::{guard_entry, plan::CONFIG, profile};

/// Checks the guard of the profile in `home`, which set-up left `receipt` of, with the `over` laid
/// over it. Gives a warning where its
/// trust was left to the user.
///
/// # Errors
/// When the profile should have a guard, and Codex would not run it.
pub(super) fn check(home: &Path, over: &[DocumentMut], receipt: &Json) -> Result<Option<String>> {
    if receipt["choices"]["no_guard"] == true {
        return Ok(None);
    }
    let Some(fault) = fault(home, over, receipt) else {
        return Ok(None);
    };
    if receipt["choices"]["no_trust"] == true && fault.is_trust() {
        return Ok(Some(format!("{}; trust it in /hooks", fault.text(home))));
    }
    Err(
        UserError::not_ready(format!("the guard is not live: {}", fault.text(home)))
            .hint("codex-ds setup repairs it; codex-ds setup --no-guard does without it")
            .into(),
    )
}

enum Fault {
    NoProgram,
    OtherProgram,
    Entry(guard_entry::Fault),
}

impl Fault {
    fn is_trust(&self) -> bool {
        matches!(self, Self::Entry(guard_entry::Fault::Untrusted))
    }

    fn text(&self, home: &Path) -> String {
        match self {
            Self::NoProgram => format!(
                "there is no program at {}",
                home.join(profile::HOOK).display()
            ),
            Self::OtherProgram => {
                format!(
                    "{} is not the program that set-up installed",
                    home.join(profile::HOOK).display()
                )
            }
            Self::Entry(fault) => format!("{}: {fault}", home.join(CONFIG).display()),
        }
    }
}

fn fault(home: &Path, over: &[DocumentMut], receipt: &Json) -> Option<Fault> {
    let Some(length) = program_length(&home.join(profile::HOOK)) else {
        return Some(Fault::NoProgram);
    };
    // An empty file is an empty script to the shell, which ends well: Codex would take that for yes.
    let recorded = receipt["files"][profile::HOOK]["length"].as_u64();
    if length == 0 || recorded.is_some_and(|recorded| recorded != length) {
        return Some(Fault::OtherProgram);
    }
    let text = std::fs::read_to_string(home.join(CONFIG)).unwrap_or_default();
    // One that is no TOML Codex itself refuses.
    let document: DocumentMut = text.parse().ok()?;
    let recorded = receipt["files"][CONFIG]["hook"]["trusted_hash"].as_str();
    let command = profile::hook_command(home);
    guard_entry::fault(&document, over, &home.join(CONFIG), &command, recorded).map(Fault::Entry)
}

/// The length of a program, bytes; `None` when it cannot be started.
fn program_length(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    (metadata.is_file() && is_executable(&metadata)).then_some(metadata.len())
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::launch::receipt;

    /// A home with a live guard, as set-up leaves it.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let command = profile::hook_command(&home);
        let mut document = DocumentMut::new();
        let config = home.join(CONFIG);
        guard_entry::place(&mut document, &config, Some(&command), None, true).unwrap();
        fs_err::write(config, document.to_string()).unwrap();
        crate::file::write_atomic(&home.join(profile::HOOK), b"x", crate::file::Mode::Program)
            .unwrap();
        (folder, home)
    }

    fn checked(home: &Path, over: &[DocumentMut]) -> Result<Option<String>> {
        check(home, over, &receipt::read(home))
    }

    fn refused(home: &Path) -> String {
        let (text, code) = crate::error::render(&checked(home, &[]).unwrap_err());
        assert_eq!(code, crate::exit::NOT_READY);
        assert!(text.contains("codex-ds setup repairs it"), "{text}");
        text
    }

    fn edit(home: &Path, change: impl Fn(String) -> String) {
        let config = home.join(CONFIG);
        let text = change(fs_err::read_to_string(&config).unwrap());
        fs_err::write(config, text).unwrap();
    }

    #[test]
    fn a_live_guard_passes() {
        let (_folder, home) = home();
        assert_eq!(checked(&home, &[]).unwrap(), None);
    }

    #[test]
    fn a_profile_that_was_copied_or_moved_is_refused() {
        let (_folder, home) = home();
        let other = tempfile::tempdir().unwrap();
        let other = other.path().canonicalize().unwrap();
        fs_err::create_dir(other.join("bin")).unwrap();
        for name in [CONFIG, profile::HOOK] {
            fs_err::copy(home.join(name), other.join(name)).unwrap();
        }
        assert!(refused(&other).contains("no hook starts"));
    }

    #[test]
    fn a_hook_that_codex_would_skip_is_refused() {
        type Edit = fn(String) -> String;
        let edits: [Edit; 4] = [
            |text| {
                format!(
                    "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n{text}"
                )
            },
            |text| text.replace("timeout = 60", "timeout = 61"),
            |text| text.replace("trusted_hash", "enabled = false\ntrusted_hash"),
            |text| text.replace("timeout = 60", "timeout = 60\nasync = true"),
        ];
        for change in edits {
            let (_folder, home) = home();
            edit(&home, change);
            refused(&home);
        }
    }

    #[test]
    fn a_program_that_is_gone_is_refused() {
        let (_folder, home) = home();
        fs_err::remove_file(home.join(profile::HOOK)).unwrap();
        assert!(refused(&home).contains("no program"));
    }

    #[test]
    fn another_program_in_its_place_is_refused() {
        let (_folder, home) = home();
        let hook = home.join(profile::HOOK);
        fs_err::write(&hook, "").unwrap();
        assert!(refused(&home).contains("not the program"));
        fs_err::write(&hook, "#!/bin/true\n").unwrap();
        let receipt = "{\"files\": {\"bin/codex-ds-hook\": {\"length\": 1}}}";
        fs_err::write(home.join(receipt::NAME), receipt).unwrap();
        assert!(refused(&home).contains("not the program"));
    }

    #[test]
    fn a_profile_that_switches_it_off_is_refused() {
        let (_folder, home) = home();
        let key = guard_entry::trust_key(&home.join(CONFIG), 0, 0);
        let profile: DocumentMut = format!(
            "[hooks.state.{}]\nenabled = false\n",
            toml_edit::Key::new(key)
        )
        .parse()
        .unwrap();
        let error = checked(&home, &[profile]).unwrap_err().to_string();
        assert!(error.contains("switched off"), "{error}");
    }

    #[test]
    fn what_the_user_chose_is_not_refused() {
        let (_folder, home) = home();
        edit(&home, |text| text.replace("trusted_hash", "other"));
        let choose = |choice: &str| {
            fs_err::write(
                home.join(receipt::NAME),
                format!("{{\"choices\": {{{choice}}}}}"),
            )
            .unwrap();
            checked(&home, &[])
        };
        assert_eq!(choose("\"no_guard\": true").unwrap(), None);
        assert!(
            choose("\"no_trust\": true")
                .unwrap()
                .unwrap()
                .contains("/hooks")
        );
        assert!(choose("\"no_trust\": false").is_err());
    }
}
