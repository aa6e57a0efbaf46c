//! Decodes a compressed body piece by piece while it arrives.

use super::{Coding, MAX_LAYERS, ZSTD_WINDOW_LOG, broken};
use crate::failure::{ErrorClass, Failure};
use lgoose_base::units::show_size;
use std::io::{self, Write};

/// The size of brotli's buffer, in bytes.
const BROTLI_BUFFER: usize = 4096;

/// The decoders of a body, in the order in which its bytes pass through them.
#[derive(Debug, Default)]
pub(crate) struct PieceDecoder(Vec<LayerDecoder>);

/// A decoder of one coding.
struct LayerDecoder {
    coding: Coding,
    most: usize,
    /// Made with the first bytes.
    decoder: Option<Box<dyn DecodingWriter>>,
    /// Whether the compressed data have ended. Bytes after the end are ignored, as by browsers.
    is_over: bool,
}

impl std::fmt::Debug for LayerDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.coding.fmt(f)
    }
}

/// A decoder that writes into a sink.
trait DecodingWriter: Write {
    fn sink(&mut self) -> &mut Sink;
}

/// Collects decoded bytes, up to a limit.
#[derive(Debug)]
struct Sink {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! decoding_writer {
    ($($kind:ty),+) => {$(
        impl DecodingWriter for $kind {
            fn sink(&mut self) -> &mut Sink {
                self.get_mut()
            }
        }
    )+};
}

decoding_writer!(
    flate2::write::GzDecoder<Sink>,
    flate2::write::ZlibDecoder<Sink>,
    flate2::write::DeflateDecoder<Sink>,
    brotli_decompressor::DecompressorWriter<Sink>,
    zstd::stream::write::Decoder<'static, Sink>
);

impl PieceDecoder {
    /// The decoders for a body whose `Content-Encoding` is `header`, of which a piece gives at most so many bytes. None for a
    /// coding that is not known: such a body stays as it is.
    pub(crate) fn of(header: &str, most: usize) -> PieceDecoder {
        let codings: Option<Vec<_>> = header.rsplit(',').map(Coding::from_name).collect();
        let codings: Vec<Coding> = codings.into_iter().flatten().flatten().collect();
        let layers = codings.into_iter().map(|coding| LayerDecoder {
            coding,
            most,
            decoder: None,
            is_over: false,
        });
        PieceDecoder(layers.collect())
    }

    /// Whether there is nothing to decode.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decodes a piece.
    ///
    /// # Errors
    /// A [`Failure`] of class `decoding` if it is not valid or has too many codings, or of class `too large` if it gives more
    /// than it may.
    pub(crate) fn decode(&mut self, piece: &[u8]) -> Result<Vec<u8>, Failure> {
        if self.0.len() > MAX_LAYERS {
            let detail = format!("more than {MAX_LAYERS} content-encodings");
            return Err(Failure::new(ErrorClass::Decoding, detail));
        }
        let mut bytes = piece.to_vec();
        for layer in &mut self.0 {
            bytes = layer.decode(&bytes)?;
        }
        Ok(bytes)
    }
}

impl LayerDecoder {
    fn decode(&mut self, piece: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(first) = piece.first().filter(|_| !self.is_over) else {
            return Ok(Vec::new());
        };
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(decoder(self.coding, *first, self.most)?),
        };
        let written = write(&mut **decoder, piece);
        let bytes = std::mem::take(&mut decoder.sink().bytes);
        self.is_over = written.map_err(|error| self.failure(&error))?;
        Ok(bytes)
    }

    fn failure(&self, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::FileTooLarge {
            let most = show_size(self.most as f64);
            let detail =
                format!("a piece of a compressed stream has more than {most} once decoded");
            return Failure::new(ErrorClass::TooLarge, detail);
        }
        broken(self.coding.name(), error)
    }
}

/// Makes the decoder of a coding; `first` is the first byte of the data.
fn decoder(coding: Coding, first: u8, most: usize) -> Result<Box<dyn DecodingWriter>, Failure> {
    /// The method of zlib's format (RFC 1950, section 2.2).
    const ZLIB: u8 = 8;
    let sink = Sink {
        bytes: Vec::new(),
        most,
    };
    Ok(match coding {
        Coding::Gzip => Box::new(flate2::write::GzDecoder::new(sink)),
        Coding::Deflate if first & 0x0f == ZLIB => Box::new(flate2::write::ZlibDecoder::new(sink)),
        Coding::Deflate => Box::new(flate2::write::DeflateDecoder::new(sink)),
        Coding::Brotli => Box::new(brotli_decompressor::DecompressorWriter::new(
            sink,
            BROTLI_BUFFER,
        )),
        Coding::Zstd => {
            let failed = |error| broken(coding.name(), &error);
            let mut decoder = zstd::stream::write::Decoder::new(sink).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
            Box::new(decoder)
        }
    })
}

