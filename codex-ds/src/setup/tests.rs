//! Set-up as a whole, in a real folder: interrupted at every step, run again, undone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use codex_ds_catalog as catalog;
use codex_ds_rules::Preset;

use super::endpoint::Kind;
use super::profile::{self, Decisions, Key, Side};
use super::receipt::Receipt;
use super::{apply, plan};
use crate::undo;

type Files = BTreeMap<String, Vec<u8>>;

/// Every file below `folder`, by its path in it.
fn files(folder: &Path) -> Files {
    fn walk(root: &Path, folder: &Path, out: &mut Files) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, out);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                out.insert(name, fs_err::read(&path).unwrap());
            }
        }
    }
    let mut out = Files::new();
    walk(folder, folder, &mut out);
    out
}

fn put(home: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = home.join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
}

fn decisions(model: &str) -> Decisions {
    let side = Side {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        kind: Kind::LiteLlm,
        model: catalog::Served {
            id: model.to_owned(),
            max_model_len: None,
        },
    };
    Decisions {
        native: side.clone(),
        main: side,
        key: Key::Placeholder,
        context: None,
        window: catalog::window(None, None).unwrap(),
        mcp: Vec::new(),
        preset: Preset::Lab,
    }
}

#[test]
fn a_receipt_may_name_what_a_profile_has_and_nothing_else() {
    let mut names: Vec<_> = profile::files(&decisions("m"), Vec::new())
        .unwrap()
        .iter()
        .map(|wanted| wanted.name)
        .collect();
    names.sort_unstable();
    assert_eq!(names, super::receipt::FILES);
}

fn make(home: &Path, model: &str) -> plan::Plan {
    let wanted = profile::files(&decisions(model), model.as_bytes().to_vec()).unwrap();
    let guard = plan::Guard {
        command: Some(profile::hook_command(home)),
        trust: true,
    };
    let receipts = Receipt::load(home).unwrap();
    let read = |name: &str| crate::file::read_optional(&home.join(name));
    plan::make(home, wanted, &guard, &receipts, Receipt::new(home), read).unwrap()
}

