//! Limits of a plan's users that only the command line may raise.

use super::settings::{LUA_MEMORY, LUA_TIME, Settings};
use crate::error::Diagnostic;
use crate::units;

/// Checks that a plan does not raise the limits of its own users, which only the command line may raise; `typed` is
/// the layer of the command line.
///
/// # Errors
/// Returns a [`Diagnostic`] that names the limit that the plan raises, and the flag for it.
pub(crate) fn check_own_limits(planned: &Settings, typed: &Settings) -> Result<(), Diagnostic> {
    let refused = |field: &str, wanted: String, most: String| {
        let flag = field.replace('_', "-");
        let message =
            format!("the plan sets '{field}' to {wanted}, and may only lower the limit of {most}");
        let help = format!("give '--{flag}' on the command line to raise it");
        Err(Diagnostic::new(message).help(help))
    };
    match (planned.lua_memory, planned.lua_time) {
        (Some(wanted), _) if wanted > LUA_MEMORY && typed.lua_memory.is_none() => {
            let size = |bytes: u64| units::show_size(bytes as f64);
            refused("lua_memory", size(wanted), size(LUA_MEMORY))
        }
        (_, Some(wanted)) if wanted > LUA_TIME && typed.lua_time.is_none() => {
            let time = units::show_duration;
            refused("lua_time", time(wanted), time(LUA_TIME))
        }
        _ => Ok(()),
    }
}
