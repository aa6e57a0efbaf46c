//! Messages of gRPC as they stand in a body: a byte of flags, a length in four bytes, and the message, which may be
//! compressed (gRPC's `PROTOCOL-HTTP2.md`). In gRPC-Web, the trailers come as one more of them (`PROTOCOL-WEB.md`).

use crate::failure::{ErrorClass, Failure};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lgoose_base::units::show_size;
use std::io::{Read as _, Write as _};

/// The length of the head before a message.
const HEAD: usize = 5;
const COMPRESSED: u8 = 1;
const TRAILERS: u8 = 0x80;

/// The compression of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageCoding {
    /// Not compressed.
    #[default]
    Identity,
    /// Compressed by gzip.
    Gzip,
    /// A coding that lgoose does not support.
    Other,
}

impl MessageCoding {
    /// Reads the value of a `grpc-encoding`.
    pub(super) fn named(name: &[u8]) -> MessageCoding {
        match name {
            b"identity" => MessageCoding::Identity,
            b"gzip" => MessageCoding::Gzip,
            _ => MessageCoding::Other,
        }
    }
}

/// Appends a message to `out`, as it is sent.
pub fn write_message(out: &mut Vec<u8>, message: &[u8], coding: MessageCoding) {
    if coding == MessageCoding::Gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        // Memory takes all that is written.
        let written = encoder.write_all(message).and_then(|()| encoder.finish());
        if let Ok(compressed) = written {
            return write_framed(out, COMPRESSED, &compressed);
        }
    }
    write_framed(out, 0, message);
}

fn write_framed(out: &mut Vec<u8>, flags: u8, bytes: &[u8]) {
    out.push(flags);
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// An item of a body: a message, or the trailers of gRPC-Web.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framed {
    Message(Bytes),
    Trailers(Bytes),
}

/// Reads the messages of a body, which comes in pieces.
#[derive(Debug)]
pub(crate) struct MessageReader {
    /// The longest message, compressed or not.
    most: usize,
    coding: MessageCoding,
    /// Whether trailers come in the body.
    is_web: bool,
    unread: Vec<u8>,
    /// The number of its bytes already read.
    read: usize,
}

impl MessageReader {
    pub(crate) fn new(most: usize, is_web: bool) -> MessageReader {
        MessageReader {
            most,
            coding: MessageCoding::default(),
            is_web,
            unread: Vec::new(),
            read: 0,
        }
    }

    /// Sets how its messages are compressed.
    pub(crate) fn set_coding(&mut self, coding: MessageCoding) {
        self.coding = coding;
    }

