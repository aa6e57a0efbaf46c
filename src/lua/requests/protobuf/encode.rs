//! Tables of a plan as messages of Protocol Buffers, by the descriptor of the message. Fields are written by their
//! numbers, so that equal tables give equal bytes.

use super::numbers::{DEEPEST, int64_of, uint64_of};
use super::well_known::{self, WellKnown};
use super::wire::{WireType, write_bytes, write_key, write_nested, write_varint, zigzag};
use crate::error::nearest;
use crate::lua::limits::{Budget, TABLE_LOOK};
use crate::lua::values::{describe_mismatch, escape_invalid, list_values, shorten};
use mlua::{Table, Value};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

/// Where a value stands in a message, for messages.
#[derive(Clone, Copy)]
pub(super) struct FieldPath<'a> {
    pub(super) parent: Option<&'a FieldPath<'a>>,
    pub(super) name: &'a str,
    /// Its place in a list, from 1.
    pub(super) place: Option<usize>,
}

impl FieldPath<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = match self.parent {
            Some(parent) if !parent.name.is_empty() => format!("{}.{}", parent.text(), self.name),
            _ => self.name.to_owned(),
        };
        if let Some(place) = self.place {
            text.push_str(&format!("[{place}]"));
        }
        text
    }

    /// Returns the field as messages name it.
    pub(super) fn what(&self) -> String {
        match self.name {
            "" => "the message".to_owned(),
            _ => format!("field '{}'", shorten(&self.text())),
        }
    }
}

/// Encodes a table as a message.
///
/// # Errors
/// The message to raise at the plan's line.
pub(in crate::lua) fn encode(
    value: &Value,
    message: &MessageDescriptor,
    budget: &mut Budget,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let top = FieldPath {
        parent: None,
        name: "",
        place: None,
    };
    match value {
        Value::Nil => {}
        value => write_message(value, message, &top, DEEPEST, &mut out, budget)?,
    }
    Ok(out)
}

/// Writes the fields of a message.
pub(super) fn write_message(
    value: &Value,
    message: &MessageDescriptor,
    path: &FieldPath<'_>,
    deepest: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    let Some(deeper) = deepest.checked_sub(1) else {
        return Err("the message is nested too deeply".to_owned());
    };
    if let Some(known) = WellKnown::of(message)
        && known.is_meant(value)
    {
        return well_known::write(known, value, message, path, deeper, out, budget);
    }
    let Value::Table(table) = value else {
        let kind = format!("a table of the fields of {}", message.full_name());
        return Err(describe_mismatch(&path.what(), &kind, value));
    };
    write_fields(table, None, message, path, deeper, out, budget)
}

/// Writes the fields of a message that its table has, beside one that is none.
pub(super) fn write_fields(
    table: &Table,
    beside: Option<&str>,
    message: &MessageDescriptor,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    budget.spend(TABLE_LOOK)?;
    let mut fields: Vec<(FieldDescriptor, Value)> = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let name = match &key {
            Value::String(name) => escape_invalid(name),
            _ => {
                let kind = "a table of named fields, not a list";
                return Err(format!("{} must be {kind}", path.what()));
            }
        };
        if Some(&*name) == beside {
            continue;
        }
        let field = message
            .get_field_by_name(&name)
            .or_else(|| message.get_field_by_json_name(&name));
        let field = field.ok_or_else(|| unknown_field(&name, message, path))?;
        if !is_null(&value) || is_null_meant(&field) {
            fields.push((field, value));
        }
    }
    fields.sort_by_key(|(field, _)| field.number());
    let mut chosen: Vec<(String, String)> = Vec::new();
    for (place, (field, value)) in fields.iter().enumerate() {
        if place > 0 && fields[place - 1].0.number() == field.number() {
            let name = field.name();
            return Err(format!("{} has '{name}' twice", path.what()));
        }
        if let Some(oneof) = field
            .containing_oneof()
            .filter(|oneof| !oneof.is_synthetic())
        {
            let before = chosen.iter().find(|(name, _)| name == oneof.name());
            if let Some((name, before)) = before {
                return Err(format!(
                    "{} has '{before}' and '{}', and may have one of '{name}'",
                    path.what(),
                    field.name()
                ));
            }
            chosen.push((oneof.name().to_owned(), field.name().to_owned()));
        }
        let path = FieldPath {
            parent: Some(path),
            name: field.name(),
            place: None,
        };
        write_field(value, field, &path, deeper, out, budget)?;
    }
    Ok(())
}

