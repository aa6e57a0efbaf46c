//! A file of another tool, of the kind that the first byte picks.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::imports(input));
