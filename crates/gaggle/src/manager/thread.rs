//! Thread of a manager: does all of its work at the broker, beside the run.

use lgoose_base::error::Error;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Ends the manager's connection.
#[derive(Debug)]
pub struct DisconnectHandle {
    over: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl DisconnectHandle {
    /// Releases the workers, and removes the streams of the run.
    pub fn now(self) {
        let _already = self.over.send(());
        // One that panicked has nothing left to do.
        let _panicked = self.thread.join();
    }
}

/// Starts the thread of a manager, unless `stop` completes first: `prepare` makes the work for the thread and the
/// value for the caller.
pub(super) async fn start_thread<T, Prepared, Doing>(
    prepare: impl FnOnce(oneshot::Receiver<()>) -> Prepared + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(T, DisconnectHandle), Error>
where
    T: Send + 'static,
    Prepared: Future<Output = Result<(Doing, T), Error>>,
    Doing: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::cannot("start the runtime", error))?;
    let (ready, prepared) = oneshot::channel();
    let (over, ends) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("gaggle".to_owned())
        .spawn(move || {
            let lead = async move {
                match prepare(ends).await {
                    Ok((doing, value)) => {
                        // If the caller has gone, `ends` has fired too, and the work lets claimed workers go at once.
                        let _unheard = ready.send(Ok(value));
                        doing.await;
                    }
                    Err(error) => {
                        let _unheard = ready.send(Err(error));
                    }
                }
            };
            runtime.block_on(lead);
            runtime.shutdown_background();
        })
        .map_err(|error| Error::cannot("start a thread", error))?;
    let fault = |_| Error::trouble("the link to the workers ended because of a bug in lgoose");
    let prepared = tokio::select! {
        prepared = prepared => prepared.map_err(fault)?,
        () = stop => {
            drop(over);
            // The thread lets go of the workers that it has claimed.
            let _panicked = thread.join();
            return Err(Error::trouble("stopped before the run began: nothing was sent"));
        }
    };
    Ok((prepared?, DisconnectHandle { over, thread }))
}
