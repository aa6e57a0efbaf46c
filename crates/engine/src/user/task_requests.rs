//! Requests of a user's task: opened, counted as they ended, then finally when the plan can no longer overrule the
//! verdict on them. That is when the next operation begins or, where the plan calls `fail` or `pass`, when it has
//! dropped the response or the task ends. Knows neither when users run nor how requests are sent.

use crate::messages::context::cadence;
use crate::user::back_off::BackOff;
use crate::user::finished_call::{CallOutcome, FinishedCall};
use crate::user::naming::{call_name, host_of, row_name};
use crate::user::open_exchange::OpenExchange;
use crate::user::open_requests::{EarlierOperation, LatestOperation, RequestOrigin};
use crate::user::open_sockets::{self, OpenSockets};
use crate::user::open_stream::{OpenStream, OpenStreams};
use crate::user::plan_hook::{CountedRequest, report_call_to_plan, report_to_plan};
use crate::user::role::ScenarioContext;
use crate::user::shared::ShardState;
use crate::user::show::{show, show_call, show_verdict};
use crate::user::stop::StopSignal;
use lgoose_base::error::NOT_AS_EXPECTED;
use lgoose_base::tags::Tags;
use lgoose_http::{CacheUse, Exchange, Failure, Session};
use lgoose_lua::{ExchangeEnd, Finished, RaisedError, RequestOp, ResponseStream, Vm};
use lgoose_metrics::{
    Cycles, ProvisionalCounts, Recorder, RequestId, Sample, SampleFailure, TagsId, Traffic,
};
use lgoose_plan::config::RequestNames;
use lgoose_protocols::{CallOp, OpenSocket};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Requests of the task that a user runs.
#[derive(Debug)]
pub(super) struct TaskRequests {
    pub(super) shared: Rc<ShardState>,
    pub(super) session: Rc<Session>,
    back_off: Rc<BackOff>,
    pub(super) role: Rc<ScenarioContext>,
    /// Number of the user as the plan counts, from 1; 0 runs an event.
    number: u64,
    /// Index of the task that runs; `None` in an event.
    pub(super) task: Option<usize>,
    /// The latest operation, whose requests are counted when their verdicts are final.
    pub(super) open: LatestOperation,
    /// Operations before it in the same task whose verdicts the plan may still change.
    earlier: Vec<EarlierOperation>,
    /// Requests whose responses the plan reads while they come, in its task or a job.
    pub(super) streams: OpenStreams,
    /// Exchanges that the task has begun and not ended, and the number of all that it has begun.
    exchanges: Vec<OpenExchange>,
    exchange_count: u64,
    /// Sockets on which the plan speaks a protocol of its own.
    pub(super) sockets: OpenSockets,
    /// Delay of the iteration in a run at a rate; zero once a request has counted it.
    pub(super) delay: Rc<Cell<Option<Duration>>>,
    /// Whether something has failed in the iteration.
    pub(super) failed: Rc<Cell<bool>>,
    /// Cycles of the user, if requests that it could not make are to be filled in.
    pub(super) cycles: Option<Box<Cycles>>,
}

impl TaskRequests {
    pub(super) fn new(
        number: u64,
        role: Rc<ScenarioContext>,
        session: Rc<Session>,
        shared: Rc<ShardState>,
    ) -> TaskRequests {
        let warns = shared.config.co_wanted;
        let cycles = cadence(&shared.config);
        TaskRequests {
            cycles: cycles.map(|cadence| Box::new(Cycles::new(cadence, warns))),
            shared,
            session,
            back_off: Rc::default(),
            role,
            number,
            task: None,
            open: LatestOperation::default(),
            earlier: Vec::new(),
            streams: OpenStreams::default(),
            exchanges: Vec::new(),
            exchange_count: 0,
            sockets: OpenSockets::default(),
            delay: Rc::default(),
            failed: Rc::default(),
        }
    }

    /// Returns those of a job that the task begins. What the user has open, and the pauses before a host that is down, they
    /// share. The cycles of the user are those of its tasks alone.
    pub(super) fn of_job(&self) -> TaskRequests {
        TaskRequests {
            shared: self.shared.clone(),
            session: self.session.clone(),
            back_off: self.back_off.clone(),
            role: self.role.clone(),
            number: self.number,
            task: self.task,
            open: LatestOperation::default(),
            earlier: Vec::new(),
            streams: self.streams.clone(),
            exchanges: Vec::new(),
            exchange_count: 0,
            sockets: self.sockets.clone(),
            delay: self.delay.clone(),
            failed: self.failed.clone(),
            cycles: None,
        }
    }

