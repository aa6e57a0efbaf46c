//! Messages that plans have in a shorter form: times and durations as seconds, wrappers as their value, `Struct` and what is
//! like it as plain tables, `Any` as the table of its message with its type.

use super::decode::{Decoder, DecodingFault};
use super::encode::{FieldPath, write_fields, write_message, write_scalar};
use super::numbers::{DEEPEST, int64_of};
use super::wire::{
    Malformed, WireReader, WireType, write_bytes, write_key, write_nested, write_varint,
};
use crate::lua::limits::{Budget, TABLE_LOOK};
use crate::lua::sandbox;
use crate::lua::values::{describe_mismatch, escape_invalid, list_values, shorten};
use mlua::{Table, Value};
use prost_reflect::{Kind, MessageDescriptor};

/// The field that names the type of an `Any`.
pub(super) const ANY_TYPE: &str = "@type";
/// The field of an `Any` whose message is no table.
const ANY_VALUE: &str = "value";

/// A message with a shorter form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WellKnown {
    Timestamp,
    Duration,
    Wrapper,
    Struct,
    Value,
    ListValue,
    Any,
}

impl WellKnown {
    /// Returns the one that a message is, if it is one.
    pub(super) fn of(message: &MessageDescriptor) -> Option<WellKnown> {
        let name = message.full_name().strip_prefix("google.protobuf.")?;
        Some(match name {
            "Timestamp" => WellKnown::Timestamp,
            "Duration" => WellKnown::Duration,
            "Struct" => WellKnown::Struct,
            "Value" => WellKnown::Value,
            "ListValue" => WellKnown::ListValue,
            "Any" => WellKnown::Any,
            "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value"
            | "UInt32Value" | "BoolValue" | "StringValue" | "BytesValue" => WellKnown::Wrapper,
            _ => return None,
        })
    }

    /// Whether a value is in the shorter form. A table of seconds and nanoseconds is a time, too.
    pub(super) fn is_meant(self, value: &Value) -> bool {
        match self {
            WellKnown::Timestamp | WellKnown::Duration | WellKnown::Wrapper => {
                !matches!(value, Value::Table(_))
            }
            _ => true,
        }
    }
}

/// Writes a value in its shorter form.
pub(super) fn write(
    known: WellKnown,
    value: &Value,
    message: &MessageDescriptor,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    match known {
        WellKnown::Timestamp | WellKnown::Duration => write_time(known, value, path, out),
        WellKnown::Wrapper => {
            let Some(field) = message.get_field(1) else {
                return Ok(());
            };
            write_key(out, 1, scalar_wire_type(&field.kind()));
            write_scalar(value, &field.kind(), path, out, budget)
        }
        WellKnown::Struct => match value {
            Value::Table(table) => write_struct(table, path, deeper, out, budget),
            other => Err(describe_mismatch(&path.what(), "a table", other)),
        },
        WellKnown::ListValue => match value {
            Value::Table(table) => write_list(table, path, deeper, out, budget),
            other => Err(describe_mismatch(&path.what(), "a list", other)),
        },
        WellKnown::Value => write_any_value(value, path, deeper, out, budget),
        WellKnown::Any => write_any(value, message, path, deeper, out, budget),
    }
}

fn scalar_wire_type(kind: &Kind) -> WireType {
    match kind {
        Kind::Double => WireType::Fixed64,
        Kind::Float => WireType::Fixed32,
        Kind::String | Kind::Bytes => WireType::Bytes,
        _ => WireType::Varint,
    }
}

fn write_time(
    known: WellKnown,
    value: &Value,
    path: &FieldPath<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    const NANOS: f64 = 1e9;
    const FURTHEST: f64 = 3.2e11;
    let (seconds, nanos) = match value {
        Value::Integer(seconds) => (*seconds, 0),
        Value::Number(time) if time.is_finite() && time.abs() < FURTHEST => {
            // The nanoseconds of a time count forward; those of a duration have its sign.
            let whole = match known {
                WellKnown::Timestamp => time.floor(),
                _ => time.trunc(),
            };
            let nanos = ((time - whole) * NANOS).round() as i64;
            let carried = nanos / NANOS as i64;
            (whole as i64 + carried, nanos % NANOS as i64)
        }
        other => {
            return Err(describe_mismatch(
                &path.what(),
                "a number of seconds",
                other,
            ));
        }
    };
    if seconds != 0 {
        write_key(out, 1, WireType::Varint);
        write_varint(out, seconds as u64);
    }
    if nanos != 0 {
        write_key(out, 2, WireType::Varint);
        write_varint(out, nanos as u64);
    }
    Ok(())
}

