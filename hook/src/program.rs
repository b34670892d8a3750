//! The hook program: Codex's request in, exit status out.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::context::{Context, RealFiles, find_workspace};
use crate::limits;
use crate::policy::Policy;
use crate::protocol::{self, ProtocolError, Request};
use crate::verdict::{Denial, Verdict};

/// The exit status that stops a tool call, if there is a reason on stderr.
const DENY: u8 = 2;

/// The whole program: reads Codex's request from stdin, answers by exit status and stderr.
/// Exit 0 and silence allow; exit 2 with the reason on stderr denies. There is no third answer.
#[must_use]
pub fn main() -> ExitCode {
    // A panic must not print where Codex reads the reason, and must deny.
    std::panic::set_hook(Box::new(|_| {}));
    let verdict = std::panic::catch_unwind(answer).unwrap_or_else(|_| {
        Verdict::Deny(Denial::new(
            "shell.limit",
            "the guard failed on this command",
        ))
    });
    match verdict {
        Verdict::Allow => ExitCode::SUCCESS,
        Verdict::Deny(denial) => {
            // Whether or not the reason could be written, the status denies.
            let _ = writeln!(std::io::stderr(), "{denial}");
            ExitCode::from(DENY)
        }
    }
}

fn answer() -> Verdict {
    let mut bytes = Vec::with_capacity(4096);
    let read = std::io::stdin()
        .lock()
        .take(limits::REQUEST_BYTES + 1)
        .read_to_end(&mut bytes);
    let request = match read {
        Err(e) => Err(ProtocolError::Read(e.to_string())),
        Ok(_) if bytes.len() as u64 > limits::REQUEST_BYTES => Err(ProtocolError::Size),
        Ok(_) => protocol::parse(&bytes),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return Verdict::Deny(Denial::new("guard.protocol", error.to_string())),
    };
    let (home, installed) = codex_home();
    let (policy, problem) = if installed {
        read_policy(&home)
    } else {
        (Policy::default(), None)
    };
    let mut verdict = decide(&request, &policy, home);
    if let (Verdict::Deny(denial), Some(problem)) = (&mut verdict, problem) {
        denial.notes.push(problem);
    }
    verdict
}

fn decide(request: &Request, policy: &Policy, codex_home: PathBuf) -> Verdict {
    match request {
        Request::Command { command, cwd } => {
            let context = match place(cwd.as_deref(), codex_home) {
                Ok(context) => context,
                Err(denial) => return Verdict::Deny(denial),
            };
            crate::evaluate(command, policy, &context)
        }
        Request::Patch { patch, cwd } => match place(cwd.as_deref(), codex_home) {
            Ok(context) => crate::evaluate_patch(patch, policy, &context),
            Err(denial) => Verdict::Deny(denial),
        },
        // MCP servers and Codex's own tools are chosen by the profile; they run no command here.
        Request::Tool { .. } => Verdict::Allow,
    }
}

/// The place of a request. In Codex 0.163 `cwd` is the session's directory, in 0.171 the call's.
fn place(cwd: Option<&str>, codex_home: PathBuf) -> Result<Context<'static>, Box<Denial>> {
    let cwd = match cwd {
        Some(cwd) => PathBuf::from(cwd),
        None => return Err(Denial::new("guard.protocol", "the request has no cwd")),
    };
    if !cwd.is_absolute() {
        return Err(Denial::new(
            "guard.protocol",
            "the request's cwd is not absolute",
        ));
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let user = std::env::var("USER").unwrap_or_else(|_| {
        home.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    });
    Ok(Context {
        workspace: find_workspace(&cwd),
        cwd,
        home,
        user,
        codex_home,
        files: &RealFiles,
    })
}

/// The home that set-up installed this program into (`HOME/bin/codex-ds-hook`), and whether its
/// policy counts. Without such a home the environment only says what to protect: a changed
/// variable must not point the guard to a looser policy.
fn codex_home() -> (PathBuf, bool) {
    let installed = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent()?.parent().map(Path::to_path_buf))
        .filter(|home| home.join("guard.toml").exists());
    if let Some(home) = installed {
        return (home, true);
    }
    let home = std::env::var_os("CODEX_HOME").map_or_else(
        || {
            std::env::var_os("HOME")
                .map_or_else(|| PathBuf::from("/root"), PathBuf::from)
                .join(".codex-ds")
        },
        PathBuf::from,
    );
    (home, false)
}

/// The policy of a home. A file that is missing or bad never opens the guard: the built-in lab
/// preset holds, and a bad file is named.
fn read_policy(home: &Path) -> (Policy, Option<String>) {
    let path = home.join("guard.toml");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return (Policy::default(), None),
        Err(e) => {
            return (
                Policy::default(),
                Some(format!(
                    "({} cannot be read: {e}; preset lab holds.)",
                    path.display()
                )),
            );
        }
    };
    match Policy::parse(&text) {
        Ok(policy) => (policy, None),
        Err(e) => (
            Policy::default(),
            Some(format!(
                "({} is not valid: {e}; preset lab holds.)",
                path.display()
            )),
        ),
    }
}