fn unknown_field(name: &str, message: &MessageDescriptor, path: &FieldPath<'_>) -> String {
    let fields: Vec<FieldDescriptor> = message.fields().collect();
    let names: Vec<&str> = fields.iter().map(FieldDescriptor::name).collect();
    let shown = shorten(&match path.name {
        "" => name.to_owned(),
        _ => format!("{}.{name}", path.text()),
    });
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    };
    let owner = message.full_name();
    let has = match names.as_slice() {
        [] => "has no fields".to_owned(),
        names => format!("has: {}", names.join(", ")),
    };
    format!("there is no field '{shown}'{hint} {owner} {has}")
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Nil | Value::LightUserData(_))
}

/// Whether null is a value of the field.
fn is_null_meant(field: &FieldDescriptor) -> bool {
    match field.kind() {
        Kind::Message(message) => message.full_name() == "google.protobuf.Value",
        Kind::Enum(kind) => kind.full_name() == "google.protobuf.NullValue",
        _ => false,
    }
}

fn write_field(
    value: &Value,
    field: &FieldDescriptor,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    if field.is_map() {
        return write_map(value, field, path, deeper, out, budget);
    }
    if !field.is_list() {
        let start = out.len();
        write_key(out, field.number(), wire_type(field));
        let key = out.len();
        write_value(value, field, path, deeper, out, budget)?;
        // What is as without a value is left out, as everywhere, unless that makes a difference.
        if !field.supports_presence() && out[key..].iter().all(|byte| *byte == 0) {
            out.truncate(start);
        }
        return Ok(());
    }
    let Value::Table(list) = value else {
        return Err(describe_mismatch(&path.what(), "a list", value));
    };
    let values = list_values(list, &path.what())?;
    budget.take(values.len().saturating_mul(size_of::<Value>()))?;
    let item = |place| FieldPath {
        place: Some(place + 1),
        ..*path
    };
    if field.is_packed() && !values.is_empty() {
        write_key(out, field.number(), WireType::Bytes);
        return write_nested(out, |out| {
            for (place, value) in values.iter().enumerate() {
                write_value(value, field, &item(place), deeper, out, budget)?;
            }
            Ok(())
        });
    }
    for (place, value) in values.iter().enumerate() {
        write_key(out, field.number(), wire_type(field));
        write_value(value, field, &item(place), deeper, out, budget)?;
    }
    Ok(())
}

fn write_map(
    value: &Value,
    field: &FieldDescriptor,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    let Value::Table(table) = value else {
        return Err(describe_mismatch(
            &path.what(),
            "a table of keys and values",
            value,
        ));
    };
    let Kind::Message(entry) = field.kind() else {
        return Ok(());
    };
    let (key_field, value_field) = (entry.map_entry_key_field(), entry.map_entry_value_field());
    budget.spend(TABLE_LOOK)?;
    let mut entries = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let shown = match &key {
            Value::String(text) => escape_invalid(text),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Boolean(flag) => flag.to_string(),
            _ => String::new(),
        };
        let of_entry = FieldPath {
            parent: Some(path),
            name: &shown,
            place: None,
        };
        let mut bytes = Vec::new();
        let key = number_of_key(key, &key_field);
        write_key(&mut bytes, 1, wire_type(&key_field));
        let problem = |_| {
            let kind = format!("a key that is {}", kind_of(&key_field.kind()));
            format!(
                "{} has '{}', which is not {kind}",
                path.what(),
                shorten(&shown)
            )
        };
        write_value(&key, &key_field, &of_entry, deeper, &mut bytes, budget).map_err(problem)?;
        write_key(&mut bytes, 2, wire_type(&value_field));
        write_value(&value, &value_field, &of_entry, deeper, &mut bytes, budget)?;
        budget.take(bytes.len())?;
        entries.push(bytes);
    }
    // Lua's own order differs from user to user.
    entries.sort();
    for entry in entries {
        write_key(out, field.number(), WireType::Bytes);
        write_bytes(out, &entry);
    }
    Ok(())
}

/// Returns the key of a map as its kind has it: those of JSON are all texts.
fn number_of_key(key: Value, field: &FieldDescriptor) -> Value {
    let Value::String(text) = &key else {
        return key;
    };
    let text = text
        .to_str()
        .map(|text| text.to_owned())
        .unwrap_or_default();
    match field.kind() {
        Kind::String => key,
        Kind::Bool => match text.as_str() {
            "true" => Value::Boolean(true),
            "false" => Value::Boolean(false),
            _ => key,
        },
        _ => text.parse().map_or(key, Value::Integer),
    }
}

/// Returns what stands before a value of a field on the wire.
fn wire_type(field: &FieldDescriptor) -> WireType {
    match field.kind() {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Fixed64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Fixed32,
        Kind::Message(_) if field.is_group() => WireType::StartGroup,
        Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Bytes,
        _ => WireType::Varint,
    }
}

