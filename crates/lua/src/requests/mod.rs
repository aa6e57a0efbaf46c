//! Operations of a plan and their responses: the values that its coroutine yields, read from Lua, and the responses
//! that it holds.

mod call;
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
mod record;
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

pub(super) use call::{CALL_OPTIONS, PlannedCall, plan_call};
pub(super) use charset::{encoding, text_within};
pub(super) use expect_options::EXPECT;
pub(super) use found::RecentUrls;
pub(super) use grpc::{GRPC, GRPC_EXPECT, PlannedGrpc, plan_grpc};
pub(super) use json::{convert as convert_json, convert_to_tree, encode as encode_json};
pub(super) use json_path::{JsonPath, PathStep, place_of, scalars_are_passed_over};
pub use op::{ExchangeEnd, JobFunction, JobLife, MeasuredExchange, Op, ReceiveTime};
pub(super) use op::{marker, markers};
pub(super) use options::{
    EVENTS, OPTIONS, REQUEST, basic, bearer, check_options, header_line, named, read_buffer,
};
pub use protobuf::decode_any_message;
pub(super) use protobuf::{
    DecodingFault, GivenMessage, MessageForm, decode as decode_message, decode_details,
    encode as encode_message, is_json_text,
};
pub(super) use record::RECORD;
pub use request::RequestOp;
pub(super) use request::plan_file;
pub use responses::{Finished, page_message};
pub(super) use responses::{ResponseAddress, Responses};
pub use socket_op::SocketOp;
pub(super) use socket_op::{NetSocket, read_receive};
pub use stream::ResponseStream;
pub(super) use stream::{PlanCall, PlanSocket, PlanStream};
pub use stream_reader::read_in_pieces;
pub(super) use stream_reader::{MessageKind, StreamMessage};
pub(super) use submit::{SUBMIT, pressed};
pub(super) use tags::{OwnTags, Transaction, read_tags, read_transaction, set_tag};
pub(super) use timed::TIMED;
pub(super) use wait_rule::{WaitMistake, read_wait_rule};
pub(super) use websocket::WEBSOCKET;

/// The names of the fields that plans may set, for the test of the stubs.
#[cfg(test)]
pub(super) mod fields {
    pub(crate) use super::expect_options::EXPECT;
    pub(crate) use super::grpc::GRPC_EXPECT;
    pub(crate) use super::multipart::PART;
    pub(crate) use super::options::{BEARER, DIGEST};
    pub(crate) use super::socket_op::RECEIVE_OPTIONS;
    pub(crate) use super::tags::TRANSACTION;
}
