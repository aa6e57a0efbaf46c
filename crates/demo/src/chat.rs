//! A room to chat in over a WebSocket: it greets those who join, responds to pings, and sends back all other messages.
//! Driven by the server.

use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderMap, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::server::SiteResponse;

/// Responds to the handshake, and serves the room once the connection is a WebSocket; `None` if the request is no
/// handshake.
pub(super) fn open(headers: &HeaderMap, upgrade: OnUpgrade) -> Option<SiteResponse> {
    let is_upgrade = headers
        .get(UPGRADE)
        .is_some_and(|kind| kind.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_upgrade)?;
    let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes())).ok()?;
    tokio::spawn(serve(upgrade));
    let mut response = Response::new(http_body_util::Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let head = response.headers_mut();
    head.insert(UPGRADE, HeaderValue::from_static("websocket"));
    head.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    head.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Some(response)
}

/// Serves the room until either side closes the connection. How it ends does not matter.
async fn serve(upgrade: OnUpgrade) {
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    while let Some(Ok(message)) = socket.next().await {
        let reply = match message {
            Message::Text(text) => Message::text(reply(text.as_str())),
            Message::Binary(bytes) => Message::Binary(bytes),
            _ => continue,
        };
        if socket.send(reply).await.is_err() {
            return;
        }
    }
}

/// Returns the reply of the room.
fn reply(text: &str) -> String {
    let Ok(Value::Object(mut message)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    let kind = match message.get("type").and_then(Value::as_str) {
        Some("join") => "joined",
        Some("ping") => "pong",
        _ => return text.to_owned(),
    };
    message.insert("type".to_owned(), json!(kind));
    Value::Object(message).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_joins_or_pings_is_answered_and_the_rest_comes_back() {
        for (text, answer) in [
            (
                r#"{"type":"ping","id":7}"#,
                json!({ "type": "pong", "id": 7 }),
            ),
            (
                r#"{"type":"join","room":1}"#,
                json!({ "type": "joined", "room": 1 }),
            ),
        ] {
            let read: Value = serde_json::from_str(&reply(text)).expect("JSON");
            assert_eq!(read, answer);
        }
        for same in ["hello", r#"{"type":"say"}"#, "[1]", ""] {
            assert_eq!(reply(same), same);
        }
    }
}
