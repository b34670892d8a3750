//! Clients that do as they like.

use super::*;

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
async fn a_client_that_sends_byte_by_byte_is_let_go() {
    let short = Patience {
        head: Duration::from_millis(50),
        body: Duration::from_millis(50),
    };
    let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let upstream = Upstream::new(&Url::parse(&url).unwrap(), None).unwrap();
    for answers in [Answers::Itself, Answers::Upstream(upstream)] {
        let mut rig = Rig::with(answers, short).await;
        // Half a head: there is no request yet, and nothing to record.
        assert_eq!(rig.exchange(b"POST /v1/resp").await, "");
        let half = "POST /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{";
        let answer = rig.exchange(half.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("no more of the body came"), "{answer}");
        let end = rig.ended().await;
        assert!(matches!(end.outcome, Outcome::ClientBroken(_)), "{end:?}");
        assert_eq!(end.n, 1);
    }
}

#[tokio::test]
async fn a_client_that_closes_its_half_counts_as_gone() {
    // It cannot be told from one that ended, whose server would go on for nobody.
    let (gone, noticed) = oneshot::channel();
    let (started, running) = oneshot::channel();
    let (url, _server) = fake(async move |mut stream: TcpStream, _, _| {
        started.send(()).unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
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
    client.shutdown().await.unwrap();
    tokio::time::timeout(PATIENCE, noticed)
        .await
        .expect("the server is let go")
        .unwrap();
    assert_eq!(rig.ended().await.outcome, Outcome::ClientGone);
}

#[tokio::test]
async fn old_and_odd_forms_of_a_request_are_answered() {
    let body = r#"{"model":"m"}"#;
    let length = body.len();
    for (head, path) in [
        // HTTP/1.0 knows no chunks, and closes.
        ("POST /v1/responses HTTP/1.0\r\n", "/v1/responses"),
        (
            "POST http://elsewhere.invalid/v1/responses?a=1 HTTP/1.1\r\nhost: elsewhere.invalid\r\nconnection: close\r\n",
            "/v1/responses?a=1",
        ),
        (
            "POST /v1/responses HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\n",
            "/v1/responses",
        ),
    ] {
        let (url, _server) = fake(
            async move |mut stream: TcpStream, head, mut body: Vec<u8>| {
                let said = head.to_ascii_lowercase();
                assert!(
                    said.starts_with(&format!("post {path} http/1.1\r\n")),
                    "{head}"
                );
                assert!(
                    !said.contains("elsewhere") && !said.contains("expect"),
                    "{head}"
                );
                while body.len() < length {
                    stream.read_buf(&mut body).await.unwrap();
                }
                stream.write_all(STREAM).await.unwrap();
                stream.write_all(&chunk("data: 1\n\n")).await.unwrap();
                stream.write_all(&chunk("data: 2\n\n")).await.unwrap();
                stream.write_all(b"0\r\n\r\n").await.unwrap();
            },
        )
        .await;
        let mut rig = Rig::to(&url).await;
        let mut client = rig.connect().await;
        let head = format!("{head}content-length: {length}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        if head.contains("expect") {
            while !answer.ends_with(b"\r\n\r\n") {
                assert!(client.read_buf(&mut answer).await.unwrap() > 0);
            }
            assert!(answer.starts_with(b"HTTP/1.1 100 "), "{answer:?}");
            answer.clear();
        }
        client.write_all(body.as_bytes()).await.unwrap();
        client.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(" 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("data: 1\n\n") && answer.contains("data: 2\n\n"),
            "{answer}"
        );
        if head.contains("HTTP/1.0") {
            assert!(
                answer.ends_with("\r\n\r\ndata: 1\n\ndata: 2\n\n"),
                "{answer}"
            );
        }
        let end = rig.ended().await;
        assert_eq!((end.outcome, end.path.as_str()), (Outcome::Complete, path));
    }
}

#[tokio::test]
async fn requests_in_a_row_on_one_connection_are_answered_in_order() {
    let mut rig = Rig::start(Answers::Itself).await;
    let one = |path: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: x\r\n{more}\r\n").into_bytes()
    };
    let bytes = [
        one("/v1/models", ""),
        one("/anything", ""),
        one("/v1/responses", "connection: close\r\n"),
    ]
    .concat();
    let answer = rig.exchange(&bytes).await;
    let places: Vec<usize> = ["\"object\":\"list\"", "\r\n\r\n{}", "response.completed"]
        .iter()
        .map(|says| {
            answer
                .find(says)
                .unwrap_or_else(|| panic!("{says}: {answer}"))
        })
        .collect();
    assert!(places.is_sorted(), "{answer}");
    for path in ["/v1/models", "/anything", "/v1/responses"] {
        let end = rig.ended().await;
        assert_eq!((end.path.as_str(), end.outcome), (path, Outcome::Complete));
    }
}

#[tokio::test]
async fn a_tunnel_and_a_websocket_are_refused_with_what_to_do() {
    let upgrade = "GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: WebSocket\r\n\r\n";
    let tunnel = "CONNECT lab:443 HTTP/1.1\r\nhost: lab:443\r\nconnection: close\r\n\r\n";
    for (request, status, says) in [
        // Codex falls back to HTTP without trying again at this status alone.
        (upgrade, "HTTP/1.1 426 ", "ask with HTTP"),
        (tunnel, "HTTP/1.1 501 ", "base_url"),
    ] {
        for mut rig in [
            Rig::start(Answers::Itself).await,
            Rig::to("http://127.0.0.1:9/v1").await,
        ] {
            let answer = rig.exchange(request.as_bytes()).await;
            assert!(
                answer.starts_with(status) && answer.contains(says),
                "{answer}"
            );
            let end = rig.ended().await;
            assert!(
                matches!(&end.outcome, Outcome::ClientBroken(why) if why.contains(says)),
                "{end:?}"
            );
        }
    }
}

#[tokio::test]
async fn no_byte_of_a_header_is_lost() {
    let (told, arrived) = oneshot::channel();
    let (url, _server) = fake_bytes(async move |mut stream: TcpStream, head: Vec<u8>, _| {
        told.send(head).unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nx-back: \xe9\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let mut client = rig.connect().await;
    let request = b"GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\nuser-agent: caf\xe9 \xff\r\nx-title: caf\xc3\xa9\r\n\r\n";
    client.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    let head = arrived.await.unwrap();
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(&head, b"user-agent: caf\xe9 \xff\r\n") && has(&head, b"x-title: caf\xc3\xa9\r\n"));
    assert!(has(&answer, b"x-back: \xe9\r\n"), "{answer:?}");
    assert_eq!(rig.ended().await.outcome, Outcome::Complete);
    let session = rig.session();
    let headers = &session.exchanges[0].request.headers;
    assert_eq!(
        store::header(headers, "user-agent"),
        Some("caf\u{e9} \u{ff}")
    );
}

#[tokio::test]
async fn two_hundred_clients_that_leave_when_they_like_leave_a_whole_record() {
    const CLIENTS: usize = 200;
    let turns = vec![Turn::text("one two three four five six").stays()];
    let server = StandIn::start(Config::default(), Script::new(turns)).unwrap();
    let rig = Rig::to(&server.base_url()).await;
    let body = r#"{"model":"deepseek-v4-flash","stream":true,"input":"hi"}"#;
    let request = post(
        "/v1/responses",
        "content-type: application/json\r\n",
        body.as_bytes(),
    );
    let clients = (0..CLIENTS).map(|number| {
        let (address, request) = (rig.address, request.clone());
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // A different place for each, spread over the request and about its answer; every
            // fifth one stays.
            let place = number * 7919 % (request.len() + 4000);
            let sent = place.min(request.len());
            let stays = number % 5 == 0;
            let sent = if stays { request.len() } else { sent };
            let _ = stream.write_all(&request[..sent]).await;
            let mut answer = Vec::new();
            while stays || answer.len() < place - place.min(request.len()) {
                if stream.read_buf(&mut answer).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            (stays, String::from_utf8_lossy(&answer).into_owned())
        }
    });
    for (stays, answer) in futures_util::future::join_all(clients).await {
        assert!(!stays || answer.contains("response.completed"), "{answer}");
    }
    // The proxy lives, and says so in the record.
    let answer = rig.exchange(&request).await;
    assert!(answer.contains("response.completed"), "{answer}");
    while rig.desk.recorder.under_way() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(rig.desk.recorder.flush(PATIENCE));
    // Those that left within the head of their request are in no record.
    let session = rig.session();
    assert!(session.exchanges.len() > CLIENTS / 2);
    let outcomes: Vec<&Outcome> = session.ends().iter().map(|end| &end.outcome).collect();
    assert_eq!(outcomes.len(), session.exchanges.len(), "each has an end");
    let complete = outcomes
        .iter()
        .filter(|outcome| **outcome == &Outcome::Complete);
    assert!(complete.count() > CLIENTS / 5, "{outcomes:?}");
    assert!(
        outcomes.iter().all(|outcome| matches!(
            outcome,
            Outcome::Complete | Outcome::ClientGone | Outcome::ClientBroken(_)
        )),
        "{outcomes:?}"
    );
}
