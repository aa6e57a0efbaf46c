//! `user.tags`, and the tags of a transaction.

use crate::lua::requests::{read_transaction, set_tag};
use crate::lua::sandbox::Host;
use crate::lua::values::{DisplayText, escape_invalid};
use mlua::{Lua, LuaString, Table, Value};

/// Creates `user.tags`, which is read and written like a table.
pub(super) fn user_tags(lua: &Lua) -> mlua::Result<Table> {
    let meta = lua.create_table()?;
    meta.raw_set("__metatable", false)?;
    meta.raw_set(
        "__index",
        lua.create_function(|lua, (_, DisplayText(key)): (Value, DisplayText)| {
            let host = Host::of(lua);
            let tags = host.tags.borrow();
            let own = tags.iter().flat_map(|tags| tags.user.pairs());
            Ok(own
                .filter(|(known, _)| *known == key)
                .map(|(_, value)| value.to_owned())
                .next())
        })?,
    )?;
    meta.raw_set(
        "__newindex",
        lua.create_function(|lua, (_, key, value): (Value, LuaString, Value)| {
            let host = Host::of(lua);
            let mut tags = host.tags.borrow_mut();
            let own = &mut tags.get_or_insert_default().user;
            let key = escape_invalid(&key);
            match value {
                Value::Nil => own.remove(&key),
                value => set_tag(own, &key, &value).map_err(mlua::Error::runtime)?,
            }
            Ok(())
        })?,
    )?;
    let tags = lua.create_table()?;
    tags.set_metatable(Some(meta))?;
    Ok(tags)
}

/// Begins a transaction with these options.
pub(super) fn begin_transaction(lua: &Lua, options: Table) -> mlua::Result<()> {
    let tags = read_transaction(&options).map_err(mlua::Error::runtime)?;
    let host = Host::of(lua);
    let mut own = host.tags.borrow_mut();
    own.get_or_insert_default().begin_transaction(tags);
    Ok(())
}

/// Ends the transaction that was begun last.
pub(super) fn leave_transaction(lua: &Lua, (): ()) -> mlua::Result<()> {
    if let Some(tags) = &mut *Host::of(lua).tags.borrow_mut() {
        tags.end_transaction();
    }
    Ok(())
}
