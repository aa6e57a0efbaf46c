//! Messages that plans have in a shorter form: times and durations as seconds, wrappers as their value, `Struct` and
//! its like as plain tables, `Any` as the table of its message with its type.

use super::decode::{Decoder, DecodingFault};
use super::encode::{Encoder, FieldPath};
use super::kinds::{DEEPEST, int64_of, wire_type_of};
use super::wire::{Malformed, WireReader, WireType};
use crate::limits::TABLE_LOOK;
use crate::sandbox;
use crate::values::{describe_mismatch, escape_invalid, list_values, read_string, shorten};
use jiff::civil::date;
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use mlua::{LuaSerdeExt as _, Table, Value};
use prost_reflect::{Kind, MessageDescriptor};

/// The field that names the type of an `Any`.
pub(super) const ANY_TYPE: &str = "@type";
/// The field of an `Any` whose message is not a table.
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
    FieldMask,
}

impl WellKnown {
    /// Returns the known kind of a message, if it is one.
    pub(super) fn of(message: &MessageDescriptor) -> Option<WellKnown> {
        let name = message.full_name().strip_prefix("google.protobuf.")?;
        Some(match name {
            "Timestamp" => WellKnown::Timestamp,
            "Duration" => WellKnown::Duration,
            "Struct" => WellKnown::Struct,
            "Value" => WellKnown::Value,
            "ListValue" => WellKnown::ListValue,
            "Any" => WellKnown::Any,
            "FieldMask" => WellKnown::FieldMask,
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
            // A table with the field 'paths' is the message itself.
            WellKnown::FieldMask => match value {
                Value::Table(table) => table.raw_len() > 0,
                _ => true,
            },
            _ => true,
        }
    }
}

/// Writes a value in its shorter form.
pub(super) fn write(
    encoder: &mut Encoder<'_, '_>,
    known: WellKnown,
    value: &Value,
    message: &MessageDescriptor,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    match known {
        WellKnown::Timestamp | WellKnown::Duration => write_time(encoder, known, value, path),
        WellKnown::Wrapper => {
            let Some(field) = message.get_field(1) else {
                return Ok(());
            };
            encoder.key(1, wire_type_of(&field.kind()));
            encoder.scalar(value, &field.kind(), path)
        }
        WellKnown::Struct => match value {
            Value::Table(table) => write_struct(encoder, table, path),
            other => Err(describe_mismatch(&path.what(), "a table", other)),
        },
        WellKnown::ListValue => match value {
            Value::Table(table) => write_list(encoder, table, path),
            other => Err(describe_mismatch(&path.what(), "a list", other)),
        },
        WellKnown::Value => write_any_value(encoder, value, path),
        WellKnown::Any => write_any(encoder, value, message, path),
        WellKnown::FieldMask => write_mask(encoder, value, path),
    }
}

/// Writes the paths of a mask: a list, or a text as JSON has it, whose names are in camel case.
fn write_mask(
    encoder: &mut Encoder<'_, '_>,
    value: &Value,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    let paths: Vec<String> = match value {
        Value::Table(list) => {
            let paths = list_values(list, &path.what())?;
            let paths = paths.iter().map(|one| read_string(one, &path.what()));
            paths.collect::<Result<_, _>>()?
        }
        Value::String(text) => {
            let text = escape_invalid(text);
            let paths = text.split(',').map(str::trim);
            paths.filter(|one| !one.is_empty()).map(snake).collect()
        }
        other => {
            let kind = "a list of paths, or a text such as \"name,price\"";
            return Err(describe_mismatch(&path.what(), kind, other));
        }
    };
    for one in paths {
        encoder.budget.take(one.len())?;
        encoder.key(1, WireType::Bytes);
        encoder.bytes(one.as_bytes());
    }
    Ok(())
}

/// Returns a path of names in camel case as one of names with underscores.
fn snake(path: &str) -> String {
    let mut names = String::new();
    for c in path.chars() {
        if c.is_ascii_uppercase() {
            names.push('_');
        }
        names.push(c.to_ascii_lowercase());
    }
    names
}

fn write_time(
    encoder: &mut Encoder<'_, '_>,
    known: WellKnown,
    value: &Value,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    let time = match value {
        Value::Integer(seconds) => Some((*seconds, 0)),
        Value::Number(time) => time_of(&time.to_string()),
        Value::String(text) => {
            let text = escape_invalid(text);
            match known {
                WellKnown::Timestamp => timestamp_of(&text),
                _ => text.strip_suffix('s').and_then(time_of),
            }
        }
        _ => None,
    };
    let Some((mut seconds, mut nanos)) = time else {
        let kind = match known {
            WellKnown::Timestamp => {
                "a number of seconds, or a text such as \"2026-11-30T06:45:10.5Z\""
            }
            _ => "a number of seconds, or a text such as \"1.5s\"",
        };
        return Err(match value {
            Value::String(text) => format!(
                "{} must be {kind}, not \"{}\"",
                path.what(),
                shorten(&escape_invalid(text))
            ),
            other => describe_mismatch(&path.what(), kind, other),
        });
    };
    // The nanoseconds of a time count forward; those of a duration have its sign.
    if known == WellKnown::Timestamp && nanos < 0 {
        (seconds, nanos) = (seconds - 1, nanos + 1_000_000_000);
    }
    for (number, part) in [(1, seconds), (2, nanos)] {
        if part != 0 {
            encoder.key(number, WireType::Varint);
            encoder.varint(part as u64);
        }
    }
    Ok(())
}

/// Reads a decimal number as seconds and nanoseconds, both with its sign. A number of a plan is read by its shortest decimal, so
/// that 1700000000.123 has 123,000,000 nanoseconds.
fn time_of(decimal: &str) -> Option<(i64, i64)> {
    /// The most seconds of a duration and of a time (timestamp.proto and duration.proto), about 10,000 years.
    const FURTHEST: i64 = 320_000_000_000;
    let (sign, digits) = match decimal.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, decimal),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let seconds: i64 = whole.parse().ok().filter(|whole| *whole <= FURTHEST)?;
    let nanos: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let mut nanos: i64 = nanos.parse().ok()?;
    let rounds_up = fraction
        .as_bytes()
        .get(9)
        .is_some_and(|digit| *digit >= b'5');
    nanos += i64::from(rounds_up);
    let (seconds, nanos) = (seconds + nanos / 1_000_000_000, nanos % 1_000_000_000);
    Some((sign * seconds, sign * nanos))
}

