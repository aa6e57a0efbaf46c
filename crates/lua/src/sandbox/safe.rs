//! Safe versions of library functions that could work without end inside one call, where no hook runs.

use super::host::VmHost;
use super::standard::library;
use crate::diagnostics::PlainText;
use crate::limits::{first_place, guard_pattern};
use crate::plan_files::compile_once;
use crate::values::escape_invalid;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaString, Table};
use std::sync::OnceLock;

const SOURCE: &str = include_str!("../../lua/safe.lua");

/// Creates the library `table` as plans see it.
pub(crate) fn table(lua: &Lua) -> mlua::Result<Table> {
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    let code = compile_once(&CODE, SOURCE)?;
    let original = library(lua, "table")?;
    let spend = lua.create_function(|lua, work| VmHost::of(lua).limits.spend(lua, work))?;
    lua.load(code)
        .set_mode(ChunkMode::Binary)
        .call((original, spend))
}

/// Guards the functions of `string` that match patterns: those that may backtrack for long are tried within the task's
/// time first. Short patterns on short strings are passed on at once, since checking would cost more.
pub(crate) fn guard_patterns(lua: &Lua, string: &Table) -> mlua::Result<()> {
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    let code = compile_once(
        &CODE,
        "local string, guard, find_text, type, number = ...
        local SPECIAL = '[%^%$%*%+%?%.%(%)%[%%%-]'
        -- The integer that 'init' stands for; a wrong one is told by the function itself.
        local function place(init)
          local n = number(init or 1)
          return n and n > -0x1p53 and n < 0x1p53 and n // 1 == n and n // 1 | 0 or 1
        end
        local byte, find, match, gmatch, gsub = string.byte, string.find, string.match, string.gmatch, string.gsub
        local function watch(s, p, init, all)
          if type(s) ~= 'string' or type(p) ~= 'string' then
            s, p = type(s) == 'number' and s .. '' or s, type(p) == 'number' and p .. '' or p
            if type(s) ~= 'string' or type(p) ~= 'string' then return end
          end
          if #p > 8 or #s > 32 then guard(s, p, all and 1 or place(init), all) end
        end
        function string.find(s, p, init, plain)
          if type(s) == 'string' and type(p) == 'string' and #p > 256 and (plain or not match(p, SPECIAL)) then
            local from, to = find_text(s, p, place(init))
            if from then return from, to end
            return nil
          end
          if not plain then watch(s, p, init, false) end
          return find(s, p, init, plain)
        end
        function string.match(s, p, init)
          watch(s, p, init, false)
          return match(s, p, init)
        end
        function string.gmatch(s, p, init)
          -- Here '^' is no anchor.
          watch(s, type(p) == 'string' and byte(p) == 94 and '%' .. p or p, init, true)
          return gmatch(s, p, init)
        end
        function string.gsub(s, p, ...)
          watch(s, p, 1, true)
          local with, most = ...
          if type(with) == 'function' then
            -- It may be one of C's, and runs where no task could be ended.
            return gsub(s, p, function(...) return with(...) end, most)
          end
          return gsub(s, p, ...)
        end",
    )?;
    let globals = lua.globals();
    lua.load(code).set_mode(ChunkMode::Binary).call((
        string,
        lua.create_function(|lua, search| guard_pattern(lua, &VmHost::of(lua).limits, search))?,
        lua.create_function(find_text)?,
        globals.raw_get::<Function>("type")?,
        globals.raw_get::<Function>("tonumber")?,
    ))
}

/// Implements `string.find` for a long text without special characters: Lua compares it at each place, which takes
/// time in proportion to the product of both lengths.
fn find_text(
    _: &Lua,
    (text, pattern, init): (LuaString, LuaString, i64),
) -> mlua::Result<(Option<usize>, Option<usize>)> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let start = first_place(text.len(), init);
    let rest = text.get(start..);
    let found = rest.and_then(|rest| memchr::memmem::find(rest, &pattern));
    let found = found.map(|at| start + at);
    Ok((found.map(|at| at + 1), found.map(|at| at + pattern.len())))
}

