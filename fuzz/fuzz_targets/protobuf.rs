//! Messages of Protocol Buffers that a server sends, as tables of a plan.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::protobuf(input));
