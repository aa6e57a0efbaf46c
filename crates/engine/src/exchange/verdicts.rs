//! Open verdicts: requests of a task or a job are counted as they ended, and finally when the plan can no longer overrule the
//! verdict on them. That is when the next operation begins or, where the plan calls `fail` or `pass`, when it has dropped the
//! response or the task ends.

use super::kind::{ExchangeOp, Facts};
use super::operation::Operation;
use super::plan_hook::{CountedExchange, report_requests};
use super::sender::{Origin, Sender};
use super::show::{show_request, show_verdict};
use lgoose_http::{CacheUse, Exchange, Session};
use lgoose_lua::{Finished, Parked, RaisedError, RequestOp, Vm};
use lgoose_metrics::{ProvisionalCounts, Recorder, RequestId, Sample, SampleFailure};
use std::cell::Cell;
use std::rc::Rc;

/// Operations of a task or a job whose verdicts are still open.
#[derive(Debug, Default)]
pub(crate) struct OpenVerdicts {
    /// The latest operation, whose requests are counted when their verdicts are final.
    pub(crate) latest: Operation,
    /// Operations before it in the same task whose verdicts the plan may still change.
    earlier: Vec<EarlierOperation>,
}

/// Operation whose verdicts are still open though another has begun.
#[derive(Debug)]
pub(crate) struct EarlierOperation {
    responses: Parked,
    operation: Operation,
}

impl OpenVerdicts {
    /// Opens the rows of requests that begin.
    pub(crate) fn open_rows(&mut self, sender: &Sender, ops: &[RequestOp]) {
        let mut before: Option<(&RequestOp, RequestId)> = None;
        for op in ops {
            let row = match before {
                _ if op.uncounted => RequestId::UNCOUNTED,
                // All requests of a fetch have the name that it was given.
                Some((before, row)) if shares_name(before, op) => row,
                _ => {
                    let row = sender.row_of(op);
                    sender.check_path(op, row);
                    row
                }
            };
            self.latest.rows.push(row);
            before = Some((op, row));
        }
        self.latest.delay = sender.take_delay();
        self.latest.base = Some(sender.session.base_target());
    }

    /// Returns whether no verdict is open.
    pub(super) fn is_empty(&self) -> bool {
        self.latest.is_empty() && self.earlier.is_empty()
    }

    /// Makes way for another operation: counts the requests of the latest one, finally unless the plan may judge them later.
    pub(crate) fn settle(&mut self, sender: &mut Sender, vm: &mut Vm) {
        if self.latest.is_empty() {
            return;
        }
        if vm.judges() {
            self.park(sender, vm);
        } else {
            self.conclude_latest(sender, vm);
        }
    }

    /// Counts all requests finally.
    pub(super) fn settle_all(&mut self, sender: &mut Sender, vm: &mut Vm) {
        if !self.earlier.is_empty() {
            let earlier = std::mem::take(&mut self.earlier);
            conclude_all(sender, vm, earlier);
        }
        if !self.latest.is_empty() {
            self.conclude_latest(sender, vm);
        }
    }

    /// Takes the operations whose verdicts the plan may still change, at the end of a job.
    pub(super) fn take_earlier(&mut self) -> Vec<EarlierOperation> {
        std::mem::take(&mut self.earlier)
    }

    /// Keeps operations of jobs that are over until their verdicts are final.
    pub(crate) fn take_over(&mut self, earlier: Vec<EarlierOperation>) {
        self.earlier.extend(earlier);
    }

    /// Counts the requests of the latest operation finally.
    fn conclude_latest(&mut self, sender: &mut Sender, vm: &mut Vm) {
        let mut cycles = sender.cycles.take();
        let (observes, shown) = (vm.observes_requests(), sender.shared.show);
        let mut counted = Vec::new();
        {
            let latest = &self.latest;
            let counting = Counting::of(sender, latest, sender.task);
            let mut recorder = sender.shared.recorder.borrow_mut();
            let mut conclude = |place: usize, finished: &Finished| {
                if let Some(cycles) = cycles.as_mut().filter(|_| finished.was_sent()) {
                    cycles.request(latest.rows[place], finished.exchange.latency);
                }
                counting.conclude(place, finished, &mut recorder);
                let (op, title) = (latest.request_at(place), counting.origin.title());
                show_verdict(shown, op, title, finished);
                if observes {
                    counted.extend(CountedExchange::of(latest, place, finished));
                }
            };
            vm.settle(&mut conclude);
            // Those of a fetch that did not come to its end.
            for (place, finished) in latest.fetched.take().iter().enumerate() {
                if let Some(finished) = finished {
                    conclude(place, finished);
                }
            }
        }
        sender.cycles = cycles;
        // The plan's function may measure, too: the recorder is not borrowed any more.
        if !counted.is_empty() {
            let mut operations = [(counted, std::mem::take(&mut self.latest))];
            report_requests(sender, vm, sender.task, &operations);
            self.latest = std::mem::take(&mut operations[0].1);
        }
        self.latest.clear();
    }