    /// Returns the delay that the operation has which begins.
    fn take_delay(&self) -> Option<Duration> {
        let delay = self.delay.get();
        self.delay.set(delay.map(|_| Duration::ZERO));
        delay
    }

    /// Returns who makes the current requests.
    pub(super) fn identity(&self) -> RequestOrigin<'_> {
        RequestOrigin::of(self.number, &self.role, self.task)
    }

    /// Waits if connections to the host of a URL failed; returns how long it waited. An empty host is that of the session.
    pub(super) async fn back_off(&self, host: &str) -> Duration {
        if self.back_off.is_idle() {
            return Duration::ZERO;
        }
        let (timers, recoveries) = (&self.shared.timers, &self.shared.recoveries);
        let base = self.session.base_target();
        let host = host_or(host, &base.origin.text);
        self.back_off.pass(host, timers, recoveries).await
    }

    /// Waits for the user's turn under limits on the rate, at most until it is told to stop by that signal, which gives the
    /// turn up. Returns how long it waited; `None` if it gave up.
    pub(super) async fn pass_throttles(&self, stop: Option<&StopSignal>) -> Option<Duration> {
        let limits = &self.role.limits;
        if !self.shared.has_throttle(limits) {
            return Some(Duration::ZERO);
        }
        let turn = self.shared.pass_throttles(limits);
        let Some(stop) = stop else {
            return Some(turn.await);
        };
        tokio::select! {
            biased;
            waited = turn => Some(waited),
            () = stop.requested() => None,
        }
    }

    /// Decides by how a request to the host of a URL has ended how long the user waits before its next one there.
    pub(super) fn responded(&self, host: &str, failure: Option<&Failure>) {
        let recoveries = &self.shared.recoveries;
        if failure.is_none() && self.back_off.is_idle() && !recoveries.has_waiting() {
            return;
        }
        let base = self.session.base_target();
        let host = host_or(host, &base.origin.text);
        self.back_off.record(host, failure, recoveries);
    }

    /// Makes the next pause before a request to the site as long as it gets.
    #[cfg(test)]
    pub(super) fn has_failed_for_long(&self) {
        let base = self.session.base_target();
        self.back_off.has_failed_for_long(&base.origin.text);
    }

    /// Takes a pause of the user out of its cycle.
    pub(super) fn paused(&mut self, time: Duration) {
        if let Some(cycles) = &mut self.cycles {
            cycles.pause(time);
        }
    }

    /// Opens the rows of requests that begin. The delay of a late start belongs to the first request after it, or to
    /// all that are sent side by side first. Later requests begin when the plan gets there: what delayed it is in the
    /// figures already.
    pub(super) fn open_rows(&mut self, ops: &[RequestOp], task: &str) {
        let mut before: Option<(&RequestOp, RequestId)> = None;
        for op in ops {
            let row = match before {
                // All requests of a fetch have the name that it was given.
                Some((before, row)) if shares_name(before, op) => row,
                _ => self.row_of(op, task),
            };
            self.open.rows.push(row);
            before = Some((op, row));
        }
        self.open.delay = self.take_delay();
        self.open.base = Some(self.session.base_target());
    }

    /// Returns a request with lgoose's verdict on it, which is why it failed, and shows it if that is asked for.
    pub(super) fn judged(
        &self,
        op: &RequestOp,
        verdict: Option<String>,
        task: &str,
        mut exchange: Exchange,
    ) -> Finished {
        let counter = match exchange.cache() {
            CacheUse::Nothing => None,
            CacheUse::Fresh => Some("cache: not asked for"),
            CacheUse::NotModified => Some("cache: not modified"),
        };
        if let Some(counter) = counter {
            self.shared.recorder.borrow_mut().counter(counter, 1.0);
        }
        if let Ok(response) = &mut exchange.outcome {
            if let Some(line) = response.malformed_header() {
                self.count_odd_head(op, task, line);
            }
            // Decoded, a list of small responses may take more memory than a user may have.
            response.forget_decoded();
        }
        let forgiven = op.allow_failure && exchange.outcome.is_ok();
        let failure = verdict.filter(|_| !forgiven);
        let finished = Finished::new(exchange, failure);
        show(self.shared.show, op, task, &finished);
        finished
    }

    /// Counts a response whose head has an odd line, and warns of the first.
    fn count_odd_head(&self, op: &RequestOp, task: &str, line: &str) {
        let recorder = &mut *self.shared.recorder.borrow_mut();
        recorder.counter("odd heads", 1.0);
        if !self.shared.has_shown_odd_line.replace(true) {
            let name = row_name(op, task, self.shared.config.request_names);
            recorder.warn(format!(
                "responses of '{} {name}' have lines in their head that break HTTP, such as '{line}': lgoose reads them \
                 as browsers do; the metric 'odd heads' counts such responses",
                op.request.method
            ));
        }
    }

    /// Returns the row in which a request is counted: under its own name, else the task's or its path without the
    /// query. Its tags are the task's and its own.
    fn row_of(&self, op: &RequestOp, task: &str) -> RequestId {
        if op.uncounted {
            return RequestId::UNCOUNTED;
        }
        let names = self.shared.config.request_names;
        let name = row_name(op, task, names);
        let method = op.request.method.as_str();
        let recorder = &mut *self.shared.recorder.borrow_mut();
        let tags = self.tags_of(op.tags.as_deref(), recorder);
        let row = recorder.tagged_request(method, &name, tags);
        // What an event sets up is no page of the load.
        if op.name.is_none() && names == RequestNames::Task && self.task.is_some() {
            let mixed = self.shared.paths.borrow_mut().differs(row, &op.request.url);
            // Users of other threads may have met other paths of the row.
            let key = || format!("paths of {method} {name}");
            if let Some([one, other]) = mixed
                && self.role.program.claim_warning(&key())
            {
                recorder.warn(format!(
                    "the row '{method} {name}' counts requests of several paths, such as {one} and {other}: name them, \
                     as in user:get(path, {{ name = \"cart\" }}), or set plan {{ request_names = \"path\" }}"
                ));
            }
        }
        row
    }

    /// Returns the tags of a request that has these of its own.
    fn tags_of(&self, own: Option<&Tags>, recorder: &mut Recorder) -> TagsId {
        match (own, self.task) {
            (None, task) => {
                let tags = task.and_then(|task| self.role.tags.get(task));
                tags.copied().unwrap_or_default()
            }
            (Some(own), task) => {
                recorder.tags(&self.role.scenario.tags_of_request(task, Some(own)))
            }
        }
    }

    /// Returns the row in which a call that begins is counted, and the delay of its start.
    pub(super) fn open_call(&mut self, op: &CallOp, task: &str) -> (RequestId, Option<Duration>) {
        let name = call_name(op, task, self.shared.config.request_names);
        let recorder = &mut *self.shared.recorder.borrow_mut();
        let tags = self.tags_of(op.tags.as_deref(), recorder);
        let row = recorder.tagged_request(op.call.kind(), name, tags);
        (row, self.take_delay())
    }

    /// Begins an exchange that the plan carries out; returns its number.
    pub(super) fn begin_exchange(&mut self, op: Box<CallOp>, is_timed: bool, task: &str) -> u64 {
        self.exchange_count += 1;
        let number = self.exchange_count;
        let row = self.open_call(&op, task);
        let open = OpenExchange::begin((number, is_timed), op, row, &self.shared);
        self.exchanges.push(open);
        number
    }

    /// Returns whether a function of the plan is being timed.
    pub(super) fn times_function(&self) -> bool {
        self.exchanges.iter().any(|open| open.is_timed)
    }

    /// Returns how many streams and sockets the user has open.
    pub(super) fn open_channels(&self) -> usize {
        let sockets = if self.sockets.is_empty() {
            0
        } else {
            self.sockets.count(&mut self.shared.recorder.borrow_mut())
        };
        self.streams.len() + sockets
    }

    /// Counts what has flowed over a socket.
    pub(super) fn count_socket(&self, socket: &OpenSocket) {
        open_sockets::count(socket, &mut self.shared.recorder.borrow_mut());
    }

    /// Notes that a socket has failed: that is the failure of the function that is being timed, or else one of the socket's
    /// own row, unless it is no fault by itself.
    pub(super) fn socket_failed(
        &mut self,
        vm: &mut Vm,
        (socket, failure, is_fault): (&OpenSocket, &Failure, bool),
        start: tokio::time::Instant,
        task: &str,
    ) {
        let timed = self.exchanges.iter_mut().rfind(|open| open.is_timed);
        if let Some(open) = timed {
            open.failure = Some(failure.clone());
        } else if let Some(row) = socket.row.get().filter(|_| is_fault) {
            let (op, finished) = open_sockets::failed(row, start, failure);
            self.count_call(vm, &op, task, &finished);
        }
    }

    /// Ends an exchange, and counts it.
    pub(super) fn end_exchange(&mut self, vm: &mut Vm, number: u64, end: ExchangeEnd, task: &str) {
        let place = self.exchanges.iter().position(|open| open.number == number);
        let Some(place) = place else {
            return;
        };
        let mut open = self.exchanges.swap_remove(place);
        let finished = open.end(end);
        self.paused(finished.lost);
        self.count_call(vm, &open.op, task, &finished);
    }

    /// Counts a call that has ended, shows it if that is asked for, and tells the plan of it.
    pub(super) fn count_call(
        &mut self,
        vm: &mut Vm,
        op: &CallOp,
        task: &str,
        finished: &FinishedCall,
    ) {
        self.record_call(op, finished);
        if let Some(cycles) = &mut self.cycles {
            cycles.request(finished.row, finished.latency);
        }
        show_call(self.shared.show, op, task, finished);
        if vm.observes_requests() {
            let names = self.shared.config.request_names;
            report_call_to_plan(vm, &self.role, self.task, names, (op, finished));
        }
    }

    /// Records a call that has ended or was cut off.
    pub(super) fn record_call(&self, op: &CallOp, finished: &FinishedCall) {
        let outcome = CallOutcome { op, finished };
        let sample = finished.sample();
        if sample.failure.is_some() {
            self.failed.set(true);
        }
        self.shared.recorder.borrow_mut().record(&Sample {
            context: Some(self.identity().context_of(None, None, &outcome)),
            ..sample
        });
    }

    /// Makes way for another operation: counts the requests of the latest one, finally unless the plan may judge them
    /// later.
    pub(super) fn settle(&mut self, vm: &mut Vm) {
        if self.open.is_empty() {
            return;
        }
        if vm.judges() {
            self.park(vm)
        } else {
            self.conclude_open(vm)
        }
    }

    /// Counts all requests of the task finally.
    pub(super) fn settle_all(&mut self, vm: &mut Vm) {
        if !self.earlier.is_empty() {
            let earlier = std::mem::take(&mut self.earlier);
            self.conclude_all(vm, earlier);
        }
        if !self.open.is_empty() {
            self.conclude_open(vm);
        }
        if !self.streams.is_empty() {
            self.conclude_streams(vm, false);
        }
        self.abort_exchanges();
        if !self.sockets.is_empty() {
            self.sockets.count(&mut self.shared.recorder.borrow_mut());
        }
    }

    /// Counts the exchanges that have not come to their end.
    fn abort_exchanges(&mut self) {
        for mut open in std::mem::take(&mut self.exchanges) {
            if let Some(aborted) = open.abort() {
                self.record_call(&open.op, &aborted);
            }
        }
    }

    /// Whether the plan carries out an exchange.
    pub(super) fn has_exchange(&self) -> bool {
        !self.exchanges.is_empty()
    }

    /// Makes way for the steps of other code of the user, at the end of a job. Returns the operations whose verdicts the plan
    /// may still change.
    pub(super) fn hand_over(&mut self, vm: &mut Vm) -> Vec<EarlierOperation> {
        self.settle(vm);
        self.abort_exchanges();
        std::mem::take(&mut self.earlier)
    }

    /// Keeps operations of jobs that are over until their verdicts are final.
    pub(super) fn take_over(&mut self, earlier: Vec<EarlierOperation>) {
        self.earlier.extend(earlier);
    }

    /// Notes that the head of a stream has come.
    pub(super) fn note_head(&self, stream: &Rc<ResponseStream>) {
        self.streams.look_at(stream, OpenStream::responded);
    }

    /// Counts when the messages came that the plan has taken from a stream so far.
    pub(super) fn count_messages(&self, stream: &Rc<ResponseStream>) {
        self.streams
            .look_at(stream, |open| self.record_messages(open));
    }

    fn record_messages(&self, open: &OpenStream) {
        open.stream.note_arrived();
        let times = open.stream.take_times();
        let row = open.operation.rows[0];
        let now = tokio::time::Instant::now().into_std();
        let traffic = Traffic {
            messages_received: times.len() as u64,
            messages_sent: open.stream.take_sent(),
            ..Traffic::default()
        };
        let body = &open.stream.body;
        body.count_messages(traffic.messages_sent, traffic.messages_received);
        let mut recorder = self.shared.recorder.borrow_mut();
        recorder.messages(row, now, traffic, &times);
    }

    /// Counts the request of a stream, which is over.
    pub(super) fn conclude_stream(&mut self, vm: &mut Vm, stream: &Rc<ResponseStream>) {
        if let Some(open) = self.streams.take(stream) {
            self.count_stream(vm, open);
        }
    }

    /// Counts the requests of streams that are over; of a user that is cut off, all of them.
    fn conclude_streams(&mut self, vm: &mut Vm, ends: bool) {
        for open in self.streams.take_due(ends) {
            self.count_stream(vm, open);
        }
    }

    fn count_stream(&mut self, vm: &mut Vm, mut open: OpenStream) {
        let exchange = open.end();
        self.record_messages(&open);
        let Some(op) = open.operation.request_at(0) else {
            return;
        };
        self.responded(host_of(&op.request.url), exchange.outcome.as_ref().err());
        let verdict = match open.stream.body.call() {
            Some(call) => {
                if call.terms.is_unary
                    && let Some(cycles) = &mut self.cycles
                {
                    cycles.request(open.operation.rows[0], exchange.latency);
                }
                open.stream.call_verdict(&exchange)
            }
            None => {
                let failure = open.stream.take_failure();
                let failure = failure.filter(|_| exchange.outcome.is_ok());
                let verdict = failure.or_else(|| op.expect.verdict(&exchange));
                verdict.or_else(|| open.stream.wrong_messages(&op.expect))
            }
        };
        let mut finished = self.judged(op, verdict, &open.task_name, exchange);
        finished.line = open
            .stream
            .line
            .take()
            .filter(|_| finished.failure.is_some());
        let reason = finished.verdict().map(|reason| reason.into_owned());
        open.stream
            .verdict
            .replace(Some(reason.map_or(Ok(()), Err)));
        let conclusion = OperationConclusion {
            operation: &open.operation,
            session: &self.session,
            identity: RequestOrigin::of(self.number, &self.role, open.task),
            failed: &self.failed,
        };
        let mut recorder = self.shared.recorder.borrow_mut();
        conclusion.of(0, &finished, &mut recorder);
        drop(recorder);
        if vm.observes_requests() && open.operation.rows[0] != RequestId::UNCOUNTED {
            let counted = vec![CountedRequest::of(0, &finished)];
            let operation = std::mem::take(&mut open.operation);
            let names = self.shared.config.request_names;
            report_to_plan(vm, &self.role, open.task, names, &[(counted, operation)]);
        }
    }

    /// Counts all requests of a user that is cut off, or those of one of its jobs. The plan is told of them as long as that takes
    /// no more than the time of one task for all users of the shard: a run that is aborted ends soon.
    pub(super) fn settle_cut_off(&mut self, vm: &mut Vm, is_job: bool) {
        if !is_job && !self.streams.is_empty() {
            self.conclude_streams(vm, true);
        }
        let is_open = !self.open.is_empty() || !self.earlier.is_empty();
        if !is_open || !vm.observes_requests() {
            return self.settle_all(vm);
        }
        let (start, before) = (Instant::now(), self.shared.late_reporting.get());
        if before > self.shared.config.lua_time {
            vm.stop_observing();
            let warning = "on(\"request\") was not called for all requests of users that were cut off: it takes too long";
            self.shared.recorder.borrow_mut().warn(warning.to_owned());
        }
        self.settle_all(vm);
        self.shared.late_reporting.set(before + start.elapsed());
    }

    /// Counts the requests of the latest operation finally.
    fn conclude_open(&mut self, vm: &mut Vm) {
        let open = &self.open;
        let conclusion = OperationConclusion {
            operation: open,
            session: &self.session,
            identity: RequestOrigin::of(self.number, &self.role, self.task),
            failed: &self.failed,
        };
        let cycles = &mut self.cycles;
        let (observes, shown) = (vm.observes_requests(), self.shared.show);
        let mut counted = Vec::new();
        let mut recorder = self.shared.recorder.borrow_mut();
        let mut conclude = |place: usize, finished: &Finished| {
            if let Some(cycles) = cycles.as_mut().filter(|_| finished.was_sent()) {
                cycles.request(open.rows[place], finished.exchange.latency);
            }
            conclusion.of(place, finished, &mut recorder);
            show_verdict(
                shown,
                open.request_at(place),
                conclusion.identity.task(),
                finished,
            );
            if observes && finished.was_sent() && open.rows[place] != RequestId::UNCOUNTED {
                counted.push(CountedRequest::of(place, finished));
            }
        };
        vm.settle(&mut conclude);
        // Those of a fetch that did not come to its end.
        for (place, finished) in open.fetched.take().iter().enumerate() {
            if let Some(finished) = finished {
                conclude(place, finished);
            }
        }
        // The plan's function may measure, too.
        drop(recorder);
        if !counted.is_empty() {
            let names = self.shared.config.request_names;
            let mut operations = [(counted, std::mem::take(&mut self.open))];
            report_to_plan(vm, &self.role, self.task, names, &operations);
            self.open = std::mem::take(&mut operations[0].1);
        }
        self.open.clear();
    }

    /// Counts the requests of earlier operations finally.
    fn conclude_all(&self, vm: &mut Vm, all: Vec<EarlierOperation>) {
        let names = self.shared.config.request_names;
        let mut operations = Vec::new();
        for earlier in all {
            let (counted, operation) = self.conclude(vm, earlier);
            if !counted.is_empty() {
                operations.push((counted, operation));
            }
        }
        report_to_plan(vm, &self.role, self.task, names, &operations);
    }

    /// Counts the requests of an earlier operation finally; returns what the plan is to be told of them.
    fn conclude(
        &self,
        vm: &mut Vm,
        earlier: EarlierOperation,
    ) -> (Vec<CountedRequest>, LatestOperation) {
        let conclusion = OperationConclusion {
            operation: &earlier.operation,
            session: &self.session,
            identity: self.identity(),
            failed: &self.failed,
        };
        let (observes, shown) = (vm.observes_requests(), self.shared.show);
        let mut counted = Vec::new();
        let mut recorder = self.shared.recorder.borrow_mut();
        vm.unpark(&earlier.responses, |place, finished| {
            conclusion.of(place, finished, &mut recorder);
            let op = earlier.operation.request_at(place);
            show_verdict(shown, op, conclusion.identity.task(), finished);
            let row = earlier.operation.rows[place];
            if observes && finished.was_sent() && row != RequestId::UNCOUNTED {
                counted.push(CountedRequest::of(place, finished));
            }
        });
        drop(recorder);
        (counted, earlier.operation)
    }

    /// Counts the requests of the latest operation as they stand, and keeps them for a later verdict.
    fn park(&mut self, vm: &mut Vm) {
        self.enter_open(vm);
        if let Some(cycles) = &mut self.cycles {
            let rows = &self.open.rows;
            vm.each_open(|place, finished| {
                if finished.was_sent() {
                    cycles.request(rows[place], finished.exchange.latency);
                }
            });
        }
        match vm.park(self.open.held_bytes()) {
            Some(responses) => self.earlier.push(EarlierOperation {
                responses,
                operation: std::mem::take(&mut self.open),
            }),
            None => self.open.clear(),
        }
        if vm.needs_collection() {
            self.reclaim(vm);
        }
    }

    /// Frees what the plan no longer holds, and counts those requests finally: nobody can overrule the verdict on
    /// them.
    pub(super) fn reclaim(&mut self, vm: &mut Vm) {
        if self.earlier.is_empty() {
            return vm.reclaim();
        }
        vm.find_dead();
        self.conclude_dead(vm);
        vm.drop_dead();
    }

    /// Frees responses that only wait to be counted, before the plan is told that it holds too much.
    pub(super) fn make_room(&mut self, vm: &mut Vm) {
        if !self.earlier.is_empty() && vm.collect_if_full() {
            self.conclude_dead(vm);
        }
    }

    fn conclude_dead(&mut self, vm: &mut Vm) {
        let (held, dead): (Vec<_>, Vec<_>) = std::mem::take(&mut self.earlier)
            .into_iter()
            .partition(|earlier| vm.holds(&earlier.responses));
        self.earlier = held;
        self.conclude_all(vm, dead);
    }

    /// Keeps the latest request of a task that raised an error: what came back is often the reason. Of a request that failed
    /// and so ended the task, there is an exemplar anyway.
    pub(super) fn keep_latest(&self, vm: &mut Vm, raised: &RaisedError) {
        let Some(task) = self
            .task
            .filter(|_| !raised.message.starts_with(NOT_AS_EXPECTED))
        else {
            return;
        };
        let conclusion = OperationConclusion {
            operation: &self.open,
            session: &self.session,
            identity: self.identity(),
            failed: &self.failed,
        };
        let failure = SampleFailure {
            message: &raised.message,
            line: raised.line.as_deref(),
        };
        let recorder = &mut *self.shared.recorder.borrow_mut();
        let latest = self.open.rows.len().checked_sub(1);
        vm.each_open(|place, finished| {
            if Some(place) == latest && finished.was_sent() {
                let keep = |sample: &Sample<'_>| {
                    recorder.keep_for_task(self.role.tasks[task].0, &failure, sample);
                };
                conclusion.sampled(place, finished, None, keep);
            }
        });
    }

    /// Counts the requests of the latest operation as they stand: they have ended, and the plan may overrule the
    /// verdict on them later.
    pub(super) fn enter_open(&mut self, vm: &mut Vm) {
        let open = &self.open;
        let session = &*self.session;
        let identity = RequestOrigin::of(self.number, &self.role, self.task);
        let recorder = &mut *self.shared.recorder.borrow_mut();
        let judges = vm.judges();
        vm.each_open(|place, finished| {
            if !finished.was_sent() {
                return;
            }
            let verdict = finished.verdict().map(std::borrow::Cow::into_owned);
            let sample = open.sample(place, finished, verdict.as_deref());
            if finished.entered.is_none() {
                recorder.enter(&sample, judges);
            }
            let failed = finished.entered.unwrap_or(sample.failure.is_some());
            let outcome = open.outcome(place, finished, session);
            let sample = Sample {
                context: outcome
                    .as_ref()
                    .map(|outcome| identity.context(finished.exchange.connection, outcome)),
                ..sample
            };
            recorder.revise(&sample, &before(failed, finished));
            let line = finished.line.clone();
            finished.entered = Some(verdict.is_some());
            finished.reported = verdict.map(|message| Box::new((message, line)));
        });
    }
}

