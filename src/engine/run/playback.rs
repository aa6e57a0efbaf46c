//! Replays a run that another director has led: signals, commands and orders in the order of time, each at its own
//! moment, so that the figures are those of a single director.

use crate::control::{Call, Calls, Command, Done, Refusal};
use crate::engine::protocol::directive::Phase;
use crate::engine::protocol::journal::{Moment, Past, PlanFacts, Told, What};
use crate::engine::run::director::{AFTER_SHARDS, Director, Due, TICK};
use crate::engine::run::journal::Played;
use crate::engine::run::life::Life;
use crate::error::Error;
use crate::metrics::{Cause, EventKind};
use crate::plan::Event;
use std::sync::Arc;
use std::time::Duration;

/// Age below which views are shown a moment of the past.
const RECENT: Duration = Duration::from_secs(1);

impl Director {
    /// Replays what has happened under another director, and follows that one as long as it leads the run.
    pub(crate) async fn play(&mut self, past: Past, calls: &mut Calls) -> Played {
        self.journal.next_tick = AFTER_SHARDS;
        self.journal.playing = Some(Duration::ZERO);
        let mut moments = past.moments;
        let played = loop {
            tokio::select! {
                moment = moments.recv() => match moment {
                    Some(Moment { what: What::End, .. }) => break Played::Ended,
                    Some(Moment { what: What::Failed(why), .. }) => {
                        self.depose(why);
                        break Played::Failed;
                    }
                    Some(moment) => self.live_through(moment),
                    None => break Played::Leads,
                },
                Some(call) = calls.next() => if self.watches(call) {
                    break Played::Left;
                },
            }
        };
        match played {
            Played::Leads => self.lead_on(),
            Played::Ended if self.has_test_stop() => self.store.warn(
                "the run was watched beside its manager: what test_stop measured is in the report of that".to_owned(),
            ),
            Played::Ended | Played::Left | Played::Failed => {}
        }
        played
    }

    /// Leads the run from here on.
    fn lead_on(&mut self) {
        self.follow_last_order();
        // While all workers are silent, the time in which they may come back goes on, and nothing else is due.
        let alone = self
            .workers
            .as_ref()
            .and_then(|workers| workers.alone_since);
        if alone.is_none() && self.journal.over_at.is_none() {
            self.pass_until(self.context.now());
        }
        let phase = self.directives.borrow().phase;
        if phase != Phase::Go && !self.is_stopping() {
            let why = "the run was stopping when its manager was lost, before it said why";
            self.lifecycle.note_trouble(Error::trouble(why));
            self.stop(Cause::Trouble, None);
        }
        self.journal.playing = None;
        let at = self.journal.over_at.unwrap_or_else(|| self.now());
        self.journal.note(at, || Told::TakenOver);
        self.taken_over(at);
    }

    fn taken_over(&mut self, at: Duration) {
        let text = "another manager took the run over: the one before was lost".to_owned();
        self.store.warn(text.clone());
        self.store.happened(at, EventKind::Worker, text);
    }

    fn has_test_stop(&self) -> bool {
        let directive = self.directives.borrow();
        directive
            .plan_version
            .plan
            .events
            .contains(&Event::TestStop)
    }

    /// Leaves the run to another manager.
    pub(crate) fn depose(&mut self, why: Error) {
        self.journal.deposed = true;
        self.lifecycle.note_trouble(why);
        self.stop(Cause::Trouble, None);
    }

    /// Returns whether this director has to run `test_stop`; adds a warning if another has begun it.
    pub(crate) fn may_run_test_stop(&mut self) -> bool {
        if self.journal.test_stop_begun {
            self.store.warn(
                "test_stop had begun when the manager was lost: it was not run again, and its requests are missing here"
                    .to_owned(),
            );
        }
        !(self.journal.test_stop_begun || self.journal.deposed)
    }

