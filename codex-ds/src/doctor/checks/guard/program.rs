//! The guard's program: whether it is there, can be started, and is the one that set-up installed.

use crate::doctor::check::{Finding, Outcome};
use crate::doctor::context::Context;
use crate::file;
use crate::setup::profile;

use super::recorded;

pub(super) fn installed(context: &Context) -> Outcome {
    let recorded = recorded(context);
    if recorded["choices"]["no_guard"] == true {
        return Outcome::skip("set-up was told to leave the guard out");
    }
    let path = context.home.join(profile::HOOK);
    let bad = |text: &str, measured: String, expected: &str| -> Outcome {
        Finding::fail(format!("{text}: Codex would run every command unguarded"))
            .measured(measured)
            .expected(expected.to_owned())
            .source(path.display().to_string())
            .remedy("run set-up again: it installs the program")
            .command("codex-ds setup")
            .fixable()
            .into()
    };
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) => {
            return bad(
                "the guard's program is gone",
                error.to_string(),
                "a program",
            );
        }
    };
    if !is_executable(&metadata) {
        return bad(
            "the guard's program cannot be started",
            "it is no executable file".to_owned(),
            "an executable file",
        );
    }
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            return bad(
                "the guard's program cannot be read",
                error.to_string(),
                "a program",
            );
        }
    };
    let digest = file::sha256(&bytes);
    let expected = recorded["files"][profile::HOOK]["sha256"].as_str();
    if expected.is_some_and(|expected| expected != digest) {
        return bad(
            "the guard's program is not the one that set-up installed",
            format!("sha256 {digest}"),
            &format!("sha256 {}", expected.unwrap_or_default()),
        );
    }
    context.version("hook", hook_version(context, &digest));
    if beside_us().is_some_and(|ours| ours != bytes) {
        return Finding::warn("the guard in the profile is not the one of this codex-ds")
            .measured(format!("sha256 {digest}"))
            .expected("the codex-ds-hook beside codex-ds")
            .source(path.display().to_string())
            .remedy("run set-up again: it installs the present one")
            .command("codex-ds setup")
            .fixable()
            .into();
    }
    Outcome::pass(format!("sha256 {}…", &digest[..12]))
}

fn hook_version(context: &Context, digest: &str) -> String {
    let version = recorded(context)["tool_version"]
        .as_str()
        .unwrap_or("unknown")
        .to_owned();
    format!("{version} ({})", &digest[..12])
}

/// The guard's program that is installed with this one.
fn beside_us() -> Option<Vec<u8>> {
    let ours = std::env::current_exe().ok()?.canonicalize().ok()?;
    let name = format!("codex-ds-hook{}", std::env::consts::EXE_SUFFIX);
    std::fs::read(ours.with_file_name(name)).ok()
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 && metadata.len() > 0
}

#[cfg(not(unix))]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    metadata.is_file() && metadata.len() > 0
}
