//! The figures of one tag instead of all: which tag is chosen, which of its figures the run is asked for, and what
//! pages show of them.

use super::history::History;
use super::state::{Dialog, MANY_NAMES, State, Tab};
use crate::metrics::{Figures, LiveRequests, LiveTag, RequestRow, Snapshot};
use std::sync::Arc;

/// The requests of one tag in a view.
#[derive(Debug)]
pub(super) struct OneTag {
    /// Its latest figures; none until they come.
    figures: LiveTag,
    /// The rates of its names over the last seconds.
    pub(super) history: History,
}

impl State {
    /// Returns the tag whose changing figures the screen shows, and whether all of its figures are wanted; `None` if
    /// no tag is chosen, if this page cannot be shown by it, or if the run is over.
    pub(crate) fn wants_tag(&self) -> Option<(Arc<str>, bool)> {
        let one = self.one_tag.as_ref()?;
        if self.finished.is_some() || self.tag_here().is_none() {
            return None;
        }
        let beside = self.layout.has_pane && one.figures.requests.rows.len() <= MANY_NAMES;
        let in_full = matches!(self.tab, Tab::Latency | Tab::Codes)
            || matches!(self.dialog, Dialog::Detail(_));
        Some((one.figures.tag.clone(), in_full || beside))
    }

    /// Takes the figures of a tag, which are `None` if no request has it.
    pub(crate) fn show_tag(&mut self, tag: &str, figures: Option<LiveTag>) {
        let finished = self.finished.is_some();
        let elapsed = self.moment.as_ref().map(|shown| shown.progress.elapsed);
        let Some(one) = self.one_tag.as_mut().filter(|one| *one.figures.tag == *tag) else {
            return;
        };
        let before = one.figures.row.take();
        one.figures = figures.unwrap_or_else(|| none_of(tag.into()));
        // Figures that were asked for before another page was chosen may lack the row.
        if one.figures.row.is_none() && one.figures.requests.total.count > 0 {
            one.figures.row = before;
        }
        let rows = &one.figures.requests.rows;
        match elapsed.filter(|_| !finished) {
            Some(elapsed) if one.history.is_empty() => one.history.begin(elapsed, rows),
            Some(elapsed) => one.history.look(elapsed, rows),
            None => {}
        }
    }

    /// Shows the requests of one tag from now on, or all of them.
    pub(super) fn choose_tag(&mut self, tag: Option<Arc<str>>) {
        self.one_tag = tag.map(|tag| OneTag {
            figures: none_of(tag),
            history: History::default(),
        });
        if self.finished.is_some() {
            self.take_tag_of_report();
        }
    }

    /// Takes the figures of the tag from the report of the run, which is over.
    pub(super) fn take_tag_of_report(&mut self) {
        let (Some(one), Some(report)) = (&self.one_tag, &self.report) else {
            return;
        };
        let tag = one.figures.tag.clone();
        let row = report.by_tag.iter().find(|row| *row.tag == *tag);
        let figures = row.map(LiveTag::from);
        self.show_tag(&tag, figures);
    }

    /// Returns the chosen tag, if this page can be shown by it.
    pub(super) fn tag_here(&self) -> Option<&OneTag> {
        let one = self.one_tag.as_ref()?;
        let can = match self.tab {
            Tab::Requests | Tab::Latency | Tab::Codes => true,
            Tab::Tasks => one.scenario().is_some(),
            Tab::Errors | Tab::Checks | Tab::Log | Tab::Workers => false,
        };
        can.then_some(one)
    }

    /// Returns the requests that the page is about.
    pub(super) fn requests<'a>(&'a self, snapshot: &'a Snapshot) -> &'a LiveRequests {
        match self.tag_here() {
            Some(one) => &one.figures.requests,
            None => &snapshot.requests,
        }
    }

    /// Returns all figures of the requests that the page is about, by name and together, as far as they are known.
    pub(super) fn request_rows(&self) -> (&[RequestRow], Option<&Figures>) {
        match (self.tag_here(), &self.report) {
            (Some(one), _) => match &one.figures.row {
                Some(row) => (&row.requests, Some(&row.aggregated)),
                None => (&[], None),
            },
            (None, Some(report)) => (&report.requests, Some(&report.aggregated)),
            (None, None) => (&[], None),
        }
    }

    /// Returns the text for a page without requests.
    pub(super) fn no_request(&self) -> String {
        match self.tag_here() {
            Some(one) => format!("no request with '{}' has been made yet", one.tag()),
            None => "no request has been made yet".to_owned(),
        }
    }
}

impl OneTag {
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
    let wanted = typed.to_lowercase();
    let tags = snapshot.tags.iter();
    tags.filter(|tag| tag.to_lowercase().contains(&wanted))
        .cloned()
        .collect()
}
