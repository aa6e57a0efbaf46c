//! The body of a call of gRPC, in pieces of the size that the first byte says, of gRPC-Web if it is even.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::grpc(input));
