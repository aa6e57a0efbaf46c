//! What a server sends over a WebSocket, in pieces of the size that the first byte says, compressed if it is even.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lgoose_fuzz::websocket(input));
