//! What the view shows of a run and how: the tab, the selected row, the order, the filter, an open dialog.

use super::history::History;
use crate::metrics::{Report, Snapshot};
use std::collections::VecDeque;
use std::sync::Arc;

/// Lines of the log that are kept.
const LOG_LINES: usize = 500;

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
    /// What plans and lgoose have to say.
    Log,
}

impl Tab {
    /// All of them, in their order.
    pub const ALL: [Tab; 7] = [
        Tab::Requests,
        Tab::Latency,
        Tab::Tasks,
        Tab::Errors,
        Tab::Codes,
        Tab::Checks,
        Tab::Log,
    ];

    /// What stands on it.
    pub fn title(self) -> &'static str {
        match self {
            Tab::Requests => "Requests",
            Tab::Latency => "Latency",
            Tab::Tasks => "Tasks",
            Tab::Errors => "Errors",
            Tab::Codes => "Codes",
            Tab::Checks => "Checks",
            Tab::Log => "Log",
        }
    }

    pub(super) fn index(self) -> usize {
        Tab::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }
}

/// What lies over the page and takes the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Dialog {
    /// Nothing.
    #[default]
    None,
    /// What the keys do.
    Help,
    /// Whether to stop the run.
    Quit,
    /// Whether to start the figures anew.
    Reset,
    /// How many users there are to be, as typed so far.
    Users(String),
    /// All there is to the selected row; scrolled by so many lines.
    Detail(u16),
    /// A text that somebody must read, such as a mistake in an edited plan.
    Message(String),
}

/// How the view looks at a run.
#[derive(Debug, Default)]
pub struct State {
    /// The page.
    pub tab: Tab,
    /// The selected row of each page, counted in the order on the screen.
    pub(super) selected: [usize; 7],
    /// The column that each page is sorted by, from 1; 0 is the order of the plan.
    pub(super) sorted: [usize; 7],
    /// Whether the smallest comes first.
    pub(super) rising: bool,
    /// Only rows with this in their name are shown.
    pub filter: String,
    /// Whether the filter is being typed.
    pub(super) typing: bool,
    /// What lies over the page.
    pub dialog: Dialog,
    /// The latest report that was asked for, for the pages that need more than a snapshot.
    pub report: Option<Arc<Report>>,
    /// The last thing that happened, for the line at the bottom.
    pub notice: String,
    pub(super) log: VecDeque<String>,
    pub(super) history: History,
    /// Rows of the page that was drawn last, for the keys that move by pages.
    pub(super) page_rows: usize,
}

impl State {
    /// Looks at a new snapshot.
    pub fn look(&mut self, snapshot: &Snapshot) {
        self.history.look(snapshot);
    }

    /// Whether what is on the screen comes from a report.
    pub fn shows_report(&self) -> bool {
        let on_page = matches!(
            self.tab,
            Tab::Latency | Tab::Tasks | Tab::Errors | Tab::Codes
        );
        on_page || matches!(self.dialog, Dialog::Detail(_))
    }

    /// Adds a line to the log.
    pub fn say(&mut self, line: String) {
        if self.log.len() == LOG_LINES {
            self.log.pop_front();
        }
        self.log.push_back(line);
    }

    pub(super) fn selected(&self) -> usize {
        self.selected[self.tab.index()]
    }

    pub(super) fn sorted(&self) -> usize {
        self.sorted[self.tab.index()]
    }
}
