//! The WebSockets of a site that speaks HTTP/2: streams that carry them (RFC 8441), served by the `h2` and `tungstenite` crates.

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use std::future::poll_fn;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::{Role, frame::coding::CloseCode};

/// Serves a WebSocket, whose path says how. Returns how the client has ended its side: `end` or `reset`.
pub(crate) async fn serve_socket(
    path: &str,
    request: Request<RecvStream>,
    mut answer: SendResponse<Bytes>,
) -> String {
    let mut response = Response::builder().status(if path == "/refused" { 403 } else { 200 });
    if let Some(names) = request.headers().get("sec-websocket-protocol") {
        let names = names.to_str().expect("text");
        let last = names.rsplit(", ").next().expect("one at least");
        response = response.header("sec-websocket-protocol", last);
    }
    let response = response.body(()).expect("a response");
    let mut out = answer.send_response(response, false).expect("a client");
    if path == "/refused" {
        out.send_data("not you".into(), true).expect("a client");
        return ended(request.into_body()).await;
    }
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(far);
    let receiving = tokio::spawn(receive(request.into_body(), writing));
    let sending = tokio::spawn(send(reading, out, reset_of(path)));
    let mut socket = WebSocketStream::from_raw_socket(near, Role::Server, None).await;
    while let Some(Ok(message)) = socket.next().await {
        match (path, message) {
            (_, Message::Close(_)) => {}
            ("/vanishes" | "/reset" | "/late", _) => break,
            ("/away", _) => {
                let close = CloseFrame {
                    code: CloseCode::Away,
                    reason: "later".into(),
                };
                socket.close(Some(close)).await.expect("a client");
            }
            (_, message @ (Message::Text(_) | Message::Binary(_))) => {
                socket.send(message).await.expect("a client");
            }
            _ => {}
        }
    }
    drop(socket);
    sending.await.expect("it does not panic");
    receiving.await.expect("it does not panic")
}

fn reset_of(path: &str) -> Option<Reason> {
    match path {
        "/reset" => Some(Reason::INTERNAL_ERROR),
        "/late" => Some(Reason::REFUSED_STREAM),
        _ => None,
    }
}

async fn receive(mut body: RecvStream, mut writing: WriteHalf<DuplexStream>) -> String {
    while let Some(piece) = body.data().await {
        let Ok(piece) = piece else {
            return "reset".to_owned();
        };
        let flow = body.flow_control();
        flow.release_capacity(piece.len()).expect("it was taken");
        if writing.write_all(&piece).await.is_err() {
            return ended(body).await;
        }
    }
    "end".to_owned()
}

async fn ended(mut body: RecvStream) -> String {
    while let Some(piece) = body.data().await {
        if piece.is_err() {
            return "reset".to_owned();
        }
    }
    "end".to_owned()
}

async fn send(
    mut reading: ReadHalf<DuplexStream>,
    mut out: SendStream<Bytes>,
    reset: Option<Reason>,
) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(count @ 1..) = reading.read(&mut buffer).await {
        let mut piece = Bytes::copy_from_slice(&buffer[..count]);
        while !piece.is_empty() {
            out.reserve_capacity(piece.len());
            let Some(Ok(room)) = poll_fn(|cx| out.poll_capacity(cx)).await else {
                return;
            };
            let now = piece.split_to(room.min(piece.len()));
            out.send_data(now, false).expect("there is room");
        }
    }
    match reset {
        Some(reason) => out.send_reset(reason),
        None => {
            let _gone = out.send_data(Bytes::new(), true);
        }
    }
}
