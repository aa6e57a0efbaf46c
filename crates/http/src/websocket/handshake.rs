//! The opening handshake of a WebSocket (RFC 6455, section 4): the headers of the request, and whether the response is one.

use super::deflate::{DeflateTerms, OFFER};
use crate::failure::{ErrorClass, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderName, HeaderValue, header};
use sha1::{Digest as _, Sha1};

/// The text that the server adds to the key before it hashes it.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Returns the URL of the request that opens a WebSocket, if a URL is one of those: `ws:` is `http:`, and `wss:` is `https:`.
pub fn over_http(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme.eq_ignore_ascii_case("ws") {
        Some(format!("http://{rest}"))
    } else if scheme.eq_ignore_ascii_case("wss") {
        Some(format!("https://{rest}"))
    } else {
        None
    }
}

/// The offer of a client.
#[derive(Debug, Clone)]
pub struct SocketOffer {
    key: String,
    subprotocols: Vec<String>,
    compresses: bool,
}

/// The terms that the server has agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketTerms {
    pub(crate) deflate: Option<DeflateTerms>,
    pub(crate) subprotocol: Option<String>,
}

impl SocketOffer {
    /// An offer with a new key.
    pub fn new(subprotocols: Vec<String>, compresses: bool) -> SocketOffer {
        SocketOffer {
            key: BASE64.encode(rand::random::<[u8; 16]>()),
            subprotocols,
            compresses,
        }
    }

    /// The headers of the request.
    ///
    /// # Errors
    /// A subprotocol cannot stand in a header.
    pub fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let fixed = |text| HeaderValue::from_static(text);
        let mut headers = vec![
            (header::CONNECTION, fixed("Upgrade")),
            (header::UPGRADE, fixed("websocket")),
            (header::SEC_WEBSOCKET_VERSION, fixed("13")),
        ];
        let key = HeaderValue::try_from(&self.key).map_err(|error| error.to_string())?;
        headers.push((header::SEC_WEBSOCKET_KEY, key));
        if self.compresses {
            headers.push((header::SEC_WEBSOCKET_EXTENSIONS, fixed(OFFER)));
        }
        if !self.subprotocols.is_empty() {
            let names = HeaderValue::try_from(self.subprotocols.join(", "));
            let names = names.map_err(|_| "a subprotocol is a word of letters and digits")?;
            headers.push((header::SEC_WEBSOCKET_PROTOCOL, names));
        }
        Ok(headers)
    }

    /// Checks a response of status 101 (section 4.1). Over a stream of HTTP/2, no key was sent (RFC 8441, section 5).
    ///
    /// # Errors
    /// A [`Failure`] of class `protocol` that names the problem.
    pub(crate) fn check(
        &self,
        headers: &[(String, Vec<u8>)],
        is_tunnel: bool,
    ) -> Result<SocketTerms, Failure> {
        let wrong = |detail: &str| Failure::new(ErrorClass::Protocol, detail);
        let values = |name: &'static str| {
            let lines = headers.iter().filter(move |(line, _)| line == name);
            lines.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
        };
        let has = |name, word: &str| {
            values(name).any(|value| {
                let mut words = value.split(',');
                words.any(|one| one.trim().eq_ignore_ascii_case(word))
            })
        };
        if !is_tunnel {
            if !has("upgrade", "websocket") || !has("connection", "upgrade") {
                return Err(wrong("the response to the handshake is not an upgrade"));
            }
            let mut hash = Sha1::new();
            hash.update(&self.key);
            hash.update(GUID);
            if values("sec-websocket-accept").ne([BASE64.encode(hash.finalize())]) {
                return Err(wrong("'Sec-WebSocket-Accept' is missing or wrong"));
            }
        }
        let extensions: Vec<String> = values("sec-websocket-extensions").collect();
        let deflate = match extensions.join(", ") {
            none if none.is_empty() => None,
            agreed if self.compresses => Some(
                DeflateTerms::read(&agreed)
                    .ok_or_else(|| wrong("the server uses an extension that was not offered"))?,
            ),
            _ => return Err(wrong("the server uses an extension that was not offered")),
        };
        let mut chosen = values("sec-websocket-protocol");
        let subprotocol = chosen.next();
        let is_offered = |name: &String| self.subprotocols.contains(name);
        if chosen.next().is_some() || !subprotocol.as_ref().is_none_or(is_offered) {
            return Err(wrong("the server chose a subprotocol that was not offered"));
        }
        Ok(SocketTerms {
            deflate,
            subprotocol,
        })
    }
}
