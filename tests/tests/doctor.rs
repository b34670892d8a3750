//! `codex-ds doctor` on the real Codex: an untouched profile is well, and of each fault exactly the
//! right check tells, with the evidence.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use codex_ds_tests::peers::CodexVersion;
use codex_ds_tests::scenario::{make_private, router, server as server_of, setup};
use codex_ds_tests::{Run, TestEnvironment, each_codex};
use codex_ds_wire::Secret;
use codex_ds_wire::standin::Config;
use insta::assert_snapshot;
use serde_json::Value;

#[path = "doctor/faults.rs"]
mod faults;

/// An environment with the newest Codex and a profile.
fn set_up(more: &[&str]) -> TestEnvironment {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let env = TestEnvironment::with_codex(newest);
    setup(&env, &router(vec![]), more);
    env
}

/// The checks of this machine.
fn doctor(env: &TestEnvironment, args: &[&str]) -> Run {
    let all = ["doctor", "--offline"].iter().chain(args);
    env.codex_ds(all).run()
}

fn json(env: &TestEnvironment, args: &[&str]) -> (Run, Value) {
    let run = doctor(env, &[&["--json"], args].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
    (run, report)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What did not pass: the id, the status, and what was measured of the worst finding.
fn complaints(report: &Value) -> Vec<(String, String, String)> {
    let checks = report["checks"].as_array().expect("a list of checks");
    checks
        .iter()
        .filter(|check| !matches!(text(&check["status"]), "pass" | "skip"))
        .map(|check| {
            let measured = text(&check["findings"][0]["measured"]);
            [text(&check["id"]), text(&check["status"]), measured].map(str::to_owned)
        })
        .map(|[id, status, measured]| (id, status, measured))
        .collect()
}

/// The ids of the checks that ended with this status.
fn with_status<'r>(report: &'r Value, status: &str) -> Vec<&'r str> {
    let checks = report["checks"].as_array().expect("a list of checks");
    checks
        .iter()
        .filter(|check| check["status"] == status)
        .map(|check| text(&check["id"]))
        .collect()
}

#[test]
fn an_untouched_profile_is_well_and_stays_untouched() {
    each_codex(|version, env| {
        setup(env, &router(vec![]), &[]);
        // The guard notes each denial, of which set-up has seen one.
        let before = files(&env.profile());
        let (run, report) = json(env, &[]);
        assert_eq!(complaints(&report), [], "{run}");
        // There is no site in the working folder.
        assert_eq!(with_status(&report, "skip"), ["cluster.site"], "{run}");
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(report["versions"]["codex"], version.to_string());
        assert_eq!(before, files(&env.profile()));
    });
}

/// The files and folders below a folder, by their path in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(next) = todo.pop() {
        for entry in fs_err::read_dir(next).expect("it is the test's own") {
            let path = entry.expect("it is only read").path();
            let name = path.strip_prefix(folder).expect("it is below");
            found.push(name.to_string_lossy().into_owned());
            if path.is_dir() {
                todo.push(path);
            }
        }
    }
    found.retain(|name| !name.starts_with("guard/"));
    found.sort();
    found
}

fn edit(env: &TestEnvironment, file: &str, change: impl Fn(&str) -> String) {
    let path = env.profile().join(file);
    let text = fs_err::read_to_string(&path).expect("set-up wrote it");
    let changed = change(&text);
    assert_ne!(text, changed, "{file} has nothing to change");
    fs_err::write(&path, changed).expect("it is the test's own");
}

fn replace(env: &TestEnvironment, file: &str, from: &str, to: &str) {
    edit(env, file, |text| text.replace(from, to));
}

fn append(env: &TestEnvironment, file: &str, more: &str) {
    edit(env, file, |text| format!("{text}{more}"));
}

/// In front of the first table.
fn prepend(env: &TestEnvironment, file: &str, more: &str) {
    edit(env, file, |text| format!("{more}{text}"));
}

fn take_away(env: &TestEnvironment, file: &str) {
    fs_err::remove_file(env.profile().join(file)).expect("set-up wrote it");
}

fn mode(path: &Path, mode: u32) {
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}

const HOOK: &str = "bin/codex-ds-hook";

#[test]
fn a_profile_that_is_reached_by_a_link_is_well() {
    let mut env = set_up(&[]);
    let link = env.root().join("link");
    symlink(env.profile(), &link).expect("it is new");
    env.set("CODEX_DS_HOME", &link);
    let (run, report) = json(&env, &[]);
    assert_eq!(complaints(&report), [], "{run}");
    let place = check(&report, "home.place");
    assert!(text(&place["findings"][0]["measured"]).contains("link leads to"));
}

