//! The body of a call of gRPC, in pieces of the size that the first byte says, of gRPC-Web if it is even.
#![no_main]

use lgoose_http::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((size, bytes)) = input.split_first() {
        fuzzing::grpc(bytes, usize::from(*size), size % 2 == 0);
    }
});
