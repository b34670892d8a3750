//! Symbolic links that are on the disk: a path is judged by where it leads. The links are real
//! ones in a temporary folder; no command is run.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use codex_ds_hook::{
    Budgets, Context, Policy, RealFiles, Verdict, evaluate, evaluate_patch, explain,
};

/// A home with a workspace and a profile in it, and links in the workspace:
/// `build` to the home, `dist/out` to `/etc`, `logs` to a folder of the workspace, `notes` to a
/// secret, `profile` to the profile.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("codex-ds-links-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // What an earlier process of this number left.
        let _ = std::fs::remove_dir_all(&folder);
        let place = Self { folder };
        for folder in ["dist", "real", ".git"] {
            std::fs::create_dir_all(place.workspace().join(folder)).expect("a temporary folder");
        }
        std::fs::create_dir_all(place.home().join(".ssh")).expect("a temporary folder");
        std::fs::create_dir_all(place.home().join(".codex-ds")).expect("a temporary folder");
        place.link(place.home(), "build");
        place.link("/etc", "dist/out");
        place.link("real", "logs");
        place.link(place.home().join(".ssh/id_ed25519"), "notes");
        place.link(place.home().join(".codex-ds"), "profile");
        place.link("circle", "circle");
        place
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn workspace(&self) -> PathBuf {
        self.home().join("work")
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.workspace().join(name)).expect("a temporary folder");
    }

    fn context(&self) -> Context<'static> {
        Context {
            cwd: self.workspace(),
            workspace: self.workspace(),
            home: self.home(),
            user: "dev".to_owned(),
            codex_home: self.home().join(".codex-ds"),
            files: &RealFiles,
        }
    }

    fn rule(&self, command: &str) -> String {
        rule(&evaluate(command, &Policy::default(), &self.context()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A folder that stays is emptied by the system.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn rule(verdict: &Verdict) -> String {
    verdict
        .denial()
        .map_or_else(|| "passes".to_owned(), |denial| denial.rule.to_string())
}

#[test]
fn what_lies_behind_a_link_is_judged_where_it_is() {
    let place = Place::new("behind");
    let cases = [
        ("rm -rf build/*", "delete.workspace-root"),
        ("rm -rf build/", "guard.tamper"),
        ("rm -rf build/.", "guard.tamper"),
        ("rm -rf build/work", "delete.workspace-root"),
        ("cd build && rm -rf target", "delete.file"),
        ("rm -rf dist/out/*", "guard.tamper"),
        ("find dist/out/ -delete", "delete.outside"),
        ("mv dist/out/hosts dist/", "delete.outside"),
        ("echo x > dist/out/hosts", "system.write"),
        ("cp a.txt dist/out/a.txt", "system.write"),
        ("tee dist/out/hosts < a.txt", "system.write"),
        ("touch dist/out/../x dist/out/x", "system.write"),
        ("chmod 600 dist/out/hosts", "system.write"),
        ("echo x > profile/guard.toml", "guard.tamper"),
        ("rm -rf dist/../dist/out/nginx", "delete.outside"),
        ("cat notes", "secret.read"),
        ("base64 < notes", "secret.read"),
        ("bash -c 'cat notes'", "secret.read"),
        ("echo x > circle/y", "shell.limit"),
    ];
    let wrong = |case: &(&'static str, &str)| {
        let found = place.rule(case.0);
        (found != case.1).then_some((case.0, found))
    };
    let wrong: Vec<_> = cases.iter().filter_map(wrong).collect();
    assert_eq!(wrong, []);
}

#[test]
fn the_link_itself_is_what_it_is() {
    let place = Place::new("itself");
    for command in [
        "rm build",
        "rm -rf build",
        "unlink build",
        "mv build dist/moved",
        "ln -sfn real logs",
        "ls -l build dist/out",
        "readlink -f build",
    ] {
        assert_eq!(place.rule(command), "passes", "{command}");
    }
}

#[test]
fn a_link_inside_the_workspace_changes_nothing() {
    let place = Place::new("inside");
    for (command, expected) in [
        ("echo x > logs/a.log", "passes"),
        ("cat logs/a.log && cp a logs/", "passes"),
        ("rm logs/a.log", "delete.file"),
        ("rm -rf missing/build/*", "passes"),
    ] {
        assert_eq!(place.rule(command), expected, "{command}");
    }
}

#[test]
fn a_workspace_behind_a_link_is_still_one() {
    let place = Place::new("root");
    let outer = place.folder.join("shortcut");
    symlink(place.workspace(), &outer).unwrap();
    let context = Context {
        cwd: outer.clone(),
        workspace: outer,
        ..place.context()
    };
    let judge = |command: &str| rule(&evaluate(command, &Policy::default(), &context));
    assert_eq!(judge("echo x > a.txt && rm -rf target/debug"), "passes");
    assert_eq!(judge("cargo build > logs/a.log"), "passes");
    assert_eq!(judge("rm -rf build/*"), "delete.workspace-root");
}

#[test]
fn what_is_protected_is_so_by_every_name() {
    let place = Place::new("protected");
    std::fs::create_dir_all(place.home().join("data")).unwrap();
    symlink(place.home().join("data"), place.home().join("models")).unwrap();
    let policy = Policy::parse("[paths]\nprotected = [\"~/models\"]").unwrap();
    let command = format!("cp a {}/data/b", place.home().display());
    let verdict = evaluate(&command, &policy, &place.context());
    assert_eq!(rule(&verdict), "guard.protected");
}

#[test]
fn a_patch_goes_through_links_too() {
    let place = Place::new("patch");
    let judge = |head: &str| {
        let patch = format!("*** Begin Patch\n{head}\n+x\n*** End Patch\n");
        rule(&evaluate_patch(
            &patch,
            &Policy::default(),
            &place.context(),
        ))
    };
    assert_eq!(judge("*** Update File: profile/guard.toml"), "guard.tamper");
    assert_eq!(judge("*** Add File: dist/out/x"), "system.write");
    assert_eq!(judge("*** Delete File: profile"), "passes");
    assert_eq!(judge("*** Update File: logs/a.txt"), "passes");
}

#[test]
fn looks_at_the_disk_are_counted() {
    let place = Place::new("budget");
    let policy = Policy {
        budgets: Budgets {
            lookups: 30,
            ..Budgets::default()
        },
        ..Policy::default()
    };
    let judge = |command: &str| rule(&evaluate(command, &policy, &place.context()));
    assert_eq!(judge("echo x > logs/a.log"), "passes");
    assert_eq!(judge("touch a{1..40}.txt"), "shell.limit");
    assert_eq!(
        judge("for i in {1..40}; do cat s$i.txt; done"),
        "shell.limit"
    );
}

#[test]
fn the_denial_says_where_the_path_leads() {
    let place = Place::new("says");
    let command = "ls && echo x > dist/out/hosts";
    let explained = explain(command, &Policy::default(), &place.context());
    let denial = explained.verdict.denial().unwrap();
    assert_eq!(
        denial.offending,
        "write dist/out/hosts, which is /etc/hosts"
    );
    assert_eq!(
        explained.span.map(|span| &command[span]),
        Some("echo x > dist/out/hosts")
    );
}

#[test]
fn a_link_that_is_moved_leads_where_it_led() {
    let place = Place::new("moved");
    assert_eq!(
        place.rule("mv logs moved && rm -rf moved/old"),
        "delete.file"
    );
    assert_eq!(
        place.rule("mv profile moved && echo x > moved/guard.toml"),
        "guard.tamper"
    );
    assert_eq!(
        place.rule("mv dist moved && echo x > moved/out/passwd"),
        "system.write"
    );
    assert_eq!(
        place.rule("mv dist/out . && echo x > out/passwd"),
        "system.write"
    );
    assert_eq!(
        place.rule("cp -a dist moved && echo x > moved/out/passwd"),
        "system.write"
    );
    assert_eq!(place.rule("mv notes n && mv n m && cat m"), "secret.read");
    assert_eq!(
        place.rule("mv real moved && echo x > moved/a.txt"),
        "passes"
    );
    assert_eq!(
        place.rule("mv logs moved && echo x > moved/a.txt"),
        "passes"
    );
}

#[test]
fn a_chain_of_links_that_the_kernel_does_not_follow_ends_the_analysis() {
    let place = Place::new("chain");
    let chain = |length: usize| {
        let links = (0..length).map(|i| format!("ln -s l{} l{i}; ", i + 1));
        links.collect::<String>() + "echo x > l0/a"
    };
    assert_eq!(place.rule(&chain(10)), "passes");
    assert_eq!(place.rule(&chain(100)), "shell.limit");
    // As long as a command may be: each path costs no more than the links that the kernel follows.
    let steps = (0..2_000).map(|i| format!("ln -s l{i} l{0}; cat l{0}/x; ", i + 1));
    let long: String = steps.collect();
    assert_eq!(place.rule(&long), "shell.limit");
}
