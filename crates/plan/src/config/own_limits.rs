//! Limits of a plan's users that only the command line may raise.

use super::settings::{LUA_MEMORY, LUA_TIME, Settings};
use lgoose_base::error::Diagnostic;
use lgoose_base::units;

/// Checks that a plan does not raise the limits of its own users, which only the command line may raise; `typed` is
/// the layer of the command line.
///
/// # Errors
/// Returns a [`Diagnostic`] that names the limit that the plan raises, and the flag for it.
pub fn check_own_limits(planned: &Settings, typed: &Settings) -> Result<(), Diagnostic> {
    let refused = |field: &str, value: String, most: String| {
        let flag = field.replace('_', "-");
        let message =
            format!("the plan sets '{field}' to {value}, and may only lower the limit of {most}");
        let help = format!("give '--{flag}' on the command line to raise it");
        Err(Diagnostic::new(message).help(help))
    };
    match (planned.lua_memory, planned.lua_time) {
        (Some(limit), _) if limit > LUA_MEMORY && typed.lua_memory.is_none() => {
            let size = |bytes: u64| units::show_size(bytes as f64);
            refused("lua_memory", size(limit), size(LUA_MEMORY))
        }
        (_, Some(limit)) if limit > LUA_TIME && typed.lua_time.is_none() => {
            let time = units::show_duration;
            refused("lua_time", time(limit), time(LUA_TIME))
        }
        _ => Ok(()),
    }
}
