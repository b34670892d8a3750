//! The page of checks is the tables, written out: `UPDATE_DOCS=1 cargo test -p codex-ds-deploy`
//! writes it anew.

use std::path::Path;

use codex_ds_deploy::check;
use codex_ds_deploy::cluster::diagnose::{Recovery, failures};

fn page() -> String {
    let mut text = "# Checks of `codex-ds deploy`\n\n\
        Made from the tables in the code. Every code is a heading here and never changes.\n\n\
        ## Of a site and of manifests (`codex-ds deploy check`)\n\n\
        An error keeps the stack from coming up, or from coming up as it should; a warning gets it into\n\
        trouble; a note could be better.\n"
        .to_owned();
    let mut last = "";
    for rule in check::all() {
        // Some rules look at both a site and manifests.
        if rule.code != last {
            text += &[
                "\n### ",
                rule.code,
                "\n\n",
                rule.severity.word(),
                ": ",
                rule.says,
                ".\n\nFix: ",
                rule.fix,
                ".\n",
            ]
            .concat();
        }
        last = rule.code;
    }
    text += "\n## Of a live stack (`codex-ds deploy status`)\n\n\
        `codex-ds deploy recover` restarts both ranks, or removes failed pods, where that is said.\n";
    for failure in failures() {
        let recovery = match failure.recovery {
            Recovery::None => "",
            Recovery::Clean => " `recover` removes the failed pods.",
            Recovery::Group => " `recover` restarts both ranks, in order.",
        };
        text += &[
            "\n### ",
            failure.code,
            "\n\n",
            failure.severity.word(),
            ": ",
            failure.says,
            ".\n\nFix: ",
            failure.fix,
            ".",
            recovery,
            "\n",
        ]
        .concat();
    }
    text
}

#[test]
fn the_page_of_checks_is_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deploy-checks.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs_err::write(&path, &page).unwrap();
    }
    assert_eq!(
        fs_err::read_to_string(&path).unwrap(),
        page,
        "run with UPDATE_DOCS=1"
    );
}

#[test]
fn no_code_is_used_twice() {
    let mut codes: Vec<&str> = failures().map(|failure| failure.code).collect();
    codes.extend(check::all().iter().map(|rule| rule.code));
    codes.sort_unstable();
    let live: Vec<&str> = failures().map(|failure| failure.code).collect();
    for pair in codes.windows(2) {
        assert!(
            pair[0] != pair[1] || !live.contains(&pair[0]),
            "{} is both a check and a failure",
            pair[0]
        );
    }
}
