//! YAML as JSON values, within bounds: few lines can stand for more than any memory takes.

use crate::import::lua_text::comment;
use serde_json::Value;

/// Reads a text.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_events: 4_000_000,
            max_nodes: 2_000_000,
            max_depth: 120,
            max_documents: 1,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let text = error.to_string();
        comment(text.lines().next().unwrap_or_default())
    })
}
