//! `lgoose attach`: watches a run on workers from anywhere, or takes it over when its manager is lost. The plan itself
//! stays with the workers; its facts for views and reports are in the stream of the run.

use super::job::local;
use super::{RunTeardown, address};
use crate::app::client::client;
use crate::app::prepare::{Placement, PreparedRun};
use crate::app::sites::Sites;
use crate::cli;
use lgoose_base::error::Error;
use lgoose_gaggle::BrokerRun;
use lgoose_plan::config::{ClientKind, Config, LoadPart, ScreenConfig, SummaryExtent};
use std::sync::Arc;
use std::time::Duration;

/// Time between two lines of figures, without a view.
const RUNNING_METRICS: Duration = Duration::from_secs(10);

/// A run that was found at a broker.
pub(in crate::app) struct AttachedRun {
    pub(in crate::app) prepared: PreparedRun,
    /// Introduction of the run, to be printed before anything else.
    pub(in crate::app) introduction: String,
}

/// Finds a run at a broker and attaches to it, unless `stop` completes first.
///
/// # Errors
/// Returns trouble with the broker, or if there is no such run or it has not begun.
pub(in crate::app) async fn attach(
    run: &str,
    broker: &cli::BrokerArgs,
    stop: impl Future<Output = ()>,
) -> Result<(AttachedRun, RunTeardown), Error> {
    let address = address(&broker.url, &broker.reached)?;
    let attaching = lgoose_gaggle::attach(address, run.to_owned(), stop);
    let ((BrokerRun { facts, is_led }, manager), leave) = attaching.await?;
    let stand_in = facts.plan.stand_in()?;
    let config = Config {
        run: facts.plan.config.clone(),
        local: local(LoadPart::WHOLE, manager.link.threads(), None),
        screen: ScreenConfig {
            only_summary: false,
            status_codes: false,
            summary: SummaryExtent::default(),
            running_metrics: RUNNING_METRICS,
        },
    };
    // Nothing is sent from here, so proxies that this machine's environment names do not matter.
    let mut unused = config.clone();
    unused.run.client = ClientKind::Direct;
    let (client, resolver) = client(&unused)?;
    let prepared = PreparedRun {
        run: lgoose_engine::Run {
            plan_version: Arc::new(stand_in),
            config: Arc::new(config.run),
            local: config.local,
            name: facts.name.clone(),
            target: facts.target,
            client,
            resolver: Arc::new(resolver),
            run_logs: None,
            reservations: None,
        },
        screen: config.screen,
        sites: Sites::default(),
        placement: Placement {
            place: lgoose_engine::ShardPlacement::Workers(manager.link),
            offers: manager.offers,
            versions: manager.versions,
            logs: None,
        },
        notes: Vec::new(),
    };
    let led = if is_led {
        "watched, while its manager steers it"
    } else {
        "nothing is heard from its manager"
    };
    let introduction = format!("run {run} of {}: {led}", facts.name);
    let attached = AttachedRun {
        prepared,
        introduction,
    };
    let teardown = RunTeardown {
        leave,
        server: None,
    };
    Ok((attached, teardown))
}
