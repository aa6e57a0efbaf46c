//! Order of a hosted run, and its messages to its host: a line of JSON each over the socket that is its standard input.

use lgoose_base::error::Error;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Time within which the order comes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an order: more than a request may have.
const MAX_ORDER_BYTES: u64 = 1 << 20;

/// The most bytes of errors that are sent to the host, which reads them at the end.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// Time for sending a message: bytes that the socket does not take at once are not sent.
const SENDING: Duration = Duration::from_millis(200);

/// The file that this process keeps locked.
static RUNNING: OnceLock<File> = OnceLock::new();

/// The host of this process, if it has one.
static HOST: OnceLock<Mutex<Host>> = OnceLock::new();

/// A message of a hosted process to its host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostedMessage {
    /// Address of the interface of the run.
    Address(SocketAddr),
    /// An error or a reason for the verdict, as it is printed.
    Error(String),
}

impl HostedMessage {
    fn send(&self, mut link: &UnixStream) -> std::io::Result<()> {
        // Plain data: it has no keys that are no texts.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        link.write_all(&line)
    }
}

/// The way to the host for errors.
#[derive(Debug)]
struct Host {
    link: UnixStream,
    /// Bytes that may still be sent.
    room: usize,
}

/// Order of a hosted process.
#[derive(Serialize, Deserialize)]
pub struct ProcessOrder {
    /// The arguments of its command line.
    pub arguments: Vec<String>,
    /// The token of its interface.
    pub token: String,
    /// Whether its interface says that nobody may steer the run.
    pub read_only: bool,
    /// Whether it only puts the run together and looks for mistakes.
    pub check: bool,
    /// The folder that the plan writes to; `None` if it writes nothing.
    pub files: Option<PathBuf>,
    /// The file that it locks for as long as it is there, and the name of its run.
    pub(crate) lock: Option<(PathBuf, String)>,
}

impl fmt::Debug for ProcessOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}

impl ProcessOrder {
    /// Returns the line that is sent.
    pub(super) fn line(&self) -> Vec<u8> {
        // Plain data: it has no keys that are no texts.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Locks the file of the order for as long as this process is there; waits while another process checks whether it is locked.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn lock(&self) -> Result<(), Error> {
        let Some((path, run)) = &self.lock else {
            return Ok(());
        };
        let cannot = |error| Error::cannot("lock the folder of runs", error);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            // Others may have put a link or a pipe there.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(path);
        let mut file = file.map_err(cannot)?;
        file.lock().map_err(cannot)?;
        file.set_len(0)
            .and_then(|()| file.write_all(run.as_bytes()))
            .map_err(cannot)?;
        let _first = RUNNING.set(file);
        Ok(())
    }

    /// Receives the order of this process over its standard input; the socket is for the reply.
    ///
    /// # Errors
    /// Trouble if nobody hosts this process.
    pub fn receive() -> Result<(ProcessOrder, UnixStream), Error> {
        let cannot = |error: std::io::Error| {
            let help = "only 'lgoose serve' starts it; to run a plan, use 'lgoose PLAN.lua'";
            Error::cannot("take the order of a hosted run", format!("{error}: {help}"))
        };
        let input = std::io::stdin().as_fd().try_clone_to_owned();
        let link = UnixStream::from(input.map_err(cannot)?);
        link.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
        let mut line = String::new();
        let mut reader = BufReader::new(&link).take(MAX_ORDER_BYTES);
        reader.read_line(&mut line).map_err(cannot)?;
        let order = serde_json::from_str(&line).map_err(|error| cannot(error.into()))?;
        link.set_read_timeout(None).map_err(cannot)?;
        link.set_write_timeout(Some(SENDING)).map_err(cannot)?;
        let host = Host {
            link: link.try_clone().map_err(cannot)?,
            room: MAX_ERROR_BYTES,
        };
        // Only the first order counts; there is no other.
        let _first = HOST.set(Mutex::new(host));
        Ok((order, link))
    }
}

/// Sends the address of the interface of this run to the host.
///
/// # Errors
/// The host has gone.
pub fn send_address(link: &UnixStream, address: SocketAddr) -> std::io::Result<()> {
    HostedMessage::Address(address).send(link)
}

/// Sends an error or a reason for the verdict, as it is printed, to the host of this process, if it has one.
pub fn report_error(text: &str) {
    let Some(host) = HOST.get() else { return };
    let mut host = host.lock().unwrap_or_else(PoisonError::into_inner);
    let text = &text[..text.floor_char_boundary(host.room)];
    host.room -= text.len();
    if !text.is_empty() {
        let sent = HostedMessage::Error(text.to_owned()).send(&host.link);
        if sent.is_err() {
            // It has gone, or has enough to read.
            host.room = 0;
        }
    }
}

/// Waits until the host has gone.
pub fn host_gone(mut link: &UnixStream) {
    // It says nothing more.
    while matches!(link.read(&mut [0; 64]), Ok(1..)) {}
}
