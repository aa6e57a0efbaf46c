//! A chunked body in pieces of the size that the first byte says.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::chunks(input));
