//! Runs the plan's code of a task or an event: carries out operation after operation, requests, fetches and waits,
//! until the code ends. Driven by a user; knows no schedule.

mod fetch;

use crate::exchange::{Exchanges, InFlight, call, host_of};
use crate::timing::timers::Timers;
use crate::user::fair_share::FairShare;
use crate::user::jobs::{JobHandle, Jobs};
use crate::user::perform::fetch::{FetchEnd, fetch};
use crate::user::shared::ShardState;
use crate::user::stop::StopSignal;
use crate::user::task_end::TaskEnd;
use crate::user::turn::TICK;
use crate::user::user_vm::UserVm;
use futures_util::future::join_all;
use lgoose_http::{ErrorClass, Exchange, Failure};
use lgoose_lua::{
    JobFunction, JobLife, Op, RaisedError, ReceiveTime, RequestOp, ResponseStream, SocketOp, Step,
};
use lgoose_protocols::{CallOp, CallValue, OpenSocket, SocketAction, SocketEnd, SocketRow};
use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Time after which a user whose next row was not reserved yet tries again.
const ROW_RETRY_DELAY: Duration = Duration::from_millis(50);
/// The most streams and sockets that a user may have open.
const MAX_CHANNELS: usize = 100;

/// The total wait of users that compute for long, on one thread, after which a warning is shown.
const LONG_WAITS: Duration = Duration::from_millis(300);

/// How long an `on_start` task waits for its jobs without a warning.
const PATIENCE_AT_START: Duration = Duration::from_secs(5);

/// Runs the code of one user's tasks, one after another.
#[derive(Debug)]
pub(super) struct TaskRunner {
    shared: Rc<ShardState>,
    stop: Rc<StopSignal>,
    pub(super) vm: UserVm,
    pub(super) exchanges: Exchanges,
    /// The share of the thread that the user gets with its task and all of its jobs.
    fair_share: Rc<RefCell<FairShare>>,
    /// How long lgoose has made the user wait so far, which is no part of its tasks and iterations: for hosts that are
    /// down, and for its turn under a limit on the rate.
    pub(super) held_up: Duration,
    /// Why the latest task has ended.
    pub(super) end: TaskEnd,
    /// The jobs of the user, once it has begun one.
    jobs: Option<Rc<Jobs>>,
    /// The job whose code it runs; `None` for the tasks.
    job: Option<Rc<JobHandle>>,
    /// Whether the user runs its `on_stop`, which a stop does not end.
    pub(super) is_leaving: bool,
}

/// How waiting for other users has ended.
enum Waited<T> {
    Over(T),
    TimeUp,
    Stopped,
}

impl TaskRunner {
    pub(super) fn new(
        vm: UserVm,
        exchanges: Exchanges,
        stop: Rc<StopSignal>,
        shared: Rc<ShardState>,
    ) -> TaskRunner {
        TaskRunner {
            shared,
            stop,
            vm,
            exchanges,
            fair_share: Rc::default(),
            held_up: Duration::ZERO,
            end: TaskEnd::default(),
            jobs: None,
            job: None,
            is_leaving: false,
        }
    }

    /// Follows a task from its first step until it and the jobs that it has begun are over, and counts the requests.
    pub(super) async fn follow(&mut self, first: Step) -> Option<RaisedError> {
        let mut raised = self.execute(first).await;
        if let Some(jobs) = self.jobs.clone() {
            raised = Box::pin(self.join_jobs(&jobs, raised)).await;
        }
        self.exchanges.settle_all(&mut self.vm.enter());
        raised
    }