fn write_struct(
    table: &Table,
    path: &FieldPath<'_>,
    deepest: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    let deeper = deepest
        .checked_sub(1)
        .ok_or("the message is nested too deeply")?;
    budget.spend(TABLE_LOOK)?;
    let mut entries = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(key) = &key else {
            return Err(format!(
                "{}: the fields of a struct have names",
                path.what()
            ));
        };
        let name = key.to_str().map(|name| name.to_owned());
        let name = name.map_err(|_| format!("{} has a name that is not UTF-8", path.what()))?;
        let path = FieldPath {
            parent: Some(path),
            name: &name,
            place: None,
        };
        let mut bytes = Vec::new();
        write_key(&mut bytes, 1, WireType::Bytes);
        write_bytes(&mut bytes, name.as_bytes());
        write_key(&mut bytes, 2, WireType::Bytes);
        write_nested(&mut bytes, |out| {
            write_any_value(&value, &path, deeper, out, budget)
        })?;
        budget.take(bytes.len())?;
        entries.push(bytes);
    }
    entries.sort();
    for entry in entries {
        write_key(out, 1, WireType::Bytes);
        write_bytes(out, &entry);
    }
    Ok(())
}

fn write_list(
    table: &Table,
    path: &FieldPath<'_>,
    deepest: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    let deeper = deepest
        .checked_sub(1)
        .ok_or("the message is nested too deeply")?;
    budget.spend(TABLE_LOOK)?;
    for (place, value) in list_values(table, &path.what())?.iter().enumerate() {
        let path = FieldPath {
            place: Some(place + 1),
            ..*path
        };
        write_key(out, 1, WireType::Bytes);
        write_nested(out, |out| {
            write_any_value(value, &path, deeper, out, budget)
        })?;
    }
    Ok(())
}

/// Writes a `google.protobuf.Value`.
fn write_any_value(
    value: &Value,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    budget.take(16)?;
    match value {
        Value::Nil | Value::LightUserData(_) => {
            write_key(out, 1, WireType::Varint);
            write_varint(out, 0);
        }
        Value::Integer(_) | Value::Number(_) => {
            write_key(out, 2, WireType::Fixed64);
            write_scalar(value, &Kind::Double, path, out, budget)?;
        }
        Value::String(_) => {
            write_key(out, 3, WireType::Bytes);
            write_scalar(value, &Kind::String, path, out, budget)?;
        }
        Value::Boolean(flag) => {
            write_key(out, 4, WireType::Varint);
            write_varint(out, u64::from(*flag));
        }
        Value::Table(table) if table.raw_len() > 0 => {
            write_key(out, 6, WireType::Bytes);
            write_nested(out, |out| write_list(table, path, deeper, out, budget))?;
        }
        Value::Table(table) => {
            write_key(out, 5, WireType::Bytes);
            write_nested(out, |out| write_struct(table, path, deeper, out, budget))?;
        }
        other => {
            let kind = "a value as JSON has it";
            return Err(describe_mismatch(&path.what(), kind, other));
        }
    }
    Ok(())
}

fn write_any(
    value: &Value,
    message: &MessageDescriptor,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    let example = "a table with the type of its message: { [\"@type\"] = \"package.Message\", … }";
    let Value::Table(table) = value else {
        return Err(describe_mismatch(&path.what(), example, value));
    };
    let Ok(Value::String(kind)) = table.raw_get::<Value>(ANY_TYPE) else {
        return Err(format!("{} must be {example}", path.what()));
    };
    let kind = escape_invalid(&kind);
    let name = kind.rsplit('/').next().unwrap_or_default();
    let found = message.parent_pool().get_message_by_name(name);
    let found =
        found.ok_or_else(|| format!("{}: there is no message '{}'", path.what(), shorten(name)))?;
    let url = if kind.contains('/') {
        kind.clone()
    } else {
        format!("type.googleapis.com/{kind}")
    };
    write_key(out, 1, WireType::Bytes);
    write_bytes(out, url.as_bytes());
    let mut bytes = Vec::new();
    match WellKnown::of(&found) {
        Some(_) => {
            let inner = table.raw_get::<Value>(ANY_VALUE).unwrap_or(Value::Nil);
            write_message(&inner, &found, path, deeper, &mut bytes, budget)?;
        }
        None => write_fields(
            table,
            Some(ANY_TYPE),
            &found,
            path,
            deeper,
            &mut bytes,
            budget,
        )?,
    }
    budget.take(bytes.len())?;
    write_key(out, 2, WireType::Bytes);
    write_bytes(out, &bytes);
    Ok(())
}

/// Decodes a message in its shorter form.
pub(super) fn read(
    decoder: &Decoder<'_>,
    known: WellKnown,
    message: &MessageDescriptor,
    bytes: &[u8],
    deepest: u32,
) -> Result<Value, DecodingFault> {
    let deeper = deepest.checked_sub(1).ok_or(Malformed)?;
    match known {
        WellKnown::Timestamp | WellKnown::Duration => read_time(bytes).map_err(Into::into),
        WellKnown::Wrapper => {
            let table = decoder.table(message, bytes, deeper)?;
            Ok(table.raw_get::<Value>(ANY_VALUE)?)
        }
        WellKnown::Struct => Ok(Value::Table(read_struct(decoder, bytes, deeper)?)),
        WellKnown::ListValue => Ok(Value::Table(read_list(decoder, bytes, deeper)?)),
        WellKnown::Value => read_any_value(decoder, bytes, deeper),
        WellKnown::Any => read_any(decoder, message, bytes, deeper),
    }
}

