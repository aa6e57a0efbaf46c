//! `Set-Cookie` lines from one URL, asked for by another: both come first, a line each.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::cookies(input));
