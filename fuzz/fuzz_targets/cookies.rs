//! `Set-Cookie` lines from one URL, asked for by another: both come first, a line each.
#![no_main]

use lgoose_http::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let mut url = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (from, to) = (url(), url());
    fuzzing::cookies(lines, &from, &to);
});