/// Creates a `pairs` that follows the order of the keys while the file's top level runs. Lua's own order differs
/// between VMs, and tasks that are declared in such a loop must be the same for every user.
pub(crate) fn pairs(lua: &Lua) -> mlua::Result<Function> {
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    let code = compile_once(
        &CODE,
        "local pairs, next, type, sort, integer, loading = ...
        local RANK = { number = 1, string = 2, boolean = 3 }
        local function before(a, b)
          local x, y = RANK[type(a)] or 4, RANK[type(b)] or 4
          if x ~= y then return x < y end
          if x < 3 then return a < b end
          return x == 3 and not a and b
        end
        return function(t)
          local iterate, list, first = pairs(t)
          if iterate ~= next or type(list) ~= 'table' or not loading() then return iterate, list, first end
          t = list
          local n, keys = #t, {}
          for key in next, t do
            if integer(key) ~= 'integer' or key < 1 or key > n then keys[#keys + 1] = key end
          end
          sort(keys, before)
          local i = 0
          return function()
            while i < n + #keys do
              i = i + 1
              local key = i
              if i > n then key = keys[i - n] end
              local value = t[key]
              if value ~= nil then return key, value end
            end
          end
        end",
    )?;
    let globals = lua.globals();
    let base = |name: &str| globals.raw_get::<Function>(name);
    let inside = |of: &str, name: &str| library(lua, of)?.raw_get::<Function>(name);
    let loading = |lua: &Lua, ()| Ok(VmHost::of(lua).limits.is_loading());
    lua.load(code).set_mode(ChunkMode::Binary).call((
        base("pairs")?,
        base("next")?,
        base("type")?,
        inside("table", "sort")?,
        inside("math", "type")?,
        lua.create_function(loading)?,
    ))
}

/// Creates an `error` or `assert` for plans. Lua's error of full memory is known by its words only, so the same words
/// of a plan are raised in Rust. It also keeps a message whose bytes are not UTF-8: an error that is not caught leaves
/// Lua as text, in which such bytes are lost.
pub(crate) fn raising(lua: &Lua, name: &str) -> mlua::Result<Function> {
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    let code = compile_once(
        &CODE,
        "local error, assert, type, is_text, remember, raise, sub = ...
        local MOST = 1 << 20
        local LUAS_OWN = {
          ['not enough memory'] = true,
          ['attempt to yield from outside a coroutine'] = true,
        }
        local function as_it_is(message)
          if LUAS_OWN[message] then raise(message) end
          error(message, 0)
        end
        local function look(message)
          if type(message) ~= 'string' then return message end
          if #message > MOST then message = sub(message, 1, MOST) .. '…' end
          if not is_text(message) then remember(message) end
          return message
        end
        return {
          error = function(message, level)
            message = look(message)
            if level == 0 then as_it_is(message) end
            if level == nil then level = 1 end
            error(message, type(level) == 'number' and level > 0 and level + 1 or level)
          end,
          assert = function(...)
            local ok, message = ...
            if ok then return ... end
            message = look(message)
            if message ~= nil then as_it_is(message) end
            return assert(...)
          end,
        }",
    )?;
    let globals = lua.globals();
    let base = |name: &str| globals.raw_get::<Function>(name);
    let utf8 = library(lua, "utf8")?;
    let remember = |lua: &Lua, bytes: LuaString| {
        let lossy = bytes.to_string_lossy();
        let bytes = (lossy, escape_invalid(&bytes));
        VmHost::of(lua).raised_bytes.replace(Some(bytes));
        Ok(())
    };
    let raise = |_: &Lua, text: String| Err::<(), _>(mlua::Error::external(PlainText(text)));
    let both: Table = lua.load(code).set_mode(ChunkMode::Binary).call((
        base("error")?,
        base("assert")?,
        base("type")?,
        utf8.raw_get::<Function>("len")?,
        lua.create_function(remember)?,
        lua.create_function(raise)?,
        library(lua, "string")?.raw_get::<Function>("sub")?,
    ))?;
    both.raw_get(name)
}

/// Implements `string.rep`. Checks the size of the result beforehand, and does not loop 2^60 times over nothing.
pub(crate) fn rep(
    lua: &Lua,
    (text, times, separator): (LuaString, i64, Option<LuaString>),
) -> mlua::Result<LuaString> {
    let text = text.as_bytes();
    let separator = separator.as_ref().map(LuaString::as_bytes);
    let separator = separator.as_deref().unwrap_or_default();
    let times = u64::try_from(times).unwrap_or(0);
    let each = (text.len() + separator.len()) as u64;
    if times == 0 || each == 0 {
        return lua.create_string("");
    }
    let limits = &VmHost::of(lua).limits;
    let size = times.saturating_mul(each);
    if size > limits.memory as u64 {
        return Err(mlua::Error::runtime(limits.refuse_memory()));
    }
    limits.spend(lua, size)?;
    if separator.is_empty() {
        return lua.create_string(text.repeat(times as usize));
    }
    let mut whole = Vec::with_capacity(size as usize);
    for n in 0..times {
        if n > 0 {
            whole.extend_from_slice(separator);
        }
        whole.extend_from_slice(&text);
    }
    lua.create_string(whole)
}
