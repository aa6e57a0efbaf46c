//! Counts the requests of a task: first as they ended, then finally when the plan can no longer overrule the verdict
//! on them. That is when the next operation begins or, where the plan calls `fail` or `pass`, when it has dropped the
//! response or the task ends.

use crate::engine::user::User;
use crate::engine::user::hearing::Heard;
use crate::engine::user::open_requests::{
    EarlierOperation, Identity, LatestOperation, RequestOutcome,
};
use crate::engine::user::show::show_verdict;
use crate::http::Session;
use crate::lua::{Finished, RequestOp};
use crate::metrics::{Entered, Failure, Recorder, Sample};
use std::time::Instant;

impl User {
    /// Makes way for another operation: counts the requests of the latest one, finally unless the plan may judge them
    /// later.
    pub(crate) fn settle(&mut self) {
        if self.open.is_empty() {
            return;
        }
        if self.vm.judges() {
            self.park()
        } else {
            self.conclude_open()
        }
    }

    /// Counts all requests of the task finally.
    pub(crate) fn settle_all(&mut self) {
        if !self.earlier.is_empty() {
            let earlier = std::mem::take(&mut self.earlier);
            self.conclude_all(earlier);
        }
        if !self.open.is_empty() {
            self.conclude_open();
        }
    }

    /// Counts all requests of a user that is cut off. The plan is told of them as long as that takes no more than the time
    /// of one task for all users of the shard: a run that is aborted ends soon.
    pub(crate) fn settle_cut_off(&mut self) {
        let is_open = !self.open.is_empty() || !self.earlier.is_empty();
        if !is_open || !self.vm.hears_requests() {
            return self.settle_all();
        }
        let (begin, before) = (Instant::now(), self.shared.told_late.get());
        if before > self.shared.config.lua_time {
            self.vm.stop_hearing();
            let told = "on(\"request\") was not called for all requests of users that were cut off: it takes too long";
            self.shared.recorder.borrow_mut().warn(told.to_owned());
        }
        self.settle_all();
        self.shared.told_late.set(before + begin.elapsed());
    }

    /// Counts the requests of the latest operation finally.
    fn conclude_open(&mut self) {
        let open = &self.open;
        let conclusion = Conclusion {
            asked: open,
            session: &self.session,
            identity: Identity::of(self.number, &self.role, self.task),
        };
        let cycles = &mut self.cycles;
        let (hears, shown) = (self.vm.hears_requests(), self.shared.show);
        let mut heard = Vec::new();
        let mut recorder = self.shared.recorder.borrow_mut();
        self.vm.settle(|place, finished| {
            if let Some(cycles) = cycles.as_mut().filter(|_| finished.was_asked()) {
                cycles.request(open.rows[place], finished.exchange.latency);
            }
            conclusion.of(place, finished, &mut recorder);
            show_verdict(
                shown,
                open.asked(place),
                conclusion.identity.task(),
                finished,
            );
            if hears && finished.was_asked() {
                heard.push(Heard::of(place, finished));
            }
        });
        // The plan's function may measure, too.
        drop(recorder);
        if !heard.is_empty() {
            let mut told = [(heard, std::mem::take(&mut self.open))];
            self.tell_plan(&told);
            self.open = std::mem::take(&mut told[0].1);
        }
        self.open.clear();
    }

    /// Counts the requests of earlier operations finally.
    fn conclude_all(&mut self, all: Vec<EarlierOperation>) {
        let mut told = Vec::new();
        for earlier in all {
            let (heard, asked) = self.conclude(earlier);
            if !heard.is_empty() {
                told.push((heard, asked));
            }
        }
        self.tell_plan(&told);
    }

    /// Counts the requests of an earlier operation finally; returns what the plan is to be told of them.
    fn conclude(&mut self, earlier: EarlierOperation) -> (Vec<Heard>, LatestOperation) {
        let conclusion = Conclusion {
            asked: &earlier.asked,
            session: &self.session,
            identity: Identity::of(self.number, &self.role, self.task),
        };
        let (hears, shown) = (self.vm.hears_requests(), self.shared.show);
        let mut heard = Vec::new();
        let mut recorder = self.shared.recorder.borrow_mut();
        self.vm.unpark(&earlier.responses, |place, finished| {
            conclusion.of(place, finished, &mut recorder);
            let op = earlier.asked.asked(place);
            show_verdict(shown, op, conclusion.identity.task(), finished);
            if hears && finished.was_asked() {
                heard.push(Heard::of(place, finished));
            }
        });
        drop(recorder);
        (heard, earlier.asked)
    }

