//! The dump's page: who gets it, that it is live, and that nothing in it runs.

use std::path::Path;

use codex_ds_tests::recording::recording;
use codex_ds_tests::scenario::make_executable;
use codex_ds_tests::{Run, TestEnvironment, http};
use serde_json::{Value, json};

/// The page of a running dump: its server, and its path with the token.
fn place(line: &str) -> (String, String) {
    let url = line.split("http://").nth(1).expect("an address");
    let (address, path) = url.split_once('/').expect("a path");
    (address.to_owned(), format!("/{path}"))
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn the_page_is_live_and_for_those_alone_who_were_given_it() {
    let env = TestEnvironment::new();
    let (mut dump, recorder) = recording(&env, &["--web"]);
    let (address, path) = place(&dump.earlier("page: http://127.0.0.1:"));
    assert!(path.len() >= 32, "{path}");
    let page = http::get(&address, &path);
    assert!(
        page.starts_with("HTTP/1.1 200 ") && page.contains("<title>codex-ds dump"),
        "{page}"
    );
    let sessions = format!("{path}sessions");
    let before = body(&http::get(&address, &sessions));
    assert_eq!(before["sessions"][0]["requests"], 0, "{before}");

    // What comes while it is open is there at the next look.
    let answer = http::post(
        &recorder,
        "/v1/responses",
        "",
        br#"{"model":"m","input":"hi"}"#,
    );
    assert!(answer.contains("response.completed"), "{answer}");
    dump.line("26 bytes");
    let after = body(&http::get(&address, &sessions));
    assert_eq!(after["sessions"][0]["requests"], 1, "{after}");
    let name = after["sessions"][0]["session"].as_str().unwrap();
    let session = body(&http::get(&address, &format!("{path}session/{name}")));
    assert_eq!(session["requests"][0]["bytes"], 26, "{session}");
    let request = body(&http::get(&address, &format!("{path}session/{name}/1")));
    assert_eq!(request["body"], r#"{"model":"m","input":"hi"}"#);

    // Neither who guesses, nor a site whose name was made to lead here, nor another port's page.
    let wrong = format!("/{}/sessions", "0".repeat(path.len() - 2));
    for answer in [
        http::get(&address, "/"),
        http::get(&address, "/sessions"),
        http::get(&address, &wrong),
        http::get_from(&address, &sessions, "evil.example"),
        http::get_from(&address, &sessions, "127.0.0.1"),
        http::get_from(
            &address,
            &sessions,
            &address.replace("127.0.0.1", "localhost"),
        ),
        http::get(&recorder, &sessions),
    ] {
        assert!(!answer.contains(name), "{answer}");
    }
    let posted = http::post(&address, &sessions, "", b"");
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    #[cfg(target_os = "linux")]
    for address in [&address, &recorder] {
        assert_eq!(listens_on(address), "0100007F", "127.0.0.1 alone");
    }
    assert_eq!(dump.interrupt().code, Some(0));
}

#[test]
fn the_page_is_opened_where_that_is_wanted() {
    let mut env = TestEnvironment::new();
    let opened = env.root().join("opened");
    let made = env.program("mkfifo", [&opened]).run().success();
    assert_eq!(made.stderr, "");
    let shim = format!("#!/bin/sh\necho \"$1\" > '{}'\n", opened.display());
    let name = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let shim = env.write(format!("shims/{name}"), &shim);
    make_executable(&shim);
    let path = format!("{}:/usr/bin:/bin", env.root().join("shims").display());
    env.set("PATH", path);
    let (dump, _) = recording(&env, &["--open"]);
    let page = dump.earlier("page: ");
    // Waits until the browser is there.
    let asked = fs_err::read_to_string(&opened).unwrap();
    assert_eq!(page, format!("page: {}", asked.trim_end()));
    assert_eq!(dump.interrupt().code, Some(0));

    // Without a browser it is said, and the page is there all the same.
    env.set("PATH", env.root().join("nowhere"));
    let (dump, _) = recording(&env, &["--open"]);
    assert!(dump.earlier("cannot open a browser").contains("by hand"));
    let (address, path) = place(&dump.earlier("page: "));
    assert!(http::get(&address, &path).starts_with("HTTP/1.1 200 "));
    assert_eq!(dump.interrupt().code, Some(0));
}

/// The address in the kernel's table of listeners, in its hexadecimal, that a port is open on.
#[cfg(target_os = "linux")]
fn listens_on(address: &str) -> String {
    let port: u16 = address
        .rsplit(':')
        .next()
        .expect("an address")
        .parse()
        .expect("an address");
    let table = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|file| fs_err::read_to_string(file).unwrap_or_default())
        .concat();
    let open: Vec<&str> = table
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let local = words.nth(1)?;
            (words.nth(1)? == "0A" && local.ends_with(&format!(":{port:04X}"))).then_some(local)
        })
        .collect();
    assert_eq!(open.len(), 1, "{open:?}");
    open[0].split(':').next().expect("an address").to_owned()
}

