//! What the dump costs a client, and how long a user waits for what it shows:
//! `cargo bench --package codex-ds --bench dump`, behind `--` only the parts that are named:
//! `latency`, `memory`, `throughput`, `reports`.
//!
//! Each figure through the proxy stands beside the same one without it, of the same run. Server,
//! proxy and client share this machine, and in the throughput as fast as it goes they compete for its
//! processors: what anything in between costs there is shown by a relay that copies bytes and knows
//! nothing of HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path as Parts, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use codex_ds::dump;
use codex_ds::dump::recorder::{Recorder, WriterOptions};
use codex_ds::dump::server::{self, Answers, Desk};
use codex_ds::dump::store::{self, End, Header, Line, Outcome, Request, Summary};
use codex_ds::dump::upstream::Upstream;
use codex_ds_wire::body;
use codex_ds_wire::breakdown::Breakdown;
use codex_ds_wire::prefix;
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;

/// Events of the latency run, and their pace.
const EVENTS: u64 = 3000;
const PACE: Duration = Duration::from_millis(1);
/// Streams of the throughput runs, and events of 256 bytes in each: at a server's pace, and as fast
/// as it goes.
const STREAMS: u64 = 64;
const PACED: u64 = 1500;
const UNPACED: u64 = 10_000;
/// How often each way is measured as fast as it goes, in turns; the median counts.
const ROUNDS: usize = 5;
/// Bytes of the endless stream.
const ENDLESS: u64 = 1 << 30;
/// Requests of the long session.
const RECORDED: u64 = 10_000;

#[derive(Clone, Copy, Deserialize)]
struct Asked {
    events: u64,
    size: usize,
    pace_us: u64,
}

fn main() {
    // `cargo test` builds and starts benchmarks too; they have nothing to say there.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let bench = Bench::start().await;
        if wanted("latency") {
            bench.latency().await;
        }
        if wanted("memory") {
            bench.memory().await;
        }
        if wanted("throughput") {
            bench.throughput().await;
        }
    });
    if wanted("reports") {
        reports();
    }
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn say(line: &str) {
    println!("{line}");
}

/// A server, and the dump before it.
struct Bench {
    start: Instant,
    upstream: SocketAddr,
    proxy: SocketAddr,
    desk: Arc<Desk>,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn start() -> Self {
        let start = Instant::now();
        let upstream = upstream(start).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (proxy, desk) = proxy(upstream, folder.path()).await;
        Self {
            start,
            upstream,
            proxy,
            desk,
            _folder: folder,
        }
    }

    async fn latency(&self) {
        let paced = Asked {
            events: EVENTS,
            size: 128,
            pace_us: u64::try_from(PACE.as_micros()).expect("a short pace"),
        };
        let direct = latencies(self.upstream, paced, self.start).await;
        let passed = latencies(self.proxy, paced, self.start).await;
        let at = |all: &[u64], permille: usize| all[(all.len() - 1) * permille / 1000];
        for (name, permille, limit) in [("p50", 500, 500), ("p99", 990, 3000)] {
            let (a, b) = (at(&direct, permille), at(&passed, permille));
            say(&format!(
                "latency of an event, {name}: direct {a} us, through {b} us, added {} us (limit {limit})",
                b.saturating_sub(a)
            ));
        }
    }

    async fn memory(&self) {
        let before = resident();
        let endless = Asked {
            events: ENDLESS >> 12,
            size: 4096,
            pace_us: 0,
        };
        let watch = tokio::spawn(async {
            let mut most = 0;
            loop {
                most = most.max(resident().unwrap_or(0));
                MOST.store(most, std::sync::atomic::Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        read(self.proxy, endless).await;
        watch.abort();
        let most = MOST.load(std::sync::atomic::Ordering::Relaxed);
        if let Some(before) = before {
            say(&format!(
                "memory while 1 GB passes: {} MB before, {} MB at most, server and client included (limit 64)",
                before >> 20,
                most >> 20
            ));
        }
    }

    async fn throughput(&self) {
        // At the pace of a server that makes 200 tokens a second for each: what a client waits for.
        let many = Asked {
            events: PACED,
            size: 256,
            pace_us: 5000,
        };
        let (direct, _) = throughput(self.upstream, many).await;
        let (passed, _) = throughput(self.proxy, many).await;
        say(&format!(
            "throughput of {STREAMS} streams of 200 events/s: direct {direct:.2} MB/s, through {passed:.2} MB/s, ratio {:.2} (limit 0.9)",
            passed / direct
        ));
        let many = Asked {
            events: UNPACED,
            pace_us: 0,
            ..many
        };
        let relay = relay(self.upstream).await;
        // Each round has its own ratios: what else the machine does changes from round to round.
        let (mut to_direct, mut to_relay) = (Vec::new(), Vec::new());
        let lost = self.desk.recorder.lost();
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            self.settle();
            let (direct, _) = throughput(self.upstream, many).await;
            let (copied, _) = throughput(relay, many).await;
            let (passed, all) = throughput(self.proxy, many).await;
            to_direct.push(passed / direct);
            to_relay.push(passed / copied);
            bytes += all;
        }
        let lost = self.desk.recorder.lost() - lost;
        say(&format!(
            "the same as fast as it goes, median of {ROUNDS} rounds: ratio to direct {:.2} (limit 0.9), \
             to a relay of bytes {:.2}; {}% of the copy dropped",
            median(to_direct),
            median(to_relay),
            lost * 100 / bytes
        ));
    }

    /// Waits until the copy of what passed before is on disk.
    fn settle(&self) {
        assert!(self.desk.recorder.flush(Duration::from_secs(60)));
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Copies bytes both ways, and nothing else: the least that anything in between costs.
async fn relay(to: SocketAddr) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(to).await.expect("a server");
                let _ = near.set_nodelay(true);
                let _ = far.set_nodelay(true);
                let _ =
                    tokio::io::copy_bidirectional_with_sizes(&mut near, &mut far, 1 << 16, 1 << 16)
                        .await;
            });
        }
    });
    address
}

