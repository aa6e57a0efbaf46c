//! Services that accompany a run: its web server and its export. Both are opened before anything is done for the run,
//! so that a mistake in a flag is found before anybody waits for workers.

use super::context::RunContext;
use super::export;
use super::web;
use crate::app::prepare::PreparedRun;
use crate::cli;
use lgoose_base::error::Error;
use lgoose_metrics::Report;

/// Opened services, ready to accompany a run.
pub(super) struct OpenServices {
    web: Option<lgoose_web::WebServer>,
    export: Option<lgoose_otlp::ExportOptions>,
}

/// Services that accompany a run under way.
pub(super) struct RunServices {
    web: Option<web::RunServer>,
    exporter: Option<lgoose_otlp::Exporter>,
}

impl OpenServices {
    /// Opens the services that the flags request.
    ///
    /// # Errors
    /// A mistake in a flag or in an environment variable; trouble with the port.
    pub(super) fn open(flags: &cli::RunArgs) -> Result<OpenServices, Error> {
        Ok(OpenServices {
            web: web::open(flags)?,
            export: export::options(flags)?,
        })
    }

    /// Starts the services for this run.
    ///
    /// # Errors
    /// Trouble with a thread, or with the host of the run.
    pub(super) fn start(
        self,
        context: RunContext<'_>,
        prepared: &PreparedRun,
    ) -> Result<RunServices, Error> {
        let RunContext { flags, handle, .. } = context;
        Ok(RunServices {
            web: match self.web {
                Some(server) => Some(web::serve(server, flags, prepared, handle)?),
                None => None,
            },
            exporter: match self.export {
                Some(options) => Some(export::start(options, prepared, handle)?),
                None => None,
            },
        })
    }
}

impl RunServices {
    /// Returns the address of the page of this run, if it has one.
    pub(super) fn page(&self) -> Option<&str> {
        self.web.as_ref().map(|web| &*web.url)
    }

    /// Exports and serves the report of the run, which is over.
    pub(super) fn finish(&mut self, report: &mut Report) {
        export::finish(self.exporter.take(), report);
        if let Some(web) = &self.web {
            web.thread.finish(Some(report));
        }
    }

    /// Waits until those that read the page or scrape the metrics have the end of the run.
    pub(super) async fn leave(self, context: RunContext<'_>) {
        if let Some(server) = self.web {
            web::leave(server, context).await;
        }
    }
}
