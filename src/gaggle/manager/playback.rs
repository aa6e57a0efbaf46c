//! Playback of a run that another manager leads, or led until it was lost: hands the stream from the beginning to a
//! director, moment by moment.

use super::journal::Chronicle;
use super::roll::{Member, Roll, SILENCE};
use crate::engine::{Moment, Signal, SignalKind, What};
use crate::error::{Error, Trouble};
use crate::gaggle::broker::Broker;
use crate::gaggle::messages::{self, JournalLine, LineKind, Numbered, Record, Revised};
use crate::gaggle::names;
use crate::gaggle::reading::{Failing, Heard, READ_AHEAD, read};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time between two looks at what changes only with time.
const LOOK: Duration = Duration::from_millis(250);

/// A run whose stream is played.
pub(super) struct Playback {
    pub(super) broker: Broker,
    pub(super) run: String,
    pub(super) roll: Roll,
    /// When users began.
    pub(super) begin: Instant,
    /// When the broker stored the record, in nanoseconds since 1970 by its clock.
    recorded: i128,
    ahead: Duration,
    moments: mpsc::Sender<Moment>,
    /// When each worker was last heard, as time since the run began.
    heard: Vec<Duration>,
    /// The manager that leads the run, as of the moment played last.
    leader: String,
    /// Number of the latest journal line.
    pub(super) lines: u64,
    /// The latest order.
    pub(super) order: Option<Revised>,
    /// Sequence number in the stream of the next message.
    pub(super) next: u64,
}