fn check<'r>(report: &'r Value, id: &str) -> &'r Value {
    let checks = report["checks"].as_array().expect("a list of checks");
    checks
        .iter()
        .find(|check| check["id"] == id)
        .unwrap_or_else(|| panic!("{id} was not run"))
}

#[test]
fn a_profile_that_was_moved_is_none() {
    let mut env = set_up(&[]);
    let moved = env.home().join("moved");
    fs_err::rename(env.profile(), &moved).expect("it is the test's own");
    env.set("CODEX_DS_HOME", &moved);
    let (run, report) = json(&env, &[]);
    let profile = "~/.codex-ds".to_owned();
    assert_eq!(
        complaints(&report),
        [("home.receipt".to_owned(), "fail".to_owned(), profile)],
        "{run}"
    );
    assert!(with_status(&report, "skip").contains(&"guard.denies"));
}

#[test]
fn a_profile_under_the_temporary_folder_is_in_reach_of_a_command() {
    let mut env = set_up(&[]);
    env.set("TMPDIR", env.home());
    let (run, report) = json(&env, &[]);
    let found = complaints(&report);
    assert_eq!(found.len(), 1, "{run}");
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_str()),
        ("home.place", "fail")
    );
}

#[test]
fn a_key_file_that_others_can_read() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let env = TestEnvironment::with_codex(newest);
    let key = env.write("home/key", "sk-live-0123456789abcdef\n");
    make_private(&key);
    let config = Config {
        api_key: Some(Secret::new("sk-live-0123456789abcdef")),
        ..Config::router()
    };
    let path = key.to_str().expect("the path is UTF-8");
    setup(&env, &server_of(config, vec![]), &["--api-key-file", path]);
    let well = doctor(&env, &[]).success();
    mode(&key, 0o644);
    let (run, report) = json(&env, &[]);
    let mode = (
        "home.permissions".to_owned(),
        "fail".to_owned(),
        "mode 0644".to_owned(),
    );
    assert_eq!(complaints(&report), [mode], "{run}");
    // It is the user's file.
    assert_eq!(
        check(&report, "home.permissions")["findings"][0]["remedy"]["fixable"],
        false
    );
    for text in [&well.stdout, &run.stdout] {
        assert!(!text.contains("0123456789abcdef"), "{text}");
    }
}

#[test]
fn without_a_codex_it_looks_at_the_files_all_the_same() {
    let mut env = set_up(&[]);
    let only = env.root().join("only");
    fs_err::create_dir(&only).expect("it is new");
    symlink("/bin/sh", only.join("sh")).expect("it is new");
    env.set("PATH", &only);
    // Set-up remembers where it found one.
    edit(&env, "receipt.json", |text| {
        let mut receipt: Value = serde_json::from_str(text).expect("it is JSON");
        receipt["codex"] = Value::Null;
        receipt.to_string()
    });
    let (run, report) = json(&env, &[]);
    assert_eq!(run.code, Some(3), "{run}");
    let failed = complaints(&report);
    assert_eq!(failed.len(), 1, "{run}");
    assert_eq!(failed[0].0, "codex.found");
    assert!(with_status(&report, "pass").contains(&"catalog.sound"));
}

#[test]
fn a_second_codex_and_a_newer_one() {
    let mut env = set_up(&[]);
    let mut versions = CodexVersion::all();
    let oldest = versions.next().expect("a version is listed");
    let newest = versions.last().expect("two versions are listed");
    let path = |first: &Path, second: &Path| {
        format!("{}:{}:{}", first.display(), second.display(), env_path())
    };
    let fake = env.write("fake/codex", "#!/bin/sh\necho codex-cli 0.999.0\n");
    mode(&fake, 0o755);
    let fake = fake.parent().expect("it is in a folder").to_owned();
    env.set("PATH", path(&newest.bin_dir(), &oldest.bin_dir()));
    let (run, report) = json(&env, &["--only", "codex"]);
    let second = ("codex.others".to_owned(), "warn".to_owned());
    let found = complaints(&report);
    assert_eq!((found[0].0.clone(), found[0].1.clone()), second, "{run}");
    assert!(found[0].2.contains(&oldest.to_string()), "{run}");

    env.set("PATH", path(&fake, Path::new("/none")));
    let (run, report) = json(&env, &["--only", "codex.version"]);
    let found = complaints(&report);
    assert_eq!(found.len(), 1, "{run}");
    assert_eq!(
        (found[0].0.as_str(), found[0].2.as_str()),
        ("codex.version", "0.999.0")
    );
    assert_eq!(
        check(&report, "codex.version")["findings"][1]["measured"],
        "0.999.0"
    );
}

