//! Commands for runs on many machines, and the transport of a plan from here to a worker.

mod attaching;
mod gather;
mod job;
mod listing;
mod server;
mod worker;

pub(super) use attaching::attach;
pub(super) use gather::gather;
pub(super) use listing::list;
pub(super) use worker::work;

use super::prepare::PreparedRun;
use crate::cli;
use job::{Job, TlsFiles};
use lgoose_base::error::{Diagnostic, Error};
use lgoose_engine::PlanVersion;
use lgoose_gaggle::{
    Broker, BrokerAddress, DisconnectHandle, Manager, Recruitment, RunTitle, WorkerLoss,
};
use lgoose_plan::config::LocalConfig;
use server::BrokerServer;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for workers to come, unless a flag sets one.
const WORKERS_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for the broker of a worker or a gather to come up.
const BROKER_PATIENCE: Duration = Duration::from_secs(60);

/// Connection and broker that must be ended after a run on workers.
pub(super) struct RunTeardown {
    leave: DisconnectHandle,
    /// The broker, if it was started for this run.
    server: Option<BrokerServer>,
}

impl RunTeardown {
    /// Releases the workers, and ends the broker if it was started for this run.
    pub(super) fn now(self) {
        self.leave.now();
        drop(self.server);
    }
}

/// Waits for this many workers, unless `stop` completes first, and gives them the plan.
///
/// # Errors
/// Trouble with the broker, too few workers, or a plan that one of them refuses; a mistake in the flags.
pub(super) async fn recruit(
    workers: usize,
    flags: &cli::GaggleArgs,
    prepared: &PreparedRun,
    announce: impl Fn(&str) + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(Manager, RunTeardown), Error> {
    let run = &prepared.run;
    fits(&run.local)?;
    for (site, url) in prepared.sites.served() {
        announce(&format!(
            "{site} is at {url} on this machine: workers on others do not reach it"
        ));
    }
    let (address, server) = match &flags.nats {
        Some(url) => (address(url, &flags.reached)?, None),
        None => {
            let server = BrokerServer::start(flags.nats_listen.as_deref()).await?;
            announce(&format!(
                "start a worker with: lgoose worker {}",
                server.url()
            ));
            (BrokerAddress::parse(server.url())?, Some(server))
        }
    };
    let recruitment = Recruitment {
        workers,
        timeout: flags.workers_timeout.unwrap_or(WORKERS_TIMEOUT),
        on_loss: match flags.on_worker_loss {
            None | Some(cli::OnLoss::Continue) => WorkerLoss::Continue,
            Some(cli::OnLoss::Replace) => WorkerLoss::Replace,
            Some(cli::OnLoss::Spread) => WorkerLoss::Spread,
            Some(cli::OnLoss::Stop) => WorkerLoss::Stop,
        },
        logs: run.local.logs.files().next().is_some(),
    };
    let about = RunTitle {
        name: run.name.clone(),
        target: run.target.clone(),
    };
    let RunTitle { name, target } = about.clone();
    let files = TlsFiles::read(&run.local)?;
    let logs = run.local.logs.selected();
    let pack = move |version: &PlanVersion| {
        let job = Job::of(version, &name, &target, files.clone(), logs)?;
        Ok(job.pack())
    };
    let (manager, leave) = Manager::recruit(
        address,
        recruitment,
        run.plan_version.clone(),
        about,
        Arc::new(pack),
        Box::new(announce),
        stop,
    )
    .await?;
    Ok((manager, RunTeardown { leave, server }))
}

/// Checks that no option is set that only makes sense on one machine.
fn fits(local: &LocalConfig) -> Result<(), Error> {
    if !local.local_addresses.is_empty() {
        let diagnostic = Diagnostic::new(
            "'--local-address' is an address of one machine, and workers are others",
        );
        return Err(diagnostic.help("leave it out with '--workers'").into());
    }
    Ok(())
}

/// Connects to a broker, under the name of what serves runs there.
async fn connect(address: &BrokerAddress, name: &str) -> Result<Broker, Error> {
    tracing::info!(target: "lgoose::gaggle", "connecting to the broker at {}", address.url());
    Broker::connect(address, name, BROKER_PATIENCE).await
}

/// Returns the address of a broker with the credentials and certificates that the flags set.
fn address(url: &str, reached: &cli::NatsArgs) -> Result<BrokerAddress, Error> {
    let mut address = BrokerAddress::parse(url)?;
    address.creds.clone_from(&reached.nats_creds);
    address.ca.clone_from(&reached.nats_ca);
    address.cert.clone_from(&reached.nats_cert);
    address.key.clone_from(&reached.nats_key);
    Ok(address)
}
