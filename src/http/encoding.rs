//! Content codings (RFC 9110, section 8.4.1): takes a body apart that came as gzip, deflate, br or zstd.
//! What comes out is limited as what comes in is, so that a small answer cannot fill the memory.

use super::{ErrorClass, Failure};
use bytes::Bytes;
use std::io::Read;

/// What a browser accepts, and so does lgoose.
pub const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// A buffer of this size is what the decoders ask for at most at a time.
const PIECE: usize = 16 * 1024;

/// The most codings that one body has; a small one could otherwise hold thousands of layers.
const MOST_LAYERS: usize = 8;

/// The largest window of zstd that a decoder on the web must have (RFC 9659, section 3): 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A coding that can be taken off a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn from_name(name: &str) -> Option<Option<Coding>> {
        Some(match name {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            "br" => Some(Coding::Brotli),
            "zstd" => Some(Coding::Zstd),
            _ => return None,
        })
    }
}

/// Takes the codings of `header` (the value of `Content-Encoding`) off `body`, the last one first.
///
/// # Errors
/// A [`Failure`] of class `decoding` if the body is not what the header says or the header names a coding
/// that is not known, of class `too large` if more than `most` bytes come out.
pub(super) fn decode(header: &str, body: &Bytes, most: u64) -> Result<Bytes, Failure> {
    let mut decoded = body.clone();
    if header.split(',').count() > MOST_LAYERS {
        let detail = format!("more than {MOST_LAYERS} content-encodings");
        return Err(Failure::new(ErrorClass::Decoding, detail));
    }
    for name in header.rsplit(',') {
        let name = name.trim().to_ascii_lowercase();
        let coding = Coding::from_name(&name).ok_or_else(|| {
            Failure::new(
                ErrorClass::Decoding,
                format!("content-encoding '{name}' is not known"),
            )
        })?;
        if let Some(coding) = coding
            && !decoded.is_empty()
        {
            decoded = take_off(coding, &decoded, most)?;
        }
    }
    Ok(decoded)
}

fn take_off(coding: Coding, body: &[u8], most: u64) -> Result<Bytes, Failure> {
    match coding {
        Coding::Gzip => read("gzip", flate2::read::MultiGzDecoder::new(body), body, most),
        // What HTTP calls deflate is zlib's format; some servers send bare deflate all the same.
        Coding::Deflate if is_zlib(body) => {
            read("deflate", flate2::read::ZlibDecoder::new(body), body, most)
        }
        Coding::Deflate => read(
            "deflate",
            flate2::read::DeflateDecoder::new(body),
            body,
            most,
        ),
        Coding::Brotli => read(
            "br",
            brotli_decompressor::Decompressor::new(body, PIECE),
            body,
            most,
        ),
        Coding::Zstd => {
            let failed = |error| broken("zstd", &error);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
            read("zstd", decoder, body, most)
        }
    }
}

/// RFC 1950, section 2.2: the method is 8 and the first two bytes are a multiple of 31.
fn is_zlib(body: &[u8]) -> bool {
    match body {
        [first, second, ..] => {
            first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
        }
        _ => false,
    }
}

fn read(name: &str, decoder: impl Read, body: &[u8], most: u64) -> Result<Bytes, Failure> {
    // Text shrinks to about a quarter.
    let guess = (body.len() as u64 * 4).min(most) as usize;
    let mut decoded = Vec::with_capacity(guess);
    decoder
        .take(most + 1)
        .read_to_end(&mut decoded)
        .map_err(|error| broken(name, &error))?;
    if decoded.len() as u64 > most {
        return Err(Failure::new(
            ErrorClass::TooLarge,
            format!("body of more than {most} bytes once decoded ('--max-body')"),
        ));
    }
    Ok(decoded.into())
}

fn broken(name: &str, error: &std::io::Error) -> Failure {
    let problem = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(ErrorClass::Decoding, format!("{name}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const TEXT: &[u8] = b"<title>Bienvenidos</title> <title>Bienvenidos</title>";

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory").into()
    }

    fn deflate(text: &[u8]) -> Bytes {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
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
    fn brotli_is_taken_off() {
        let decoded = decode("br", &Bytes::from_static(BROTLI), 100);
        assert_eq!(decoded.as_deref(), Ok(&b"lgoose lgoose lgoose"[..]));
    }

    #[test]
    fn no_body_has_no_coding() {
        assert_eq!(decode("gzip", &Bytes::new(), 10), Ok(Bytes::new()));
    }

    #[test]
    fn what_is_wrong_with_a_body_is_said() {
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
            (
                "snappy",
                Bytes::from_static(b"x"),
                "decoding: content-encoding 'snappy' is not known",
            ),
        ] {
            let failure = decode(header, &body, 1000).expect_err(header);
            assert_eq!(failure.to_string(), message);
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 4 << 20]);
        assert!(bomb.len() < 32 << 10);
        let failure = decode("gzip", &bomb, 1 << 20).expect_err("too large");
        assert_eq!(failure.class, ErrorClass::TooLarge);
    }
}
