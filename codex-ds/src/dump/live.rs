//! Recording: alone until it is told to end, or around a Codex that it runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use codex_ds_wire::body::Body;
use codex_ds_wire::breakdown::Breakdown;
use reqwest::Url;
use tokio::task::JoinHandle;

use super::profile::{self, Profile};
use super::proxy;
use super::recorder::{self, Recorder, WriterOptions};
use super::report;
use super::server::{self, Answers, Desk};
use super::store::{End, Header, SCHEMA_VERSION, Session, is_model_request};
use super::tokens::{Counter, Counts};
use super::upstream::{NATIVE_PREFIX, Upstream};
use super::{Args, export, text, web};
use crate::error::UserError;
use crate::launch;
use crate::setup::endpoint;
use crate::setup::profile::{NATIVE_PROVIDER, PROVIDER};
use crate::trust::TrustList;
use crate::{exit, home, ui};

/// How long requests that are still under way get when Codex has ended.
const LINGER: Duration = Duration::from_secs(2);
/// How long the server may take to count tokens.
const COUNTING: Duration = Duration::from_secs(10);
/// How long the disk may stand still at the end before the rest is given up.
pub(super) const DISK: Duration = Duration::from_secs(10);

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8> {
    let home = home::wanted(args.place.home.home.as_deref())?;
    let home = home.canonicalize().unwrap_or(home);
    let profile = profile::read(&home)?;
    let upstream = upstream(args, &profile)?;
    if args.follow && args.wraps && is_terminal_interface(&args.codex) {
        return Err(
            UserError::usage("--follow would write into Codex's own screen")
                .hint("in another terminal: codex-ds dump show --follow")
                .into(),
        );
    }
    if args.unsafe_raw {
        ui::warn(
            "--unsafe-raw: keys and tokens are written to the file as they are; do not share it",
        );
    }
    super::runtime()?.block_on(live(args, &home, &profile, upstream))
}

fn upstream(args: &Args, profile: &Profile) -> Result<Option<Upstream>> {
    if let Some(url) = &args.upstream {
        let url = endpoint::base_url("--upstream", url)?;
        return Ok(Some(Upstream::new(&url, None)?));
    }
    match &profile.base_url {
        Some(url) if !args.record && args.wraps => {
            Ok(Some(Upstream::new(url, profile.native_url.as_ref())?))
        }
        _ => Ok(None),
    }
}

/// Whether these arguments start Codex's terminal interface.
fn is_terminal_interface(codex: &[OsString]) -> bool {
    let headless = ["exec", "e", "review"];
    !codex
        .iter()
        .any(|arg| headless.iter().any(|word| arg == word))
}

async fn live(
    args: &Args,
    home: &std::path::Path,
    profile: &Profile,
    upstream: Option<Upstream>,
) -> Result<u8> {
    let listener = server::bind(args.bind, args.port, args.allow_remote).await?;
    let mut stop = Stop::listen()?;
    let address = listener.local_addr().context("a listener has an address")?;
    let header = Header {
        schema_version: SCHEMA_VERSION,
        started_ms: recorder::now_ms(),
        upstream: upstream
            .as_ref()
            .map(|upstream| upstream.root().to_string()),
        codex_args: args
            .codex
            .iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect(),
        redacted: !args.unsafe_raw,
    };
    let follow = args.follow || !args.wraps;
    let options = WriterOptions {
        redactor: (!args.unsafe_raw).then(|| profile.keys.clone()),
        on_end: follow.then(|| Box::new(follow_line) as recorder::OnEnd),
        on_failure: Box::new(|error| {
            ui::warn(&format!(
                "the record has a hole: the disk refuses it: {error}"
            ));
        }),
    };
    let recorder = Recorder::start(&args.place.folder()?, &header, options)?;
    let path = recorder.path().to_owned();
    let counter = upstream
        .as_ref()
        .map(|upstream| (upstream.client().clone(), upstream.root().clone()));
    let desk = Arc::new(Desk {
        recorder,
        answers: upstream.map_or(Answers::Itself, Answers::Upstream),
    });
    proxy::read_counters(&desk, 0).await;
    let serving = tokio::spawn(server::serve(listener, Arc::clone(&desk)));
    let mut page = None;
    if args.web || args.open {
        let served = web::Page::serve(&args.place.folder()?).await?;
        served.announce(args.open);
        page = Some(served);
    }

    let code = if args.wraps {
        codex(args, home, profile, address, &mut stop).await?
    } else {
        announce(&desk, address, &path);
        stop.told().await?;
        exit::OK
    };
    end(&desk, &serving).await;
    if !desk.recorder.flush(DISK) {
        ui::warn("the disk did not take everything in time; the report may lack the last requests");
    }
    if desk.recorder.lost() > 0 {
        ui::warn(&format!(
            "{} bytes passed and were not written down: the disk was too slow",
            text::count(desk.recorder.lost())
        ));
    }
    let session = Session::read(&path)?;
    let counts = match counter {
        Some((client, root)) => count(&session, client, &root).await,
        None => BTreeMap::new(),
    };
    if args.har {
        ui::json(&export::har(&session));
    } else if args.json {
        ui::json(&report::session_json(&session, &counts));
    } else {
        ui::out(&report::session(&session, &counts));
    }
    let held = budget(args, &session);
    if page.is_some() && args.wraps {
        ui::err("the page is there until Ctrl-C\n");
        stop.told().await?;
    }
    Ok(if held { code } else { exit::FAILURE })
}

