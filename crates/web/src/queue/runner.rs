//! The runner: carries on one run after another, until it is interrupted.

use super::order::ProcessOrder;
use super::process::{ExitedProcess, Process, interrupt};
use super::record::{RunEnd, now};
use super::runs::{CurrentRun, QueuedRun, Runs, plan_arguments};
use lgoose_base::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// Time from the second interrupt to the end of this process: a little less than the second that is promised.
const PATIENCE: Duration = Duration::from_millis(800);

/// Time between two looks whether a run of an earlier server is over.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// End of the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerEnd {
    /// Nothing goes on any more.
    Idle,
    /// Somebody was in a hurry: the last run was aborted, and if it has not ended in time, writes its report on its own.
    Hurried,
}

/// Carries on the queued runs until the first interrupt, which stops the run that goes on; the second aborts it. Messages
/// go to `notify`.
pub async fn run_all(
    runs: &Runs,
    read_only: bool,
    interrupts: &mut mpsc::Receiver<()>,
    notify: impl Fn(&str),
) -> RunnerEnd {
    let mut interrupts = Interrupts {
        signals: interrupts,
        hurry: None,
        count: 0,
    };
    loop {
        let (address, address_receiver) = watch::channel(None);
        let token = token();
        let start = |waiting: &mut QueuedRun| {
            waiting.record.begun = Some(now());
            CurrentRun {
                id: waiting.id.clone(),
                plan: waiting.record.plan.clone(),
                token: token.clone(),
                address: address_receiver.clone(),
                record: waiting.record.clone(),
            }
        };
        let waiting = tokio::select! {
            biased;
            () = interrupts.next() => None,
            waiting = runs.next(start) => waiting,
        };
        let Some(waiting) = waiting else {
            runs.close();
            return RunnerEnd::Idle;
        };
        let QueuedRun {
            id,
            mut record,
            plan,
            arguments,
        } = waiting;
        if let Some(other) = runs.data.running() {
            notify(&format!(
                "run {id} waits for the end of run {other} of an earlier 'lgoose serve'"
            ));
            tokio::select! {
                () = interrupts.next() => {
                    runs.close();
                    return RunnerEnd::Idle;
                }
                () = free(runs) => {}
            }
        }
        notify(&format!("run {id} begins"));
        let order = ProcessOrder {
            arguments: [
                vec![format!(
                    "--output=json={}",
                    runs.data.report_path(&id).display()
                )],
                arguments,
                plan_arguments(&plan).to_vec(),
            ]
            .concat(),
            token,
            read_only,
            check: false,
            files: Some(runs.data.files_path(&id)),
            lock: Some((runs.data.running_path(), id.clone())),
        };
        // A record that cannot be kept now is reported at its end.
        let _later = runs.data.write_record(&id, &record);
        let gone = one(runs, &id, &plan, &order, address, &mut interrupts).await;
        let end = match gone {
            Ok(Some(gone)) => RunEnd {
                at: now(),
                exit_code: gone.exit_code(),
                error: gone.error(),
                output: match runs.data.report(&id) {
                    Ok(Some(_)) => None,
                    _ => Some(gone.output()),
                },
            },
            Ok(None) => return RunnerEnd::Hurried,
            Err(error) => RunEnd {
                at: now(),
                exit_code: None,
                error: Some(error.text()),
                output: None,
            },
        };
        let message = match (end.exit_code, &end.error) {
            (Some(0), _) | (_, None) => format!("run {id} is over"),
            (_, Some(error)) => format!("run {id} is over: {error}"),
        };
        notify(&message);
        record.end = Some(end);
        if let Err(error) = runs.end(&id, record) {
            notify(&format!(
                "the end of run {id} is not kept: {}",
                error.text()
            ));
        }
        match interrupts.count {
            0 => {}
            1 => return RunnerEnd::Idle,
            _ => return RunnerEnd::Hurried,
        }
    }
}

/// Waits until no process of another run is there.
async fn free(runs: &Runs) {
    while runs.data.running().is_some() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Carries on one run to its end; `None` if that takes too long after a second interrupt.
async fn one(
    runs: &Runs,
    id: &str,
    plan: &Path,
    order: &ProcessOrder,
    address: watch::Sender<Option<SocketAddr>>,
    interrupts: &mut Interrupts<'_>,
) -> Result<Option<ExitedProcess>, Error> {
    runs.data.store_plan(id, plan)?;
    let process = Process::start(order).await;
    let mut process = process.map_err(|error| Error::cannot("start the run", error))?;
    let own = process.id();
    let interrupted = |own: Option<_>| {
        runs.close();
        own.into_iter().for_each(interrupt);
    };
    // Its end is noticed by the end of the socket, too.
    loop {
        let too_long = interrupts.out_of_patience();
        tokio::select! {
            found = process.address() => {
                address.send_replace(found);
                break;
            }
            () = interrupts.next() => interrupted(own),
            () = too_long => return Ok(None),
        }
    }
    let status = loop {
        let too_long = interrupts.out_of_patience();
        tokio::select! {
            status = process.ended() => break status,
            () = interrupts.next() => interrupted(own),
            () = too_long => return Ok(None),
        }
    };
    drop(address);
    let status = status.map_err(|error| Error::cannot("wait for the run", error))?;
    Ok(Some(process.last_words(status).await))
}

/// The wish to end, and how urgent it is.
struct Interrupts<'a> {
    signals: &'a mut mpsc::Receiver<()>,
    hurry: Option<Instant>,
    count: u32,
}

impl Interrupts<'_> {
    /// Waits for the next one.
    async fn next(&mut self) {
        if self.signals.recv().await.is_none() {
            // Nobody is left to interrupt.
            return std::future::pending().await;
        }
        self.count += 1;
        if self.count == 2 {
            self.hurry = Some(Instant::now() + PATIENCE);
        }
    }

    /// Waits until there is no more time after the second.
    fn out_of_patience(&self) -> impl Future<Output = ()> + use<> {
        let hurry = self.hurry;
        async move {
            match hurry {
                Some(end) => sleep_until(end).await,
                None => std::future::pending().await,
            }
        }
    }
}

fn token() -> String {
    format!("{:032x}", rand::random::<u128>())
}
