//! What the guard keeps in its home: the log, the commands it denied of late, and the grants that
//! a user gave for them. All of it lies in `guard/` of the profile, where a sandboxed command
//! cannot write, in files that only their owner reads.
//!
//! Nothing here may change a verdict for the worse: a file that cannot be written is left out, a
//! grant that cannot be read or taken away does not count.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use crate::mask::mask;
use crate::verdict::{Denial, Verdict};

/// How long a denied command can be granted, and a grant can be used.
pub const GRANT_LIFE: Duration = Duration::from_secs(600);

/// Bytes of the log at which it is set aside; the one before is dropped then.
const LOG_BYTES: u64 = 1 << 20;

/// Characters of a command that the log keeps.
const LOG_CHARS: usize = 1_000;

/// The folder in the profile.
#[must_use]
pub fn folder(home: &Path) -> PathBuf {
    home.join("guard")
}

/// The log of the profile.
#[must_use]
pub fn log_path(home: &Path) -> PathBuf {
    folder(home).join("log.jsonl")
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// A command that was denied, as its grant needs it: word for word, in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// What the denial calls it.
    pub code: String,
    /// The command, or the patch.
    pub command: String,
    /// The folder it was denied in.
    pub cwd: String,
    /// The rule.
    pub rule: String,
    /// Seconds since 1970.
    pub time: u64,
}

impl Denied {
    fn parse(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        let field = |key: &str| json[key].as_str().map(str::to_owned);
        Some(Self {
            code: field("code")?,
            command: field("command")?,
            cwd: field("cwd")?,
            rule: field("rule")?,
            time: json["time"].as_u64()?,
        })
    }

    fn text(&self) -> String {
        json!({
            "code": self.code,
            "command": self.command,
            "cwd": self.cwd,
            "rule": self.rule,
            "time": self.time,
        })
        .to_string()
    }

    fn is_current(&self) -> bool {
        now().saturating_sub(self.time) <= GRANT_LIFE.as_secs()
    }
}

/// A short name for a command in a folder (FNV-1a, 40 bits). It only finds the file: a grant holds
/// the whole command and is compared with it.
fn code(command: &str, cwd: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in command.bytes().chain([0]).chain(cwd.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:010x}", hash & 0xff_ffff_ffff)
}

/// Keeps a denied command for [`grant`], and gives its code. `None` if it cannot be kept.
pub(crate) fn keep(home: &Path, command: &str, cwd: &str, rule: &str) -> Option<String> {
    let folder = folder(home).join("denied");
    private_folder(&folder).ok()?;
    for entry in std::fs::read_dir(&folder).ok()?.flatten() {
        let stale = entry
            .metadata()
            .and_then(|data| data.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > GRANT_LIFE));
        if stale {
            // It is of no use any more, whether or not it goes away.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let denied = Denied {
        code: code(command, cwd),
        command: command.to_owned(),
        cwd: cwd.to_owned(),
        rule: rule.to_owned(),
        time: now(),
    };
    write(&folder.join(&denied.code), &denied.text()).ok()?;
    Some(denied.code)
}

/// The command that was denied with this code, if that was less than [`GRANT_LIFE`] ago.
#[must_use]
pub fn denied(home: &Path, code: &str) -> Option<Denied> {
    if code.is_empty() || !code.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let text = std::fs::read_to_string(folder(home).join("denied").join(code)).ok()?;
    Denied::parse(&text).filter(Denied::is_current)
}

/// Lets a denied command pass once, within [`GRANT_LIFE`] from now.
///
/// # Errors
/// The grant cannot be written.
pub fn grant(home: &Path, denied: &Denied) -> std::io::Result<()> {
    let folder = folder(home).join("grants");
    private_folder(&folder)?;
    let grant = Denied {
        time: now(),
        ..denied.clone()
    };
    write(&folder.join(&denied.code), &grant.text())
}

