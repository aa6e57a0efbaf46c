//! The run as its plan sees and changes it. Implemented by the runner of users. Knows neither users nor the engine.

use std::fmt::Debug;
use std::time::Duration;

/// The run of a user, as its plan sees it.
pub trait RunView: Debug {
    /// Returns the time since users began, without pauses.
    fn elapsed(&self) -> Duration;

    /// Returns how many users are at work in this process.
    fn users(&self) -> u64;

    /// Ends the run, for that reason.
    fn stop(&self, why: &str);

    /// Lets the run fail for that reason; it goes on.
    fn fail(&self, why: &str);
}
