//! The details of a `google.rpc.Status`, as the metadata `grpc-status-details-bin` has it, as tables of a plan.

use super::decode::{Decoder, DecodingFault};
use super::kinds::DEEPEST;
use super::well_known::{read_pair, read_typed, type_of};
use super::wire::{Malformed, WireReader, WireType};
use crate::limits::make_values;
use mlua::{Lua, Table};
use prost_reflect::MessageDescriptor;

/// The type of the message, and its field with a detail, which is a `google.protobuf.Any`.
const STATUS: &str = "google.rpc.Status";
const DETAIL: u32 = 3;

/// Decodes the details of a status, whose types `find` knows by name. What cannot be decoded is there with its bytes.
pub(crate) fn decode_details(
    lua: &Lua,
    status: &[u8],
    find: impl Fn(&str) -> Option<MessageDescriptor>,
) -> mlua::Result<Table> {
    let details = lua.create_table()?;
    make_values(lua, status.len(), || {
        let add = |name: &str, found: Option<&MessageDescriptor>, bytes: &[u8]| {
            let decoder = Decoder::new(lua);
            let read = match read_typed(&decoder, name, found, bytes, DEEPEST) {
                Err(DecodingFault::Malformed) => read_typed(&decoder, name, None, bytes, DEEPEST),
                read => read,
            };
            match read {
                Ok(detail) => details.raw_push(detail),
                Err(DecodingFault::Malformed) => Ok(()),
                Err(DecodingFault::Lua(error)) => Err(error),
            }
        };
        let Ok(all) = details_of(status) else {
            return add(STATUS, None, status);
        };
        for (url, bytes) in all {
            let name = type_of(url);
            add(&name, find(&name).as_ref(), bytes)?;
        }
        Ok(())
    })?;
    Ok(details)
}

/// The URL of the type of a detail, and its bytes.
type Detail<'a> = (&'a [u8], &'a [u8]);

fn details_of(status: &[u8]) -> Result<Vec<Detail<'_>>, Malformed> {
    let mut details = Vec::new();
    let mut reader = WireReader(status);
    while !reader.is_empty() {
        match reader.key()? {
            (DETAIL, WireType::Bytes) => details.push(read_pair(reader.bytes()?)?),
            (number, kind) => reader.skip(number, kind, DEEPEST)?,
        }
    }
    Ok(details)
}
