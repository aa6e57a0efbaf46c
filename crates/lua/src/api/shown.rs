//! A response in a line of the log. Driven by `log`; knows nothing of the methods that a response has.

use crate::requests::ResponseAddress;
use crate::sandbox::VmHost;
use lgoose_base::units::{show_duration, show_size};
use mlua::{Lua, LuaString, Table};

/// Returns whether a table is a response as plans hold it.
pub(super) fn is_response(table: &Table) -> bool {
    let named = |meta: Table| meta.raw_get::<Option<LuaString>>("__name").ok().flatten();
    let name = table.metatable().and_then(named);
    name.is_some_and(|name| name == "response") && ResponseAddress::of(table).is_ok()
}

/// Formats a response for logs: its status, its URL, its size and its problem.
pub(super) fn response(lua: &Lua, response: &Table) -> String {
    let host = VmHost::of(lua);
    let responses = host.responses.borrow();
    let Some(finished) = ResponseAddress::of(response)
        .ok()
        .and_then(|at| responses.get(at))
    else {
        return "response".to_owned();
    };
    let failure = finished.verdict();
    match &finished.exchange.outcome {
        Err(failure) => format!("no response: {failure}"),
        Ok(response) => {
            let failed = failure.map_or_else(String::new, |why| format!("; failed: {why}"));
            format!(
                "response {} from {}, {} in {}{failed}",
                response.status,
                response.target.text(),
                show_size(finished.exchange.transfer.received as f64),
                show_duration(finished.exchange.latency),
            )
        }
    }
}
