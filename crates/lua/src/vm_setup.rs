//! The purpose and surroundings of a VM: its user, its session, its limits and its run.

use crate::limits::Heartbeat;
use crate::run_view::RunView;
#[cfg(doc)]
use crate::stream;
use lgoose_http::Session;
use lgoose_metrics::Recorder;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The user that a VM is made for, with its limits.
#[derive(Debug, Clone)]
pub struct VmSetup<'a> {
    /// The user's number, from 1.
    pub user: u64,
    /// The number of its stream of random values, see [`stream`].
    pub random_stream: u64,
    /// The name of its scenario.
    pub scenario: &'a str,
    /// Its HTTP session.
    pub session: Rc<Session>,
    /// The most memory that it may take, in bytes.
    pub memory: u64,
    /// The recorder of its plan's checks, metrics and transactions. Must not be borrowed while the VM runs.
    pub recorder: &'a Rc<RefCell<Recorder>>,
    /// The longest time that a task may compute without waiting.
    pub time: Duration,
    /// The heartbeat that shows its activity to the watchdog.
    pub heartbeat: &'a Arc<Heartbeat>,
    /// Its run, if it has one.
    pub run: Option<Rc<dyn RunView>>,
}
