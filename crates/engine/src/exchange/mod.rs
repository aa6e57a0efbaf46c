//! The one life of an exchange. Whatever a plan does with a server (a request, a streamed response, a WebSocket, a call of
//! another protocol, a socket, a function that it times) is an exchange, and goes through the same steps:
//!
//! 1. It is admitted: after the pause for a host that is down ([`back_off`]) and the turn under limits on the rate.
//! 2. Its row is opened by its name, its tags and its task ([`sender`]); that of a request before its turn, since a response
//!    from the cache takes none.
//! 3. Its flight begins, with the clock ([`flight`]).
//! 4. Its meter counts bytes, messages and phases as they come; the head of a stream ends the wait for a response.
//! 5. It ends as an [`Ended`](kind::Ended): with a value or a failure, without the time in which the process stood still. One
//!    that is dropped before is aborted.
//! 6. It is judged: by its expectations, then by the plan, which may overrule that for as long as it holds the response
//!    ([`verdicts`]).
//! 7. It is recorded as a sample, with details for logs and exemplars ([`kind`]).
//! 8. It is reported to the plan's `on("request")` ([`plan_hook`]) and shown with `--once` ([`show`]).
//!
//! The runner of a task takes a request, a fetch or a call through them in order (`request`, `fetch` and `call` in
//! `user/perform`). Its sample leaves the shard with the next tick, by way of recorder, delta, measurements, store and report.
//!
//! Requests of HTTP and calls of other protocols differ by the trait [`kind::ExchangeOp`]. Nothing here knows when users run or
//! how bytes are sent.

mod back_off;
mod flight;
mod kind;
mod operation;
mod plan_exchange;
mod plan_hook;
mod sender;
mod show;
mod sockets;
mod streams;
mod urls;
mod verdicts;

pub(crate) use flight::{InFlight, call};
pub(crate) use operation::Operation;
pub(crate) use sender::Sender;
pub(crate) use urls::{Paths, host_of, is_on};
pub(crate) use verdicts::{EarlierOperation, judged};

use crate::user::ShardState;
use crate::user::role::ScenarioContext;
use kind::{Ended, ExchangeRow};
use lgoose_http::{Exchange, Failure, Session};
use lgoose_lua::{
    ExchangeEnd, Finished, JobLife, MeasuredExchange, RaisedError, RequestOp, ResponseStream, Vm,
};
use lgoose_metrics::Traffic;
use lgoose_protocols::{CallOp, OpenSocket};
use plan_exchange::OpenExchange;
use plan_hook::{CountedExchange, report_call, report_requests};
use show::show_call;
use sockets::OpenSockets;
use std::rc::Rc;
use std::time::Instant;
use streams::{OpenStream, OpenStreams};
use verdicts::{Counting, OpenVerdicts};

/// Exchanges of the task that a user runs, or of one of its jobs.
#[derive(Debug)]
pub(crate) struct Exchanges {
    pub(crate) sender: Sender,
    verdicts: OpenVerdicts,
    /// Requests whose responses the plan reads while they come. The task and its jobs share them.
    pub(crate) streams: OpenStreams,
    /// Sockets on which the plan speaks a protocol of its own. The task and its jobs share them.
    pub(crate) sockets: OpenSockets,
    /// Exchanges that the plan carries out and has not ended, and the number of all that it has begun.
    open: Vec<OpenExchange>,
    count: u64,
}

impl Exchanges {
    pub(crate) fn new(
        number: u64,
        role: Rc<ScenarioContext>,
        session: Rc<Session>,
        shared: Rc<ShardState>,
    ) -> Exchanges {
        Exchanges {
            sender: Sender::new(number, role, session, shared),
            verdicts: OpenVerdicts::default(),
            streams: OpenStreams::default(),
            sockets: OpenSockets::default(),
            open: Vec::new(),
            count: 0,
        }
    }

    /// Returns the exchanges of a job that the task begins.
    pub(crate) fn of_job(&self, life: JobLife) -> Exchanges {
        Exchanges {
            sender: self.sender.of_job(life),
            verdicts: OpenVerdicts::default(),
            streams: self.streams.clone(),
            sockets: self.sockets.clone(),
            open: Vec::new(),
            count: 0,
        }
    }