/// Reads a time as RFC 3339 has it. A timestamp of jiff ends a day before the year 9999 does.
fn timestamp_of(text: &str) -> Option<(i64, i64)> {
    let pieces = Pieces::parse(text).ok()?;
    let offset = match pieces.offset()? {
        PiecesOffset::Zulu => 0,
        PiecesOffset::Numeric(numeric) => numeric.offset().seconds(),
        _ => return None,
    };
    let time = pieces.date().to_datetime(pieces.time()?);
    let since = time.duration_since(date(1970, 1, 1).at(0, 0, 0, 0));
    let seconds = since.as_secs().checked_sub(offset.into())?;
    let nanos = i64::from(since.subsec_nanos());
    Some(if nanos < 0 {
        (seconds - 1, nanos + 1_000_000_000)
    } else {
        (seconds, nanos)
    })
}

fn write_struct(
    encoder: &mut Encoder<'_, '_>,
    table: &Table,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    let path = &path.nested()?;
    encoder.budget.spend(TABLE_LOOK)?;
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
        entries.push(encoder.apart(|encoder| {
            encoder.key(1, WireType::Bytes);
            encoder.bytes(name.as_bytes());
            encoder.key(2, WireType::Bytes);
            encoder.nested(|encoder| write_any_value(encoder, &value, &path.field(&name)))
        })?);
    }
    encoder.entries(1, entries);
    Ok(())
}

fn write_list(
    encoder: &mut Encoder<'_, '_>,
    table: &Table,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    let path = &path.nested()?;
    encoder.budget.spend(TABLE_LOOK)?;
    for (place, value) in list_values(table, &path.what())?.iter().enumerate() {
        encoder.key(1, WireType::Bytes);
        encoder.nested(|encoder| write_any_value(encoder, value, &path.item(place)))?;
    }
    Ok(())
}

/// Whether a table is a list without values, as `json.array {}` makes it: its metatable says nothing else.
fn is_empty_list(table: &Table) -> bool {
    let is_mark = |meta: Table| {
        let pairs = meta.pairs::<Value, Value>().flatten();
        let pairs: Vec<_> = pairs.take(2).collect();
        matches!(&pairs[..], [(Value::String(name), Value::Boolean(false))] if *name == "__metatable")
    };
    table.is_empty() && table.metatable().is_some_and(is_mark)
}

/// Writes a `google.protobuf.Value`.
fn write_any_value(
    encoder: &mut Encoder<'_, '_>,
    value: &Value,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    encoder.budget.take(16)?;
    match value {
        Value::Nil | Value::LightUserData(_) => {
            encoder.key(1, WireType::Varint);
            encoder.varint(0);
            Ok(())
        }
        Value::Integer(_) | Value::Number(_) => {
            encoder.key(2, WireType::Fixed64);
            encoder.scalar(value, &Kind::Double, path)
        }
        Value::String(_) => {
            encoder.key(3, WireType::Bytes);
            encoder.scalar(value, &Kind::String, path)
        }
        Value::Boolean(_) => {
            encoder.key(4, WireType::Varint);
            encoder.scalar(value, &Kind::Bool, path)
        }
        Value::Table(table) if table.raw_len() > 0 || is_empty_list(table) => {
            encoder.key(6, WireType::Bytes);
            encoder.nested(|encoder| write_list(encoder, table, path))
        }
        Value::Table(table) => {
            encoder.key(5, WireType::Bytes);
            encoder.nested(|encoder| write_struct(encoder, table, path))
        }
        other => {
            let kind = "a value as JSON has it";
            Err(describe_mismatch(&path.what(), kind, other))
        }
    }
}

