//! The start of an answer of HTTP/1.1, cut in two where the first byte says.
#![no_main]

use lgoose_http::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((cut, bytes)) = input.split_first() {
        fuzzing::head(bytes, usize::from(*cut));
    }
});
