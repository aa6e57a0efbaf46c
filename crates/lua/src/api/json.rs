//! `json`: `encode`, `decode`, `get`, `array` and `null`.

use super::function::{function, function_of_views};
use super::json_at;
use super::json_view;
use crate::large_integers;
use crate::limits::make_values;
use crate::requests::{JsonPath, encode_json};
use crate::sandbox::{VmHost, null};
use crate::values::{describe_mismatch, escape_invalid};
use mlua::{IntoLua as _, Lua, LuaSerdeExt as _, LuaString, Table, Value};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Creates `json`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set("null", null(lua)?)?;
    library.raw_set(
        "decode",
        function(lua, |lua, text: LuaString| decode(lua, &text.as_bytes()))?,
    )?;
    let encode = function(lua, |lua, value: Value| {
        let mut budget = VmHost::of(lua).budget(lua);
        encode_json(&value, &mut budget).map_err(mlua::Error::runtime)
    })?;
    library.raw_set("encode", encode)?;
    library.raw_set("copy", function_of_views(lua, json_view::copy)?)?;
    library.raw_set("array", function(lua, array)?)?;
    library.raw_set("get", function_of_views(lua, get)?)?;
    Ok(library)
}

/// Marks a list, which is encoded as an array also while it is empty, and returns it.
fn array(lua: &Lua, value: Value) -> mlua::Result<Table> {
    let table = match value {
        Value::Nil => lua.create_table()?,
        Value::Table(table) => table,
        other => {
            let message = describe_mismatch("json.array(list): the list", "a table", &other);
            return Err(mlua::Error::runtime(message));
        }
    };
    let array_metatable = lua.array_metatable();
    match table.metatable() {
        Some(metatable) if metatable == array_metatable => return Ok(table),
        Some(_) => {
            let message =
                "json.array(list): this table has a metatable already, or is read-only; copy it";
            return Err(mlua::Error::runtime(message));
        }
        None => {}
    }
    for pair in table.pairs::<Value, Value>() {
        let (key, _) = pair?;
        if !key.is_integer() {
            let message = "json.array(list): a list has no named fields: { \"a\", \"b\" }";
            return Err(mlua::Error::runtime(message));
        }
    }
    table.set_metatable(Some(array_metatable))?;
    Ok(table)
}

/// Decodes JSON text to a Lua value; null becomes `json.null`, and an integer that Lua has no room for becomes a text.
/// Builds the value in Lua as it reads, where the limit of the VM counts it: 63 MB of `{"":0}` would be gigabytes as a value
/// of serde_json.
pub(super) fn decode(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let decoder = JsonDecoder::of(lua);
    make_values(lua, text.len(), || decoder.read(text, &decoder))
}

/// Decodes the value at a path of JSON text, or all of it without a path.
pub(super) fn decode_at(lua: &Lua, text: &[u8], path: Option<&JsonPath>) -> mlua::Result<Value> {
    match path {
        Some(path) => json_at::in_json(path, &JsonDecoder::of(lua), text),
        None => decode(lua, text),
    }
}

/// Reads the path that a plan passes, if it passes one.
pub(super) fn path(value: &Value) -> mlua::Result<Option<JsonPath>> {
    let path = match value {
        Value::Nil => return Ok(None),
        Value::String(text) => JsonPath::read(&escape_invalid(text)),
        other => Err(describe_mismatch(
            "the path",
            "a string such as \"data.items[0].id\"",
            other,
        )),
    };
    path.map(Some).map_err(mlua::Error::runtime)
}

/// `json.get(value, path)`.
fn get(lua: &Lua, (value, at): (Value, Value)) -> mlua::Result<Value> {
    let Some(path) = path(&at)? else {
        let message = describe_mismatch("json.get(value, path): the path", "a string", &at);
        return Err(mlua::Error::runtime(message));
    };
    if let Value::String(_) = value {
        let message = "json.get(value, path): the value is a text; decode it first, or call response:json(path)";
        return Err(mlua::Error::runtime(message));
    }
    json_at::in_value(&path, lua, &value)
}

/// Makes Lua values from a deserializer.
pub(super) struct JsonDecoder<'a> {
    pub(super) lua: &'a Lua,
    host: Rc<VmHost>,
    /// The error that Lua raised, such as a lack of memory.
    failure: RefCell<Option<mlua::Error>>,
}

impl<'a> JsonDecoder<'a> {
    fn of(lua: &'a Lua) -> JsonDecoder<'a> {
        JsonDecoder {
            lua,
            host: VmHost::of(lua),
            failure: RefCell::default(),
        }
    }

    /// Reads JSON text by a seed that uses this decoder.
    pub(super) fn read<V>(
        &self,
        text: &[u8],
        seed: impl for<'de> DeserializeSeed<'de, Value = V>,
    ) -> mlua::Result<V> {
        let quoted = large_integers::quoted(text);
        let mut json = serde_json::Deserializer::from_slice(quoted.as_deref().unwrap_or(text));
        let read = seed
            .deserialize(&mut json)
            .and_then(|value| json.end().map(|()| value));
        read.map_err(|error| match self.failure.take() {
            Some(failure) => failure,
            None => mlua::Error::runtime(format!("this is not JSON: {error}")),
        })
    }

    /// Counts the reading of an element or a member as work.
    pub(super) fn spend<E: serde::de::Error>(&self) -> Result<(), E> {
        self.check(self.host.limits.spend(self.lua, 64))
    }

    /// Notes an error raised by Lua, for which errors of serde have no room.
    pub(super) fn check<T, E: serde::de::Error>(&self, made: mlua::Result<T>) -> Result<T, E> {
        made.map_err(|error| {
            let raised = E::custom("Lua raised an error");
            self.failure.replace(Some(error));
            raised
        })
    }
}

impl<'de> DeserializeSeed<'de> for &JsonDecoder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &JsonDecoder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.check(null(self.lua))
    }

    fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Boolean(flag))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => self.visit_str(&number.to_string()),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.check(text.into_lua(self.lua))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let table = self.check(self.lua.create_table())?;
        while let Some(value) = list.next_element_seed(self)? {
            self.spend()?;
            self.check(table.raw_push(value))?;
        }
        // Distinguishes an empty list from an empty object when it is encoded again.
        self.check(table.set_metatable(Some(self.lua.array_metatable())))?;
        Ok(Value::Table(table))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let table = self.check(self.lua.create_table())?;
        while let Some(key) = map.next_key_seed(self)? {
            let value = map.next_value_seed(self)?;
            self.spend()?;
            self.check(table.raw_set(key, value))?;
        }
        Ok(Value::Table(table))
    }
}
