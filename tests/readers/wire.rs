//! Readers of what comes over a connection.

use super::{Reader, assert_bounded, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use lgoose_http::fuzzing;
use lgoose_lua::{decode_any_message, read_in_pieces};
use std::io::Write as _;

/// Puts one byte after another into a reader that gets so many at a time.
const PIECE: usize = 1_000;

const READERS: &[Reader] = &[
    Reader {
        name: "a head: fields",
        bound: "128",
        size: 128,
        input: |n| text("HTTP/1.1 200 OK\r\n", n, |i| format!("x{i}: y\r\n"), "\r\n"),
        read: |head| fuzzing::head(head, head.len() / 2),
    },
    Reader {
        name: "a head: interim responses",
        bound: "256 KiB",
        size: 1_000,
        input: |n| {
            text(
                "",
                n,
                |_| "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
                "HTTP/1.1 200 OK\r\n\r\n",
            )
        },
        read: |head| fuzzing::head(head, head.len() / 2),
    },
    Reader {
        name: "chunks of a byte",
        bound: "linear",
        size: 20_000,
        input: |n| text("", n, |_| "1;a=b\r\nx\r\n".to_owned(), "0\r\n\r\n"),
        read: |body| fuzzing::chunks(body, PIECE),
    },
    Reader {
        name: "cookies",
        bound: "180",
        size: 1_000,
        input: |n| text("", n, |i| format!("c{i}=v; Path=/\n"), ""),
        read: |lines| {
            let lines = lines.split(|byte| *byte == b'\n');
            fuzzing::cookies(lines, "http://www.shop.com/a", "http://www.shop.com/");
        },
    },
    Reader {
        name: "attributes of a cookie",
        bound: "linear",
        size: 10_000,
        input: |n| text("a=b", n, |i| format!("; Path=/{i}"), ""),
        read: |line| {
            fuzzing::cookies(
                std::iter::once(line),
                "http://shop.com/a",
                "http://shop.com/",
            )
        },
    },
    Reader {
        name: "members of gzip",
        bound: "1 s",
        size: 1_000,
        input: |n| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(b"x").expect("it is packed");
            packed.finish().expect("it is packed").repeat(n)
        },
        read: |body| fuzzing::coding("gzip", body),
    },
    Reader {
        name: "br: blocks of a byte",
        bound: "1 MiB",
        size: 20_000,
        input: |n| {
            // Its window, blocks that are not compressed, and the last one, which is empty (RFC 7932, 9.1 and 9.2).
            let first = [0, 0, 0x10, b'x'];
            [&first[..], &[0, 0, 0x08, b'x'].repeat(n), &[3]].concat()
        },
        read: |body| fuzzing::coding("br", body),
    },
    Reader {
        name: "zstd: blocks without content",
        bound: "linear",
        size: 20_000,
        input: |n| {
            // A frame of one segment with a byte, in blocks that are not compressed (RFC 8878, 3.1.1).
            let start = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 1];
            [&start[..], &[0, 0, 0].repeat(n), &[9, 0, 0, b'x']].concat()
        },
        read: |body| fuzzing::coding("zstd", body),
    },
    Reader {
        name: "zstd: frames of nothing",
        bound: "linear",
        size: 5_000,
        input: |n| [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0].repeat(n),
        read: |body| fuzzing::coding("zstd", body),
    },
    Reader {
        name: "frames of a WebSocket",
        bound: "linear",
        size: 10_000,
        input: |n| text("\u{1}\u{1}a", n, |_| "\0\u{1}b".to_owned(), ""),
        read: |frames| fuzzing::websocket(frames, PIECE, false),
    },
    Reader {
        name: "messages of gRPC",
        bound: "linear",
        size: 10_000,
        input: |n| text("", n, |_| "\0\0\0\0\u{1}x".to_owned(), ""),
        read: |frames| fuzzing::grpc(frames, PIECE, false),
    },
    Reader {
        name: "frames of HTTP/2 that bring nothing",
        bound: "10,000",
        size: 10_000,
        input: |n| {
            text(
                "\0\0\0\u{4}\0\0\0\0\0",
                n,
                |_| "\0\0\0\0\0\0\0\0\u{1}".to_owned(),
                "",
            )
        },
        read: |frames| fuzzing::http2(frames, PIECE),
    },
    Reader {
        name: "a message of Protocol Buffers: messages within each other",
        bound: "100",
        size: 1_000,
        input: |n| text("", n, |_| "\n\u{7f}".to_owned(), ""),
        read: decode_any_message,
    },
    Reader {
        name: "a message of Protocol Buffers: fields",
        bound: "linear",
        size: 1_000,
        input: |n| text("", n, |_| "\n\u{1}x\u{12}\0".to_owned(), ""),
        read: decode_any_message,
    },
    Reader {
        name: "server-sent events",
        bound: "linear",
        size: 10_000,
        input: |n| text("", n, |i| format!("data: {i}\n"), "\n"),
        read: |body| read_in_pieces(body, PIECE),
    },
    Reader {
        name: "a line that never ends",
        bound: "linear",
        size: 100_000,
        input: |n| vec![b'x'; n],
        read: |body| read_in_pieces(body, PIECE),
    },
];

#[test]
fn what_comes_over_a_connection_is_read_in_proportion_to_its_size() {
    assert_bounded(READERS);
}
