//! Compression of WebSocket messages (RFC 7692): the extension header, and one direction of a connection.

use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The offer of a client, as browsers make it: the server may choose the window of either side.
pub(crate) const OFFER: &str = "permessage-deflate; client_max_window_bits";

/// The name of the extension.
const NAME: &str = "permessage-deflate";

/// The bits of the largest window.
const LARGEST_WINDOW: u8 = 15;

/// The end of each compressed message, which is not sent (section 7.2.1).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// The terms that both sides have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeflateTerms {
    pub(crate) server_keeps_context: bool,
    pub(crate) client_keeps_context: bool,
    /// The window of the client is of two to the power of so many bytes.
    pub(crate) client_window_bits: u8,
}

impl DeflateTerms {
    /// Reads a server's agreement; `None` if it was not offered.
    pub(crate) fn read(extensions: &str) -> Option<DeflateTerms> {
        let mut parts = extensions.split(';').map(str::trim);
        if parts.next()? != NAME {
            return None;
        }
        let mut terms = DeflateTerms {
            server_keeps_context: true,
            client_keeps_context: true,
            client_window_bits: LARGEST_WINDOW,
        };
        let mut limits_client = false;
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
                ("client_max_window_bits", Some(_), Some(bits @ 8..=LARGEST_WINDOW))
                    if !limits_client =>
                {
                    limits_client = true;
                    terms.client_window_bits = bits;
                }
                // A smaller window requires nothing of its reader.
                ("server_max_window_bits", Some(_), Some(8..=LARGEST_WINDOW)) => {}
                _ => return None,
            }
        }
        Some(terms)
    }
}

/// Compression of the messages that are sent.
#[derive(Debug)]
pub(crate) struct Deflater {
    keeps_context: bool,
    compress: Compress,
    /// The bytes of its window if that is smaller than that of `compress`, and how many have been compressed since that began
    /// anew: it refers to none before.
    window: Option<usize>,
    in_window: usize,
}

/// Decompression of the messages that come.
#[derive(Debug)]
pub(crate) struct Inflater {
    keeps_context: bool,
    decompress: Decompress,
}

/// The result of inflating a compressed message.
pub(crate) enum Inflated {
    Message(Bytes),
    TooLarge,
    Broken,
}

impl Deflater {
    pub(crate) fn new(keeps_context: bool, window_bits: u8) -> Deflater {
        Deflater {
            keeps_context,
            compress: Compress::new(Compression::default(), false),
            window: (window_bits < LARGEST_WINDOW).then_some(1 << window_bits),
            in_window: 0,
        }
    }

    /// Compresses a message.
    pub(crate) fn deflate(&mut self, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(message.len() / 2 + 64);
        let mut rest = message;
        loop {
            let piece = self.next_piece(rest);
            self.compress(&rest[..piece], &mut out);
            rest = &rest[piece..];
            if rest.is_empty() {
                break;
            }
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        if !self.keeps_context {
            self.begin_anew();
        }
        if out.is_empty() {
            // An empty message is an empty block (section 7.2.3.6).
            out.push(0);
        }
        out
    }

    /// Returns how many bytes to compress at once: as many as fit into the window, which begins anew when it is full.
    fn next_piece(&mut self, rest: &[u8]) -> usize {
        let Some(window) = self.window else {
            return rest.len();
        };
        if self.in_window == window && !rest.is_empty() {
            self.begin_anew();
        }
        let piece = rest.len().min(window - self.in_window);
        self.in_window += piece;
        piece
    }

    fn begin_anew(&mut self) {
        self.compress.reset();
        self.in_window = 0;
    }

    /// Compresses a piece up to the end of a byte.
    fn compress(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let compress = &mut self.compress;
        let start = compress.total_in();
        // A call that begins with output left over from the one before hands that out and may do nothing else, so that room
        // after it does not mean that the flush is complete: the call after it has to flush.
        let mut is_drained = true;
        loop {
            let read = (compress.total_in() - start) as usize;
            // Its only error is that of a stream that was finished before.
            let _ = compress.compress_vec(&piece[read..], out, FlushCompress::Sync);
            let has_room = out.len() < out.capacity();
            if is_drained && has_room {
                break;
            }
            is_drained = has_room;
            if !has_room {
                out.reserve(out.capacity());
            }
        }
    }
}

impl Inflater {
    pub(crate) fn new(keeps_context: bool) -> Inflater {
        Inflater {
            keeps_context,
            decompress: Decompress::new(false),
        }
    }

