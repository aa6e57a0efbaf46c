//! The iterations of a step: whether as many end as start, and whether more and more are under way.
//!
//! Until as many end as start, requests that come late in an iteration are not part of the load yet, so that a site seems to
//! hold more than it does. Knows neither requests nor limits.

use super::trend::{Trend, trend};
use lgoose_base::units::show_long;
use std::time::Duration;

/// Share of the due iterations that have to end.
const LEAST_ENDED: f64 = 0.95;

/// Starts of iterations below which nothing is said of how many of them end.
const FEWEST_STARTS: f64 = 20.0;

/// Iterations by which the number under way has to change before that matters.
const MATTERS: f64 = 5.0;

/// Iterations of one scenario since the figures of a step began to count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IterationCounts {
    /// Iterations that have to end: in a search by rate those that were started, in one by users one of each user.
    pub due: f64,
    /// Iterations that have ended.
    pub ended: u64,
}

/// Iterations at one moment of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepIterations<'a> {
    /// Those of each scenario since the figures began to count.
    pub scenarios: &'a [IterationCounts],
    /// Iterations under way.
    pub under_way: f64,
    /// Iterations of all scenarios that have ended since the figures began to count, and in which something failed.
    pub failed: u64,
}

/// A step that was over before as many iterations ended as started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortStep {
    /// How long it lasted.
    pub lasted_s: f64,
    /// How long iterations took that ended, if any did.
    pub iteration_s: Option<f64>,
    /// How long the declared pauses of an iteration are.
    pub pauses_s: f64,
    /// How much of a step is judged at least.
    pub judged_s: f64,
    /// Whether an option limits how long steps last.
    pub has_limit: bool,
}

impl ShortStep {
    /// Returns how long an iteration takes, and how long steps have to be.
    pub fn advice(&self) -> String {
        let shown = |seconds: f64| show_long(Duration::from_secs_f64(seconds.max(0.0)));
        let least_s = self.lasted_s.max(self.iteration_s.unwrap_or(0.0));
        let (takes, known_s) = if self.pauses_s > least_s {
            (
                format!("about {}", shown(self.pauses_s)),
                Some(self.pauses_s),
            )
        } else {
            (
                format!("{} or more", shown(least_s)),
                self.iteration_s.map(|_| least_s),
            )
        };
        // Some room for iterations that take longer, in a number that is easily read.
        let needed_s =
            |iteration_s: f64| ((iteration_s * 1.25 + self.judged_s * 2.0) / 10.0).ceil() * 10.0;
        let longer = known_s.map(|known_s| {
            let needed = shown(needed_s(known_s));
            format!("let steps last {needed} ('--step-time-max {needed}')")
        });
        let free = self.has_limit.then(|| {
            "leave '--step-time-max' out, and steps last as long as iterations need".to_owned()
        });
        let remedies: Vec<String> = longer.into_iter().chain(free).collect();
        let remedy = if remedies.is_empty() {
            "let iterations end sooner, or steps last longer ('--step-time-max')".to_owned()
        } else {
            remedies.join(", or ")
        };
        format!("an iteration takes {takes}: {remedy}")
    }
}

impl StepIterations<'_> {
    /// Returns how many iterations were due and how many have ended, in all scenarios.
    pub fn totals(&self) -> (f64, u64) {
        totals(self.scenarios)
    }
}

/// Course of the iterations since the figures of a step began to count, second by second.
#[derive(Debug, Clone, Default)]
pub(super) struct IterationFlow {
    seconds: Vec<(f64, Vec<IterationCounts>)>,
    under_way: Vec<f64>,
}

impl IterationFlow {
    /// Notes the state after so many seconds.
    pub(super) fn note(&mut self, seconds: f64, now: &StepIterations<'_>) {
        if self
            .seconds
            .last()
            .is_some_and(|(last, _)| *last >= seconds)
        {
            return;
        }
        self.seconds.push((seconds, now.scenarios.to_vec()));
        self.under_way.push(now.under_way);
    }

    /// Returns how many iterations were due and how many have ended.
    pub(super) fn totals(&self) -> (f64, u64) {
        let last = self.seconds.last().map(|(_, scenarios)| &scenarios[..]);
        totals(last.unwrap_or_default())
    }

    /// Returns whether enough iterations were started to say whether they end as fast.
    pub(super) fn has_enough_starts(&self) -> bool {
        self.totals().0 >= FEWEST_STARTS
    }

    /// Returns whether as many have ended as were due, in every scenario, but for chance.
    pub(super) fn is_balanced(&self) -> bool {
        let last = self.seconds.last();
        last.is_none_or(|(_, scenarios)| are_balanced(scenarios))
    }

    /// Returns the same for the last `stretch_s` seconds alone, or for more if these have too few starts; false if there are
    /// fewer.
    pub(super) fn is_balanced_lately(&self, stretch_s: f64) -> bool {
        let Some((now, last)) = self.seconds.last() else {
            return false;
        };
        let since = |before: &[IterationCounts]| -> Vec<IterationCounts> {
            let both = last.iter().zip(before);
            both.map(|(now, before)| IterationCounts {
                due: now.due - before.due,
                ended: now.ended.saturating_sub(before.ended),
            })
            .collect()
        };
        let stretches = self.seconds.iter().rev();
        let mut stretches = stretches.filter(|(at, _)| *at <= now - stretch_s);
        let enough = stretches.find_map(|(_, before)| {
            let since = since(before);
            (totals(&since).0 >= FEWEST_STARTS).then_some(since)
        });
        enough.is_some_and(|since| are_balanced(&since))
    }