    /// Carries out operation after operation until the code ends.
    async fn execute(&mut self, first: Step) -> Option<RaisedError> {
        let mut step = first;
        loop {
            if let Step::Raised(raised) = &step {
                self.exchanges.keep_latest(&mut self.vm.enter(), raised);
            }
            let has_jobs = self.has_jobs();
            if has_jobs {
                // The next step may be that of another: the verdicts so far are made, or kept where the plan may change them.
                self.exchanges.settle(&mut self.vm.enter());
            }
            // The only place where a user lets the others of its thread go on although it waits for nothing: tasks, jobs
            // and all that they do come here.
            let turn = self.vm.enter().take_turn();
            let turn = match self.shared.turn.take_ticks() {
                0 => turn,
                ticks => self.with_ticks(turn, ticks),
            };
            if !turn.is_zero() {
                self.let_others_go_first(turn).await;
            } else if !self.shared.turn.take_step() {
                tokio::task::yield_now().await;
            }
            match step {
                Step::Op(op) => {
                    if !self.fair_share.borrow_mut().take_step() {
                        let steps = &self.shared.light_steps;
                        steps.set(steps.get() + 1);
                    }
                    let next = if has_jobs {
                        Box::pin(self.perform_beside(op)).await
                    } else {
                        self.perform(op).await
                    };
                    step = match next {
                        Ok(step) => step,
                        Err(end) => {
                            self.end = end;
                            return None;
                        }
                    };
                }
                // A cancelled job also ends where it is preempted.
                Step::Preempted if self.job.as_ref().is_some_and(|job| job.is_cancelled()) => {
                    self.end = TaskEnd::Stopped;
                    return None;
                }
                Step::Preempted => {
                    // The task and its jobs share '--lua-time' as long as none of them performs an operation.
                    let computed = self.fair_share.borrow_mut().compute(turn);
                    let mut vm = self.vm.enter();
                    if has_jobs && computed > self.shared.config.lua_time {
                        vm.use_up_time();
                    }
                    step = vm.compute_on();
                }
                Step::Done => return None,
                Step::Raised(raised) => return Some(*raised),
            }
        }
    }

    /// Returns how much processor time a turn took in which that many ticks have come, if that is to be counted.
    #[cold]
    fn with_ticks(&self, turn: Duration, ticks: u32) -> Duration {
        if self.fair_share.borrow_mut().is_long(ticks) {
            turn.max(TICK * ticks)
        } else {
            turn
        }
    }

    /// Lets the other users of the shard take a step, and more of them where this one has computed for long.
    async fn let_others_go_first(&mut self, turn: Duration) {
        let others = self.shared.light_steps.get();
        let share = &self.fair_share;
        let wait = share.borrow_mut().end_turn(turn, Instant::now(), others);
        if wait.is_zero() {
            tokio::task::yield_now().await;
            return;
        }
        let waits = self.shared.heavy_waits.get().map(|waits| waits + wait);
        self.shared
            .heavy_waits
            .set(waits.filter(|waits| *waits < LONG_WAITS));
        if waits.is_some_and(|waits| waits >= LONG_WAITS) {
            let line = self.vm.enter().latest_line().unwrap_or_default();
            self.shared.recorder.borrow_mut().warn(format!(
                "a task computes for long without waiting{line}: it runs slower, since other users of its thread go first"
            ));
        }
        self.pay_for_turns().await;
    }

    /// Waits until the turns of the user are paid for. Meanwhile another of its jobs may take one more.
    async fn pay_for_turns(&self) {
        loop {
            let debt = self.fair_share.borrow().debt(Instant::now());
            if debt.is_zero() {
                return;
            }
            tokio::time::sleep(debt).await;
        }
    }