    /// Counts the requests of the latest operation as they stand, and keeps them for a later verdict.
    fn park(&mut self) {
        self.enter_open();
        if let Some(cycles) = &mut self.cycles {
            let rows = &self.open.rows;
            self.vm.each_open(|place, finished| {
                if finished.was_asked() {
                    cycles.request(rows[place], finished.exchange.latency);
                }
            });
        }
        match self.vm.park(self.open.held_bytes()) {
            Some(responses) => self.earlier.push(EarlierOperation {
                responses,
                asked: std::mem::take(&mut self.open),
            }),
            None => self.open.clear(),
        }
        if self.vm.wants_collection() {
            self.reclaim();
        }
    }

    /// Frees what the plan no longer holds, and counts those requests finally: nobody can overrule the verdict on
    /// them.
    pub(crate) fn reclaim(&mut self) {
        if self.earlier.is_empty() {
            return self.vm.reclaim();
        }
        self.vm.find_dead();
        self.conclude_dead();
        self.vm.drop_dead();
    }

    /// Frees responses that only wait to be counted, before the plan is told that it holds too much.
    pub(crate) fn make_room(&mut self) {
        if !self.earlier.is_empty() && self.vm.collect_if_full() {
            self.conclude_dead();
        }
    }

    fn conclude_dead(&mut self) {
        let (held, dead): (Vec<_>, Vec<_>) = std::mem::take(&mut self.earlier)
            .into_iter()
            .partition(|earlier| self.vm.holds(&earlier.responses));
        self.earlier = held;
        self.conclude_all(dead);
    }

    /// Counts the requests of the latest operation as they stand: they have ended, and the plan may overrule the
    /// verdict on them later.
    pub(crate) fn enter_open(&mut self) {
        let open = &self.open;
        let session = &*self.session;
        let identity = Identity::of(self.number, &self.role, self.task);
        let recorder = &mut *self.shared.recorder.borrow_mut();
        self.vm.each_open(|place, finished| {
            if !finished.was_asked() {
                return;
            }
            let verdict = finished.verdict().map(std::borrow::Cow::into_owned);
            let sample = sample(open, place, finished, verdict.as_deref());
            if finished.entered.is_none() {
                recorder.enter(&sample);
            }
            let failed = finished.entered.unwrap_or(sample.failure.is_some());
            let told = told(open, session, open.asked(place), finished);
            let sample = Sample {
                context: told
                    .as_ref()
                    .map(|told| identity.context(finished.exchange.connection, told)),
                ..sample
            };
            recorder.revise(&sample, &before(failed, finished));
            let line = finished.line.clone();
            finished.entered = Some(verdict.is_some());
            finished.told = verdict.map(|message| Box::new((message, line)));
        });
    }
}

/// What the requests of an operation are counted with.
struct Conclusion<'a> {
    asked: &'a LatestOperation,
    session: &'a Session,
    identity: Identity<'a>,
}

impl Conclusion<'_> {
    fn of(&self, place: usize, finished: &Finished, recorder: &mut Recorder) {
        if !finished.was_asked() {
            return;
        }
        let told = told(self.asked, self.session, self.asked.asked(place), finished);
        let verdict = finished.verdict();
        let sample = Sample {
            context: told
                .as_ref()
                .map(|told| self.identity.context(finished.exchange.connection, told)),
            ..sample(self.asked, place, finished, verdict.as_deref())
        };
        match finished.entered {
            None => recorder.record(&sample),
            Some(failed) => recorder.conclude(&sample, &before(failed, finished)),
        }
    }
}

/// Returns the sample of a request that has ended, with the verdict on it as it stands.
pub(super) fn sample<'a>(
    open: &LatestOperation,
    place: usize,
    finished: &'a Finished,
    verdict: Option<&'a str>,
) -> Sample<'a> {
    let exchange = &finished.exchange;
    Sample {
        request: open.rows[place],
        begin: exchange.begin.into_std(),
        latency: exchange.latency,
        delay: open.delay,
        phases: exchange.timings,
        status: finished.status(),
        redirects: exchange.redirects,
        retries: exchange.retries,
        bytes: exchange.bytes,
        failure: verdict.map(|message| Failure {
            message,
            line: finished.line.as_deref(),
        }),
        context: None,
    }
}

/// Returns the facts about a request for logs and exemplars.
fn told<'a>(
    open: &'a LatestOperation,
    session: &'a Session,
    op: Option<&'a RequestOp>,
    finished: &'a Finished,
) -> Option<RequestOutcome<'a>> {
    Some(RequestOutcome {
        session,
        base: open.base.as_deref(),
        op: op?,
        finished: Some(finished),
        trace: finished.exchange.trace.as_deref(),
    })
}

/// Returns how a request was counted, whether as failed and with which error.
fn before(failed: bool, finished: &Finished) -> Entered<'_> {
    let told = finished.told.as_deref();
    Entered {
        failed,
        told: told.map(|(message, line)| Failure {
            message,
            line: line.as_deref(),
        }),
    }
}
