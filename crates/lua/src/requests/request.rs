//! A request of a plan: its content, and the expectations of its response.

use super::expect::Expectations;
use crate::limits::Budget;
use crate::limits::Held;
use crate::plan_files::PlanFile;
use crate::values::{self, ENTRY_BYTES, describe_mismatch};
use bytes::Bytes;
use http::Method;
use lgoose_base::tags::Tags;
use lgoose_http::Request;
use mlua::Value;
use std::rc::Rc;

/// A request and how to count and judge it.
#[derive(Debug)]
pub struct RequestOp {
    /// The request to send.
    pub request: Request,
    /// The name given in the plan.
    pub name: Option<Rc<str>>,
    /// The expectations that must hold for it to succeed.
    pub expect: Expectations,
    /// Whether a status of 400 or more is not a failure.
    pub allow_failure: bool,
    /// Whether it is left out of all figures and logs.
    pub uncounted: bool,
    /// The tags that it has in addition to those of its task.
    pub tags: Option<Rc<Tags>>,
}

impl RequestOp {
    pub(super) fn new(method: Method, url: impl Into<Rc<str>>) -> Self {
        RequestOp {
            request: Request::new(method, url),
            name: None,
            expect: Expectations::default(),
            allow_failure: false,
            uncounted: false,
            tags: None,
        }
    }

    /// Returns the memory that a copy of it takes, in bytes; the body is shared.
    pub(super) fn copy_bytes(&self) -> usize {
        let headers = self.request.headers.len() * 2 * ENTRY_BYTES;
        let name = self.name.as_ref().map_or(0, |name| name.len());
        // Copies share the rare parts.
        size_of::<RequestOp>() + self.request.url.len() + headers + name + self.expect.weight()
    }

    /// Returns the memory that it takes without its body, in bytes; shared memory is divided among its owners.
    pub fn held_bytes(&self) -> usize {
        let headers = self.request.headers.iter();
        let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
        let tags = self.tags.as_ref();
        let tags = tags.map_or(0, |tags| tags.bytes() / Rc::strong_count(tags));
        let extras = self.request.extras.as_ref();
        let extras = extras.map_or(0, |extras| extras.bytes() / Rc::strong_count(extras));
        self.copy_bytes() + headers.sum::<usize>() + tags + extras
    }

    /// Reads a request without options.
    ///
    /// # Errors
    /// The message to raise at the plan's line.
    pub(super) fn bare(
        method: Method,
        path: &Value,
        body: &Value,
        budget: &mut Budget,
    ) -> Result<RequestOp, String> {
        let path = match path {
            Value::String(path) => {
                budget.take(path.as_bytes().len().saturating_mul(3))?;
                values::read_url(&path.as_bytes())
            }
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
            Value::String(text) => {
                budget.take(text.as_bytes().len())?;
                op.request.body = Bytes::copy_from_slice(&text.as_bytes());
            }
            // Its bytes are there once for all requests.
            Value::UserData(_) if plan_file(body).is_some() => {
                op.request.body = plan_file(body).map(|file| file.bytes).unwrap_or_default();
            }
            other => {
                let problem = describe_mismatch("the body", "a string or a file", other);
                return Err(format!(
                    "{problem}; for a form or JSON give nil and the option 'form' or 'json'"
                ));
            }
        }
        Ok(op)
    }
}

/// Returns the file if the value is one that `file` has returned to the plan.
pub(crate) fn plan_file(value: &Value) -> Option<PlanFile> {
    let file = value.as_userdata()?.borrow::<Held<PlanFile>>();
    file.ok().map(|file| PlanFile::clone(&file))
}