    /// Carries out one operation and resumes the plan with its outcome.
    async fn perform(&mut self, op: Op) -> Result<Step, TaskEnd> {
        match op {
            Op::Request(op) => self.request(op).await,
            Op::Fetch(ops) => self.fetch(ops).await,
            Op::Call(op) => self.call(&op).await,
            Op::Wait(time) => self.wait(time).await,
            Op::Take(queue, wait) => match self.wait_beside(queue.take(), Some(wait)).await {
                Waited::Over(value) => Ok(self.vm.enter().resume_value(Some(value))),
                Waited::TimeUp => Ok(self.vm.enter().resume_value(None)),
                Waited::Stopped => Err(TaskEnd::Stopped),
            },
            Op::Await(making) => {
                let waited = self.wait_beside(making.over(), None).await;
                self.go_on_after(waited)
            }
            Op::Receive(stream, time) => self.receive(&stream, time).await,
            Op::Flush(stream) => self.flush(&stream).await,
            // Boxed: each user has the room for the largest of its waits.
            Op::Socket(op) => Box::pin(self.socket(&op)).await,
            Op::BeginExchange(op) => self.begin_exchange(op, false).await,
            Op::BeginTimed(op) => {
                if self.exchanges.times_function() {
                    let problem = "user:timed within user:timed counts the same time twice: \
                                   user:transaction times what has several requests";
                    return Ok(self.vm.enter().refuse(problem.to_owned()));
                }
                self.begin_exchange(op, true).await
            }
            Op::EndExchange(number, end) => {
                self.exchanges.end(&mut self.vm.enter(), number, *end);
                Ok(self.vm.enter().go_on())
            }
            Op::Record(measured) => {
                self.exchanges.settle(&mut self.vm.enter());
                self.exchanges.record(&mut self.vm.enter(), &measured);
                Ok(self.vm.enter().go_on())
            }
            Op::EndStream(stream) => {
                self.close_stream(&stream).await;
                Ok(self.vm.enter().go_on())
            }
            Op::Spawn(job) => Ok(self.spawn(*job)),
            Op::Join(number) => Box::pin(self.join(number)).await,
            Op::Cancel(number) => {
                self.jobs.iter().for_each(|jobs| jobs.cancel(number));
                Ok(self.vm.enter().go_on())
            }
            Op::Later => {
                let start = Instant::now();
                let waited = self
                    .beside(std::future::pending(), Some(ROW_RETRY_DELAY))
                    .await;
                self.hold_up(start.elapsed());
                self.go_on_after::<()>(waited)
            }
            Op::Ready => self.wait_for_all().await,
            Op::ExitIteration => Err(TaskEnd::Iteration),
            Op::Stop => Err(TaskEnd::User),
            Op::OutOfRows => Err(TaskEnd::OutOfRows),
        }
    }

    /// Waits for the user's turn under limits on the rate. A stop meanwhile ends the wait, and the task uncounted:
    /// otherwise a run would go on until all waiting users have had their turn.
    async fn pass_throttles(&mut self) -> Result<(), TaskEnd> {
        // After a stop, the rest of the task, and 'on_stop', still run.
        let stop = (!self.stop.is_requested()).then_some(&*self.stop);
        let waited = self.exchanges.sender.pass_throttles(stop).await;
        self.hold_up(waited.ok_or(TaskEnd::GivenUp)?);
        Ok(())
    }

    /// Notes that lgoose made the user wait, which is no part of its tasks, transactions, iterations and cycles.
    fn hold_up(&mut self, waited: Duration) {
        if !waited.is_zero() {
            self.held_up += waited;
            self.vm.enter().hold_up(waited);
            self.exchanges.sender.paused(waited);
        }
    }

    /// Sends one request, unless its response is in the cache.
    async fn request(&mut self, op: Box<RequestOp>) -> Result<Step, TaskEnd> {
        self.exchanges.settle(&mut self.vm.enter());
        let host = host_of(&op.request.url);
        let waited = self.exchanges.sender.back_off(host).await;
        self.hold_up(waited);
        self.exchanges.open_rows(std::slice::from_ref(&*op));
        if let Some(exchange) = self.exchanges.sender.session.from_cache(&op.request) {
            self.exchanges.pass_on_delay();
            return Ok(self.judge(op, exchange));
        }
        if let Err(end) = self.pass_throttles().await {
            self.exchanges.latest_mut().clear();
            return Err(end);
        }
        self.shared.gather().await;
        if op.request.stream().is_some() {
            return Box::pin(self.stream(op)).await;
        }
        let exchanges = &self.exchanges;
        let (in_flight, trace) = InFlight::begin(&exchanges.sender, &op, exchanges.latest(), 0);
        let mut exchange = in_flight.send(trace).await;
        let lost = in_flight.end_with(&mut exchange);
        let sender = &mut self.exchanges.sender;
        sender.paused(lost);
        sender.responded::<RequestOp>(host, &exchange);
        self.exchanges.make_room(&mut self.vm.enter());
        Ok(self.judge(op, exchange))
    }