    /// Takes a piece of the body.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.unread.drain(..self.read);
        self.read = 0;
        self.unread.extend_from_slice(piece);
    }

    /// Takes a piece of a body that is one message without a frame.
    ///
    /// # Errors
    /// It is too long.
    pub(super) fn add_whole(&mut self, piece: &[u8]) -> Result<(), Failure> {
        if piece.len() > self.most - self.unread.len() {
            return Err(self.too_long());
        }
        self.unread.extend_from_slice(piece);
        Ok(())
    }

    /// Returns the body that is one message.
    pub(super) fn take_whole(&mut self) -> Bytes {
        std::mem::take(&mut self.unread).into()
    }

    /// The bytes of a message that is not complete.
    pub(crate) fn held(&self) -> usize {
        self.unread.len() - self.read
    }

    /// Reads the next message that has come completely.
    ///
    /// # Errors
    /// It is too long, or malformed.
    pub(crate) fn next(&mut self) -> Result<Option<Framed>, Failure> {
        let bytes = &self.unread[self.read..];
        let Some((&[flags, l3, l2, l1, l0], rest)) = bytes.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([l3, l2, l1, l0]) as usize;
        let is_trailers = self.is_web && flags & TRAILERS != 0;
        if !matches!(flags & !TRAILERS, 0 | COMPRESSED) || (flags & TRAILERS != 0 && !is_trailers) {
            let detail = "a message has flags that gRPC does not know";
            return Err(Failure::new(ErrorClass::Protocol, detail));
        }
        if length > self.most {
            return Err(self.too_long());
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let message = match flags & COMPRESSED {
            0 => Bytes::copy_from_slice(message),
            _ => self.decompressed(message)?,
        };
        self.read += HEAD + length;
        Ok(Some(if is_trailers {
            Framed::Trailers(message)
        } else {
            Framed::Message(message)
        }))
    }

    fn decompressed(&self, message: &[u8]) -> Result<Bytes, Failure> {
        let wrong = |detail: &str| Err(Failure::new(ErrorClass::Decoding, detail));
        match self.coding {
            MessageCoding::Gzip => {}
            MessageCoding::Identity => {
                return wrong("a message is compressed, and no 'grpc-encoding' says how");
            }
            MessageCoding::Other => {
                return wrong("messages are compressed by a method that lgoose has not offered");
            }
        }
        let mut decoded = Vec::new();
        let most = self.most as u64 + 1;
        // Members of gzip may follow one another (RFC 1952, section 2.2), and nothing else may.
        let decoder = MultiGzDecoder::new(message);
        let read = decoder.take(most).read_to_end(&mut decoded);
        if read.is_err() {
            return wrong("a message is not gzip");
        }
        if decoded.len() > self.most {
            return Err(self.too_long());
        }
        Ok(decoded.into())
    }

    fn too_long(&self) -> Failure {
        let most = show_size(self.most as f64);
        let detail = format!("a message is longer than {most} ('max_buffer')");
        Failure::new(ErrorClass::TooLarge, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use zlib_rs::{InflateConfig, ReturnCode};

    fn read(reader: &mut MessageReader, bytes: &[u8], size: usize) -> Result<Vec<Framed>, Failure> {
        let mut all = Vec::new();
        for piece in bytes.chunks(size) {
            reader.add(piece);
            while let Some(framed) = reader.next()? {
                all.push(framed);
            }
        }
        Ok(all)
    }

    #[test]
    fn messages_are_read_however_they_are_cut() {
        let mut body = Vec::new();
        write_message(&mut body, b"one", MessageCoding::Identity);
        write_message(&mut body, b"", MessageCoding::Identity);
        write_message(&mut body, &[b'x'; 1000], MessageCoding::Gzip);
        for size in [1, 2, 5, 7, 1000] {
            let mut reader = MessageReader::new(1000, false);
            reader.set_coding(MessageCoding::Gzip);
            let all = read(&mut reader, &body, size).expect("messages");
            let lengths: Vec<_> = all
                .iter()
                .map(|framed| match framed {
                    Framed::Message(bytes) => bytes.len(),
                    Framed::Trailers(_) => usize::MAX,
                })
                .collect();
            assert_eq!(lengths, [3, 0, 1000], "{size}");
            assert_eq!(reader.held(), 0);
        }
    }

    /// Compresses a message as a body has it.
    fn gzip(message: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        write_message(&mut body, message, MessageCoding::Gzip);
        body
    }

    #[test]
    fn every_message_that_is_compressed_is_whole() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1952);
        let borders = (0..=18).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
        for length in borders {
            let mut message = vec![b'x'; length];
            random.fill_bytes(&mut message[length / 2..]);
            let body = gzip(&message);
            let (mut room, config) = (vec![0; length + 1], InflateConfig { window_bits: 31 });
            let (theirs, code) = zlib_rs::decompress_slice(&mut room, &body[HEAD..], config);
            assert!(
                theirs == message && code == ReturnCode::Ok,
                "{length}: {code:?}"
            );
            let mut reader = MessageReader::new(length + 1_000, false);
            reader.set_coding(MessageCoding::Gzip);
            let ours = read(&mut reader, &body, 7_000).expect("a message");
            assert!(ours == [Framed::Message(message.into())], "{length}");
        }
    }

    #[test]
    fn a_compressed_message_is_all_of_its_members_and_nothing_else() {
        let [one, two] = [gzip(b"one "), gzip(b"two")];
        let joined = |parts: &[&[u8]]| {
            let mut body = Vec::new();
            write_framed(&mut body, COMPRESSED, &parts.concat());
            let mut reader = MessageReader::new(100, false);
            reader.set_coding(MessageCoding::Gzip);
            read(&mut reader, &body, 100)
        };
        let (one, two) = (&one[HEAD..], &two[HEAD..]);
        let both = Framed::Message(Bytes::from_static(b"one two"));
        assert_eq!(joined(&[one, two]), Ok(vec![both]));
        for wrong in [
            &[one, b"more"][..],
            &[one, &two[..9]],
            &[&one[..one.len() - 1]],
            &[],
        ] {
            let failure = joined(wrong).expect_err("it is cut or has more");
            assert_eq!(failure.class, ErrorClass::Decoding);
        }
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let class = |bytes: &[u8], coding| {
            let mut reader = MessageReader::new(100, false);
            reader.set_coding(coding);
            let read = read(&mut reader, bytes, 3);
            read.err().map(|failure| failure.class)
        };
        let mut bomb = Vec::new();
        write_message(&mut bomb, &[0; 100_000], MessageCoding::Gzip);
        let gzip = MessageCoding::Gzip;
        assert_eq!(class(&bomb, gzip), Some(ErrorClass::TooLarge));
        bomb.clear();
        write_message(&mut bomb, &[0; 101], gzip);
        assert_eq!(class(&bomb, gzip), Some(ErrorClass::TooLarge), "one byte");
        let long = [0, 0, 0, 0, 101];
        assert_eq!(class(&long, gzip), Some(ErrorClass::TooLarge));
        assert_eq!(class(&[2, 0, 0, 0, 0], gzip), Some(ErrorClass::Protocol));
        assert_eq!(class(&[0x80, 0, 0, 0, 0], gzip), Some(ErrorClass::Protocol));
        assert_eq!(class(&[1, 0, 0, 0, 1, 7], gzip), Some(ErrorClass::Decoding));
        let plain = MessageCoding::Identity;
        assert_eq!(
            class(&[1, 0, 0, 0, 1, 7], plain),
            Some(ErrorClass::Decoding)
        );
        assert_eq!(class(&[0, 0, 0, 0, 9, 7], plain), None, "more may come");
    }

    #[test]
    fn trailers_of_the_web_come_in_the_body() {
        let mut reader = MessageReader::new(100, true);
        let body = b"\0\0\0\0\x01a\x80\0\0\0\x10grpc-status: 0\r\n";
        let all = read(&mut reader, body, 4).expect("messages");
        let trailers = Bytes::from_static(b"grpc-status: 0\r\n");
        let message = Framed::Message(Bytes::from_static(b"a"));
        assert_eq!(all, [message, Framed::Trailers(trailers)]);
    }
}