    /// Inflates a message to at most so many bytes.
    pub(crate) fn inflate(&mut self, message: &[u8], most: usize) -> Inflated {
        let decompress = &mut self.decompress;
        let mut out = Vec::with_capacity((message.len() * 4).clamp(64, most.max(64)));
        let mut is_final = false;
        for input in [message, &TAIL] {
            // Nothing of the message follows its final block, which needs no end.
            if is_final {
                break;
            }
            let mut rest = input;
            loop {
                let (read, written) = (decompress.total_in(), out.len());
                let status = decompress.decompress_vec(rest, &mut out, FlushDecompress::Sync);
                rest = &rest[(decompress.total_in() - read) as usize..];
                if out.len() > most {
                    return Inflated::TooLarge;
                }
                is_final = matches!(status, Ok(Status::StreamEnd));
                match status {
                    Err(_) => return Inflated::Broken,
                    Ok(Status::StreamEnd) => {
                        // A block may say that it is the last one, and others may follow (section 7.2.3.4).
                        decompress.reset(false);
                        if rest.is_empty() {
                            break;
                        }
                    }
                    Ok(_) if out.len() == out.capacity() => out.reserve(out.capacity()),
                    Ok(_) if rest.is_empty() => break,
                    Ok(_) if out.len() == written => return Inflated::Broken,
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng as _, RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use zlib_rs::{DeflateFlush, InflateFlush, Status as PeerStatus};

    /// The other side of a connection, by an implementation of DEFLATE that lgoose does not use. It ends every message as
    /// RFC 7692 has it: with a flush, or with a final block.
    struct Peer {
        keeps_context: bool,
        inflate: zlib_rs::Inflate,
        deflate: zlib_rs::Deflate,
    }

    impl Peer {
        fn new(keeps_context: bool, level: i32, window_bits: u8) -> Peer {
            Peer {
                keeps_context,
                inflate: zlib_rs::Inflate::new(false, 15),
                deflate: zlib_rs::Deflate::new(level, false, window_bits),
            }
        }

        /// Decompresses a message into a buffer with room for more than its `length` bytes.
        fn inflate(&mut self, message: &[u8], length: usize) -> Result<Vec<u8>, String> {
            let input = [message, &TAIL].concat();
            let mut out = vec![0; length + 1000];
            let [read, written] = [self.inflate.total_in(), self.inflate.total_out()];
            let status = self
                .inflate
                .decompress(&input, &mut out, InflateFlush::SyncFlush);
            status.map_err(|error| format!("{error:?}"))?;
            let read = (self.inflate.total_in() - read) as usize;
            let written = (self.inflate.total_out() - written) as usize;
            if read != input.len() {
                return Err(format!("{} bytes are left over", input.len() - read));
            }
            out.truncate(written);
            if !self.keeps_context {
                self.inflate.reset(false);
            }
            Ok(out)
        }

        fn deflate(&mut self, message: &[u8], flush: DeflateFlush) -> Vec<u8> {
            let mut out = vec![0; message.len() * 2 + 1000];
            let written = self.deflate.total_out();
            let status = self.deflate.compress(message, &mut out, flush);
            let is_final = status.expect("it compresses") == PeerStatus::StreamEnd;
            out.truncate((self.deflate.total_out() - written) as usize);
            if is_final {
                // An empty stored block whose last four bytes are not sent.
                out.push(0);
            } else {
                out.truncate(out.len() - TAIL.len());
            }
            if is_final || !self.keeps_context {
                self.deflate.reset();
            }
            out
        }
    }

    /// Lengths around those at which buffers, blocks and windows end.
    fn lengths() -> Vec<usize> {
        let mut lengths: Vec<usize> = (0..200).collect();
        let powers = (3..=18).map(|power| 1 << power);
        let pieces = (1..=10).map(|number| number * (16 << 10));
        // Blocks of miniz_oxide end at about 31 KiB, and its buffer has 85,196 bytes.
        let blocks = (1..=5).map(|number| number * (31 << 10));
        for border in powers.chain(pieces).chain(blocks).chain([85_196]) {
            lengths.extend([border - 1, border, border + 1]);
        }
        lengths
    }

    /// Random bytes, each one of so many.
    fn letters(random: &mut Xoshiro256PlusPlus, length: usize, kinds: u16) -> Vec<u8> {
        let mut bytes = vec![0; length];
        random.fill_bytes(&mut bytes);
        for byte in &mut bytes {
            *byte = (u16::from(*byte) % kinds) as u8;
        }
        bytes
    }

    /// A random message: as compressible as any bytes, as base64, as few letters or as one, or in stretches of those.
    fn message(random: &mut Xoshiro256PlusPlus, length: usize) -> Vec<u8> {
        let in_stretches = random.random_bool(0.3);
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let rest = length - bytes.len();
            let stretch = if in_stretches {
                random.random_range(1..=rest)
            } else {
                rest
            };
            let kinds = [256, 64, 4, 1][random.random_range(0..4)];
            bytes.extend(letters(random, stretch, kinds));
        }
        bytes
    }

    #[test]
    fn every_message_that_is_sent_arrives_whole() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7692);
        let mut lengths = lengths();
        lengths.extend((0..520).map(|_| random.random_range(0..80_000)));
        for keeps_context in [true, false] {
            let mut deflater = Deflater::new(keeps_context, 15);
            let mut peer = Peer::new(keeps_context, 6, 15);
            for length in &lengths {
                let message = message(&mut random, *length);
                let compressed = deflater.deflate(&message);
                assert_same(&peer.inflate(&compressed, *length), &message, keeps_context);
            }
            // A case that has made the first message too short, and with a context every one after it.
            for length in (31_000..70_000).step_by(199) {
                let message = letters(&mut random, length, 64);
                let compressed = deflater.deflate(&message);
                assert_same(&peer.inflate(&compressed, length), &message, keeps_context);
            }
        }
    }

    /// The other side of a connection that forgets everything as often as it has got a whole window, so that it can read nothing
    /// that refers further back.
    struct ForgetfulPeer {
        window: usize,
        in_window: usize,
        inflate: zlib_rs::Inflate,
    }

    impl ForgetfulPeer {
        fn new(window_bits: u8) -> ForgetfulPeer {
            ForgetfulPeer {
                window: 1 << window_bits,
                in_window: 0,
                inflate: zlib_rs::Inflate::new(false, 15),
            }
        }

        fn forget(&mut self) {
            self.inflate.reset(false);
            self.in_window = 0;
        }

        fn inflate(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
            let input = [message, &TAIL].concat();
            let mut out = Vec::new();
            for end in 1..=input.len() {
                let mut rest = &input[end - 1..end];
                loop {
                    let mut piece = [0; 512];
                    let written = self.inflate.total_out();
                    let status = self
                        .inflate
                        .decompress(rest, &mut piece, InflateFlush::SyncFlush);
                    status.map_err(|error| format!("{error:?}"))?;
                    let written = (self.inflate.total_out() - written) as usize;
                    out.extend_from_slice(&piece[..written]);
                    self.in_window += written;
                    rest = &[];
                    if written < piece.len() {
                        break;
                    }
                }
                if self.in_window == self.window && input[..end].ends_with(&TAIL) {
                    self.forget();
                }
            }
            Ok(out)
        }
    }

    #[test]
    fn a_smaller_window_is_not_left() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        // Repeats from beyond all of them.
        let block = letters(&mut random, 20_000, 256);
        let repeated = [&block[..], &block].concat();
        for keeps_context in [true, false] {
            for window_bits in 8..15 {
                let mut deflater = Deflater::new(keeps_context, window_bits);
                let mut peer = ForgetfulPeer::new(window_bits);
                let lengths = lengths().into_iter().step_by(5);
                let messages = lengths.map(|length| message(&mut random, length));
                let all: Vec<_> = messages
                    .chain([repeated.clone(), vec![b'x'; 200]])
                    .collect();
                for message in &all {
                    let compressed = deflater.deflate(message);
                    assert_same(&peer.inflate(&compressed), message, keeps_context);
                    if !keeps_context {
                        peer.forget();
                    }
                    if message.len() == 200 {
                        assert!(compressed.len() < 100, "{}", compressed.len());
                    }
                }
                let whole = Deflater::new(false, 15).deflate(&repeated);
                assert!(whole.len() < 25_000, "it refers back");
            }
        }
    }

