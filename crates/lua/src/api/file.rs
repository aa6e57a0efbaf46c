//! `file`, `data.text` and `data.bytes`: files beside the plan as they are. Their bytes stay outside of Lua, once per
//! process; requests send them from there.

use super::names::refuse_unknown;
use crate::limits::{HeapSize, Held};
use crate::plan_files::{DataFormat, PlanFile};
use crate::requests::plan_file;
use crate::sandbox::VmHost;
use crate::values::{describe_mismatch, escape_invalid};
use mlua::{Lua, LuaString, UserData, UserDataFields, UserDataMethods, Value};

const MEMBERS: [&str; 2] = ["name", "size"];

impl HeapSize for PlanFile {
    fn heap_bytes(&self) -> usize {
        self.name.len()
    }
}

impl UserData for Held<PlanFile> {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("name", |_, this| Ok(this.name.clone()));
        fields.add_field_method_get("size", |_, this| Ok(this.bytes.len()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        refuse_unknown(methods, "a file", &[&MEMBERS]);
    }
}

/// Opens the file with that name beside the plan.
pub(super) fn file(lua: &Lua, name: Value) -> mlua::Result<Held<PlanFile>> {
    VmHost::of(lua).held(lua, open(lua, "file", &name)?)
}

fn open(lua: &Lua, call: &str, name: &Value) -> mlua::Result<PlanFile> {
    let Value::String(name) = name else {
        let problem = describe_mismatch("the file", "a string", name);
        return Err(mlua::Error::runtime(format!(
            "{problem}; write {call} \"photo.jpg\""
        )));
    };
    let name = escape_invalid(name);
    let rows = VmHost::of(lua).program.data.open(&DataFormat::Whole, &name);
    let rows = rows.map_err(mlua::Error::runtime)?;
    let whole = rows.whole();
    whole.ok_or_else(|| mlua::Error::runtime(format!("'{name}' cannot be read as a whole")))
}

/// Returns a file, or the one with that name.
fn get_file(lua: &Lua, call: &str, value: &Value) -> mlua::Result<PlanFile> {
    plan_file(value).map_or_else(|| open(lua, call, value), Ok)
}

/// Returns the bytes of a file as a string.
pub(super) fn bytes(lua: &Lua, file: Value) -> mlua::Result<LuaString> {
    lua.create_string(get_file(lua, "data.bytes", &file)?.bytes)
}

/// Returns the text of a file, without the byte order mark that some editors write.
pub(super) fn text(lua: &Lua, file: Value) -> mlua::Result<LuaString> {
    let file = get_file(lua, "data.text", &file)?;
    let text = file
        .bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&file.bytes);
    match std::str::from_utf8(text) {
        Ok(text) => lua.create_string(text),
        Err(error) => Err(mlua::Error::runtime(format!(
            "'{}' is not UTF-8 after {} bytes; data.bytes reads any file",
            file.name,
            error.valid_up_to()
        ))),
    }
}
