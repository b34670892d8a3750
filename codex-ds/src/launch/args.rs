//! Reads Codex's command line as far as launching has to understand it; everything is handed on as
//! it came.
//!
//! The tables are from `--help` of every command of Codex 0.163.0 and 0.171.0.

use std::ffi::{OsStr, OsString};

/// Options that take a value, in both versions, short and long. Of commands that no session comes
/// from, only those are here whose value could be taken for one of the options that count.
const WITH_VALUE: &[&str] = &[
    "-C",
    "-a",
    "-c",
    "-i",
    "-m",
    "-o",
    "-p",
    "-r",
    "-s",
    "--add-dir",
    "--ask-for-approval",
    "--base",
    "--branch",
    "--cd",
    "--color",
    "--commit",
    "--config",
    "--cyber-access-program",
    "--disable",
    "--enable",
    "--env",
    "--image",
    "--listen",
    "--local-provider",
    "--message",
    "--model",
    "--output-last-message",
    "--output-schema",
    "--profile",
    "--remote",
    "--remote-auth-token-env",
    "--rules",
    "--sandbox",
    "--thread",
    "--thread-source",
    "--title",
    "--url",
];

/// Commands that end in another program's command line, and which word, the command itself
/// included, is the first of it.
const FOREIGN: &[(&str, usize)] = &[("execpolicy", 3), ("sandbox", 2)];

/// The command whose `-p` is another option (`app-server generate-ts --prettier`).
const OTHER_P: &str = "app-server";

/// Commands that start no session, so that they need no instructions.
const NO_SESSION: &[&str] = &[
    "a",
    "apply",
    "archive",
    "cloud",
    "completion",
    "debug",
    "delete",
    "doctor",
    "exec-server",
    "execpolicy",
    "features",
    "help",
    "login",
    "logout",
    "mcp",
    "migrate-nfs-db",
    "migrate-rollouts",
    "plugin",
    "sandbox",
    "unarchive",
    "update",
];

/// The commands that a session comes from.
const SESSION: &[&str] = &[
    "agents",
    "app-server",
    "e",
    "exec",
    "fork",
    "mcp-server",
    "queue",
    "remote-control",
    "resume",
    "review",
];

/// Whether `word` is a command of Codex.
pub(crate) fn is_codex_command(word: &str) -> bool {
    NO_SESSION.contains(&word) || SESSION.contains(&word)
}

/// Commands whose session runs in the folder that Codex was started in, whatever the stored one says.
const HERE_ONLY: &[&str] = &["e", "exec", "review"];

/// What counts in a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The first word that is no option: a command, or a prompt.
    pub(crate) command: Option<String>,
    /// The values of `-C`, `--cd`.
    pub(super) folders: Vec<OsString>,
    /// The values of `-p`, `--profile`.
    pub(crate) profiles: Vec<OsString>,
    /// The values of `-c`, `--config`.
    pub(crate) overrides: Vec<OsString>,
    /// Every other option with its value, if it takes one.
    pub(crate) options: Vec<(String, Option<OsString>)>,
    /// Where the pins have to be repeated: in front of these arguments.
    pub(super) repeat_at: Vec<usize>,
}

impl Scan {
    /// Whether the command starts or continues a session.
    pub(super) fn has_session(&self) -> bool {
        !self
            .command
            .as_deref()
            .is_some_and(|c| NO_SESSION.contains(&c))
    }

    /// Whether the session may move to another folder than the one it is started in.
    pub(super) fn may_go_elsewhere(&self) -> bool {
        self.has_session()
            && !self
                .command
                .as_deref()
                .is_some_and(|c| HERE_ONLY.contains(&c))
    }
}

/// Reads a command line.
pub(crate) fn scan(args: &[OsString]) -> Scan {
    let mut scan = Scan::default();
    let mut words = 0;
    // The words seen when the pins were last put in; the front counts as one.
    let mut pinned_after = 0;
    let mut index = 0;
    while index < args.len() {
        let at = index;
        let arg = &args[at];
        index += 1;
        if arg == "--" {
            break;
        }
        let Some((name, attached)) = option(arg) else {
            words += 1;
            if words == 1 {
                scan.command = Some(arg.to_string_lossy().into_owned());
            }
            let foreign = FOREIGN.iter().any(|(command, first)| {
                words == *first && scan.command.as_deref() == Some(command)
            });
            if foreign {
                break;
            }
            continue;
        };
        let takes_value = WITH_VALUE.contains(&name.as_str());
        let value = match attached {
            Some(value) => Some(value),
            None if takes_value => {
                index += 1;
                args.get(at + 1).cloned()
            }
            None => None,
        };
        match (name.as_str(), value) {
            ("-c" | "--config", value) => {
                if words > pinned_after {
                    scan.repeat_at.push(at);
                    pinned_after = words;
                }
                scan.overrides.extend(value);
            }
            ("-C" | "--cd", value) => scan.folders.extend(value),
            ("-p" | "--profile", _) if scan.command.as_deref() == Some(OTHER_P) => {}
            ("-p" | "--profile", value) => scan.profiles.extend(value),
            (_, value) => scan.options.push((name, value)),
        }
    }
    scan
}

