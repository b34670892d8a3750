//! Servers that do as they like.

use super::*;

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
async fn a_server_whose_certificate_nobody_vouches_for_is_named() {
    let server = tls_server();
    let mut rig = Rig::to(&format!("https://{server}/v1")).await;
    let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("certificate"), "{answer}");
    let end = rig.ended().await;
    assert!(
        matches!(&end.outcome, Outcome::Unreachable(why) if why.contains("certificate")),
        "{end:?}"
    );
}

/// A TLS server whose certificate only it has signed: `openssl req -x509 -newkey ec -days 36500`,
/// with its key, which protects nothing.
fn tls_server() -> SocketAddr {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    const PEM: &[u8] = include_bytes!("self-signed.pem");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(PEM).unwrap()],
            PrivateKeyDer::from_pem_slice(PEM).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            // The client hangs up on the certificate.
            while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
        }
    });
    address
}

#[tokio::test]
async fn a_server_that_switches_protocols_unasked_is_no_answer() {
    let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
        let switch =
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
        stream.write_all(switch).await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(matches!(rig.ended().await.outcome, Outcome::Unreachable(_)));
}

#[tokio::test]
async fn an_early_answer_passes_before_the_request_is_whole() {
    let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
        let answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
        stream.write_all(answer).await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let mut client = rig.connect().await;
    let head = "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{\"a\":";
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"no") {
        assert!(client.read_buf(&mut answer).await.unwrap() > 0);
    }
    assert!(answer.starts_with(b"HTTP/1.1 413 "), "{answer:?}");
    let end = rig.ended().await;
    assert_eq!((end.status, end.outcome), (Some(413), Outcome::Complete));
    let session = rig.session();
    let request = &session.exchanges[0].request;
    assert_eq!(request.body.as_deref(), Some("{\"a\":"));
    assert!(
        request
            .note
            .as_deref()
            .is_some_and(|note| note.contains("answered before its end"))
    );
}

#[tokio::test]
async fn ten_megabytes_on_one_line_pass_whole() {
    const LINE: usize = 10 << 20;
    let (url, _server) = fake(async |mut stream: TcpStream, _, _| {
        stream.write_all(STREAM).await.unwrap();
        stream
            .write_all(&chunk(&format!("data: {}\n\n", "x".repeat(LINE))))
            .await
            .unwrap();
        let last = r#"data: {"type":"response.completed","response":{"status":"completed"}}"#;
        stream
            .write_all(&chunk(&format!("{last}\n\n")))
            .await
            .unwrap();
        stream.write_all(b"0\r\n\r\n").await.unwrap();
    })
    .await;
    let mut rig = Rig::to(&url).await;
    let answer = rig.exchange(&post("/v1/responses", "", b"{}")).await;
    let body = answer.split_once("\r\n\r\n").expect("a head").1;
    assert_eq!(body.matches('x').count(), LINE);
    let end = rig.ended().await;
    assert_eq!(end.outcome, Outcome::Complete);
    assert!(
        end.response_bytes + end.lost_bytes >= LINE as u64,
        "{end:?}"
    );
    // What is behind it counts all the same, unless the disk was too slow for the line.
    assert!(end.failure.is_none() || end.lost_bytes > 0, "{end:?}");
}
