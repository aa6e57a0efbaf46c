//! The processor time that a body may take to decode. Size says little about it: a body of a thousand bytes can keep a
//! decoder busy for a minute. Driven by `encoding`; the clock is read only where a body is large, compressed or decoded.

use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::io::{BufRead, Error, ErrorKind, Read, Result};
use std::time::Duration;

/// The compressed bytes that a decoder gets between two looks at the clock: the most costly coding (brotli with a
/// context map every 80 bytes) takes 15 ms for so many.
const PIECE_BYTES: usize = 16 * 1024;

/// The decoded bytes between two looks at the clock.
const SLICE: u64 = 128 * 1024;

/// The time for all codings of a body together. It begins at the first look at the clock.
#[derive(Debug)]
pub(super) struct DecodingTime {
    limit: Duration,
    start: Cell<Option<Duration>>,
    ended: Cell<bool>,
}

impl DecodingTime {
    /// Makes a time of that length.
    pub(super) fn new(limit: Duration) -> DecodingTime {
        DecodingTime {
            limit,
            start: Cell::new(None),
            ended: Cell::new(false),
        }
    }

    /// The time for a body of at most `max_body` bytes: whoever allows larger ones than usual allows more time, too.
    pub(super) fn for_bodies(max_body: u64) -> DecodingTime {
        /// Decoders of all codings are three times as fast, and more.
        const BYTES_PER_SECOND: u64 = 64 << 20;
        DecodingTime::new(Duration::from_secs((max_body / BYTES_PER_SECOND).max(1)))
    }

    /// The time for a body that is decoded only to show a part of it.
    pub(super) fn to_show() -> DecodingTime {
        DecodingTime::new(Duration::from_millis(50))
    }

    /// Whether a decoder has been stopped because the time was over.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Fails once the time is over.
    fn check(&self) -> Result<()> {
        let now = processor_time();
        let start = self.start.get().unwrap_or(now);
        self.start.set(Some(start));
        if now.saturating_sub(start) < self.limit {
            return Ok(());
        }
        self.ended.set(true);
        let message = format!("it takes longer than {:?}", self.limit);
        Err(Error::new(ErrorKind::TimedOut, message))
    }
}

/// The processor time that this thread has used: waiting for a core on a busy machine is no fault of a body.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// A body that is read in pieces, with a look at the clock before each but the first.
#[derive(Debug, Clone)]
pub(super) struct BodyPieces<'a> {
    rest: &'a [u8],
    /// The bytes of the current piece that are left.
    piece: usize,
    patience: &'a DecodingTime,
}

impl<'a> BodyPieces<'a> {
    /// The pieces of a body.
    pub(super) fn of(body: &'a [u8], patience: &'a DecodingTime) -> BodyPieces<'a> {
        BodyPieces {
            rest: body,
            piece: PIECE_BYTES,
            patience,
        }
    }

    /// Everything that has not been read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl BufRead for BodyPieces<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        if self.piece == 0 && !self.rest.is_empty() {
            self.patience.check()?;
            self.piece = PIECE_BYTES;
        }
        Ok(&self.rest[..self.rest.len().min(self.piece)])
    }

    fn consume(&mut self, count: usize) {
        self.rest = &self.rest[count..];
        self.piece -= count;
    }
}

impl Read for BodyPieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

/// Reads at most `most` bytes from a decoder, in slices, with a look at the clock after each full one: few bytes may be
/// decoded to many, each of which takes its time.
///
/// # Errors
/// Those of the decoder, or the time is over.
pub(super) fn read_slices(
    decoder: impl Read,
    most: u64,
    patience: &DecodingTime,
    decoded: &mut Vec<u8>,
) -> Result<()> {
    let mut remaining = most;
    // A limit of its own for each slice: for a reader that returned less than requested, all of the vector's capacity
    // would be set to zeros first.
    let mut slice = decoder.take(0);
    loop {
        slice.set_limit(SLICE.min(remaining));
        remaining -= slice.read_to_end(decoded)? as u64;
        if slice.limit() > 0 || remaining == 0 {
            return Ok(());
        }
        patience.check()?;
    }
}
