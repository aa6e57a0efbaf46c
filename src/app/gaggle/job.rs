//! A job: everything that a worker needs to load the plan of the manager, packed.

use crate::app::client::{client, names_are_addresses};
use crate::app::loading::{self, MemoryLimits};
use lgoose_base::allotment::Reservations;
use lgoose_base::error::{Error, Trouble};
use lgoose_base::files::NamedFile;
use lgoose_base::packed::{pack, unpack};
use lgoose_base::secrets;
use lgoose_engine::PlanVersion;
use lgoose_gaggle::PlanOffer;
use lgoose_lua::Bundle;
use lgoose_metrics::{LogSelection, RunLogs};
use lgoose_plan::config::{
    Config, LoadPart, LocalConfig, Logs, RunConfig, ScreenConfig, ShowLevel, SummaryExtent,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// The largest plan with all its files, in bytes: more than can reasonably be sent.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;

/// The most memory that log entries may take on a worker until the broker has them, in bytes.
const MAX_LOGGED_BYTES: usize = 64 << 20;

/// Bounds on the unique rows and shared iterations that a worker reserves ahead of its users, two for each.
const MIN_RESERVED_AHEAD: u64 = 16;
const MAX_RESERVED_AHEAD: u64 = 1_000;

/// A plan, the configuration of its run, and the files that both need.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    bundle: Bundle,
    config: RunConfig,
    name: String,
    target: String,
    /// Base URL of each scenario.
    hosts: Vec<String>,
    files: TlsFiles,
    /// The logs that are kept, by number.
    logs: LogSelection,
}

/// Bytes of the files of `--ca`, `--cert` and `--key`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct TlsFiles {
    ca: Option<Vec<u8>>,
    cert: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
}

/// Settings of the worker itself.
#[derive(Debug, Clone)]
pub(super) struct WorkerTerms {
    pub(super) memory: MemoryLimits,
    /// Hosts that the worker sends to; all if the list is empty.
    pub(super) allowed: Vec<String>,
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// Returns trouble that names the file that cannot be read.
    pub(super) fn read(local: &LocalConfig) -> Result<TlsFiles, Error> {
        let read = |file: &Option<NamedFile>| {
            let bytes = file.as_ref().map(|file| {
                let trouble = Trouble::cannot("read").with_path(file.to_string());
                file.read().map_err(|error| trouble.because(error))
            });
            bytes.transpose()
        };
        Ok(TlsFiles {
            ca: read(&local.ca)?,
            cert: read(&local.cert)?,
            key: read(&local.key)?,
        })
    }

    /// Writes the files into a folder that only this user can read, and sets their paths in the configuration.
    fn unpack(&self, folder: &TempDir, local: &mut LocalConfig) -> Result<(), Error> {
        let write = |name: &str, bytes: &Option<Vec<u8>>| match bytes {
            Some(bytes) => {
                let path = folder.path().join(name);
                secrets::write(&path, bytes)?;
                Ok::<_, Error>(Some(NamedFile::from(path)))
            }
            None => Ok(None),
        };
        local.ca = write("ca.pem", &self.ca)?;
        local.cert = write("cert.pem", &self.cert)?;
        local.key = write("key.pem", &self.key)?;
        Ok(())
    }
}

impl Job {
    /// Makes the job for a version of the plan.
    ///
    /// # Errors
    /// Returns trouble if a file of the plan has changed since it was read.
    pub(super) fn of(
        version: &PlanVersion,
        name: &str,
        target: &str,
        files: TlsFiles,
        logs: LogSelection,
    ) -> Result<Job, Error> {
        let program = &version.program;
        // Variables that only tasks read travel with the plan, too, and not just those that its top level has read.
        program.take_up(&lgoose_lua::requested_variables(program));
        Ok(Job {
            bundle: Bundle::of(program)?,
            config: RunConfig::clone(&version.config),
            name: name.to_owned(),
            target: target.to_owned(),
            hosts: version.hosts.clone(),
            files,
            logs,
        })
    }

