//! References, a line each, resolved one after the other as redirects and links are: what comes out is what the
//! URL standard says, and a URL.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::urls(input));
