//! Requests with a tag.

use super::{Figures, RequestRow};
use serde::{Deserialize, Serialize};

/// Figures of the requests with one tag.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TagRow {
    /// Tag with its value: `region=eu`; `scenario=` with the name of each scenario. Beyond the first 100 values of a
    /// tag, `(other)` is all the rest.
    pub tag: String,
    /// One row for each request name, without figures over time.
    pub requests: Vec<RequestRow>,
    /// All requests with the tag together.
    pub aggregated: Figures,
}
