//! A response as a transport hands it to the session.

use super::head::ResponseHead;
use crate::http::failure::{ErrorClass, Failure};
use bytes::Bytes;

/// A response as received: the head followed by the body, without chunk sizes.
#[derive(Debug)]
pub(in crate::http) struct RawResponse {
    pub(in crate::http) head: ResponseHead,
    pub(in crate::http) bytes: Bytes,
}

/// The limits of a response's body.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct BodyLimits {
    /// The largest body, in bytes.
    pub(in crate::http) max_body: u64,
    /// Whether the body is kept or only counted.
    pub(in crate::http) keep_body: bool,
    /// The same of a response with a status of 400 or more.
    pub(in crate::http) keep_failed: bool,
}

impl BodyLimits {
    /// The limits for a response with that status.
    pub(in crate::http) fn of_status(self, status: u16) -> BodyLimits {
        BodyLimits {
            keep_body: match status {
                400.. => self.keep_failed,
                _ => self.keep_body,
            },
            ..self
        }
    }
}

/// The bodies of responses that are only counted, and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// All are kept.
    Nothing,
    /// Those of responses with a status below 400.
    Successful,
    /// All.
    All,
}

/// The failure of a response whose body is larger than `max_body` bytes.
pub(in crate::http) fn body_too_large(max_body: u64) -> Failure {
    Failure::new(
        ErrorClass::TooLarge,
        format!("body of more than {max_body} bytes ('--max-body')"),
    )
}