/// State of the lead of a run.
#[derive(Debug)]
pub(super) enum State {
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
pub(super) enum PlayedBack {
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
    ) -> Result<(Playback, Record, mpsc::Receiver<Moment>), Error> {
        let cannot = || Trouble::cannot(format!("attach to run '{run}'"));
        let runs = broker.runs().await?;
        if !runs.iter().any(|known| known == run) {
            let help = if runs.is_empty() {
                "the broker keeps no run".to_owned()
            } else {
                format!("runs at the broker: {}", runs.join(", "))
            };
            return Err(cannot().because("there is no such run").help(help).into());
        }
        let Some(kept) = broker.find_last(run, &names::record(run)).await? else {
            return Err(cannot()
                .because("its users have not started")
                .help("wait until they have; without a manager its workers give it up")
                .into());
        };
        let record: Record = messages::decode(&kept.payload)?;
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
        let asked = Instant::now();
        let (_, now) = broker.kept(run, &names::lead(run), 1).await?;
        let recorded = kept.time.unix_timestamp_nanos();
        let since = now - recorded - record.ahead.as_nanos() as i128;
        let distance = Duration::from_nanos(since.unsigned_abs() as u64);
        let begin = if since < 0 {
            asked.checked_add(distance)
        } else {
            asked.checked_sub(distance)
        };
        let begin = begin.ok_or_else(|| cannot().because("it began before any time known here"))?;
        let members = record.members.iter().cloned().map(Member::from);
        let roll = Roll(members.collect());
        let (moments, received) = mpsc::channel(READ_AHEAD);
        let playback = Playback {
            broker: broker.clone(),
            run: run.to_owned(),
            heard: vec![Duration::ZERO; roll.0.len()],
            roll,
            begin,
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
        mut state: impl AsyncFnMut() -> State,
        over: &mut (impl Future + Unpin),
    ) -> PlayedBack {
        let (sender, mut received) = mpsc::channel(READ_AHEAD);
        let (told, mut troubles) = mpsc::unbounded_channel();
        let reading = tokio::spawn(read(
            self.broker.clone(),
            self.run.clone(),
            String::new(),
            1,
            sender,
            Failing::new(told),
        ));
        let mut look = tokio::time::interval(LOOK);
        let mut up_to_date = false;
        let mut broken = None;
        let played = loop {
            tokio::select! {
                _ = &mut *over => break PlayedBack::Over,
                Some(message) = received.recv() => {
                    up_to_date = message.is_last;
                    if !self.take(message).await {
                        break PlayedBack::Over;
                    }
                }
                _ = look.tick(), if up_to_date => {
                    let what = match (state().await, broken.take()) {
                        (State::Gone, _) => What::End,
                        (State::Failed(error), _) | (_, Some(error)) => What::Failed(error),
                        (State::Led, None) => What::Nothing,
                        (State::Unled, None) => break PlayedBack::Unled,
                    };
                    let ends = matches!(what, What::End | What::Failed(_));
                    if !self.tell(self.begin.elapsed(), what).await || ends {
                        break PlayedBack::Over;
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
        if played == PlayedBack::Unled {
            self.tell_of_silent().await;
        }
        played
    }

    /// Takes a message of the stream; returns false if nobody watches any more.
    async fn take(&mut self, message: Heard) -> bool {
        self.next = message.number + 1;
        let since = message.kept_at - self.recorded - self.ahead.as_nanos() as i128;
        let at = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
        let subject = &*message.subject;
        if subject == names::order(&self.run) {
            let Ok(revised) = messages::decode::<Revised>(&message.bytes) else {
                return true;
            };
            self.order = Some(revised.clone());
            return self.tell(at, What::Order(revised.order)).await;
        }
        if subject == names::journal(&self.run) {
            return match messages::decode::<JournalLine>(&message.bytes) {
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
        match self.roll.number_of(&message.sender) {
            Some(number) => self.take_signal(number, at, &message.bytes).await,
            None => true,
        }
    }

    async fn take_signal(&mut self, number: usize, at: Duration, bytes: &[u8]) -> bool {
        let silent = at.saturating_sub(self.heard[number]);
        self.heard[number] = at;
        let mut kinds = Vec::new();
        let latest = self.roll.0[number].sequence;
        let read = messages::decode_signal(bytes, latest);
        let heeded = read.and_then(|Numbered { sequence, signal }| {
            let come = self.roll.come_to(number, sequence, 1, silent);
            let Some(come) = come else { return Ok(None) };
            kinds.extend(come.told);
            self.roll.heed(number, sequence, signal).map(Some)
        });
        match heeded {
            Ok(kind) => kinds.extend(kind),
            Err(error) => {
                self.roll.0[number].sequence = latest;
                kinds.extend(self.roll.skip(number, &error));
            }
        }
        for kind in kinds {
            let signal = Signal { from: number, kind };
            if !self.tell(at, What::Signal(signal)).await {
                return false;
            }
        }
        true
    }

    async fn take_line(&mut self, line: JournalLine) -> bool {
        self.lines = line.number;
        let at = line.at;
        let (from, kind) = match line.kind {
            LineKind::Told(told) => return self.tell(at, What::Told(told)).await,
            LineKind::Away { worker, text } => {
                if let Some(member) = self.roll.0.get_mut(worker) {
                    member.away = true;
                }
                (worker, SignalKind::Away(text))
            }
            LineKind::Warning { worker, text } => (worker, SignalKind::Warning(text)),
            LineKind::Joined {
                in_place_of,
                member,
                text,
            } => {
                let member = Member::from(*member);
                let identity = member.identity();
                self.heard.push(at);
                let new = self.roll.replace(in_place_of, member);
                (new, SignalKind::Joined { identity, text })
            }
        };
        self.tell(at, What::Signal(Signal { from, kind })).await
    }

    /// Reports workers that fell silent after their manager was lost, at the times when they did.
    async fn tell_of_silent(&mut self) {
        let now = self.begin.elapsed();
        let all = self.roll.0.iter().enumerate();
        let silent = all.filter(|(number, member)| {
            !member.away && !member.ended && self.heard[*number] + SILENCE < now
        });
        let mut silent: Vec<(Duration, usize)> = silent
            .map(|(number, _)| (self.heard[number] + SILENCE, number))
            .collect();
        silent.sort_unstable();
        for (at, number) in silent {
            let member = &mut self.roll.0[number];
            member.away = true;
            let kind = SignalKind::Away(member.lost());
            let signal = Signal { from: number, kind };
            if !self.tell(at, What::Signal(signal)).await {
                return;
            }
        }
        for member in &mut self.roll.0 {
            member.heard = Instant::now();
        }
    }

    async fn tell(&self, at: Duration, what: What) -> bool {
        self.moments.send(Moment { at, what }).await.is_ok()
    }

    /// Returns the chronicle that continues the journal.
    pub(super) fn chronicle(
        &self,
        record: Record,
        leader: String,
        lines: mpsc::UnboundedSender<JournalLine>,
    ) -> Chronicle {
        Chronicle {
            facts: record.facts,
            replaces: false,
            test_start: record.test_start,
            leader,
            number: self.lines,
            lines,
        }
    }
}
