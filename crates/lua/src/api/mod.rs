//! The functions made in Rust that a plan can call, one library a file. `lookup` finds them by name.

mod codec;
mod data;
mod elements;
mod env;
mod file;
mod first_words;
#[cfg(any(test, feature = "test-support"))]
mod fixture;
mod foreign_names;
mod forms;
mod function;
mod json;
mod json_at;
mod json_view;
mod load;
mod log;
mod lookup;
mod metric;
mod missing_column;
mod names;
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
mod shared;
mod shared_run;
mod shown;
mod signing;
#[cfg(test)]
mod tests;
mod time;
mod user;
mod wait;
mod xml;

pub(super) use foreign_names::{method_elsewhere, prefixed_text};
pub(super) use missing_column::missing_columns;
pub(super) use names::{ValueType, refused};
pub(super) use percentile::percentile;
pub(super) use prelude::start_prelude;
pub(super) use response::RESPONSE;
pub(super) use signing::has_signing_algorithm;
pub(super) use user::grpc::make as call;
pub(super) use user::net::make as net_socket;
pub(super) use user::socket::make as socket;
pub(super) use user::stream::{STREAM, make as stream};
pub(super) use user::{Returned, USER_MEMBERS, UserMember, user_member};

/// The names of all members and the functions that create some of them, for the test of the stubs.
#[cfg(test)]
pub(super) mod members {
    pub(crate) use super::data::{CSV_OPTIONS, LINES_OPTIONS, OPTIONS as DATA_OPTIONS};
    pub(crate) use super::fixture::classes;
    pub(crate) use super::lookup::{global, global_value};
    pub(crate) use super::names::GLOBALS;
    pub(crate) use super::parts::Member;
    pub(crate) use super::response::field;
    pub(crate) use super::user::cookies::{COOKIE, SCOPE, cookies};
    pub(crate) use super::user::grpc::LOAD_OPTIONS;
    pub(crate) use super::user::stream::MESSAGE_OPTIONS;
    pub(crate) use super::user::user_value;
}
