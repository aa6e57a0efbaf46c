//! Tests of the connections that a session keeps and closes, and of the bytes over them.

use super::*;
use crate::{ClientConfig, Request, Session, TransferMeter};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The URL of a site that responds to one request of each connection, and then closes it if `closes`.
async fn site(closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let mut streams = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _request = stream.read(&mut [0; 4096]).await;
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            let _sent = stream.write_all(response).await;
            if !closes {
                streams.push(stream);
            }
        }
    });
    format!("http://{address}/")
}

/// The connections that a user has open after a request to each of that many sites.
async fn open_after(sites: usize, closes: bool) -> u64 {
    let client = Client::new(ClientConfig::default(), Arc::default());
    let session = Session::new(client, "http://127.0.0.1").expect("a host");
    for _ in 0..sites {
        let request = Request::new(http::Method::GET, site(closes).await);
        let start = tokio::time::Instant::now();
        let meter = TransferMeter::default();
        let exchange = session.send(&request, start, None, &meter).await;
        assert!(exchange.outcome.is_ok(), "{:?}", exchange.outcome);
        // The driver notices that the connection was closed.
        tokio::task::yield_now().await;
    }
    session.shard_connections()
}

#[tokio::test]
async fn what_flows_for_a_request_is_counted_to_the_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    // More than one write takes, and more than one read.
    let (body, page) = ("x".repeat(3_000_000), "y".repeat(1_000_000));
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
    let length = response.len() as u64;
    let site = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
        let mut tail = Vec::new();
        // Each of the two requests ends as the first does with its head, and the second with its body.
        for end in [&b"\r\n\r\n"[..], b"xxxx!"] {
            while !tail.ends_with(end) {
                let count = stream.read(&mut buffer).await.expect("it reads");
                received += count as u64;
                tail.extend_from_slice(&buffer[..count]);
                tail.drain(..tail.len().saturating_sub(5));
            }
            stream
                .write_all(response.as_bytes())
                .await
                .expect("it is read");
        }
        received
    });
    let client = Client::new(ClientConfig::default(), Arc::default());
    let session = Session::new(client, &url).expect("a host");
    let mut sent = 0;
    for (method, body) in [
        (http::Method::GET, String::new()),
        (http::Method::POST, body + "!"),
    ] {
        let request = Request {
            body: body.into(),
            ..Request::new(method, "/")
        };
        let meter = TransferMeter::default();
        let start = tokio::time::Instant::now();
        let exchange = session.send(&request, start, None, &meter).await;
        assert!(exchange.outcome.is_ok(), "{:?}", exchange.outcome);
        assert_eq!(exchange.transfer, meter.so_far());
        assert_eq!(exchange.transfer.received, length);
        sent += exchange.transfer.sent;
    }
    assert_eq!(sent, site.await.expect("it has read all"));
}

#[tokio::test]
async fn connections_to_other_hosts_do_not_pile_up() {
    let open = open_after(3 * MOST_ELSEWHERE, false).await;
    assert_eq!(open, MOST_ELSEWHERE as u64 + 1);
    let open = open_after(MOST_ELSEWHERE, true).await;
    assert!(open < MOST_ELSEWHERE as u64, "{open}");
}