    /// Answers the call of somebody who watches a run that another director leads; returns whether they leave it.
    fn watches(&mut self, call: Call) -> bool {
        match call {
            Call::Command(Command::Stop | Command::Interrupt(_) | Command::Abort, reply) => {
                reply.answer(Ok(Done::Stopping));
                true
            }
            Call::Command(_, reply) => {
                reply.answer(Err(Refusal::Watched));
                false
            }
            Call::Tag(asked, reply) => {
                let _ignored = reply.send(asked.answer(&mut self.store));
                false
            }
            Call::Report(detail, reply) => {
                // Fails if nobody waits for the answer any more.
                let _ignored = reply.send(self.report_now(detail));
                false
            }
        }
    }

    /// Replays a moment, after letting the time before it pass.
    fn live_through(&mut self, Moment { at, what }: Moment) {
        self.pass_until(at);
        self.journal.playing = Some(at);
        match what {
            What::Signal(signal) => self.heed(signal),
            What::Told(told) => self.was_told(told),
            What::Order(order) => self.journal.order = Some(order),
            What::Nothing | What::End | What::Failed(_) => {}
        }
        // They came from shards of other processes: no shard here reuses them.
        self.emptied.clear();
        if self.journal.over_at.is_none() && self.is_over() {
            self.journal.over_at = Some(at);
        }
    }

    fn was_told(&mut self, told: Told) {
        match told {
            Told::Command(command) => {
                // The other director has answered it.
                let _again = self.obey(command);
            }
            Told::Stop { cause, why } => self.stop(cause, why),
            Told::PlanVersion(facts) => {
                if let Err(error) = self.adopt_for(&facts) {
                    self.lifecycle.note_trouble(error);
                }
            }
            Told::TestStop => self.journal.test_stop_begun = true,
            Told::TakenOver => self.taken_over(self.now()),
        }
    }

    fn adopt_for(&mut self, facts: &PlanFacts) -> Result<(), Error> {
        let stand_in = facts.stand_in()?;
        // The other director has taken it; only a run that is stopping refuses it.
        let _stopping = self.adopt(Arc::new(stand_in));
        Ok(())
    }

    /// Takes over the last order that workers were given: a command that reached none of them does not count. What
    /// has changed since with the passing of time stays.
    fn follow_last_order(&mut self) {
        let known = self.directives.borrow().clone();
        let number = known.plan_version.number;
        let order = self.journal.order.take();
        let Some(order) = order.filter(|order| order.plan_version == number) else {
            return;
        };
        let mut directive = order.directive(known.plan_version);
        self.measured_as(directive.measurement);
        if self.is_stopping() {
            directive.phase = known.phase;
        }
        if directive.measurement.epoch < known.measurement.epoch {
            directive.measurement = known.measurement;
        }
        directive.version = directive.version.max(known.version);
        self.tell(|told| *told = directive);
    }

    /// Lets time pass until `at`, and does all that is due on the way.
    fn pass_until(&mut self, at: Duration) {
        while self.journal.over_at.is_none() {
            let Due { end, reset, until } = self.due();
            let tick = self.journal.next_tick;
            let first = [end, reset, until].into_iter().flatten().min();
            let next = first.map_or(tick, |first| first.min(tick));
            if next > at {
                return;
            }
            self.journal.playing = Some(next);
            if end == Some(next) {
                self.stop(Cause::TimeUp, None);
            } else if reset == Some(next) {
                self.reset_at_its_time();
            } else if until == Some(next) {
                match self.lifecycle.life() {
                    Life::Stopping { .. } => self.give_up(),
                    Life::Going | Life::Aborting { .. } => {
                        self.leave_behind();
                        self.lifecycle.enter(Life::Aborting { until: None });
                    }
                }
            } else {
                self.journal.next_tick += TICK;
                if self.context.now().saturating_sub(next) < RECENT {
                    let _tick = self.show();
                } else {
                    self.let_pass()
                }
                self.look_at_time();
            }
        }
    }
}
