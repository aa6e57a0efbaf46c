//! Messages of Protocol Buffers that a server sends, as tables of a plan.
#![no_main]

use lgoose_lua::decode_any_message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| decode_any_message(input));
