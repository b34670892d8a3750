use super::*;
use crate::error::render;
use crate::trust::{Entry, Snapshot};

/// A profile and a few repositories in a temporary folder.
struct World {
    root: tempfile::TempDir,
    trusted: TrustList,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let world = Self {
            root,
            trusted: TrustList::default(),
        };
        world.write("home/config.toml", "");
        world.write("home/native.config.toml", "");
        world.write("codex", "");
        world.write(
            "home/receipt.json",
            &serde_json::json!({
                "codex": {"path": world.at("codex"), "pinned": true},
                "choices": {"no_guard": true},
            })
            .to_string(),
        );
        world.write("r/.git/HEAD", "");
        world.write(
            "r/.codex/config.toml",
            "sandbox_mode = \"danger-full-access\"\n",
        );
        world.write("r/sub/file", "");
        world.write("r/deep/.codex/config.toml", "");
        world.write("plain/file", "");
        world
    }

    /// The real path, as everywhere in a launch.
    fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("a path").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs_err::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs_err::write(path, text).expect("a file");
    }

    fn trust(&mut self, name: &str) {
        let path = self.at(name);
        let sha256 = Snapshot::read(&path)
            .expect("a snapshot")
            .digest()
            .to_owned();
        self.trusted.add(Entry { path, sha256 });
    }

    fn plan(&self, cwd: &str, line: &str) -> Result<Launch> {
        let args = shell_words::split(line).expect("a line");
        let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
        plan(&Inputs {
            args: &args,
            cwd: &self.at(cwd),
            home: &self.at("home"),
            trusted: &self.trusted,
            user_home: Some(&self.at("plain")),
            path: None,
            ourselves: None,
        })
    }

    fn launch(&self, cwd: &str, line: &str) -> Launch {
        self.plan(cwd, line).expect("a launch")
    }

    /// The folders below the temporary one by trust, from the pin.
    fn pinned(&self, launch: &Launch) -> Vec<(String, String)> {
        let value = launch
            .args
            .iter()
            .find(|arg| arg.to_string_lossy().starts_with("projects="))
            .expect("a pin")
            .to_string_lossy()
            .into_owned();
        let document: toml_edit::DocumentMut = value.parse().expect("TOML");
        let root = format!(
            "{}/",
            self.at("").display().to_string().trim_end_matches('/')
        );
        document["projects"]
            .as_inline_table()
            .expect("a table")
            .iter()
            .filter_map(|(key, value)| {
                let level = value.as_inline_table()?.get("trust_level")?.as_str()?;
                Some((key.strip_prefix(&root)?.to_owned(), level.to_owned()))
            })
            .collect()
    }
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

const NO: &str = "untrusted";
const YES: &str = "trusted";
const NONE: [&str; 0] = [];

#[test]
fn pins_stand_in_front_and_the_rest_is_untouched() {
    let world = World::new();
    let launch = world.launch("plain", "exec --json 'a  b' -");
    assert_eq!(launch.program, world.at("codex"));
    assert_eq!(
        launch.env,
        [("CODEX_HOME".into(), world.at("home").into_os_string())]
    );
    assert_eq!(
        launch.args[..4],
        [
            "-c",
            "features.hooks=true",
            "-c",
            "features.unified_exec_tty=false"
        ]
    );
    assert_eq!(launch.args[6..], ["exec", "--json", "a  b", "-"]);
    assert_eq!(launch.warnings, Vec::<String>::new());
}

#[test]
fn every_folder_above_is_pinned_also_above_the_root() {
    let world = World::new();
    let launch = world.launch("r/sub", "");
    assert_eq!(world.pinned(&launch), pairs(&[("r", NO), ("r/sub", NO)]));
    let root = launch.args[5].to_string_lossy().into_owned();
    assert!(root.contains("\"/\"={trust_level=\"untrusted\"}"), "{root}");
}

#[test]
fn a_workspace_that_holds_the_profile_is_refused() {
    let world = World::new();
    let above = world.at("").display().to_string();
    let refused = |cwd: &str, line: &str| {
        let (text, code) = render(&world.plan(cwd, line).expect_err("it is refused"));
        assert_eq!(code, crate::exit::USAGE, "{line}");
        assert!(text.contains("could replace the guard"), "{text}");
    };
    refused("", "exec hi");
    refused("home", "");
    refused("plain", &format!("-C {above} exec hi"));
    refused("plain", "exec --add-dir .. hi");
    assert!(world.plan("", "login status").is_ok());
    assert!(world.plan("", "-C plain exec hi").is_ok());
    world.write(
        "home/config.toml",
        &format!("[sandbox_workspace_write]\nwritable_roots = [{above:?}]\n"),
    );
    refused("plain", "exec hi");
}

