//! The connection to a plain server, against servers that answer in every way HTTP/1.1 has.

use std::net::{Ipv6Addr, SocketAddr};

use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// Takes connections one after the other; on each, answers as many requests as there are answers,
/// and closes it. Gives the heads that it got.
async fn server(
    address: impl Into<std::net::IpAddr>,
    connections: Vec<Vec<&'static [u8]>>,
) -> (SocketAddr, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind(SocketAddr::new(address.into(), 0))
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let mut heads = Vec::new();
        for answers in connections {
            let (mut stream, _) = listener.accept().await.expect("a client");
            for answer in answers {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    assert!(stream.read_buf(&mut head).await.expect("a request") > 0);
                }
                heads.push(String::from_utf8(head).expect("text"));
                stream.write_all(answer).await.expect("the client reads");
            }
        }
        heads
    });
    (address, task)
}

fn plain(url: &str) -> Arc<Plain> {
    let url = Url::parse(url).expect("a URL");
    Arc::new(Plain::new(&url).expect("a plain server"))
}

/// Asks, and gives status and body; or the body's failure behind what had come of it.
async fn ask(plain: &Arc<Plain>, method: &str) -> (u16, Vec<u8>, Option<String>) {
    let request = Request::builder()
        .method(method)
        .uri("http://x/v1/models?a=1")
        .body(Body::empty())
        .expect("a request");
    let answer = plain.send(request, PATIENCE).await.expect("an answer");
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while let Some(next) = body.next().await {
        match next {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(error) => return (status, bytes, Some(error.to_string())),
        }
    }
    (status, bytes, None)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

#[tokio::test]
async fn a_connection_is_kept_and_a_closed_one_is_replaced() {
    // The server closes after two answers, unannounced.
    let served = vec![vec![OK, OK], vec![OK]];
    let (address, heads) = server(std::net::Ipv4Addr::LOCALHOST, served).await;
    let plain = plain(&format!("http://{address}/v1"));
    for _ in 0..3 {
        assert_eq!(ask(&plain, "GET").await, (200, b"hi".to_vec(), None));
    }
    let heads = heads.await.expect("all three were asked");
    assert_eq!(heads.len(), 3);
    assert!(
        heads[0].starts_with("GET /v1/models?a=1 HTTP/1.1\r\n"),
        "{heads:?}"
    );
    assert!(
        heads[0].contains(&format!("host: {address}\r\n")),
        "{heads:?}"
    );
}

#[tokio::test]
async fn a_server_on_ipv6_is_reached_and_named_in_brackets() {
    let (address, heads) = server(Ipv6Addr::LOCALHOST, vec![vec![OK]]).await;
    let plain = plain(&format!("http://{address}/v1"));
    assert_eq!(ask(&plain, "GET").await, (200, b"hi".to_vec(), None));
    let heads = heads.await.expect("it was asked");
    let host = format!("host: [::1]:{}\r\n", address.port());
    assert!(heads[0].contains(&host), "{heads:?}");
}

#[tokio::test]
async fn each_form_of_an_answer_ends_where_it_ends() {
    let forms: [(&str, &'static [u8], u16, &[u8]); 8] = [
        ("GET", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n3;x=y\r\nbcd\r\n0\r\n\r\n", 200, b"abcd"),
        ("GET", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n1\r\na\r\n0\r\nx-sum: 7\r\n\r\n", 200, b"a"),
        ("GET", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na", 200, b"a"),
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", 200, b""),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        ("GET", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", 304, b""),
        ("GET", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, b""),
        // Ends with its connection.
        ("GET", b"HTTP/1.0 200 OK\r\n\r\nabc", 200, b"abc"),
    ];
    for (method, answer, status, body) in forms {
        let until_close = answer.starts_with(b"HTTP/1.0");
        // Where the end is in the answer, the connection serves once more.
        let served = if until_close {
            vec![vec![answer]]
        } else {
            vec![vec![answer, OK]]
        };
        let (address, heads) = server(std::net::Ipv4Addr::LOCALHOST, served).await;
        let plain = plain(&format!("http://{address}/v1"));
        assert_eq!(ask(&plain, method).await, (status, body.to_vec(), None));
        if !until_close {
            assert_eq!(ask(&plain, "GET").await, (200, b"hi".to_vec(), None));
        }
        heads.await.expect("one connection was enough");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_says_so_behind_what_came() {
    for (answer, came) in [
        (
            &b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"[..],
            "abc",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "abc",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
            "abc",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            "",
        ),
    ] {
        let (address, _heads) = server(std::net::Ipv4Addr::LOCALHOST, vec![vec![answer]]).await;
        let plain = plain(&format!("http://{address}/v1"));
        let (status, body, failure) = ask(&plain, "GET").await;
        assert_eq!((status, &body[..]), (200, came.as_bytes()));
        assert!(failure.is_some(), "{answer:?}");
        assert!(
            plain.kept().await.is_none(),
            "a broken connection is not kept"
        );
    }
}

#[tokio::test]
async fn what_is_no_http_is_no_answer() {
    for answer in [
        &b"SSH-2.0-OpenSSH_9.2\r\n\r\n"[..],
        b"\x15\x03\x03\x00\x02\x02\x0a",
        b"",
    ] {
        let (address, _heads) = server(std::net::Ipv4Addr::LOCALHOST, vec![vec![answer]]).await;
        let plain = plain(&format!("http://{address}/v1"));
        let request = Request::new(Body::empty());
        assert!(plain.send(request, PATIENCE).await.is_err(), "{answer:?}");
    }
}
