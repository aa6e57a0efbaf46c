//! Progress of a search: prints a line for each step that is over and, on a terminal, updates a line for the current
//! step in place. All of it goes to standard error; standard output is for the result.

use super::super::screen;
use super::{aims, clock};
use crate::app::prepare::PreparedRun;
use lgoose_base::console;
use lgoose_metrics::{CapacityStep, LoadKind, Snapshot};
use lgoose_report::text;
use std::io::IsTerminal as _;
use std::time::Duration;

/// Erases the line of the current step.
const ERASE: &str = "\r\x1b[K";

/// The screen of a search.
#[derive(Debug)]
pub(super) struct SearchProgress {
    by: LoadKind,
    quiet: bool,
    /// Whether a line can be overwritten.
    in_place: bool,
}

impl SearchProgress {
    pub(super) fn new(by: LoadKind, quiet: bool) -> SearchProgress {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        SearchProgress {
            by,
            quiet,
            in_place: std::io::stderr().is_terminal() && !dumb,
        }
    }

    /// Prints the aim of the search, the time that it may take, and the headings of the columns.
    pub(super) fn print_header(&self, base: &PreparedRun, time: &str) {
        let limits: Vec<String> = base.run.config.thresholds.iter().map(aims::shown).collect();
        let (name, host) = (&base.run.name, &base.run.target);
        self.print_line(&if name.starts_with(host) {
            format!("capacity of {name}")
        } else {
            format!("capacity of {name} at {host}")
        });
        self.print_line(&format!("limits: {}", limits.join(", ")));
        self.print_line(time);
        self.print_line(&text::capacity_heading(self.by));
    }

    /// Shows the current step, and how long the search is likely to go on.
    pub(super) fn now(&self, load: f64, doing: &str, now: &Snapshot, left: Option<Duration>) {
        if self.in_place && !self.quiet {
            let left = left.map(clock::shown);
            let line = text::capacity_now(self.by, load, doing, now, left.as_deref());
            console::err().offer(format!("{ERASE}{line}").into_bytes());
        }
    }

    /// Shows a step that is over, and how long the search is likely to go on.
    pub(super) fn done(&self, step: &CapacityStep, left: Option<Duration>) {
        let left = left.map(clock::shown);
        for line in text::capacity_step(self.by, step, left.as_deref()) {
            self.print_line(&line);
        }
    }

    /// Prints a line between the steps.
    pub(super) fn print_line(&self, text: &str) {
        if self.quiet {
            return;
        }
        if self.in_place {
            console::err().put(ERASE.into());
        }
        screen::aside(text);
    }
}