fn write_any(
    encoder: &mut Encoder<'_, '_>,
    value: &Value,
    message: &MessageDescriptor,
    path: &FieldPath<'_>,
) -> Result<(), String> {
    let example = "a table with the type of its message: { [\"@type\"] = \"package.Message\", … }";
    let Value::Table(table) = value else {
        return Err(describe_mismatch(&path.what(), example, value));
    };
    if table.is_empty() {
        // One that is not set, as it is read.
        return Ok(());
    }
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
    encoder.key(1, WireType::Bytes);
    encoder.bytes(url.as_bytes());
    let bytes = encoder.apart(|encoder| match WellKnown::of(&found) {
        Some(_) => {
            let inner = table.raw_get::<Value>(ANY_VALUE).unwrap_or(Value::Nil);
            encoder.message(&inner, &found, path)
        }
        None => encoder.fields(table, Some(ANY_TYPE), &found, path),
    })?;
    encoder.key(2, WireType::Bytes);
    encoder.bytes(&bytes);
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
        WellKnown::FieldMask => Ok(Value::Table(decoder.table(message, bytes, deeper)?)),
    }
}

/// Reads a message of which the fields 1 and 2 are bytes.
pub(super) fn read_pair(bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (mut first, mut second) = (&b""[..], &b""[..]);
    let mut reader = WireReader(bytes);
    while !reader.is_empty() {
        match reader.key()? {
            (1, WireType::Bytes) => first = reader.bytes()?,
            (2, WireType::Bytes) => second = reader.bytes()?,
            (number, kind) => reader.skip(number, kind, DEEPEST)?,
        }
    }
    Ok((first, second))
}

fn read_struct(decoder: &Decoder<'_>, bytes: &[u8], deepest: u32) -> Result<Table, DecodingFault> {
    let table = decoder.lua.create_table()?;
    let mut reader = WireReader(bytes);
    while !reader.is_empty() {
        let (1, WireType::Bytes) = reader.key()? else {
            return Err(Malformed.into());
        };
        let (name, value) = read_pair(reader.bytes()?)?;
        let value = read_any_value(decoder, value, deepest)?;
        table.raw_set(decoder.lua.create_string(name)?, value)?;
    }
    Ok(table)
}

fn read_list(decoder: &Decoder<'_>, bytes: &[u8], deepest: u32) -> Result<Table, DecodingFault> {
    let table = decoder.lua.create_table()?;
    if bytes.is_empty() {
        // It stays a list in JSON, and when it is sent again.
        table.set_metatable(Some(decoder.lua.array_metatable()))?;
    }
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
            // Lua distinguishes 1 from 1.0, and JSON does not.
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
    let (url, value) = read_pair(bytes)?;
    if url.is_empty() && value.is_empty() {
        return Ok(Value::Table(decoder.lua.create_table()?));
    }
    let name = type_of(url);
    let found = message.parent_pool().get_message_by_name(&name);
    let table = read_typed(decoder, &name, found.as_ref(), value, deeper)?;
    Ok(Value::Table(table))
}

/// Returns the name of the type at the end of a URL.
pub(super) fn type_of(url: &[u8]) -> String {
    let url = String::from_utf8_lossy(url);
    url.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Reads a message as the table of its fields with the name of its type.
pub(super) fn read_typed(
    decoder: &Decoder<'_>,
    name: &str,
    found: Option<&MessageDescriptor>,
    value: &[u8],
    deeper: u32,
) -> Result<Table, DecodingFault> {
    let known = found.and_then(WellKnown::of);
    let table = match (found, known) {
        (Some(found), None) => decoder.table(found, value, deeper)?,
        (Some(found), Some(known)) => {
            let table = decoder.lua.create_table()?;
            let value = read(decoder, known, found, value, deeper)?;
            table.raw_set(ANY_VALUE, value)?;
            table
        }
        // Its bytes, if its type is unknown.
        (None, _) => {
            let table = decoder.lua.create_table()?;
            table.raw_set(ANY_VALUE, decoder.lua.create_string(value)?)?;
            table
        }
    };
    table.raw_set(ANY_TYPE, name)?;
    Ok(table)
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
