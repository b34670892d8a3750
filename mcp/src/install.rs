//! The servers in a folder of their own: a Python virtual environment with the pinned packages.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::network;
use crate::process::{Group, Tail, piped};
use crate::servers::Server;

/// What an installation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// False if everything was there before.
    pub changed: bool,
    /// The servers' programs, in the order asked for.
    pub executables: Vec<PathBuf>,
}

/// The oldest Python that both servers run on (`requires-python` of their packages).
const OLDEST_PYTHON: (u32, u32) = (3, 10);

/// Why the servers could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No Python.
    #[error("there is no {}", python.display())]
    NoPython {
        /// The program looked for, on PATH if it is a bare name.
        python: PathBuf,
    },
    /// A Python that the servers do not run on.
    #[error("python3 is {found}; the MCP servers need {}.{} or newer", OLDEST_PYTHON.0, OLDEST_PYTHON.1)]
    OldPython {
        /// Its version.
        found: String,
    },
    /// A Python without the module that puts pip into a virtual environment.
    #[error("python3 cannot make a virtual environment: its ensurepip module is missing")]
    NoEnsurepip,
    /// The package index was not reached.
    #[error("pip did not reach the package index; it wrote:\n{output}")]
    Network {
        /// The end of its output.
        output: String,
    },
    /// Python or pip failed in another way.
    #[error("{step} failed ({status}); it wrote:\n{output}")]
    Failed {
        /// Which step.
        step: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The end of its output.
        output: String,
    },
    /// pip was content, but a program is not there.
    #[error("{} was installed, but {} is not there", package, path.display())]
    NoExecutable {
        /// The package.
        package: String,
        /// The program that it should have brought.
        path: PathBuf,
    },
    /// The folder could not be made or locked.
    #[error("cannot use the folder {}", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program could not be run.
    #[error("cannot run {}", program.display())]
    Io {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl InstallError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            InstallError::NoPython { .. } | InstallError::OldPython { .. } => {
                "install Python 3.10 or newer, or uv (its uvx brings its own), or set up with `--mcp none`"
            }
            InstallError::NoEnsurepip => {
                "on Debian or Ubuntu: `sudo apt install python3-venv`; or install uv, or set up with `--mcp none`"
            }
            InstallError::Network { .. } => {
                "connect once and run set-up again, or set up with `--mcp none`; behind a proxy set HTTPS_PROXY, \
                 with a mirror PIP_INDEX_URL"
            }
            InstallError::Folder { .. } => "make the folder writable, or set up with `--mcp none`",
            InstallError::Failed { .. }
            | InstallError::NoExecutable { .. }
            | InstallError::Io { .. } => {
                "remove the folder and run set-up again; if it fails again, set up with `--mcp none`"
            }
        }
    }
}

/// Installs the servers into the virtual environment `dir`, made if it is not there. Each line of
/// pip's output goes to `progress`.
///
/// It changes nothing, and needs neither network nor `python3`, if the pinned versions are there
/// already. An installation that was interrupted is completed.
///
/// # Errors
/// See [`InstallError`]. What was made stays, for the next try.
pub async fn install(
    dir: &Path,
    servers: &[&Server],
    progress: impl FnMut(&str),
) -> Result<Installed, InstallError> {
    install_with(Path::new("python3"), dir, servers, progress).await
}

/// [`install`] with another Python than the `python3` on PATH.
///
/// # Errors
/// See [`InstallError`].
pub async fn install_with(
    python: &Path,
    dir: &Path,
    servers: &[&Server],
    mut progress: impl FnMut(&str),
) -> Result<Installed, InstallError> {
    let executables: Vec<PathBuf> = servers
        .iter()
        .map(|server| executable(dir, server))
        .collect();
    let wanted: Vec<String> = servers.iter().map(|server| server.pinned()).collect();
    let complete = |found: &Option<Vec<String>>| {
        found.as_ref() == Some(&wanted) && executables.iter().all(|path| path.is_file())
    };
    if complete(&probe(dir, servers).await) {
        return Ok(Installed {
            changed: false,
            executables,
        });
    }
    check_python(python, &mut progress).await?;
    let _lock = lock(dir, &mut progress).await?;
    let found = probe(dir, servers).await;
    if complete(&found) {
        return Ok(Installed {
            changed: false,
            executables,
        });
    }
    // Made again over one that works, an environment would mix two Pythons where `python3` has
    // changed since.
    if !pip_runs(dir).await {
        progress(&format!(
            "making a virtual environment in {}",
            dir.display()
        ));
        let mut venv = tokio::process::Command::new(python);
        venv.args(["-m", "venv"]);
        // What is left of an environment whose Python or pip does not run cannot be built upon.
        if dir.join("pyvenv.cfg").is_file() {
            venv.arg("--clear");
        }
        run("python3 -m venv", venv.arg(dir), &mut progress).await?;
    }

    let mut pip = tokio::process::Command::new(dir.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
    ])
    .args(&wanted);
    run("pip install", &mut pip, &mut progress).await?;
    for (server, path) in servers.iter().zip(&executables) {
        if !path.is_file() {
            return Err(InstallError::NoExecutable {
                package: server.pinned(),
                path: path.clone(),
            });
        }
    }
    Ok(Installed {
        changed: true,
        executables,
    })
}

