//! The proxy against servers and clients that do as they like, byte by byte.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use bytes::Bytes;
use codex_ds_wire::standin::{Config, Script, StandIn, Turn};
use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;
use crate::dump::recorder::{Recorder, WriterOptions};
use crate::dump::store::{self, End, Header, Outcome, Session};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running dump.
struct Rig {
    address: SocketAddr,
    ends: tokio::sync::mpsc::UnboundedReceiver<End>,
    path: PathBuf,
    serving: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Rig {
    async fn start(answers: Answers) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (told, ends) = tokio::sync::mpsc::unbounded_channel();
        let header = Header {
            schema_version: store::SCHEMA_VERSION,
            started_ms: 0,
            upstream: None,
            codex_args: Vec::new(),
            redacted: true,
        };
        let options = WriterOptions {
            redactor: Some(Vec::new()),
            on_end: Some(Box::new(move |end| {
                let _ = told.send(end.clone());
            })),
            on_failure: Box::new(|error| panic!("{error}")),
        };
        let recorder = Recorder::start(folder.path(), &header, options).unwrap();
        let path = recorder.path().to_owned();
        let listener = bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, false)
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Arc::new(Desk { recorder, answers })));
        Self {
            address,
            ends,
            path,
            serving,
            _folder: folder,
        }
    }

    async fn to(upstream: &str) -> Self {
        let url = Url::parse(upstream).unwrap();
        Self::start(Answers::Upstream(Upstream::new(&url, None).unwrap())).await
    }

    /// The next request that ended.
    async fn ended(&mut self) -> End {
        tokio::time::timeout(PATIENCE, self.ends.recv())
            .await
            .expect("in time")
            .expect("an end")
    }

    fn session(&self) -> Session {
        Session::read(&self.path).unwrap()
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads all that comes back until the connection closes.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(PATIENCE, read)
            .await
            .expect("the connection is closed");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A server that takes one connection, and hands it to `act` with the head of its request.
async fn fake<F, R>(act: F) -> (String, tokio::task::JoinHandle<()>)
where
    F: FnOnce(TcpStream, String, Vec<u8>) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
        };
        let body = bytes.split_off(end);
        act(stream, String::from_utf8(bytes).unwrap(), body).await;
    });
    (url, task)
}

const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

