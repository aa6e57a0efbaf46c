//! Operations of a plan and their responses: what its coroutine yields, read from Lua values, and the responses that
//! it holds.

mod charset;
mod check_time;
mod expect;
mod expect_options;
mod fetch;
mod found;
mod grpc;
mod json;
mod json_fields;
mod json_path;
mod multipart;
mod op;
mod options;
mod protobuf;
mod request;
mod responses;
mod socket_op;
mod stream;
mod stream_reader;
mod submit;
mod tags;
mod timed;
mod wait_rule;
mod websocket;
mod yielded;

pub(super) use charset::{encoding, text_within};
pub(super) use expect_options::EXPECT;
pub(super) use found::RecentUrls;
pub(super) use grpc::{GRPC, GRPC_EXPECT, PlannedGrpc, plan_grpc};
pub(super) use json::{convert as convert_json, convert_to_tree, encode as encode_json};
pub(super) use json_path::{JsonPath, PathStep, place_of, scalars_are_passed_over};
pub(crate) use op::JobFunction;
pub use op::Op;
#[cfg(test)]
pub(super) use op::PlannedCall;
pub use op::{ExchangeEnd, ReceiveTime};
pub(super) use op::{marker, markers};
pub(super) use options::{EVENTS, OPTIONS, REQUEST};
pub(super) use options::{basic, bearer, header_line};
pub use protobuf::decode_any_message;
pub(super) use protobuf::{DecodingFault, decode as decode_message, encode as encode_message};
pub(crate) use request::RequestOp;
pub(super) use request::plan_file;
pub use responses::Finished;
pub(super) use responses::{ResponseAddress, Responses};
pub(crate) use socket_op::SocketOp;
pub(super) use socket_op::{NET_OPTIONS, NetSocket, UDP_OPTIONS, read_connect, read_receive};
pub(crate) use stream::ResponseStream;
pub(super) use stream::{PlanCall, PlanSocket, PlanStream};
pub use stream_reader::read_in_pieces;
pub(super) use stream_reader::{MessageKind, StreamMessage};
pub(super) use submit::{SUBMIT, pressed};
pub(super) use tags::{OwnTags, Transaction, read_transaction, set_tag};
pub(super) use timed::TIMED;
pub(super) use wait_rule::read_wait_rule;
pub(super) use websocket::WEBSOCKET;

/// The names of the fields that plans may set, for the test of the stubs.
#[cfg(test)]
pub(super) mod fields {
    pub(in crate::lua) use super::expect_options::EXPECT;
    pub(in crate::lua) use super::grpc::{GRPC, GRPC_EXPECT};
    pub(in crate::lua) use super::multipart::PART;
    pub(in crate::lua) use super::options::{BEARER, DIGEST, EVENTS, OPTIONS, REQUEST};
    pub(in crate::lua) use super::socket_op::{NET_OPTIONS, RECEIVE_OPTIONS, UDP_OPTIONS};
    pub(in crate::lua) use super::submit::SUBMIT;
    pub(in crate::lua) use super::tags::TRANSACTION;
    pub(in crate::lua) use super::timed::TIMED;
    pub(in crate::lua) use super::websocket::WEBSOCKET;
}
