//! Every line of the case files against its expected verdict.

use std::path::PathBuf;

use std::collections::BTreeMap;

use codex_ds_hook::{Context, Policy, evaluate};
use codex_ds_rules::Preset;

use super::{assert_none, cases, context};

/// Lines with another verdict than expected, for the message of a failed test.
fn wrong(name: &str, preset: Preset, denied: bool, skip: &[&str]) -> Vec<String> {
    let policy = Policy::builtin(preset);
    let context = context();
    cases(name)
        .into_iter()
        .filter(|(class, _)| !skip.contains(&class.as_str()))
        .filter_map(|(class, command)| {
            let verdict = evaluate(&command, &policy, &context);
            (verdict.is_deny() != denied).then(|| {
                let why = verdict
                    .denial()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let short: String = command.chars().take(300).collect();
                format!("{class}\t{short:?}\t{why}")
            })
        })
        .collect()
}

/// Writes the cases as seeds for the fuzz target `verdict`, each in a file of its own.
#[test]
#[ignore = "writes hook/fuzz/corpus/verdict"]
fn seeds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/verdict");
    fs_err::create_dir_all(&folder).expect("a folder of the fuzz target");
    let files = [
        "deny.tsv",
        "deny-more.tsv",
        "deny-wide.tsv",
        "deny-sound.tsv",
        "deny-files.tsv",
        "allow.tsv",
        "allow-more.tsv",
        "allow-wide.tsv",
        "allow-files.tsv",
    ];
    let all = files.iter().flat_map(|file| cases(file));
    for (at, (class, command)) in all.filter(|(_, command)| command.len() < 2_000).enumerate() {
        fs_err::write(folder.join(format!("{class}-{at}")), command).expect("a seed");
    }
}

#[test]
fn lab_denies() {
    assert_none(&wrong("deny.tsv", Preset::Lab, true, &[]));
}

#[test]
fn lab_denies_more() {
    assert_none(&wrong("deny-more.tsv", Preset::Lab, true, &[]));
}

#[test]
fn lab_denies_what_looks_excused() {
    assert_none(&wrong("deny-sound.tsv", Preset::Lab, true, &[]));
}

#[test]
fn lab_denies_what_is_written_and_run() {
    assert_none(&wrong("deny-files.tsv", Preset::Lab, true, &[]));
}

#[test]
fn both_presets_allow_what_is_written_and_harmless() {
    assert_none(&wrong("allow-files.tsv", Preset::Lab, false, &[]));
    assert_none(&wrong("allow-files.tsv", Preset::Dev, false, &[]));
}

#[test]
fn lab_denies_at_large() {
    assert_none(&wrong("deny-wide.tsv", Preset::Lab, true, &[]));
}

#[test]
fn both_presets_allow_at_large() {
    assert_none(&wrong("allow-wide.tsv", Preset::Lab, false, &[]));
    assert_none(&wrong("allow-wide.tsv", Preset::Dev, false, &[]));
}

#[test]
fn both_presets_allow_more() {
    assert_none(&wrong("allow-more.tsv", Preset::Lab, false, &[]));
    assert_none(&wrong("allow-more.tsv", Preset::Dev, false, &[]));
}

#[test]
fn lab_allows() {
    assert_none(&wrong(
        "allow.tsv",
        Preset::Lab,
        false,
        &["rm-workspace", "debatable"],
    ));
}

#[test]
fn dev_allows() {
    assert_none(&wrong("allow.tsv", Preset::Dev, false, &[]));
}

