//! A body with the content codings that the first byte picks.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::codings(input));
