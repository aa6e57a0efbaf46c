//! The allocator of the `lgoose` command. Lua and pages are made of small pieces that live for one request, which mimalloc
//! hands out faster than glibc's or musl's allocator.
//!
//! Used by its C functions, since the crate `mimalloc` calls those that take any alignment: 25 instructions more for each
//! of the twelve pieces that a small request takes.

#![allow(unsafe_code, reason = "an allocator is made of raw memory")]

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_option_set_default, mi_option_t, mi_realloc,
    mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_long;

/// The alignment of every piece that is at least as large: `MI_MAX_ALIGN_SIZE` of mimalloc's `types.h`.
const MAX_ALIGNMENT: usize = 16;

/// The time for which the allocator keeps freed memory, `mi_option_purge_delay` of `mimalloc.h`.
const PURGE_DELAY: mi_option_t = 15;

/// Its value in milliseconds. Until the default of a second has passed, large bodies that come one after another take
/// memory several times; with less than this, users that send without a pause take pages from the kernel again and again.
const PURGE_DELAY_MS: c_long = 50;

/// The allocator.
pub(crate) struct Allocator;

impl Allocator {
    /// Has it return freed memory soon.
    pub(crate) fn return_memory_early() {
        // SAFETY: no other thread runs yet. 'MIMALLOC_PURGE_DELAY' goes first.
        unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
    }
}

/// Returns whether a piece of that size has the alignment anyway. A smaller one is aligned to its size at least.
fn is_aligned(size: usize, alignment: usize) -> bool {
    alignment <= MAX_ALIGNMENT && alignment <= size
}

// SAFETY: mimalloc's functions do what the trait requires of these.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: these take any size and any power of two.
        unsafe {
            if is_aligned(size, alignment) {
                mi_malloc(size).cast()
            } else {
                mi_malloc_aligned(size, alignment).cast()
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe {
            if is_aligned(size, alignment) {
                mi_zalloc(size).cast()
            } else {
                mi_zalloc_aligned(size, alignment).cast()
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, _: Layout) {
        // SAFETY: the caller has it from this allocator.
        unsafe { mi_free(piece.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above, and the content moves along.
        unsafe {
            if is_aligned(size, layout.align()) {
                mi_realloc(piece.cast(), size).cast()
            } else {
                mi_realloc_aligned(piece.cast(), size, layout.align()).cast()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libmimalloc_sys::mi_option_get;

    #[test]
    fn the_option_is_the_time_until_freed_memory_is_returned() {
        // SAFETY: only reads, and no other test sets it.
        let now = || unsafe { mi_option_get(PURGE_DELAY) };
        assert_eq!(now(), 1_000, "what mimalloc's options.c says");
        Allocator::return_memory_early();
        assert_eq!(now(), PURGE_DELAY_MS);
    }

    #[test]
    fn every_piece_is_aligned_and_keeps_its_content() {
        for alignment in (0..8).map(|power| 1 << power) {
            for size in (1..300).chain([4_000, 70_000, 5 << 20]) {
                let layout = Layout::from_size_align(size, alignment).expect("a power of two");
                // SAFETY: the sizes are not zero, and each piece is freed once, with its layout.
                unsafe {
                    let piece = Allocator.alloc(layout);
                    piece.write_bytes(7, size);
                    let zeroed = Allocator.alloc_zeroed(layout);
                    let larger = Allocator.realloc(piece, layout, 2 * size);
                    for piece in [larger, zeroed] {
                        assert_eq!(piece.addr() % alignment, 0, "{size} by {alignment}");
                    }
                    assert_eq!([*larger, *larger.add(size - 1), *zeroed], [7, 7, 0]);
                    let doubled = Layout::from_size_align(2 * size, alignment).expect("the same");
                    Allocator.dealloc(larger, doubled);
                    Allocator.dealloc(zeroed, layout);
                }
            }
        }
    }
}
