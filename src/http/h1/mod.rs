//! HTTP/1.1 (RFC 9112), spoken by lgoose itself: writes requests, reads responses, decodes chunks.

mod chunks;
mod connection;
mod reader;
mod request;

#[cfg(any(test, feature = "fuzzing"))]
pub(super) use chunks::ChunkDecoder;
pub(super) use connection::{Connection, ReadBuffer};
pub(super) use reader::EncodedRequest;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) use reader::{ReadOutcome, read_start};
pub(super) use request::{RequestFraming, write_end, write_start};
