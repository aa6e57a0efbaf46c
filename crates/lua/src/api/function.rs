//! Functions and methods that plans call. They raise for surplus arguments, which Lua would drop silently.

use crate::diagnostics::{ArgumentCount, nil_argument, nil_expected};
use crate::sandbox::VmHost;
use crate::values::{DisplayText, type_phrase};
use mlua::{
    FromLuaMulti, Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, UserDataMethods,
    UserDataRef, Value, Variadic,
};

/// The arguments of a function, and their number.
pub(super) trait Arguments: FromLuaMulti {
    /// The most arguments that the function takes.
    const MOST: usize;
}

macro_rules! arguments {
    ($most:expr => $($kind:ty),+) => {
        $(impl Arguments for $kind { const MOST: usize = $most; })+
    };
}

macro_rules! tuple_arguments {
    ($most:expr => $($kind:ident),+) => {
        impl<$($kind),+> Arguments for ($($kind,)+) where ($($kind,)+): FromLuaMulti {
            const MOST: usize = $most;
        }
    };
}

arguments!(0 => ());
arguments!(1 => i64, f64, String, Value, LuaString, Table, DisplayText);
tuple_arguments!(2 => A, B);
tuple_arguments!(3 => A, B, C);
tuple_arguments!(4 => A, B, C, D);
tuple_arguments!(5 => A, B, C, D, E);

impl<T> Arguments for Option<T>
where
    Option<T>: FromLuaMulti,
{
    const MOST: usize = 1;
}

impl<T: 'static> Arguments for UserDataRef<T> {
    const MOST: usize = 1;
}

impl<T> Arguments for Variadic<T>
where
    Variadic<T>: FromLuaMulti,
{
    const MOST: usize = usize::MAX;
}

/// Returns the arguments of a call that has no more than the function takes.
fn read<A: Arguments>(lua: &Lua, values: MultiValue, count: ArgumentCount) -> mlua::Result<A> {
    let values = known::<A>(values)?;
    let host = VmHost::of(lua);
    let seen = values
        .into_iter()
        .map(|value| host.without_views(lua, value));
    converted(lua, seen.collect::<mlua::Result<_>>()?, count)
}

/// Converts arguments. The error about one that is nil has its text in the plan.
pub(super) fn converted<A: Arguments>(
    lua: &Lua,
    values: MultiValue,
    count: ArgumentCount,
) -> mlua::Result<A> {
    A::from_lua_args(values, 0, None, lua).map_err(|error| match error {
        mlua::Error::BadArgument { pos, cause, .. } => match nil_expected(&cause) {
            Some(expected) => {
                let remark = nil_argument(lua, pos, count);
                mlua::Error::runtime(format!("{expected}{remark}"))
            }
            None => mlua::Error::clone(&cause),
        },
        error => error,
    })
}

fn known<A: Arguments>(values: MultiValue) -> mlua::Result<MultiValue> {
    if values.len() > A::MOST {
        refuse_more(values.iter().skip(A::MOST))?;
    }
    Ok(values)
}

/// Raises for the first argument that a function does not take. Nil does not count.
pub(super) fn refuse_more<'a>(more: impl IntoIterator<Item = &'a Value>) -> mlua::Result<()> {
    let mut more = more.into_iter();
    more.find(|value| !value.is_nil())
        .map_or(Ok(()), |value| Err(mlua::Error::runtime(describe(value))))
}

/// Formats the message for an argument too many, the same for all values of a type, since reports count the same
/// messages together.
pub(super) fn describe(value: &Value) -> String {
    format!(
        "this call has an argument too many, {}: the function takes fewer",
        type_phrase(value)
    )
}

/// Creates a function of a plan.
pub(super) fn function<A, R, F>(lua: &Lua, call: F) -> mlua::Result<Function>
where
    A: Arguments,
    R: IntoLuaMulti,
    F: Fn(&Lua, A) -> mlua::Result<R> + 'static,
{
    lua.create_function(move |lua, values| call(lua, read(lua, values, ArgumentCount::Passed)?))
}

/// Creates a function of a plan that reads views as it reads tables, without copying them: it looks at tables by `get`
/// and `len` only.
pub(super) fn function_of_views<A, R, F>(lua: &Lua, call: F) -> mlua::Result<Function>
where
    A: Arguments,
    R: IntoLuaMulti,
    F: Fn(&Lua, A) -> mlua::Result<R> + 'static,
{
    lua.create_function(move |lua, values| {
        let values = known::<A>(values)?;
        call(lua, converted(lua, values, ArgumentCount::Passed)?)
    })
}

/// Adds a method that plans call.
pub(super) fn method<T, M, A, R, F>(methods: &mut M, name: &'static str, call: F)
where
    M: UserDataMethods<T>,
    A: Arguments,
    R: IntoLuaMulti,
    F: Fn(&Lua, &T, A) -> mlua::Result<R> + 'static,
{
    methods.add_method(name, move |lua, this, values: MultiValue| {
        call(lua, this, read(lua, values, ArgumentCount::Written)?)
    });
}
