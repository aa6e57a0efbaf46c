//! What a server of HTTP/2 sends, in pieces of the size that the first byte says.
#![no_main]

use lgoose_http::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((size, bytes)) = input.split_first() {
        fuzzing::http2(bytes, usize::from(*size));
    }
});
