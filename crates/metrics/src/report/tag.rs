//! Requests that have a tag.

use super::{Figures, RequestRow};
use serde::{Deserialize, Serialize};

/// Figures for the requests with one tag.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct TagRow {
    /// The tag with its value, such as `region=eu`, or `scenario=` with the name of a scenario. After the first 100
    /// values of a tag, `(other)` stands for the rest.
    pub tag: String,
    /// One row for each request name, without series.
    pub requests: Vec<RequestRow>,
    /// All requests with the tag together.
    pub aggregated: Figures,
}
