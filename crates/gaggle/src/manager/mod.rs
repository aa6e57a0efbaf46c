//! A manager: finds workers, sends them the plan, and connects them to the director of the run.

mod events;
mod folding;
mod gathers;
mod hand_out;
mod inputs;
mod intake;
mod journal;
mod logs;
mod outages;
mod playback;
mod pump;
mod recruit;
mod registry;
mod requests;
mod signal_path;
mod slots;
mod streams;
mod takeover;
mod terms;
mod thread;

use crate::broker::{Broker, BrokerAddress, LogConsumer, make_log_stream, remove_log_stream};
use crate::messages::RunDescription;
use crate::names;
use crate::sharing::ManagedState;
use hand_out::PackedPlan;
use lgoose_base::error::Error;
use lgoose_engine::{
    PastRun, PlanFacts, PlanVersion, PlanVersions, VersionOffers, WorkerLink, WorkerLogs,
};
use pump::{ManagerChannels, ManagerLoop};
pub use recruit::present;
use registry::WorkerRegistry;
use slots::Slots;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use streams::ManagerConnection;
pub use takeover::{BrokerRun, attach};
use terms::{PlanPacker, ProgressReporter};
pub use terms::{Recruitment, RunTitle, WorkerLoss};
pub use thread::DisconnectHandle;
use thread::start_thread;
use tokio::sync::{mpsc, oneshot};

/// Time limit for connecting to the broker.
const CONNECT: Duration = Duration::from_secs(5);

/// Time from the decision to begin until users begin.
const LEAD: Duration = Duration::from_secs(1);

/// The ends of the link to workers that are ready to begin.
#[derive(Debug)]
pub struct Manager {
    /// Name of the run.
    pub run: String,
    /// The director's end of the link to the workers.
    pub link: WorkerLink,
    /// For the director: versions of the plan that all workers have loaded.
    pub offers: VersionOffers,
    /// For the code that reloads the plan.
    pub versions: PlanVersions,
    /// Log entries of the workers, if the run keeps any logs.
    pub logs: Option<WorkerLogs>,
}

impl Manager {
    /// Connects, waits for workers and sends them the plan, unless `stop` completes first. All work is done on a
    /// thread of its own.
    ///
    /// # Errors
    /// Trouble with the broker; too few workers, by name; a plan that a worker refuses, by name; or `stop`.
    pub async fn recruit(
        address: BrokerAddress,
        recruitment: Recruitment,
        plan_version: Arc<PlanVersion>,
        about: RunTitle,
        pack: PlanPacker,
        notify: ProgressReporter,
        stop: impl Future<Output = ()>,
    ) -> Result<(Manager, DisconnectHandle), Error> {
        let preparing = move |mut ends: oneshot::Receiver<()>| async move {
            let broker = Broker::connect(&address, "lgoose manager", CONNECT).await?;
            let run = run_name();
            broker.make_stream(&run).await?;
            let recruiting =
                prepare_workers(&broker, &run, &recruitment, &plan_version, pack, notify);
            let recruited = tokio::select! {
                recruited = recruiting => recruited,
                _ = &mut ends => Err(Error::trouble("nobody waits for the run any more")),
            };
            let prepared = match recruited {
                Ok(prepared) => prepared,
                Err(error) => {
                    recruit::release_all(&broker, &run).await;
                    broker.remove_stream(&run).await;
                    remove_log_stream(&broker, &run).await;
                    return Err(error);
                }
            };
            let on_loss = recruitment.on_loss;
            let (pump, manager) = connect(prepared, &run, &plan_version, about, on_loss);
            Ok((pump.run(ends), manager))
        };
        start_thread(preparing, stop).await
    }