    /// Judges the request of the latest operation by its expectations, and resumes the plan with it.
    fn judge(&mut self, op: Box<RequestOp>, exchange: Box<Exchange>) -> Step {
        let finished = self.exchanges.judge(op, exchange);
        self.vm.enter().resume_request(finished)
    }

    /// Returns whether the user has as many streams and sockets open as it may.
    fn has_all_channels(&mut self) -> bool {
        if self.exchanges.open_channels() < MAX_CHANNELS {
            return false;
        }
        // A socket that the plan has let go of is closed when that is found.
        self.vm.enter().collect_all();
        self.exchanges.open_channels() >= MAX_CHANNELS
    }

    /// Sends a request whose response the plan reads while it comes, and waits for its head.
    async fn stream(&mut self, op: Box<RequestOp>) -> Result<Step, TaskEnd> {
        if self.has_all_channels() {
            self.exchanges.latest_mut().clear();
            return Ok(self.vm.enter().refuse(too_many_channels()));
        }
        let after_stop = self.stop.is_requested();
        let Some((stream, sending)) = self.exchanges.open_stream(op, after_stop) else {
            return Ok(self.vm.enter().go_on());
        };
        match stream.body.call() {
            // Nothing is read of it before its end.
            Some(call) if call.terms.is_unary => sending.await,
            _ => {
                tokio::task::spawn_local(sending);
                stream.body.head_came().await;
            }
        }
        if stream.body.status().is_some() {
            self.exchanges.note_head(&stream);
        }
        self.exchanges.make_room(&mut self.vm.enter());
        Ok(self.vm.enter().resume_stream(stream))
    }

    /// Waits for more of a stream. A stop ends that, and the task with it, unless the request was sent after the stop, as in
    /// 'on_stop', or the plan reads to the end: a stream may have none. The reply to a message is waited for, as the response to
    /// a request is.
    async fn receive(
        &mut self,
        stream: &Rc<ResponseStream>,
        time: Option<Box<ReceiveTime>>,
    ) -> Result<Step, TaskEnd> {
        self.exchanges.count_messages(stream);
        let reads_on = stream.after_stop || stream.to_end.get() || self.exchanges.has_open();
        if self.stop.is_requested() && !reads_on {
            return Err(TaskEnd::Stopped);
        }
        let usual = self.shared.config.timeout;
        let most = time.map(|time| time.left(usual));
        // A wait that goes on after a stop keeps its time.
        let due = most.map(|most| Instant::now() + most);
        let more = || async {
            match due {
                Some(due) => timeout_at(due, stream.body.more()).await.is_ok(),
                None => {
                    stream.body.more().await;
                    true
                }
            }
        };
        let mut waited = self.wait_beside(more(), None).await;
        if matches!(waited, Waited::Stopped) && reads_on {
            waited = self.wait_beside(more(), None).await;
        }
        match waited {
            Waited::Over(false) => Ok(self.vm.enter().resume_time_up()),
            waited => self.go_on_after(waited),
        }
    }

    /// Waits until the connection of a WebSocket or a call takes more. A stop ends that as it ends a wait for messages.
    async fn flush(&mut self, stream: &Rc<ResponseStream>) -> Result<Step, TaskEnd> {
        self.exchanges.count_messages(stream);
        let waited = self.wait_beside(stream.body.room(), None).await;
        self.go_on_after(waited)
    }

    /// Ends a stream, if it has not ended, and counts its request.
    async fn close_stream(&mut self, stream: &Rc<ResponseStream>) {
        stream.body.close();
        stream.body.over().await;
        self.exchanges.conclude_stream(&mut self.vm.enter(), stream);
    }

    /// Ends the jobs that last as long as the user, before its `on_stop` tasks.
    pub(super) async fn end_jobs(&mut self) {
        if let Some(jobs) = &self.jobs {
            jobs.cancel_all(JobLife::User);
            Box::pin(jobs.all_over(JobLife::User)).await;
        }
    }

