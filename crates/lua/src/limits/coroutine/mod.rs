//! The coroutine that runs a user's tasks. Plain values go to it and come from it straight over its stack: by way of
//! mlua's own values a request would cost a tenth more.

#![allow(
    unsafe_code,
    reason = "mlua copies every value between stacks and into an enum of 40 bytes; what is read here stays on the stack of \
              the coroutine"
)]

use crate::limits::interrupt::{PREEMPTED, StateGuard, start_timer, take_preempted};
use crate::limits::vm_limits::VmLimits;
use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, Thread, Value, ffi};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::{ptr, slice};

/// A coroutine whose code ends at the limits of its VM.
#[derive(Debug)]
pub(crate) struct Coroutine {
    lua: Lua,
    thread: Thread,
    /// Whether the function is on the stack twice: for the next start, and below it for the one after that.
    is_ready: bool,
}

/// The result of resuming a coroutine.
pub(crate) enum ResumeResult<'a> {
    /// It waits for the outcome of an operation.
    Yielded(YieldedValues<'a>),
    /// It has been running for long, and goes on when it is resumed without arguments.
    Preempted,
    /// It has ended.
    Ended,
}

/// The values that a coroutine is resumed with.
pub(crate) trait Arguments {
    /// Puts the values on the stack of a coroutine that is not running, and returns their number.
    fn push(self, lua: &Lua, state: *mut ffi::lua_State) -> mlua::Result<c_int>;
}

/// A value that needs no conversion.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PlainValue {
    Integer(i64),
    Flag(bool),
}

impl<const N: usize> Arguments for [PlainValue; N] {
    fn push(self, _: &Lua, state: *mut ffi::lua_State) -> mlua::Result<c_int> {
        const { assert!(N <= 8, "Lua keeps room for some more (LUA_MINSTACK)") };
        for value in self {
            // SAFETY: the stack has room, and these calls allocate nothing.
            unsafe {
                match value {
                    PlainValue::Integer(number) => ffi::lua_pushinteger(state, number),
                    PlainValue::Flag(flag) => ffi::lua_pushboolean(state, flag.into()),
                }
            }
        }
        Ok(N as c_int)
    }
}

/// Values that mlua converts.
pub(crate) struct Converted<A>(pub(crate) A);

impl<A: IntoLuaMulti> Arguments for Converted<A> {
    fn push(self, lua: &Lua, state: *mut ffi::lua_State) -> mlua::Result<c_int> {
        let mut count = 0;
        // SAFETY: inside the closure the stack holds the given values; nothing in it raises.
        unsafe {
            lua.exec_raw::<()>(self.0, |own| {
                let arguments = ffi::lua_gettop(own);
                if ffi::lua_checkstack(state, arguments) != 0 {
                    ffi::lua_xmove(own, state, arguments);
                    count = arguments;
                } else {
                    ffi::lua_settop(own, 0);
                }
            })
        }?;
        Ok(count)
    }
}

impl Coroutine {
    /// Creates a coroutine of that function.
    pub(crate) fn new(lua: &Lua, function: Function) -> mlua::Result<Coroutine> {
        start_timer();
        let thread = lua.create_thread(function)?;
        let mut coroutine = Coroutine {
            lua: lua.clone(),
            thread,
            is_ready: false,
        };
        coroutine.make_ready();
        Ok(coroutine)
    }

    /// Copies the function, which is alone on the stack.
    fn make_ready(&mut self) {
        // SAFETY: nothing runs in the coroutine, and its stack has room (LUA_MINSTACK).
        unsafe { ffi::lua_pushvalue(self.state(), 1) };
        self.is_ready = true;
    }

    /// Returns Lua's state of the coroutine, which lives as long as it.
    pub(super) fn state(&self) -> *mut ffi::lua_State {
        self.thread.state()
    }

