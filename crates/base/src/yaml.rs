//! YAML as JSON values, within bounds: few lines can stand for more than any memory takes.

use crate::error::printable;
use serde_json::Value;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

/// The problem with a text.
#[derive(Debug)]
pub struct YamlFault {
    /// In words, with its place.
    pub what: String,
    /// Whether it stands for more than is read, which took its time to find out.
    pub is_large: bool,
}

/// Reads a text.
///
/// # Errors
/// The problem and its place.
pub fn parse(text: &str) -> Result<Value, YamlFault> {
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
        let text = text.lines().next().unwrap_or_default();
        // The place where an alias was defined says nothing more.
        let text = one_line(text.split(" (defined").next().unwrap_or_default());
        let is_large = is_large(&error);
        let place = text.rfind(" at line ").map_or("", |at| &text[at..]);
        let what = if has_several_documents(&error) {
            "it has more than one document".to_owned()
        } else if is_large {
            format!("it stands for more than is read{place}")
        } else if is_circle(&error) {
            format!("an alias is within what it stands for{place}")
        } else {
            // An option of the library's.
            text.replace(", set DuplicateKeyPolicy in Options if acceptable", "")
        };
        YamlFault { what, is_large }
    })
}

/// Returns the beginning of a message, with nothing that moves a terminal's cursor.
fn one_line(text: &str) -> String {
    let shown = text.chars().take(120);
    let line: String = shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    printable(&line).into_owned()
}

fn is_large(error: &Error) -> bool {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => is_large(error),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => !has_several_documents(error),
        _ => false,
    }
}

fn is_circle(error: &Error) -> bool {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => is_circle(error),
        error => matches!(error, Error::RecursiveReferencesRequireWeakTypes { .. }),
    }
}

fn has_several_documents(error: &Error) -> bool {
    let Error::Budget { breach, .. } = error else {
        return false;
    };
    matches!(breach, BudgetBreach::Documents { .. })
}
