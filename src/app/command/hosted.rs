//! `lgoose hosted`: a process that `lgoose serve` has started, for one run or to check a plan.

use super::{flags, screen};
use crate::app::prepare::prepare;
use crate::cli::{self, WebPlace};
use lgoose_base::error::{Diagnostic, Error, exit};
use lgoose_base::files::WriteFolder;
use lgoose_web::queue::ProcessOrder;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Remaining task for the host.
pub(super) enum HostedTask {
    /// A run of this plan.
    Run(PathBuf, Box<cli::RunArgs>),
    /// Nothing but to end with this exit code.
    Done(u8),
}

/// Receives the order of the host, and checks the plan if the order is only that.
///
/// # Errors
/// A mistake in the plan; trouble if this process has no host.
pub(super) fn take() -> Result<HostedTask, Error> {
    let (order, link) = ProcessOrder::receive()?;
    order.lock()?;
    let mut run_flags = match cli::parse_run(order.arguments) {
        Ok(flags) => flags,
        Err(message) => {
            screen::report_argument_error(&message);
            return Ok(HostedTask::Done(exit::MISTAKE));
        }
    };
    let Some(plan) = run_flags.plan.clone() else {
        return Err(Diagnostic::new("a hosted run has a plan").into());
    };
    run_flags.outputs.plan_writes = order.files.map_or(WriteFolder::Nowhere, WriteFolder::Own);
    if order.check {
        prepare(flags::test(&plan, &run_flags)?)?;
        return Ok(HostedTask::Done(exit::OK));
    }
    // The next run waits for the end of this process.
    run_flags.linger.web_linger = Some(Duration::ZERO);
    let web = &mut run_flags.web;
    web.web = Some(WebPlace {
        host: "127.0.0.1".to_owned(),
        port: Some(0),
    });
    web.web_token = Some(order.token);
    web.web_read_only = order.read_only;
    web.host = Some(Arc::new(link));
    Ok(HostedTask::Run(plan, Box::new(run_flags)))
}
