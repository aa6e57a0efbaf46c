//! Server-sent events and lines, in pieces of the size that the first byte says.
#![no_main]

use lgoose_lua::read_in_pieces;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((size, bytes)) = input.split_first() {
        read_in_pieces(bytes, usize::from(*size));
    }
});
