//! The jobs of a user: functions of its plan that run beside its task. They take their steps while the task waits, each in a
//! coroutine of its own. Knows neither their operations nor how those are counted.

use crate::exchange::EarlierOperation;
use crate::user::shared::ShardState;
use crate::user::task_end::TaskEnd;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lgoose_lua::{JobLife, RaisedError};
use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug, Formatter};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;

/// The most jobs that a user has at a time.
const MOST: usize = 100;
/// The most errors of jobs that are kept until the plan joins them, or their task ends.
const MOST_FAILED: usize = 100;

type JobFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The jobs of one user. Its task alone lets them go on.
#[derive(Default)]
pub(super) struct Jobs {
    // Borrowed while a job takes its steps, so those that it begins wait beside it.
    running: RefCell<FuturesUnordered<JobFuture>>,
    begun: RefCell<Vec<JobFuture>>,
    /// Those whose turn was over when they came.
    left_out: RefCell<Vec<Waker>>,
    /// Those that run, and those that have failed.
    handles: RefCell<Vec<Rc<JobHandle>>>,
    count: Cell<u64>,
    /// Operations of jobs that are over whose verdicts the plan may still change.
    earlier: RefCell<Vec<EarlierOperation>>,
    /// How they have ended the task, if one of them has.
    end: Cell<TaskEnd>,
}

/// One job, as those know it who wait for it or end it.
#[derive(Debug, Default)]
pub(super) struct JobHandle {
    number: u64,
    life: JobLife,
    /// Whether it is to end, which it does where it waits, or before its next operation.
    cancelled: Cell<bool>,
    /// Whether it waits for something that may never come.
    pub(super) waits: Cell<bool>,
    over: Cell<bool>,
    /// How long lgoose has made it wait in all.
    held_up: Cell<Duration>,
    raised: RefCell<Option<RaisedError>>,
    /// The job that it waits for.
    joins: RefCell<Option<Rc<JobHandle>>>,
    waker: RefCell<Option<Waker>>,
    ended: Notify,
}

impl JobHandle {
    /// Cancels the job.
    fn cancel(&self) {
        self.cancelled.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Returns its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether it lasts as long as its user, and is then ended even in the middle of a request.
    pub(super) fn lasts_as_user(&self) -> bool {
        self.life == JobLife::User
    }

    /// Whether it is to end.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    /// Notes which job it waits for from now on.
    pub(super) fn set_joins(&self, job: Option<Rc<JobHandle>>) {
        self.joins.replace(job);
    }

    /// Returns whether it is the other job, or waits for that, or for one that does. One that is to end waits no longer.
    pub(super) fn depends_on(self: &Rc<Self>, other: &Rc<JobHandle>) -> bool {
        let mut next = Some(self.clone());
        while let Some(job) = next {
            if Rc::ptr_eq(&job, other) {
                return true;
            }
            next = job.joins.borrow().clone().filter(|_| !job.is_cancelled());
        }
        false
    }

    /// Follows its code, until that ends or waits though it is to end; nothing then.
    pub(super) async fn until_cancelled<T>(
        &self,
        code: impl Future<Output = Option<T>>,
    ) -> Option<T> {
        let mut code = pin!(code);
        poll_fn(|cx| {
            let polled = code.as_mut().poll(cx);
            if polled.is_pending() && self.is_cancelled() && self.waits.get() {
                return Poll::Ready(None);
            }
            self.waker.replace(Some(cx.waker().clone()));
            polled
        })
        .await
    }

    /// Waits until it is over, and returns how long lgoose has made it wait.
    pub(super) async fn over(&self) -> Duration {
        while !self.over.get() {
            self.ended.notified().await;
        }
        self.held_up.get()
    }
}

impl Jobs {
    /// Makes the handle of a job; nothing if the user has as many as it may.
    ///
    /// # Errors
    /// The message for the plan.
    pub(super) fn begin(&self, life: JobLife) -> Result<Rc<JobHandle>, String> {
        let mut handles = self.handles.borrow_mut();
        // A socket has one such job at most, and the number of sockets is limited.
        let is_one = |handle: &&Rc<JobHandle>| handle.life < JobLife::Sockets && !handle.over.get();
        if life < JobLife::Sockets && handles.iter().filter(is_one).count() >= MOST {
            return Err(format!(
                "the user has {MOST} jobs at a time: wait for some with job:join()"
            ));
        }
        let number = self.count.get() + 1;
        self.count.set(number);
        let handle = Rc::new(JobHandle {
            number,
            life,
            ..JobHandle::default()
        });
        handle.cancelled.set(self.has_ended_task());
        handles.push(handle.clone());
        Ok(handle)
    }

    /// Lets a job run from now on, as far as the turns of its user go.
    pub(super) fn run(
        self: &Rc<Self>,
        job: impl Future<Output = ()> + 'static,
        shared: Rc<ShardState>,
    ) {
        let jobs = self.clone();
        let in_turns = async move {
            let mut job = pin!(job);
            poll_fn(|cx| {
                if shared.turn.is_over() {
                    jobs.left_out.borrow_mut().push(cx.waker().clone());
                    return Poll::Pending;
                }
                job.as_mut().poll(cx)
            })
            .await;
        };
        self.begun.borrow_mut().push(Box::pin(in_turns));
    }

