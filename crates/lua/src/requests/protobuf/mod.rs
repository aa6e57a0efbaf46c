//! Messages of Protocol Buffers as tables of a plan, and back, by their descriptors. Read and written straight from the
//! wire format: a message in between would be made and thrown away for each request.

mod decode;
mod details;
mod encode;
mod field;
mod kinds;
mod well_known;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use decode::{DecodingFault, decode};
pub(crate) use details::decode_details;
pub(crate) use encode::{GivenMessage, MessageForm, encode, is_json_text};

use mlua::{Lua, LuaOptions, StdLib};
use prost_reflect::DescriptorPool;

/// Decodes bytes as each message that comes with the compiler: descriptions of schemas, and all well-known types. For fuzz
/// targets: it must neither panic nor take long.
pub fn decode_any_message(bytes: &[u8]) {
    let Ok(lua) = Lua::new_with(StdLib::NONE, LuaOptions::new()) else {
        return;
    };
    // Null has code of its own, which this VM need not have.
    for message in DescriptorPool::global().all_messages() {
        let _decoded = decode(&lua, &message, bytes);
    }
}
