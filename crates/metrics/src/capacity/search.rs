//! The search itself: doubles the load until a step fails, narrows the interval in between, from an estimate where there is
//! one and by halves else, and has the result confirmed. Knows of a step only its load and whether it held.

use crate::{CapacityOutcome, LoadKind, StepResult};

/// Loads whose confirming runs may fail before the search gives up.
const MOST_REFUTATIONS: usize = 8;

/// Times that a step in which lgoose itself was the limit is run: other programs may have kept it waiting.
const MOST_TOO_FAST: u32 = 3;

/// Share by which rounding may move a load.
const ROUNDING: f64 = 0.005;

/// The longest step down after a confirming run has failed, as a share of the load.
const LONGEST_DESCENT: f64 = 0.5;

/// Aims of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchAims {
    /// Kind of load that is raised.
    pub by: LoadKind,
    /// Load of the first step.
    pub from: f64,
    /// Greatest load that may be tried; `None` for no limit.
    pub to: Option<f64>,
    /// How far the result may be below the capacity, as a share of it. The interval of the result is made half as wide: the rest
    /// is left for chance, which fails a step just below the capacity.
    pub within: f64,
}

/// Steps that follow an estimate inside the interval; beyond them the interval is halved, so that a wrong estimate costs
/// little.
const MOST_ESTIMATED: u32 = 3;

/// Doublings of the load that are expected from a load whose end is not known.
const EXPECTED_DOUBLINGS: u32 = 4;

/// Steps to expect in an interval for which there is an estimate.
const ESTIMATED_STEPS: u32 = 3;

/// How much a search may still do before its time is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchTime {
    /// Steps, and the run that confirms the result.
    #[default]
    Enough,
    /// Only that run.
    ToConfirm,
    /// Nothing.
    Up,
}

/// Next action of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchAction {
    /// Run a step with this load.
    Step {
        /// Users, or iterations a second.
        load: f64,
    },
    /// Run this load for as long as a result needs to be confirmed.
    Confirm {
        /// Users, or iterations a second.
        load: f64,
    },
    /// Nothing: the search is over.
    Over(SearchEnd),
}

/// End of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchEnd {
    /// How it ended.
    pub outcome: CapacityOutcome,
    /// The greatest load that held.
    pub low: Option<f64>,
    /// The least load above it that failed.
    pub high: Option<f64>,
    /// Whether a run of its own has confirmed `low`.
    pub confirmed: bool,
}

/// Reason for trying a load within the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// It is shortly below the estimate.
    Estimate,
    /// The estimate is at one end of the interval, and this may make it narrow enough.
    Closing,
    /// It halves the interval.
    Middle,
}

/// A load that was tried, with its latest result.
#[derive(Debug, Clone, Copy)]
struct TriedLoad {
    load: f64,
    held: bool,
    /// Whether it was a confirming run that held.
    confirmed: bool,
    times: u32,
}

/// State of a search.
#[derive(Debug, Clone)]
pub struct Search {
    aims: SearchAims,
    tried: Vec<TriedLoad>,
    /// Whether steps are trusted no more: a confirming run has failed, and from then on each run is one.
    only_confirms: bool,
    refutations: usize,
    /// Steps down since the last confirming run that failed.
    descents: i32,
    /// The load at which lgoose itself was the limit the last time, and how often.
    too_fast: (f64, u32),
    aborted: Option<CapacityOutcome>,
    time: SearchTime,
    /// The estimate of the capacity, and how many steps have followed one.
    estimate: Option<f64>,
    estimated: u32,
    /// Steps in a row that were to end the search at one side of the interval.
    closings: i32,
}

impl Search {
    /// Begins a search.
    pub fn new(aims: SearchAims) -> Search {
        Search {
            aims,
            tried: Vec::new(),
            only_confirms: false,
            refutations: 0,
            descents: 0,
            too_fast: (0.0, 0),
            aborted: None,
            time: SearchTime::Enough,
            estimate: None,
            estimated: 0,
            closings: 0,
        }
    }