    /// Returns the trend of the number under way.
    pub(super) fn trend(&self) -> Trend {
        trend(&self.under_way, MATTERS)
    }
}

/// Returns whether as many have ended as were due: the number that ends in some time varies by the square root of the number
/// that is due, if the iterations start independently of each other, and by less at equal distances.
fn are_balanced(scenarios: &[IterationCounts]) -> bool {
    let (due, ended) = totals(scenarios);
    let is_balanced =
        |one: &IterationCounts| one.ended as f64 >= LEAST_ENDED * one.due - one.due.max(0.0).sqrt();
    (ended > 0 || due < 1.0) && scenarios.iter().all(is_balanced)
}

fn totals(scenarios: &[IterationCounts]) -> (f64, u64) {
    scenarios.iter().fold((0.0, 0), |(due, ended), one| {
        (due + one.due, ended + one.ended)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the flow of so many starts a second, of iterations that take so many seconds, from `from` to `to` seconds after
    /// the first start.
    fn flow(rate: f64, took_s: f64, from: u32, to: u32) -> IterationFlow {
        let ended = |at: f64| (rate * (at - took_s).max(0.0)).floor();
        let mut flow = IterationFlow::default();
        let begin = f64::from(from);
        for second in from + 1..=to {
            let at = f64::from(second);
            let counts = [IterationCounts {
                due: rate * (at - begin),
                ended: (ended(at) - ended(begin)) as u64,
            }];
            let now = StepIterations {
                scenarios: &counts,
                under_way: rate * at - ended(at),
                failed: 0,
            };
            flow.note(at - begin, &now);
        }
        flow
    }

    #[test]
    fn as_many_end_as_start_once_the_first_have_ended() {
        assert!(!flow(10.0, 120.0, 3, 33).is_balanced());
        assert!(!flow(10.0, 120.0, 110, 130).is_balanced());
        assert!(flow(10.0, 120.0, 120, 130).is_balanced());
        assert!(flow(10.0, 0.05, 3, 13).is_balanced());
    }

    #[test]
    fn the_end_of_a_stretch_is_balanced_before_the_whole() {
        let flow = flow(10.0, 60.0, 3, 75);
        assert!(!flow.is_balanced() && flow.is_balanced_lately(10.0));
        assert!(!flow.is_balanced_lately(40.0) && !flow.is_balanced_lately(90.0));
    }

    #[test]
    fn thirty_starts_and_eleven_ends_are_no_balance_and_a_few_starts_say_nothing() {
        let counts = |due, ended| [IterationCounts { due, ended }];
        assert!(!are_balanced(&counts(30.0, 11)));
        assert!(are_balanced(&counts(30.0, 25)), "chance");
        assert!(!are_balanced(&counts(1.0, 0)), "nothing has ended");
        assert!(!flow(1.0, 0.1, 3, 13).has_enough_starts());
        assert!(flow(1.0, 0.1, 3, 23).has_enough_starts());
    }

    #[test]
    fn a_scenario_whose_iterations_take_longer_is_waited_for() {
        let counts = |ended| {
            [(180.0, 180), (20.0, ended)].map(|(due, ended)| IterationCounts { due, ended })
        };
        assert!(!are_balanced(&counts(0)));
        assert!(are_balanced(&counts(18)));
    }

    #[test]
    fn a_step_that_was_too_short_says_how_long_it_has_to_be_as_far_as_that_is_known() {
        let nothing = ShortStep {
            lasted_s: 90.0,
            iteration_s: None,
            pauses_s: 0.0,
            judged_s: 10.0,
            has_limit: true,
        };
        let free = "leave '--step-time-max' out, and steps last as long as iterations need";
        assert_eq!(
            nothing.advice(),
            format!("an iteration takes 1m30s or more: {free}")
        );
        let declared = ShortStep {
            pauses_s: 120.0,
            ..nothing
        };
        assert_eq!(
            declared.advice(),
            format!(
                "an iteration takes about 2m: let steps last 2m50s ('--step-time-max 2m50s'), or {free}"
            )
        );
        let ended = ShortStep {
            iteration_s: Some(60.0),
            has_limit: false,
            ..nothing
        };
        assert_eq!(
            ended.advice(),
            "an iteration takes 1m30s or more: let steps last 2m20s ('--step-time-max 2m20s')"
        );
        let endless = ShortStep {
            has_limit: false,
            ..nothing
        };
        assert!(
            endless
                .advice()
                .ends_with("let iterations end sooner, or steps last longer ('--step-time-max')")
        );
    }

    #[test]
    fn a_number_under_way_that_grows_is_a_trend() {
        assert_eq!(flow(10.0, 0.05, 3, 33).trend(), Trend::Steady);
        assert_eq!(flow(10.0, 120.0, 3, 33).trend(), Trend::Rising);
    }
}
