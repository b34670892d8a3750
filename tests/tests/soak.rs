//! Ten thousand calls of the guard and ten thousand requests through the dump, with faults among them:
//! no wrong answer, no lost record, nothing that grows. Takes minutes, so only `make soak` runs it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use codex_ds_tests::group::Group;
use codex_ds_tests::scenario::{router, setup};
use codex_ds_tests::{TestEnvironment, peers};
use serde_json::{Value, json};

const CALLS: u64 = 10_000;
/// More at once than the machine has cores.
const WORKERS: u64 = 8;

/// A sequence that looks random and is the same in each run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}

/// Runs `work` for each number below `count`, on several threads.
fn share(count: u64, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    work(number);
                }
            });
        }
    });
}

/// What the guard is given, and what it has to do with it.
enum Call {
    Passes(String),
    Denied(String),
    /// No event at all, or half a one: denied, with a reason.
    Broken(Vec<u8>),
    /// Killed at once by somebody.
    Killed(String),
}

fn call(number: u64, cwd: &Path) -> Call {
    let mut dice = Dice(number);
    let event = |command: &str| {
        json!({
            "session_id": "soak", "turn_id": number.to_string(), "cwd": cwd,
            "hook_event_name": "PreToolUse", "permission_mode": "default", "model": "m",
            "tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": command},
        })
        .to_string()
    };
    let fine = [
        "ls -la",
        "git status --short",
        "cargo test -q 2>&1 | tail -5",
    ];
    let bad = [
        "rm junk.txt && ls 2>&1",
        "git push --force",
        "kubectl delete pod x",
    ];
    let index = |dice: &mut Dice| usize::try_from(dice.roll(3)).expect("it is below 3");
    match dice.roll(100) {
        0..60 => Call::Passes(event(fine[index(&mut dice)])),
        60..80 => Call::Denied(event(bad[index(&mut dice)])),
        80..85 => {
            let whole = event("ls").into_bytes();
            let cut = dice.roll(whole.len() as u64 - 1);
            Call::Broken(whole[..usize::try_from(cut).expect("it is short")].to_vec())
        }
        85..90 => Call::Broken(
            (0..dice.roll(5_000))
                .map(|_| u8::try_from(dice.roll(256)).expect("it is a byte"))
                .collect(),
        ),
        90..95 => Call::Denied(event(&format!(
            "echo {}; rm junk.txt",
            "x ".repeat(100_000)
        ))),
        _ => Call::Killed(event("ls")),
    }
}