fn follow_line(end: &End) {
    ui::err(&report::line(end));
}

fn announce(desk: &Desk, address: SocketAddr, path: &std::path::Path) {
    let to = match &desk.answers {
        Answers::Itself => "answering each request with a minimal turn".to_owned(),
        Answers::Upstream(upstream) => format!("passing requests on to {}", upstream.root()),
    };
    ui::err(&format!(
        "listening on http://{address}/v1, {to}\nwriting {}\nstop with Ctrl-C\n",
        path.display()
    ));
}

/// Gives requests that are still under way a moment to end, then cuts them off.
pub(super) async fn end(desk: &Desk, serving: &JoinHandle<()>) {
    settle(desk).await;
    desk.recorder.stop();
    serving.abort();
    // Each of those that are cut off says so to the record.
    settle(desk).await;
}

/// Waits until nothing is under way, at most [`LINGER`].
async fn settle(desk: &Desk) {
    let deadline = tokio::time::Instant::now() + LINGER;
    // Each handler that is under way, and each look at the counters, holds the recorder.
    while desk.recorder.under_way() > 0 && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Who told us to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Ctrl-C.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
}

/// Ears for Ctrl-C and for being told to end: from [`Stop::listen`] on neither ends the program.
pub(super) struct Stop {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Stop {
    #[cfg(unix)]
    pub(super) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for either.
    #[cfg(unix)]
    pub(super) async fn told(&mut self) -> Result<Told> {
        Ok(tokio::select! {
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.terminate.recv() => Told::Terminate,
        })
    }

    #[cfg(not(unix))]
    pub(super) fn listen() -> Result<Self> {
        Ok(Self {})
    }

    /// Waits for Ctrl-C.
    #[cfg(not(unix))]
    pub(super) async fn told(&mut self) -> Result<Told> {
        tokio::signal::ctrl_c()
            .await
            .context("cannot listen for Ctrl-C")?;
        Ok(Told::Interrupt)
    }
}

/// Runs Codex with its providers turned to us, and gives its exit code.
async fn codex(
    args: &Args,
    home: &std::path::Path,
    profile: &Profile,
    address: SocketAddr,
    stop: &mut Stop,
) -> Result<u8> {
    let cwd = std::env::current_dir().context("cannot tell the working folder")?;
    let (trusted, complaint) = TrustList::load_or_empty(home);
    let launch = launch::plan_with(
        &launch::Inputs {
            args: &args.codex,
            cwd: &cwd,
            home,
            trusted: &trusted,
            user_home: home::user_home().ok().as_deref(),
            path: std::env::var_os("PATH").as_deref(),
            ourselves: std::env::current_exe().ok().as_deref(),
        },
        &overrides(profile, address),
    )?;
    for warning in complaint.iter().chain(&launch.warnings) {
        ui::warn(warning);
    }
    let mut command = tokio::process::Command::from(launch.command());
    if args.json || args.har {
        // Standard output is for the report alone then.
        command.stdout(Stdio::from(stderr()?));
    }
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", launch.program.display()))?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.context("cannot wait for Codex")?,
            told = stop.told() => pass_on(told?, &child),
        }
    };
    Ok(code(status))
}