    /// Counts the requests of the latest operation as they stand, and keeps them for a later verdict.
    fn park(&mut self, sender: &mut Sender, vm: &mut Vm) {
        self.enter_latest(sender, vm);
        if let Some(cycles) = &mut sender.cycles {
            let rows = &self.latest.rows;
            vm.each_open(|place, finished| {
                if finished.was_sent() {
                    cycles.request(rows[place], finished.exchange.latency);
                }
            });
        }
        match vm.park(self.latest.held_bytes()) {
            Some(responses) => self.earlier.push(EarlierOperation {
                responses,
                operation: std::mem::take(&mut self.latest),
            }),
            None => self.latest.clear(),
        }
        if vm.needs_collection() {
            self.reclaim(sender, vm);
        }
    }

    /// Frees responses that the plan no longer holds, and counts their requests finally, since the plan can no longer overrule
    /// the verdicts on them.
    pub(crate) fn reclaim(&mut self, sender: &Sender, vm: &mut Vm) {
        if self.earlier.is_empty() {
            return vm.reclaim();
        }
        vm.collect_parts();
        vm.find_dead();
        self.conclude_dead(sender, vm);
        vm.drop_dead();
    }

    /// Frees responses that only wait to be counted, before the plan gets an error since it holds too much.
    pub(crate) fn make_room(&mut self, sender: &Sender, vm: &mut Vm) {
        if !self.earlier.is_empty() && vm.collect_if_full() {
            self.conclude_dead(sender, vm);
        }
    }

    fn conclude_dead(&mut self, sender: &Sender, vm: &mut Vm) {
        let (held, dead): (Vec<_>, Vec<_>) = std::mem::take(&mut self.earlier)
            .into_iter()
            .partition(|earlier| vm.holds(&earlier.responses));
        self.earlier = held;
        conclude_all(sender, vm, dead);
    }

    /// Keeps the latest request of a task that raised an error: the response is often the reason. Of a request that failed and
    /// so ended the task, there is an exemplar anyway.
    pub(crate) fn keep_latest(&self, sender: &Sender, vm: &mut Vm, raised: &RaisedError) {
        let Some(task) = sender.task.filter(|_| !raised.is_of_request()) else {
            return;
        };
        let counting = Counting::of(sender, &self.latest, sender.task);
        let failure = SampleFailure {
            message: &raised.message,
            line: raised.line.as_deref(),
        };
        let task = counting.origin.role.tasks[task].0;
        let recorder = &mut *sender.shared.recorder.borrow_mut();
        let last = self.latest.rows.len().checked_sub(1);
        vm.each_open(|place, finished| {
            if Some(place) == last && finished.was_sent() {
                counting.sampled(place, finished, None, |sample| {
                    recorder.keep_for_task(task, &failure, sample);
                });
            }
        });
    }

    /// Counts the requests of the latest operation as they stand: they have ended, and the plan may overrule the verdict on
    /// them later.
    pub(crate) fn enter_latest(&mut self, sender: &Sender, vm: &mut Vm) {
        let counting = Counting::of(sender, &self.latest, sender.task);
        let recorder = &mut *sender.shared.recorder.borrow_mut();
        let judges = vm.judges();
        vm.each_open(|place, finished| {
            if !finished.was_sent() {
                return;
            }
            let verdict = finished.verdict().map(std::borrow::Cow::into_owned);
            counting.sampled(place, finished, verdict.as_deref(), |sample| {
                if finished.entered.is_none() {
                    recorder.enter(sample, judges);
                }
                let failed = finished.entered.unwrap_or(verdict.is_some());
                recorder.revise(sample, &provisional(failed, finished));
            });
            finished.enter(verdict);
        });
    }
}

/// Counts the requests of earlier operations finally.
fn conclude_all(sender: &Sender, vm: &mut Vm, all: Vec<EarlierOperation>) {
    let (observes, shown) = (vm.observes_requests(), sender.shared.show);
    let mut operations = Vec::new();
    for EarlierOperation {
        responses,
        operation,
    } in all
    {
        let counting = Counting::of(sender, &operation, sender.task);
        let mut counted = Vec::new();
        let mut recorder = sender.shared.recorder.borrow_mut();
        vm.unpark(&responses, |place, finished| {
            counting.conclude(place, finished, &mut recorder);
            let (op, title) = (operation.request_at(place), counting.origin.title());
            show_verdict(shown, op, title, finished);
            if observes {
                counted.extend(CountedExchange::of(&operation, place, finished));
            }
        });
        drop(recorder);
        if !counted.is_empty() {
            operations.push((counted, operation));
        }
    }
    report_requests(sender, vm, sender.task, &operations);
}