    /// Ends the jobs and closes the streams and sockets that are open when the user ends.
    pub(super) async fn close_channels(&mut self) {
        if let Some(jobs) = self.jobs.take() {
            jobs.cancel_all(JobLife::Sockets);
            Box::pin(jobs.all_over(JobLife::Sockets)).await;
            if let Some(raised) = jobs.first_raised() {
                let line = raised
                    .line
                    .map_or_else(String::new, |line| format!("{line}: "));
                let message = format!(
                    "a function that ran beside the tasks failed: {line}{}",
                    raised.message
                );
                self.shared.recorder.borrow_mut().warn(message);
            }
        }
        // All at once: several servers that do not respond to a close take no longer than one.
        let streams = self.exchanges.streams.all();
        streams.iter().for_each(|stream| stream.body.close());
        for stream in &streams {
            self.close_stream(stream).await;
        }
        self.exchanges.open_channels();
        let sockets = self.exchanges.sockets.take_all();
        Box::pin(join_all(sockets.iter().map(|socket| socket.close()))).await;
    }

    /// Sends requests side by side.
    async fn fetch(&mut self, ops: Vec<RequestOp>) -> Result<Step, TaskEnd> {
        self.exchanges.settle(&mut self.vm.enter());
        self.exchanges.open_rows(&ops);
        self.exchanges.latest_mut().begin_all(ops);
        let lost = self.shared.lost();
        let stop = (!self.stop.is_requested()).then_some(&*self.stop);
        let fetched = fetch(&self.exchanges.sender, self.exchanges.latest(), stop).await;
        self.exchanges.sender.paused(self.shared.lost() - lost);
        let FetchEnd { full, waited } = fetched.ok_or(TaskEnd::GivenUp)?;
        self.hold_up(waited);
        let finished = self.exchanges.latest_mut().take_all();
        self.exchanges.make_room(&mut self.vm.enter());
        Ok(self.vm.enter().resume_list(finished, full))
    }

    /// Performs a call of a protocol other than HTTP.
    async fn call(&mut self, op: &CallOp) -> Result<Step, TaskEnd> {
        self.exchanges.settle(&mut self.vm.enter());
        if op.call.opens_socket() && self.has_all_channels() {
            return Ok(self.vm.enter().refuse(too_many_channels()));
        }
        let waited = self.exchanges.sender.back_off(op.call.target()).await;
        self.hold_up(waited);
        self.pass_throttles().await?;
        let row = self.exchanges.open_call(op);
        self.shared.gather().await;
        let sender = &mut self.exchanges.sender;
        let (ended, lost) = call(sender, op, row).await;
        sender.paused(lost);
        sender.responded::<CallOp>(op.call.target(), &ended);
        let vm = &mut self.vm.enter();
        self.exchanges.make_room(vm);
        self.exchanges.count_call(vm, op, row, &ended, None);
        let outcome = match ended.outcome {
            Ok(CallValue::Socket(socket)) => {
                let row = SocketRow::of(row.id, op);
                let socket = self.exchanges.sockets.add(socket, row);
                Ok(CallValue::Socket(socket))
            }
            Err(failure) if op.call.opens_socket() => {
                Ok(CallValue::Socket(Rc::new(OpenSocket::unopened(failure))))
            }
            outcome => outcome,
        };
        Ok(vm.resume_call(outcome))
    }

