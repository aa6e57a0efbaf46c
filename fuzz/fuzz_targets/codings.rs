//! A body with the content codings that the first byte picks.
#![no_main]

use lgoose_http::fuzzing;
use libfuzzer_sys::fuzz_target;

const HEADERS: [&str; 7] = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, br",
    "zstd, gzip",
    " ,x-gzip;",
];

fuzz_target!(|input: &[u8]| {
    if let Some((pick, body)) = input.split_first() {
        fuzzing::coding(HEADERS[usize::from(*pick) % HEADERS.len()], body);
    }
});
