//! How the guard is linked; a part of the build scripts of the packages that build it.
//!
//! Codex starts the guard before every call, and most of what a start takes is not the guard: the
//! loader finds libraries, maps them and corrects their addresses. On Linux with glibc everything
//! goes into the program at a fixed address instead, so that the kernel starts it at once. Nor
//! does a variable such as `LD_PRELOAD` then change what the guard does.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script writes into its own folder"
)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The libraries that rustc names as shared ones for this target, and the archives of each.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("gcc_s", &["libgcc_eh.a", "libgcc.a", "libc.a"]),
    ("util", &["libutil.a"]),
    ("rt", &["librt.a"]),
    ("pthread", &["libpthread.a"]),
    ("m", &["libm.a"]),
    ("dl", &["libdl.a"]),
    ("c", &["libc.a", "libgcc_eh.a", "libgcc.a"]),
];

/// What a program linked this way must be able to do: the guard denies when it panics.
const TRIAL: &str = "fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| std::env::args().nth(9).unwrap().len()).is_err();
    std::process::exit(if caught { 0 } else { 1 });
}";

/// Tells cargo how to link; `scope` is the end of the key, such as `bin=NAME`.
pub(crate) fn link(scope: &str) {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let target = |key: &str| env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    let glibc = target("OS") == "linux" && target("ENV") == "gnu";
    if !glibc || target("FEATURE").split(',').any(|f| f == "crt-static") {
        return;
    }
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let folder = Path::new(&folder);
    // A fixed address alone already leaves the loader nothing to correct in the guard's tables.
    let mut arguments = vec!["-no-pie".to_owned()];
    if env::var("HOST") == env::var("TARGET") {
        let whole = [
            "-no-pie".to_owned(),
            "-static".to_owned(),
            format!("-L{}", folder.display()),
        ];
        if stand_ins(folder).is_some() && works(folder, &whole) {
            arguments = whole.to_vec();
        }
    }
    for argument in arguments {
        println!("cargo::rustc-link-arg-{scope}={argument}");
    }
}

fn linker() -> String {
    env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned())
}

/// Puts a linker script in the place of each shared library, which names its archives. rustc
/// offers no other way to link one program of a package as a whole. `None` without the archives:
/// some systems have them in a package of their own.
fn stand_ins(folder: &Path) -> Option<()> {
    for (library, archives) in LIBRARIES {
        let mut found = String::new();
        for archive in *archives {
            let out = Command::new(linker())
                .arg(format!("-print-file-name={archive}"))
                .output()
                .ok()?;
            let path = String::from_utf8(out.stdout).ok()?;
            // The linker driver gives the bare name back for what it does not find.
            if !path.starts_with('/') {
                return None;
            }
            found.push(' ');
            found.push_str(path.trim());
        }
        let script = format!("GROUP ({found} )\n");
        fs::write(folder.join(format!("lib{library}.so")), script).ok()?;
    }
    Some(())
}

/// Whether a program that is linked with these arguments runs and catches a panic.
fn works(folder: &Path, arguments: &[String]) -> bool {
    let source = folder.join("trial.rs");
    let program = folder.join("trial");
    if fs::write(&source, TRIAL).is_err() {
        return false;
    }
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let built = Command::new(rustc)
        .args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()))
        .arg(format!("-Clinker={}", linker()))
        .args(
            arguments
                .iter()
                .map(|argument| format!("-Clink-arg={argument}")),
        )
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .output();
    built.is_ok_and(|out| out.status.success())
        && Command::new(&program)
            .status()
            .is_ok_and(|status| status.success())
}
