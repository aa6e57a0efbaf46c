//! A selector of the plan, up to the first zero byte, against a page: what is behind it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::css(input));