    /// Makes way for another operation, as [`OpenVerdicts::settle`] does.
    pub(crate) fn settle(&mut self, vm: &mut Vm) {
        self.verdicts.settle(&mut self.sender, vm);
    }

    /// Counts the requests of the latest operation as they stand, as [`OpenVerdicts::enter_latest`] does.
    pub(crate) fn enter_latest(&mut self, vm: &mut Vm) {
        self.verdicts.enter_latest(&self.sender, vm);
    }

    /// Frees responses before the plan holds too much, as [`OpenVerdicts::make_room`] does.
    pub(crate) fn make_room(&mut self, vm: &mut Vm) {
        self.verdicts.make_room(&self.sender, vm);
    }

    /// Frees responses that the plan no longer holds, as [`OpenVerdicts::reclaim`] does.
    pub(crate) fn reclaim(&mut self, vm: &mut Vm) {
        self.verdicts.reclaim(&self.sender, vm);
    }

    /// Keeps the latest request of a task that raised an error, as [`OpenVerdicts::keep_latest`] does.
    pub(crate) fn keep_latest(&self, vm: &mut Vm, raised: &RaisedError) {
        self.verdicts.keep_latest(&self.sender, vm, raised);
    }

    /// Opens the rows of requests that begin.
    pub(crate) fn open_rows(&mut self, ops: &[RequestOp]) {
        self.verdicts.open_rows(&self.sender, ops);
    }

    /// Returns the latest operation.
    pub(crate) fn latest(&self) -> &Operation {
        &self.verdicts.latest
    }

    pub(crate) fn latest_mut(&mut self) -> &mut Operation {
        &mut self.verdicts.latest
    }

    /// Gives the delay of the latest operation, of which nothing was sent, to the next one.
    pub(crate) fn pass_on_delay(&mut self) {
        self.sender.delay.set(self.verdicts.latest.delay.take());
    }

    /// Judges the request of the latest operation by its expectations.
    pub(crate) fn judge(&mut self, op: Box<RequestOp>, exchange: Box<Exchange>) -> Finished {
        let verdict = op.expect.verdict(&exchange);
        let finished = judged(&self.sender, self.sender.task, &op, verdict, exchange);
        self.verdicts.latest.store(op);
        finished
    }

    /// Keeps operations of jobs that are over until their verdicts are final.
    pub(crate) fn take_over(&mut self, earlier: Vec<EarlierOperation>) {
        self.verdicts.take_over(earlier);
    }

    /// Counts all exchanges of the task finally.
    pub(crate) fn settle_all(&mut self, vm: &mut Vm) {
        self.verdicts.settle_all(&mut self.sender, vm);
        if !self.streams.is_empty() {
            self.conclude_streams(vm, false);
        }
        self.abort_open();
        if !self.sockets.is_empty() {
            self.sockets
                .count(&mut self.sender.shared.recorder.borrow_mut());
        }
    }

    /// Counts all exchanges of a user that is cut off, or those of one of its jobs. They are reported to the plan as long as
    /// that takes no more than the time of one task for all users of the shard: a run that is aborted ends soon.
    pub(crate) fn settle_cut_off(&mut self, vm: &mut Vm, is_job: bool) {
        if !is_job && !self.streams.is_empty() {
            self.conclude_streams(vm, true);
        }
        if self.verdicts.is_empty() || !vm.observes_requests() {
            return self.settle_all(vm);
        }
        let shared = self.sender.shared.clone();
        let (start, before) = (Instant::now(), shared.late_reporting.get());
        if before > shared.config.lua_time {
            vm.stop_observing();
            let warning = "on(\"request\") was not called for all requests of users that were cut off: it takes too long";
            shared.recorder.borrow_mut().warn(warning.to_owned());
        }
        self.settle_all(vm);
        shared.late_reporting.set(before + start.elapsed());
    }

