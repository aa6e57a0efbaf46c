//! Responses that are too large, are not HTTP, or do not match their headers. Continues `faults`.

use crate::faults::{Fault, HEAD, fault, suffer};
use crate::faulty::{Act, Asked, Site, answer, send};
use crate::program::plan;
use crate::report::run;
use std::io::Write as _;

const LOOKED_AT: &str = "expect = { text = \"goose\" }";

#[test]
fn answers_that_are_too_large_are_cut_off_and_not_kept() {
    const BODY: &str = "too large: body of more than 1048576 bytes ('--max-body')";
    const DECODED: &str = "too large: body of more than 1048576 bytes once decoded ('--max-body')";
    const FAULTS: &[Fault] = &[
        fault(
            "/length",
            "",
            || send(format!("{HEAD}content-length: 1048577\r\n\r\n"), Act::Hold),
            BODY,
        ),
        fault(
            "/huge-length",
            "",
            || {
                send(
                    format!("{HEAD}content-length: 18446744073709551615\r\n\r\n"),
                    Act::Hold,
                )
            },
            BODY,
        ),
        fault(
            "/endless",
            "",
            || send(format!("{HEAD}\r\n"), Act::Forever(vec![b'x'; 1 << 16])),
            BODY,
        ),
        fault(
            "/endless-discarded",
            "discard = true",
            || send(format!("{HEAD}\r\n"), Act::Forever(vec![b'x'; 1 << 16])),
            BODY,
        ),
        fault(
            "/endless-chunks",
            "",
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n"),
                    Act::Forever(b"4\r\ngoose\r\n"[..9].to_vec()),
                )
            },
            "protocol: a chunk is longer than its size",
        ),
        fault(
            "/endless-good-chunks",
            "",
            || {
                let chunk = [b"8000\r\n", &[b'x'; 1 << 15][..], b"\r\n"].concat();
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n"),
                    Act::Forever(chunk),
                )
            },
            BODY,
        ),
        fault(
            "/endless-chunk",
            "",
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\nffffffffffffff\r\n"),
                    Act::Forever(vec![b'x'; 1 << 16]),
                )
            },
            BODY,
        ),
        fault(
            "/endless-extension",
            "",
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n4;"),
                    Act::Forever(vec![b'x'; 1 << 16]),
                )
            },
            "protocol: chunk extensions or trailers without end",
        ),
        fault(
            "/endless-trailers",
            "",
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n0\r\n"),
                    Act::Forever(b"x: y\r\n".to_vec()),
                )
            },
            "protocol: chunk extensions or trailers without end",
        ),
        fault(
            "/mebibyte-of-headers",
            "",
            || {
                send(
                    format!("{HEAD}x: {}\r\n\r\n", "y".repeat(1 << 20)),
                    Act::Close,
                )
            },
            "too large: response headers",
        ),
        fault(
            "/ten-thousand-headers",
            "",
            || {
                send(
                    format!("{HEAD}{}\r\n", "x: y\r\n".repeat(10_000)),
                    Act::Close,
                )
            },
            "too large: too many response headers",
        ),
        fault(
            "/endless-headers",
            "",
            || send(HEAD, Act::Forever(b"x: y\r\n".to_vec())),
            "too large: too many response headers",
        ),
        fault(
            "/endless-header",
            "",
            || send(format!("{HEAD}x: "), Act::Forever(vec![b'y'; 1 << 16])),
            "too large: response headers",
        ),
        fault(
            "/bomb",
            LOOKED_AT,
            || answer(200, "content-encoding: gzip\r\n", bomb()),
            DECODED,
        ),
        fault(
            "/bomb-in-a-bomb",
            LOOKED_AT,
            || answer(200, "content-encoding: gzip, gzip\r\n", gzip(&bomb())),
            DECODED,
        ),
    ];
    let peak = suffer("too_large.lua", FAULTS, &["--max-body", "1MiB"]);
    assert!(peak < 100 << 20, "{peak}");
}

#[test]
fn a_head_that_is_a_little_too_large_is_refused_at_once_or_in_parts() {
    const FAULTS: &[Fault] = &[fault(
        "/little-more-than-a-head",
        "",
        || {
            send(
                format!("{HEAD}x: {}\r\n\r\n", "y".repeat(300 << 10)),
                Act::Close,
            )
        },
        "too large: response headers",
    )];
    suffer("little_too_large.lua", FAULTS, &[]);
}

#[test]
fn a_compressed_body_takes_no_more_memory_than_a_body_may() {
    const FAULTS: &[Fault] = &[fault(
        "/bomb",
        LOOKED_AT,
        || answer(200, "content-encoding: gzip\r\n", bomb()),
        "too large: body of more than 67108864 bytes once decoded ('--max-body')",
    )];
    let peak = suffer("bomb.lua", FAULTS, &[]);
    assert!(peak < 300 << 20, "{peak}");
}

