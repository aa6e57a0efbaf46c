//! Services that accompany a run: its web server and its export. Both are opened before anything is done for the run,
//! so that a mistake in a flag is found before anybody waits for workers.

#[cfg(feature = "otlp")]
use super::export;
#[cfg(feature = "web")]
use super::web;
use crate::app::guard::Guard;
use crate::app::prepare::PreparedRun;
use crate::cli;
use lgoose_base::error::Error;
use lgoose_metrics::Report;
use lgoose_metrics::control::Handle;

/// Opened services, ready to accompany a run.
pub(super) struct OpenServices {
    #[cfg(feature = "web")]
    web: Option<lgoose_web::WebServer>,
    #[cfg(feature = "otlp")]
    export: Option<lgoose_otlp::ExportOptions>,
}

/// Services that accompany a run under way.
pub(super) struct RunServices {
    #[cfg(feature = "web")]
    web: Option<web::RunServer>,
    #[cfg(feature = "otlp")]
    exporter: Option<lgoose_otlp::Exporter>,
}

impl OpenServices {
    /// Opens the services that the flags ask for.
    ///
    /// # Errors
    /// A mistake in a flag or in an environment variable; trouble with the port.
    pub(super) fn open(flags: &cli::RunArgs) -> Result<OpenServices, Error> {
        Ok(OpenServices {
            #[cfg(feature = "web")]
            web: web::open(flags)?,
            #[cfg(feature = "otlp")]
            export: export::options(flags)?,
        })
    }

    /// Starts the services for this run.
    ///
    /// # Errors
    /// Trouble with a thread, or with the host of the run.
    pub(super) fn start(
        self,
        flags: &cli::RunArgs,
        prepared: &PreparedRun,
        handle: &Handle,
    ) -> Result<RunServices, Error> {
        Ok(RunServices {
            #[cfg(feature = "web")]
            web: match self.web {
                Some(server) => Some(web::serve(server, flags, prepared, handle)?),
                None => None,
            },
            #[cfg(feature = "otlp")]
            exporter: match self.export {
                Some(options) => Some(export::start(options, prepared, handle)?),
                None => None,
            },
        })
    }
}

impl RunServices {
    /// Returns the address of the page of this run, if it has one.
    #[cfg(all(feature = "tui", feature = "web"))]
    pub(super) fn page(&self) -> Option<&str> {
        self.web.as_ref().map(|web| &*web.url)
    }

    /// Exports and serves the report of the run, which is over.
    pub(super) fn finish(&mut self, report: &mut Report) {
        #[cfg(feature = "otlp")]
        export::finish(self.exporter.take(), report);
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            web.thread.finish(Some(report));
        }
        #[cfg(not(any(feature = "otlp", feature = "web")))]
        let _unserved = report;
    }

    /// Waits until those that read the page or scrape the metrics have the end of the run.
    pub(super) async fn leave(self, flags: &cli::RunArgs, guard: &Guard, run: &Handle) {
        #[cfg(feature = "web")]
        if let Some(server) = self.web {
            web::leave(server, flags, guard, run).await;
        }
        #[cfg(not(feature = "web"))]
        let _unserved = (flags, guard, run);
    }
}
