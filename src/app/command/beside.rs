//! Services that accompany a run: its web server and its export. Both are opened before anything is done for the run,
//! so that a mistake in a flag is found before anybody waits for workers.

#[cfg(feature = "otlp")]
use super::export;
#[cfg(feature = "web")]
use super::web;
use crate::app::supervisor::Begun;
use crate::cli;
use crate::error::Error;

/// Opened services, ready to accompany a run.
pub(super) struct Opened {
    #[cfg(feature = "web")]
    web: Option<crate::web::Server>,
    #[cfg(feature = "otlp")]
    export: Option<crate::otlp::Options>,
}

/// Services that accompany a run under way.
pub(super) struct Beside {
    #[cfg(feature = "web")]
    pub(super) web: Option<web::Web>,
    #[cfg(feature = "otlp")]
    pub(super) exporter: Option<crate::otlp::Exporter>,
}

impl Opened {
    /// Opens the services that the flags ask for.
    ///
    /// # Errors
    /// A mistake in a flag or in an environment variable; trouble with the port.
    pub(super) fn open(flags: &cli::Run) -> Result<Opened, Error> {
        Ok(Opened {
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
    pub(super) fn start(self, flags: &cli::Run, begun: &Begun) -> Result<Beside, Error> {
        Ok(Beside {
            #[cfg(feature = "web")]
            web: match self.web {
                Some(server) => Some(web::serve(server, flags, begun)?),
                None => None,
            },
            #[cfg(feature = "otlp")]
            exporter: match self.export {
                Some(options) => Some(export::start(options, begun)?),
                None => None,
            },
        })
    }
}
