//! Content codings (RFC 9110, section 8.4.1): decodes bodies with gzip, deflate, br or zstd. The limit on received
//! bodies applies to decoded ones, too, so that a small response cannot fill the memory; and decoding has a limit of
//! time.

mod pieces;

use super::patience::{BodyPieces, DecodingTime, read_slices};
use crate::failure::{ErrorClass, Failure};
use bytes::Bytes;
pub(crate) use pieces::PieceDecoder;
use std::io::Read;

/// The codings that lgoose accepts, which are those of browsers.
pub const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// The size of the decoders' buffers.
const BUFFER_SIZE: usize = 16 * 1024;

/// The most codings of one body; a small body could otherwise have thousands of layers.
const MAX_LAYERS: usize = 8;

/// The largest window that a zstd decoder on the web must support (RFC 9659, section 3): 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A coding that can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The name of the coding in messages.
    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    /// The coding with that name in a header, where blanks may stand around it; `Some(None)` for `identity`, `None` if the
    /// name is not known.
    fn from_name(name: &str) -> Option<Option<Coding>> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            "br" => Some(Coding::Brotli),
            "zstd" => Some(Coding::Zstd),
            _ => return None,
        })
    }
}

/// The codings of a body, each list as its header field has it.
#[derive(Debug, Default, Clone)]
pub(super) struct Codings {
    content: String,
    /// Without `chunked`, which the connection has already removed.
    transfer: String,
}

impl Codings {
    /// The codings in these headers; fields with the same name are joined (RFC 9110, section 5.3).
    pub(super) fn of(headers: &[(String, Vec<u8>)]) -> Codings {
        let list = |header: &str| -> Vec<String> {
            let fields = headers.iter().filter(|(name, _)| name == header);
            let texts = fields.map(|(_, value)| String::from_utf8_lossy(value));
            texts
                .flat_map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>())
                .filter(|name| !name.trim().is_empty())
                .collect()
        };
        let chunked = |name: &String| name.trim().eq_ignore_ascii_case("chunked");
        let mut transfer = list("transfer-encoding");
        transfer.pop_if(|last| chunked(last));
        Codings {
            content: list("content-encoding").join(","),
            transfer: transfer.join(","),
        }
    }

    /// Decodes `body`: removes the transfer codings first, then the content codings. As in browsers, a body with a content
    /// coding that is not known, such as `none`, `UTF-8` or `aws-chunked`, stays as it is.
    ///
    /// # Errors
    /// A [`Failure`] of class `decoding` if the body is not valid in these codings, takes longer than `patience` allows or
    /// has a transfer coding that is not known, or of class `too large` if the body takes more than `max_body` bytes once decoded.
    pub(super) fn decode(
        &self,
        body: &Bytes,
        max_body: u64,
        patience: &DecodingTime,
    ) -> Result<Bytes, Failure> {
        let limits = DecodingLimits { max_body, patience };
        let content = decode_field("transfer-encoding", &self.transfer, body, limits)?;
        decode_content(&self.content, &content, limits)
    }
}

/// Decodes `body`, whose `Content-Encoding` is `header`, starting with the last coding.
///
/// # Errors
/// The same as for [`Codings::decode`].
pub(crate) fn decode(header: &str, body: &Bytes, max_body: u64) -> Result<Bytes, Failure> {
    let patience = &DecodingTime::for_bodies(max_body);
    let limits = DecodingLimits { max_body, patience };
    decode_content(header, body, limits)
}

/// Limits for decoding a body.
#[derive(Clone, Copy)]
struct DecodingLimits<'a> {
    /// The most bytes once decoded.
    max_body: u64,
    patience: &'a DecodingTime,
}

/// Decodes `body`, whose content codings `header` lists; with one that is not known, it stays as it is.
fn decode_content(
    header: &str,
    body: &Bytes,
    limits: DecodingLimits<'_>,
) -> Result<Bytes, Failure> {
    if header
        .split(',')
        .all(|name| Coding::from_name(name).is_some())
    {
        decode_field("content-encoding", header, body, limits)
    } else {
        Ok(body.clone())
    }
}

