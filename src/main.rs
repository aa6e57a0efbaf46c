//! The `lgoose` command: parses the flags, runs, prints the error, returns its exit code.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use std::ffi::c_long;
use std::process::ExitCode;

/// Lua and pages are made of small pieces that live for one request, which this allocator hands out faster than glibc's
/// or musl's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The time for which the allocator keeps freed memory, `mi_option_purge_delay` of `mimalloc.h`.
const PURGE_DELAY: mi_option_t = 15;

/// Its value in milliseconds. Until the default of a second has passed, large bodies that come one after another take
/// memory several times; with less than this, users that send without a pause take pages from the kernel again and again.
const PURGE_DELAY_MS: c_long = 50;

fn main() -> ExitCode {
    return_memory_early();
    lgoose::main()
}

#[allow(
    unsafe_code,
    reason = "the allocator has no other interface for its options"
)]
fn return_memory_early() {
    // SAFETY: no other thread runs yet. 'MIMALLOC_PURGE_DELAY' goes first.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
}

#[cfg(test)]
#[allow(unsafe_code, reason = "as above")]
mod tests {
    use super::*;
    use libmimalloc_sys::mi_option_get;

    #[test]
    fn the_option_is_the_time_until_freed_memory_is_returned() {
        // SAFETY: only reads, and this is the only test.
        let now = || unsafe { mi_option_get(PURGE_DELAY) };
        assert_eq!(now(), 1_000, "what mimalloc's options.c says");
        return_memory_early();
        assert_eq!(now(), PURGE_DELAY_MS);
    }
}
