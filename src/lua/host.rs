//! What the functions made in Rust work on: one [`Host`] per VM, kept as the VM's app data.

use super::limits::Limits;
use super::program::Program;
use super::responses::Responses;
use crate::http::Session;
use crate::metrics::Recorder;
use mlua::Lua;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Host {
    pub(super) program: Arc<Program>,
    pub(super) responses: RefCell<Responses>,
    pub(super) random: RefCell<Xoshiro256PlusPlus>,
    /// The user's number, 0 while a plan is loaded.
    pub(super) user: u64,
    pub(super) scenario: String,
    /// The index of declaration of the task that runs; none while the file's top level or an event does.
    pub(super) task: Cell<Option<usize>>,
    /// The user's browser; none while a plan is loaded.
    pub(super) session: Option<Rc<Session>>,
    /// Where the user's own measurements are counted; none while a plan is loaded.
    pub(super) recorder: OnceCell<Rc<RefCell<Recorder>>>,
    /// When the VM was made.
    pub(super) begin: Instant,
    /// Whether the user found no row left in its data: it ends, even if its plan is still being
    /// loaded.
    pub(super) stopped: Cell<bool>,
    pub(super) limits: Limits,
    /// Which form was looked for in vain at last, and which there are; empty before.
    pub(super) missed_form: RefCell<String>,
    /// The last message of `error` that was not UTF-8: as Lua's errors become text, and as it is shown.
    pub(super) raised_bytes: RefCell<Option<(String, String)>>,
}

impl Host {
    pub(super) fn new(
        program: Arc<Program>,
        user: u64,
        scenario: &str,
        session: Option<Rc<Session>>,
        limits: Limits,
    ) -> Host {
        Host {
            random: RefCell::new(stream(program.seed, user)),
            program,
            responses: RefCell::new(Responses::new()),
            user,
            scenario: scenario.to_owned(),
            task: Cell::new(None),
            session,
            recorder: OnceCell::new(),
            begin: Instant::now(),
            stopped: Cell::new(false),
            limits,
            missed_form: RefCell::default(),
            raised_bytes: RefCell::default(),
        }
    }

    /// The host of the VM that a function runs in.
    pub(super) fn of(lua: &Lua) -> Rc<Host> {
        lua.app_data_ref::<Rc<Host>>()
            .expect("every VM has its host")
            .clone()
    }
}

/// The random stream of a user, fixed by the run's seed and the user's number. SplitMix64 (in
/// `seed_from_u64`) spreads neighbouring seeds; the multiplier is that of the 64-bit golden ratio.
pub fn stream(seed: u64, user: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ user.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A file of the plan and a line of it.
pub(super) type Place = (String, u32);

/// The innermost line of the plan's files that is being executed.
pub(super) fn plan_line(lua: &Lua) -> Option<Place> {
    (0..)
        .map_while(|level| {
            lua.inspect_stack(level, |debug| {
                let source = debug.source();
                let file = source.source.as_deref()?.strip_prefix('@')?.to_owned();
                Some((file, debug.current_line()? as u32))
            })
        })
        .flatten()
        .next()
}
