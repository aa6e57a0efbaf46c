//! Tables of a plan as messages of Protocol Buffers, by the descriptor of the message. Fields are written by their
//! numbers, so that equal tables give equal bytes.

use super::field::MessageField;
use super::kinds::{DEEPEST, float_of, int64_of, uint64_of, wire_type_of};
use super::well_known::{self, WellKnown};
use super::wire::{WireType, write_bytes, write_key, write_varint, zigzag};
use crate::limits::{Budget, TABLE_LOOK};
use crate::values::{describe_mismatch, escape_invalid, list_values, shorten};
use base64::Engine as _;
use lgoose_base::base64::{BASE64, BASE64_URL};
use lgoose_base::error::nearest;
use mlua::{Table, Value};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

/// The place of a value in a message, for error messages.
#[derive(Clone, Copy)]
pub(super) struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    name: &'a str,
    /// Its place in a list, from 1.
    place: Option<usize>,
    /// How many more messages may be nested in it.
    deepest: u32,
}

impl<'a> FieldPath<'a> {
    /// The whole message.
    fn top() -> FieldPath<'static> {
        FieldPath {
            parent: None,
            name: "",
            place: None,
            deepest: DEEPEST,
        }
    }

    /// A field of the message that stands here.
    pub(super) fn field(&'a self, name: &'a str) -> FieldPath<'a> {
        FieldPath {
            parent: Some(self),
            name,
            place: None,
            deepest: self.deepest,
        }
    }

    /// The item at an index, from 0, of the list at this place.
    pub(super) fn item(&self, place: usize) -> FieldPath<'a> {
        FieldPath {
            place: Some(place + 1),
            ..*self
        }
    }

    /// The same place for the fields of a message here.
    ///
    /// # Errors
    /// The message is nested too deeply: the message for the plan.
    pub(super) fn nested(&self) -> Result<FieldPath<'a>, String> {
        let deepest = self.deepest.checked_sub(1);
        Ok(FieldPath {
            deepest: deepest.ok_or("the message is nested too deeply")?,
            ..*self
        })
    }

    fn text(&self) -> String {
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

/// Form in which a plan gives a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageForm {
    /// A table, whose strings are bytes where the field has bytes.
    Table,
    /// The table of a text in the JSON form of messages (<https://protobuf.dev/programming-guides/json/>): bytes are base64.
    Json,
}

/// A message as a plan gives it.
#[derive(Debug)]
pub(crate) struct GivenMessage {
    pub(crate) value: Value,
    pub(crate) form: MessageForm,
}

impl GivenMessage {
    /// A message that a plan gives as a table, or as what stands for one.
    pub(crate) fn table(value: Value) -> GivenMessage {
        GivenMessage {
            value,
            form: MessageForm::Table,
        }
    }
}

/// Whether a value stands for a message as a text in JSON; a message with a shorter form may be a string by itself.
pub(crate) fn is_json_text(value: &Value, message: &MessageDescriptor) -> bool {
    value.is_string() && WellKnown::of(message).is_none_or(|known| !known.is_meant(value))
}

/// Encodes a message.
///
/// # Errors
/// The message to raise at the plan's line.
pub(crate) fn encode(
    given: &GivenMessage,
    message: &MessageDescriptor,
    budget: &mut Budget,
) -> Result<Vec<u8>, String> {
    let value = &given.value;
    let mut encoder = Encoder {
        out: Vec::new(),
        form: given.form,
        budget,
    };
    if !value.is_nil() {
        encoder.message(value, message, &FieldPath::top())?;
    }
    Ok(encoder.out)
}

/// Writes values one after another.
pub(super) struct Encoder<'a, 'b> {
    pub(super) out: Vec<u8>,
    form: MessageForm,
    pub(super) budget: &'a mut Budget<'b>,
}

impl Encoder<'_, '_> {
    pub(super) fn key(&mut self, number: u32, kind: WireType) {
        write_key(&mut self.out, number, kind);
    }

    pub(super) fn varint(&mut self, value: u64) {
        write_varint(&mut self.out, value);
    }

