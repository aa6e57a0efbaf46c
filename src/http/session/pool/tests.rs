//! The connections that a session keeps, and closes.

use super::*;
use crate::http::{ClientConfig, Request, Session};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The URL of a site that answers one request of each connection, and then closes it if `closes`.
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
        let exchange = session.send(&request, start, None).await;
        assert!(exchange.outcome.is_ok(), "{:?}", exchange.outcome);
        // The driver hears that the connection was closed.
        tokio::task::yield_now().await;
    }
    session.shard_connections()
}

#[tokio::test]
async fn connections_to_other_hosts_do_not_pile_up() {
    let open = open_after(3 * MOST_ELSEWHERE, false).await;
    assert_eq!(open, MOST_ELSEWHERE as u64 + 1);
    let open = open_after(MOST_ELSEWHERE, true).await;
    assert!(open < MOST_ELSEWHERE as u64, "{open}");
}
