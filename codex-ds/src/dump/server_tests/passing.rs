//! What passes, and what is kept of it.

use std::io::Write as _;

use super::*;

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