/// Returns what a kind of field takes, in words.
fn kind_of(kind: &Kind) -> String {
    match kind {
        Kind::Double | Kind::Float => "a number".to_owned(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
            format!("a whole number from {} to {}", i32::MIN, i32::MAX)
        }
        Kind::Uint32 | Kind::Fixed32 => format!("a whole number from 0 to {}", u32::MAX),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => "a whole number".to_owned(),
        Kind::Uint64 | Kind::Fixed64 => {
            "a whole number of at least 0, as text beyond 2^63".to_owned()
        }
        Kind::Bool => "true or false".to_owned(),
        Kind::String => "a text in UTF-8".to_owned(),
        Kind::Bytes => "a string".to_owned(),
        Kind::Message(message) => format!("a table of the fields of {}", message.full_name()),
        Kind::Enum(kind) => format!("a name of {} or its number", kind.full_name()),
    }
}

/// Writes one value without its key.
fn write_value(
    value: &Value,
    field: &FieldDescriptor,
    path: &FieldPath<'_>,
    deeper: u32,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    const NUMBER: usize = 10;
    budget.take(NUMBER)?;
    let kind = field.kind();
    if let Kind::Message(message) = &kind {
        if field.is_group() {
            write_message(value, message, path, deeper, out, budget)?;
            write_key(out, field.number(), WireType::EndGroup);
            return Ok(());
        }
        return write_nested(out, |out| {
            write_message(value, message, path, deeper, out, budget)
        });
    }
    write_scalar(value, &kind, path, out, budget)
}

/// Writes a value that is no message, without its key.
pub(super) fn write_scalar(
    value: &Value,
    kind: &Kind,
    path: &FieldPath<'_>,
    out: &mut Vec<u8>,
    budget: &mut Budget,
) -> Result<(), String> {
    let wrong = || {
        let got = match value {
            Value::String(text) => format!(", not \"{}\"", shorten(&escape_invalid(text))),
            _ => return describe_mismatch(&path.what(), &kind_of(kind), value),
        };
        format!("{} must be {}{got}", path.what(), kind_of(kind))
    };
    let int32 = || {
        let number = int64_of(value).and_then(|number| i32::try_from(number).ok());
        number.ok_or_else(wrong)
    };
    let uint32 = || {
        let number = int64_of(value).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(wrong)
    };
    let int64 = || int64_of(value).ok_or_else(wrong);
    let uint64 = || uint64_of(value).ok_or_else(wrong);
    let float = || match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Number(number) => Ok(*number),
        _ => Err(wrong()),
    };
    match kind {
        Kind::Double => out.extend_from_slice(&float()?.to_le_bytes()),
        Kind::Float => out.extend_from_slice(&(float()? as f32).to_le_bytes()),
        Kind::Int32 => write_varint(out, i64::from(int32()?) as u64),
        Kind::Int64 => write_varint(out, int64()? as u64),
        Kind::Uint32 => write_varint(out, uint32()?.into()),
        Kind::Uint64 => write_varint(out, uint64()?),
        Kind::Sint32 => write_varint(out, zigzag(int32()?.into())),
        Kind::Sint64 => write_varint(out, zigzag(int64()?)),
        Kind::Fixed32 => out.extend_from_slice(&uint32()?.to_le_bytes()),
        Kind::Fixed64 => out.extend_from_slice(&uint64()?.to_le_bytes()),
        Kind::Sfixed32 => out.extend_from_slice(&int32()?.to_le_bytes()),
        Kind::Sfixed64 => out.extend_from_slice(&int64()?.to_le_bytes()),
        Kind::Bool => match value {
            Value::Boolean(flag) => out.push(u8::from(*flag)),
            _ => return Err(wrong()),
        },
        Kind::String | Kind::Bytes => {
            let Value::String(text) = value else {
                return Err(wrong());
            };
            let bytes = text.as_bytes();
            if *kind == Kind::String && std::str::from_utf8(&bytes).is_err() {
                return Err(format!("{} must be a text in UTF-8", path.what()));
            }
            budget.take(bytes.len())?;
            write_bytes(out, &bytes);
        }
        Kind::Enum(names) => {
            let number = match value {
                Value::String(name) => {
                    let name = escape_invalid(name);
                    let found = names.get_value_by_name(&name);
                    found.map(|found| found.number()).ok_or_else(|| {
                        let all: Vec<_> = names.values().map(|one| one.name().to_owned()).collect();
                        let near = nearest(&name, all.iter().map(String::as_str));
                        let hint = match near {
                            Some(near) => format!("did you mean \"{near}\"?"),
                            None => format!("the names are: {}", all.join(", ")),
                        };
                        let name = shorten(&name);
                        format!(
                            "{}: {} has no \"{name}\"; {hint}",
                            path.what(),
                            names.full_name()
                        )
                    })?
                }
                Value::LightUserData(_) => 0,
                _ => int32()?,
            };
            write_varint(out, i64::from(number) as u64);
        }
        Kind::Message(_) => return Err(wrong()),
    }
    Ok(())
}
