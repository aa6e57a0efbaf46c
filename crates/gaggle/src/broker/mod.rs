//! Connection to the broker, and everything that lgoose does with it.

mod address;
mod connection;
mod denials;
mod log_stream;
mod options;

pub use address::BrokerAddress;
pub use connection::Broker;
pub(super) use connection::{ProbeResponse, PublishFailure};
pub(super) use log_stream::{LogConsumer, make_log_stream, remove_log_stream};
pub(super) use options::ContactState;
