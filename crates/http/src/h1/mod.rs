//! HTTP/1.1 (RFC 9112), implemented by lgoose itself: writes requests, reads responses, decodes chunks.
//!
//! This is used in place of hyper's client because here all connections of a shard share one buffer to write from and
//! one to read into, and a small request is one `send` and one `recv` without a task of its own. The first lgoose,
//! which used hyper's client, took 2.3 to 2.5 times the CPU of wrk with Lua for a response of two bytes; this one
//! takes 1.04 times (`benches/peers/README.md`). Prototypes without Lua, on one core with 64 connections, took 6.7
//! to 7.2 µs of CPU a request with hyper's connection, and 4.7 to 4.9 µs with sockets and `httparse`, which parses
//! heads here, too.

mod chunks;
mod connection;
mod reader;
mod request;
mod sending;
mod write_buffer;

pub(super) use chunks::ChunkDecoder;
pub(super) use connection::Connection;
pub(super) use reader::{ReadOutcome, ResponseRules, read_start};
pub(super) use request::{RequestFraming, write_end, write_start};
pub(super) use write_buffer::WriteBuffer;