#[cfg(unix)]
fn stderr() -> Result<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd as _;
    std::io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .context("cannot hand on standard error")
}

#[cfg(not(unix))]
fn stderr() -> Result<std::process::Stdio> {
    Ok(Stdio::inherit())
}

/// Hands a signal on to Codex.
#[cfg(unix)]
fn pass_on(told: Told, child: &tokio::process::Child) {
    use rustix::process::Signal;

    let signal = match told {
        Told::Terminate => Signal::TERM,
        // The terminal sends it to Codex itself.
        Told::Interrupt if std::io::stdin().is_terminal() => return,
        Told::Interrupt => Signal::INT,
    };
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        // Codex may have ended by itself.
        let _ = rustix::process::kill_process(id, signal);
    }
}

#[cfg(not(unix))]
fn pass_on(_: Told, _: &tokio::process::Child) {}

fn code(status: std::process::ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        // As shells have it.
        return u8::try_from(128 + signal).unwrap_or(exit::FAILURE);
    }
    status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(exit::FAILURE)
}

/// The options that turn the profile's providers to us, for one run.
pub(super) fn overrides(profile: &Profile, address: SocketAddr) -> Vec<OsString> {
    let set = |id: &str, prefix: &str| {
        let value = format!("model_providers.{id}.base_url=\"http://{address}{prefix}/v1\"");
        [OsString::from("-c"), OsString::from(value)]
    };
    let mut all = set(PROVIDER, "").to_vec();
    if profile.native_url.is_some() {
        all.extend(set(NATIVE_PROVIDER, NATIVE_PREFIX));
    }
    all
}

/// Exact tokens for the request that the report takes apart, where the server counts.
async fn count(session: &Session, client: reqwest::Client, root: &Url) -> BTreeMap<u64, Counts> {
    let mut all = BTreeMap::new();
    if let Some(largest) = report::largest(session)
        && let Some(body) = largest.request.body.as_deref()
        && let Some(model) = largest.end.as_ref().and_then(|end| end.model.clone())
    {
        let counter = Counter::new(client, root, &model, COUNTING);
        let breakdown = Breakdown::of(&Body::read(body));
        let counts = counter.count(&breakdown, body).await.ok();
        all.insert(largest.request.n, counts);
    }
    all
}

/// Whether every request for an answer is within `--max-bytes`; says which are not.
fn budget(args: &Args, session: &Session) -> bool {
    let Some(most) = args.max_bytes else {
        return true;
    };
    let asked: Vec<_> = session
        .exchanges
        .iter()
        .filter(|exchange| is_model_request(&exchange.request.method, &exchange.request.path))
        .collect();
    if asked.is_empty() {
        ui::err(
            "error: no request for an answer came, so there is nothing to hold against --max-bytes\n",
        );
        return false;
    }
    let mut held = true;
    for exchange in asked {
        let size = report::size(exchange);
        if size <= most {
            continue;
        }
        held = false;
        ui::err(&format!(
            "error: request {} has {} bytes, {} over --max-bytes {}\n",
            exchange.request.n,
            text::count(size),
            text::count(size - most),
            text::count(most)
        ));
        if let Some(body) = exchange.request.body.as_deref() {
            ui::err(&report::offenders(&Breakdown::of(&Body::read(body))));
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_provider_is_turned_only_where_there_is_one() {
        let address: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        let mut profile = Profile::default();
        assert_eq!(
            overrides(&profile, address),
            [
                "-c",
                "model_providers.codex-ds.base_url=\"http://127.0.0.1:9/v1\""
            ]
        );
        profile.native_url = Url::parse("http://127.0.0.1:1/v1").ok();
        assert_eq!(
            overrides(&profile, address)[3],
            "model_providers.codex-ds-native.base_url=\"http://127.0.0.1:9/native/v1\""
        );
    }
}
