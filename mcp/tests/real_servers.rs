//! The installation, and the real servers: from PyPI on the first run, from the cache afterwards.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_ds_mcp::{
    InstallError, Launcher, SERVERS, Server, command, handshake, install, install_with,
};

/// Where `make peers` and the tests keep what they fetch.
fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("CODEX_DS_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("codex-ds")))
        .or_else(|| Some(folder("HOME")?.join(".cache/codex-ds")))
        .expect("HOME is set")
}

fn all() -> Vec<&'static Server> {
    SERVERS.iter().collect()
}

#[tokio::test]
async fn the_real_servers_are_installed_once_and_list_their_tools() {
    let dir = cache().join("mcp");
    let installed = install(&dir, &all(), |_| {}).await.unwrap();
    assert!(installed.executables.iter().all(|path| path.is_file()));
    let mut lines = Vec::new();
    let again = install(&dir, &all(), |line| lines.push(line.to_owned()))
        .await
        .unwrap();
    assert!(!again.changed && lines.is_empty(), "{lines:?}");

    let launcher = Launcher::Venv(dir);
    for row in SERVERS {
        let limit = Duration::from_secs(row.startup_timeout_sec);
        let found = handshake(&command(row, &launcher), limit).await.unwrap();
        let names: Vec<_> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert!(
            row.enabled_tools.iter().all(|tool| names.contains(tool)),
            "{}: {names:?}",
            row.name
        );
        // Measured: 1,045 and 1,261 bytes. More would spoil the size of every request.
        let bytes = found.bytes_of(row.enabled_tools);
        assert!((500..1500).contains(&bytes), "{}: {bytes}", row.name);
    }
}

/// What stands in for Python: it says its version, and makes an environment whose Python is `pip`.
fn fake_python(dir: &Path, version: &str, venv: &str, pip: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = dir.join("fake-python");
    let script = format!(
        r#"#!/bin/sh
case "$*" in
*version_info*) echo {version}; exit ;;
"-m venv"*) echo "$*" >> {dir}/calls; {venv} ;;
esac
for target do :; done
mkdir -p "$target/bin"
cat > "$target/bin/python" <<'END'
#!/bin/sh
case "$*" in *importlib*) exit 1 ;; esac
{pip}
END
chmod +x "$target/bin/python"
"#,
        dir = dir.display()
    );
    fs_err::write(&program, script).unwrap();
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Installs with such a Python into a new folder.
async fn install_with_fake(version: &str, venv: &str, pip: &str) -> InstallError {
    let dir = tempfile::tempdir().unwrap();
    let python = fake_python(dir.path(), version, venv, pip);
    install_with(&python, &dir.path().join("mcp"), &all(), |_| {})
        .await
        .unwrap_err()
}

#[tokio::test]
async fn each_failed_installation_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("python3");
    let error = install_with(&missing, &dir.path().join("mcp"), &all(), |_| {})
        .await
        .unwrap_err();
    assert!(
        matches!(&error, InstallError::NoPython { python } if *python == missing),
        "{error:?}"
    );

    let error = install_with_fake("3.9.6", "", "").await;
    assert!(
        matches!(&error, InstallError::OldPython { found } if found == "3.9.6"),
        "{error:?}"
    );

    // Debian's words, on standard output.
    let no_ensurepip = "echo 'The virtual environment was not created successfully because ensurepip is not'; exit 1";
    let error = install_with_fake("3.11.2", no_ensurepip, "").await;
    assert!(matches!(error, InstallError::NoEnsurepip), "{error:?}");

    let offline = "echo 'ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)' >&2; exit 1";
    let error = install_with_fake("3.11.2", "", offline).await;
    assert!(
        matches!(&error, InstallError::Network { output } if output.contains("x==1")),
        "{error:?}"
    );

    let error = install_with_fake(
        "3.11.2",
        "",
        "echo building; echo 'no C compiler' >&2; exit 1",
    )
    .await;
    let InstallError::Failed {
        step: "pip install",
        output,
        ..
    } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(output, "building\nno C compiler");

    let error = install_with_fake("3.11.2", "", "exit 0").await;
    assert!(
        matches!(&error, InstallError::NoExecutable { package, .. } if package == "mcp-server-fetch==2026.10.24")
    );
}

#[tokio::test]
async fn an_environment_whose_python_has_gone_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("mcp");
    fs_err::create_dir_all(target.join("bin")).unwrap();
    fs_err::write(target.join("pyvenv.cfg"), "").unwrap();
    std::os::unix::fs::symlink("/no/such/python", target.join("bin/python")).unwrap();
    let python = fake_python(dir.path(), "3.11.2", "exit 1", "");
    install_with(&python, &target, &all(), |_| {})
        .await
        .unwrap_err();
    let calls = fs_err::read_to_string(dir.path().join("calls")).unwrap();
    assert_eq!(calls, format!("-m venv --clear {}\n", target.display()));
}

/// Installs into an environment whose Python runs `pip` for `-m pip --version`, and gives the calls of
/// `-m venv`.
async fn venv_calls_over(pip: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("mcp");
    fs_err::create_dir_all(target.join("bin")).unwrap();
    fs_err::write(target.join("pyvenv.cfg"), "").unwrap();
    let inside = target.join("bin/python");
    fs_err::write(
        &inside,
        format!("#!/bin/sh\ncase \"$*\" in *--version*) {pip} ;; esac\n"),
    )
    .unwrap();
    fs_err::set_permissions(&inside, std::fs::Permissions::from_mode(0o755)).unwrap();
    let python = fake_python(dir.path(), "3.11.2", "exit 1", "");
    install_with(&python, &target, &all(), |_| {})
        .await
        .unwrap_err();
    let calls = fs_err::read_to_string(dir.path().join("calls")).unwrap_or_default();
    calls.replace(target.to_str().unwrap(), "DIR")
}

#[tokio::test]
async fn an_environment_that_works_is_added_to_and_not_made_again() {
    assert_eq!(venv_calls_over("exit 0").await, "");
}

#[tokio::test]
async fn an_environment_that_was_left_without_pip_is_made_anew() {
    assert_eq!(venv_calls_over("exit 1").await, "-m venv --clear DIR\n");
}

#[tokio::test]
async fn a_second_installation_waits_for_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("mcp");
    fs_err::create_dir(&target).unwrap();
    let mut first = Some(std::fs::File::open(&target).unwrap());
    first.as_ref().unwrap().lock().unwrap();
    let python = fake_python(dir.path(), "3.11.2", "", "exit 0");
    let mut told = Vec::new();
    let result = install_with(&python, &target, &all(), |line| {
        told.push(line.to_owned());
        if line.starts_with("waiting") {
            assert!(
                !dir.path().join("calls").exists(),
                "it went on before it had the lock"
            );
            first = None;
        }
    })
    .await;
    assert!(
        matches!(result, Err(InstallError::NoExecutable { .. })),
        "{result:?}"
    );
    assert!(
        told.iter()
            .any(|line| line == "waiting for another installation to end"),
        "{told:?}"
    );
    assert!(dir.path().join("calls").exists());
}