/// What the requests of an operation are counted with.
struct OperationConclusion<'a> {
    operation: &'a LatestOperation,
    session: &'a Session,
    identity: RequestOrigin<'a>,
    failed: &'a Cell<bool>,
}

impl OperationConclusion<'_> {
    fn of(&self, place: usize, finished: &Finished, recorder: &mut Recorder) {
        if !finished.was_sent() {
            return;
        }
        let verdict = finished.verdict();
        if verdict.is_some() {
            self.failed.set(true);
        }
        let count = |sample: &Sample<'_>| match finished.entered {
            None => recorder.record(sample),
            Some(failed) => recorder.conclude(sample, &before(failed, finished)),
        };
        self.sampled(place, finished, verdict.as_deref(), count);
    }

    /// Passes the sample of a request, with the facts about it, to `count`.
    fn sampled(
        &self,
        place: usize,
        finished: &Finished,
        verdict: Option<&str>,
        count: impl FnOnce(&Sample<'_>),
    ) {
        let outcome = self.operation.outcome(place, finished, self.session);
        count(&Sample {
            context: outcome
                .as_ref()
                .map(|outcome| self.identity.context(finished.exchange.connection, outcome)),
            ..self.operation.sample(place, finished, verdict)
        });
    }
}

/// Returns how a request was counted, whether as failed and with which error.
fn before(failed: bool, finished: &Finished) -> ProvisionalCounts<'_> {
    let reported = finished.reported.as_deref();
    ProvisionalCounts {
        failed,
        failure: reported.map(|(message, line)| SampleFailure {
            message,
            line: line.as_deref(),
        }),
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

/// Returns the host of a URL; of one without a host, that of the session.
fn host_or<'a>(host: &'a str, of_session: &'a str) -> &'a str {
    if host.is_empty() { of_session } else { host }
}
