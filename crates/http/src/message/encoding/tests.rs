//! Tests of decoding bodies, and of those that are given up.

use super::*;
use std::io::Write as _;

const TEXT: &[u8] = b"<title>Bienvenidos</title> <title>Bienvenidos</title>";

fn gzip(text: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory").into()
}

fn deflate(text: &[u8]) -> Bytes {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory").into()
}

fn zlib(text: &[u8]) -> Bytes {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory").into()
}

fn zstandard(text: &[u8]) -> Bytes {
    zstd::stream::encode_all(text, 1).expect("memory").into()
}

/// "lgoose lgoose lgoose" as the reference encoder writes it.
const BROTLI: &[u8] =
    b"\x1b\x13\x00\x00\x04\x1c\x72\xa4\x77\x69\x49\xdb\xa1\x88\x27\x92\x57\x7d\x00";

#[test]
fn each_coding_is_taken_off() {
    for (header, body) in [
        ("gzip", gzip(TEXT)),
        ("x-gzip", gzip(TEXT)),
        ("GZIP", gzip(TEXT)),
        ("deflate", zlib(TEXT)),
        ("deflate", deflate(TEXT)),
        ("zstd", zstandard(TEXT)),
        ("gzip, zstd", zstandard(&gzip(TEXT))),
        ("identity", Bytes::from_static(TEXT)),
    ] {
        let decoded = decode(header, &body, 1000);
        assert_eq!(decoded.as_deref(), Ok(TEXT), "{header}");
    }
}

#[test]
fn what_follows_the_last_member_of_gzip_is_ignored() {
    let (one, other) = TEXT.split_at(9);
    let members = [gzip(one), gzip(b""), gzip(other)].concat();
    let ends_early = Err("decoding: gzip: it ends too early".to_owned());
    let decoded = |end: &[u8]| {
        let body = [&members, end].concat().into();
        decode("gzip", &body, 1000).map_err(|failure| failure.to_string())
    };
    for end in [&b""[..], b"\0\0\0", b"<!-- served by x -->", b"\x1f"] {
        assert_eq!(decoded(end).as_deref(), Ok(TEXT), "{end:?}");
    }
    assert_eq!(decoded(&gzip(TEXT)[..20]), ends_early);
    assert_eq!(decoded(b"\x1f\x8b"), ends_early);
    let body = gzip(TEXT);
    for length in 1..body.len() {
        let cut = decode("gzip", &body.slice(..length), 1000);
        assert!(cut.is_err(), "{length}");
    }
}

#[test]
fn brotli_is_taken_off() {
    let decoded = decode("br", &Bytes::from_static(BROTLI), 100);
    assert_eq!(decoded.as_deref(), Ok(&b"lgoose lgoose lgoose"[..]));
}

#[test]
fn no_body_has_no_coding() {
    assert_eq!(decode("gzip", &Bytes::new(), 10), Ok(Bytes::new()));
}

#[test]
fn what_is_wrong_with_a_body_is_reported() {
    let whole = gzip(TEXT);
    for (header, body, message) in [
        (
            "gzip",
            whole.slice(..whole.len() - 9),
            "decoding: gzip: it ends too early",
        ),
        (
            "zstd",
            zstandard(TEXT).slice(..20),
            "decoding: zstd: it ends too early",
        ),
        (
            "gzip",
            Bytes::from_static(b"<html>not compressed at all"),
            "decoding: gzip: invalid gzip header",
        ),
        (
            "gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip",
            gzip(TEXT),
            "decoding: more than 8 content-encodings",
        ),
    ] {
        let failure = decode(header, &body, 1000).expect_err(header);
        assert_eq!(failure.to_string(), message);
    }
}

#[test]
fn a_body_with_a_coding_that_is_not_known_stays_as_it_is() {
    for header in [
        "snappy",
        "none",
        "UTF-8",
        "binary",
        "aws-chunked",
        "gzip, none",
        "none, gzip",
    ] {
        assert_eq!(decode(header, &gzip(TEXT), 1000).expect(header), gzip(TEXT));
    }
}

#[test]
fn decompression_stops_at_the_limit() {
    let bomb = gzip(&vec![0; 4 << 20]);
    assert!(bomb.len() < 32 << 10);
    let failure = decode("gzip", &bomb, 1 << 20).expect_err("too large");
    assert_eq!(failure.class, ErrorClass::TooLarge);
}

/// Texts that are long in one way each: before they are decoded, and after.
fn long_texts() -> [Vec<u8>; 2] {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    [(0..40_000).map(|_| noise()).collect(), vec![0; 200_000]]
}

#[test]
fn a_body_that_takes_too_long_is_abandoned() {
    let decode = |header: &str, body: &Bytes| {
        let patience = &DecodingTime::new(std::time::Duration::ZERO);
        let max_body = 1 << 20;
        let limits = DecodingLimits { max_body, patience };
        let decoded = decode_field("content-encoding", header, body, limits);
        (decoded, patience.has_ended())
    };
    let late = "it takes longer than 0ns";
    for text in long_texts() {
        for (header, body) in [
            ("gzip", gzip(&text)),
            ("deflate", deflate(&text)),
            ("deflate", zlib(&text)),
            ("zstd", zstandard(&text)),
        ] {
            let (decoded, has_ended) = decode(header, &body);
            let failure = decoded.expect_err(header).to_string();
            assert_eq!(failure, format!("decoding: {header}: {late}"));
            assert!(has_ended);
        }
    }
    // Members of gzip without a byte of text, and blocks of brotli without one.
    for (header, body) in [
        ("gzip", gzip(b"").repeat(1000)),
        ("br", [&b"\x0c"[..], &[6; 40_000]].concat()),
    ] {
        let (decoded, _) = decode(header, &body.into());
        let failure = decoded.expect_err(header).to_string();
        assert_eq!(failure, format!("decoding: {header}: {late}"));
    }
    // The clock is not even read for usual bodies.
    assert_eq!(decode("gzip", &gzip(TEXT)), (Ok(TEXT.into()), false));
}
