//! Prefetching of users' memory. Where a shard has thousands of users, none finds its own in the core's cache when a
//! response arrives: with 10,000, half of a request's time goes into waiting for memory, one line after another. A
//! user therefore prefetches its lines at once, lets the others that are ready do so too, and runs when they are there.

#![allow(
    unsafe_code,
    reason = "the instruction that prefetches takes a raw pointer; it reads nothing and cannot fault"
)]

use crate::user::turn::Rest;
use crate::user::{ShardState, User};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Whether stable Rust has the instruction for this processor.
const CAN_PREFETCH: bool = cfg!(target_arch = "x86_64");

/// Bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// A user's life in turns. Its memory is prefetched before each of them if its shard has many users.
pub(crate) struct PrefetchedLife<F> {
    life: Pin<Box<F>>,
    /// Address of the user, which its life owns.
    user: usize,
    shared: Rc<ShardState>,
    /// Whether its memory was prefetched for the next step.
    is_prefetched: bool,
    /// Its rest after a turn that was over before the user waited for anything.
    rest: Option<Arc<Rest>>,
}

impl<F: Future> PrefetchedLife<F> {
    /// Makes the life of a user, which `live` starts.
    pub(crate) fn new(user: Box<User>, live: impl FnOnce(Box<User>) -> F) -> Self {
        let (address, shared) = (std::ptr::from_ref(&*user).addr(), user.shared.clone());
        PrefetchedLife {
            life: Box::pin(live(user)),
            user: address,
            shared,
            is_prefetched: false,
            rest: None,
        }
    }

    fn prefetch(&self) {
        prefetch(self.user, size_of::<User>());
        prefetch(std::ptr::from_ref(&*self.life).addr(), size_of::<F>());
    }
}

impl<F: Future> Future for PrefetchedLife<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.shared.is_halted() {
            // The shard drops it as soon as no user is ready any more.
            return Poll::Pending;
        }
        if CAN_PREFETCH && !self.is_prefetched && self.shared.has_many_users() {
            self.prefetch();
            self.is_prefetched = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.rest.as_ref().is_some_and(|rest| !rest.is_over()) {
            return Poll::Pending;
        }
        self.shared.turn.begin();
        let step = self.life.as_mut().poll(context);
        let rests = step.is_pending() && self.shared.turn.is_over();
        self.rest = rests.then(|| Rest::begin(context));
        // A user that only lets others come first still has its memory in the cache when it goes on.
        self.is_prefetched = self.shared.takes_gathering();
        step
    }
}

/// Prefetches the memory at that address, without waiting for it.
fn prefetch(address: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (address..address + bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint. It changes nothing and does not fault, not even for an address without memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _unused = (address, bytes);
}