/// The folders of the programs that Codex's npm package runs on.
fn env_path() -> String {
    std::env::var("PATH").expect("the tests are run with one")
}

#[test]
fn a_repository_that_weakens_the_profile_and_is_trusted() {
    let env = set_up(&[]);
    fs_err::create_dir(env.work().join(".git")).expect("it is new");
    let config = "sandbox_mode = \"danger-full-access\"\n";
    env.write("work/.codex/config.toml", config);
    let (run, report) = json(&env, &["--only", "guard.repository"]);
    assert_eq!(complaints(&report), [], "{run}");
    assert_snapshot!(text(&check(&report, "guard.repository")["summary"]).replace(&env.work().display().to_string(), "[WORK]"), @"[WORK]/.codex does not count: you have not trusted it");

    env.codex_ds(["trust", "--yes", "."]).run().success();
    let (run, report) = json(&env, &[]);
    let found = complaints(&report);
    assert_eq!(found.len(), 1, "{run}");
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_str()),
        ("guard.repository", "warn")
    );
    assert!(
        found[0].2.contains("commands run without a sandbox"),
        "{run}"
    );
}

#[test]
fn a_trusted_repository_that_overrides_a_key_is_named() {
    each_codex(|_, env| {
        setup(env, &router(vec![]), &[]);
        fs_err::create_dir(env.work().join(".git")).expect("it is new");
        env.write(
            "work/.codex/config.toml",
            "model_reasoning_summary = \"auto\"\n",
        );
        let (run, report) = json(env, &["--only", "config.overridden"]);
        assert_eq!(complaints(&report), [], "{run}");
        env.codex_ds(["trust", "--yes", "."]).run().success();
        let (run, report) = json(env, &["--only", "config.overridden"]);
        let found = check(&report, "config.overridden");
        assert_eq!(found["status"], "warn", "{run}");
        let source = text(&found["findings"][0]["source"]);
        assert!(
            source.starts_with("the repository's ") && source.ends_with("/.codex"),
            "{run}"
        );
    });
}

#[test]
fn another_codex_ds_that_is_at_work_is_seen() {
    let env = set_up(&[]);
    let lock = fs_err::File::open(env.profile().join(".codex-ds.lock")).expect("set-up made it");
    lock.file().lock().expect("nobody else has it");
    let (run, report) = json(&env, &["--only", "home.leftovers"]);
    let found = complaints(&report);
    assert_eq!(found.len(), 1, "{run}");
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_str()),
        ("home.leftovers", "warn")
    );
}

#[test]
fn a_profile_without_a_guard_is_a_warning() {
    let env = set_up(&["--no-guard"]);
    let (run, report) = json(&env, &[]);
    let warned = (
        "guard.policy".to_owned(),
        "warn".to_owned(),
        "--no-guard".to_owned(),
    );
    assert_eq!(complaints(&report), [warned], "{run}");
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(
        doctor(&env, &["--strict", "--only", "guard.policy"]).code,
        Some(1)
    );
}

