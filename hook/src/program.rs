//! The hook program: Codex's request in, exit status out.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::installed::{home, place, read_policy};
use crate::limits;
use crate::policy::{Log, Policy};
use crate::protocol::{self, ProtocolError, Request};
use crate::record;
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
    let started = Instant::now();
    let mut bytes = Vec::with_capacity(4096);
    let read = std::io::stdin()
        .lock()
        .take(limits::REQUEST_BYTES + 1)
        .read_to_end(&mut bytes);
    let request = match read {
        Err(e) => Err(ProtocolError::Read(e.to_string())),
        Ok(_) => protocol::parse(&bytes),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return unreadable(&error),
    };
    let (home, installed) = home();
    let (policy, problem) = if installed {
        read_policy(&home)
    } else {
        (Policy::default(), None)
    };
    let mut verdict = decide(&request, &policy, &home);
    let mut granted = false;
    if installed {
        let (text, cwd) = (request.text(), request.cwd().unwrap_or_default());
        if let Verdict::Deny(denial) = &mut verdict {
            granted = record::take_grant(&home, &text, cwd);
            if !granted && let Some(code) = record::keep(&home, &text, cwd, &denial.rule) {
                denial
                    .notes
                    .push(format!("(The user may run: codex-ds guard allow {code})"));
            }
        }
        let kept = match policy.log {
            Log::Off => false,
            Log::Denied => verdict.is_deny(),
            Log::All => true,
        };
        if kept {
            let took = started.elapsed();
            record::log(&home, request.tool(), &text, cwd, &verdict, granted, took);
        }
    }
    if granted {
        return Verdict::Allow;
    }
    if let (Verdict::Deny(denial), Some(problem)) = (&mut verdict, problem) {
        denial.notes.push(problem);
    }
    verdict
}

fn unreadable(error: &ProtocolError) -> Verdict {
    Verdict::Deny(Denial::new("guard.protocol", error.to_string()))
}

/// The verdict on a request in the form that Codex sends, without grants and log.
#[must_use]
pub fn respond(bytes: &[u8], policy: &Policy, codex_home: &Path) -> Verdict {
    match protocol::parse(bytes) {
        Ok(request) => decide(&request, policy, codex_home),
        Err(error) => unreadable(&error),
    }
}

/// Decides about a request. In Codex 0.163 `cwd` is the session's directory, in 0.171 the call's.
fn decide(request: &Request, policy: &Policy, codex_home: &Path) -> Verdict {
    let refuse = |text: &str| Verdict::Deny(Denial::new("guard.protocol", text));
    let cwd = match request.cwd() {
        Some(cwd) => PathBuf::from(cwd),
        // A tool that runs nothing here needs no place.
        None if matches!(request, Request::Tool { .. }) => PathBuf::from("/"),
        None => return refuse("the request has no cwd"),
    };
    if !cwd.is_absolute() {
        return refuse("the request's cwd is not absolute");
    }
    let context = place(&cwd, codex_home);
    match request {
        Request::Command { command, .. } => crate::evaluate(command, policy, &context),
        Request::Patch { patch, .. } => crate::evaluate_patch(patch, policy, &context),
        Request::Tool { name, input, .. } => crate::evaluate_tool(name, input, policy, &context),
    }
}