    /// Makes way for the steps of other code of the user, at the end of a job. Returns the operations whose verdicts the plan
    /// may still change.
    pub(crate) fn hand_over(&mut self, vm: &mut Vm) -> Vec<EarlierOperation> {
        self.settle(vm);
        self.abort_open();
        self.verdicts.take_earlier()
    }

    /// Opens the row of a call that begins.
    pub(crate) fn open_call(&self, op: &CallOp) -> ExchangeRow {
        ExchangeRow {
            id: self.sender.row_of(op),
            delay: self.sender.take_delay(),
        }
    }

    /// Counts a call that has ended, shows it if that is requested, and reports it to the plan. It failed for that reason, or
    /// else for that of its outcome.
    pub(crate) fn count_call(
        &mut self,
        vm: &mut Vm,
        op: &CallOp,
        row: ExchangeRow,
        ended: &Ended<CallOp>,
        reason: Option<&str>,
    ) {
        if let Some(cycles) = &mut self.sender.cycles {
            cycles.request(row.id, ended.latency);
        }
        let failure = ended.outcome.as_ref().err().map(ToString::to_string);
        self.note_call(vm, op, row, ended, reason.or(failure.as_deref()));
    }

    /// Records a call that has ended, shows it and reports it, without counting it to the user's cycle.
    fn note_call(
        &mut self,
        vm: &mut Vm,
        op: &CallOp,
        row: ExchangeRow,
        ended: &Ended<CallOp>,
        reason: Option<&str>,
    ) {
        let sender = &mut self.sender;
        sender.record(op, row, ended, None, reason);
        show_call(
            sender.shared.show,
            op,
            sender.origin().name(),
            ended,
            reason,
        );
        if vm.observes_requests() {
            report_call(sender, vm, op, ended, reason);
        }
    }

    /// Begins an exchange that the plan carries out; returns its number.
    pub(crate) fn begin(&mut self, op: Box<CallOp>, is_timed: bool) -> u64 {
        self.count += 1;
        let row = self.open_call(&op);
        let shared = &self.sender.shared;
        let open = OpenExchange::begin(self.count, op, is_timed, row, shared);
        self.open.push(open);
        self.count
    }

    /// Ends an exchange that the plan carries out, and counts it.
    pub(crate) fn end(&mut self, vm: &mut Vm, number: u64, end: ExchangeEnd) {
        let place = self.open.iter().position(|open| open.number == number);
        let Some(place) = place else {
            return;
        };
        let mut open = self.open.swap_remove(place);
        let (ended, flown, reason) = open.end(end);
        self.sender.paused(flown.lost);
        self.count_call(vm, &open.op, open.row, &ended, reason.as_deref());
    }

    /// Counts an exchange that the plan has measured and that ends now. It is no part of the user's own pace.
    pub(crate) fn record(&mut self, vm: &mut Vm, measured: &MeasuredExchange) {
        let sender = &mut self.sender;
        let row = ExchangeRow {
            id: sender.row_of(&measured.op),
            delay: None,
        };
        let ended = plan_exchange::measured(&sender.shared, measured, row);
        self.note_call(vm, &measured.op, row, &ended, measured.failure.as_deref());
    }

    /// Returns whether the plan carries out an exchange.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns whether a function of the plan is being timed.
    pub(crate) fn times_function(&self) -> bool {
        self.open.iter().any(|open| open.is_timed)
    }

    /// Counts the exchanges that have not come to their end.
    fn abort_open(&mut self) {
        for mut open in std::mem::take(&mut self.open) {
            if let Some(ended) = open.abort() {
                self.sender.record(&*open.op, open.row, &ended, None, None);
            }
        }
    }

    /// Returns how many streams and sockets the user has open.
    pub(crate) fn open_channels(&self) -> usize {
        let sockets = if self.sockets.is_empty() {
            0
        } else {
            self.sockets
                .count(&mut self.sender.shared.recorder.borrow_mut())
        };
        self.streams.len() + sockets
    }

