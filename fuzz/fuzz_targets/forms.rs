//! Every form of a page, as it would be sent.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::forms(input));
