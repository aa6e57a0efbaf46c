//! The figures of one tag instead of all, as pages show them, and the search for a tag.

use super::history::History;
use lgoose_metrics::{LiveTag, Snapshot};
use std::sync::Arc;
use std::time::Duration;

/// The requests of one tag in a view.
#[derive(Debug)]
pub(super) struct TagView {
    /// Its latest figures; none until they come.
    figures: LiveTag,
    /// The rates of its names over the last seconds.
    pub(super) history: History,
}

impl TagView {
    /// Makes a tag without figures.
    pub(super) fn new(tag: Arc<str>) -> TagView {
        TagView {
            figures: none_of(tag),
            history: History::default(),
        }
    }

    /// Takes the latest figures, which are `None` if no request has the tag. `elapsed` is the time into the run; `None`
    /// if it is over or not known.
    pub(super) fn show(&mut self, figures: Option<LiveTag>, elapsed: Option<Duration>) {
        let before = self.figures.row.take();
        self.figures = figures.unwrap_or_else(|| none_of(self.figures.tag.clone()));
        // Figures that were requested before another page was chosen may lack the row.
        if self.figures.row.is_none() && self.figures.requests.total.count > 0 {
            self.figures.row = before;
        }
        let rows = &self.figures.requests.rows;
        match elapsed {
            Some(elapsed) if self.history.is_empty() => self.history.set_baseline(elapsed, rows),
            Some(elapsed) => self.history.look(elapsed, rows),
            None => {}
        }
    }

    /// Returns its latest figures.
    pub(super) fn figures(&self) -> &LiveTag {
        &self.figures
    }

    /// Returns the tag with its value.
    pub(super) fn tag(&self) -> &str {
        &self.figures.tag
    }

    /// Returns the scenario whose requests have the tag, if it is a scenario's tag.
    pub(super) fn scenario(&self) -> Option<&str> {
        self.figures.scenario()
    }
}

/// Returns a tag without requests.
fn none_of(tag: Arc<str>) -> LiveTag {
    LiveTag {
        tag,
        ..LiveTag::default()
    }
}

/// Returns the tags that contain a text, in any case.
pub(super) fn matching(snapshot: &Snapshot, typed: &str) -> Vec<Arc<str>> {
    let needle = typed.to_lowercase();
    let tags = snapshot.tags.iter();
    tags.filter(|tag| tag.to_lowercase().contains(&needle))
        .cloned()
        .collect()
}