/// Counts requests of one operation.
pub(super) struct Counting<'a> {
    operation: &'a Operation,
    session: &'a Session,
    origin: Origin<'a>,
    failed: &'a Cell<bool>,
}

impl<'a> Counting<'a> {
    /// Makes one for an operation of a task.
    pub(super) fn of(
        sender: &'a Sender,
        operation: &'a Operation,
        task: Option<usize>,
    ) -> Counting<'a> {
        Counting {
            operation,
            session: &sender.session,
            origin: sender.origin_of(task),
            failed: &sender.failed,
        }
    }

    /// Counts the request at that place finally, if it was sent.
    pub(super) fn conclude(&self, place: usize, finished: &Finished, recorder: &mut Recorder) {
        if !finished.was_sent() {
            return;
        }
        let verdict = finished.verdict();
        if verdict.is_some() {
            self.failed.set(true);
        }
        self.sampled(
            place,
            finished,
            verdict.as_deref(),
            |sample| match finished.entered {
                None => recorder.record(sample),
                Some(failed) => recorder.conclude(sample, &provisional(failed, finished)),
            },
        );
    }

    /// Passes the sample of the request at that place, with its details, to `count`.
    fn sampled(
        &self,
        place: usize,
        finished: &Finished,
        verdict: Option<&str>,
        count: impl FnOnce(&Sample<'_>),
    ) {
        let facts = self.operation.request_at(place).map(|op| Facts {
            op,
            ended: &finished.exchange,
            session: self.session,
            base: self.operation.base.as_deref(),
        });
        count(&Sample {
            context: facts.as_ref().map(|facts| self.origin.context(facts)),
            ..self.operation.sample(place, finished, verdict)
        });
    }
}

/// Returns how a request was counted before its verdict was final: whether as failed, and with which error.
fn provisional(failed: bool, finished: &Finished) -> ProvisionalCounts<'_> {
    let reported = finished.reported();
    ProvisionalCounts {
        failed,
        failure: reported.map(|(message, line)| SampleFailure { message, line }),
    }
}

/// Returns whether two requests were given the same name for one row: as one text, without tags of their own.
fn shares_name(one: &RequestOp, other: &RequestOp) -> bool {
    let names = (&one.name, &other.name);
    matches!(names, (Some(name), Some(same)) if Rc::ptr_eq(name, same))
        && one.request.method == other.request.method
        && one.uncounted == other.uncounted
        && one.tags.is_none()
        && other.tags.is_none()
}

/// Returns a request of that task with lgoose's verdict on it, which is the reason why it failed, and shows it if that is
/// requested.
pub(crate) fn judged(
    sender: &Sender,
    task: Option<usize>,
    op: &RequestOp,
    verdict: Option<String>,
    mut exchange: Box<Exchange>,
) -> Finished {
    let counter = match exchange.cache() {
        CacheUse::Nothing => None,
        CacheUse::Fresh => Some("cache: not asked for"),
        CacheUse::NotModified => Some("cache: not modified"),
    };
    if let Some(counter) = counter {
        sender.shared.recorder.borrow_mut().counter(counter, 1.0);
    }
    let origin = sender.origin_of(task);
    if let Ok(response) = &mut exchange.outcome {
        if let Some(line) = response.malformed_header() {
            count_malformed_head(sender, op, origin, line);
        }
        // Decoded, a list of small responses may take more memory than a user may have.
        response.forget_decoded();
    }
    let forgiven = op.allow_failure && exchange.outcome.is_ok();
    let failure = verdict.filter(|_| !forgiven);
    let finished = Finished::new(exchange, failure);
    show_request(sender.shared.show, op, origin.name(), &finished);
    finished
}

/// Counts a response with a malformed head, and warns of the first.
fn count_malformed_head(sender: &Sender, op: &RequestOp, origin: Origin<'_>, line: &str) {
    let recorder = &mut *sender.shared.recorder.borrow_mut();
    recorder.counter("odd heads", 1.0);
    if !sender.shared.has_shown_malformed_header.replace(true) {
        let name = op.row_name(origin.name(), sender.shared.config.request_names);
        recorder.warn(format!(
            "responses of '{} {name}' have lines in their head that break HTTP, such as '{line}': lgoose reads them \
             as browsers do; the metric 'odd heads' counts such responses",
            op.method()
        ));
    }
}