/// Of each command: the rule that denies it where these files are, if one does.
#[test]
fn what_is_on_the_disk_counts() {
    let workspace = "/home/dev/work/llm-serve";
    let files: BTreeMap<PathBuf, String> = [
        (format!("{workspace}/push.sh"), "git push --force\n"),
        (format!("{workspace}/.venv/bin/activate"), ACTIVATE),
        (
            format!("{workspace}/.venv/bin/pip"),
            "#!/home/dev/work/llm-serve/.venv/bin/python3\nimport pip\n",
        ),
        (
            "/usr/bin/pip".to_owned(),
            "#!/usr/bin/python3\nimport pip\n",
        ),
    ]
    .map(|(path, text)| (path.into(), text.to_owned()))
    .into();
    let context = Context {
        files: &files,
        ..context()
    };
    for (command, rule) in [
        ("sh push.sh", Some("git.push-force")),
        ("echo ls >> push.sh; sh push.sh", Some("git.push-force")),
        (
            "echo ls | tee -a push.sh; ./push.sh",
            Some("git.push-force"),
        ),
        ("touch push.sh; sh push.sh", Some("git.push-force")),
        ("cp push.sh dir/; sh dir/push.sh", Some("git.push-force")),
        ("echo ls > push.sh; sh push.sh", None),
        // A script of another language is judged by its name.
        ("/usr/bin/pip install x", Some("system.environment")),
        (".venv/bin/pip uninstall x", Some("system.uninstall")),
        (".venv/bin/pip install x", None),
        ("source .venv/bin/activate; pip install x", None),
        (
            "source .venv/bin/activate\npip install -e .\npytest -q",
            None,
        ),
        (
            "set -e\n. .venv/bin/activate\npython -m pip install x",
            None,
        ),
        (
            "source .venv/bin/activate; deactivate; pip install x",
            Some("system.environment"),
        ),
        (
            "source .venv/bin/activate; PATH=/usr/bin; pip install x",
            Some("system.environment"),
        ),
        (
            "false && source .venv/bin/activate; pip install x",
            Some("system.environment"),
        ),
    ] {
        let verdict = evaluate(command, &Policy::default(), &context);
        let denied = verdict.denial();
        let found = denied.map(|denial| denial.rule.to_string());
        assert_eq!(found.as_deref(), rule, "{command}: {denied:?}");
    }
}

/// What `python3 -m venv` writes, without its comments.
const ACTIVATE: &str = r#"deactivate () {
    if [ -n "${_OLD_VIRTUAL_PATH:-}" ] ; then
        PATH="${_OLD_VIRTUAL_PATH:-}"
        export PATH
        unset _OLD_VIRTUAL_PATH
    fi
    if [ -n "${_OLD_VIRTUAL_PYTHONHOME:-}" ] ; then
        PYTHONHOME="${_OLD_VIRTUAL_PYTHONHOME:-}"
        export PYTHONHOME
        unset _OLD_VIRTUAL_PYTHONHOME
    fi
    hash -r 2> /dev/null
    if [ -n "${_OLD_VIRTUAL_PS1:-}" ] ; then
        PS1="${_OLD_VIRTUAL_PS1:-}"
        export PS1
        unset _OLD_VIRTUAL_PS1
    fi
    unset VIRTUAL_ENV
    unset VIRTUAL_ENV_PROMPT
    if [ ! "${1:-}" = "nondestructive" ] ; then
        unset -f deactivate
    fi
}
deactivate nondestructive
case "$(uname)" in
    CYGWIN*|MSYS*|MINGW*)
        VIRTUAL_ENV=$(cygpath /home/dev/work/llm-serve/.venv)
        export VIRTUAL_ENV
        ;;
    *)
        export VIRTUAL_ENV=/home/dev/work/llm-serve/.venv
        ;;
esac
_OLD_VIRTUAL_PATH="$PATH"
PATH="$VIRTUAL_ENV/"bin":$PATH"
export PATH
VIRTUAL_ENV_PROMPT='(.venv) '
export VIRTUAL_ENV_PROMPT
if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT:-}" ] ; then
    _OLD_VIRTUAL_PS1="${PS1:-}"
    PS1="("'(.venv) '") ${PS1:-}"
    export PS1
fi
hash -r 2> /dev/null
"#;
