//! The state of the view: the page, the selected row, the order, the filter, an open dialog, and the moment that all
//! pages show.

use super::by_tag::TagView;
use super::figures::RunFigures;
use super::layout::ScreenLayout;
use super::listing::SortOrder;
use super::log::LogView;
use lgoose_metrics::{Figures, LiveRequests, Report, RequestRow, Snapshot};
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of names beyond which the details beside the page come from figures that are there anyway, without a
/// report.
const MANY_NAMES: usize = 200;

/// The pages of the view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    /// Count, failures, rate and latency of each name.
    #[default]
    Requests,
    /// All percentiles of each name.
    Latency,
    /// Tasks and transactions by scenario.
    Tasks,
    /// Errors, the most frequent first.
    Errors,
    /// Status codes of each name.
    Codes,
    /// Thresholds, checks and custom metrics.
    Checks,
    /// Log of plans and of lgoose.
    Log,
    /// Workers, if users run on some.
    Workers,
    /// Messages of each name, if there are streams.
    Streams,
}

impl Tab {
    /// Tabs in their order; the last two are there in some runs only.
    pub(crate) const ALL: [Tab; 9] = [
        Tab::Requests,
        Tab::Latency,
        Tab::Tasks,
        Tab::Errors,
        Tab::Codes,
        Tab::Checks,
        Tab::Log,
        Tab::Workers,
        Tab::Streams,
    ];

    /// Returns the tabs of a run.
    pub(crate) fn of(snapshot: &Snapshot) -> Vec<Tab> {
        let is_there = |tab: &Tab| match tab {
            Tab::Workers => !snapshot.workers.is_empty(),
            Tab::Streams => snapshot.requests.total.messages > 0,
            _ => true,
        };
        Tab::ALL.into_iter().filter(is_there).collect()
    }

    /// Returns the title of the tab.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Tab::Requests => "Requests",
            Tab::Latency => "Latency",
            Tab::Tasks => "Tasks",
            Tab::Errors => "Errors",
            Tab::Codes => "Codes",
            Tab::Checks => "Checks",
            Tab::Log => "Log",
            Tab::Workers => "Workers",
            Tab::Streams => "Streams",
        }
    }

    pub(super) fn index(self) -> usize {
        Tab::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }
}

/// Dialog over the page, which takes the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Dialog {
    /// No dialog.
    #[default]
    None,
    /// Help on the keys.
    Help,
    /// The question whether to stop the run.
    Quit,
    /// The question whether to reset the figures.
    Reset,
    /// Number of users, as typed so far.
    Users(String),
    /// Iterations per second, as typed so far.
    Rate(String),
    /// The choice of a tag: the typed text, and the number of the tag among those that match.
    Tags(String, usize),
    /// Details of a row: the same row as long as it is open.
    Detail(RowReference),
    /// Warnings about the run, in full.
    Warnings,
    /// A text that has to be read, such as a mistake in an edited plan.
    Message(String),
}

impl Dialog {
    /// Returns whether text is typed in it.
    pub(super) fn takes_text(&self) -> bool {
        matches!(self, Dialog::Users(_) | Dialog::Rate(_) | Dialog::Tags(..))
    }

    /// Returns whether it is text that can be longer than the screen.
    pub(super) fn scrolls(&self) -> bool {
        matches!(self, Dialog::Help | Dialog::Detail(_) | Dialog::Warnings)
    }
}

/// A row, wherever it stands on its page now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowReference {
    /// Its page.
    pub(super) tab: Tab,
    /// Its key there.
    pub(super) key: String,
}

