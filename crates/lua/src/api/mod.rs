//! The functions made in Rust that a plan can call, one library a file. `lookup` finds them by name.

mod codec;
mod cookies;
mod data;
mod elements;
mod file;
#[cfg(any(test, feature = "test-support"))]
mod fixture;
mod forms;
mod function;
mod grpc;
mod json;
mod json_at;
mod json_view;
mod load;
mod log;
mod lookup;
mod metric;
mod names;
mod net;
mod os;
mod page;
mod page_urls;
mod parts;
mod percentile;
mod prelude;
mod random;
mod regex;
mod require;
mod response;
mod run;
mod session;
mod shared;
mod shared_run;
mod shown;
mod signing;
mod socket;
mod stream;
mod tags;
#[cfg(test)]
mod tests;
mod time;
mod wait;
mod xml;

pub(super) use grpc::{FIELDS as CALL_FIELDS, METHODS as CALL_METHODS, make as call};
pub(super) use names::USER_FIELDS;
pub(super) use net::{FIELDS as NET_FIELDS, METHODS as NET_METHODS, make as net_socket};
pub(super) use percentile::percentile;
pub(super) use prelude::start_prelude;
pub(super) use response::{FIELDS as RESPONSE_FIELDS, METHODS as RESPONSE_METHODS};
pub(super) use socket::{FIELDS as SOCKET_FIELDS, METHODS as SOCKET_METHODS, make as socket};
pub(super) use stream::{FIELDS as STREAM_FIELDS, METHODS as STREAM_METHODS, make as stream};

/// The names of all members and the functions that create some of them, for the test of the stubs.
#[cfg(test)]
pub(super) mod members {
    pub(crate) use super::cookies::{COOKIE, SCOPE, cookies};
    pub(crate) use super::data::{CSV_OPTIONS, LINES_OPTIONS, OPTIONS as DATA_OPTIONS};
    pub(crate) use super::fixture::classes;
    pub(crate) use super::grpc::LOAD_OPTIONS;
    pub(crate) use super::lookup::lookup;
    pub(crate) use super::names::{GLOBALS, USER_FIELDS};
    pub(crate) use super::response::{FIELDS, METHODS, field};
    pub(crate) use super::stream::MESSAGE_OPTIONS;
}
