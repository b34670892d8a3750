//! The steps that most tests share: a server, a profile for it, a turn.

use std::path::{Path, PathBuf};

use codex_ds_wire::standin::{Config, Recorded, Script, StandIn, Turn};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::run::Run;

/// A stand-in that looks like a router with the two routes of a profile, and says `turns`.
///
/// # Panics
/// When the system gives no port.
#[must_use]
pub fn router(turns: Vec<Turn>) -> StandIn {
    server(Config::router(), turns)
}

/// A stand-in that says `turns`.
///
/// # Panics
/// When the system gives no port.
#[must_use]
pub fn server(config: Config, turns: Vec<Turn>) -> StandIn {
    StandIn::start(config, Script::new(turns)).expect("a port on 127.0.0.1 is free")
}

/// What a model says that does what the doctor's probes tell it.
#[must_use]
pub fn obedient() -> Vec<Turn> {
    let oslo = json!({"name": "Oslo"});
    let numbers: Vec<String> = (1..=60).map(|n| n.to_string()).collect();
    vec![
        Turn::text("4711").reasoning("It was found.").when("4711"),
        Turn::mcp_call("mcp__probe", "lookup_number", oslo.clone())
            .reasoning("I look it up.")
            .when("mcp__probe"),
        Turn::call("lookup_number", oslo)
            .reasoning("I look it up.")
            .when("lookup_number"),
        Turn::text(numbers.join(" "))
            .when("Count from 1")
            .tokens_per_second(80.0),
        Turn::text("Yes.").reasoning("I am asked to say yes."),
    ]
    .into_iter()
    .map(Turn::stays)
    .collect()
}

/// The model runs `command`.
#[must_use]
pub fn shell(command: &str) -> Turn {
    Turn::call("exec_command", json!({ "cmd": command }))
}

/// Writes a profile without MCP servers for `server`.
///
/// # Panics
/// When set-up fails.
#[track_caller]
#[expect(clippy::must_use_candidate, reason = "called for its effect")]
pub fn setup(env: &TestEnvironment, server: &StandIn, more: &[&str]) -> Run {
    let none = ["--mcp", "none"];
    setup_at(env, &server.base_url(), &[&none, more].concat())
}

/// Writes a profile for the server at `base_url`.
///
/// # Panics
/// When set-up fails.
#[track_caller]
#[expect(clippy::must_use_candidate, reason = "called for its effect")]
pub fn setup_at(env: &TestEnvironment, base_url: &str, more: &[&str]) -> Run {
    let args = ["setup", "--endpoint", base_url];
    env.codex_ds(args.iter().chain(more)).run().success()
}

/// `codex-ds exec` with `args`; the folder it works in need be no repository.
///
/// # Panics
/// When it cannot be started.
#[track_caller]
#[expect(clippy::must_use_candidate, reason = "called for its effect")]
pub fn exec(env: &TestEnvironment, args: &[&str]) -> Run {
    let exec = ["exec", "--skip-git-repo-check"];
    env.codex_ds(exec.iter().chain(args)).run()
}

/// Runs one headless turn, and returns the only request of the model that it made.
///
/// # Panics
/// When the turn fails, or makes another number of requests.
#[track_caller]
#[expect(clippy::must_use_candidate, reason = "called for its effect")]
pub fn one_request(env: &TestEnvironment, server: &StandIn, args: &[&str]) -> Recorded {
    let before = server.model_requests().len();
    let run = exec(env, args).success();
    let mut requests = server.model_requests().split_off(before);
    assert_eq!(requests.len(), 1, "{run}");
    requests.remove(0)
}

/// The tokens of the prompt that the server counted, by the events of `exec --json`.
///
/// # Panics
/// When no turn was completed.
#[must_use]
pub fn input_tokens(run: &Run) -> u64 {
    run.stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|event| event["usage"]["input_tokens"].as_u64())
        .unwrap_or_else(|| panic!("no turn was completed\n{run}"))
}

/// A `CODEX_HOME` with nothing but an endpoint in it: Codex unmodified.
///
/// # Panics
/// When it cannot be written.
#[must_use]
pub fn plain_home(env: &TestEnvironment, base_url: &str) -> PathBuf {
    let config = format!(
        "model = \"deepseek-v4-flash\"\nmodel_provider = \"plain\"\n\
         [model_providers.plain]\nname = \"plain\"\nbase_url = \"{base_url}\"\n"
    );
    env.write("plain/config.toml", &config);
    env.root().join("plain")
}

/// The names of the files that set-up wrote, by its receipt, which is the last of them.
///
/// # Panics
/// When there is no receipt.
#[must_use]
pub fn written_files(env: &TestEnvironment) -> Vec<PathBuf> {
    let profile = env.profile();
    let path = profile.join("receipt.json");
    let text = fs_err::read_to_string(&path).expect("set-up wrote a receipt");
    let receipt: Value = serde_json::from_str(&text).expect("a receipt is JSON");
    let files = receipt["files"].as_object().expect("a receipt lists files");
    let mut files: Vec<_> = files.keys().map(|name| profile.join(name)).collect();
    files.push(path);
    files
}

/// `codex-ds doctor` on the way to the model.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn doctor_of_the_chain(env: &TestEnvironment, more: &[&str]) -> Run {
    let only = "network,endpoint,wire,engine";
    env.codex_ds([&["doctor", "--json", "--only", only], more].concat())
        .run()
}

/// What a doctor's report says of each check, in its order.
///
/// # Panics
/// When it is no report.
#[must_use]
pub fn checks(run: &Run) -> Vec<Value> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"));
    report["checks"]
        .as_array()
        .expect("a report has checks")
        .clone()
}

/// The checks that neither passed nor were skipped: `id status`.
///
/// # Panics
/// When it is no report.
#[must_use]
pub fn wrong_checks(run: &Run) -> Vec<String> {
    checks(run)
        .iter()
        .filter(|check| check["status"] != "pass" && check["status"] != "skip")
        .map(|check| {
            let text = |key: &str| check[key].as_str().unwrap_or_default();
            format!("{} {}", text("id"), text("status"))
        })
        .collect()
}

/// Makes `file` a program.
///
/// # Panics
/// When it is not there.
pub fn make_executable(file: &Path) {
    set_mode(file, 0o755);
}

/// Makes `file` readable by its owner alone.
///
/// # Panics
/// When it is not there.
pub fn make_private(file: &Path) {
    set_mode(file, 0o600);
}

fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::set_permissions(file, std::fs::Permissions::from_mode(mode))
        .expect("the file is the test's own");
}