/// Whether a grant lets this command pass now. It is used up by that.
pub(crate) fn take_grant(home: &Path, command: &str, cwd: &str) -> bool {
    let path = folder(home).join("grants").join(code(command, cwd));
    let Ok(text) = std::fs::read_to_string(&path) else {
        return false;
    };
    let fits = Denied::parse(&text)
        .is_some_and(|grant| grant.is_current() && grant.command == command && grant.cwd == cwd);
    // Of two that find it, one takes it away.
    std::fs::remove_file(&path).is_ok() && fits
}

/// Appends a line to the log.
pub(crate) fn log(
    home: &Path,
    tool: &str,
    command: &str,
    cwd: &str,
    verdict: &Verdict,
    granted: bool,
    elapsed: Duration,
) {
    let path = log_path(home);
    if private_folder(&folder(home)).is_err() {
        return;
    }
    if std::fs::metadata(&path).is_ok_and(|data| data.len() > LOG_BYTES) {
        // If it cannot be set aside it grows on.
        let _ = std::fs::rename(&path, path.with_file_name("log.1.jsonl"));
    }
    let mut text = mask(command);
    if let Some((end, _)) = text.char_indices().nth(LOG_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    let line = json!({
        "time": now(),
        "tool": tool,
        "cwd": cwd,
        "verdict": match (verdict, granted) {
            (_, true) => "granted",
            (Verdict::Allow, false) => "allow",
            (Verdict::Deny(_), false) => "deny",
        },
        "rule": verdict.denial().map(|denial: &Denial| denial.rule.as_ref()),
        "command": text,
        "microseconds": u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    });
    if let Ok(mut file) = private(OpenOptions::new().append(true).create(true)).open(&path) {
        // A log that is full stops no work.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    private(options.write(true).create(true).truncate(true))
        .open(&new)?
        .write_all(text.as_bytes())?;
    std::fs::rename(new, path)
}

/// Files that only their owner reads.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(name: &str) -> PathBuf {
        let home =
            std::env::temp_dir().join(format!("codex-ds-record-{name}-{}", std::process::id()));
        private_folder(&home).unwrap();
        home
    }

    #[test]
    fn a_grant_lets_one_command_in_one_folder_pass_once() {
        let home = home("grant");
        assert!(!take_grant(&home, "make x", "/w"));
        let code = keep(&home, "make x", "/w", "a.b").unwrap();
        assert!(!take_grant(&home, "make x", "/w"), "a denial is no grant");
        let kept = denied(&home, &code).unwrap();
        assert_eq!(kept.command, "make x");
        grant(&home, &kept).unwrap();
        assert!(!take_grant(&home, "make y", "/w"));
        assert!(!take_grant(&home, "make x", "/other"));
        assert!(take_grant(&home, "make x", "/w"));
        assert!(!take_grant(&home, "make x", "/w"), "only once");
        std::fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn an_old_grant_does_not_count() {
        let home = home("old");
        let code = keep(&home, "make x", "/w", "a.b").unwrap();
        let mut kept = denied(&home, &code).unwrap();
        kept.time -= GRANT_LIFE.as_secs() + 1;
        private_folder(&folder(&home).join("grants")).unwrap();
        write(&folder(&home).join("grants").join(&code), &kept.text()).unwrap();
        assert!(!take_grant(&home, "make x", "/w"));
        std::fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn a_code_is_no_path() {
        assert_eq!(denied(Path::new("/"), "../../etc/passwd"), None);
        assert_eq!(denied(Path::new("/"), ""), None);
    }

    #[test]
    fn the_log_masks_and_is_private() {
        let home = home("log");
        let took = Duration::from_micros(5);
        log(
            &home,
            "Bash",
            "X_TOKEN=abcdef ls",
            "/w",
            &Verdict::Allow,
            false,
            took,
        );
        let text = std::fs::read_to_string(log_path(&home)).unwrap();
        assert!(
            text.contains("\"verdict\":\"allow\"") && !text.contains("abcdef"),
            "{text}"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(log_path(&home))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::remove_dir_all(home).unwrap();
    }
}
