//! The search itself: doubles the load until a step fails, halves the interval in between until it is narrow enough, and
//! has the result confirmed. Knows of a step only its load and whether it held.

use crate::metrics::{CapacityOutcome, LoadKind, StepResult};

/// Confirming runs that may fail before the search gives up.
const MOST_REFUTATIONS: usize = 5;

/// Times that a step in which lgoose itself was the limit is run: other programs may have kept it waiting.
const MOST_TOO_FAST: u32 = 3;

/// First step down, as a share of the load, after a confirming run has failed; each further one is twice as long.
const FIRST_DESCENT: f64 = 0.05;

/// The longest such step: half of the load.
const LONGEST_DESCENT: f64 = 0.5;

/// What is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SearchAims {
    /// What is raised.
    pub by: LoadKind,
    /// Load of the first step.
    pub from: f64,
    /// Greatest load that may be tried; `None` for no limit.
    pub to: Option<f64>,
    /// How far the result may be below the capacity, as a share of it. The interval of the result is made half as wide: the rest
    /// is left for chance, which fails a step just below the capacity.
    pub within: f64,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SearchAction {
    /// Run a step with this load; a thorough one is as long as a confirming run.
    Step { load: f64, thorough: bool },
    /// Run this load once more, to confirm that it holds.
    Confirm { load: f64 },
    /// Nothing: the search is over.
    Over(SearchEnd),
}

/// End of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SearchEnd {
    /// How it ended.
    pub outcome: CapacityOutcome,
    /// The greatest load that held.
    pub low: Option<f64>,
    /// The least load above it that failed.
    pub high: Option<f64>,
    /// Whether a run of its own has confirmed `low`.
    pub confirmed: bool,
}

/// A load that was tried, with what came of it the last time.
#[derive(Debug, Clone, Copy)]
struct TriedLoad {
    load: f64,
    held: bool,
    /// Whether the step was as long as a confirming run.
    thorough: bool,
    times: u32,
}

/// State of a search.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    aims: SearchAims,
    tried: Vec<TriedLoad>,
    /// Whether short steps are trusted no more: a confirming run has failed.
    thorough: bool,
    refutations: usize,
    /// Steps down since the last confirming run that failed.
    descents: i32,
    confirmed: bool,
    /// The load at which lgoose itself was the limit the last time, and how often.
    too_fast: (f64, u32),
    /// The load whose confirming run has failed.
    refuted_at: Option<f64>,
    aborted: Option<CapacityOutcome>,
}

impl Search {
    /// Begins a search.
    pub(crate) fn new(aims: SearchAims) -> Search {
        Search {
            aims,
            tried: Vec::new(),
            thorough: false,
            refutations: 0,
            descents: 0,
            confirmed: false,
            too_fast: (0.0, 0),
            refuted_at: None,
            aborted: None,
        }
    }

    /// Returns what is to be done next.
    pub(crate) fn next(&self) -> SearchAction {
        let over = |outcome| SearchAction::Over(self.end(outcome));
        if let Some(outcome) = self.aborted {
            return over(outcome);
        }
        let step = |load| SearchAction::Step {
            load,
            thorough: self.thorough,
        };
        match (self.low(), self.high()) {
            _ if self.tried.is_empty() => step(self.aims.from),
            (Some(_), high) if self.confirmed => over(match high {
                Some(_) => CapacityOutcome::Found,
                None => CapacityOutcome::AtLeast,
            }),
            (Some(low), None) => match self.aims.to {
                Some(to) if low >= to => SearchAction::Confirm { load: low },
                Some(to) => step(self.round(low * 2.0).min(to)),
                None => step(self.round(low * 2.0)),
            },
            (Some(low), Some(high)) => match self.between(low, high) {
                Some(load) => step(load),
                None if self.tried_once(high) => step(high),
                None => SearchAction::Confirm { load: low },
            },
            (None, Some(high)) if high > self.aims.from => step(self.below(high)),
            (None, Some(high)) if self.tried_once(high) => step(high),
            (None, _) if self.refutations > 0 => over(CapacityOutcome::NothingHolds),
            (None, _) => over(CapacityOutcome::FirstStepFails),
        }
    }