/// Feeds a piece to the decoder and flushes its output. Returns whether the compressed data have ended.
fn write(decoder: &mut dyn DecodingWriter, mut piece: &[u8]) -> io::Result<bool> {
    while !piece.is_empty() {
        match decoder.write(piece)? {
            0 => return Ok(true),
            count => piece = &piece[count..],
        }
    }
    decoder.flush()?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codings of a text of lines, made by other libraries.
    const TEXT: &str = "data: one\n\ndata: two\n\ndata: three\n\n";

    fn gzip() -> Vec<u8> {
        let mut coded = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        coded.write_all(TEXT.as_bytes()).expect("it is coded");
        coded.finish().expect("it is coded")
    }

    #[test]
    fn pieces_of_any_size_give_the_text() {
        let deflated = |zlib: bool| {
            let coded = TEXT.as_bytes();
            let mut out = Vec::new();
            let level = flate2::Compression::default();
            if zlib {
                let mut reader = flate2::bufread::ZlibEncoder::new(coded, level);
                io::Read::read_to_end(&mut reader, &mut out).expect("it is coded");
            } else {
                let mut reader = flate2::bufread::DeflateEncoder::new(coded, level);
                io::Read::read_to_end(&mut reader, &mut out).expect("it is coded");
            }
            out
        };
        let zstd = zstd::encode_all(TEXT.as_bytes(), 3).expect("it is coded");
        let twice = zstd::encode_all(&gzip()[..], 3).expect("it is coded");
        for (header, coded) in [
            ("gzip", gzip()),
            ("x-gzip", [gzip(), vec![0; 20]].concat()),
            ("deflate", deflated(true)),
            ("deflate", deflated(false)),
            ("zstd", zstd),
            ("gzip, zstd", twice),
            ("identity", TEXT.as_bytes().to_vec()),
            ("utf-8", TEXT.as_bytes().to_vec()),
        ] {
            for size in [1, 2, 7, coded.len()] {
                let mut decoder = PieceDecoder::of(header, 1_000);
                let mut text = Vec::new();
                for piece in coded.chunks(size) {
                    text.extend(decoder.decode(piece).expect(header));
                }
                assert_eq!(String::from_utf8_lossy(&text), TEXT, "{header} {size}");
            }
        }
    }

    #[test]
    fn brotli_gives_what_has_come() {
        // Its window, blocks of a byte that are not compressed, and an empty last one (RFC 7932, section 9).
        let coded = [&[0, 0, 0x10, b'a'][..], &[0, 0, 8, b'b', 0, 0, 8, b'c', 3]].concat();
        for size in [1, 3, 4, coded.len()] {
            let mut decoder = PieceDecoder::of("br", 1_000);
            let mut text = Vec::new();
            for piece in coded.chunks(size) {
                text.extend(decoder.decode(piece).expect("it is br"));
            }
            assert_eq!(text, b"abc", "{size}");
            // What follows the end is ignored.
            assert!(decoder.decode(b"more").is_ok_and(|more| more.is_empty()));
        }
    }

    #[test]
    fn a_piece_that_grows_too_large_or_is_broken_is_refused() {
        let mut coded = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        coded.write_all(&vec![0; 100_000]).expect("it is coded");
        let bomb = coded.finish().expect("it is coded");
        let of = |header| PieceDecoder::of(header, 1_000);
        let failure = of("gzip").decode(&bomb).expect_err("it is too large");
        assert_eq!(failure.class, ErrorClass::TooLarge);
        for header in ["gzip", "deflate", "br", "zstd"] {
            let failure = of(header).decode(&[0xff; 100]).expect_err(header);
            assert_eq!(failure.class, ErrorClass::Decoding, "{header}");
        }
        assert!(
            PieceDecoder::of(&"gzip,".repeat(20), 1_000)
                .decode(b"x")
                .is_err()
        );
    }
}
