//! Header compression of HTTP/2 (RFC 7541). Decoding covers the whole standard; encoding has no state, so that fields
//! which all requests of a shard share are encoded once.

mod decoder;
mod encoder;
mod huffman;
mod table;

pub(super) use decoder::HpackDecoder;
pub(crate) use encoder::{encode_field, encode_start, encode_text};
