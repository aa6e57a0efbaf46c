//! Lists of texts for a plan. mlua guards the making of each text, and its way into the list, against the end of memory;
//! here the list as a whole is guarded once.

#![allow(
    unsafe_code,
    reason = "only Lua's own calls make several values under one guard"
)]

use mlua::{Lua, Table, ffi};
use std::ffi::c_int;

/// Makes a table of these texts.
///
/// # Errors
/// There is no memory for it.
pub(crate) fn list_of_texts(lua: &Lua, texts: &[String]) -> mlua::Result<Table> {
    let places = c_int::try_from(texts.len()).unwrap_or_default();
    // SAFETY: mlua calls the closure so that it may raise; nothing in it is left to be dropped then. A C function has room
    // for two values.
    unsafe {
        lua.exec_raw((), |state| {
            ffi::lua_createtable(state, places, 0);
            for (place, text) in (1..).zip(texts) {
                ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
                ffi::lua_rawseti(state, -2, place);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!("/{}/{number}", "x".repeat(number % 90)))
            .collect()
    }

    #[test]
    fn a_list_holds_the_texts_in_their_order() {
        let lua = Lua::new();
        for count in [0, 1, 2, 1000] {
            let texts = texts(count);
            let list = list_of_texts(&lua, &texts).expect("there is memory");
            let seen = list
                .sequence_values()
                .collect::<mlua::Result<Vec<String>>>();
            assert_eq!(seen.expect("texts"), texts);
        }
    }

    #[test]
    fn where_memory_ends_it_is_an_error() {
        let lua = Lua::new();
        let texts = texts(10_000);
        for room in (0..400_000).step_by(20_000) {
            let most = lua.used_memory() + room;
            lua.set_memory_limit(most).expect("it can be limited");
            let list = list_of_texts(&lua, &texts);
            assert!(matches!(list, Err(mlua::Error::MemoryError(_))), "{list:?}");
            lua.set_memory_limit(0).expect("it can be lifted");
            lua.gc_collect().expect("it collects");
        }
        let list = list_of_texts(&lua, &texts).expect("there is memory again");
        assert_eq!(list.raw_len(), 10_000);
    }
}