#[test]
fn however_deep_the_folder_what_codex_looks_up_is_pinned() {
    let world = World::new();
    let deep = format!("r/{}", "dddddddddd/".repeat(200));
    let deep = deep.trim_end_matches('/');
    world.write(&format!("{deep}/file"), "");
    let marked = format!(
        "[projects.{:?}]\ntrust_level = \"trusted\"\n",
        world.at("r")
    );
    world.write("home/config.toml", &marked);
    let pinned = world.pinned(&world.launch(deep, "exec hi"));
    for folder in [deep, "r"] {
        let pin = (folder.to_owned(), NO.to_owned());
        assert!(pinned.contains(&pin), "{folder}");
    }
}

#[test]
fn the_folder_of_cd_is_pinned_as_well() {
    let world = World::new();
    for line in [
        "-C ../r/deep",
        "exec --cd=../r/deep hi",
        "exec hi -C../r/deep",
    ] {
        let launch = world.launch("plain", line);
        let pinned = world.pinned(&launch);
        for folder in ["r", "r/deep", "plain"] {
            assert!(
                pinned.contains(&(folder.into(), NO.into())),
                "{line}: {pinned:?}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_linked_folder_is_pinned_as_spelled_and_as_it_is() {
    let world = World::new();
    std::os::unix::fs::symlink(world.at("r/deep"), world.at("link")).expect("a link");
    let launch = world.launch("plain", "-C ../link");
    let pinned = world.pinned(&launch);
    for folder in ["r", "r/deep", "link"] {
        assert!(
            pinned
                .iter()
                .any(|(key, level)| key.ends_with(folder) && level == NO),
            "{pinned:?}"
        );
    }
}

#[test]
fn a_trusted_repository_is_pinned_trusted_until_it_changes() {
    let mut world = World::new();
    world.trust("r");
    assert_eq!(world.pinned(&world.launch("r", "")), pairs(&[("r", YES)]));
    assert_eq!(
        world.pinned(&world.launch("r/sub", "")),
        pairs(&[("r", YES), ("r/sub", YES)])
    );
    assert_eq!(world.launch("r/sub", "").warnings, NONE);
    // Its own .codex was never shown.
    assert_eq!(
        world.pinned(&world.launch("r/deep", "")),
        pairs(&[("r", YES), ("r/deep", NO)])
    );

    world.write("r/.codex/hooks.json", "{}");
    assert_eq!(
        world.pinned(&world.launch("r/sub", "exec hi")),
        pairs(&[("r", NO), ("r/sub", NO)])
    );
}

#[test]
fn says_which_configuration_does_not_count() {
    let mut world = World::new();
    let warnings = |world: &World, cwd: &str, line: &str| {
        let root = world.at("").display().to_string();
        let all = world.launch(cwd, line).warnings;
        all.iter()
            .map(|w| w.replace(&root, "/"))
            .collect::<Vec<_>>()
    };
    let unknown = "/r/.codex does not count: you have not trusted it; see codex-ds trust";
    assert_eq!(warnings(&world, "r/sub", "exec hi"), [unknown]);
    assert_eq!(warnings(&world, "plain", "-C ../r"), [unknown]);
    assert_eq!(warnings(&world, "r/sub", "login status"), NONE);
    world.trust("r");
    world.write("r/.codex/hooks.json", "{}");
    assert_eq!(
        warnings(&world, "r", ""),
        [
            "/r/.codex does not count: it is no longer what you trusted: its content changed; see codex-ds trust"
        ]
    );
    // The user's own.
    world.write("plain/.codex/config.toml", "");
    assert_eq!(warnings(&world, "plain", ""), NONE);
}

#[test]
fn what_the_profile_marks_trusted_is_pinned_over() {
    let mut world = World::new();
    let text = format!(
        "[projects.{:?}]\ntrust_level = \"trusted\"\n[projects.{:?}]\ntrust_level = \"trusted\"\n",
        world.at("r"),
        world.at("elsewhere"),
    );
    world.write("home/config.toml", &text);
    world.trust("r");
    assert_eq!(
        world.pinned(&world.launch("plain", "")),
        pairs(&[("elsewhere", NO), ("plain", NO), ("r", YES)])
    );
}

#[test]
fn the_folders_of_stored_sessions_are_pinned_where_a_session_may_go_there() {
    let world = World::new();
    let line = format!("{{\"payload\":{{\"cwd\":{:?}", world.at("r"));
    world.write("home/sessions/2026/11/30/rollout-1.jsonl", &line);
    let has = |line: &str| {
        world
            .pinned(&world.launch("plain", line))
            .contains(&("r".to_owned(), NO.to_owned()))
    };
    assert!(has("resume --last") && has("") && has("fork"));
    assert!(!has("exec resume --last") && !has("login"));
}

#[test]
fn overrides_of_a_command_get_the_pins_in_front_of_them() {
    let world = World::new();
    let launch = world.launch("plain", "exec --json -c a=1 -c b=2 resume --config=c=3");
    let pins = launch.args[..6].to_vec();
    let expected: Vec<OsString> = [
        pins.clone(),
        vec!["exec".into(), "--json".into()],
        pins.clone(),
        ["-c", "a=1", "-c", "b=2", "resume"]
            .map(OsString::from)
            .to_vec(),
        pins,
        vec!["--config=c=3".into()],
    ]
    .concat();
    assert_eq!(launch.args, expected);
}

#[test]
fn a_leading_double_dash_is_ours() {
    let world = World::new();
    assert_eq!(
        world.launch("plain", "-- doctor --json").args[6..],
        ["doctor", "--json"]
    );
    assert_eq!(
        world.launch("plain", "exec -- --yolo").args[6..],
        ["exec", "--", "--yolo"]
    );
}

#[test]
fn agents_md_is_handed_over_where_the_pin_drops_it() {
    let mut world = World::new();
    world.write("r/AGENTS.md", "use tabs");
    world.write("home/config.toml", "developer_instructions = \"own\"\n");
    let instructions = |launch: &Launch| {
        launch.args.iter().find_map(|arg| {
            arg.to_string_lossy()
                .strip_prefix("developer_instructions=")
                .map(str::to_owned)
        })
    };
    let text = instructions(&world.launch("r/sub", "exec hi")).expect("instructions");
    assert!(
        text.starts_with("\"own\\n\\n") && text.contains("use tabs"),
        "{text}"
    );
    assert!(instructions(&world.launch("plain", "-C ../r")).is_some());
    assert_eq!(instructions(&world.launch("plain", "")), None);
    assert_eq!(instructions(&world.launch("r", "login status")), None);
    let long = format!("developer_instructions = \"{}\"\n", "x".repeat(120_000));
    world.write("home/config.toml", &long);
    let launch = world.launch("r", "exec hi");
    assert_eq!(instructions(&launch), None);
    assert!(
        launch
            .warnings
            .iter()
            .any(|w| w.contains("AGENTS.md is left out")),
        "{launch:?}"
    );
    world.trust("r");
    assert_eq!(instructions(&world.launch("r", "")), None);
}

#[test]
fn says_what_weakens_the_profile() {
    let world = World::new();
    let mut lines = String::new();
    for line in [
        "exec --disable hooks",
        "--disable=hooks",
        "--disable goals",
        "--enable unified_exec_tty",
        "exec --ignore-user-config --ignore-rules",
        "--yolo",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        "-s danger-full-access",
        "-sdanger-full-access",
        "--sandbox read-only",
        "--oss",
        "--remote ws://x",
        "exec --trust",
        "--worktree",
        "app-server",
        "-c features.hooks=false",
        "-c 'features.hooks = true'",
        "-c 'features={goals=true}'",
        "-c 'hooks.state={}'",
        "-c model=x",
        "exec -- --yolo",
    ] {
        lines = format!("{lines}{line}\n");
        for warning in world.launch("plain", line).warnings {
            lines = format!("{lines}    {warning}\n");
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn what_would_lift_the_pin_is_refused() {
    let world = World::new();
    for line in [
        "-c 'projects={\"/x\"={trust_level=\"trusted\"}}'",
        "exec hi -c projects./x.trust_level=trusted",
        "exec '--config= projects ={}'",
    ] {
        let (text, code) = render(&world.plan("plain", line).expect_err("refused"));
        assert_eq!(code, crate::exit::USAGE, "{line}");
        assert!(text.contains("codex-ds trust PATH"), "{text}");
    }
}

#[test]
fn a_profile_has_to_exist() {
    let world = World::new();
    assert!(world.plan("plain", "exec -p native hi").is_ok());
    assert!(world.plan("plain", "-p default").is_ok());
    let (text, _) = render(
        &world
            .plan("plain", "exec hi --profile=natve")
            .expect_err("no profile"),
    );
    let text = text.replace(&world.at("").display().to_string(), "/");
    insta::assert_snapshot!(text, @r#"
    error: there is no profile named "natve": /home/natve.config.toml is not there
    hint: profiles: default, native
    "#);
}

#[cfg(unix)]
#[test]
fn bytes_that_are_no_text_are_handed_on() {
    use std::os::unix::ffi::OsStringExt as _;
    let world = World::new();
    let odd = OsString::from_vec(b"fix \xff".to_vec());
    let launch = plan(&Inputs {
        args: std::slice::from_ref(&odd),
        cwd: &world.at("plain"),
        home: &world.at("home"),
        trusted: &world.trusted,
        user_home: None,
        path: None,
        ourselves: None,
    })
    .expect("a launch");
    assert_eq!(launch.args.last(), Some(&odd));
}
