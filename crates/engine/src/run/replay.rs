//! Replays a run that another director has led: events, commands and orders in the order of time, each at its own
//! moment, so that the figures are those of a single director.

use crate::messages::directive::DirectivePhase;
use crate::messages::journal::{DirectorEvent, PastRun, PlanFacts, ReplayEvent, ReplayMoment};
use crate::messages::order::RunOrder;
use crate::run::director::{AFTER_SHARDS, Director, NextDue, TICK};
use crate::run::life::Life;
use lgoose_base::error::Error;
use lgoose_metrics::Cause;
use lgoose_metrics::control::{Command, ControlCall, ControlCalls, Done, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// Age below which views are shown a moment of the past.
const RECENT: Duration = Duration::from_secs(1);

/// End of a run's replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayEnd {
    /// This process leads the run from now on.
    Leads,
    /// Another has led it to its end.
    Ended,
    /// Whoever watched it has left; it goes on.
    Detached,
    /// It could not be followed any further; its end is not known.
    Failed,
}

/// A replay under way.
pub(super) struct Replay<'a> {
    director: &'a mut Director,
    /// Time of the next snapshot since the run began.
    next_tick: Duration,
    /// The last order that workers were given, as far as the replay has come.
    order: Option<RunOrder>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(director: &'a mut Director) -> Replay<'a> {
        Replay {
            director,
            next_tick: AFTER_SHARDS,
            order: None,
        }
    }

    /// Replays the moments of another director, and follows that one as long as it leads the run.
    pub(super) async fn play(mut self, past: PastRun, calls: &mut ControlCalls) -> ReplayEnd {
        self.director.journal.playing = Some(Duration::ZERO);
        let mut moments = past.moments;
        let played = loop {
            tokio::select! {
                moment = moments.recv() => match moment {
                    Some(ReplayMoment { what: ReplayEvent::End, .. }) => break ReplayEnd::Ended,
                    Some(ReplayMoment { what: ReplayEvent::Failed(why), .. }) => {
                        self.director.mark_superseded(why);
                        break ReplayEnd::Failed;
                    }
                    Some(moment) => self.replay_moment(moment),
                    None => break ReplayEnd::Leads,
                },
                Some(call) = calls.next() => if self.watches(call) {
                    break ReplayEnd::Detached;
                },
            }
        };
        match played {
            ReplayEnd::Leads => self.take_lead(),
            ReplayEnd::Ended if self.director.has_test_stop() => self.director.store.warn(
                "the run was watched beside its manager: what test_stop measured is in the report of that".to_owned(),
            ),
            ReplayEnd::Ended | ReplayEnd::Detached | ReplayEnd::Failed => {}
        }
        played
    }

    /// Leads the run from here on.
    fn take_lead(&mut self) {
        self.follow_last_order();
        // While all workers are silent, the time in which they may come back goes on, and nothing else is due.
        let alone_since = self.director.membership.workers.alone_since();
        if alone_since.is_none() && self.director.journal.over_at.is_none() {
            self.pass_until(self.director.context.now());
        }
        let phase = self.director.directives.borrow().phase;
        if phase != DirectivePhase::Go && !self.director.is_stopping() {
            let why = "the run was stopping when its manager was lost, before it said why";
            self.director.lifecycle.note_trouble(Error::trouble(why));
            self.director.stop(Cause::Trouble, None);
        }
        self.director.journal.playing = None;
        let at = self
            .director
            .journal
            .over_at
            .unwrap_or_else(|| self.director.now());
        self.director.journal.note(at, || DirectorEvent::TakenOver);
        self.director.taken_over(at);
    }

    /// Replies to the call of a view of a run that another director leads; returns whether it ends the replay.
    fn watches(&mut self, call: ControlCall) -> bool {
        match call {
            ControlCall::Command(Command::Stop | Command::Interrupt(_) | Command::Abort, reply) => {
                reply.send(Ok(Done::Stopping));
                true
            }
            ControlCall::Command(_, reply) => {
                reply.send(Err(Refusal::Watched));
                false
            }
            ControlCall::Tag(asked, reply) => {
                let _ignored = reply.send(asked.look_up(&mut self.director.store));
                false
            }
            ControlCall::Report(detail, reply) => {
                // Fails if nobody waits for the reply any more.
                let _ignored = reply.send(self.director.report_now(detail));
                false
            }
        }
    }

    /// Replays a moment, after letting the time before it pass.
    fn replay_moment(&mut self, ReplayMoment { at, what }: ReplayMoment) {
        self.pass_until(at);
        self.director.journal.playing = Some(at);
        match what {
            ReplayEvent::Event(signal) => self.director.handle(signal),
            ReplayEvent::Action(action) => self.replay_action(action),
            ReplayEvent::Order(order) => self.order = Some(order),
            ReplayEvent::Nothing | ReplayEvent::End | ReplayEvent::Failed(_) => {}
        }
        // They came from shards of other processes: no shard here reuses them.
        drop(self.director.measurements.take_emptied());
        if self.director.journal.over_at.is_none() && self.director.membership.is_over() {
            self.director.journal.over_at = Some(at);
        }
    }

    fn replay_action(&mut self, action: DirectorEvent) {
        match action {
            DirectorEvent::Command(command) => {
                // The other director has replied to it.
                let _again = self.director.execute(command);
            }
            DirectorEvent::Stop { cause, why } => self.director.stop(cause, why),
            DirectorEvent::PlanVersion(facts) => {
                if let Err(error) = self.adopt_for(&facts) {
                    self.director.lifecycle.note_trouble(error);
                }
            }
            DirectorEvent::TestStop => self.director.journal.test_stop_started = true,
            DirectorEvent::TakenOver => self.director.taken_over(self.director.now()),
        }
    }

    fn adopt_for(&mut self, facts: &PlanFacts) -> Result<(), Error> {
        let stand_in = facts.stand_in()?;
        // The other director has taken it; only a run that is stopping refuses it.
        let _stopping = self.director.adopt(Arc::new(stand_in));
        Ok(())
    }

    /// Takes over the last order that workers were given: a command that reached none of them does not count. Changes
    /// since then by the passing of time stay.
    fn follow_last_order(&mut self) {
        let current = self.director.directives.borrow().clone();
        let number = current.plan_version.number;
        let order = self.order.take();
        let Some(order) = order.filter(|order| order.plan_version == number) else {
            return;
        };
        let mut directive = order.directive(current.plan_version);
        self.director.measurements.set_start(directive.measurement);
        if self.director.is_stopping() {
            directive.phase = current.phase;
        }
        if directive.measurement.epoch < current.measurement.epoch {
            directive.measurement = current.measurement;
        }
        directive.version = directive.version.max(current.version);
        self.director.publish(|published| *published = directive);
    }

    /// Lets time pass until `at`, and does all that is due on the way.
    fn pass_until(&mut self, at: Duration) {
        while self.director.journal.over_at.is_none() {
            let NextDue { end, reset, until } = self.director.due();
            let tick = self.next_tick;
            let first = [end, reset, until].into_iter().flatten().min();
            let next = first.map_or(tick, |first| first.min(tick));
            if next > at {
                return;
            }
            self.director.journal.playing = Some(next);
            if end == Some(next) {
                self.director.stop(Cause::TimeUp, None);
            } else if reset == Some(next) {
                self.director.measurements.reset_at_its_time();
            } else if until == Some(next) {
                match self.director.lifecycle.life() {
                    Life::Stopping { .. } => self.director.cut_off_late_tasks(),
                    Life::Going | Life::Aborting { .. } => {
                        self.director.give_up_late_shards();
                        self.director
                            .lifecycle
                            .enter(Life::Aborting { until: None });
                    }
                }
            } else {
                self.next_tick += TICK;
                if self.director.context.now().saturating_sub(next) < RECENT {
                    let _tick = self.director.show();
                } else {
                    self.director.skip_snapshot()
                }
                self.director.on_tick();
            }
        }
    }
}
