//! Compression of the messages of WebSocket (RFC 7692): what an extension header says, and a direction of a connection.

use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// What a client offers. Without `client_max_window_bits` a server cannot ask it for a smaller window.
pub(in crate::http) const OFFER: &str = "permessage-deflate";

/// What ends each compressed message and is not sent (section 7.2.1).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// What both sides have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) struct DeflateTerms {
    pub(in crate::http) server_keeps_context: bool,
    pub(in crate::http) client_keeps_context: bool,
}

impl DeflateTerms {
    /// Reads what a server has agreed to; `None` if that was not offered.
    pub(in crate::http) fn read(extensions: &str) -> Option<DeflateTerms> {
        let mut parts = extensions.split(';').map(str::trim);
        if parts.next()? != OFFER {
            return None;
        }
        let mut terms = DeflateTerms {
            server_keeps_context: true,
            client_keeps_context: true,
        };
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
                None => (part, None),
            };
            let bits = value.and_then(|bits| bits.parse().ok());
            match (name, value, bits) {
                ("server_no_context_takeover", None, _) if terms.server_keeps_context => {
                    terms.server_keeps_context = false;
                }
                ("client_no_context_takeover", None, _) if terms.client_keeps_context => {
                    terms.client_keeps_context = false;
                }
                // A smaller window needs nothing of who reads it.
                ("server_max_window_bits", Some(_), Some(8..=15_u8)) => {}
                _ => return None,
            }
        }
        Some(terms)
    }
}

/// Compression of the messages that are sent.
#[derive(Debug)]
pub(in crate::http) struct Deflater {
    keeps_context: bool,
    compress: Compress,
}

/// Decompression of the messages that come.
#[derive(Debug)]
pub(in crate::http) struct Inflater {
    keeps_context: bool,
    decompress: Decompress,
}

/// What a compressed message has become.
pub(in crate::http) enum Inflated {
    Message(Bytes),
    TooLarge,
    Broken,
}

impl Deflater {
    pub(in crate::http) fn new(keeps_context: bool) -> Deflater {
        Deflater {
            keeps_context,
            compress: Compress::new(Compression::default(), false),
        }
    }

    /// Compresses a message.
    pub(in crate::http) fn deflate(&mut self, message: &[u8]) -> Vec<u8> {
        let compress = &mut self.compress;
        let mut out = Vec::with_capacity(message.len() / 2 + 64);
        let start = compress.total_in();
        loop {
            let read = (compress.total_in() - start) as usize;
            // Its only error is that of a stream that was finished before.
            let _ = compress.compress_vec(&message[read..], &mut out, FlushCompress::Sync);
            if out.len() < out.capacity() {
                break;
            }
            out.reserve(out.capacity());
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        if !self.keeps_context {
            compress.reset();
        }
        if out.is_empty() {
            // An empty message is an empty block (section 7.2.3.6).
            out.push(0);
        }
        out
    }
}

impl Inflater {
    pub(in crate::http) fn new(keeps_context: bool) -> Inflater {
        Inflater {
            keeps_context,
            decompress: Decompress::new(false),
        }
    }

    /// Inflates a message to at most so many bytes.
    pub(in crate::http) fn inflate(&mut self, message: &[u8], most: usize) -> Inflated {
        let decompress = &mut self.decompress;
        let mut out = Vec::with_capacity((message.len() * 4).clamp(64, most.max(64)));
        for input in [message, &TAIL] {
            let start = decompress.total_in();
            loop {
                let read = (decompress.total_in() - start) as usize;
                let before = out.len();
                let status =
                    decompress.decompress_vec(&input[read..], &mut out, FlushDecompress::Sync);
                if out.len() > most {
                    return Inflated::TooLarge;
                }
                let is_read = (decompress.total_in() - start) as usize == input.len();
                match status {
                    Err(_) => return Inflated::Broken,
                    Ok(Status::StreamEnd) => {
                        // A block may say that it is the last one (section 7.2.3.4).
                        decompress.reset(false);
                        break;
                    }
                    Ok(_) if out.len() == out.capacity() => out.reserve(out.capacity()),
                    Ok(_) if is_read => break,
                    Ok(_) if out.len() == before => return Inflated::Broken,
                    Ok(_) => {}
                }
            }
        }
        if !self.keeps_context {
            decompress.reset(false);
        }
        Inflated::Message(out.into())
    }
}
