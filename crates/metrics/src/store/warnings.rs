//! Warnings of lgoose about a run, each once; shared with snapshots as they are.

use std::sync::Arc;

/// Warnings in the order in which they came.
#[derive(Debug)]
pub(super) struct Warnings(Arc<[String]>);

impl Default for Warnings {
    fn default() -> Self {
        Warnings(Arc::new([]))
    }
}

impl Warnings {
    /// Adds a warning, unless it is there.
    pub(super) fn add(&mut self, warning: String) {
        if !self.0.contains(&warning) {
            self.0 = self.0.iter().cloned().chain([warning]).collect();
        }
    }

    pub(super) fn all(&self) -> &Arc<[String]> {
        &self.0
    }
}
