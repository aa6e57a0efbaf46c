//! Protocols other than HTTP, each a file or a folder that implements [`Call`], and the meter of their calls. Knows neither
//! Lua nor users. HTTP is [`lgoose_http`], with its streams, WebSockets and gRPC; its requests take the same steps in the
//! engine.
//!
//! Used by `lua`, which makes calls, and by `engine`, which performs them.
//!
//! ```
//! use lgoose_protocols::ReceiveRule;
//!
//! // A line of a protocol that ends its lines with a semicolon, of 4 KiB at most.
//! let rule = ReceiveRule::Until((*b";").into(), 4 << 10);
//! assert!(matches!(rule, ReceiveRule::Until(end, 4_096) if *end == *b";"));
//! ```

#[cfg(any(test, feature = "test-support"))]
mod fixture;
mod meter;
mod plan_exchange;
mod socket;

use bytes::Bytes;
use lgoose_base::tags::Tags;
use lgoose_http::Failure;
use std::fmt::Debug;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

#[cfg(any(test, feature = "test-support"))]
pub use fixture::ScriptedCall;
pub use meter::Meter;
pub use plan_exchange::PlanExchange;
pub use socket::{
    OpenSocket, ReceiveRule, SocketAction, SocketConnect, SocketEnd, SocketKind, SocketRow,
};

/// A call of a protocol: connecting, sending and waiting for the response, or closing. Each is one request of the figures.
pub trait Call: Debug {
    /// Returns the kind, where a request has its method: `TCP`.
    fn kind(&self) -> &str;

    /// Returns its target, for logs and for the name of its row where nothing else gives one: `127.0.0.1:7`.
    fn target(&self) -> &str;

    /// Returns whether it opens a socket: one that the plan is given also where it could not be opened.
    fn opens_socket(&self) -> bool {
        false
    }

    /// Performs the call, and notes its measurements in the meter while it goes on: they count also if the call
    /// is dropped, as it is at its timeout and when the run is aborted.
    ///
    /// # Errors
    /// The reason why there is no usable response, which is counted.
    fn perform<'a>(&'a self, meter: &'a Meter) -> CallFuture<'a>;
}

/// A call under way.
pub(crate) type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<CallValue, Failure>> + 'a>>;

/// The value that a call gives the plan.
#[derive(Debug, Clone)]
pub enum CallValue {
    /// Nothing but that it succeeded.
    Nothing,
    /// Received bytes.
    Bytes(Bytes),
    /// A socket on which the plan speaks a protocol of its own.
    Socket(Rc<OpenSocket>),
}

/// A call of a plan, and how to count it.
#[derive(Debug)]
pub struct CallOp {
    /// The call.
    pub call: Box<dyn Call>,
    /// The name given in the plan.
    pub name: Option<Rc<str>>,
    /// The time after which it fails; that of the run's requests if there is none.
    pub timeout: Option<Duration>,
    /// The tags that it has in addition to those of its task.
    pub tags: Option<Rc<Tags>>,
}

impl CallOp {
    /// Makes one that is counted under the name of its task, or that of its target.
    pub fn new(call: impl Call + 'static) -> CallOp {
        CallOp {
            call: Box::new(call),
            name: None,
            timeout: None,
            tags: None,
        }
    }
}