    #[test]
    fn every_message_that_comes_is_read_whole() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7692);
        for (keeps_context, level) in [(true, 6), (false, 6), (true, 0), (true, 1), (false, 9)] {
            for window_bits in [9, 12, 15] {
                let mut peer = Peer::new(keeps_context, level, window_bits);
                let mut inflater = Inflater::new(keeps_context);
                for length in lengths().into_iter().step_by(3) {
                    let message = message(&mut random, length);
                    let compressed = match random.random_range(0..4) {
                        0 => peer.deflate(&message, DeflateFlush::Finish),
                        _ => peer.deflate(&message, DeflateFlush::SyncFlush),
                    };
                    let read = inflater.inflate(&compressed, length);
                    assert_same(&inflated(read), &message, keeps_context);
                }
            }
        }
    }

    #[test]
    fn blocks_may_follow_a_final_one() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for keeps_context in [true, false] {
            let mut peer = Peer::new(keeps_context, 6, 15);
            let mut inflater = Inflater::new(keeps_context);
            for length in [0, 1, 5, 100, 1000, 32_767, 32_768, 32_769, 70_000, 200_000] {
                let parts = [(); 3].map(|()| message(&mut random, length));
                let [one, two, three] = [&parts[0], &parts[1], &parts[2]];
                let [mut one, mut two] =
                    [one, two].map(|part| peer.deflate(part, DeflateFlush::Finish));
                // The further bytes are not their end.
                one.pop();
                two.pop();
                let last = peer.deflate(three, DeflateFlush::SyncFlush);
                let read = inflater.inflate(&[&one[..], &two, &last].concat(), length * 3);
                assert_same(&inflated(read), &parts.concat(), keeps_context);
            }
        }
    }

    #[test]
    fn a_final_block_needs_no_end() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for keeps_context in [true, false] {
            let mut peer = Peer::new(keeps_context, 6, 15);
            let mut inflater = Inflater::new(keeps_context);
            for length in [0, 1, 5, 100, 1000, 32_767, 32_768, 32_769, 70_000, 200_000] {
                for flush in [DeflateFlush::Finish, DeflateFlush::SyncFlush] {
                    let message = message(&mut random, length);
                    let mut compressed = peer.deflate(&message, flush);
                    if flush == DeflateFlush::Finish {
                        compressed.pop();
                    }
                    let read = inflater.inflate(&compressed, length);
                    assert_same(&inflated(read), &message, keeps_context);
                }
            }
        }
    }

    #[test]
    fn a_message_has_as_many_bytes_as_are_allowed_and_no_more() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        for length in lengths().into_iter().filter(|length| *length > 0) {
            let message = message(&mut random, length);
            let compressed = Peer::new(false, 6, 15).deflate(&message, DeflateFlush::SyncFlush);
            let most = Inflater::new(false).inflate(&compressed, length);
            assert_same(&inflated(most), &message, false);
            let less = Inflater::new(false).inflate(&compressed, length - 1);
            assert!(matches!(less, Inflated::TooLarge), "{length}");
        }
    }

    fn inflated(read: Inflated) -> Result<Vec<u8>, String> {
        match read {
            Inflated::Message(bytes) => Ok(bytes.into()),
            Inflated::TooLarge => Err("too large".to_owned()),
            Inflated::Broken => Err("broken".to_owned()),
        }
    }

    #[track_caller]
    fn assert_same(received: &Result<Vec<u8>, String>, sent: &[u8], keeps_context: bool) {
        let is_same = received.as_deref() == Ok(sent);
        let received = received.as_ref().map(Vec::len);
        let length = sent.len();
        assert!(
            is_same,
            "{length} bytes, context {keeps_context}: {received:?}"
        );
    }
}
