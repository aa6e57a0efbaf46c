//! Messages of Protocol Buffers as tables of a plan. A table has all fields without presence of its message: unset ones
//! are 0, "" or false, and lists and maps are empty.

use super::field::MessageField;
use super::kinds::{DEEPEST, wire_type_of};
use super::well_known::{self, WellKnown};
use super::wire::{Malformed, WireReader, WireType, unzigzag};
use crate::limits::make_values;
use mlua::{Lua, Table, Value};
use prost_reflect::{EnumDescriptor, ExtensionDescriptor, Kind, MessageDescriptor};
use std::cell::RefCell;
use std::collections::HashMap;

/// The reason why a message cannot be decoded: it is malformed, or the VM has no room.
#[derive(Debug)]
pub(crate) enum DecodingFault {
    Malformed,
    Lua(mlua::Error),
}

impl From<Malformed> for DecodingFault {
    fn from(_: Malformed) -> DecodingFault {
        DecodingFault::Malformed
    }
}

impl From<mlua::Error> for DecodingFault {
    fn from(error: mlua::Error) -> DecodingFault {
        DecodingFault::Lua(error)
    }
}

/// Decodes a message.
///
/// # Errors
/// The bytes are no such message, or there is no room for it.
pub(crate) fn decode(
    lua: &Lua,
    message: &MessageDescriptor,
    bytes: &[u8],
) -> Result<Value, DecodingFault> {
    let mut decoded = Err(Malformed.into());
    make_values(lua, bytes.len(), || {
        let decoder = Decoder::new(lua);
        decoded = decoder.message(message, bytes, None, DEEPEST);
        Ok(())
    })?;
    decoded
}

