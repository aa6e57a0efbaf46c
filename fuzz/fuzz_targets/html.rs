//! A page's title, reason, assets and links.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::html(input));
