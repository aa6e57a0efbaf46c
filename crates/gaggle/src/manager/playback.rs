//! Playback of a run that another manager leads, or led until it was lost: hands the stream from the beginning to a
//! director, moment by moment.

use super::journal::ManagerLog;
use super::registry::{RegisteredWorker, SILENCE, WorkerRegistry};
use super::terms::WorkerLoss;
use crate::broker::Broker;
use crate::messages::{
    self, ManagerLogEvent, ManagerLogLine, ManagerRecord, NumberedSignal, RevisedOrder,
};
use crate::names;
use crate::reading::{FailureTracker, READ_AHEAD, RunMessage, read};
use lgoose_base::error::{Error, Trouble};
use lgoose_engine::{ReplayEvent, ReplayMoment, ShardEvent, ShardEventKind};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time between two checks of everything that changes by the passing of time alone.
const LOOK: Duration = Duration::from_millis(250);

/// A run whose stream is played.
pub(super) struct Playback {
    pub(super) broker: Broker,
    pub(super) run: String,
    pub(super) registry: WorkerRegistry,
    /// Start of the users.
    pub(super) start: Instant,
    /// Time at which the broker stored the record, in nanoseconds since 1970 by its clock.
    recorded: i128,
    ahead: Duration,
    moments: mpsc::Sender<ReplayMoment>,
    /// Time of each worker's last signal since the run began.
    last_signals: Vec<Duration>,
    /// The manager that leads the run, as of the moment played last.
    leader: String,
    /// Number of the latest journal line.
    pub(super) lines: u64,
    /// The latest order.
    pub(super) order: Option<RevisedOrder>,
    /// Sequence number in the stream of the next message.
    pub(super) next: u64,
}

/// State of the lead of a run.
#[derive(Debug)]
pub(super) enum LeadState {
    /// Another manager leads the run.
    Led,
    /// The manager was lost, and this process now leads the run.
    Unled,
    /// The manager has ended the run.
    Gone,
    /// Nobody leads the run, and this process cannot.
    Failed(Error),
}

/// Ways in which a playback ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaybackEnd {
    /// The manager was lost, and this process now leads the run.
    Unled,
    /// The run is gone from the broker, or nobody watches any more.
    Over,
}

impl Playback {
    /// Reads the record of a run and makes its playback.
    ///
    /// # Errors
    /// Trouble: there is no such run, it has not begun, or its manager is of another version of lgoose.
    pub(super) async fn open(
        broker: &Broker,
        run: &str,
    ) -> Result<(Playback, ManagerRecord, mpsc::Receiver<ReplayMoment>), Error> {
        let cannot = || Trouble::cannot(format!("attach to run '{run}'"));
        let runs = broker.runs().await?;
        if !runs.iter().any(|listed| listed == run) {
            let help = if runs.is_empty() {
                "the broker keeps no run".to_owned()
            } else {
                format!("runs at the broker: {}", runs.join(", "))
            };
            return Err(cannot().because("there is no such run").help(help).into());
        }
        let Some(stored) = broker.find_last(run, &names::record(run)).await? else {
            return Err(cannot()
                .because("its users have not started")
                .help("wait until they have; without a manager its workers give it up")
                .into());
        };
        let record: ManagerRecord = messages::decode(&stored.payload)?;
        let own = env!("CARGO_PKG_VERSION");
        if record.version != own {
            let why = format!(
                "its manager was lgoose {}, and this is {own}",
                record.version
            );
            return Err(cannot()
                .because(why)
                .help("use the same lgoose everywhere")
                .into());
        }
        let requested_at = Instant::now();
        let (_, now) = broker.stored_messages(run, &names::lead(run), 1).await?;
        let recorded = stored.time.unix_timestamp_nanos();
        let since = now - recorded - record.ahead.as_nanos() as i128;
        let distance = Duration::from_nanos(since.unsigned_abs() as u64);
        let start = if since < 0 {
            requested_at.checked_add(distance)
        } else {
            requested_at.checked_sub(distance)
        };
        let start = start.ok_or_else(|| cannot().because("it began before any time known here"))?;
        let members = record.members.iter().cloned().map(RegisteredWorker::from);
        let registry = WorkerRegistry(members.collect());
        let (moments, received) = mpsc::channel(READ_AHEAD);
        let playback = Playback {
            broker: broker.clone(),
            run: run.to_owned(),
            last_signals: vec![Duration::ZERO; registry.0.len()],
            registry,
            start,
            recorded,
            ahead: record.ahead,
            moments,
            leader: String::new(),
            lines: 0,
            order: None,
            next: 1,
        };
        Ok((playback, record, received))
    }

    /// Plays everything in the stream, and goes on for as long as another manager leads the run.
    pub(super) async fn play(
        &mut self,
        mut state: impl AsyncFnMut() -> LeadState,
        over: &mut (impl Future + Unpin),
    ) -> PlaybackEnd {
        let (sender, mut received) = mpsc::channel(READ_AHEAD);
        let (reports, mut troubles) = mpsc::unbounded_channel();
        let reading = tokio::spawn(read(
            self.broker.clone(),
            self.run.clone(),
            String::new(),
            1,
            sender,
            FailureTracker::new(reports),
        ));
        let mut look = tokio::time::interval(LOOK);
        let mut up_to_date = false;
        let mut broken = None;
        let played = loop {
            tokio::select! {
                _ = &mut *over => break PlaybackEnd::Over,
                Some(message) = received.recv() => {
                    up_to_date = message.is_last;
                    if !self.take(message).await {
                        break PlaybackEnd::Over;
                    }
                }
                _ = look.tick(), if up_to_date => {
                    let what = match (state().await, broken.take()) {
                        (LeadState::Gone, _) => ReplayEvent::End,
                        (LeadState::Failed(error), _) | (_, Some(error)) => ReplayEvent::Failed(error),
                        (LeadState::Led, None) => ReplayEvent::Nothing,
                        (LeadState::Unled, None) => break PlaybackEnd::Unled,
                    };
                    let ends = matches!(what, ReplayEvent::End | ReplayEvent::Failed(_));
                    if !self.publish(self.start.elapsed(), what).await || ends {
                        break PlaybackEnd::Over;
                    }
                }
                Some(trouble) = troubles.recv() => {
                    tracing::debug!(target: "lgoose::gaggle", "{trouble}");
                    // Nothing more will come: unless the run is gone, it cannot be followed.
                    (up_to_date, broken) = (true, Some(trouble));
                }
            }
        };
        reading.abort();
        if played == PlaybackEnd::Unled {
            self.report_silent().await;
        }
        played
    }

