use std::path::{Path, PathBuf};

use super::*;

fn write(folder: &Path, name: &str, lines: &str) -> PathBuf {
    let path = folder.join(name);
    fs_err::write(&path, lines).expect("a file");
    path
}

const HEADER: &str =
    r#"{"type":"session","schema_version":1,"started_ms":1,"upstream":null,"redacted":true}"#;
const REQUEST: &str = r#"{"type":"request","n":1,"at_ms":2,"method":"POST","path":"/v1/responses","headers":[],"bytes":2,"body":"{}"}"#;

#[test]
fn a_torn_line_is_skipped_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let torn = &REQUEST[..40];
    let lines = format!("{HEADER}\n{torn}\n{REQUEST}\n{{\"type\":\"response\",\"n\":1,\"us\"");
    let session = Session::read(&write(folder.path(), "a.jsonl", &lines)).expect("readable");
    assert_eq!((session.exchanges.len(), session.skipped), (1, 2));
    assert_eq!(session.exchanges[0].request.body.as_deref(), Some("{}"));
    let summary = Summary::read(&session.path).expect("readable");
    // The torn one was a request, too.
    assert_eq!((summary.ends.len(), summary.open), (0, 2));
}

#[test]
fn around_a_request_only_it_and_the_one_before_it_are_read_whole() {
    let end = |n: u64, prefix: &str| {
        format!(
            r#"{{"type":"end","n":{n},"us":1,"outcome":"complete","method":"POST","path":"/v1/responses","model":null,"request_bytes":2,"response_bytes":1,"status":200,"first_token_us":null,"tokens":null,"prefix":{prefix}}}"#
        )
    };
    let event = |n: u64| format!(r#"{{"type":"event","n":{n},"us":1,"text":"é"}}"#);
    let mut lines = vec![HEADER.to_owned()];
    for (n, prefix) in [
        (1, r#"{"standing":"first"}"#),
        (2, r#"{"standing":"extends","before":1}"#),
        (13, r#"{"standing":"extends","before":2}"#),
    ] {
        lines.push(REQUEST.replace("\"n\":1,", &format!("\"n\":{n},")));
        lines.extend([event(n), end(n, prefix)]);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), "a.jsonl", &lines.join("\n"));
    let read: Vec<(u64, bool, usize, bool)> = Session::read_around(&path, 13)
        .expect("readable")
        .exchanges
        .iter()
        .map(|exchange| {
            (
                exchange.request.n,
                exchange.whole_body().is_some(),
                exchange.events.len(),
                exchange.end.is_some(),
            )
        })
        .collect();
    assert_eq!(
        read,
        [(1, false, 0, true), (2, true, 1, true), (13, true, 1, true)]
    );
    let whole = Session::read(&path).expect("readable");
    assert!(
        whole
            .exchanges
            .iter()
            .all(|exchange| exchange.whole_body().is_some())
    );
}

#[test]
fn what_is_newer_or_no_session_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    for (lines, says) in [
        (
            HEADER.replace("\"schema_version\":1", "\"schema_version\":9"),
            "schema_version is 9",
        ),
        (String::new(), "no recorded session"),
        ("hello\n".to_owned(), "no recorded session"),
        (REQUEST.to_owned(), "no recorded session"),
    ] {
        let path = write(folder.path(), "a.jsonl", &lines);
        for error in [
            Session::read(&path).expect_err("refused"),
            Summary::read(&path).expect_err("refused"),
        ] {
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}

#[test]
fn sessions_are_found_by_name_and_by_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(find(folder.path(), None).is_err());
    let old = write(folder.path(), "2026-01-01T00-00-00Z.jsonl", HEADER);
    let new = write(folder.path(), "2026-01-02T00-00-00Z.jsonl", HEADER);
    write(folder.path(), "notes.txt", "");
    let found = |wanted: Option<&str>| find(folder.path(), wanted);
    assert_eq!(found(None).expect("the newest"), new);
    assert_eq!(found(Some("2026-01-01")).expect("one"), old);
    assert_eq!(found(Some(&old.to_string_lossy())).expect("a path"), old);
    assert!(
        found(Some("2026"))
            .expect_err("two")
            .to_string()
            .contains("2 sessions")
    );
    assert!(found(Some("2025")).is_err());
    let second = write(folder.path(), "2026-01-02T00-00-00Z_2.jsonl", HEADER);
    assert_eq!(found(None).expect("the newest"), second);
    assert_eq!(
        found(Some("2026-01-02T00-00-00Z")).expect("the whole name"),
        new
    );
}