#[test]
fn what_a_user_reads() {
    let env = set_up(&[]);
    take_away(&env, "instructions.md");
    prepend(&env, "config.toml", "modle = \"x\"\n");
    let run = doctor(&env, &["--only", "home,config.loads,instructions.file"]);
    let shown = run.normalised(&run.stdout);
    // Versions, digests and times differ.
    let shown: Vec<&str> = shown
        .lines()
        .filter(|line| !line.starts_with("codex 0") && !line.contains("codex.found"))
        .collect();
    let (last, lines) = shown.split_last().expect("there are lines");
    assert_snapshot!(lines.join("\n"), @"
    codex-ds doctor: ~/.codex-ds, profile all

    ok    home.place         ~/.codex-ds
    ok    home.receipt       8 files, by codex-ds 0.1.0
    ok    home.permissions   readable by you alone
    ok    home.leftovers     none
    ok    home.daemon        none
    ok    config.parses      config.toml and the profiles over it
    ok    config.provider    deepseek-v4-flash-cc at http://127.0.0.1:[PORT]/v1; deepseek-v4-flash at http://127.0.0.1:[PORT]/v1
    ok    profiles.read      default, fast, native
    ok    catalog.sound      deepseek-v4-flash-cc, deepseek-v4-flash
    skip  config.loads       needs instructions.file, which did not pass
    FAIL  instructions.file  the instructions cannot be read: Codex does not start
          measured  No such file or directory (os error 2)
          expected  a text
          source    config.toml: model_instructions_file, ~/.codex-ds/instructions.md
          fix       run set-up again: it writes the file anew (codex-ds doctor --fix does it)
          run       codex-ds setup
          more      codex-ds doctor --explain instructions.file
    ");
    assert!(last.starts_with("1 failed, "), "{last}");
    assert_eq!(run.code, Some(1));
}

#[test]
fn explains_and_lists() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.codex_ds(["doctor", "--explain", "guard.denies"]).run(), @"
    ### guard.denies

    The proof: in the turn of `codex.turn` the model asks for a command that the guard stops under every preset, that Codex's
    own rules know nothing of, and that would only make a file in a temporary folder. The file must not be there, and the
    model must have been told that the guard stopped it. (The denial stands in `codex-ds guard log`.)

    **If it fails:** do not let a model work in this profile until it passes.
    ");
    assert_snapshot!(env.codex_ds(["doctor", "--explain", "guard.denie"]).run(), @"
    ------- stderr -------
    error: --explain guard.denie: there is no such check
    hint: did you mean --explain guard.denies?
    [exit status: 2]
    ");
    assert_snapshot!(env.codex_ds(["doctor", "--list", "--only", "codex"]).run(), @"
    codex.found        codex    Codex is installed
    codex.version      codex    its version was tested, and is the one that the profile was made for
    codex.others       codex    no other Codex is on PATH
    codex.turn         codex    a headless turn works, against a server in this program
    config.parses      offline  the configuration is TOML
    config.loads       codex    the installed Codex loads it
    config.provider    offline  the model's provider is there, with an address
    profiles.selected  offline  the profile that was named is there
    profiles.read      offline  Codex reads every profile that lies in the folder
    catalog.sound      offline  the catalog is there, and Codex would take every part of it
    instructions.file  offline  the system prompt is there
    rules.load         codex    the installed Codex loads the command rules
    ");
    assert_snapshot!(env.codex_ds(["doctor"]).run(), @"
    ------- stderr -------
    error: there is no profile in [PROFILE]
    hint: make one: codex-ds setup --endpoint http://HOST:PORT/v1
    hint: or name the folder of one with --home, or in CODEX_DS_HOME
    [exit status: 3]
    ");
    let listed = env.codex_ds(["doctor", "--list", "--json"]).run().success();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    assert_eq!(listed["schema_version"], 1);
}

#[test]
fn repairs_what_set_up_wrote_and_shows_it_first() {
    let newest = CodexVersion::all().last().expect("a version is listed");
    let env = TestEnvironment::with_codex(newest);
    let server = router(vec![]);
    setup(&env, &server, &[]);
    let before = fs_err::read_to_string(env.profile().join("config.toml")).expect("ours");
    let break_it = || {
        take_away(&env, HOOK);
        take_away(&env, "instructions.md");
        take_away(&env, "model-catalog.json");
        replace(&env, "config.toml", "trusted_hash", "#");
        mode(&env.profile().join("config.toml"), 0o644);
        prepend(&env, "config.toml", "model_verbosity = \"low\"\n");
    };
    break_it();
    let asked = env.codex_ds(["doctor", "--fix"]).run();
    assert_eq!(asked.code, Some(2), "{asked}");
    assert!(asked.stdout.contains("+++ instructions.md"), "{asked}");
    assert!(!env.profile().join("instructions.md").exists());

    let run = env
        .codex_ds(["doctor", "--fix", "--yes", "--json"])
        .run()
        .success();
    let report: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    assert_eq!(complaints(&report), [], "{run}");
    // A router says nothing of its engine, and there is no site.
    let mut skipped = with_status(&report, "skip");
    skipped.retain(|id| !id.starts_with("engine.") && !id.starts_with("cluster."));
    assert_eq!(skipped, [""; 0], "{run}");
    let after = fs_err::read_to_string(env.profile().join("config.toml")).expect("ours");
    assert!(after.contains("model_verbosity = \"low\""), "{after}");
    assert_eq!(
        before.matches("trusted_hash").count(),
        after.matches("trusted_hash").count()
    );

    // Without the endpoint, what does not depend on it is repaired all the same.
    drop(server);
    take_away(&env, HOOK);
    let run = doctor(&env, &["--fix", "--yes"]).success();
    assert!(run.stdout.contains("bin/codex-ds-hook: program, "), "{run}");
    assert!(env.profile().join(HOOK).exists());
}