    /// Notes what came of a step, or of a confirming run.
    pub(crate) fn note(&mut self, done: SearchAction, result: StepResult) {
        let (load, thorough, confirms) = match done {
            SearchAction::Step { load, thorough } => (load, thorough, false),
            SearchAction::Confirm { load } => (load, true, true),
            SearchAction::Over(_) => return,
        };
        match result {
            // A pause of the site or of this machine must not decide the search.
            StepResult::Failed if confirms && self.refuted_at != Some(load) => {
                self.refuted_at = Some(load);
                return;
            }
            StepResult::Held => self.record(load, true, thorough),
            StepResult::Failed => self.record(load, false, thorough),
            StepResult::Generator => {
                let before = if self.too_fast.0 == load {
                    self.too_fast.1
                } else {
                    0
                };
                self.too_fast = (load, before + 1);
                if before + 1 >= MOST_TOO_FAST {
                    self.abort(CapacityOutcome::Generator);
                }
                return;
            }
            _ => self.abort(CapacityOutcome::Stopped),
        }
        match (confirms, result) {
            (true, StepResult::Held) => self.confirmed = true,
            (true, StepResult::Failed) => {
                (self.thorough, self.descents) = (true, 0);
                self.refutations += 1;
                if self.refutations >= MOST_REFUTATIONS {
                    self.abort(CapacityOutcome::NotConfirmed);
                }
            }
            (false, StepResult::Failed) if self.low().is_none() => self.descents += 1,
            _ => {}
        }
    }

    /// Ends the search.
    pub(crate) fn abort(&mut self, outcome: CapacityOutcome) {
        self.aborted.get_or_insert(outcome);
    }

    fn end(&self, outcome: CapacityOutcome) -> SearchEnd {
        SearchEnd {
            outcome,
            low: self.low(),
            high: self.high(),
            confirmed: self.confirmed,
        }
    }

    fn record(&mut self, load: f64, held: bool, thorough: bool) {
        let existing = self.tried.iter_mut().find(|tried| tried.load == load);
        match existing {
            Some(tried) => {
                (tried.held, tried.thorough) = (held, thorough);
                tried.times += 1;
            }
            None => self.tried.push(TriedLoad {
                load,
                held,
                thorough,
                times: 1,
            }),
        }
    }

    /// Returns the greatest load that held, in a step long enough to be trusted.
    fn low(&self) -> Option<f64> {
        let trusted = |tried: &&TriedLoad| tried.held && (tried.thorough || !self.thorough);
        let loads = self.tried.iter().filter(trusted).map(|tried| tried.load);
        loads.max_by(f64::total_cmp)
    }

    /// Returns the least load above that which failed.
    fn high(&self) -> Option<f64> {
        let low = self.low().unwrap_or(0.0);
        let failed = self.tried.iter().filter(|tried| !tried.held);
        let loads = failed.map(|tried| tried.load).filter(|load| *load > low);
        loads.min_by(f64::total_cmp)
    }

    /// Returns the load that halves the interval; `None` if it is narrow enough.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        if high / low <= 1.0 + self.aims.within / 2.0 {
            return None;
        }
        let middle = self.round((low * high).sqrt());
        (middle > low && middle < high).then_some(middle)
    }

    /// Returns whether a load was tried only once: that it failed may have been chance.
    fn tried_once(&self, load: f64) -> bool {
        let found = self.tried.iter().find(|tried| tried.load == load);
        found.is_some_and(|tried| tried.times == 1)
    }

    /// Returns the next load to try below one that failed, where none is known to hold.
    fn below(&self, high: f64) -> f64 {
        let part = (FIRST_DESCENT * 2.0_f64.powi(self.descents)).min(LONGEST_DESCENT);
        let load = self.round(high * (1.0 - part));
        let smaller = match self.aims.by {
            LoadKind::Users if load >= high => high - 1.0,
            _ => load,
        };
        smaller.max(self.aims.from)
    }

    /// Returns a load that can be read and said: whole users, rates of three digits, four if the interval is narrow.
    fn round(&self, load: f64) -> f64 {
        let digits = if self.aims.within < 0.03 { 4 } else { 3 };
        match self.aims.by {
            LoadKind::Users => load.round().max(1.0),
            LoadKind::Rate => {
                let rounded = format!("{load:.*e}", digits - 1);
                rounded.parse().unwrap_or(load)
            }
        }
    }
}
