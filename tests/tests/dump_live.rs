//! `codex-ds dump` while it runs: read along, stopped, and around Codex's terminal interface.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use codex_ds_tests::http;
use codex_ds_tests::recording::{Background, recording};
use codex_ds_tests::scenario::{router, setup};
use codex_ds_tests::terminal::{Terminal, plain};
use codex_ds_tests::{TestEnvironment, each_codex};
use codex_ds_wire::standin::{Fault, Turn};
use rustix::process::Signal;

/// Sends a request to a recorder that answers itself.
fn one_more(address: &str) {
    let answer = http::post(address, "/v1/responses", "", b"{}");
    assert!(answer.contains("response.completed"), "{answer}");
}

fn follow(env: &TestEnvironment) -> Background {
    let mut follow = Background::start(env.codex_ds(["dump", "show", "--follow"]).into_command());
    follow.line("following ");
    follow
}

#[test]
fn who_reads_along_sees_each_request_and_the_end_of_the_recording() {
    let env = TestEnvironment::new();
    for kill in [false, true] {
        let (mut dump, address) = recording(&env, &[]);
        one_more(&address);
        dump.line("2 bytes");
        let follow = follow(&env);
        one_more(&address);
        dump.line("2 bytes");
        if kill {
            dump.signal(Signal::KILL);
        } else {
            dump.signal(Signal::INT);
        }
        assert_eq!(dump.ended().code, (!kill).then_some(0));
        // Nobody tells it to end: it would hang here.
        let ended = follow.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.stderr.ends_with("the recording has ended\n"),
            "{ended:?}"
        );
        let numbers: Vec<&str> = ended
            .stdout
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(numbers, ["1", "2"], "{ended:?}");
    }
    // A session that has ended is shown to its end.
    let shown = env.codex_ds(["dump", "show", "--follow"]).run().success();
    assert_eq!(shown.stdout.lines().count(), 2, "{shown}");
}

#[test]
fn ctrl_c_ends_who_reads_along_and_not_the_recording() {
    let env = TestEnvironment::new();
    let (mut dump, address) = recording(&env, &[]);
    let ended = follow(&env).interrupt();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("has ended"), "{ended:?}");
    one_more(&address);
    dump.line("2 bytes");
    assert_eq!(dump.interrupt().code, Some(0));
}

/// A client in the middle of an answer that does not go on, and the dump that it comes through.
fn in_the_middle(env: &TestEnvironment, upstream: &str) -> (Background, TcpStream) {
    let (dump, address) = recording(env, &["--upstream", upstream]);
    let mut client = TcpStream::connect(&address).expect("it listens");
    let body = r#"{"model":"deepseek-v4-flash","stream":true,"input":"hi"}"#;
    let request = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    let mut bytes = [0; 4096];
    while !answer.contains("response.created") {
        let length = client.read(&mut bytes).expect("it answers");
        assert!(length > 0, "{answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    (dump, client)
}

#[test]
fn what_the_end_of_the_recording_cuts_off_is_not_the_clients_doing() {
    let server = router(vec![
        Turn::text("one two three")
            .fault(Fault::Stall { after: 3 })
            .stays(),
    ]);
    let env = TestEnvironment::new();
    let (dump, mut client) = in_the_middle(&env, &server.base_url());
    let ended = dump.interrupt();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("cut off: the recording was stopped"),
        "{ended:?}"
    );
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(
        !rest.ends_with(b"0\r\n\r\n"),
        "a whole answer was pretended"
    );

    // The client's own doing is told apart.
    let (mut dump, client) = in_the_middle(&env, &server.base_url());
    drop(client);
    dump.line("client gone");
    assert_eq!(dump.interrupt().code, Some(0));

    // A killed one leaves what it wrote.
    let (mut dump, _client) = in_the_middle(&env, &server.base_url());
    let show = || env.codex_ds(["dump", "show"]).run().success();
    // The copy is written by a thread that lets everything else go first.
    assert!((0..1000).any(|_| show().stdout.contains("request 1: ")));
    dump.signal(Signal::KILL);
    assert_eq!(dump.ended().code, None);
    let shown = show();
    assert!(shown.stdout.contains("1 requests have no end"), "{shown}");
    assert!(
        shown.stdout.contains("request 1: POST /v1/responses"),
        "{shown}"
    );
}

#[test]
fn the_terminal_interface_is_wrapped_and_its_terminal_restored() {
    each_codex(|_, env| {
        let server = router(vec![
            Turn::text("Fine weather today.").when("how is it").stays(),
        ]);
        setup(env, &server, &[]);
        let program = codex_ds_tests::peers::codex_ds();
        let command = format!(
            "{} dump --; echo code=$?; stty -a",
            shell_words::quote(&program.to_string_lossy())
        );
        let mut terminal = Terminal::start(env, &command);
        terminal.wait_for("Open restricted");
        terminal.settle();
        terminal.press("\r", "Ask Codex to do anything");
        terminal.press("how is it", "how is it");
        terminal.press("\r", "Fine weather today.");
        terminal.press("\x03", "session 20");
        let raw = terminal.end();
        let text = plain(raw.as_bytes());
        let report = text.rsplit_once("session 20").expect("a report").1;
        assert!(report.contains("POST /v1/responses"), "{text}");
        assert!(report.contains("instructions"), "{text}");
        assert!(report.contains("code=0"), "{text}");
        let settings: Vec<&str> = report.split([' ', '\r', '\n']).collect();
        for on in ["icanon", "echo", "isig", "icrnl"] {
            assert!(settings.contains(&on), "{on}: {text}");
        }
        // What was turned on in the terminal is turned off: another screen, pasting in brackets.
        for mode in ["?1049", "?2004"] {
            let last = |end: &str| raw.rfind(&format!("\x1b[{mode}{end}"));
            assert!(last("h") <= last("l"), "{mode}: {text}");
        }
        let asked = server.model_requests();
        assert!(
            asked
                .iter()
                .any(|request| request.json().to_string().contains("how is it"))
        );
    });
}

#[test]
fn who_tells_the_dump_to_end_tells_codex_and_gets_the_report() {
    each_codex(|_, env| {
        let stalls = Turn::text("one two three").fault(Fault::Stall { after: 3 });
        let server = router(vec![stalls.stays()]);
        setup(env, &server, &[]);
        for signal in [Signal::INT, Signal::TERM] {
            let before = server.model_requests().len();
            let args = ["dump", "--", "exec", "--skip-git-repo-check", "wait for it"];
            let mut dump = Background::start(env.codex_ds(args).into_command());
            dump.line("wait for it");
            // Codex is in the middle of the turn.
            assert!(server.wait_for(before + 1, Duration::from_secs(120)));
            dump.signal(signal);
            let ended = dump.ended();
            assert!(ended.stdout.contains("session 20"), "{ended:?}");
            if signal == Signal::INT {
                // Once: at a second signal Codex would not tidy up.
                assert!(ended.stderr.contains("turn interrupted"), "{ended:?}");
                assert_eq!(ended.code, Some(1), "{ended:?}");
            }
        }
    });
}
