//! The process of a run, and that in which a plan is looked at for mistakes: started, listened to, stopped, waited for.

use super::order::{HostedMessage, ProcessOrder};
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The most bytes that are kept of the output of a process.
const TAIL: usize = 16 * 1024;

/// Time for the last of it after the end of the process.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Time that a plan may take to be put together. The limits on its code are narrower.
const CHECK: Duration = Duration::from_secs(60);

/// Variables of this process that are not for its runs: outputs, and this server's own.
const WITHHELD: [&str; 8] = [
    "LGOOSE_OUTPUT",
    "LGOOSE_REQUEST_LOG",
    "LGOOSE_REQUEST_LOG_SORTED",
    "LGOOSE_TASK_LOG",
    "LGOOSE_ERROR_LOG",
    "LGOOSE_DEBUG_LOG",
    "LGOOSE_LOG_FILE",
    "LGOOSE_OPEN",
];

/// A process that was started here.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    link: BufReader<UnixStream>,
    /// Errors of the process so far, as it printed them.
    errors: Vec<String>,
    printed: OutputTail,
    error_output: OutputTail,
}

/// The end of a stream of text.
#[derive(Debug)]
struct OutputTail {
    text: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

/// A process that has ended.
#[derive(Debug)]
pub(super) struct ExitedProcess {
    status: ExitStatus,
    /// The end of its standard output.
    printed: String,
    /// The end of its standard error.
    error_output: String,
    /// Its errors and the reasons for its verdict, as it printed them.
    errors: Vec<String>,
}

impl Process {
    /// Starts a process and sends it its order.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(super) async fn start(order: &ProcessOrder) -> io::Result<Process> {
        let (near, far) = std::os::unix::net::UnixStream::pair()?;
        near.set_nonblocking(true)?;
        let mut near = UnixStream::from_std(near)?;
        let mut command = Command::new(program()?);
        command
            .arg("hosted")
            .stdin(Stdio::from(OwnedFd::from(far)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C of a terminal reaches the host alone, which passes it on.
            .process_group(0)
            // A run is requested to end; a check of a plan has nothing to save.
            .kill_on_drop(order.check);
        for name in WITHHELD {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"LGOOSE_WEB") {
                command.env_remove(name);
            }
        }
        let mut child = command.spawn()?;
        // It holds the other end of the socket.
        drop(command);
        let printed = OutputTail::of(child.stdout.take());
        let error_output = OutputTail::of(child.stderr.take());
        // One that has ended says why.
        let _ended = near.write_all(&order.line()).await;
        Ok(Process {
            child,
            link: BufReader::new(near),
            errors: Vec::new(),
            printed,
            error_output,
        })
    }

    /// Waits for the address of the process's interface; `None` if it sends none. To be called once.
    pub(super) async fn address(&mut self) -> Option<SocketAddr> {
        match self.message().await? {
            HostedMessage::Address(address) => Some(address),
            HostedMessage::Error(text) => {
                self.errors.push(text);
                None
            }
        }
    }

    /// Waits for the next message of the process; `None` after the last one.
    async fn message(&mut self) -> Option<HostedMessage> {
        let mut line = String::new();
        self.link.read_line(&mut line).await.ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Returns its id as long as it is there.
    pub(super) fn id(&self) -> Option<Pid> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        id.and_then(Pid::from_raw)
    }

    /// Waits for the end of the process. Nothing is lost when this is dropped before.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Returns the exit status and the last output of a process that has ended.
    pub(super) async fn last_words(mut self, status: ExitStatus) -> ExitedProcess {
        // Children of the process may hold its socket open.
        let _open = timeout(LAST_WORDS, async {
            while let Some(message) = self.message().await {
                if let HostedMessage::Error(text) = message {
                    self.errors.push(text);
                }
            }
        })
        .await;
        ExitedProcess {
            status,
            printed: self.printed.end().await,
            error_output: self.error_output.end().await,
            errors: self.errors,
        }
    }
}

/// Sends SIGINT, as Ctrl-C does, to a process that has not been waited for yet.
pub(super) fn interrupt(process: Pid) {
    // It may be about to end.
    let _ended = kill_process(process, Signal::INT);
}

/// Puts the run of a plan together in a process of its own, and starts nothing.
///
/// # Errors
/// The mistake, as printed; or that it took too long, or could not be started.
pub(super) async fn check(order: &ProcessOrder, plan: &str) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot look at the plan: {error}");
    let mut process = Process::start(order).await.map_err(cannot)?;
    match timeout(CHECK, process.ended()).await {
        Err(_) => Err(format!(
            "the plan '{plan}' took more than {} s to load",
            CHECK.as_secs()
        )),
        Ok(Err(error)) => Err(cannot(error)),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => {
            let gone = process.last_words(status).await;
            Err(gone.error().unwrap_or_default())
        }
    }
}

impl ExitedProcess {
    /// Returns the exit code; `None` if a signal ended it.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Returns the error, as it was printed; `None` after a success.
    pub(super) fn error(&self) -> Option<String> {
        if self.status.success() {
            return None;
        }
        let errors = self.errors.join("\n");
        if !errors.is_empty() {
            let shown = errors.strip_prefix("error: ").unwrap_or(&errors);
            return Some(shown.trim_end().to_owned());
        }
        let mut text = format!("the process of the run ended with {}", self.status);
        if self.exit_code().is_some() {
            text += &format!("\n{}", self.error_output.trim());
        }
        Some(text.trim_end().to_owned())
    }

    /// Returns the end of its output. Where a signal ended it, only its standard error shows how far it came.
    pub(super) fn output(self) -> String {
        match self.exit_code() {
            Some(_) => self.printed,
            None => self.printed + &self.error_output,
        }
    }
}

impl OutputTail {
    fn of(stream: Option<impl AsyncRead + Unpin + Send + 'static>) -> OutputTail {
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let into = text.clone();
        let reading = tokio::spawn(async move {
            let Some(mut stream) = stream else { return };
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                let mut text = into.lock().unwrap_or_else(PoisonError::into_inner);
                text.extend_from_slice(&buffer[..length]);
                let more = text.len().saturating_sub(TAIL);
                text.drain(..more);
            }
        });
        OutputTail { text, reading }
    }

    /// Returns the text when the stream has ended, or the part that has come by then.
    async fn end(mut self) -> String {
        // Children of the process may hold it open.
        if timeout(LAST_WORDS, &mut self.reading).await.is_err() {
            self.reading.abort();
        }
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Returns this program, also after another was put in its place.
fn program() -> io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        std::env::current_exe()
    }
}
