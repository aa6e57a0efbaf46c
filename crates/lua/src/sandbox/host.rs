//! The state of a VM that functions made in Rust work on: one [`Host`] per VM, kept as its app data.

use super::loaded_parts::LoadedParts;
use super::views::JsonViews;
use crate::diagnostics::{RaisedError, plan_line};
use crate::limits::{Account, Budget, HeapSize, Held, HeldBytes, VmLimits};
use crate::plan_files::Program;
use crate::requests::{Finished, OwnTags, RecentUrls, ResponseAddress, Responses, text_within};
use crate::run_view::RunView;
use bytes::Bytes;
use encoding_rs::Encoding;
use lgoose_base::error::{Diagnostic, printable};
use lgoose_html::{Document, PageUrls, ReferrerPolicy, XmlFault};
use lgoose_http::Session;
use lgoose_metrics::Recorder;
use lgoose_plan::PlanEvent;
use mlua::{AnyUserData, Lua, Table, Value};
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The most counters that are noted, as many as a run has names of metrics.
const MOST_COUNTERS: usize = 2_000;

/// The state of one VM outside of Lua.
#[derive(Debug)]
pub(crate) struct VmHost {
    pub(crate) program: Arc<Program>,
    pub(crate) responses: RefCell<Responses>,
    /// The prelude's weak table of the responses that the plan holds, by slot; empty while the plan is loaded.
    pub(crate) live: OnceCell<Table>,
    /// What the parts of the prelude share; empty until it has run.
    pub(crate) shared: OnceCell<Table>,
    pub(crate) random: RefCell<Xoshiro256PlusPlus>,
    /// The values that the plan sees as views.
    pub(crate) views: JsonViews,
    /// The user's number, 0 while a plan is loaded.
    pub(crate) user: u64,
    pub(crate) scenario: String,
    /// The index of declaration of the running task; `None` while the file's top level or an event handler runs.
    pub(crate) task: Cell<Option<usize>>,
    /// The event whose function runs, or ran last.
    pub(crate) event: Cell<Option<PlanEvent>>,
    /// Whether the handler of a task's errors has seen the latest one.
    pub(crate) has_handled: Cell<bool>,
    /// The user's HTTP session; `None` while a plan is loaded.
    pub(crate) session: Option<Rc<Session>>,
    /// The recorder of the user's own measurements; empty while a plan is loaded.
    pub(crate) recorder: OnceCell<Rc<RefCell<Recorder>>>,
    /// The user's run; `None` while a plan is loaded.
    pub(crate) run: Option<Rc<dyn RunView>>,
    /// The time when the VM was made.
    pub(crate) start: Instant,
    /// For how long lgoose has held up the user since, which does not count in its transactions.
    pub(crate) held_up: Cell<Duration>,
    /// Whether the user found no row left in its data, which ends it even while its plan is being loaded.
    pub(crate) stopped: Cell<bool>,
    pub(crate) limits: Rc<VmLimits>,
    /// The bytes that its values hold outside of Lua, except for responses.
    pub(crate) account: Account,
    /// The bytes that were in use after the latest collection for want of memory.
    collected_at: Cell<usize>,
    /// The parts of modules that are loaded for a while.
    pub(crate) parts: LoadedParts,
    /// A message about the latest form that was not found; empty before.
    pub(crate) missing_form_message: RefCell<String>,
    /// Tags of the user; allocated with the first.
    pub(crate) tags: RefCell<Option<Box<OwnTags>>>,
    /// The URLs of the latest pages, once the plan has read those of one.
    pub(crate) found: RefCell<Option<Box<RecentUrls>>>,
    /// The counters that the plan's top level makes, while it is loaded.
    counters: RefCell<Vec<String>>,
    /// The latest message of `error` that was not UTF-8: as Lua converts it to text, and as it is shown.
    pub(crate) raised_bytes: RefCell<Option<(String, String)>>,
}

