//! What the blocks of data in the documents are read by: the program that reads such a file.

use codex_ds_tests::TestEnvironment;
use serde_json::Value;

/// Has the product read a block of data.
///
/// # Panics
/// When it does not take it, or no reader is known for such a block of this document.
pub(crate) fn read(env: &TestEnvironment, document: &str, language: &str, text: &str) {
    match (document, language) {
        ("docs/guard.md", "toml") => policy(env, text),
        ("docs/validate.md", "toml") => case(env, text),
        ("docs/eval.md", "python") => order_of_options(env, text),
        _ => panic!("{document}: no reader is known for its block of {language}"),
    }
}

/// A `guard.toml`: one that is not valid is named in every denial, and its rules do not count.
fn policy(env: &TestEnvironment, text: &str) {
    fs_err::write(env.profile().join("guard.toml"), text).expect("the profile is the test's own");
    env.codex_ds(["guard", "check", "make test"])
        .run()
        .success();
    let denied = env.codex_ds(["guard", "check", "make deploy"]).run();
    assert_eq!(denied.code, Some(1), "{denied}");
    assert!(denied.stdout.contains("mine.deploy"), "{denied}");
}

/// A case of the validation.
fn case(env: &TestEnvironment, text: &str) {
    env.write("work/cases/of-the-document.toml", text);
    let run = env
        .codex_ds(["validate", "--cases", "cases", "--list"])
        .run();
    let run = run.success();
    assert!(run.stdout.contains("of-the-document"), "{run}");
}

/// A function that gives the order of a question's options, as the results have it.
fn order_of_options(env: &TestEnvironment, text: &str) {
    let results = fs_err::read_to_string(env.work().join("before.jsonl")).expect("the results");
    let records: Vec<Value> = results
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let orders: Vec<_> = records
        .iter()
        .filter_map(|record| Some((record["id"].as_str()?, record.get("order")?)))
        .collect();
    assert!(orders.len() > 2, "{results}");
    let mut script = format!("from hashlib import sha256\n{text}\n");
    for (id, order) in orders {
        use std::fmt::Write as _;
        let _ = writeln!(script, "assert order(0, {id:?}) == {order}, {id:?}");
    }
    let script = env.write("order.py", &script);
    env.program("python3", [script]).run().success();
}
