//! What a server of HTTP/2 sends, in pieces of the size that the first byte says.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::http2(input));