/// Makes tables in a VM.
pub(super) struct Decoder<'a> {
    pub(super) lua: &'a Lua,
    /// The extensions by their numbers, for each message that has had a field of an unknown number.
    extensions: RefCell<HashMap<String, HashMap<u32, ExtensionDescriptor>>>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(lua: &'a Lua) -> Decoder<'a> {
        Decoder {
            lua,
            extensions: RefCell::default(),
        }
    }

    /// Returns the field or the extension of that number.
    fn field(&self, message: &MessageDescriptor, number: u32) -> Option<MessageField> {
        if let Some(field) = message.get_field(number) {
            return Some(MessageField::Own(field));
        }
        if message.extensions().len() == 0 {
            return None;
        }
        let mut extensions = self.extensions.borrow_mut();
        let of_message = extensions.entry(message.full_name().to_owned());
        let of_message = of_message.or_insert_with(|| {
            let all = message.extensions();
            all.map(|extension| (extension.number(), extension))
                .collect()
        });
        let found = of_message.get(&number).cloned();
        found.map(MessageField::Extension)
    }

    /// Decodes a message; the fields of one that has come before are kept.
    fn message(
        &self,
        message: &MessageDescriptor,
        bytes: &[u8],
        before: Option<Table>,
        deepest: u32,
    ) -> Result<Value, DecodingFault> {
        if let Some(known) = WellKnown::of(message) {
            return well_known::read(self, known, message, bytes, deepest);
        }
        let deeper = deepest.checked_sub(1).ok_or(Malformed)?;
        match before {
            Some(table) => {
                self.read_into(&table, message, bytes, deeper)?;
                Ok(Value::Table(table))
            }
            None => self.table(message, bytes, deeper).map(Value::Table),
        }
    }

    /// Decodes a message as a table of its fields.
    pub(super) fn table(
        &self,
        message: &MessageDescriptor,
        bytes: &[u8],
        deeper: u32,
    ) -> Result<Table, DecodingFault> {
        let fields = message.fields();
        let table = self.lua.create_table_with_capacity(0, fields.len())?;
        for field in fields {
            if field.is_list() || field.is_map() {
                table.raw_set(field.name(), self.lua.create_table()?)?;
            } else if !field.supports_presence() {
                table.raw_set(field.name(), self.default_of(&field.kind())?)?;
            }
        }
        self.read_into(&table, message, bytes, deeper)?;
        Ok(table)
    }

    fn default_of(&self, kind: &Kind) -> mlua::Result<Value> {
        Ok(match kind {
            Kind::Double | Kind::Float => Value::Number(0.0),
            Kind::Bool => Value::Boolean(false),
            Kind::String | Kind::Bytes => Value::String(self.lua.create_string("")?),
            Kind::Enum(names) => self.enum_value(names, names.default_value().number())?,
            Kind::Message(_) => Value::Nil,
            _ => Value::Integer(0),
        })
    }

    fn read_into(
        &self,
        table: &Table,
        message: &MessageDescriptor,
        bytes: &[u8],
        deeper: u32,
    ) -> Result<(), DecodingFault> {
        let mut reader = WireReader(bytes);
        while !reader.is_empty() {
            let (number, kind) = reader.key()?;
            match self.field(message, number) {
                Some(field) if is_of(&field, kind) => {
                    self.read_field(table, &field, kind, &mut reader, deeper)?;
                }
                _ => reader.skip(number, kind, DEEPEST)?,
            }
        }
        Ok(())
    }

    fn read_field(
        &self,
        table: &Table,
        field: &MessageField,
        kind: WireType,
        reader: &mut WireReader<'_>,
        deeper: u32,
    ) -> Result<(), DecodingFault> {
        let name = field.name();
        if field.is_map() {
            let entries: Table = table.raw_get(name)?;
            return self.read_entry(&entries, field, kind, reader, deeper);
        }
        if field.is_list() {
            let list = match table.raw_get::<Option<Table>>(name)? {
                Some(list) => list,
                // That of an extension is there once it has a value.
                None => {
                    let list = self.lua.create_table()?;
                    table.raw_set(name, &list)?;
                    list
                }
            };
            let of_field = field.kind();
            if kind == WireType::Bytes && is_packable(&of_field) {
                let mut packed = WireReader(reader.bytes()?);
                while !packed.is_empty() {
                    let kind = wire_type_of(&of_field);
                    list.raw_push(self.scalar(&of_field, kind, &mut packed)?)?;
                }
            } else {
                list.raw_push(self.value(field, kind, reader, None, deeper)?)?;
            }
            return Ok(());
        }
        let before = match field.kind() {
            Kind::Message(_) => table.raw_get::<Value>(name)?.as_table().cloned(),
            _ => None,
        };
        let value = self.value(field, kind, reader, before, deeper)?;
        if let Some(oneof) = field.oneof() {
            for other in oneof.fields().filter(|other| other.name() != name) {
                table.raw_set(other.name(), Value::Nil)?;
            }
        }
        table.raw_set(name, value)?;
        Ok(())
    }

    fn read_entry(
        &self,
        entries: &Table,
        field: &MessageField,
        kind: WireType,
        reader: &mut WireReader<'_>,
        deeper: u32,
    ) -> Result<(), DecodingFault> {
        let (WireType::Bytes, Kind::Message(entry)) = (kind, field.kind()) else {
            return Err(Malformed.into());
        };
        let key_field = MessageField::Own(entry.map_entry_key_field());
        let value_field = MessageField::Own(entry.map_entry_value_field());
        let mut key = self.default_of(&key_field.kind())?;
        let mut value = None;
        let mut reader = WireReader(reader.bytes()?);
        while !reader.is_empty() {
            match reader.key()? {
                (1, kind) => key = self.value(&key_field, kind, &mut reader, None, deeper)?,
                (2, kind) => {
                    value = Some(self.value(&value_field, kind, &mut reader, None, deeper)?);
                }
                (number, kind) => reader.skip(number, kind, DEEPEST)?,
            }
        }
        let value = match (value, value_field.kind()) {
            (Some(value), _) => value,
            (None, Kind::Message(message)) => self.message(&message, &[], None, deeper)?,
            (None, kind) => self.default_of(&kind)?,
        };
        entries.raw_set(key, value)?;
        Ok(())
    }

    /// Decodes one value.
    fn value(
        &self,
        field: &MessageField,
        kind: WireType,
        reader: &mut WireReader<'_>,
        before: Option<Table>,
        deeper: u32,
    ) -> Result<Value, DecodingFault> {
        let of_field = field.kind();
        let Kind::Message(message) = &of_field else {
            return self.scalar(&of_field, kind, reader);
        };
        let bytes = match (kind, field.is_group()) {
            (WireType::Bytes, false) => reader.bytes()?,
            (WireType::StartGroup, true) => reader.group(field.number(), deeper)?,
            _ => return Err(Malformed.into()),
        };
        self.message(message, bytes, before, deeper)
    }

    fn scalar(
        &self,
        of_field: &Kind,
        kind: WireType,
        reader: &mut WireReader<'_>,
    ) -> Result<Value, DecodingFault> {
        if kind != wire_type_of(of_field) {
            return Err(Malformed.into());
        }
        Ok(match of_field {
            Kind::Double => Value::Number(f64::from_bits(reader.fixed64()?)),
            Kind::Float => Value::Number(f32::from_bits(reader.fixed32()?).into()),
            Kind::Int32 => Value::Integer((reader.varint()? as i32).into()),
            Kind::Int64 => Value::Integer(reader.varint()? as i64),
            Kind::Uint32 => Value::Integer((reader.varint()? as u32).into()),
            Kind::Uint64 => self.unsigned(reader.varint()?)?,
            Kind::Sint32 => Value::Integer((unzigzag(reader.varint()?) as i32).into()),
            Kind::Sint64 => Value::Integer(unzigzag(reader.varint()?)),
            Kind::Fixed32 => Value::Integer(reader.fixed32()?.into()),
            Kind::Fixed64 => self.unsigned(reader.fixed64()?)?,
            Kind::Sfixed32 => Value::Integer((reader.fixed32()? as i32).into()),
            Kind::Sfixed64 => Value::Integer(reader.fixed64()? as i64),
            Kind::Bool => Value::Boolean(reader.varint()? != 0),
            Kind::String | Kind::Bytes => Value::String(self.lua.create_string(reader.bytes()?)?),
            Kind::Enum(names) => self.enum_value(names, reader.varint()? as i32)?,
            Kind::Message(_) => return Err(Malformed.into()),
        })
    }

    /// Lua has no whole number beyond 2^63: larger ones become texts.
    fn unsigned(&self, number: u64) -> mlua::Result<Value> {
        match i64::try_from(number) {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => Ok(Value::String(self.lua.create_string(number.to_string())?)),
        }
    }

    fn enum_value(&self, names: &EnumDescriptor, number: i32) -> mlua::Result<Value> {
        match names.get_value(number) {
            Some(value) => Ok(Value::String(self.lua.create_string(value.name())?)),
            None => Ok(Value::Integer(number.into())),
        }
    }
}

/// Whether a field is of that kind on the wire. Of another kind, it counts as unknown.
fn is_of(field: &MessageField, kind: WireType) -> bool {
    let of_field = field.kind();
    if field.is_group() {
        return kind == WireType::StartGroup;
    }
    kind == wire_type_of(&of_field)
        || field.is_list() && kind == WireType::Bytes && is_packable(&of_field)
}

fn is_packable(kind: &Kind) -> bool {
    !matches!(kind, Kind::String | Kind::Bytes | Kind::Message(_))
}
