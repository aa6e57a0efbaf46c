//! The names of requests that the plan does not name.

use serde::{Deserialize, Serialize};

/// The names under which requests without their own are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestNames {
    /// The name of the task; without one, the path.
    #[default]
    Task,
    /// The path, with `:id` for numbers, UUIDs and hashes in it.
    Path,
}

impl RequestNames {
    /// Reads `task` or `path`.
    ///
    /// # Errors
    /// A sentence that names both.
    pub fn parse(text: &str) -> Result<RequestNames, String> {
        match text {
            "task" => Ok(RequestNames::Task),
            "path" => Ok(RequestNames::Path),
            _ => Err(format!(
                "'{text}' names no requests: write 'task' or 'path'"
            )),
        }
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            RequestNames::Task => "task",
            RequestNames::Path => "path",
        }
    }
}
