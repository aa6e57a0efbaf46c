//! An exchange that the plan's own code carries out, such as a message and its reply over a WebSocket: the engine times it
//! from its beginning to its end.

use super::{Call, CallFuture, CallValue, Meter};

/// Stands for such an exchange among calls.
#[derive(Debug)]
pub struct PlanExchange {
    kind: Box<str>,
    target: String,
}

impl PlanExchange {
    /// An exchange of that kind with that target, as its row shows them.
    pub fn new(kind: &str, target: String) -> PlanExchange {
        PlanExchange {
            kind: kind.into(),
            target,
        }
    }
}

impl Call for PlanExchange {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn target(&self) -> &str {
        &self.target
    }

    /// Has nothing left to perform: the plan does it.
    fn perform<'a>(&'a self, _: &'a Meter) -> CallFuture<'a> {
        Box::pin(std::future::ready(Ok(CallValue::Nothing)))
    }
}