impl VmHost {
    pub(crate) fn new(
        program: Arc<Program>,
        user: u64,
        scenario: &str,
        session: Option<Rc<Session>>,
        limits: VmLimits,
    ) -> VmHost {
        VmHost {
            random: RefCell::new(stream(program.seed, user)),
            program,
            responses: RefCell::new(Responses::new()),
            live: OnceCell::new(),
            shared: OnceCell::new(),
            views: JsonViews::default(),
            user,
            scenario: scenario.to_owned(),
            task: Cell::new(None),
            event: Cell::new(None),
            has_handled: Cell::new(false),
            session,
            recorder: OnceCell::new(),
            run: None,
            start: Instant::now(),
            held_up: Cell::new(Duration::ZERO),
            stopped: Cell::new(false),
            limits: Rc::new(limits),
            account: Account::default(),
            collected_at: Cell::new(0),
            parts: LoadedParts::default(),
            missing_form_message: RefCell::default(),
            tags: RefCell::default(),
            found: RefCell::default(),
            counters: RefCell::default(),
            raised_bytes: RefCell::default(),
        }
    }

    /// Notes a counter of the plan while it is loaded.
    pub(crate) fn declare_counter(&self, name: &str) {
        let mut counters = self.counters.borrow_mut();
        if self.looks_only()
            && counters.len() < MOST_COUNTERS
            && !counters.iter().any(|one| one == name)
        {
            counters.push(name.to_owned());
        }
    }

    /// Returns the counters noted so far.
    pub(crate) fn take_counters(&self) -> Vec<String> {
        self.counters.take()
    }

    /// Returns whether this VM only reads the declarations of the plan: no user will run in it.
    pub(crate) fn looks_only(&self) -> bool {
        self.program.task_locations.is_empty()
    }

    /// Adds to an error without a line the line where the running task was declared: Lua's lack of memory has none, and
    /// code of `load` has no file.
    pub(crate) fn located(&self, mut raised: RaisedError) -> RaisedError {
        raised.line = raised.line.or_else(|| {
            let location = self.program.task_locations.get(self.task.get()?)?;
            let (file, line) = &location.declared;
            Some(format!("{file}:{line}"))
        });
        raised
    }

    /// Returns a value as functions in Rust read it: a copy where it is a view or has one in it, and else itself.
    ///
    /// # Errors
    /// There is no memory for the copy, or the task's time is over.
    pub(crate) fn without_views(&self, lua: &Lua, value: Value) -> mlua::Result<Value> {
        self.views.seen_through(lua, &self.limits, value)
    }

    /// Returns the bytes that the VM holds outside of Lua.
    pub(crate) fn held_bytes(&self) -> usize {
        let cached = self
            .session
            .as_ref()
            .map_or(0, |session| session.cached_bytes());
        self.responses.borrow().held_bytes() + self.account.held() + cached
    }

