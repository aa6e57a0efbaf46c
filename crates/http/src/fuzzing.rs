//! Entry points of the fuzz targets in `fuzz/`: everything that reads bytes from a target. They are not part of
//! lgoose's interface. Each function panics if a rule is broken that must hold.

use super::failure::ErrorClass;
use super::grpc::{MessageCoding, MessageReader};
use super::h1::{ChunkDecoder, ReadOutcome, ResponseRules, read_start};
use super::h2;
use super::message::{self, BodyLimits, InterimResponses, KnownHeads, MAX_HEAD, ResponseHead};
use super::session::CookieJar;
use super::target::Target;
use super::websocket::read_in_pieces;
use bytes::{Bytes, BytesMut};
use http::Method;
use url::Url;

/// The largest body, in bytes.
const MAX_BODY: u64 = 1 << 20;

/// Parses the start of a response at once and cut in two at `cut`; both must give the same result.
pub fn head(bytes: &[u8], cut: usize) {
    for method in [Method::GET, Method::HEAD] {
        if let Ok(Some(head)) = ResponseHead::parse(bytes, &method) {
            assert!(head.length <= bytes.len());
            message::headers(&bytes[..head.length]);
            if let Some(range) = head.location {
                assert!(bytes.get(range).is_some());
            }
        }
        let known = KnownHeads::default();
        for _ in 0..2 {
            let again = known.parse(bytes, &method);
            assert_eq!(again, ResponseHead::parse(bytes, &method));
        }
        let rules = ResponseRules {
            known: &known,
            method: &method,
            limits: BodyLimits {
                stream: None,
                follows: false,
                max_body: MAX_BODY,
                retain_body: true,
                retain_failed: true,
                room: None,
            },
        };
        let mut partial = BytesMut::new();
        let whole = read_start(
            bytes,
            &rules,
            &mut InterimResponses::default(),
            &mut partial,
        );
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let mut partial = BytesMut::new();
        let cut = match read_start(
            first,
            &rules,
            &mut InterimResponses::default(),
            &mut partial,
        ) {
            Ok(ReadOutcome::Partial | ReadOutcome::Continue) => {
                partial.extend_from_slice(second);
                let joined = partial.split();
                read_start(
                    &joined,
                    &rules,
                    &mut InterimResponses::default(),
                    &mut partial,
                )
            }
            other => other,
        };
        if let (Ok(ReadOutcome::Complete(whole)), Ok(ReadOutcome::Complete(cut))) = (whole, cut) {
            assert_eq!(whole.head.length, cut.head.length);
        }
    }
}

/// Reads the frames of a WebSocket at once and in pieces of `size` bytes; both must give the same.
pub fn websocket(bytes: &[u8], size: usize, deflates: bool) {
    let read = |size| read_in_pieces(bytes, size, 1 << 16, deflates);
    assert_eq!(read(bytes.len()), read(size));
}

/// Reads the messages of a call of gRPC at once and in pieces of `size` bytes; both must give the same.
pub fn grpc(bytes: &[u8], size: usize, is_web: bool) {
    let read = |size: usize| {
        let mut reader = MessageReader::new(1 << 16, is_web);
        reader.set_coding(MessageCoding::Gzip);
        let mut framed = Vec::new();
        for piece in bytes.chunks(size.max(1)) {
            reader.add(piece);
            loop {
                match reader.next() {
                    Ok(Some(one)) => framed.push(one),
                    Ok(None) => break,
                    Err(failure) => return (framed, Some(failure)),
                }
            }
        }
        (framed, None)
    };
    assert_eq!(read(bytes.len()), read(size));
}

/// Decodes a chunked body at once and in pieces of `size` bytes; both must give the same result.
pub fn chunks(bytes: &[u8], size: usize) {
    let decode = |size: usize| {
        let (mut chunks, mut body, mut leftover) = (ChunkDecoder::default(), BytesMut::new(), 0);
        let mut done = false;
        for mut piece in bytes.chunks(size.max(1)) {
            if !done {
                done = chunks
                    .decode(&mut piece, &mut body)
                    .map_err(|failure| failure.class)?;
            }
            leftover += piece.len();
        }
        assert!(body.len() <= bytes.len());
        Ok::<_, ErrorClass>((body, done, leftover))
    };
    assert_eq!(decode(bytes.len()), decode(size));
}

