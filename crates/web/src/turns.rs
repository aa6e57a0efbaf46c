//! Turns of work that takes long, such as a report: few at a time, each on a thread for that, while events go on.

use super::responses::ErrorResponse;
use axum::http::StatusCode;
use std::fmt::Display;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns, of which so many can be had at the same time.
#[derive(Debug)]
pub(super) struct Permits(Arc<Semaphore>);

/// A turn.
#[derive(Debug)]
pub(super) struct Permit(OwnedSemaphorePermit);

impl Permits {
    pub(super) fn new(most: usize) -> Permits {
        Permits(Arc::new(Semaphore::new(most)))
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// 500 if there is none any more.
    pub(super) async fn take(&self) -> Result<Permit, ErrorResponse> {
        self.0
            .clone()
            .acquire_owned()
            .await
            .map(Permit)
            .map_err(trouble)
    }
}

impl Permit {
    /// Makes something. The turn lasts until that is made, even if the client has gone.
    ///
    /// # Errors
    /// The error of `make`; 500 if it panics.
    pub(super) async fn make<T: Send + 'static>(
        self,
        make: impl FnOnce() -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let made = tokio::task::spawn_blocking(move || {
            let made = make();
            drop(self.0);
            made
        });
        made.await.map_err(trouble)?
    }
}

fn trouble(error: impl Display) -> ErrorResponse {
    ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