    /// Packs the job for sending.
    pub(super) fn pack(&self) -> Vec<u8> {
        pack(Vec::new(), self)
    }

    fn unpack(packed: &[u8]) -> Result<Job, Error> {
        let job = unpack(packed, MAX_UNPACKED_BYTES);
        job.map_err(|error| {
            Error::cannot("read the bytes of the plan that the manager sent", error)
        })
    }
}

/// Loads the plan of an offer, so that it is ready to run.
///
/// # Errors
/// Returns the mistake in the plan, a mistake for a host that this worker does not send to, or trouble with a file.
pub(super) fn load(offer: &PlanOffer, terms: &WorkerTerms) -> Result<lgoose_engine::Run, Error> {
    let job = Job::unpack(&offer.packed)?;
    let (bundle, name) = (job.bundle, job.name.clone());
    let data_memory = terms.memory.data_memory();
    let load = move |heartbeat: &_| lgoose_lua::load_bundle(&bundle, &data_memory, heartbeat);
    let (program, mut plan, _) = loading::watched(&name, terms.memory.process, load)?;
    lgoose_plan::select(&mut plan, &job.config)?;
    let folder = secrets::temporary_folder()?;
    let mut config = Config {
        run: job.config,
        local: local(offer.part, offer.threads, terms.memory.process),
        screen: ScreenConfig {
            only_summary: false,
            status_codes: false,
            summary: SummaryExtent::default(),
            running_metrics: Duration::ZERO,
        },
    };
    job.files.unpack(&folder, &mut config.local)?;
    let (mut client, resolver) = client(&config)?;
    client.allowed = client.allowed.for_strangers(&terms.allowed);
    if !terms.allowed.is_empty() {
        names_are_addresses(&config.run).map_err(|mistake| Error::trouble(mistake.to_string()))?;
    }
    for host in &job.hosts {
        let allowed = lgoose_http::check_allowed(host, &client.allowed);
        allowed.map_err(|failure| Error::trouble(failure.detail))?;
    }
    // The files have been read, so their folder may go. Only the TLS configuration is still to be made.
    client.tls.prepare()?;
    let run = Arc::new(config.run);
    let reservations = offer.reserves.then(|| match &offer.reservations {
        Some(existing) => existing.clone(),
        None => Reservations::new(
            (2 * offer.part.share(run.users)).clamp(MIN_RESERVED_AHEAD, MAX_RESERVED_AHEAD),
        ),
    });
    program.share_in_run(offer.shared.clone());
    match &reservations {
        Some(reservations) => program.serve_reserved(offer.part, reservations, offer.number),
        None => program.serve_part(offer.part),
    }
    let version = PlanVersion::new(program, plan, job.hosts, run.clone()).numbered(offer.number);
    Ok(lgoose_engine::Run {
        plan_version: Arc::new(version),
        config: run,
        local: config.local,
        name: job.name,
        target: job.target,
        client,
        resolver: Arc::new(resolver),
        run_logs: run_logs(job.logs, offer),
        reservations,
    })
}

/// Returns the logs that are kept, which are sent to the process that made the offer.
fn run_logs(selection: LogSelection, offer: &PlanOffer) -> Option<RunLogs> {
    let out = offer
        .logs
        .clone()
        .filter(|_| selection != LogSelection::default())?;
    Some(RunLogs::new(selection, out, MAX_LOGGED_BYTES))
}

/// Returns the local configuration of a process that takes part in a run or leads it without its own flags.
pub(super) fn local(part: LoadPart, threads: usize, memory: Option<u64>) -> LocalConfig {
    LocalConfig {
        ca: None,
        cert: None,
        key: None,
        local_addresses: Vec::new(),
        logs: Logs::default(),
        part,
        threads,
        memory,
        show: ShowLevel::Nothing,
        paused: false,
    }
}