static MOST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Bytes of memory that this process has, where the system tells (Linux).
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

async fn listen(app: Router) -> SocketAddr {
    use axum::serve::ListenerExt as _;
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// A server that streams what it is asked for; each event begins with when it was sent.
async fn upstream(start: Instant) -> SocketAddr {
    listen(
        Router::new()
            .route("/v1/{events}/{size}/{pace_us}/responses", post(events))
            .with_state(start),
    )
    .await
}

async fn events(State(start): State<Instant>, Parts(asked): Parts<Asked>) -> Response {
    let filler = "x".repeat(asked.size);
    let mut timer = tokio::time::interval(Duration::from_micros(asked.pace_us.max(1)));
    timer.tick().await;
    let events = stream::unfold(
        (0, filler, timer),
        move |(sent, filler, mut timer)| async move {
            if sent == asked.events {
                return None;
            }
            if asked.pace_us > 0 {
                timer.tick().await;
            }
            let event = Bytes::from(format!(
                "data: {:020} {filler}\n\n",
                start.elapsed().as_nanos()
            ));
            Some((Ok::<_, std::io::Error>(event), (sent + 1, filler, timer)))
        },
    );
    (
        [("content-type", "text/event-stream")],
        Body::from_stream(events),
    )
        .into_response()
}

async fn proxy(upstream: SocketAddr, folder: &Path) -> (SocketAddr, Arc<Desk>) {
    let url = format!("http://{upstream}/v1").parse().expect("a URL");
    let options = WriterOptions {
        redactor: Some(Vec::new()),
        on_end: None,
        on_failure: Box::new(|error| panic!("{error}")),
    };
    let recorder = Recorder::start(folder, &header(), options).expect("a session");
    let listener = server::bind(Ipv4Addr::LOCALHOST.into(), 0, false)
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let answers = Answers::Upstream(Upstream::new(&url, None).expect("a client"));
    let desk = Arc::new(Desk { recorder, answers });
    tokio::spawn(server::serve(listener, Arc::clone(&desk)));
    (address, desk)
}

fn header() -> Header {
    Header {
        schema_version: store::SCHEMA_VERSION,
        started_ms: 0,
        upstream: None,
        codex_args: Vec::new(),
        redacted: true,
    }
}

async fn ask(address: SocketAddr, asked: Asked) -> reqwest::Response {
    let Asked {
        events,
        size,
        pace_us,
    } = asked;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("http://{address}/v1/{events}/{size}/{pace_us}/responses");
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let answer = client.post(url).body("{}").send().await.expect("an answer");
    answer.error_for_status().expect("a stream")
}

/// Nanoseconds from sending to reading of each event, sorted, in microseconds.
async fn latencies(address: SocketAddr, asked: Asked, start: Instant) -> Vec<u64> {
    let mut chunks = ask(address, asked).await.bytes_stream();
    let mut reader = codex_ds_wire::sse::SseReader::new();
    let mut all = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let now = start.elapsed().as_nanos();
        for event in reader.push(&chunk.expect("a whole stream")) {
            let sent: u128 = event.data[..20].parse().expect("a time");
            all.push(u64::try_from((now - sent) / 1000).expect("a short time"));
        }
    }
    all.sort_unstable();
    all
}

async fn read(address: SocketAddr, asked: Asked) -> u64 {
    let mut chunks = ask(address, asked).await.bytes_stream();
    let mut bytes = 0;
    while let Some(chunk) = chunks.next().await {
        bytes += chunk.expect("a whole stream").len() as u64;
    }
    bytes
}

