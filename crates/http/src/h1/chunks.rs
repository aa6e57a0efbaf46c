//! Decoder of the chunked coding of HTTP/1.1. Pure; the connection drives it.

use crate::failure::{ErrorClass, Failure};
use bytes::{Buf as _, BytesMut};

/// A decoder of a chunked body that arrives in pieces (RFC 9112, section 7.1).
#[derive(Debug, Default)]
pub(crate) struct ChunkDecoder {
    state: ChunkState,
    /// The bytes of size lines and trailers since the last content, which must be limited.
    overhead: usize,
}

/// The place in a chunked body.
#[derive(Debug, Default, Clone, Copy)]
enum ChunkState {
    /// Before the first digit of a size.
    #[default]
    SizeStart,
    /// In a size, with its value so far.
    Size(u64),
    /// In an extension, with the size before it.
    Extension(u64),
    /// In the content of a chunk, with the number of bytes left.
    Data(u64),
    /// In the line end after a chunk.
    DataEnd,
    /// In the trailers; whether the current line has a character.
    Trailer(bool),
    /// After the last chunk and its trailers.
    Done,
}

/// The most bytes of size lines and trailers without content between them.
const MAX_OVERHEAD: usize = 16 * 1024;

impl ChunkDecoder {
    /// Moves the content of `input` to `body`. Returns true when the last chunk has ended; the rest of `input` does not
    /// belong to the response then.
    ///
    /// # Errors
    /// A [`Failure`] of class `protocol`.
    pub(crate) fn decode(
        &mut self,
        input: &mut &[u8],
        body: &mut BytesMut,
    ) -> Result<bool, Failure> {
        let wrong = |detail: &str| Failure::new(ErrorClass::Protocol, detail);
        while !input.is_empty() && !matches!(self.state, ChunkState::Done) {
            if let ChunkState::Data(remaining) = self.state {
                let take = input
                    .len()
                    .min(usize::try_from(remaining).unwrap_or(usize::MAX));
                body.extend_from_slice(&input[..take]);
                input.advance(take);
                self.overhead = 0;
                self.state = match remaining - take as u64 {
                    0 => ChunkState::DataEnd,
                    remaining => ChunkState::Data(remaining),
                };
                continue;
            }
            let byte = input[0];
            input.advance(1);
            self.overhead += 1;
            if self.overhead > MAX_OVERHEAD {
                return Err(wrong("chunk extensions or trailers without end"));
            }
            self.state = match (self.state, byte) {
                (ChunkState::SizeStart, _) => {
                    ChunkState::Size(hex(byte).ok_or_else(|| wrong("wrong chunk size"))?)
                }
                (ChunkState::Size(size), b'\n') | (ChunkState::Extension(size), b'\n') => {
                    match size {
                        0 => ChunkState::Trailer(false),
                        size => ChunkState::Data(size),
                    }
                }
                (ChunkState::Size(size), b'\r' | b';' | b' ' | b'\t') => {
                    ChunkState::Extension(size)
                }
                (ChunkState::Size(size), _) => {
                    let digit = hex(byte).ok_or_else(|| wrong("wrong chunk size"))?;
                    let size = size
                        .checked_mul(16)
                        .ok_or_else(|| wrong("wrong chunk size"))?;
                    ChunkState::Size(size + digit)
                }
                (ChunkState::Extension(size), _) => ChunkState::Extension(size),
                (ChunkState::DataEnd, b'\r') => ChunkState::DataEnd,
                (ChunkState::DataEnd, b'\n') => ChunkState::SizeStart,
                (ChunkState::DataEnd, _) => return Err(wrong("a chunk is longer than its size")),
                (ChunkState::Trailer(false), b'\n') => ChunkState::Done,
                (ChunkState::Trailer(_), b'\n') => ChunkState::Trailer(false),
                (ChunkState::Trailer(some), b'\r') => ChunkState::Trailer(some),
                (ChunkState::Trailer(_), _) => ChunkState::Trailer(true),
                (ChunkState::Data(_) | ChunkState::Done, _) => unreachable!("handled above"),
            };
        }
        Ok(matches!(self.state, ChunkState::Done))
    }
}

/// The value of a hexadecimal digit.
fn hex(byte: u8) -> Option<u64> {
    (byte as char).to_digit(16).map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes in pieces of every size, so that a piece can end in every state.
    fn chunked(text: &str) -> Result<(String, bool, usize), Failure> {
        let mut outcomes = Vec::new();
        for size in 1..=text.len() {
            let (mut chunks, mut body, mut done, mut leftover) =
                (ChunkDecoder::default(), BytesMut::new(), false, 0);
            for mut piece in text.as_bytes().chunks(size) {
                if !done {
                    done = chunks.decode(&mut piece, &mut body)?;
                }
                leftover += piece.len();
            }
            outcomes.push((String::from_utf8_lossy(&body).into_owned(), done, leftover));
        }
        assert!(
            outcomes.windows(2).all(|pair| pair[0] == pair[1]),
            "{outcomes:?}"
        );
        Ok(outcomes.remove(0))
    }

    #[test]
    fn chunks_are_joined_however_they_arrive() {
        let body = |text: &str| chunked(text).expect("valid");
        assert_eq!(
            body("4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n"),
            ("Wikipedia".to_owned(), true, 0)
        );
        assert_eq!(
            body("A;name=value\r\n0123456789\r\n0\r\nx: y\r\n\r\nleft"),
            ("0123456789".to_owned(), true, 4)
        );
        assert_eq!(body("3\nabc\n0\n\n"), ("abc".to_owned(), true, 0));
        assert!(!body("4\r\nWi").1);
    }

    #[test]
    fn wrong_chunks_are_refused() {
        for text in [
            "x\r\n",
            "-1\r\n",
            "FFFFFFFFFFFFFFFFF\r\n",
            "2\r\nabc\r\n",
            "\r\n",
        ] {
            assert_eq!(
                chunked(text).expect_err(text).class,
                ErrorClass::Protocol,
                "{text}"
            );
        }
        let endless = format!("1;{}", "x".repeat(MAX_OVERHEAD));
        let failure = ChunkDecoder::default().decode(&mut endless.as_bytes(), &mut BytesMut::new());
        assert!(failure.is_err());
    }
}