fn executable(dir: &Path, server: &Server) -> PathBuf {
    dir.join("bin").join(server.executable)
}

/// How often the lock is tried. Waiting for it in the kernel could not be given up.
const RETRY: Duration = Duration::from_millis(200);

/// Makes the folder and locks it: two installations at once would remove each other's files. The
/// lock goes with the file.
async fn lock(dir: &Path, progress: &mut impl FnMut(&str)) -> Result<File, InstallError> {
    let failed = |source| InstallError::Folder {
        dir: dir.to_owned(),
        source,
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let folder = File::open(dir).map_err(failed)?;
    let mut told = false;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                if !told {
                    progress("waiting for another installation to end");
                    told = true;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Prints, for each package named, what is installed of it.
const PROBE: &str = "
import sys
from importlib.metadata import PackageNotFoundError, version
for package in sys.argv[1:]:
    try:
        print(package, version(package), sep='==')
    except PackageNotFoundError:
        print(package)
";

/// What the environment holds of the servers' packages; `None` if its Python does not run.
async fn probe(dir: &Path, servers: &[&Server]) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut python = tokio::process::Command::new(dir.join("bin/python"));
    python
        .args(["-I", "-c", PROBE])
        .args(servers.iter().map(|server| server.package));
    run("python", &mut python, &mut |line| {
        found.push(line.to_owned());
    })
    .await
    .ok()?;
    Some(found)
}

/// Whether the environment can be added to: an interrupted `venv` leaves a Python without pip, and
/// one whose Python has gone runs nothing.
async fn pip_runs(dir: &Path) -> bool {
    let mut pip = tokio::process::Command::new(dir.join("bin/python"));
    pip.args(["-I", "-m", "pip", "--version"]);
    run("pip", &mut pip, &mut |_| {}).await.is_ok()
}

async fn check_python(python: &Path, progress: &mut impl FnMut(&str)) -> Result<(), InstallError> {
    let mut version = String::new();
    let mut ask = tokio::process::Command::new(python);
    ask.args(["-c", "import sys; print(*sys.version_info[:3], sep='.')"]);
    run("python3", &mut ask, &mut |line| {
        line.clone_into(&mut version);
    })
    .await
    .map_err(|error| match error {
        InstallError::Io { program, source } if source.kind() == io::ErrorKind::NotFound => {
            InstallError::NoPython { python: program }
        }
        other => other,
    })?;
    progress(&format!("found Python {version}"));
    let mut parts = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or_default());
    if (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    ) < OLDEST_PYTHON
    {
        return Err(InstallError::OldPython { found: version });
    }
    Ok(())
}

/// Runs a program to its end, its output line by line to `progress`.
async fn run(
    step: &'static str,
    command: &mut tokio::process::Command,
    progress: &mut impl FnMut(&str),
) -> Result<(), InstallError> {
    let program = PathBuf::from(command.as_std().get_program());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed = |source| InstallError::Io {
        program: program.clone(),
        source,
    };
    let mut group = Group::spawn(command).map_err(failed)?;
    let errors = Tail::of(piped(&mut group.child.stderr));
    let printed = lines(piped(&mut group.child.stdout), progress).await;
    // Its output has ended, so it is about to go, or has closed its output and works on.
    let status = group.stop(Duration::from_secs(600)).await.map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    // venv explains a missing ensurepip on its standard output, pip its failures on the other.
    let output = [printed, errors.text().await].join("\n").trim().to_owned();
    if output.contains("ensurepip is not") || output.contains("No module named ensurepip") {
        return Err(InstallError::NoEnsurepip);
    }
    if network::unreached(&output) {
        return Err(InstallError::Network { output });
    }
    Err(InstallError::Failed {
        step,
        status,
        output,
    })
}

/// How many lines of standard output an error repeats.
const KEPT_LINES: usize = 20;

async fn lines(stream: impl AsyncRead + Unpin, progress: &mut impl FnMut(&str)) -> String {
    let mut reader = BufReader::new(stream);
    let mut kept: Vec<String> = Vec::new();
    let mut line = Vec::new();
    while let Ok(1..) = reader.read_until(b'\n', &mut line).await {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        progress(&text);
        if kept.len() == KEPT_LINES {
            kept.remove(0);
        }
        kept.push(text);
        line.clear();
    }
    kept.join("\n")
}