/// Runs headless Chromium on `address`, with `more` arguments.
fn chromium(env: &TestEnvironment, address: &str, more: &[&str]) -> Run {
    let program = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    let profile = format!("--user-data-dir={}", env.root().join("browser").display());
    let args = [
        &[
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &profile,
        ],
        more,
        &[address],
    ]
    .concat();
    env.program(program, args).run()
}

fn file(page: &Path, hash: &str) -> String {
    format!("file://{}{hash}", page.display())
}

/// Text that runs, wherever a page takes it for markup or for a script.
const HOSTILE: &str = "</script><script>document.title='PWNED'</script><img src=x onerror=\"document.title='PWNED'\">";

#[test]
#[ignore = "needs Chromium: make test-page"]
fn nothing_that_was_recorded_runs_in_the_page() {
    let env = TestEnvironment::new();
    let body = json!({
        "model": HOSTILE, "prompt_cache_key": "k", HOSTILE: 1,
        "input": [{"role": "user", "content": HOSTILE}],
        "tools": [{"type": "function", "name": HOSTILE}],
    })
    .to_string();
    let lines = [
        json!({"type": "session", "schema_version": 1, "started_ms": 1, "upstream": HOSTILE, "redacted": true}),
        json!({"type": "request", "n": 1, "at_ms": 1, "method": HOSTILE, "path": HOSTILE,
            "headers": [[HOSTILE, HOSTILE]], "bytes": body.len(), "body": body}),
        json!({"type": "response", "n": 1, "us": 1, "status": 200, "headers": [["content-type", "text/event-stream"]]}),
        json!({"type": "event", "n": 1, "us": 2, "text": format!("data: {HOSTILE}\n\n")}),
        json!({"type": "end", "n": 1, "us": 3, "outcome": {"upstream_cut": HOSTILE}, "method": "POST",
            "path": "/v1/responses", "model": HOSTILE, "request_bytes": body.len(), "response_bytes": 1, "status": 200,
            "first_token_us": null, "tokens": null, "failure": HOSTILE,
            "prefix": {"standing": "breaks", "before": 1, "pointer": HOSTILE, "lost_permille": 1, "cause": HOSTILE}}),
    ];
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    env.write("store/s.jsonl", &lines.concat());
    let (store, page) = (env.root().join("store"), env.root().join("page.html"));
    let export = [
        "dump".as_ref(),
        "show".as_ref(),
        "--store".as_ref(),
        store.as_os_str(),
        "--export".as_ref(),
        page.as_os_str(),
    ];
    env.codex_ds(export).run().success();
    // The second of each pair shows that the first could fail.
    let runs = "<!doctype html><title>quiet</title><script>document.title='PWNED'</script>";
    let control = env.write("control.html", runs);
    for (page, title, buttons) in [(page, "codex-ds dump", 1), (control, "PWNED", 0)] {
        let run = chromium(&env, &file(&page, "#1"), &["--dump-dom"]);
        assert!(
            run.stdout.contains(&format!("<title>{title}</title>")),
            "{run}"
        );
        assert_eq!(run.stdout.matches("<button").count(), buttons, "{run}");
    }
}

#[test]
#[ignore = "needs Chromium: make test-page"]
fn a_live_page_draws_what_comes_and_runs_none_of_it() {
    let env = TestEnvironment::new();
    let (mut dump, recorder) = recording(&env, &["--web"]);
    let page = dump.earlier("page: ");
    let page = page.trim_start_matches("page: ");
    let empty = chromium(&env, page, &["--dump-dom", "--virtual-time-budget=3000"]);
    assert!(empty.stdout.contains("0 requests"), "{empty}");
    assert_eq!(empty.stdout.matches("<button").count(), 0, "{empty}");
    let request = json!({
        "model": HOSTILE, "instructions": HOSTILE,
        "input": [{"role": "user", "content": HOSTILE}],
    });
    let request = request.to_string();
    for _ in 0..2 {
        let header = format!("user-agent: {HOSTILE}\r\n");
        let answer = http::post(&recorder, "/v1/responses", &header, request.as_bytes());
        assert!(answer.contains("response.completed"), "{answer}");
        dump.line(" bytes");
    }
    let drawn = chromium(
        &env,
        &format!("{page}#1"),
        &["--dump-dom", "--virtual-time-budget=3000"],
    );
    assert!(
        drawn.stdout.contains("<title>codex-ds dump</title>"),
        "{drawn}"
    );
    assert_eq!(drawn.stdout.matches("<button").count(), 2, "{drawn}");
    // As text it is there.
    assert!(drawn.stdout.contains("instructions"), "{drawn}");
    assert!(!drawn.stdout.contains("<img"), "{drawn}");
    assert_eq!(dump.interrupt().code, Some(0));
}