#[test]
#[ignore = "takes minutes; run by make soak"]
fn ten_thousand_calls_of_the_guard() {
    let env =
        TestEnvironment::with_codex(peers::CodexVersion::all().last().expect("one is listed"));
    setup(&env, &router(vec![]), &[]);
    let hook = env.profile().join("bin/codex-ds-hook");
    let cwd = env.work();
    let denied = AtomicU64::new(0);
    share(CALLS, |number| {
        let call = call(number, &cwd);
        let mut child = Command::new(&hook)
            .env_clear()
            .env("CODEX_HOME", env.profile())
            .env("HOME", env.home())
            .current_dir(&cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the guard starts");
        let input: &[u8] = match &call {
            Call::Passes(text) | Call::Denied(text) | Call::Killed(text) => text.as_bytes(),
            Call::Broken(bytes) => bytes,
        };
        if matches!(call, Call::Killed(_)) {
            // It may have ended by itself.
            let _ = child.kill();
        }
        // One that was killed, or has seen enough, does not read on.
        let _ = child.stdin.take().expect("it is piped").write_all(input);
        let output = child.wait_with_output().expect("it is our child");
        let told = String::from_utf8_lossy(&output.stderr);
        match call {
            Call::Killed(_) => return,
            Call::Passes(text) => {
                assert_eq!((output.status.code(), &*told), (Some(0), ""), "{text}");
            }
            Call::Denied(_) => {
                assert_eq!(output.status.code(), Some(2), "{number}: {told}");
                denied.fetch_add(1, Ordering::Relaxed);
            }
            Call::Broken(_) => assert_eq!(output.status.code(), Some(2), "{number}: {told}"),
        }
        assert!(output.stdout.is_empty(), "{number}");
        assert!(
            output.status.code() == Some(0) || told.len() > 20,
            "{number}: {told}"
        );
    });

    let mut logged = 0;
    for name in ["log.1.jsonl", "log.jsonl"] {
        let Ok(text) = fs_err::read_to_string(env.profile().join("guard").join(name)) else {
            continue;
        };
        for line in text.lines() {
            let entry: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            logged += u64::from(entry["turn"].is_string() || entry["rule"].is_string());
        }
    }
    // The log is set aside once at most at this size: nothing of it may be gone.
    let denied = denied.into_inner();
    assert!(logged >= denied, "{logged} of {denied} denials are logged");
}

/// How the server behind the dump behaves for a request.
const FAULTS: &[&str] = &[
    "none", "none", "none", "none", "error", "cut", "garbage", "reset",
];

/// A model server that does what the path asks for.
fn serve(stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut stream = stream;
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
            if line.starts_with("POST") {
                path.clone_from(&line);
            } else if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            } else if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let Some(fault) = FAULTS
            .iter()
            .find(|fault| path.contains(&format!("fault={fault} ")))
        else {
            // The dump looks for counters: there are none.
            let none = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            if stream.write_all(none.as_bytes()).is_err() {
                return;
            }
            continue;
        };
        let event = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        let answer = match *fault {
            "error" => {
                "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\n{}".to_owned()
            }
            "garbage" => "this is no HTTP\r\n\r\n".to_owned(),
            "cut" => format!("{head}{}", chunk.repeat(3)),
            _ => format!("{head}{}0\r\n\r\n", chunk.repeat(20)),
        };
        if *fault == "reset" || stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        if matches!(*fault, "cut" | "garbage") {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Sends a request; whether the client stays to the end is up to the dice.
fn ask(address: &str, number: u64) {
    let mut dice = Dice(number);
    let fault = FAULTS[usize::try_from(dice.roll(FAULTS.len() as u64)).expect("it is small")];
    let body = json!({"model": "m", "n": number, "input": "x".repeat(usize::try_from(dice.roll(20_000)).expect("small"))});
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).expect("the dump listens");
    let request = format!(
        "POST /v1/responses?fault={fault} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream
        .write_all(request.as_bytes())
        .expect("the dump reads");
    let mut answer = [0; 4096];
    if dice.roll(20) == 0 {
        // Gone after the first bytes.
        let _ = stream.read(&mut answer);
        return;
    }
    let mut all = Vec::new();
    let ended = stream.read_to_end(&mut all);
    if fault == "none" {
        ended.expect("a whole answer arrives");
        assert_eq!(
            String::from_utf8_lossy(&all).matches("data: ").count(),
            20,
            "{number}"
        );
    }
}

#[cfg(target_os = "linux")]
fn resident(pid: u32) -> (u64, usize) {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .expect("Linux says it");
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("it runs")
        .count();
    (kilobytes, files)
}

#[test]
#[ignore = "takes minutes; run by make soak"]
fn ten_thousand_requests_through_the_dump() {
    let env = TestEnvironment::new();
    let upstream = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", upstream.local_addr().expect("it listens"));
    thread::spawn(move || {
        for stream in upstream.incoming().map_while(Result::ok) {
            thread::spawn(|| serve(stream));
        }
    });
    let store = env.root().join("store");
    let arguments = [
        "dump",
        "--upstream",
        &url,
        "--store",
        store.to_str().expect("text"),
    ];
    let mut command = env.codex_ds(arguments).into_command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut dump = Group::spawn(&mut command).expect("it starts");
    let child = dump.child().expect("it runs");
    let pid = child.id();
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says where it listens");
    let address = line
        .strip_prefix("listening on http://")
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_else(|| panic!("{line}"))
        .to_owned();
    let warnings = Mutex::new(String::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut text = String::new();
            let _ = said.read_to_string(&mut text);
            *warnings.lock().expect("no thread panicked") = text;
        });
        share(1_000, |number| ask(&address, number));
        #[cfg(target_os = "linux")]
        let before = resident(pid);
        share(CALLS, |number| ask(&address, 1_000 + number));
        #[cfg(target_os = "linux")]
        {
            let after = resident(pid);
            // The heap may settle a little higher; what grows with the requests would be far above.
            assert!(
                after.0 < before.0 + 16_384,
                "resident kB, files: {before:?} then {after:?}"
            );
            assert!(
                after.1 <= before.1 + 2 * usize::try_from(WORKERS).expect("it is small"),
                "{before:?} then {after:?}"
            );
        }
        // As Ctrl-C does: it writes out what it holds.
        let id = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a process id"))
            .expect("not 0");
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
        dump.child()
            .expect("it runs")
            .wait()
            .expect("it is our child");
    });

    let mut requests = 0;
    let mut ends = 0;
    for file in fs_err::read_dir(&store).expect("it was made") {
        let text =
            fs_err::read_to_string(file.expect("it can be listed").path()).expect("it is text");
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("each line is whole");
            requests += u64::from(line["type"] == "request");
            ends += u64::from(line["type"] == "end");
        }
    }
    let warnings = warnings.into_inner().expect("no thread panicked");
    assert_eq!(
        (requests, ends),
        (CALLS + 1_000, CALLS + 1_000),
        "{warnings}"
    );
}