    /// Notes that a job is over, with the error that it has raised.
    pub(super) fn end(&self, job: &JobHandle, raised: Option<RaisedError>, held_up: Duration) {
        let mut handles = self.handles.borrow_mut();
        let failed = handles.iter().filter(|handle| handle.over.get()).count();
        let is_kept = raised.is_some() && failed < MOST_FAILED;
        job.raised.replace(raised);
        job.set_joins(None);
        job.held_up.set(held_up);
        job.over.set(true);
        job.ended.notify_waiters();
        if !is_kept {
            handles.retain(|handle| handle.number != job.number);
        }
    }

    /// Returns the job of that number, unless it is over and has not failed.
    pub(super) fn of_number(&self, number: u64) -> Option<Rc<JobHandle>> {
        let handles = self.handles.borrow();
        let found = handles.iter().find(|handle| handle.number == number);
        found.cloned()
    }

    /// Takes the error that a job has raised: the plan knows it from now on.
    pub(super) fn take_raised(&self, job: &JobHandle) -> Option<RaisedError> {
        let mut handles = self.handles.borrow_mut();
        handles.retain(|handle| handle.number != job.number || !handle.over.get());
        job.raised.take()
    }

    /// Cancels the job of that number.
    pub(super) fn cancel(&self, number: u64) {
        if let Some(job) = self.of_number(number) {
            job.cancel();
        }
    }

    /// Keeps operations of a job that is over.
    pub(super) fn take_over(&self, earlier: Vec<EarlierOperation>) {
        self.earlier.borrow_mut().extend(earlier);
    }

    /// Takes the operations of jobs that are over.
    pub(super) fn take_earlier(&self) -> Vec<EarlierOperation> {
        self.earlier.take()
    }

    /// Returns whether there are jobs, or errors of jobs that the plan has not joined.
    pub(super) fn are_there(&self) -> bool {
        !self.handles.borrow().is_empty()
    }

    /// Notes how a job has ended. If that ends the task, its other jobs end, too.
    pub(super) fn end_task(&self, end: TaskEnd) {
        if end > TaskEnd::Stopped {
            self.end.set(self.end.get().max(end));
            self.cancel_all(JobLife::Task);
        }
    }

    /// Whether one of them has ended the task.
    pub(super) fn has_ended_task(&self) -> bool {
        self.end.get() > TaskEnd::Stopped
    }

    /// Takes how they have ended the task, which is over.
    pub(super) fn take_end(&self) -> TaskEnd {
        self.end.take()
    }

    /// Cancels the jobs that last that long at most.
    pub(super) fn cancel_all(&self, life: JobLife) {
        let handles = self.handles.borrow();
        let due = handles.iter().filter(|handle| handle.life <= life);
        due.for_each(|handle| handle.cancel());
    }

    /// Lets them go on as far as they can within the turn of their user.
    fn poll(&self, cx: &mut Context<'_>) {
        self.poll_all(cx);
        // They are the first in the next turn, before those that have used up this one.
        self.left_out.take().into_iter().for_each(Waker::wake);
    }

    fn poll_all(&self, cx: &mut Context<'_>) {
        loop {
            let begun = self.begun.take();
            let mut running = self.running.borrow_mut();
            if begun.is_empty() && running.is_empty() {
                return;
            }
            running.extend(begun);
            while let Poll::Ready(Some(())) = running.poll_next_unpin(cx) {}
            if self.begun.borrow().is_empty() {
                return;
            }
        }
    }

    /// Lets them go on while something else does; `enough` is called after each of their steps, and ends that.
    pub(super) async fn beside<T>(
        &self,
        own: impl Future<Output = T>,
        enough: impl Fn() -> Option<T>,
    ) -> T {
        let mut own = pin!(own);
        poll_fn(|cx| {
            self.poll(cx);
            match enough() {
                Some(ended) => Poll::Ready(ended),
                None => own.as_mut().poll(cx),
            }
        })
        .await
    }

    /// Lets them go on while something else is waited for; boxed, since few users have some.
    pub(super) fn boxed_beside<'a, T: 'a>(
        &'a self,
        own: impl Future<Output = T> + 'a,
    ) -> Pin<Box<dyn Future<Output = T> + 'a>> {
        Box::pin(self.beside(own, || None))
    }

    /// Waits until those are over that last that long at most. Returns how long lgoose has made them wait at most.
    pub(super) async fn all_over(&self, life: JobLife) -> Duration {
        let is_due = |handle: &&Rc<JobHandle>| handle.life <= life && !handle.over.get();
        let mut held_up = Duration::ZERO;
        loop {
            let due = self.handles.borrow().iter().find(is_due).cloned();
            let Some(job) = due else {
                return held_up;
            };
            held_up = held_up.max(self.beside(job.over(), || None).await);
        }
    }

    /// Takes the first error of the jobs that are over and that the plan has not joined.
    pub(super) fn first_raised(&self) -> Option<RaisedError> {
        let mut first = None;
        self.handles.borrow_mut().retain(|handle| {
            if handle.over.get() && first.is_none() {
                first = handle.raised.take();
            }
            !handle.over.get()
        });
        first
    }

    /// Drops them all, wherever they are.
    pub(super) fn clear(&self) {
        self.handles.take();
        // None of them is polled while it is dropped.
        drop(self.begun.take());
        drop(self.running.take());
    }
}

impl Debug for Jobs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("handles", &self.handles)
            .finish_non_exhaustive()
    }
}