    /// Marks the coroutine as running, until the result is dropped. All that it does meanwhile is one time slice, however
    /// often it is resumed.
    pub(crate) fn enter<'a>(&self, limits: &'a VmLimits) -> StateGuard<'a> {
        StateGuard::new(self.state(), limits)
    }

    /// Resumes the coroutine, which is marked as running, until it yields, ends or raises.
    pub(crate) fn resume(
        &mut self,
        limits: &VmLimits,
        arguments: impl Arguments,
    ) -> mlua::Result<ResumeResult<'_>> {
        let state = self.state();
        let count = arguments.push(&self.lua, state)?;
        self.is_ready = false;
        let mut yielded = 0;
        // SAFETY: the state is alive, and errors come back as a status; that of a coroutine that cannot be resumed, too.
        let status = unsafe { ffi::lua_resume(state, ptr::null_mut(), count, &mut yielded) };
        match status {
            // Its stack stays as it is: it holds the variables of the interrupted code.
            ffi::LUA_YIELD if take_preempted() => Ok(ResumeResult::Preempted),
            ffi::LUA_YIELD => {
                let yielded = YieldedValues {
                    coroutine: self,
                    count: yielded,
                    // SAFETY: only reads the number of values.
                    first: unsafe { ffi::lua_gettop(state) } - yielded + 1,
                };
                Ok(match yielded.at(0) {
                    StackValue::Marker(PREEMPTED) => ResumeResult::Preempted,
                    _ => ResumeResult::Yielded(yielded),
                })
            }
            ffi::LUA_OK => {
                // SAFETY: takes the function's return values off the stack.
                unsafe { ffi::lua_settop(state, 1) };
                self.make_ready();
                Ok(ResumeResult::Ended)
            }
            _ => Err(limits.with_place(self.error(status))),
        }
    }

    /// Takes the error that has ended the coroutine off its stack.
    fn error(&self, status: c_int) -> mlua::Error {
        let state = self.state();
        // SAFETY: an error is one value, and a C function has room for it.
        let problem = unsafe {
            self.lua
                .exec_raw::<Value>((), |own| ffi::lua_xmove(state, own, 1))
        };
        match problem {
            Ok(Value::Error(error)) => *error,
            Ok(problem) => {
                let text = match &problem {
                    Value::String(text) => text.to_string_lossy(),
                    Value::LightUserData(_) => "json.null".to_owned(),
                    other => other
                        .to_string()
                        .unwrap_or_else(|_| other.type_name().to_owned()),
                };
                match status {
                    ffi::LUA_ERRMEM => mlua::Error::MemoryError(text),
                    _ => mlua::Error::RuntimeError(text),
                }
            }
            Err(error) => error,
        }
    }

    /// Returns whether it can begin its function: it has not begun yet, or has ended without an error.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Closes the variables that its code has left open, and makes it ready to begin `function`.
    pub(crate) fn reset(&mut self, limits: &VmLimits, function: Function) -> mlua::Result<()> {
        let _entered = self.enter(limits);
        self.thread.reset(function)?;
        self.make_ready();
        Ok(())
    }
}

/// Returns whether a coroutine has ended because Lua's memory was full.
pub(crate) fn has_filled_memory(thread: &Thread) -> bool {
    // SAFETY: only reads the status, and the state lives as long as the thread.
    unsafe { ffi::lua_status(thread.state()) == ffi::LUA_ERRMEM }
}

/// The values that a coroutine has yielded, until it is resumed.
pub(crate) struct YieldedValues<'a> {
    coroutine: &'a mut Coroutine,
    count: c_int,
    /// The place of the first of them on the stack.
    first: c_int,
}

impl YieldedValues<'_> {
    /// Returns the value with that number, from 0.
    pub(crate) fn at(&self, number: u8) -> StackValue<'_> {
        let number = c_int::from(number);
        if number < self.count {
            // SAFETY: the value stays where it is as long as `self` is borrowed.
            unsafe { see(self.coroutine.state(), self.first + number) }
        } else {
            StackValue::Nil
        }
    }

    /// Returns the values as mlua has them.
    ///
    /// # Errors
    /// They are of other types, or there is no memory for them.
    pub(crate) fn into_values<R: FromLuaMulti>(self) -> mlua::Result<R> {
        let state = self.coroutine.state();
        // SAFETY: the values are on top of the stack, and nothing in the closure raises.
        unsafe {
            self.coroutine.lua.exec_raw::<R>((), |own| {
                if ffi::lua_checkstack(own, self.count) != 0 {
                    ffi::lua_xmove(state, own, self.count);
                }
            })
        }
    }
}