    /// Writes bytes with their length before them.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        write_bytes(&mut self.out, bytes);
    }

    /// Writes the output of `write`, with its length before it.
    pub(super) fn nested(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let start = self.out.len();
        self.out.push(0);
        write(self)?;
        let length = self.out.len() - start - 1;
        if length < 0x80 {
            self.out[start] = length as u8;
        } else {
            let mut prefix = Vec::new();
            write_varint(&mut prefix, length as u64);
            self.out.splice(start..=start, prefix);
        }
        Ok(())
    }

    /// Returns the output of `write`, apart from the rest.
    pub(super) fn apart(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<Vec<u8>, String> {
        let before = std::mem::take(&mut self.out);
        let written = write(self);
        let apart = std::mem::replace(&mut self.out, before);
        written?;
        self.budget.take(apart.len())?;
        Ok(apart)
    }

    /// Writes the entries of a map, whose order in Lua differs from user to user.
    pub(super) fn entries(&mut self, number: u32, mut entries: Vec<Vec<u8>>) {
        entries.sort();
        for entry in entries {
            self.key(number, WireType::Bytes);
            self.bytes(&entry);
        }
    }

    /// Writes the fields of a message.
    pub(super) fn message(
        &mut self,
        value: &Value,
        message: &MessageDescriptor,
        path: &FieldPath<'_>,
    ) -> Result<(), String> {
        let path = &path.nested()?;
        if let Some(known) = WellKnown::of(message)
            && known.is_meant(value)
        {
            return well_known::write(self, known, value, message, path);
        }
        let Value::Table(table) = value else {
            let kind = format!("a table of the fields of {}", message.full_name());
            return Err(describe_mismatch(&path.what(), &kind, value));
        };
        self.fields(table, None, message, path)
    }

    /// Writes the fields of a message that its table has, except for one that is not of the message.
    pub(super) fn fields(
        &mut self,
        table: &Table,
        other_than: Option<&str>,
        message: &MessageDescriptor,
        path: &FieldPath<'_>,
    ) -> Result<(), String> {
        self.budget.spend(TABLE_LOOK)?;
        let mut fields: Vec<(MessageField, Value)> = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair.map_err(|error| error.to_string())?;
            let name = match &key {
                Value::String(name) => escape_invalid(name),
                _ => {
                    let kind = "a table of named fields, not a list";
                    return Err(format!("{} must be {kind}", path.what()));
                }
            };
            if Some(&*name) == other_than {
                continue;
            }
            let field = MessageField::named(message, &name);
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
            if let Some(oneof) = field.oneof() {
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
            self.field(value, field, &path.field(field.name()))?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        value: &Value,
        field: &MessageField,
        path: &FieldPath<'_>,
    ) -> Result<(), String> {
        if field.is_map() {
            return self.map(value, field, path);
        }
        if !field.is_list() {
            let start = self.out.len();
            self.key(field.number(), wire_type(field));
            let key = self.out.len();
            self.value(value, field, path)?;
            // A default value is left out, as everywhere, unless its presence makes a difference.
            if !field.supports_presence() && self.out[key..].iter().all(|byte| *byte == 0) {
                self.out.truncate(start);
            }
            return Ok(());
        }
        let Value::Table(list) = value else {
            return Err(describe_mismatch(&path.what(), "a list", value));
        };
        let values = list_values(list, &path.what())?;
        self.budget
            .take(values.len().saturating_mul(size_of::<Value>()))?;
        let mut values = values.iter().enumerate();
        if field.is_packed() && values.len() > 0 {
            self.key(field.number(), WireType::Bytes);
            return self.nested(|own| {
                values.try_for_each(|(place, value)| own.value(value, field, &path.item(place)))
            });
        }
        values.try_for_each(|(place, value)| {
            self.key(field.number(), wire_type(field));
            self.value(value, field, &path.item(place))
        })
    }

    fn map(
        &mut self,
        value: &Value,
        field: &MessageField,
        path: &FieldPath<'_>,
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
        let key_field = MessageField::Own(entry.map_entry_key_field());
        let value_field = MessageField::Own(entry.map_entry_value_field());
        self.budget.spend(TABLE_LOOK)?;
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
            let of_entry = path.field(&shown);
            let key = number_of_key(key, &key_field);
            let problem = |_| {
                let kind = format!("a key that is {}", kind_of(&key_field.kind()));
                format!(
                    "{} has '{}', which is not {kind}",
                    path.what(),
                    shorten(&shown)
                )
            };
            entries.push(self.apart(|own| {
                own.key(1, wire_type(&key_field));
                own.value(&key, &key_field, &of_entry).map_err(problem)?;
                own.key(2, wire_type(&value_field));
                own.value(&value, &value_field, &of_entry)
            })?);
        }
        self.entries(field.number(), entries);
        Ok(())
    }

    /// Writes one value without its key.
    fn value(
        &mut self,
        value: &Value,
        field: &MessageField,
        path: &FieldPath<'_>,
    ) -> Result<(), String> {
        const NUMBER: usize = 10;
        self.budget.take(NUMBER)?;
        let kind = field.kind();
        let Kind::Message(message) = &kind else {
            return self.scalar(value, &kind, path);
        };
        if field.is_group() {
            self.message(value, message, path)?;
            self.key(field.number(), WireType::EndGroup);
            return Ok(());
        }
        self.nested(|own| own.message(value, message, path))
    }

    /// Writes a value that is not a message, without its key.
    pub(super) fn scalar(
        &mut self,
        value: &Value,
        kind: &Kind,
        path: &FieldPath<'_>,
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
        let float = || float_of(value).ok_or_else(wrong);
        match kind {
            Kind::Double => self.out.extend_from_slice(&float()?.to_le_bytes()),
            Kind::Float => self.out.extend_from_slice(&(float()? as f32).to_le_bytes()),
            Kind::Int32 => self.varint(i64::from(int32()?) as u64),
            Kind::Int64 => self.varint(int64()? as u64),
            Kind::Uint32 => self.varint(uint32()?.into()),
            Kind::Uint64 => self.varint(uint64()?),
            Kind::Sint32 => self.varint(zigzag(int32()?.into())),
            Kind::Sint64 => self.varint(zigzag(int64()?)),
            Kind::Fixed32 => self.out.extend_from_slice(&uint32()?.to_le_bytes()),
            Kind::Fixed64 => self.out.extend_from_slice(&uint64()?.to_le_bytes()),
            Kind::Sfixed32 => self.out.extend_from_slice(&int32()?.to_le_bytes()),
            Kind::Sfixed64 => self.out.extend_from_slice(&int64()?.to_le_bytes()),
            Kind::Bool => match value {
                Value::Boolean(flag) => self.out.push(u8::from(*flag)),
                _ => return Err(wrong()),
            },
            Kind::Bytes if self.form == MessageForm::Json => {
                let text = match value {
                    Value::String(text) => text.as_bytes(),
                    _ => return Err(wrong()),
                };
                let bytes = bytes_of_base64(&text).ok_or_else(|| {
                    format!("{} must be base64, as bytes are in JSON", path.what())
                })?;
                self.budget.take(bytes.len())?;
                self.bytes(&bytes);
            }
            Kind::String | Kind::Bytes => {
                let Value::String(text) = value else {
                    return Err(wrong());
                };
                let bytes = text.as_bytes();
                if *kind == Kind::String && std::str::from_utf8(&bytes).is_err() {
                    return Err(format!("{} must be a text in UTF-8", path.what()));
                }
                self.budget.take(bytes.len())?;
                self.bytes(&bytes);
            }
            Kind::Enum(names) => {
                let number = match value {
                    Value::String(name) => {
                        let name = escape_invalid(name);
                        let found = names.get_value_by_name(&name);
                        found.map(|found| found.number()).ok_or_else(|| {
                            let all: Vec<_> =
                                names.values().map(|one| one.name().to_owned()).collect();
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
                self.varint(i64::from(number) as u64);
            }
            Kind::Message(_) => return Err(wrong()),
        }
        Ok(())
    }
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
fn is_null_meant(field: &MessageField) -> bool {
    match field.kind() {
        Kind::Message(message) => message.full_name() == "google.protobuf.Value",
        Kind::Enum(kind) => kind.full_name() == "google.protobuf.NullValue",
        _ => false,
    }
}

/// Returns the key of a map as its kind has it: those of JSON are all texts.
fn number_of_key(key: Value, field: &MessageField) -> Value {
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

/// Returns the wire type that stands before a value of a field.
fn wire_type(field: &MessageField) -> WireType {
    if field.is_group() {
        return WireType::StartGroup;
    }
    wire_type_of(&field.kind())
}

/// Reads base64 of either alphabet, as bytes are in the JSON form of messages.
fn bytes_of_base64(text: &[u8]) -> Option<Vec<u8>> {
    BASE64
        .decode(text)
        .or_else(|_| BASE64_URL.decode(text))
        .ok()
}

/// Describes the values that a kind of field takes.
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