    /// Sets how much may still be done.
    pub fn limit(&mut self, time: SearchTime) {
        self.time = time;
    }

    /// Returns the loads between which the capacity is, once both are known. Where short steps are trusted no more and no long
    /// one has held yet, the first load is the lower one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let low = self.low().or(self.only_confirms.then_some(self.aims.from));
        low.zip(self.high())
    }

    /// Sets an estimate of the capacity within the interval, for the next step.
    pub fn estimate(&mut self, capacity: Option<f64>) {
        self.estimate = capacity;
    }

    /// Returns how many steps are to be expected before the run that confirms the result.
    pub fn expected_steps(&self) -> u32 {
        let halvings = |ratio: f64| {
            let narrow = (1.0 + self.aims.within / 2.0).ln();
            (ratio.ln() / narrow).log2().ceil().max(0.0) as u32
        };
        let doublings = |low: f64| match self.aims.to {
            Some(to) => (to / low).log2().ceil().max(0.0) as u32,
            None => {
                let done = (low / self.aims.from).log2().round().max(0.0) as u32;
                EXPECTED_DOUBLINGS.saturating_sub(done).max(1)
            }
        };
        match (self.low(), self.high()) {
            _ if self.aborted.is_some() => 0,
            (None, None) => 1 + doublings(self.aims.from) + ESTIMATED_STEPS + 1,
            (Some(low), None) => doublings(low) + ESTIMATED_STEPS + 1,
            (low, Some(high)) => {
                let low = low.unwrap_or(self.aims.from.min(high / 2.0));
                let most = self.estimate.map_or(u32::MAX, |_| ESTIMATED_STEPS);
                halvings(high / low).min(most) + u32::from(self.tried_once(high))
            }
        }
    }

    /// Returns the next action.
    pub fn next(&self) -> SearchAction {
        let over = |outcome| SearchAction::Over(self.end(outcome));
        if let Some(outcome) = self.aborted {
            return over(outcome);
        }
        let step = |load| {
            if self.only_confirms {
                SearchAction::Confirm { load }
            } else {
                SearchAction::Step { load }
            }
        };
        match (self.low(), self.high()) {
            (Some(low), high)
                if self.is_confirmed() && (self.is_time_short() || self.is_narrow(low, high)) =>
            {
                over(self.confirmed_outcome(low, high))
            }
            (Some(load), _) if self.time == SearchTime::ToConfirm => SearchAction::Confirm { load },
            _ if self.is_time_short() => over(CapacityOutcome::TimeUp),
            _ if self.tried.is_empty() => step(self.aims.from),
            (Some(low), None) => match self.aims.to {
                Some(to) if low >= to => SearchAction::Confirm { load: low },
                Some(to) => step(self.round(low * 2.0).min(to)),
                None => step(self.round(low * 2.0)),
            },
            (Some(low), Some(high)) => match self.between(low, high) {
                Some((load, _)) => step(load),
                None if self.needs_second_try(low, high) => step(high),
                None => SearchAction::Confirm { load: low },
            },
            (None, Some(high)) if high > self.aims.from => step(self.below(high)),
            (None, Some(high)) if self.tried_once(high) => step(high),
            (None, _) if self.refutations > 0 => over(CapacityOutcome::NothingHolds),
            (None, _) => over(CapacityOutcome::FirstStepFails),
        }
    }

    fn is_time_short(&self) -> bool {
        self.time != SearchTime::Enough
    }

    /// Returns whether the interval is as narrow as the search aims for.
    fn is_narrow(&self, low: f64, high: Option<f64>) -> bool {
        match high {
            Some(high) => self.between(low, high).is_none() && !self.needs_second_try(low, high),
            None => self.aims.to.is_some_and(|to| low >= to),
        }
    }

    /// Returns how a search ends whose result is confirmed.
    fn confirmed_outcome(&self, low: f64, high: Option<f64>) -> CapacityOutcome {
        match high {
            Some(high) if self.between(low, high).is_none() => CapacityOutcome::Found,
            None if self.is_narrow(low, None) => CapacityOutcome::AtLeast,
            _ => CapacityOutcome::TimeUp,
        }
    }

    /// Notes the result of a step, or of a confirming run.
    pub fn note(&mut self, done: SearchAction, result: StepResult) {
        let (load, confirms) = match done {
            SearchAction::Step { load } => (load, false),
            SearchAction::Confirm { load } => (load, true),
            SearchAction::Over(_) => return,
        };
        let interval = self.low().zip(self.high());
        let probe = interval.and_then(|(low, high)| self.between(low, high));
        if let Some((_, probe)) = probe.filter(|(at, _)| *at == load) {
            self.estimated += u32::from(probe == Probe::Estimate);
            self.closings = if probe == Probe::Closing {
                self.closings + 1
            } else {
                0
            };
        }
        match result {
            StepResult::Held => self.record(load, true, confirms),
            StepResult::Failed => self.record(load, false, false),
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
            StepResult::TooShort => self.abort(CapacityOutcome::StepsTooShort),
            StepResult::Stopped => self.abort(CapacityOutcome::Stopped),
        }
        if result != StepResult::Failed {
            return;
        }
        if confirms {
            self.refutations += 1;
            if self.refutations >= MOST_REFUTATIONS {
                self.abort(CapacityOutcome::NotConfirmed);
            }
        }
        if confirms && !self.only_confirms {
            self.only_confirms = true;
            (self.descents, self.estimated, self.closings) = (0, 0, 0);
        } else if self.low().is_none() {
            self.descents += 1;
        }
    }

    /// Ends the search.
    pub fn abort(&mut self, outcome: CapacityOutcome) {
        self.aborted.get_or_insert(outcome);
    }

    fn end(&self, outcome: CapacityOutcome) -> SearchEnd {
        let (low, high) = match outcome {
            CapacityOutcome::TimeUp if !self.is_confirmed() => self.unconfirmed(),
            _ => (self.low(), self.high()),
        };
        SearchEnd {
            outcome,
            low,
            high,
            confirmed: self.is_confirmed(),
        }
    }

    /// Returns the best interval that no run has confirmed: also of steps that are shorter than a confirming run.
    fn unconfirmed(&self) -> (Option<f64>, Option<f64>) {
        let held = |tried: &&TriedLoad| tried.held;
        let (held, failed): (Vec<&TriedLoad>, Vec<&TriedLoad>) = self.tried.iter().partition(held);
        let least = failed.iter().map(|tried| tried.load).min_by(f64::total_cmp);
        let held = held.iter().map(|tried| tried.load);
        let held = held.filter(|load| least.is_none_or(|least| *load < least));
        (held.max_by(f64::total_cmp), least)
    }

    fn record(&mut self, load: f64, held: bool, confirmed: bool) {
        let existing = self.tried.iter_mut().find(|tried| tried.load == load);
        match existing {
            Some(tried) => {
                (tried.held, tried.confirmed) = (held, confirmed);
                tried.times += 1;
            }
            None => self.tried.push(TriedLoad {
                load,
                held,
                confirmed,
                times: 1,
            }),
        }
    }

    /// Returns whether the greatest load that held did so in a confirming run.
    fn is_confirmed(&self) -> bool {
        let low = self.low();
        let mut tried = self.tried.iter();
        tried.any(|tried| Some(tried.load) == low && tried.confirmed)
    }

    /// Returns the greatest load that held, in a run long enough to be trusted.
    fn low(&self) -> Option<f64> {
        let trusted = |tried: &&TriedLoad| tried.held && (tried.confirmed || !self.only_confirms);
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

    /// Returns the load to try within the interval, and why that one; `None` if the interval is narrow enough.
    ///
    /// An estimate is tried from below, so that one that is right leaves a load that held shortly below the capacity. Next comes
    /// the load that would end the search at that side of the interval; each time that it does not, it goes twice as far. A step that
    /// would be beyond the middle halves the interval instead.
    fn between(&self, low: f64, high: f64) -> Option<(f64, Probe)> {
        let narrow = 1.0 + self.aims.within / 2.0;
        if high / low <= narrow {
            return None;
        }
        let middle = (low * high).sqrt();
        let far = 1.0 + (narrow - 1.0) * 2.0_f64.powi(self.closings);
        let (load, probe) = match self.estimate {
            Some(estimate) if estimate <= low * narrow => {
                (self.round_down(low * far).min(middle), Probe::Closing)
            }
            Some(estimate) if estimate >= high / narrow => {
                (self.round_up(high / far).max(middle), Probe::Closing)
            }
            Some(estimate) if self.estimated < MOST_ESTIMATED => {
                (self.round(estimate / narrow.sqrt()), Probe::Estimate)
            }
            Some(_) | None => (middle, Probe::Middle),
        };
        let is_within = |load: f64| load > low && load < high;
        if load != middle && is_within(load) {
            return Some((load, probe));
        }
        let middle = self.round(middle);
        is_within(middle).then_some((middle, Probe::Middle))
    }

    /// Returns whether the least load that failed has to be tried again: a pause of the site or of this machine must not decide
    /// the search. It does not where the next load that failed is as near as the search aims at.
    fn needs_second_try(&self, low: f64, high: f64) -> bool {
        let above = self
            .tried
            .iter()
            .filter(|tried| !tried.held && tried.load > high);
        let next = above.map(|tried| tried.load).min_by(f64::total_cmp);
        let near = low * (1.0 + self.aims.within / 2.0).powi(2) * (1.0 + ROUNDING);
        self.tried_once(high) && next.is_none_or(|next| next > near)
    }

    /// Returns whether a load was tried only once: that it failed may have been chance.
    fn tried_once(&self, load: f64) -> bool {
        let found = self.tried.iter().find(|tried| tried.load == load);
        found.is_some_and(|tried| tried.times == 1)
    }

    /// Returns the next load to try below one that failed, where none is known to hold: one below the estimate, else one that would
    /// make the interval narrow enough, and then twice as far each time.
    fn below(&self, high: f64) -> f64 {
        let part = (self.aims.within / 2.0 * 2.0_f64.powi((self.descents - 1).max(0)))
            .min(LONGEST_DESCENT);
        let estimate = self.estimate.filter(|_| self.descents == 0);
        let narrow = 1.0 + self.aims.within / 2.0;
        let estimate = estimate.map(|load| load / narrow.sqrt());
        let estimate = estimate.filter(|load| *load > self.aims.from && load * narrow < high);
        let load = match estimate {
            Some(estimate) => self.round(estimate),
            None => self.round_up(high / (1.0 + part)),
        };
        let smaller = match self.aims.by {
            LoadKind::Users if load >= high => high - 1.0,
            _ => load,
        };
        smaller.max(self.aims.from)
    }

    /// Returns a load that can be read and said: whole users, rates of three digits, four if the interval is narrow.
    fn round(&self, load: f64) -> f64 {
        match self.aims.by {
            LoadKind::Users => load.round().max(1.0),
            LoadKind::Rate => {
                let rounded = format!("{load:.*e}", self.digits() - 1);
                rounded.parse().unwrap_or(load)
            }
        }
    }

    /// Returns the greatest such load that is not above this one.
    fn round_down(&self, load: f64) -> f64 {
        let near = self.round(load);
        if near <= load {
            near
        } else {
            self.round(near - self.unit(load))
        }
    }

    /// Returns the least such load that is not below this one.
    fn round_up(&self, load: f64) -> f64 {
        let near = self.round(load);
        if near >= load {
            near
        } else {
            self.round(near + self.unit(load))
        }
    }

    /// Returns the distance of such loads.
    fn unit(&self, load: f64) -> f64 {
        match self.aims.by {
            LoadKind::Users => 1.0,
            LoadKind::Rate => 10.0_f64.powf(load.log10().floor() + 1.0 - self.digits() as f64),
        }
    }

    fn digits(&self) -> usize {
        if self.aims.within < 0.03 { 4 } else { 3 }
    }
}
