//! Values made in Rust for a plan. Under a limit on memory mlua protects each allocation by a call of its own, which takes
//! several times as long as the allocation itself.

use mlua::Lua;

/// The most bytes from which values are made without the limit: they take a megabyte in Lua at most.
const SMALL: usize = 16 << 10;

/// Makes values from so many bytes, without the limit on memory if they are few: what exceeds it then is refused at the next
/// allocation. `make` runs no code of the plan.
///
/// # Errors
/// Those of `make`; there is no memory.
pub(crate) fn make_values<T>(
    lua: &Lua,
    bytes: usize,
    make: impl FnOnce() -> mlua::Result<T>,
) -> mlua::Result<T> {
    if bytes > SMALL {
        return make();
    }
    let limit = lua.set_memory_limit(0)?;
    let made = make();
    lua.set_memory_limit(limit)?;
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_before_whatever_happens() {
        let lua = Lua::new();
        let limit = lua.used_memory() + (64 << 10);
        lua.set_memory_limit(limit).expect("it can be limited");
        make_values(&lua, 10, || lua.create_string("x".repeat(100 << 10))).expect("it is made");
        let refused = make_values(&lua, SMALL + 1, || lua.create_string("y".repeat(100 << 10)));
        assert!(matches!(refused, Err(mlua::Error::MemoryError(_))));
        let failed = make_values(&lua, 10, || {
            make_values(&lua, 10, || Err::<(), _>(mlua::Error::runtime("inside")))
        });
        assert!(failed.is_err());
        assert_eq!(lua.set_memory_limit(0).expect("it can be lifted"), limit);
    }
}