/// Decodes `body`, whose `Content-Encoding` is `header`.
pub fn coding(header: &str, body: &[u8]) {
    if let Ok(decoded) = message::decode(header, &Bytes::copy_from_slice(body), MAX_BODY) {
        assert!(decoded.len() as u64 <= MAX_BODY.max(body.len() as u64));
    }
}

/// Stores `Set-Cookie` lines of one URL, and reads the cookies for another one twice; both must be the same.
pub fn cookies<'a>(lines: impl Iterator<Item = &'a [u8]>, from: &str, to: &str) {
    let target = |text: &str| Url::parse(text).ok().and_then(|url| Target::of(&url).ok());
    let (Some(from), Some(to)) = (target(from), target(to)) else {
        return;
    };
    let mut jar = CookieJar::default();
    jar.store(&from, lines);
    let header = jar.header(&to);
    assert_eq!(header, jar.header(&to));
    jar.get(&to, b"a");
}

/// Feeds an HTTP/2 connection with two requests under way bytes from a server, at once and in pieces of `size` bytes;
/// both must give the same result.
pub fn http2(bytes: &[u8], size: usize) {
    let whole = h2::outcomes_of(bytes, bytes.len(), MAX_BODY);
    for (_, response) in &whole {
        assert!(response.len() as u64 <= MAX_BODY + 2 * MAX_HEAD as u64);
    }
    assert_eq!(whole, h2::outcomes_of(bytes, size, MAX_BODY));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    /// Passes each text to `read` a hundred times, with a few bytes changed.
    fn changed(texts: &[&str], mut read: impl FnMut(&[u8], usize)) {
        let mut random = StdRng::seed_from_u64(1);
        for text in texts {
            read(text.as_bytes(), text.len() / 2);
            for _ in 0..100 {
                let mut bytes = text.as_bytes().to_vec();
                for _ in 0..random.random_range(1..4) {
                    let place = random.random_range(0..bytes.len());
                    bytes[place] = random.random();
                }
                read(&bytes, random.random_range(0..bytes.len()));
            }
        }
    }

    #[test]
    fn no_byte_that_a_target_sends_breaks_a_rule() {
        changed(
            &[
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nset-cookie: a=b\r\n\r\nhello",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nlocation: /x\r\n\r\n",
            ],
            head,
        );
        changed(
            &["4\r\nWiki\r\n5;a=b\r\npedia\r\n0\r\nx: y\r\n\r\nleft"],
            chunks,
        );
        let frames = "\0\0\0\u{4}\0\0\0\0\0\0\0\u{6}\u{1}\u{4}\0\0\0\u{1}@\u{1}a\u{1}bH\u{1}2\0\0\u{4}\0\u{1}\0\0\0\u{1}good";
        changed(&[frames], http2);
        for deflates in [false, true] {
            let fragments = [
                "\u{1}\u{5}Hello\0\u{1}!\u{1}\u{1}?",
                "A\u{3}abc\0\u{1}d\0\0",
            ];
            changed(&fragments, |bytes, size| websocket(bytes, size, deflates));
        }
        for is_web in [false, true] {
            let messages = [
                "\0\0\0\0\u{2}\u{8}\u{1}\u{1}\0\0\0\u{1}x",
                "\0\0\0\0\0\0\0\0\0\u{3}abc",
            ];
            changed(&messages, |bytes, size| grpc(bytes, size, is_web));
        }
        changed(&["goose", "\u{1f}\u{8b}"], |body, _| {
            for header in ["gzip", "deflate", "br", "zstd"] {
                coding(header, body);
            }
        });
        let lines = "a=1; Domain=shop.co.uk; Path=/\nb=2; Secure\nc=3; Max-Age=10; Domain=.uk";
        changed(&[lines], |lines, _| {
            let lines = lines.split(|byte| *byte == b'\n');
            cookies(lines, "http://www.shop.co.uk/a", "http://img.shop.co.uk/");
        });
    }
}
