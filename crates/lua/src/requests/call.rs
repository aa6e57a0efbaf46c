//! Calls of protocols other than HTTP, from the host function that prepares one to the yield that hands it to the engine.

use super::options::read_timeout;
use super::tags::read_own_tags;
use crate::limits::{Budget, HeapSize, Held};
use crate::values::read_name;
use lgoose_protocols::{Call, CallOp};
use mlua::{UserData, Value};
use std::cell::RefCell;

/// The options of every call.
pub(crate) const CALL_OPTIONS: [&str; 3] = ["name", "timeout", "tags"];

/// A call as a host function hands it to the Lua that yields it; taken out by the engine, once.
#[derive(Debug)]
pub(crate) struct PlannedCall {
    op: RefCell<Option<Box<CallOp>>>,
}

impl PlannedCall {
    pub(crate) fn new(op: CallOp) -> PlannedCall {
        PlannedCall {
            op: RefCell::new(Some(Box::new(op))),
        }
    }
}

impl HeapSize for PlannedCall {
    fn heap_bytes(&self) -> usize {
        // Until it is taken out. The bytes that a call sends count where they are made.
        size_of::<CallOp>()
    }
}

impl UserData for Held<PlannedCall> {}

/// Prepares a call. Of the options, it reads those of every call; without a name, the call has that of its target.
///
/// # Errors
/// The message to raise at the plan's line.
pub(crate) fn plan_call(
    call: impl Call + 'static,
    options: &[(String, Value)],
    budget: &mut Budget,
) -> Result<PlannedCall, String> {
    let mut op = CallOp::new(call);
    op.name = Some(op.call.target().into());
    for (key, value) in options {
        match key.as_str() {
            "name" => op.name = Some(read_name(value, "option 'name'")?),
            "timeout" => op.timeout = Some(read_timeout(value)?),
            "tags" => op.tags = Some(read_own_tags(value, budget)?),
            _ => {}
        }
    }
    Ok(PlannedCall::new(op))
}

/// Takes the call that a host function has prepared.
pub(super) fn read(call: &Value) -> Result<Box<CallOp>, String> {
    let held = call.as_userdata();
    let held = held.and_then(|held| held.borrow::<Held<PlannedCall>>().ok());
    let op = held.and_then(|held| held.op.take());
    op.ok_or_else(|| "there is nothing to call".to_owned())
}