impl Drop for YieldedValues<'_> {
    fn drop(&mut self) {
        // SAFETY: takes values off the stack. At the next resumption only its arguments may be there.
        unsafe { ffi::lua_settop(self.coroutine.state(), 0) };
    }
}

/// A value on the stack of a coroutine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StackValue<'a> {
    Nil,
    Integer(i64),
    Text(&'a [u8]),
    Table(StackTable<'a>),
    /// A light userdata, which only lgoose makes: its number.
    Marker(usize),
    Other,
}

/// A table on the stack of a coroutine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackTable<'a> {
    state: *mut ffi::lua_State,
    place: c_int,
    on_stack: PhantomData<&'a ()>,
}

impl StackTable<'_> {
    /// Shows each key with its value as long as `each` returns true. Returns whether it has always done so: a table with a
    /// metatable may stand for another one, and nothing of it is shown.
    pub(crate) fn all(self, mut each: impl FnMut(StackValue<'_>, StackValue<'_>) -> bool) -> bool {
        let state = self.state;
        // SAFETY: the table is at its place; `lua_getmetatable` does not raise; `lua_next` raises only for a key that
        // the table does not have, and the keys are its own; `see` does not change them. The values that a round leaves
        // on the stack are taken off it.
        unsafe {
            let top = ffi::lua_gettop(state);
            let mut go_on =
                ffi::lua_checkstack(state, 3) != 0 && ffi::lua_getmetatable(state, self.place) == 0;
            if go_on {
                ffi::lua_pushnil(state);
            }
            while go_on && ffi::lua_next(state, self.place) != 0 {
                go_on = each(see(state, top + 1), see(state, top + 2));
                ffi::lua_settop(state, top + 1);
            }
            ffi::lua_settop(state, top);
            go_on
        }
    }
}

impl StackTable<'_> {
    /// Shows the texts of a list in their order, as long as `each` returns true. Returns whether all were shown: the table
    /// is no list of texts if it has a metatable or something else in its sequence.
    pub(crate) fn texts(self, mut each: impl FnMut(&[u8]) -> bool) -> bool {
        let state = self.state;
        // SAFETY: the table is at its place, and none of these calls raises; the values that a round leaves on the
        // stack are taken off it.
        unsafe {
            let top = ffi::lua_gettop(state);
            if ffi::lua_checkstack(state, 1) == 0 {
                return false;
            }
            let mut go_on = ffi::lua_getmetatable(state, self.place) == 0;
            let mut place = 1;
            while go_on && ffi::lua_rawgeti(state, self.place, place) != ffi::LUA_TNIL {
                go_on = match see(state, top + 1) {
                    StackValue::Text(text) => each(text),
                    _ => false,
                };
                ffi::lua_settop(state, top);
                place += 1;
            }
            ffi::lua_settop(state, top);
            go_on
        }
    }
}

/// Looks at the value at a place of a stack.
///
/// # Safety
/// There is a value, and it stays there for `'a`.
unsafe fn see<'a>(state: *mut ffi::lua_State, place: c_int) -> StackValue<'a> {
    // SAFETY: as of this function; none of these calls changes the value, allocates or raises. A string does not move.
    unsafe {
        match ffi::lua_type(state, place) {
            ffi::LUA_TNIL => StackValue::Nil,
            ffi::LUA_TNUMBER if ffi::lua_isinteger(state, place) != 0 => {
                StackValue::Integer(ffi::lua_tointegerx(state, place, ptr::null_mut()))
            }
            ffi::LUA_TSTRING => {
                let mut length = 0;
                let text = ffi::lua_tolstring(state, place, &mut length);
                StackValue::Text(slice::from_raw_parts(text.cast(), length))
            }
            ffi::LUA_TTABLE => StackValue::Table(StackTable {
                state,
                place,
                on_stack: PhantomData,
            }),
            ffi::LUA_TLIGHTUSERDATA => StackValue::Marker(ffi::lua_touserdata(state, place).addr()),
            _ => StackValue::Other,
        }
    }
}

#[cfg(test)]
mod tests;
