//! What a hosted run is told, and what it answers: a line of JSON each over the socket that is its standard input.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time within which the order comes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an order: more than a request may have.
const MOST: u64 = 1 << 20;

/// What a hosted process is to do.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    /// The arguments of its command line.
    pub(crate) arguments: Vec<String>,
    /// The token of its interface.
    pub(crate) token: String,
    /// Whether its interface says that nobody may steer the run.
    pub(crate) read_only: bool,
    /// Whether it only puts the run together and looks for mistakes.
    pub(crate) check: bool,
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}

impl Order {
    /// Returns the line that is sent.
    pub(super) fn line(&self) -> Vec<u8> {
        // Plain data: it has no keys that are no texts.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Receives the order of this process over its standard input; the socket is for the answer.
    ///
    /// # Errors
    /// Trouble if nobody hosts this process.
    pub(crate) fn receive() -> Result<(Order, UnixStream), Error> {
        let cannot = |error: std::io::Error| {
            let help = "only 'lgoose serve' starts it; to run a plan, use 'lgoose PLAN.lua'";
            Error::cannot("take the order of a hosted run", format!("{error}: {help}"))
        };
        let input = std::io::stdin().as_fd().try_clone_to_owned();
        let link = UnixStream::from(input.map_err(cannot)?);
        link.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
        let mut line = String::new();
        let mut reader = BufReader::new(&link).take(MOST);
        reader.read_line(&mut line).map_err(cannot)?;
        let order = serde_json::from_str(&line).map_err(|error| cannot(error.into()))?;
        link.set_read_timeout(None).map_err(cannot)?;
        Ok((order, link))
    }
}

/// Tells the host where the interface of this run is to be found.
///
/// # Errors
/// The host has gone.
pub(crate) fn answer(mut link: &UnixStream, address: SocketAddr) -> std::io::Result<()> {
    link.write_all(format!("{address}\n").as_bytes())
}

/// Waits until the host has gone.
pub(crate) fn host_gone(mut link: &UnixStream) {
    // It says nothing more.
    while matches!(link.read(&mut [0; 64]), Ok(1..)) {}
}
