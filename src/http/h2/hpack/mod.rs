//! Header compression of HTTP/2 (RFC 7541): head blocks are read with all that the standard has, and written without
//! state, so that fields which every request of a shard has are encoded once.

mod decoder;
mod encoder;
mod huffman;
mod table;

pub(super) use decoder::Decoder;
pub(in crate::http) use encoder::{encode_field, encode_start, encode_text};
