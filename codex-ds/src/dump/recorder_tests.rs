use std::io;
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;

use super::*;
use crate::dump::store::{Prefix, Session};

/// A disk in memory, which can be made to fail or to wait.
#[derive(Clone, Default)]
struct Disk {
    written: Arc<Mutex<Vec<u8>>>,
    /// Bytes that fit; then it is full.
    room: Option<usize>,
    /// Each write waits for one of these.
    wait: Option<Arc<Mutex<Receiver<()>>>>,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(wait) = &self.wait {
            let _ = wait.lock().unwrap().recv();
        }
        let mut written = self.written.lock().unwrap();
        // Full once, in the middle of a line; then somebody has cleaned up.
        let fits = match self.room {
            Some(0) => {
                self.room = None;
                return Err(io::ErrorKind::StorageFull.into());
            }
            Some(room) => room.min(bytes.len()),
            None => bytes.len(),
        };
        if let Some(room) = &mut self.room {
            *room -= fits;
        }
        written.extend_from_slice(&bytes[..fits]);
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk {
    fn text(&self) -> String {
        String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
    }

    fn session(&self) -> Session {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs_err::write(&path, self.text()).unwrap();
        Session::read(&path).unwrap()
    }
}

fn header() -> Header {
    Header {
        schema_version: store::SCHEMA_VERSION,
        started_ms: 1,
        upstream: None,
        codex_args: Vec::new(),
        redacted: true,
    }
}

fn options(redact: bool) -> WriterOptions {
    WriterOptions {
        redactor: redact.then(Vec::new),
        on_end: None,
        on_failure: Box::new(|_| {}),
    }
}

fn start(disk: &Disk, options: WriterOptions) -> Recorder {
    Recorder::over(Box::new(disk.clone()), "s.jsonl".into(), &header(), options).unwrap()
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.insert(*name, value.parse().unwrap());
    }
    headers
}