#[test]
fn answers_that_are_no_http_are_told_apart() {
    const FAULTS: &[Fault] = &[
        fault(
            "/garbage",
            "",
            || send("SSH-2.0-OpenSSH_9.9\r\n\r\n", Act::Close),
            "protocol: invalid HTTP version",
        ),
        fault(
            "/html",
            "",
            || send("<html>as in 1991</html>\r\n\r\n", Act::Close),
            "protocol: invalid HTTP version",
        ),
        fault(
            "/http2",
            "",
            || send("HTTP/2.0 200 OK\r\n\r\n", Act::Close),
            "protocol: invalid HTTP version",
        ),
        fault(
            "/no-status",
            "",
            || send("HTTP/1.1 OK\r\n\r\n", Act::Close),
            "protocol: invalid response status",
        ),
        fault(
            "/status-99",
            "",
            || send("HTTP/1.1 099 Odd\r\n\r\n", Act::Close),
            "protocol: status 99",
        ),
        fault(
            "/nul",
            "",
            || send(format!("{HEAD}a: b\0c\r\n\r\n"), Act::Close),
            "protocol: invalid header value",
        ),
        fault(
            "/two-lengths",
            "",
            || {
                send(
                    format!("{HEAD}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd"),
                    Act::Close,
                )
            },
            "protocol: wrong content-length",
        ),
        fault(
            "/two-lengths-in-one",
            "",
            || {
                send(
                    format!("{HEAD}content-length: 3, 4\r\n\r\nabcd"),
                    Act::Close,
                )
            },
            "protocol: wrong content-length",
        ),
        fault(
            "/negative-length",
            "",
            || send(format!("{HEAD}content-length: -1\r\n\r\n"), Act::Close),
            "protocol: wrong content-length",
        ),
        fault(
            "/chunk-size-17-digits",
            "",
            || chunked("FFFFFFFFFFFFFFFFF\r\n"),
            "protocol: wrong chunk size",
        ),
        fault(
            "/chunk-size-negative",
            "",
            || chunked("-1\r\n"),
            "protocol: wrong chunk size",
        ),
        fault(
            "/chunk-size-missing",
            "",
            || chunked("\r\nabc\r\n0\r\n\r\n"),
            "protocol: wrong chunk size",
        ),
        fault(
            "/chunk-without-end",
            "",
            || chunked("3\r\nabc0\r\n\r\n"),
            "protocol: a chunk is longer than its size",
        ),
        fault(
            "/cut-gzip",
            LOOKED_AT,
            || {
                let whole = gzip(b"goose goose goose");
                answer(200, "content-encoding: gzip\r\n", &whole[..whole.len() - 9])
            },
            "decoding: gzip: it ends too early",
        ),
        fault(
            "/no-gzip",
            LOOKED_AT,
            || {
                answer(
                    200,
                    "content-encoding: gzip\r\n",
                    "goose, and not compressed",
                )
            },
            "decoding: gzip: invalid gzip header",
        ),
        fault(
            "/loop",
            "",
            || answer(302, "location: /loop\r\n", ""),
            "too many redirects: more than 10",
        ),
        fault(
            "/to-ftp",
            "",
            || answer(302, "location: ftp://goose.invalid/\r\n", ""),
            "bad redirect: ftp://goose.invalid/: only http:// and https:// can be requested",
        ),
        fault(
            "/unknown-transfer",
            LOOKED_AT,
            || {
                send(
                    format!(
                        "{HEAD}transfer-encoding: snappy, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                    ),
                    Act::Close,
                )
            },
            "decoding: transfer-encoding 'snappy' is not known",
        ),
        fault(
            "/to-nowhere",
            "",
            || answer(302, "location: http://\r\n", ""),
            "bad redirect: 'http://': empty host",
        ),
    ];
    suffer("no_http.lua", FAULTS, &[]);
}

fn chunked(chunks: &str) -> Vec<Act> {
    send(
        format!("{HEAD}transfer-encoding: chunked\r\n\r\n{chunks}"),
        Act::Hold,
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// 1 GiB of zeros in 1 MiB: sixty-four members of 16 MiB each, which a decoder joins.
fn bomb() -> Vec<u8> {
    gzip(&vec![0; 16 << 20]).repeat(64)
}

#[test]
fn an_alert_of_tls_instead_of_an_answer_says_that_https_is_meant() {
    let alert = "\u{15}\u{3}\u{1}\0\u{2}\u{2}F";
    let site = Site::start(move |_asked: &Asked| send(alert, Act::Close));
    let path = plan("tls_alert.lua", "task { function(user) user:get '/' end }");
    let url = site.url();
    let report = run([path.as_str(), "-H", &url, "-u", "1", "-i", "1"]);
    let errors = report.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("use https://"), "{errors:?}");
}