/// An option's name, and the value that is written in one with it: `--cd=DIR`, `-C=DIR`, `-CDIR`.
fn option(arg: &OsStr) -> Option<(String, Option<OsString>)> {
    let bytes = arg.as_encoded_bytes();
    if bytes.len() < 2 || bytes[0] != b'-' {
        return None;
    }
    let (name, value) = if bytes[1] == b'-' {
        match bytes.iter().position(|byte| *byte == b'=') {
            Some(at) => (&bytes[..at], Some(at + 1)),
            None => (bytes, None),
        }
    } else if bytes.len() == 2 {
        (bytes, None)
    } else if bytes[1].is_ascii() {
        (&bytes[..2], Some(if bytes[2] == b'=' { 3 } else { 2 }))
    } else {
        return None;
    };
    let name = std::str::from_utf8(name).ok()?.to_owned();
    Some((name, value.map(|at| tail(arg, at))))
}

#[cfg(unix)]
fn tail(arg: &OsStr, at: usize) -> OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    OsString::from_vec(arg.as_bytes()[at..].to_vec())
}

#[cfg(not(unix))]
fn tail(arg: &OsStr, at: usize) -> OsString {
    // Only options in ASCII get here, so the cut is at a character's border.
    OsString::from(&arg.to_string_lossy()[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Scan {
        let words = shell_words::split(line).expect("a test's line");
        scan(&words.into_iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn finds_the_folder_and_the_profile_in_every_spelling() {
        for line in [
            "-C d -p x",
            "--cd d --profile x",
            "--cd=d --profile=x",
            "-Cd -px",
            "-C=d -p=x",
            "exec -C d hi -p x",
            "exec resume --last -Cd --profile=x",
            "-m gpt exec --json -p x -C d -- -p other -C e",
            "-c a=1 -p x exec -o out -C d",
        ] {
            let scan = of(line);
            assert_eq!(
                (scan.folders, scan.profiles),
                (vec!["d".into()], vec!["x".into()]),
                "{line}"
            );
        }
    }

    #[test]
    fn a_value_is_not_taken_for_an_option() {
        for line in [
            "exec -o -p hi",
            "-m -p",
            "exec -- -p x -C d",
            "sandbox mkdir -p x -C d",
            "execpolicy check --rules f mkdir -p x",
            "app-server generate-ts -p prettier",
            "exec --title -p",
            "exec - ",
        ] {
            let scan = of(line);
            assert_eq!((scan.folders, scan.profiles), (vec![], vec![]), "{line}");
        }
    }

    #[test]
    fn pins_are_repeated_in_front_of_the_first_override_of_each_level() {
        for (line, at) in [
            ("-c a=1 exec hi", vec![]),
            ("exec hi", vec![]),
            ("exec -c a=1 hi", vec![1]),
            ("exec -ca=1 -c b=2 hi", vec![1]),
            ("exec --config=a=1 resume --last -c b=2", vec![1, 4]),
            ("-c a=1 exec --json -c b=2 -c c=3", vec![4]),
            ("sandbox bash -c 'echo hi'", vec![]),
            ("exec -- -c", vec![]),
            ("-m x exec --config a=1", vec![3]),
        ] {
            assert_eq!(of(line).repeat_at, at, "{line}");
        }
    }

    #[test]
    fn tells_sessions_from_other_commands() {
        for (line, session, elsewhere) in [
            ("", true, true),
            ("'fix it'", true, true),
            ("exec hi", true, false),
            ("resume --last", true, true),
            ("app-server", true, true),
            ("login status", false, false),
            ("-c a=1 mcp list", false, false),
        ] {
            let scan = of(line);
            assert_eq!(
                (scan.has_session(), scan.may_go_elsewhere()),
                (session, elsewhere),
                "{line}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_survive() {
        use std::os::unix::ffi::OsStringExt as _;
        let folder = OsString::from_vec(b"/tmp/\xff".to_vec());
        let mut joined = OsString::from("--cd=");
        joined.push(&folder);
        let scan = scan(&[joined, OsString::from_vec(b"-\xff".to_vec())]);
        assert_eq!(scan.folders, [folder]);
    }
}
