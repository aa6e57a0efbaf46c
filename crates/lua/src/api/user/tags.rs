//! `user.tags`, and the tags of a transaction.

use crate::api::function::function;
use crate::limits::{HeapSize, Held};
use crate::requests::{OwnTags, Transaction, read_transaction, set_tag};
use crate::sandbox::VmHost;
use crate::values::{DisplayText, escape_invalid};
use mlua::{AnyUserData, Lua, LuaString, Table, UserData, Value};
use std::cell::RefCell;

/// Creates `user.tags`, which is read and written like a table.
pub(super) fn user_tags(lua: &Lua) -> mlua::Result<Table> {
    let meta = lua.create_table()?;
    meta.raw_set("__metatable", false)?;
    meta.raw_set(
        "__index",
        function(lua, |lua, (_, DisplayText(key)): (Value, DisplayText)| {
            let host = VmHost::of(lua);
            let tags = host.tags.borrow();
            let own = tags.iter().flat_map(|tags| tags.of_user().pairs());
            Ok(own
                .filter(|(name, _)| *name == key)
                .map(|(_, value)| value.to_owned())
                .next())
        })?,
    )?;
    meta.raw_set(
        "__newindex",
        function(lua, |lua, (_, key, value): (Value, LuaString, Value)| {
            let host = VmHost::of(lua);
            let mut tags = host.tags.borrow_mut();
            let own = tags.get_or_insert_default().of_user_mut();
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

/// Begins a transaction with these options. Returns the problem with them, if there is one.
pub(super) fn start_transaction(lua: &Lua, options: Table) -> mlua::Result<Option<String>> {
    Ok(enter_transaction(lua, &options).err())
}

fn enter_transaction(lua: &Lua, options: &Table) -> Result<(), String> {
    let tags = read_transaction(options)?;
    let host = VmHost::of(lua);
    let bytes = tags.bytes().saturating_mul(2);
    host.budget(lua).take(bytes)?;
    let transaction = Transaction::new(tags, host.account.hold(bytes));
    let mut own = host.tags.borrow_mut();
    let own = own.get_or_insert_default();
    own.enter(&mut vec![transaction])?;
    Ok(())
}

/// Ends the innermost transaction, which the coroutine that runs has begun.
pub(super) fn leave_transaction(lua: &Lua, (): ()) -> mlua::Result<()> {
    if let Some(own) = &mut *VmHost::of(lua).tags.borrow_mut() {
        own.leave(own.depth().saturating_sub(1));
    }
    Ok(())
}

/// Transactions of a suspended coroutine of the plan, which no code is in meanwhile. They end with the coroutine.
struct SuspendedTags(RefCell<Vec<Transaction>>);

impl HeapSize for SuspendedTags {
    fn heap_bytes(&self) -> usize {
        // Each of them counts by itself.
        0
    }
}

impl UserData for Held<SuspendedTags> {}

/// Enters the transactions in which a coroutine waits, before it is resumed. Returns how many its code was in before.
pub(crate) fn enter_coroutine(lua: &Lua, suspended: Option<AnyUserData>) -> mlua::Result<usize> {
    let host = VmHost::of(lua);
    let mut own = host.tags.borrow_mut();
    let own = own.get_or_insert_default();
    let Some(suspended) = suspended else {
        return Ok(own.depth());
    };
    let suspended = suspended.borrow::<Held<SuspendedTags>>()?;
    own.enter(&mut suspended.0.borrow_mut())
        .map_err(mlua::Error::runtime)
}

/// Leaves the transactions that a coroutine is in, beyond that depth, and returns them for its next resumption; nothing
/// if there are none.
pub(crate) fn leave_coroutine(lua: &Lua, depth: usize) -> mlua::Result<Option<AnyUserData>> {
    let host = VmHost::of(lua);
    let is_in_none = |own: &OwnTags| own.depth() <= depth;
    if host.tags.borrow().as_deref().is_none_or(is_in_none) {
        return Ok(None);
    }
    // First, so that the coroutine is in no others if there is no memory for it.
    let suspended = host.held(lua, SuspendedTags(RefCell::default()))?;
    let suspended = lua.create_userdata(suspended)?;
    if let Some(own) = &mut *host.tags.borrow_mut() {
        let tags = suspended.borrow::<Held<SuspendedTags>>()?;
        tags.0.replace(own.leave(depth));
    }
    Ok(Some(suspended))
}