    /// Uses a socket on which the plan speaks a protocol of its own. After a stop, operations of a function that is
    /// being timed go on, as a request under way does, and so do those of `on_stop`; any other wait for a message ends, and its
    /// task with it.
    async fn socket(&mut self, op: &SocketOp) -> Result<Step, TaskEnd> {
        let goes_on = self.is_leaving || self.exchanges.times_function();
        let waits = matches!(op.action, SocketAction::Receive(_));
        if waits && !goes_on && self.stop.is_requested() {
            return Err(TaskEnd::Stopped);
        }
        let socket = &*op.socket;
        let start = Instant::now();
        let due = start + op.timeout.unwrap_or(self.shared.config.timeout);
        let performing = timeout_at(due, socket.perform(&op.action));
        let waited = if goes_on {
            self.exchanges.enter_latest(&mut self.vm.enter());
            self.vm.enter().reclaim();
            Waited::Over(performing.await)
        } else {
            self.wait_beside(performing, None).await
        };
        let outcome = match waited {
            Waited::Over(Ok(Ok(bytes))) => Ok(CallValue::Bytes(bytes)),
            Waited::Over(Ok(Err(SocketEnd::Closed(failure)))) => Err((failure, false)),
            Waited::Over(Ok(Err(SocketEnd::Failed(failure)))) => Err((failure, true)),
            Waited::Over(Err(_)) => {
                let failure = Failure::new(ErrorClass::Timeout, "");
                socket.cut_off(&op.action, &failure);
                let is_fault = !matches!(op.action, SocketAction::Receive(_));
                Err((failure, is_fault))
            }
            Waited::TimeUp | Waited::Stopped => {
                socket.cut_off(&op.action, &Failure::new(ErrorClass::Aborted, ""));
                let vm = &mut self.vm.enter();
                self.exchanges.count_socket(vm, socket, start, None, false);
                return Err(TaskEnd::Stopped);
            }
        };
        let (failure, is_fault) = match &outcome {
            Ok(_) => (None, false),
            Err((failure, is_fault)) => (Some(failure), *is_fault),
        };
        let vm = &mut self.vm.enter();
        self.exchanges
            .count_socket(vm, socket, start, failure, is_fault);
        self.exchanges.make_room(vm);
        Ok(vm.resume_call(outcome.map_err(|(failure, _)| failure)))
    }

    /// Begins an exchange that the plan carries out, once it is its turn.
    async fn begin_exchange(&mut self, op: Box<CallOp>, is_timed: bool) -> Result<Step, TaskEnd> {
        self.exchanges.settle(&mut self.vm.enter());
        self.pass_throttles().await?;
        self.shared.gather().await;
        let number = self.exchanges.begin(op, is_timed);
        Ok(self.vm.enter().resume_exchange(number))
    }