/// State of the view: page, selection, filters, dialog.
#[derive(Debug, Default)]
pub struct ViewState {
    /// The page.
    pub tab: Tab,
    /// The key of the selected row of each page; `None` is the first.
    pub(super) selected: [Option<String>; Tab::ALL.len()],
    pub(super) sorted: [SortOrder; Tab::ALL.len()],
    /// Whether the order is reversed.
    pub(super) reversed: bool,
    /// Only rows with this in their name are shown.
    pub filter: String,
    /// Whether the filter is being typed.
    pub(super) typing: bool,
    /// The scenario whose own load the keys set; `None` for the load that the others share.
    pub(super) load: Option<Arc<str>>,
    /// Whether pages show the last ten seconds instead of the whole measurement.
    pub(super) now: bool,
    /// Whether graphs show the whole run instead of its last minutes.
    pub(super) whole: bool,
    /// The graph that comes second, where not all have room.
    pub(super) graph: usize,
    /// Dialog over the page.
    pub dialog: Dialog,
    /// Lines by which the dialog is scrolled.
    pub(super) scroll: u16,
    /// The search text of the dialog, and whether it is being typed.
    pub(super) search: String,
    pub(super) searching: bool,
    /// Texts that wait for the end of typing.
    pub(super) messages: VecDeque<String>,
    /// The last thing that happened, for the line at the bottom.
    pub notice: String,
    pub(super) log: LogView,
    /// The figures that pages show.
    pub figures: RunFigures,
    /// Places of the latest drawing.
    pub(super) layout: ScreenLayout,
    /// Whether the screen is to be drawn from scratch, as if nothing stood on it.
    pub(super) repaint: bool,
    /// A text for the clipboard of the terminal.
    pub(super) copied: Option<String>,
}

impl ViewState {
    /// Looks at a new snapshot. All pages go on to it together, about once a second.
    pub fn look(&mut self, snapshot: &Arc<Snapshot>) {
        if self.figures.finished.is_none() {
            self.log
                .tick(snapshot.progress.elapsed, self.layout.rows.room);
            self.figures.look(snapshot, self.shows_report());
        }
    }

    /// Returns whether the screen shows a report.
    pub fn shows_report(&self) -> bool {
        let on_page = match self.tab {
            Tab::Latency | Tab::Codes | Tab::Streams => self.figures.one_tag.is_none(),
            Tab::Tasks | Tab::Errors => true,
            Tab::Requests | Tab::Checks | Tab::Log | Tab::Workers => false,
        };
        let beside = self.layout.has_pane && self.figures.names() <= MANY_NAMES;
        on_page || beside || matches!(self.dialog, Dialog::Detail(_))
    }

    /// Returns the tag whose changing figures the screen shows, and whether all of its figures are wanted; `None` if
    /// no tag is chosen, if this page cannot be shown by it, or if the run is over.
    pub fn requested_tag(&self) -> Option<(Arc<str>, bool)> {
        if self.figures.finished.is_some() {
            return None;
        }
        let live = self.tag_here()?.figures();
        let beside = self.layout.has_pane && live.requests.rows.len() <= MANY_NAMES;
        let in_full = matches!(self.tab, Tab::Latency | Tab::Codes | Tab::Streams)
            || matches!(self.dialog, Dialog::Detail(_));
        Some((live.tag.clone(), in_full || beside))
    }

    /// Returns the chosen tag, if this page can be shown by it.
    pub(super) fn tag_here(&self) -> Option<&TagView> {
        let one = self.figures.one_tag.as_ref()?;
        let can = match self.tab {
            Tab::Requests | Tab::Latency | Tab::Codes | Tab::Streams => true,
            Tab::Tasks => one.scenario().is_some(),
            Tab::Errors | Tab::Checks | Tab::Log | Tab::Workers => false,
        };
        can.then_some(one)
    }

    /// Returns the requests that the page is about.
    pub(super) fn requests<'a>(&'a self, snapshot: &'a Snapshot) -> &'a LiveRequests {
        let by_tag = self.tag_here().map(|one| &one.figures().requests);
        by_tag.unwrap_or(&snapshot.requests)
    }

    /// Returns all figures of the requests that the page is about, by name and together, as far as they are known.
    pub(super) fn request_rows(&self) -> (&[RequestRow], Option<&Figures>) {
        match (self.tag_here(), &self.figures.report) {
            (Some(one), _) => match &one.figures().row {
                Some(row) => (&row.requests, Some(&row.aggregated)),
                None => (&[], None),
            },
            (None, Some(report)) => (&report.requests, Some(&report.aggregated)),
            (None, None) => (&[], None),
        }
    }

