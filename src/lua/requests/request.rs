//! A request of a plan: what to send and how to judge it.

use super::expect::Expect;
use crate::http::Request;
use crate::lua::values::{self, describe_mismatch};
use bytes::Bytes;
use http::Method;
use mlua::Value;

/// A request and how to count and judge it.
#[derive(Debug)]
pub struct RequestOp {
    /// The request to send.
    pub request: Request,
    /// The name given in the plan.
    pub name: Option<String>,
    /// The expectations that must hold for it to succeed.
    pub expect: Expect,
    /// Whether a status of 400 or more is no failure.
    pub allow_failure: bool,
}

impl RequestOp {
    pub(super) fn new(method: Method, url: String) -> Self {
        RequestOp {
            request: Request::new(method, url),
            name: None,
            expect: Expect::default(),
            allow_failure: false,
        }
    }

    /// Reads a request without options.
    ///
    /// # Errors
    /// The message to raise at the plan's line.
    pub(super) fn bare(method: Method, path: &Value, body: &Value) -> Result<RequestOp, String> {
        let path = match path {
            Value::String(path) => values::read_url(path),
            other => {
                let call = method.as_str().to_ascii_lowercase();
                let problem = describe_mismatch("the path", "a string", other);
                return Err(format!(
                    "{problem}; write user:{call}(\"/path\"), with a colon"
                ));
            }
        };
        let mut op = RequestOp::new(method, path);
        match body {
            Value::Nil => {}
            Value::String(text) => op.request.body = Bytes::copy_from_slice(&text.as_bytes()),
            other => {
                let problem = describe_mismatch("the body", "a string", other);
                return Err(format!(
                    "{problem}; for a form or JSON give nil and the option 'form' or 'json'"
                ));
            }
        }
        Ok(op)
    }
}