#[tokio::test]
async fn both_bodies_pass_byte_for_byte_and_the_connections_headers_do_not() {
    let (told, arrived) = oneshot::channel();
    let (url, server) = fake(async move |mut stream: TcpStream, head, mut body: Vec<u8>| {
        while body.len() < 9 {
            stream.read_buf(&mut body).await.unwrap();
        }
        told.send((head, body)).unwrap();
        let answer = b"HTTP/1.1 418 I'm a teapot\r\nx-mine: 1\r\nkeep-alive: timeout=1\r\ncontent-length: 5\r\n\r\n\x00\xff\r\n!";
        stream.write_all(answer).await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let body = b"\x00\xffnot json";
    let sent = post(
        "/v1/anything?a=%20b",
        "accept-encoding: gzip\r\nte: trailers\r\nx-secret: abc\r\n",
        &body[..9],
    );
    let mut stream = rig.connect().await;
    stream.write_all(&sent).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let (head, received) = arrived.await.unwrap();
    server.await.unwrap();
    assert!(
        head.starts_with("POST /v1/anything?a=%20b HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("x-secret: abc") && head.contains("accept-encoding: identity"),
        "{head}"
    );
    assert!(
        !head.contains("te: trailers") && !head.contains("connection:"),
        "{head}"
    );
    assert_eq!(received, body[..9]);
    assert!(answer.starts_with(b"HTTP/1.1 418 "), "{answer:?}");
    assert!(answer.ends_with(b"\r\n\r\n\x00\xff\r\n!"), "{answer:?}");
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.contains("x-mine: 1") && !answer.contains("keep-alive: timeout"),
        "{answer}"
    );
    let end = rig.ended().await;
    assert_eq!(
        (end.outcome, end.status, end.response_bytes),
        (Outcome::Complete, Some(418), 5)
    );
    let session = rig.session();
    let request = &session.exchanges[0].request;
    assert_eq!((request.body.as_deref(), request.bytes), (None, 9));
    assert!(
        request
            .note
            .as_deref()
            .is_some_and(|note| note.contains("no text")),
        "{request:?}"
    );
    assert_eq!(store::header(&request.headers, "x-secret"), Some("***"));
}

#[tokio::test]
async fn an_event_arrives_before_the_next_one_is_sent() {
    let (seen, wait) = oneshot::channel::<()>();
    let (url, _server) = fake(async move |mut stream: TcpStream, _, _| {
        stream.write_all(STREAM).await.unwrap();
        stream.write_all(&chunk("data: 1\n\n")).await.unwrap();
        // Buffered anywhere, the first event would never come, nor would the second.
        wait.await.unwrap();
        stream.write_all(&chunk("data: 2\n\n")).await.unwrap();
        stream.write_all(b"0\r\n\r\n").await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let mut client = rig.connect().await;
    client
        .write_all(&post("/v1/responses", "", b"{}"))
        .await
        .unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("data: 1\n\n") {
        assert!(client.read_buf(&mut read).await.unwrap() > 0);
    }
    seen.send(()).unwrap();
    client.read_to_end(&mut read).await.unwrap();
    assert!(String::from_utf8_lossy(&read).contains("data: 2\n\n"));
    assert_eq!(rig.ended().await.outcome, Outcome::Complete);
    let session = rig.session();
    let events: Vec<&str> = session.exchanges[0]
        .events
        .iter()
        .map(|event| event.text.as_str())
        .collect();
    assert_eq!(events, ["data: 1\n\n", "data: 2\n\n"]);
}

#[tokio::test]
async fn a_client_that_goes_takes_the_servers_answer_with_it() {
    for before_head in [true, false] {
        let (gone, noticed) = oneshot::channel();
        let (started, running) = oneshot::channel();
        let (url, _server) = fake(async move |mut stream: TcpStream, _, _| {
            if !before_head {
                stream.write_all(STREAM).await.unwrap();
                stream.write_all(&chunk("data: 1\n\n")).await.unwrap();
            }
            started.send(()).unwrap();
            // What is left of the request's body may come first.
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            gone.send(()).unwrap();
        })
        .await;
        let mut rig = Rig::to(&url).await;
        let mut client = rig.connect().await;
        client
            .write_all(&post("/v1/responses", "", b"{}"))
            .await
            .unwrap();
        running.await.unwrap();
        drop(client);
        tokio::time::timeout(PATIENCE, noticed)
            .await
            .expect("the server is let go")
            .unwrap();
        assert_eq!(rig.ended().await.outcome, Outcome::ClientGone);
    }
}

#[tokio::test]
async fn a_server_that_breaks_off_breaks_off_for_the_client_too() {
    let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
        stream.write_all(STREAM).await.unwrap();
        stream.write_all(&chunk("data: 1\n\n")).await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
    assert!(
        answer.contains("data: 1\n\n") && !answer.ends_with("0\r\n\r\n"),
        "{answer}"
    );
    let end = rig.ended().await;
    assert!(matches!(end.outcome, Outcome::UpstreamCut(_)), "{end:?}");

    let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
        stream.write_all(STREAM).await.unwrap();
        stream.write_all(b"zz\r\nno chunk\r\n").await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    rig.exchange(&post("/v1/responses", "", b"{}")).await;
    let end = rig.ended().await;
    assert!(matches!(end.outcome, Outcome::UpstreamCut(_)), "{end:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    // Taken and given back: nobody listens there now.
    let port = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        listener.local_addr().unwrap().port()
    };
    for (url, says) in [
        (format!("http://127.0.0.1:{port}/v1"), "Connection refused"),
        (
            "http://no-such-host.invalid/v1".to_owned(),
            "no-such-host.invalid",
        ),
    ] {
        let mut rig = Rig::to(&url).await;
        let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(
            answer.contains("codex-ds dump: no answer from") && answer.contains(says),
            "{answer}"
        );
        let end = rig.ended().await;
        assert!(matches!(end.outcome, Outcome::Unreachable(_)), "{end:?}");
        // What was asked is there all the same.
        assert_eq!(
            rig.session().exchanges[0].request.body.as_deref(),
            Some("{}")
        );
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_from_one_that_is_not_there() {
    let (url, _server) = fake(async |_, _, _| {}).await;
    let mut rig = Rig::to(&url.replace("http:", "https:")).await;
    let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let end = rig.ended().await;
    assert!(
        matches!(&end.outcome, Outcome::Unreachable(why) if !why.contains("refused")),
        "{end:?}"
    );
}

#[tokio::test]
async fn a_request_that_breaks_off_is_recorded_as_such() {
    let head = "POST /v1/responses HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let broken = format!("{head}5\r\nhello\r\nzz\r\n");
    let short =
        b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhello".to_vec();
    for bytes in [broken.into_bytes(), short] {
        let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await;
        for mut rig in [Rig::to(&url).await, Rig::start(Answers::Itself).await] {
            let mut client = rig.connect().await;
            client.write_all(&bytes).await.unwrap();
            client.shutdown().await.unwrap();
            let mut answer = Vec::new();
            let _ = client.read_to_end(&mut answer).await;
            let end = rig.ended().await;
            assert!(
                matches!(end.outcome, Outcome::ClientBroken(_) | Outcome::ClientGone),
                "{end:?}"
            );
            assert_eq!(
                rig.session().exchanges[0].request.body.as_deref(),
                Some("hello")
            );
        }
    }
}

#[tokio::test]
async fn encoded_bodies_pass_as_they_are_and_are_recorded_decoded() {
    let plain = br#"{"model":"m","input":"hi"}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd =
        ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
    for (encoding, body) in [("gzip", gzip), ("zstd", zstd)] {
        let (told, heard) = oneshot::channel();
        let length = body.len();
        let (url, _server) = fake(async move |mut stream: TcpStream, _, mut body: Vec<u8>| {
            while body.len() < length {
                stream.read_buf(&mut body).await.unwrap();
            }
            told.send(body).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await
                .unwrap();
        })
        .await;
        let mut rig = Rig::to(&url).await;
        rig.exchange(&post(
            "/v1/responses",
            &format!("content-encoding: {encoding}\r\n"),
            &body,
        ))
        .await;
        assert_eq!(heard.await.unwrap(), body);
        let end = rig.ended().await;
        assert_eq!(
            (end.request_bytes, end.model.as_deref()),
            (plain.len() as u64, Some("m"))
        );
        let session = rig.session();
        let request = &session.exchanges[0].request;
        assert_eq!(request.body.as_deref().map(str::as_bytes), Some(&plain[..]));
        assert_eq!(request.bytes, body.len() as u64);
    }
}

#[tokio::test]
async fn a_huge_body_passes_and_its_copy_is_cut() {
    const LENGTH: usize = 100 << 20;
    let mut rig = Rig::start(Answers::Itself).await;
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {LENGTH}\r\n\r\n"
    );
    let mut client = rig.connect().await;
    client.write_all(head.as_bytes()).await.unwrap();
    let piece = Bytes::from(vec![b' '; 1 << 20]);
    for _ in 0..LENGTH / piece.len() {
        client.write_all(&piece).await.unwrap();
    }
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("response.completed"));
    let end = rig.ended().await;
    assert_eq!(end.outcome, Outcome::Complete);
    assert!(
        end.request_bytes + end.lost_bytes >= LENGTH as u64,
        "{end:?}"
    );
    let session = rig.session();
    let request = &session.exchanges[0].request;
    assert!(request.note.is_some() && request.body.as_ref().is_none_or(|body| body.len() < LENGTH));
}

#[tokio::test]
async fn a_client_that_sends_nothing_holds_up_nobody() {
    let mut rig = Rig::start(Answers::Itself).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut client = rig.connect().await;
        client.write_all(b"POST /v1/resp").await.unwrap();
        slow.push(client);
    }
    let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
    assert!(answer.contains("response.completed"), "{answer}");
    assert_eq!(rig.ended().await.outcome, Outcome::Complete);
}

#[tokio::test]
async fn each_path_of_a_model_server_is_answered_and_recorded() {
    let mut rig = Rig::start(Answers::Itself).await;
    for (path, says) in [
        ("/v1/responses", "response.completed"),
        ("/v1/chat/completions", "[DONE]"),
        ("/v1/messages", "message_stop"),
        ("/v1/models", "\"object\":\"list\""),
        ("/anything", "{}"),
    ] {
        let answer = rig.exchange(&post(path, "", b"\xff no JSON")).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains(says),
            "{answer}"
        );
        assert_eq!(rig.ended().await.outcome, Outcome::Complete);
    }
}

#[tokio::test]
async fn a_real_turn_is_recorded_with_its_usage_and_the_servers_counters() {
    let turns = vec![Turn::text("Hello.").reasoning("Hm."), Turn::text("Again.")];
    let server = StandIn::start(Config::default(), Script::new(turns)).unwrap();
    let mut rig = Rig::to(&server.base_url()).await;
    let body =
        r#"{"model":"deepseek-v4-flash","stream":true,"input":[{"role":"user","content":"hi"}]}"#;
    for _ in 0..2 {
        let answer = rig
            .exchange(&post(
                "/v1/responses",
                "content-type: application/json\r\n",
                body.as_bytes(),
            ))
            .await;
        assert!(answer.contains("response.completed"), "{answer}");
        let end = rig.ended().await;
        let tokens = end.tokens.expect("usage");
        assert!(tokens.input > 0 && tokens.output > 0);
        assert!(end.first_token_us.is_some());
    }
    assert_eq!(server.model_requests()[0].body, body.as_bytes());
}

#[tokio::test]
async fn addresses_that_cannot_be_had_say_why() {
    let open = "0.0.0.0".parse().unwrap();
    let error = bind(open, 0, false).await.expect_err("refused");
    assert!(
        error.to_string().contains("everyone on that network"),
        "{error}"
    );
    assert!(bind(open, 0, true).await.is_ok());
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let taken = bind(local, 0, false).await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = bind(local, port, false).await.expect_err("taken");
    assert!(
        error.to_string().contains(&format!("port {port} is taken")),
        "{error}"
    );
}