    /// Whether the user has jobs, or this is one of them.
    fn has_jobs(&self) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.are_there())
    }

    /// Carries out one operation of code beside which others of the user run. A job that is to end, ends here, and so does a task
    /// that one of its jobs has ended.
    async fn perform_beside(&mut self, op: Op) -> Result<Step, TaskEnd> {
        let Some(jobs) = self.jobs.clone() else {
            return self.perform(op).await;
        };
        let waits = op.waits();
        if let Some(job) = self.job.clone() {
            if job.is_cancelled() {
                return Err(TaskEnd::Stopped);
            }
            // A long poll may take as long as it likes, and its user ends now.
            job.waits.set(waits || job.lasts_as_user());
            let step = self.perform(op).await;
            job.waits.set(false);
            return step;
        }
        let is_over = || (waits && jobs.has_ended_task()).then_some(Err(TaskEnd::Stopped));
        match jobs.beside(self.perform(op), is_over).await {
            Ok(Step::Op(_) | Step::Preempted) if jobs.has_ended_task() => Err(TaskEnd::Stopped),
            step => step,
        }
    }

    /// Begins a job.
    fn spawn(&mut self, function: JobFunction) -> Step {
        let jobs = self.jobs.get_or_insert_default().clone();
        let life = function.life;
        let mut vm = self.vm.enter();
        let made = vm.make_job();
        let begun = made.and_then(|state| Ok((state, jobs.begin(life)?)));
        let (state, handle) = match begun {
            Ok(begun) => begun,
            Err(problem) => return vm.refuse(problem),
        };
        drop(vm);
        let number = handle.number();
        let exchanges = self.exchanges.of_job(life);
        let vm = self.vm.of_job(state);
        let (stop, shared) = (self.stop.clone(), self.shared.clone());
        let mut runner = TaskRunner::new(vm, exchanges, stop, shared);
        runner.fair_share = self.fair_share.clone();
        runner.jobs = Some(jobs.clone());
        runner.job = Some(handle.clone());
        runner.is_leaving = self.is_leaving;
        let job = runner.run_job(function, handle, jobs.clone());
        jobs.run(job, self.shared.clone());
        self.vm.enter().resume_spawned(number)
    }

    /// Runs a job from its start to its end.
    async fn run_job(mut self, function: JobFunction, handle: Rc<JobHandle>, jobs: Rc<Jobs>) {
        self.pay_for_turns().await;
        let first = self.vm.enter().start_job(function);
        let raised = handle.until_cancelled(self.execute(first)).await;
        let vm = &mut *self.vm.enter();
        let raised = raised.or(vm.end_job());
        jobs.take_over(self.exchanges.hand_over(vm));
        jobs.end(&handle, raised, self.held_up);
        jobs.end_task(if vm.was_ended_by_limit() {
            self.end.max(TaskEnd::Limit)
        } else {
            self.end
        });
    }

    /// Waits until a job is over, and passes the error that it has raised to the plan.
    async fn join(&mut self, number: u64) -> Result<Step, TaskEnd> {
        let jobs = self.jobs.clone();
        let job = jobs.as_ref().and_then(|jobs| jobs.of_number(number));
        let (Some(jobs), Some(job)) = (jobs, job) else {
            return Ok(self.vm.enter().resume_joined(None));
        };
        if let Some(own) = &self.job {
            if job.depends_on(own) {
                let problem = if Rc::ptr_eq(own, &job) {
                    "a job cannot wait for itself"
                } else {
                    "these jobs wait for each other: one of them has to end without 'join'"
                };
                return Ok(self.vm.enter().refuse(problem.to_owned()));
            }
            own.set_joins(Some(job.clone()));
        }
        let start = Instant::now();
        let waited = self.beside(job.over(), None).await;
        if let Some(own) = &self.job {
            own.set_joins(None);
        }
        match waited {
            Waited::Over(held_up) => self.hold_up(held_up.min(start.elapsed())),
            Waited::TimeUp => {}
            // Its waits are over, too.
            Waited::Stopped => return Err(TaskEnd::Stopped),
        }
        self.exchanges.take_over(jobs.take_earlier());
        Ok(self.vm.enter().resume_joined(jobs.take_raised(&job)))
    }

    /// Waits until the jobs of a task are over whose own code has ended; a task that was ended, or has raised an error, ends
    /// them. Returns its error, or else that of a job.
    async fn join_jobs(&mut self, jobs: &Jobs, raised: Option<RaisedError>) -> Option<RaisedError> {
        if raised.is_some() || self.end > TaskEnd::Stopped {
            jobs.cancel_all(JobLife::Task);
        }
        let start = Instant::now();
        let held_up = match self.exchanges.sender.starting_task() {
            Some(task) => self.jobs_of_start_over(jobs, &task).await,
            None => jobs.all_over(JobLife::Task).await,
        };
        self.hold_up(held_up.min(start.elapsed()));
        self.end = self.end.max(jobs.take_end());
        self.exchanges.take_over(jobs.take_earlier());
        let raised = raised.or_else(|| jobs.first_raised());
        if self.vm.enter().was_ended_by_limit() {
            jobs.clear();
        }
        raised
    }

    /// Waits until the jobs of an `on_start` task are over, and warns where that takes long: the user is not at work before.
    async fn jobs_of_start_over(&self, jobs: &Jobs, task: &str) -> Duration {
        let mut over = pin!(jobs.all_over(JobLife::Task));
        let patience = self.shared.timers.wait(PATIENCE_AT_START);
        tokio::select! {
            biased;
            held_up = &mut over => return held_up,
            () = patience => {}
        }
        self.shared.recorder.borrow_mut().warn(format!(
            "users are not at work: their 'on_start' task '{task}' waits for a job that it has begun; one that lasts as long as its user \
             is begun with user:spawn(fn, {{ life = \"user\" }})"
        ));
        over.await
    }

    /// The jobs of the user, some of which may go on between the tasks.
    pub(super) fn jobs(&self) -> Option<Rc<Jobs>> {
        self.jobs.clone()
    }

    /// Waits as the plan says.
    async fn wait(&mut self, time: Duration) -> Result<Step, TaskEnd> {
        self.exchanges.enter_latest(&mut self.vm.enter());
        self.exchanges.reclaim(&mut self.vm.enter());
        let start = self.exchanges.sender.cycles.is_some().then(Instant::now);
        let time = self.shared.pause(time);
        let allowed = self.shared.config.stop_timeout;
        let timers = &self.shared.timers;
        let waited = self.stop.wait_in_task(time, allowed, timers).await;
        if let Some(start) = start {
            self.exchanges.sender.paused(start.elapsed());
        }
        if waited {
            Ok(self.vm.enter().go_on())
        } else {
            // Ends the task without an error, which 'pcall' in the plan could catch.
            Err(TaskEnd::Stopped)
        }
    }

    /// Waits until all users run.
    async fn wait_for_all(&mut self) -> Result<Step, TaskEnd> {
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        let is_stopping = stop.is_requested();
        self.wait_beside(shared.all_started.pass(&stop), None).await;
        // A stop ends this wait, and the task with it. A wait that begins after the stop is over at once: no more users
        // will start.
        if !is_stopping && stop.is_requested() && shared.all_started.is_closed() {
            Err(TaskEnd::Stopped)
        } else {
            Ok(self.vm.enter().go_on())
        }
    }

    /// Resumes the plan after a wait, unless a stop has ended it, and the task with it.
    fn go_on_after<T>(&mut self, waited: Waited<T>) -> Result<Step, TaskEnd> {
        match waited {
            Waited::Over(_) | Waited::TimeUp => Ok(self.vm.enter().go_on()),
            Waited::Stopped => Err(TaskEnd::Stopped),
        }
    }

    /// Waits for other users, at most this long, as a part of the task.
    async fn wait_beside<T>(
        &mut self,
        other: impl Future<Output = T>,
        most: Option<Duration>,
    ) -> Waited<T> {
        let start = self.exchanges.sender.cycles.is_some().then(Instant::now);
        let waited = self.beside(other, most).await;
        if let Some(start) = start {
            self.exchanges.sender.paused(start.elapsed());
        }
        waited
    }

    /// Waits for something at most this long. A stop ends the wait at once. After a stop, a wait with a limit takes no time:
    /// its end may never come.
    async fn beside<T>(
        &mut self,
        other: impl Future<Output = T>,
        most: Option<Duration>,
    ) -> Waited<T> {
        self.exchanges.enter_latest(&mut self.vm.enter());
        self.vm.enter().reclaim();
        let is_stopping = self.stop.is_requested();
        let most = most.map(|most| if is_stopping { Duration::ZERO } else { most });
        let stopped = async {
            if is_stopping {
                std::future::pending().await
            } else {
                self.stop.requested().await
            }
        };
        tokio::select! {
            biased;
            other = other => Waited::Over(other),
            () = stopped => Waited::Stopped,
            () = time_up(most, &self.shared.timers) => Waited::TimeUp,
        }
    }
}

impl Drop for TaskRunner {
    /// Counts requests that are still open: a user may be cut off between two requests.
    fn drop(&mut self) {
        if let (Some(jobs), None) = (&self.jobs, &self.job) {
            jobs.clear();
        }
        let is_job = self.job.is_some();
        self.exchanges.settle_cut_off(&mut self.vm.enter(), is_job);
    }
}

fn too_many_channels() -> String {
    format!("the user has {MAX_CHANNELS} streams and sockets open: close some")
}

/// Waits at most this long, for ever without a limit.
async fn time_up(most: Option<Duration>, timers: &Timers) {
    match most {
        // Always lets other tasks run, also where a plan waits in a loop.
        Some(Duration::ZERO) => tokio::task::yield_now().await,
        Some(most) => timers.wait(most).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
