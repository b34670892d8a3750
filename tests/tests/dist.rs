//! The release archive: packed twice, installed, taken out again, and refused when it was altered.

use std::path::{Path, PathBuf};

use codex_ds_tests::{Run, TestEnvironment, peers};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Packs an archive whose programs hand on to the built ones, which hold 90 MB of debug information.
fn pack(env: &TestEnvironment, out: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let built = peers::codex_ds()
        .parent()
        .expect("a file is in a folder")
        .to_owned();
    for program in ["codex-ds", "codex-ds-hook"] {
        let script = format!("#!/bin/sh\nexec {} \"$@\"\n", built.join(program).display());
        let path = env.write(format!("programs/{program}"), &script);
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let packer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codex-ds/dist/pack.py");
    let out = env.root().join(out);
    let arguments = [
        packer.as_os_str(),
        "--programs".as_ref(),
        env.root().join("programs").as_os_str(),
        "--target".as_ref(),
        TARGET.as_ref(),
        "--epoch".as_ref(),
        "1700000000".as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
    ]
    .map(ToOwned::to_owned);
    let mut packing = env.program("python3", arguments);
    // Cargo, which the packer asks, is found as in the shell that runs this.
    for name in ["HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            packing = packing.env(name, value);
        }
    }
    packing.run().success();
    out.join(format!(
        "codex-ds-{}-{TARGET}.tar.gz",
        env!("CARGO_PKG_VERSION")
    ))
}

fn install(env: &TestEnvironment, folder: &Path, options: &[&str]) -> Run {
    let script = folder.join("install.sh").into_os_string();
    let arguments = [script].into_iter().chain(options.iter().map(Into::into));
    env.program("sh", arguments).run()
}

#[test]
fn an_archive_is_the_same_twice_and_installs_what_it_holds() {
    let env = TestEnvironment::new();
    let archive = pack(&env, "one");
    let bytes = fs_err::read(&archive).expect("it was packed");
    assert!(bytes == fs_err::read(pack(&env, "two")).expect("it was packed"));

    env.program("tar", ["-xzf".as_ref(), archive.as_os_str()])
        .run()
        .success();
    let folder = env
        .work()
        .join(format!("codex-ds-{}-{TARGET}", env!("CARGO_PKG_VERSION")));
    let sbom: serde_json::Value =
        serde_json::from_slice(&fs_err::read(folder.join("sbom.cdx.json")).expect("it is packed"))
            .expect("it is JSON");
    let components = sbom["components"].as_array().expect("a list");
    let names: Vec<_> = components
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert!(
        names.contains(&"clap") && names.contains(&"rustls"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"insta"),
        "a test's dependency is not shipped"
    );
    let licences = fs_err::read_to_string(folder.join("share/licenses/codex-ds/THIRD-PARTY.txt"))
        .expect("it is packed");
    assert!(licences.contains("\nclap 4"), "{licences}");

    let run = install(&env, &folder, &[]).success();
    assert!(run.stdout.contains("installed codex-ds"), "{run}");
    let program = env.home().join(".local/bin/codex-ds");
    assert!(
        env.home()
            .join(".local/share/man/man1/codex-ds.1")
            .is_file()
    );
    env.program(&program, ["guard", "check", "ls"])
        .run()
        .success();

    install(&env, &folder, &["--uninstall"]).success();
    assert!(!program.exists());
}

#[test]
fn an_altered_archive_is_not_installed() {
    let env = TestEnvironment::new();
    let archive = pack(&env, "out");
    let from = env.root().join("out");
    let from = from.to_str().expect("the path is text");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codex-ds/dist");
    let options = ["--from", from, "--version", env!("CARGO_PKG_VERSION")];
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        install(&env, &scripts, &options).success();
        let run = install(&env, &scripts, &["--from", from, "--version", "9.9.9"]);
        assert!(run.stderr.contains("cannot get"), "{run}");
    }
    let mut bytes = fs_err::read(&archive).expect("it was packed");
    bytes.push(0);
    fs_err::write(&archive, bytes).expect("it is ours");
    let _ = std::fs::remove_dir_all(env.home().join(".local"));
    let run = install(&env, &scripts, &options);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("nothing was installed"), "{run}");
    assert!(!env.home().join(".local").exists());
}