fn request(recorder: &Recorder, headers: &HeaderMap, body: &str) -> Exchange {
    let mut exchange = recorder.begin("POST", "/v1/responses?api_key=0123456789", headers);
    exchange.request_chunk(&Bytes::copy_from_slice(body.as_bytes()));
    exchange.request_end();
    exchange
}

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn secrets_are_masked_before_they_are_written_and_lengths_stay() {
    let body = r#"{"input":"my key is sk-proj-Ab12Cd34Ef56Gh78, token lab-0123","model":"m"}"#;
    let sent = headers(&[
        ("authorization", "Bearer lab-0123"),
        ("cookie", "a=b"),
        ("content-type", "application/json"),
    ]);
    let write = |redact: bool| {
        let disk = Disk::default();
        let recorder = start(&disk, options(redact));
        let mut exchange = request(&recorder, &sent, body);
        exchange.response(
            200,
            &headers(&[("content-type", "text/event-stream"), ("set-cookie", "x=y")]),
        );
        // Cut inside the key: only a whole event is masked and written.
        exchange.chunk(&Bytes::from_static(b"data: lab-"));
        exchange.chunk(&Bytes::from_static(b"0123 sk-proj-Ab12Cd34Ef56Gh78\n\n"));
        exchange.end(Outcome::Complete);
        assert!(recorder.flush(PATIENCE));
        disk
    };
    let disk = write(true);
    let text = disk.text();
    for secret in ["lab-0123", "Ab12Cd34", "0123456789", "a=b", "x=y"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let session = disk.session();
    let exchange = &session.exchanges[0];
    let kept = exchange.request.body.as_deref().unwrap();
    assert_eq!(kept.len(), body.len());
    assert!(serde_json::from_str::<serde_json::Value>(kept).is_ok());
    assert_eq!(exchange.request.headers[0].1, "Bearer ********");
    assert_eq!(exchange.request.headers[2].1, "application/json");
    assert_eq!(
        exchange.answer().len(),
        "data: lab-0123 sk-proj-Ab12Cd34Ef56Gh78\n\n".len()
    );

    // The test could fail: without masking all of them are there.
    let raw = write(false).text();
    for secret in ["lab-0123", "Ab12Cd34", "0123456789", "a=b", "x=y"] {
        assert!(raw.contains(secret), "{secret}");
    }
}

#[test]
fn a_disk_that_hangs_costs_the_copy_and_nothing_else() {
    let (go, wait): (SyncSender<()>, _) = mpsc::sync_channel(0);
    let disk = Disk {
        wait: Some(Arc::new(Mutex::new(wait))),
        ..Disk::default()
    };
    let recorder = start(&disk, options(true));
    let mut exchange = request(&recorder, &HeaderMap::new(), "{}");
    exchange.response(200, &HeaderMap::new());
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    // Were any of these to wait for the disk, this test would never end.
    for _ in 0..64 {
        exchange.chunk(&chunk);
    }
    exchange.end(Outcome::Complete);
    let lost = recorder.lost();
    assert!(lost >= 48 << 20, "{lost}");
    assert!(!recorder.flush(Duration::from_millis(1)));
    // The disk wakes up.
    drop(go);
    assert!(recorder.flush(PATIENCE));
    let session = disk.session();
    let end = session.exchanges[0].end.as_ref().unwrap();
    assert_eq!(end.lost_bytes, lost);
    assert_eq!(end.response_bytes + lost, 64 << 20);
}

#[test]
fn a_disk_that_is_slow_is_waited_for() {
    let (go, wait): (SyncSender<()>, _) = mpsc::sync_channel(0);
    let disk = Disk {
        wait: Some(Arc::new(Mutex::new(wait))),
        ..Disk::default()
    };
    let recorder = start(&disk, options(false));
    for _ in 0..30 {
        // Each body fills what is gathered before it is written, and so is a write of its own.
        let body = "x".repeat(264 << 10);
        request(&recorder, &HeaderMap::new(), &body).end(Outcome::Complete);
    }
    let slow = std::thread::spawn(move || {
        while go.send(()).is_ok() {
            std::thread::sleep(Duration::from_millis(160));
        }
    });
    // All of it takes longer than that, no one write does.
    assert!(recorder.flush(Duration::from_secs(4)));
    assert_eq!(disk.session().exchanges.len(), 30);
    drop((recorder, disk));
    slow.join().unwrap();
}

#[test]
fn a_full_disk_tears_one_line_and_is_told_once() {
    let disk = Disk {
        room: Some(500),
        ..Disk::default()
    };
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let recorder = start(
        &disk,
        WriterOptions {
            on_failure: Box::new(move |error| {
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
                count.fetch_add(1, Ordering::Relaxed);
            }),
            ..options(true)
        },
    );
    for _ in 0..5 {
        request(&recorder, &HeaderMap::new(), "{}").end(Outcome::Complete);
    }
    assert!(recorder.flush(PATIENCE));
    assert_eq!(told.load(Ordering::Relaxed), 1);
    let session = disk.session();
    assert_eq!(session.skipped, 1);
    assert!(session.exchanges.len() >= 4, "{}", disk.text());
}

#[test]
fn who_drops_an_exchange_has_left_it() {
    let disk = Disk::default();
    let recorder = start(&disk, options(true));
    drop(request(&recorder, &HeaderMap::new(), "{}"));
    assert!(recorder.flush(PATIENCE));
    let session = disk.session();
    assert_eq!(
        session.exchanges[0].end.as_ref().unwrap().outcome,
        Outcome::ClientGone
    );
}

#[test]
fn a_client_that_hangs_up_on_the_last_event_has_the_whole_answer() {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "text/event-stream".parse().unwrap());
    for (event, outcome) in [
        ("response.completed", Outcome::Complete),
        ("response.in_progress", Outcome::ClientGone),
    ] {
        let disk = Disk::default();
        let recorder = start(&disk, options(true));
        let mut exchange = request(&recorder, &HeaderMap::new(), "{}");
        exchange.response(200, &headers);
        let data = format!(r#"{{"type":"{event}","response":{{"status":"completed"}}}}"#);
        exchange.chunk(&format!("data: {data}\n\n").into());
        drop(exchange);
        assert!(recorder.flush(PATIENCE));
        let session = disk.session();
        let end = session.exchanges[0].end.as_ref().unwrap();
        assert_eq!(end.outcome, outcome, "{event}");
    }
}

#[test]
fn requests_of_a_conversation_are_compared_as_they_come() {
    let disk = Disk::default();
    let recorder = start(&disk, options(true));
    let body =
        |key: &str, items: &str| format!(r#"{{"prompt_cache_key":"{key}","input":[{items}]}}"#);
    let message = r#"{"role":"user","content":"hi"}"#;
    let other = r#"{"role":"user","content":"ho"}"#;
    for (key, items) in [
        ("a", message.to_owned()),
        ("b", message.to_owned()),
        ("a", format!("{message},{other}")),
        ("a", other.to_owned()),
    ] {
        request(&recorder, &HeaderMap::new(), &body(key, &items)).end(Outcome::Complete);
    }
    request(&recorder, &HeaderMap::new(), "no JSON").end(Outcome::Complete);
    assert!(recorder.flush(PATIENCE));
    let session = disk.session();
    let prefixes: Vec<Prefix> = session
        .ends()
        .iter()
        .map(|end| end.prefix.clone().unwrap())
        .collect();
    assert_eq!(
        prefixes[..3],
        [Prefix::First, Prefix::First, Prefix::Extends { before: 1 }]
    );
    assert!(
        matches!(&prefixes[3], Prefix::Breaks { before: 3, pointer, .. } if pointer == "/input/0/content"),
        "{prefixes:?}"
    );
    assert!(matches!(&prefixes[4], Prefix::Unknown { .. }));
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("dumps");
    let one = Recorder::start(&folder, &header(), options(true)).unwrap();
    // Within the same second there is another name.
    let two = Recorder::start(&folder, &header(), options(true)).unwrap();
    assert_ne!(one.path(), two.path());
    let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(one.path())), (0o700, 0o600));
}
