//! State that the handlers of all requests share: the run's handle, its heading, and its end.

use super::access::Access;
use super::feed::Feed;
use super::responses::ErrorResponse;
use super::scrapes::Scrapes;
use super::turns::Permits;
use axum::http::StatusCode;
use lgoose_metrics::control::{Handle, Refusal};
use lgoose_metrics::{Detail, LiveTag, Report, Snapshot};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Reports that are rendered at the same time.
const RENDERED: usize = 2;

/// Time from the end of a run to its report.
const PATIENCE: Duration = Duration::from_secs(10);

/// Heading of a run, known from the start.
#[derive(Debug, Clone)]
pub struct RunHeading {
    /// The plan's path as given.
    pub plan: String,
    /// Base URL of the target.
    pub host: String,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub(super) enum RunResult {
    /// It goes on.
    None,
    /// It is over.
    Report(Arc<Report>),
    /// It came to no report.
    Failed,
}

/// The state of the server.
#[derive(Debug)]
pub(super) struct WebState {
    pub(super) handle: Handle,
    pub(super) facts: RunHeading,
    pub(super) access: Arc<Access>,
    pub(super) feed: Feed,
    pub(super) end: watch::Receiver<RunResult>,
    /// Number of readers of events.
    pub(super) readers: watch::Sender<usize>,
    pub(super) scrapes: watch::Sender<Scrapes>,
    /// Whether the process is about to end.
    pub(super) closing: watch::Receiver<bool>,
    turns: Permits,
}

impl WebState {
    pub(super) fn new(
        handle: Handle,
        facts: RunHeading,
        access: Arc<Access>,
        end: watch::Receiver<RunResult>,
        closing: watch::Receiver<bool>,
    ) -> WebState {
        WebState {
            handle,
            facts,
            access,
            feed: Feed::new(),
            end,
            readers: watch::Sender::new(0),
            scrapes: watch::Sender::default(),
            closing,
            turns: Permits::new(RENDERED),
        }
    }

    /// Makes something of the report of now in this detail, few at a time, on a thread that may take long for it.
    ///
    /// # Errors
    /// 503 if the run has come to none; 500 with the error of `make`.
    pub(super) async fn render<T: Send + 'static>(
        &self,
        detail: Detail,
        make: impl FnOnce(Arc<Report>) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let turn = self.turns.take().await?;
        let report = self.report(detail).await?;
        let trouble = |message| ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, message);
        turn.make(move || make(report).map_err(trouble)).await
    }

    /// Returns the figures of now; after the end, the last ones.
    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        match &*self.end.borrow() {
            RunResult::None => self.handle.snapshot(),
            RunResult::Failed => self.feed.latest(),
            // The feed may not have the report yet.
            RunResult::Report(report) => {
                let latest = self.feed.latest().unwrap_or_default();
                Some(Arc::new(latest.ended(report)))
            }
        }
    }

    /// Returns the report so far, without a verdict, or that of the run which is over.
    ///
    /// # Errors
    /// 503 if the run has come to none.
    async fn report(&self, detail: Detail) -> Result<Arc<Report>, ErrorResponse> {
        if !self.is_over()
            && let Some(report) = self.handle.report_in(detail).await
        {
            return Ok(report);
        }
        let mut end = self.end.clone();
        let ended = end.wait_for(|end| !matches!(end, RunResult::None));
        let none = || {
            ErrorResponse::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the run has come to no report",
            )
        };
        match tokio::time::timeout(PATIENCE, ended).await {
            Ok(Ok(end)) => match &*end {
                RunResult::Report(report) => Ok(report.clone()),
                _ => Err(none()),
            },
            _ => Err(none().help("the run is ending: try again")),
        }
    }

    /// Returns the requests of a tag up to now, or of the run which is over.
    ///
    /// # Errors
    /// 404 if no request has the tag; 503 if the run has come to no report.
    pub(super) async fn tag(&self, tag: &str) -> Result<LiveTag, ErrorResponse> {
        let live = if self.is_over() {
            None
        } else {
            self.handle.tag_in(tag.into(), false).await
        };
        let none = || {
            ErrorResponse::new(
                StatusCode::NOT_FOUND,
                format!("no request has the tag '{tag}'"),
            )
            .help("'tags' of '/api/v1/snapshot' lists them")
        };
        match live {
            Some(live) => Ok(live),
            None if !self.is_over() => Err(none()),
            None => {
                let report = self.report(Detail::Live).await?;
                let mut rows = report.by_tag.iter();
                let row = rows.find(|row| row.tag == tag).ok_or_else(none)?;
                Ok(LiveTag::from(row))
            }
        }
    }

    /// Returns whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        !matches!(*self.end.borrow(), RunResult::None)
    }
}

impl From<Refusal> for ErrorResponse {
    fn from(refusal: Refusal) -> ErrorResponse {
        let status = match refusal {
            Refusal::TooManyUsers { .. } | Refusal::NotARate(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::CONFLICT,
        };
        let text = match &refusal {
            Refusal::Plan(error) => error.text(),
            other => other.to_string(),
        };
        ErrorResponse::new(status, text)
    }
}