fn read_struct(decoder: &Decoder<'_>, bytes: &[u8], deepest: u32) -> Result<Table, DecodingFault> {
    let table = decoder.lua.create_table()?;
    let mut reader = WireReader(bytes);
    while !reader.is_empty() {
        let (1, WireType::Bytes) = reader.key()? else {
            return Err(Malformed.into());
        };
        let (mut name, mut value) = (&b""[..], &b""[..]);
        let mut entry = WireReader(reader.bytes()?);
        while !entry.is_empty() {
            match entry.key()? {
                (1, WireType::Bytes) => name = entry.bytes()?,
                (2, WireType::Bytes) => value = entry.bytes()?,
                (number, kind) => entry.skip(number, kind, DEEPEST)?,
            }
        }
        let value = read_any_value(decoder, value, deepest)?;
        table.raw_set(decoder.lua.create_string(name)?, value)?;
    }
    Ok(table)
}

fn read_list(decoder: &Decoder<'_>, bytes: &[u8], deepest: u32) -> Result<Table, DecodingFault> {
    let table = decoder.lua.create_table()?;
    let mut reader = WireReader(bytes);
    while !reader.is_empty() {
        match reader.key()? {
            (1, WireType::Bytes) => {
                table.raw_push(read_any_value(decoder, reader.bytes()?, deepest)?)?;
            }
            (number, kind) => reader.skip(number, kind, DEEPEST)?,
        }
    }
    Ok(table)
}

fn read_any_value(
    decoder: &Decoder<'_>,
    bytes: &[u8],
    deepest: u32,
) -> Result<Value, DecodingFault> {
    let deeper = deepest.checked_sub(1).ok_or(Malformed)?;
    let mut reader = WireReader(bytes);
    let mut value = Value::Nil;
    while !reader.is_empty() {
        value = match reader.key()? {
            (1, WireType::Varint) => {
                reader.varint()?;
                sandbox::null(decoder.lua)?
            }
            // Lua tells 1 from 1.0, and JSON does not.
            (2, WireType::Fixed64) => {
                let number = Value::Number(f64::from_bits(reader.fixed64()?));
                int64_of(&number).map_or(number, Value::Integer)
            }
            (3, WireType::Bytes) => Value::String(decoder.lua.create_string(reader.bytes()?)?),
            (4, WireType::Varint) => Value::Boolean(reader.varint()? != 0),
            (5, WireType::Bytes) => Value::Table(read_struct(decoder, reader.bytes()?, deeper)?),
            (6, WireType::Bytes) => Value::Table(read_list(decoder, reader.bytes()?, deeper)?),
            (number, kind) => {
                reader.skip(number, kind, DEEPEST)?;
                continue;
            }
        };
    }
    Ok(value)
}

fn read_any(
    decoder: &Decoder<'_>,
    message: &MessageDescriptor,
    bytes: &[u8],
    deeper: u32,
) -> Result<Value, DecodingFault> {
    let (mut url, mut value) = (&b""[..], &b""[..]);
    let mut reader = WireReader(bytes);
    while !reader.is_empty() {
        match reader.key()? {
            (1, WireType::Bytes) => url = reader.bytes()?,
            (2, WireType::Bytes) => value = reader.bytes()?,
            (number, kind) => reader.skip(number, kind, DEEPEST)?,
        }
    }
    let url = String::from_utf8_lossy(url);
    let name = url.rsplit('/').next().unwrap_or_default();
    let found = message.parent_pool().get_message_by_name(name);
    let known = found.as_ref().and_then(WellKnown::of);
    let table = match (&found, known) {
        (Some(found), None) => decoder.table(found, value, deeper)?,
        (Some(found), Some(known)) => {
            let table = decoder.lua.create_table()?;
            let value = read(decoder, known, found, value, deeper)?;
            table.raw_set(ANY_VALUE, value)?;
            table
        }
        // Its bytes, where nobody has described it.
        (None, _) => {
            let table = decoder.lua.create_table()?;
            table.raw_set(ANY_VALUE, decoder.lua.create_string(value)?)?;
            table
        }
    };
    table.raw_set(ANY_TYPE, name)?;
    Ok(Value::Table(table))
}

fn read_time(bytes: &[u8]) -> Result<Value, Malformed> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = WireReader(bytes);
    while !reader.is_empty() {
        match reader.key()? {
            (1, WireType::Varint) => seconds = reader.varint()? as i64,
            (2, WireType::Varint) => nanos = reader.varint()? as i64 as i32,
            (number, kind) => reader.skip(number, kind, DEEPEST)?,
        }
    }
    Ok(match nanos {
        0 => Value::Integer(seconds),
        nanos => Value::Number(seconds as f64 + f64::from(nanos) / 1e9),
    })
}