/// Sets up, and stops after `steps` steps as a crash would. Whether it came to the end.
fn set_up(home: &Path, model: &str, steps: usize) -> bool {
    let plan = make(home, model);
    let mut done = 0;
    let mut ended = true;
    apply::apply(home, &plan, &mut |_| {
        done += 1;
        if done > steps {
            ended = false;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    ended
}

/// What may stand in a home before the first set-up.
const BEFORE: &[&[(&str, &str)]] = &[
    &[],
    &[("notes.txt", "mine\n"), ("auth.json", "{}")],
    &[
        (
            "config.toml",
            "# mine\nmodel = \"gpt\" # old\nmine = 1\n\n[features]\nhooks = false\n\n[mcp_servers.x]\ncommand = \"x\"\n",
        ),
        (
            "rules/default.rules",
            "prefix_rule(pattern=[\"ls\"], decision=\"allow\")\n",
        ),
        ("instructions.md", "my own\n"),
        ("fast.config.toml", "model_reasoning_effort = \"low\"\n"),
    ],
    &[(
        "config.toml",
        "[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/mine\"\n",
    )],
];

#[test]
fn interrupted_at_any_step_a_second_run_ends_as_if_nothing_had_happened() {
    for before in BEFORE {
        let whole = tempfile::tempdir().unwrap();
        // One path for all, since the trust entry holds it.
        let home = whole.path().join("home");
        for earlier in [None, Some("earlier")] {
            let start = |home: &Path| {
                let _ = std::fs::remove_dir_all(home);
                fs_err::create_dir_all(home).unwrap();
                put(home, before);
                if let Some(model) = earlier {
                    assert!(set_up(home, model, usize::MAX));
                }
            };
            start(&home);
            assert!(set_up(&home, "m", usize::MAX));
            let expected = files(&home);
            assert!(
                !make(&home, "m").changes_anything(),
                "a second plan is empty"
            );
            let mut steps = 0;
            loop {
                start(&home);
                if set_up(&home, "m", steps) {
                    break;
                }
                set_up(&home, "m", usize::MAX);
                assert_eq!(
                    names_that_differ(&files(&home), &expected),
                    [""; 0],
                    "after {steps} steps"
                );
                steps += 1;
            }
            assert!(steps > 5, "the loop went through the steps");
        }
    }
}

#[test]
fn interrupted_at_any_step_undo_gives_back_what_was_there() {
    for before in BEFORE {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        for earlier in [None, Some("earlier")] {
            for steps in 0.. {
                fs_err::remove_dir_all(home).unwrap();
                fs_err::create_dir_all(home).unwrap();
                put(home, before);
                let original = files(home);
                if let Some(model) = earlier {
                    set_up(home, model, usize::MAX);
                }
                let ended = set_up(home, "m", steps);
                undo::undo(home).unwrap();
                assert_eq!(
                    names_that_differ(&files(home), &original),
                    [""; 0],
                    "after {steps} steps"
                );
                undo::undo(home).unwrap();
                if ended {
                    break;
                }
            }
        }
    }
}

#[test]
fn what_the_user_and_codex_wrote_later_outlives_set_up_and_undo() {
    for before in BEFORE {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        put(home, before);
        set_up(home, "m", usize::MAX);
        let edit = |name: &str, change: &dyn Fn(String) -> String| {
            let text = fs_err::read_to_string(home.join(name)).unwrap();
            fs_err::write(home.join(name), change(text)).unwrap();
        };
        edit("config.toml", &|text| {
            text.replace(
                "sandbox_mode = \"workspace-write\"",
                "sandbox_mode = \"read-only\" # safer",
            ) + "\n[projects.\"/repo\"]\ntrust_level = \"trusted\"\n"
        });
        edit("rules/default.rules", &|text| {
            text + "prefix_rule(pattern=[\"make\"], decision=\"allow\")\n"
        });
        edit("instructions.md", &|text| text + "Answer in Dutch.\n");
        set_up(home, "other", usize::MAX);
        let config = fs_err::read_to_string(home.join("config.toml")).unwrap();
        for part in [
            "\"read-only\" # safer",
            "[projects.\"/repo\"]",
            "model = \"other\"",
        ] {
            assert!(config.contains(part), "{part} in {config}");
        }
        assert!(
            fs_err::read_to_string(home.join("instructions.md"))
                .unwrap()
                .contains("Dutch")
        );
        assert!(!make(home, "other").changes_anything());

        undo::undo(home).unwrap();
        let config = fs_err::read_to_string(home.join("config.toml")).unwrap();
        for part in ["\"read-only\" # safer", "[projects.\"/repo\"]"] {
            assert!(config.contains(part), "{part} in {config}");
        }
        for part in ["model_provider", "codex-ds-hook", "trusted_hash"] {
            assert!(!config.contains(part), "{part} in {config}");
        }
        let rules = fs_err::read_to_string(home.join("rules/default.rules")).unwrap();
        assert!(
            rules.contains("make") && !rules.contains("codex-ds"),
            "{rules}"
        );
        assert!(
            fs_err::read_to_string(home.join("instructions.md"))
                .unwrap()
                .contains("Dutch")
        );
    }
}

/// Configurations in every form that TOML allows for what we write.
const FORMS: &[&str] = &[
    "model = \"gpt\" # old\n[features]\nhooks = false # why\n",
    "\u{feff}model = \"gpt\"\r\n[features]\r\nhooks = false\r\n",
    "[model]\na = 1\n",
    "model.a = 1\n",
    "# mine\n[features]\n# only a comment\n",
    "features = { other = 1 }\n",
    "hooks = {}\n",
    "hooks.PreToolUse = []\n",
    "[features.deep]\nx = 1\n",
    "model_providers = { \"codex-ds\" = { name = \"z\" } }\n",
];

#[test]
fn an_edit_after_set_up_leaves_the_rest_as_it_was() {
    for form in FORMS {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        put(home, &[("config.toml", form)]);
        set_up(home, "m", usize::MAX);
        let ends = if form.contains('\r') { "\r\n" } else { "\n" };
        let later = format!("{ends}[later]{ends}z = 1{ends}");
        let config = home.join("config.toml");
        let text = fs_err::read_to_string(&config).unwrap();
        fs_err::write(&config, format!("{text}{later}")).unwrap();
        set_up(home, "m", usize::MAX);
        undo::undo(home).unwrap();
        assert_eq!(
            fs_err::read_to_string(&config).unwrap(),
            format!("{form}{later}")
        );
    }
}

#[test]
fn what_stood_there_before_survives_whatever_happens_to_our_file() {
    let original = [
        ("instructions.md", "my own\n"),
        ("config.toml", "mine = 1\n"),
    ];
    let read = |home: &Path, name: &str| fs_err::read_to_string(home.join(name)).unwrap();
    for set_up_again in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        put(home, &original);
        set_up(home, "m", usize::MAX);
        for (name, _) in original {
            fs_err::remove_file(home.join(name)).unwrap();
        }
        if set_up_again {
            set_up(home, "m", usize::MAX);
        }
        undo::undo(home).unwrap();
        for (name, text) in original {
            assert_eq!(read(home, name), text, "{name}");
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    put(home, &original);
    set_up(home, "m", usize::MAX);
    put(home, &[("instructions.md", "edited\n")]);
    undo::undo(home).unwrap();
    assert_eq!(read(home, "instructions.md"), "edited\n");
    assert_eq!(read(home, "instructions.md.before-codex-ds"), "my own\n");
    set_up(home, "m", usize::MAX);
    undo::undo(home).unwrap();
    assert_eq!(read(home, "instructions.md"), "edited\n");
    assert_eq!(read(home, "instructions.md.before-codex-ds"), "my own\n");
}

#[test]
fn a_receipt_that_names_what_is_not_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs_err::create_dir(&home).unwrap();
    set_up(&home, "m", usize::MAX);
    let receipt = home.join(super::receipt::NAME);
    let text = fs_err::read_to_string(&receipt).unwrap();
    for (ours, theirs) in [
        ("\"trees\": []", "\"trees\": [\"../victim\"]"),
        ("\"trees\": []", "\"trees\": [\"sessions\"]"),
        ("\"instructions.md\"", "\"../victim\""),
    ] {
        fs_err::write(&receipt, text.replace(ours, theirs)).unwrap();
        let error = undo::undo(&home).unwrap_err().to_string();
        assert!(error.contains("never writes"), "{error}");
        assert!(home.join("config.toml").exists());
    }
    fs_err::write(&receipt, "{\"schema_version\": 99}").unwrap();
    let error = undo::undo(&home).unwrap_err().to_string();
    assert!(error.contains("schema_version is 99"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay_the_users() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (home, dot) = (folder.path().join("home"), folder.path().join("dot"));
    for folder in [&home, &dot] {
        fs_err::create_dir(folder).unwrap();
    }
    put(&dot, &[("config.toml", "mine = 1\n")]);
    fs_err::set_permissions(
        dot.join("config.toml"),
        std::fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    symlink("../dot/config.toml", home.join("config.toml")).unwrap();
    symlink("../dot/guard.toml", home.join("guard.toml")).unwrap();
    set_up(&home, "m", usize::MAX);
    assert!(
        fs_err::read_to_string(dot.join("config.toml"))
            .unwrap()
            .contains("model_provider")
    );
    assert!(dot.join("guard.toml").exists());
    undo::undo(&home).unwrap();
    assert!(home.join("config.toml").is_symlink());
    assert_eq!(
        fs_err::read_to_string(dot.join("config.toml")).unwrap(),
        "mine = 1\n"
    );
    let mode = fs_err::metadata(dot.join("config.toml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o644);
    assert!(!dot.join("guard.toml").exists());
}

fn names_that_differ(left: &Files, right: &Files) -> Vec<String> {
    left.keys()
        .chain(right.keys())
        .filter(|name| left.get(*name) != right.get(*name))
        .cloned()
        .collect()
}
