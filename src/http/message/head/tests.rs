//! Tests of heads and framing, as tables.

use super::*;

fn head(text: &str) -> Result<Option<ResponseHead>, Failure> {
    ResponseHead::parse(text.as_bytes(), &Method::GET)
}

fn framing(lines: &str) -> Framing {
    let text = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
    head(&text).expect("valid").expect("complete").framing
}

#[test]
fn the_end_of_a_body_is_known_as_the_standard_says() {
    assert_eq!(framing("content-length: 12\r\n"), Framing::Length(12));
    assert_eq!(framing("Content-Length: 12, 12\r\n"), Framing::Length(12));
    assert_eq!(
        framing("transfer-encoding: gzip, chunked\r\n"),
        Framing::Chunked
    );
    assert_eq!(
        framing("content-length: 5\r\ntransfer-encoding: chunked\r\n"),
        Framing::Chunked
    );
    assert_eq!(framing("transfer-encoding: gzip\r\n"), Framing::Close);
    assert_eq!(framing(""), Framing::Close);
}

#[test]
fn answers_without_a_body_have_none() {
    for status in ["100 Continue", "204 No Content", "304 Not Modified"] {
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: 12\r\n\r\n");
        let head = head(&text).expect("valid").expect("complete");
        assert_eq!(head.framing, Framing::Length(0), "{status}");
    }
    let text = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n";
    let head = ResponseHead::parse(text, &Method::HEAD)
        .expect("valid")
        .expect("complete");
    assert_eq!(head.framing, Framing::Length(0));
}

#[test]
fn what_frames_a_body_in_two_ways_or_none_is_refused() {
    for lines in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: -1\r\n",
        "content-length: +1\r\n",
        "content-length: \r\n",
        "content-length: 99999999999999999999999\r\n",
    ] {
        let failure = head(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n")).expect_err(lines);
        assert_eq!(failure.class, ErrorClass::Protocol, "{lines}");
    }
}

#[test]
fn a_connection_is_kept_unless_one_side_says_otherwise() {
    let keep = |text: &str| head(text).expect("valid").expect("complete").keep_alive;
    assert!(keep("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    assert!(!keep(
        "HTTP/1.1 200 OK\r\nConnection: Close\r\ncontent-length: 0\r\n\r\n"
    ));
    assert!(!keep("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
    assert!(keep(
        "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n"
    ));
    assert!(!keep("HTTP/1.1 200 OK\r\n\r\n"));
}

#[test]
fn a_head_in_parts_is_waited_for_and_garbage_is_not() {
    assert_eq!(head("HTTP/1.1 200 OK\r\nserver: x\r\n"), Ok(None));
    assert_eq!(
        head("SSH-2.0-OpenSSH_9\r\n").expect_err("no HTTP").class,
        ErrorClass::Protocol
    );
    assert_eq!(
        head("HTTP/1.1 099 X\r\n\r\n").expect_err("no status").class,
        ErrorClass::Protocol
    );
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    assert_eq!(
        head(&many).expect_err("too many").class,
        ErrorClass::TooLarge
    );
    let long = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(MAX_HEAD));
    assert_eq!(
        head(&long).expect_err("too long").class,
        ErrorClass::TooLarge
    );
}

#[test]
fn location_is_found_where_it_stands() {
    let text = "HTTP/1.1 302 Found\r\nLocation:  /node/1#c \r\ncontent-length: 0\r\n\r\n";
    let head = head(text).expect("valid").expect("complete");
    assert_eq!(head.location.map(|range| &text[range]), Some("/node/1#c"));
}
