//! The start of an answer of HTTP/1.1, cut in two where the first byte says.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::head(input));