    /// Takes a message of the stream; returns false if nobody watches any more.
    async fn take(&mut self, message: RunMessage) -> bool {
        self.next = message.number + 1;
        let since = message.stored_at - self.recorded - self.ahead.as_nanos() as i128;
        let at = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
        let subject = &*message.subject;
        if subject == names::order(&self.run) {
            let Ok(revised) = messages::decode::<RevisedOrder>(&message.bytes) else {
                return true;
            };
            self.order = Some(revised.clone());
            return self.publish(at, ReplayEvent::Order(revised.order)).await;
        }
        if subject == names::journal(&self.run) {
            return match messages::decode::<ManagerLogLine>(&message.bytes) {
                // Lines of a manager that has lost the lead without knowing it do not count.
                Ok(line) if line.number > self.lines && line.leader == self.leader => {
                    self.take_line(line).await
                }
                _ => true,
            };
        }
        if subject == names::lead(&self.run) {
            self.leader = String::from_utf8_lossy(&message.bytes).into_owned();
            return true;
        }
        // Records of gathers are not needed: the stream has the signals themselves, too.
        match self.registry.number_of(&message.sender) {
            Some(number) => self.take_signal(number, at, &message.bytes).await,
            None => true,
        }
    }

    async fn take_signal(&mut self, number: usize, at: Duration, bytes: &[u8]) -> bool {
        let silent = at.saturating_sub(self.last_signals[number]);
        self.last_signals[number] = at;
        let mut kinds = Vec::new();
        let latest = self.registry.0[number].sequence;
        let read = messages::decode_signal(bytes, latest);
        let heeded = read.and_then(|NumberedSignal { sequence, signal }| {
            let come = self.registry.come_to(number, sequence, 1, silent);
            let Some(come) = come else { return Ok(None) };
            kinds.extend(come.signals);
            self.registry.accept(number, sequence, signal).map(Some)
        });
        match heeded {
            Ok(kind) => kinds.extend(kind),
            Err(error) => {
                self.registry.0[number].sequence = latest;
                kinds.extend(self.registry.skip(number, &error));
            }
        }
        for kind in kinds {
            let signal = ShardEvent { from: number, kind };
            if !self.publish(at, ReplayEvent::Event(signal)).await {
                return false;
            }
        }
        true
    }

    async fn take_line(&mut self, line: ManagerLogLine) -> bool {
        self.lines = line.number;
        let at = line.at;
        let (from, kind) = match line.kind {
            ManagerLogEvent::Action(action) => {
                return self.publish(at, ReplayEvent::Action(action)).await;
            }
            ManagerLogEvent::Away { worker, text } => {
                if let Some(member) = self.registry.0.get_mut(worker) {
                    member.away = true;
                }
                (worker, ShardEventKind::Away(text))
            }
            ManagerLogEvent::Warning { worker, text } => (worker, ShardEventKind::Warning(text)),
            ManagerLogEvent::Joined {
                in_place_of,
                member,
                text,
            } => {
                let member = RegisteredWorker::from(*member);
                let identity = member.identity();
                self.last_signals.push(at);
                let new = self.registry.replace(in_place_of, member);
                let joined = ShardEventKind::Joined {
                    in_place_of,
                    identity,
                    text,
                };
                (new, joined)
            }
        };
        self.publish(at, ReplayEvent::Event(ShardEvent { from, kind }))
            .await
    }

    /// Reports workers that fell silent after their manager was lost, at the times when they did.
    async fn report_silent(&mut self) {
        let now = self.start.elapsed();
        let all = self.registry.0.iter().enumerate();
        let silent = all.filter(|(number, member)| {
            !member.away && !member.ended && self.last_signals[*number] + SILENCE < now
        });
        let mut silent: Vec<(Duration, usize)> = silent
            .map(|(number, _)| (self.last_signals[number] + SILENCE, number))
            .collect();
        silent.sort_unstable();
        for (at, number) in silent {
            let member = &mut self.registry.0[number];
            member.away = true;
            let kind = ShardEventKind::Away(member.lost());
            let signal = ShardEvent { from: number, kind };
            if !self.publish(at, ReplayEvent::Event(signal)).await {
                return;
            }
        }
        for member in &mut self.registry.0 {
            member.last_signal = Instant::now();
        }
    }

    async fn publish(&self, at: Duration, what: ReplayEvent) -> bool {
        self.moments.send(ReplayMoment { at, what }).await.is_ok()
    }

    /// Returns the log that continues the journal.
    pub(super) fn log(
        &self,
        record: ManagerRecord,
        leader: String,
        lines: mpsc::UnboundedSender<ManagerLogLine>,
    ) -> ManagerLog {
        ManagerLog {
            facts: record.facts,
            on_loss: WorkerLoss::Continue,
            test_start: record.test_start,
            leader,
            number: self.lines,
            lines,
        }
    }
}