    /// Returns the memory that a call may take outside of Lua. Collects garbage first if little is left.
    pub(crate) fn budget<'a>(&self, lua: &'a Lua) -> Budget<'a> {
        let limit = self.limits.memory;
        let used = self.used_bytes(lua);
        // A plan that really holds much must not wait for a collection at each request.
        let remaining = if used > (limit / 4 * 3).max(self.collected_at.get() + limit / 16) {
            self.collect(lua)
        } else {
            limit.saturating_sub(used)
        };
        Budget::new(remaining, &self.limits).collecting(lua, |lua| VmHost::of(lua).collect(lua))
    }

    fn used_bytes(&self, lua: &Lua) -> usize {
        lua.used_memory().saturating_add(self.held_bytes())
    }

    /// Collects garbage; returns the memory that a call may take then.
    fn collect(&self, lua: &Lua) -> usize {
        // A collection that fails leaves things as they are, and the budget small.
        let _failed = lua.gc_collect();
        self.drop_dead();
        let used = self.used_bytes(lua);
        self.collected_at.set(used);
        self.limits.memory.saturating_sub(used)
    }

    /// Frees the responses that the latest collection has found dead.
    pub(crate) fn drop_dead(&self) {
        // A caller that is reading one now needs it.
        if let Ok(mut responses) = self.responses.try_borrow_mut() {
            responses.reclaim(|slot| self.is_live(slot));
        }
    }

    /// Returns whether the plan holds the response in a slot, as far as the latest collection has found.
    pub(crate) fn is_live(&self, slot: usize) -> bool {
        // As a flag, a response costs no reference. One that cannot be read is kept.
        let live = self.live.get();
        live.is_none_or(|live| live.raw_get(slot).unwrap_or(true))
    }

    /// Counts bytes that a value of the plan holds outside of Lua.
    ///
    /// # Errors
    /// The plan would hold more than it may.
    pub(crate) fn hold(&self, lua: &Lua, bytes: usize) -> mlua::Result<HeldBytes> {
        let taken = self.budget(lua).take(bytes);
        taken.map_err(mlua::Error::runtime)?;
        Ok(self.account.hold(bytes))
    }

    /// Keeps a value that the plan is given; its memory counts as the plan's.
    ///
    /// # Errors
    /// The plan would hold more than it may.
    pub(crate) fn held<T: HeapSize>(&self, lua: &Lua, value: T) -> mlua::Result<Held<T>> {
        // An element owns no memory, and a page may have thousands.
        let bytes = match value.heap_bytes() {
            0 => self.account.hold(0),
            bytes => self.hold(lua, bytes)?,
        };
        Ok(Held::new(value, bytes))
    }

    /// Makes userdata of a value whose type is registered in the VM; its memory counts as the plan's.
    ///
    /// # Errors
    /// The plan would hold more than it may.
    pub(crate) fn userdata<T: HeapSize + 'static>(
        &self,
        lua: &Lua,
        value: T,
    ) -> mlua::Result<AnyUserData> {
        lua.create_any_userdata(self.held(lua, value)?)
    }

    /// Remembers the URLs that a page has, so that requests for them say where they were found.
    pub(crate) fn remember(&self, page: &str, usual: ReferrerPolicy, urls: &PageUrls) {
        let session = self.session.as_ref();
        if session.is_some_and(|session| session.sends_referrer()) && !urls.urls.is_empty() {
            let held = self.account.hold(RecentUrls::bytes(urls));
            let mut found = self.found.borrow_mut();
            found.get_or_insert_default().add(page, usual, urls, held);
        }
    }

    /// Returns the page of a body as a tree, whose forms are sent in `encoding`, UTF-8 without one.
    ///
    /// # Errors
    /// The plan would hold more than it may, or the task's time is over.
    pub(crate) fn document(
        &self,
        lua: &Lua,
        body: &[u8],
        encoding: Option<&'static Encoding>,
    ) -> mlua::Result<Rc<Held<Document>>> {
        let mut spent = Ok(());
        let document = self.budget(lua).make(|most| {
            Document::parse_while(body, most, &mut |bytes| {
                spent = self.limits.spend(lua, bytes as u64 * 16);
                spent.is_ok()
            })
        });
        spent?;
        let document = document.map_err(mlua::Error::runtime)?;
        let document = match encoding {
            Some(encoding) => document.in_encoding(encoding),
            None => document,
        };
        self.held(lua, document).map(Rc::new)
    }

    /// Parses an XML document.
    ///
    /// # Errors
    /// It is not XML, with the reason; the plan would hold more than it may, or the task's time is over.
    pub(crate) fn xml_document(&self, lua: &Lua, text: &[u8]) -> mlua::Result<Rc<Held<Document>>> {
        let Ok(text) = str::from_utf8(text) else {
            let message = "this is not XML: it is not UTF-8";
            return Err(mlua::Error::runtime(message));
        };
        let mut spent = Ok(());
        let read = self.budget(lua).make(|most| {
            let read = Document::parse_xml_while(text, most, &mut |bytes| {
                spent = self.limits.spend(lua, bytes as u64 * 16);
                spent.is_ok()
            });
            match read {
                Ok(document) => Some(Ok(document)),
                Err(XmlFault::Wrong(problem)) => {
                    Some(Err(format!("this is not XML: {}", printable(&problem))))
                }
                Err(XmlFault::TooLarge | XmlFault::Ended) => None,
            }
        });
        spent?;
        let document = read.and_then(|document| document);
        let document = document.map_err(mlua::Error::runtime)?;
        self.held(lua, document).map(Rc::new)
    }

    /// Returns the body of a response, decoded; empty without a response, or if it cannot be decoded.
    ///
    /// # Errors
    /// There is no response of that address, or the plan would hold more than it may.
    pub(crate) fn body(&self, lua: &Lua, address: ResponseAddress) -> mlua::Result<Bytes> {
        let gone = || mlua::Error::runtime("this is not a response");
        let response =
            |responses: &Responses| responses.get(address).is_some_and(Finished::is_decoded);
        if !response(&self.responses.borrow()) {
            let mut is_there = true;
            let decoded = self.budget(lua).make(|most| {
                let mut responses = self.responses.borrow_mut();
                let fits = responses.change(address, |finished| finished.decode_within(most));
                is_there = fits.is_some();
                fits.unwrap_or(true).then_some(())
            });
            decoded.map_err(mlua::Error::runtime)?;
            if !is_there {
                return Err(gone());
            }
        }
        let responses = self.responses.borrow();
        responses.get(address).map(Finished::body).ok_or_else(gone)
    }

    /// Returns the body of a response as text in UTF-8, whatever its character set.
    ///
    /// # Errors
    /// The same as for [`VmHost::body`].
    pub(crate) fn text(&self, lua: &Lua, address: ResponseAddress) -> mlua::Result<Bytes> {
        let body = self.body(lua, address)?;
        let responses = self.responses.borrow();
        let response = responses.get(address).and_then(Finished::response);
        let text = self.budget(lua).make(|most| match response {
            Some(response) => text_within(response, most),
            None => Some(body.clone()),
        });
        text.map_err(mlua::Error::runtime)
    }

    /// Returns the session of the VM's user.
    ///
    /// # Errors
    /// There is no user while a plan is loaded.
    pub(crate) fn user_session(lua: &Lua) -> mlua::Result<Rc<Session>> {
        let session = VmHost::of(lua).session.clone();
        session.ok_or_else(|| mlua::Error::runtime("there is no user while the plan is loaded"))
    }

    /// Returns the host of the VM that a function runs in.
    pub(crate) fn of(lua: &Lua) -> Rc<VmHost> {
        lua.app_data_ref::<Rc<VmHost>>()
            .expect("every VM has its host")
            .clone()
    }
}

impl HeapSize for Document {
    fn heap_bytes(&self) -> usize {
        self.weight()
    }
}

/// Creates the random stream of a user, determined by the run's seed and the user's number. SplitMix64 (in
/// `seed_from_u64`) spreads neighbouring seeds; the multiplier is that of the 64-bit golden ratio.
pub fn stream(seed: u64, user: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ user.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The name in Lua's registry of the environment of the plan's files.
pub(crate) const ENVIRONMENT: &str = "lgoose.environment";

/// Creates an error with a diagnostic at the plan's line, for callers of the prelude.
pub(crate) fn error_at_plan_line(lua: &Lua, diagnostic: Diagnostic) -> mlua::Error {
    let host = VmHost::of(lua);
    let placed = match plan_line(lua) {
        Some((file, line)) => {
            let text = host.program.sources.text(&file);
            diagnostic.at(file, Some(line), &text)
        }
        None => diagnostic,
    };
    mlua::Error::external(placed)
}