    /// Shows the report of the run, which is over, from now on.
    pub fn finish(&mut self, report: &Arc<Report>) -> Arc<Snapshot> {
        let last = self.figures.last(report);
        self.look(&last);
        self.figures.finish(&last, report);
        // It is too late for these actions.
        if matches!(
            self.dialog,
            Dialog::Quit | Dialog::Reset | Dialog::Users(_) | Dialog::Rate(_)
        ) {
            self.dialog = Dialog::None;
        }
        self.notice.clear();
        last
    }

    /// Adds a line to the log.
    pub fn add_log_line(&mut self, line: &str) {
        let now = self
            .figures
            .latest
            .as_ref()
            .map(|latest| latest.progress.elapsed);
        self.log.add(now.unwrap_or_default(), line);
    }

    /// Shows a text that has to be read as soon as nobody is typing, and keeps it in the log.
    pub fn alert(&mut self, text: String) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.add_log_line(&format!("ERROR {line}"));
        }
        self.messages.push_back(text);
        self.show_message();
    }

    /// Shows the next text that waits, if nothing else has the keys.
    pub(super) fn show_message(&mut self) {
        if self.dialog == Dialog::None
            && !self.typing
            && let Some(text) = self.messages.pop_front()
        {
            self.dialog = Dialog::Message(text);
        }
    }

    /// Returns the last lines of the log, to be printed when the view is gone; the first says how many are left out.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        self.log.last_lines(most)
    }

    pub(super) fn selected(&self) -> Option<&str> {
        self.selected[self.tab.index()].as_deref()
    }

    pub(super) fn sorted(&self) -> SortOrder {
        self.sorted[self.tab.index()]
    }

    pub(super) fn open(&mut self, dialog: Dialog) {
        self.dialog = dialog;
        self.scroll = 0;
        self.search.clear();
        self.searching = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::{LiveRow, Progress};
    use std::time::Duration;

    fn at(ms: u64, count: u64) -> Arc<Snapshot> {
        Arc::new(Snapshot {
            progress: Progress {
                elapsed: Duration::from_millis(ms),
                measured: Duration::from_millis(ms),
                ..Progress::default()
            },
            requests: LiveRequests {
                total: LiveRow {
                    count,
                    ..LiveRow::default()
                },
                ..LiveRequests::default()
            },
            ..Snapshot::default()
        })
    }

    fn shown(state: &ViewState) -> u64 {
        state
            .figures
            .moment
            .as_ref()
            .map_or(0, |moment| moment.requests.total.count)
    }

    #[test]
    fn all_pages_show_one_moment_that_changes_once_a_second_or_with_a_reset() {
        let mut state = ViewState::default();
        for (ms, count, expected) in [(250, 3, 3), (500, 5, 3), (750, 7, 3), (1_250, 9, 9)] {
            state.look(&at(ms, count));
            assert_eq!(shown(&state), expected, "{ms} ms");
        }
        let reset = Arc::new(Snapshot {
            progress: Progress {
                measured: Duration::ZERO,
                ..Snapshot::clone(&at(1_500, 1)).progress
            },
            ..Snapshot::clone(&at(1_500, 1))
        });
        state.look(&reset);
        assert_eq!(shown(&state), 1);
    }

    #[test]
    fn pages_made_from_a_report_go_on_when_it_comes() {
        let mut state = ViewState {
            tab: Tab::Latency,
            ..ViewState::default()
        };
        state.look(&at(1_000, 10));
        state.figures.show_report(Some(Arc::default()));
        state.look(&at(2_000, 20));
        assert_eq!(shown(&state), 10, "the report is of that moment");
        state.figures.show_report(Some(Arc::default()));
        assert_eq!(shown(&state), 20);
        state.look(&at(6_000, 60));
        assert_eq!(shown(&state), 60, "it never came");
    }

    #[test]
    fn a_message_waits_until_nobody_types_and_is_in_the_log() {
        let mut state = ViewState::default();
        state.open(Dialog::Users("4".to_owned()));
        state.alert("unknown field 'wieght'".to_owned());
        assert_eq!(state.dialog, Dialog::Users("4".to_owned()));
        state.dialog = Dialog::None;
        state.show_message();
        assert!(matches!(&state.dialog, Dialog::Message(text) if text.contains("wieght")));
        assert!(state.last_lines(9).concat().contains("wieght"));
    }
}