    /// Counts the traffic of a socket after an operation on it that began at `start`. A failure is that of the function that
    /// is being timed, or else an exchange of the socket's own row if it `is_fault`.
    pub(crate) fn count_socket(
        &mut self,
        vm: &mut Vm,
        socket: &OpenSocket,
        start: tokio::time::Instant,
        failure: Option<&Failure>,
        is_fault: bool,
    ) {
        sockets::count(socket, &mut self.sender.shared.recorder.borrow_mut());
        let Some(failure) = failure else {
            return;
        };
        let timed = self.open.iter_mut().rfind(|open| open.is_timed);
        if let Some(open) = timed {
            open.socket_failure = Some(failure.clone());
        } else if let Some(row) = socket.row.get().filter(|_| is_fault) {
            let (op, ended) = sockets::failed(row, start, failure);
            let row = ExchangeRow {
                id: row.id,
                delay: None,
            };
            self.count_call(vm, &op, row, &ended, None);
        }
    }

    /// Opens a request whose response the plan reads while it comes, in the row of the latest operation. Returns the stream,
    /// and the future that sends the request; nothing if its response is to be kept.
    pub(crate) fn open_stream(
        &mut self,
        op: Box<RequestOp>,
        after_stop: bool,
    ) -> Option<(Rc<ResponseStream>, impl Future<Output = ()> + use<>)> {
        let operation = std::mem::take(&mut self.verdicts.latest);
        let open = OpenStream::open(&self.sender, op, operation, after_stop)?;
        let opened = (open.stream.clone(), open.sending());
        let (row, start) = (open.operation.row_at(0).id, open.stream.start.into_std());
        let mut recorder = self.sender.shared.recorder.borrow_mut();
        recorder.open_stream(row, start);
        drop(recorder);
        self.streams.add(open);
        Some(opened)
    }

    /// Notes that the head of a stream has come.
    pub(crate) fn note_head(&self, stream: &Rc<ResponseStream>) {
        self.streams.look_at(stream, OpenStream::responded);
    }

    /// Counts the messages that the plan has taken from a stream since they were counted last, with the times at which they
    /// came.
    pub(crate) fn count_messages(&self, stream: &Rc<ResponseStream>) {
        self.streams
            .look_at(stream, |open| self.record_messages(open));
    }

    fn record_messages(&self, open: &OpenStream) {
        open.stream.note_arrived();
        let times = open.stream.take_times();
        let now = tokio::time::Instant::now().into_std();
        let traffic = Traffic {
            messages_received: times.len() as u64,
            messages_sent: open.stream.take_sent(),
            ..Traffic::default()
        };
        let body = &open.stream.body;
        body.count_messages(traffic.messages_sent, traffic.messages_received);
        let mut recorder = self.sender.shared.recorder.borrow_mut();
        recorder.messages(open.operation.row_at(0).id, now, traffic, &times);
    }

    /// Counts the request of a stream, which is over.
    pub(crate) fn conclude_stream(&mut self, vm: &mut Vm, stream: &Rc<ResponseStream>) {
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
        let mut exchange = open.end();
        if let (Ok(response), Some(refusal)) = (&mut exchange.outcome, open.stream.refusal()) {
            response.set_body(&refusal);
        }
        self.record_messages(&open);
        let sender = &mut self.sender;
        let operation = &open.operation;
        let Some(op) = operation.request_at(0) else {
            return;
        };
        sender.responded::<RequestOp>(host_of(&op.request.url), &exchange);
        let verdict = match open.stream.body.call() {
            Some(call) => {
                if call.terms.is_unary
                    && let Some(cycles) = &mut sender.cycles
                {
                    cycles.request(operation.row_at(0).id, exchange.latency);
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
        let mut finished = judged(sender, open.task, op, verdict, exchange);
        finished.note_line(open.stream.line.take());
        let reason = finished.verdict().map(|reason| reason.into_owned());
        open.stream
            .verdict
            .replace(Some(reason.map_or(Ok(()), Err)));
        Counting::of(sender, operation, open.task).conclude(
            0,
            &finished,
            &mut sender.shared.recorder.borrow_mut(),
        );
        if vm.observes_requests()
            && let Some(counted) = CountedExchange::of(operation, 0, &finished)
        {
            let operation = std::mem::take(&mut open.operation);
            report_requests(sender, vm, open.task, &[(vec![counted], operation)]);
        }
    }
}