    /// Makes a manager and the ends of the channels to its pump. With a `past`, the run is already under way.
    fn new(
        run: &str,
        registry: &WorkerRegistry,
        stops_on_loss: bool,
        past: Option<PastRun>,
    ) -> (Manager, ManagerChannels) {
        let (signals, received) = mpsc::unbounded_channel();
        let (start, started) = oneshot::channel();
        let (events, event_tasks) = mpsc::unbounded_channel();
        let (journal, entries) = mpsc::unbounded_channel();
        let (versions, offered) = PlanVersions::open();
        let (loaded, offers) = PlanVersions::open();
        let manager = Manager {
            run: run.to_owned(),
            link: WorkerLink {
                workers: registry.identities(),
                lead: LEAD,
                stops_on_loss,
                signals: received,
                start,
                events,
                journal,
                past,
            },
            offers,
            versions,
            logs: None,
        };
        let ends = ManagerChannels {
            signals,
            journal: entries,
            start: Some(started),
            events: event_tasks,
            offered,
            loaded,
        };
        (manager, ends)
    }
}

/// Workers that have the plan, and the connection to them.
struct PreparedWorkers {
    line: ManagerConnection,
    /// The consumer of the workers' logs, if the run keeps any.
    log_consumer: Option<LogConsumer>,
    registry: WorkerRegistry,
    slots: Slots,
    plan: PackedPlan,
}

/// Waits for workers and sends them the plan.
async fn prepare_workers(
    broker: &Broker,
    run: &str,
    recruitment: &Recruitment,
    plan_version: &PlanVersion,
    pack: PlanPacker,
    notify: ProgressReporter,
) -> Result<PreparedWorkers, Error> {
    let Some(line) = ManagerConnection::open(broker.clone(), run, 0).await? else {
        return Err(Error::trouble("another manager has this run"));
    };
    ManagedState::Here(Arc::default())
        .serve(broker, run)
        .await?;
    let log_consumer = if recruitment.logs {
        Some(make_log_stream(broker, run).await?)
    } else {
        None
    };
    let recruited = recruit::recruit(broker, run, recruitment, &notify).await?;
    let mut registry = WorkerRegistry::new(recruited, recruitment.on_loss.fills_places());
    let plan = PackedPlan::new(pack, plan_version)?;
    let slots = Slots::open(broker, run, &mut registry, &notify).await?;
    let offsets = plan.hand_out(broker, run, &registry).await?;
    registry.note(offsets);
    // A manager that may not publish its orders could not stop the users.
    if let Some(denied) = broker
        .permissions()
        .denied("lead the run at the broker", &names::of_run(run))
    {
        return Err(denied);
    }
    Ok(PreparedWorkers {
        line,
        log_consumer,
        registry,
        slots,
        plan,
    })
}

/// Makes the manager of these workers and the loop that connects it to them.
fn connect(
    mut prepared: PreparedWorkers,
    run: &str,
    plan_version: &PlanVersion,
    about: RunTitle,
    on_loss: WorkerLoss,
) -> (ManagerLoop, Manager) {
    let log_consumer = prepared.log_consumer.take();
    let logs = log_consumer.map(|consumer| {
        let (logs, fetcher) = WorkerLogs::open();
        let workers = prepared.registry.0.iter().map(|member| &member.presence);
        let workers = workers.map(|worker| (worker.id.clone(), worker.name.clone()));
        let (broker, run) = (prepared.line.broker.clone(), run.to_owned());
        tokio::spawn(logs::collect(
            broker,
            run,
            consumer,
            workers.collect(),
            fetcher,
        ));
        logs
    });
    let stops_on_loss = on_loss == WorkerLoss::Stop;
    let (manager, ends) = Manager::new(run, &prepared.registry, stops_on_loss, None);
    let manager = Manager { logs, ..manager };
    let facts = RunDescription {
        name: about.name,
        target: about.target,
        started: SystemTime::now(),
        plan: PlanFacts::from(plan_version),
        stops_on_loss,
    };
    let pump = ManagerLoop::new(prepared, ends, facts, on_loss);
    (pump, manager)
}

/// Returns a random name for a run, which no other run has.
fn run_name() -> String {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
    let letter = |_| LETTERS[rand::random_range(0..LETTERS.len())] as char;
    (0..8).map(letter).collect()
}
