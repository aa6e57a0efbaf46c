//! Descriptions of schemas that a server sends, each after its length in four bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::schemas(input));
