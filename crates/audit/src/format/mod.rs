//! Formats of access logs: which one a line has, and what it says in plain data.

mod access_line;
mod apache;
mod common;
mod haproxy;
mod json;
mod nginx;
mod pattern;
pub(crate) mod values;

pub(crate) use access_line::{AccessLine, LoggedBytes, Moment};
pub(crate) use pattern::LinePattern;
pub(crate) use values::Unreadable;

/// The formats that are told by their lines, and the one that the user has given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AccessFormat {
    /// The common and the combined format of nginx, Apache and others.
    Common,
    /// HAProxy's HTTP log.
    Haproxy,
    /// Lines of JSON.
    Json,
    /// The given one.
    Given(LinePattern),
}

impl AccessFormat {
    /// Returns the formats that a line may have.
    pub(crate) fn of_line(text: &str) -> &'static [AccessFormat] {
        if text.starts_with('{') {
            &[AccessFormat::Json]
        } else {
            &[AccessFormat::Common, AccessFormat::Haproxy]
        }
    }

    /// Returns the name that people know it by.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            AccessFormat::Common => "common or combined",
            AccessFormat::Haproxy => "HAProxy",
            AccessFormat::Json => "JSON",
            AccessFormat::Given(_) => "--log-format",
        }
    }

    /// Reads a line. `None` if it has no request.
    ///
    /// # Errors
    /// Why the line cannot be read.
    pub(crate) fn read(&self, text: &str) -> Result<Option<AccessLine>, Unreadable> {
        match self {
            AccessFormat::Common => common::read(text),
            AccessFormat::Haproxy => haproxy::read(text),
            AccessFormat::Json => json::read(text),
            AccessFormat::Given(pattern) => pattern.read(text),
        }
    }
}