/// MB a second of all streams together, and their bytes.
async fn throughput(address: SocketAddr, asked: Asked) -> (f64, u64) {
    let start = Instant::now();
    let all: Vec<_> = (0..STREAMS)
        .map(|_| tokio::spawn(read(address, asked)))
        .collect();
    let mut bytes = 0;
    for one in all {
        bytes += one.await.expect("a stream");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let megabytes = bytes as f64 / 1e6;
    (megabytes / start.elapsed().as_secs_f64(), bytes)
}

fn reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.jsonl");
    fs_err::write(&path, session()).expect("a file");
    let took = least_ms(|| {
        let summary = Summary::read(&path).expect("a session");
        assert_eq!(summary.ends.len() as u64, RECORDED);
    });
    say(&format!(
        "list of {RECORDED} requests: {took:.0} ms (limit 1000)"
    ));

    let body = large(1 << 20);
    let longer = format!("{},{}", &body[..body.len() - 2], &large(2000)[10..]);
    let took = least_ms(|| assert!(Breakdown::of(&body::Body::read(&body)).parts.len() > 100));
    say(&format!("breakdown of a request of 1 MB: {took:.1} ms"));
    let took = least_ms(|| {
        let standing = prefix::compare(&body::Body::read(&body), &body::Body::read(&longer));
        assert!(
            matches!(standing, prefix::Standing::Extends(_)),
            "{standing:?}"
        );
    });
    say(&format!("comparison of two such requests: {took:.1} ms"));

    let path = conversation(folder.path(), &[&body, &longer]);
    let took = least_ms(|| {
        let report = dump::report(&path, 2).expect("a report");
        assert!(report.contains("prefix: extends request 1: "), "{report}");
    });
    say(&format!(
        "report of the second of two such requests, from its file to its text: {took:.1} ms (limit 20)"
    ));
}

/// The least processor time of some runs, milliseconds: what the work takes when nothing else runs.
fn least_ms(mut work: impl FnMut()) -> f64 {
    let times = (0..9).map(|_| {
        let start = busy();
        work();
        busy().saturating_sub(start).as_secs_f64() * 1e3
    });
    times.fold(f64::INFINITY, f64::min)
}

/// The processor time of this thread.
fn busy() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().expect("not before its start")
}

/// Records requests of one conversation, each with an answer of 1,000 events, and gives the file.
fn conversation(folder: &Path, bodies: &[&str]) -> PathBuf {
    let options = WriterOptions {
        redactor: Some(Vec::new()),
        on_end: None,
        on_failure: Box::new(|error| panic!("{error}")),
    };
    let recorder = Recorder::start(folder, &header(), options).expect("a session");
    let mut headers = HeaderMap::new();
    headers.insert("session-id", HeaderValue::from_static("s"));
    let mut answered = HeaderMap::new();
    answered.insert(
        "content-type",
        HeaderValue::from_static("text/event-stream"),
    );
    let event = json!({"type": "response.output_text.delta", "item_id": "m", "delta": "word "});
    let event = Bytes::from(format!("data: {event}\n\n"));
    for body in bodies {
        let mut exchange = recorder.begin("POST", "/v1/responses", &headers);
        exchange.request_chunk(&Bytes::from((*body).to_owned()));
        exchange.request_end();
        exchange.response(200, &answered);
        for _ in 0..1000 {
            exchange.chunk(&event);
        }
        exchange.end(Outcome::Complete);
    }
    assert!(recorder.flush(Duration::from_secs(60)));
    recorder.path().to_owned()
}

/// The body of a request of about `bytes`, a conversation.
fn large(bytes: usize) -> String {
    let text = "word \"quoted\" and a line\n".repeat(20);
    let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let number = bytes / item.to_string().len() + 1;
    json!({"input": vec![item; number]}).to_string()
}

fn session() -> String {
    let mut lines = vec![Line::Session(header())];
    let body = large(9000);
    for n in 1..=RECORDED {
        lines.push(Line::Request(Request {
            n,
            at_ms: 0,
            method: "POST".to_owned(),
            path: "/v1/responses".to_owned(),
            headers: Vec::new(),
            bytes: body.len() as u64,
            encoding: None,
            note: None,
            body: Some(body.clone()),
        }));
        lines.push(Line::End(Box::new(End {
            n,
            us: 1,
            outcome: Outcome::Complete,
            method: "POST".to_owned(),
            path: "/v1/responses".to_owned(),
            model: None,
            request_bytes: body.len() as u64,
            response_bytes: 0,
            status: Some(200),
            first_token_us: None,
            tokens: None,
            prefix: None,
            failure: None,
            lost_bytes: 0,
        })));
    }
    let line = |line: &Line| serde_json::to_string(line).expect("a line") + "\n";
    lines.iter().map(line).collect()
}
