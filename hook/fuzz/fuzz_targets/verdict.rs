//! Every text gets a verdict: no panic, no work beyond the limits, and a reason that fits.
#![no_main]

use std::path::PathBuf;

use codex_ds_hook::{Context, NoFiles, Policy, evaluate, explain, respond};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let policy = Policy::default();
    let home = PathBuf::from("/home/dev/.codex-ds");
    let _ = respond(input, &policy, &home);
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let context = Context {
        cwd: PathBuf::from("/home/dev/work"),
        workspace: PathBuf::from("/home/dev/work"),
        home: PathBuf::from("/home/dev"),
        user: "dev".to_owned(),
        codex_home: home,
        files: &NoFiles,
    };
    let verdict = evaluate(text, &policy, &context);
    assert_eq!(verdict, explain(text, &policy, &context).verdict);
    if let Some(denial) = verdict.denial() {
        assert!(denial.to_string().chars().count() <= 400);
    }
});