/// Decodes `body`, whose codings the header field `field` lists.
fn decode_field(
    field: &str,
    header: &str,
    body: &Bytes,
    limits: DecodingLimits<'_>,
) -> Result<Bytes, Failure> {
    let mut decoded = body.clone();
    if header.split(',').count() > MAX_LAYERS {
        let detail = format!("more than {MAX_LAYERS} {field}s");
        return Err(Failure::new(ErrorClass::Decoding, detail));
    }
    for name in header.rsplit(',') {
        let coding = Coding::from_name(name).ok_or_else(|| {
            let name = name.trim().to_ascii_lowercase();
            Failure::new(
                ErrorClass::Decoding,
                format!("{field} '{name}' is not known"),
            )
        })?;
        if let Some(coding) = coding
            && !decoded.is_empty()
        {
            decoded = remove(coding, &decoded, limits)?;
        }
    }
    Ok(decoded)
}

fn remove(coding: Coding, body: &[u8], limits: DecodingLimits<'_>) -> Result<Bytes, Failure> {
    let pieces = BodyPieces::of(body, limits.patience);
    match coding {
        Coding::Gzip => read("gzip", GzipMembers::of(pieces), gzip_length(body), limits),
        // The deflate of HTTP is the format of zlib, but some servers send bare deflate.
        Coding::Deflate if is_zlib(body) => {
            let decoder = flate2::bufread::ZlibDecoder::new(pieces);
            read("deflate", decoder, usual_length(body), limits)
        }
        Coding::Deflate => {
            let decoder = flate2::bufread::DeflateDecoder::new(pieces);
            read("deflate", decoder, usual_length(body), limits)
        }
        Coding::Brotli => {
            let decoder = brotli_decompressor::Decompressor::new(pieces, BUFFER_SIZE);
            read("br", decoder, usual_length(body), limits)
        }
        Coding::Zstd => {
            let failed = |error| broken("zstd", &error);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(pieces).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
            let declared = zstd::zstd_safe::get_frame_content_size(body);
            let length = declared.ok().flatten().unwrap_or(usual_length(body));
            read("zstd", decoder, length, limits)
        }
    }
}

/// The members of a gzip body one after another (RFC 1952, section 2.2). Bytes after the last one are ignored, as by
/// browsers.
struct GzipMembers<'a>(flate2::bufread::GzDecoder<BodyPieces<'a>>);

impl GzipMembers<'_> {
    fn of(pieces: BodyPieces<'_>) -> GzipMembers<'_> {
        GzipMembers(flate2::bufread::GzDecoder::new(pieces))
    }
}

impl Read for GzipMembers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            let pieces = self.0.get_ref();
            if count > 0 || buffer.is_empty() || !pieces.rest().starts_with(b"\x1f\x8b") {
                return Ok(count);
            }
            *self = GzipMembers::of(pieces.clone());
        }
    }
}

/// The usual length of a decoded text, in bytes: it is compressed to about a quarter.
fn usual_length(body: &[u8]) -> u64 {
    body.len() as u64 * 4
}

/// The length of a decoded body from its last four bytes (RFC 1952, section 2.3.1), in bytes; the usual one if they
/// cannot be right.
fn gzip_length(body: &[u8]) -> u64 {
    /// Deflate compresses by a factor of at most some 1,032 (two bits for 258 bytes).
    const MAX_RATIO: u64 = 1032;
    match body
        .last_chunk()
        .map(|declared| u32::from_le_bytes(*declared))
    {
        Some(declared) if u64::from(declared) <= body.len() as u64 * MAX_RATIO => declared.into(),
        _ => usual_length(body),
    }
}

/// Whether a body is in the format of zlib (RFC 1950, section 2.2): the method is 8, and the first two bytes as a
/// number are a multiple of 31.
fn is_zlib(body: &[u8]) -> bool {
    match body {
        [first, second, ..] => {
            first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
        }
        _ => false,
    }
}

/// Reads a decoded body; `length` is how long it will probably be, so that it need not be moved while it grows.
fn read(
    name: &str,
    decoder: impl Read,
    length: u64,
    limits: DecodingLimits<'_>,
) -> Result<Bytes, Failure> {
    let max_body = limits.max_body;
    let mut decoded = Vec::with_capacity(length.min(max_body) as usize);
    read_slices(decoder, max_body + 1, limits.patience, &mut decoded)
        .map_err(|error| broken(name, &error))?;
    if decoded.len() as u64 > max_body {
        return Err(Failure::new(
            ErrorClass::TooLarge,
            format!("body of more than {max_body} bytes once decoded ('--max-body')"),
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
mod tests;
