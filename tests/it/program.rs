//! The program under test as a child process: started with arguments, interrupted, waited for with a
//! deadline. Knows nothing of plans and reports.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal as signal_of};

/// The deadline, far longer than any test takes, also on a busy machine: it ends what hangs and does not judge speed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// Returns a path inside the repository.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the path where a test may write a file with that name; no two tests use the same name.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Makes an empty folder for one test and returns its path; what an earlier run of the tests left there is gone.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the scratch folder is ours");
    }
    std::fs::create_dir(&folder).expect("the scratch folder takes a folder");
    folder
}

/// Writes a plan to the scratch folder and returns its path.
pub(crate) fn plan(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).expect("the scratch folder takes a file");
    path.display().to_string()
}

/// Polls until `ready` or until the deadline, which fails the test.
pub(crate) fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !ready() {
        assert!(begin.elapsed() < DEADLINE, "waited in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Makes children heed SIGHUP, also where the tests run under `nohup`: a signal that is ignored stays so in a child, and one
/// that is handled does not.
fn heed_hangups() {
    static HANDLED: LazyLock<()> = LazyLock::new(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("a runtime");
        let _entered = runtime.enter();
        drop(signal_of(SignalKind::hangup()).expect("it can be handled"));
    });
    LazyLock::force(&HANDLED);
}

/// Starts the program with pipes that nobody reads and an input that does not end.
pub(crate) fn unread(arguments: &[&str]) -> Child {
    heed_hangups();
    Command::new(env!("CARGO_BIN_EXE_lgoose"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was built")
}

/// Waits for the end of a child; returns its exit code, `None` if a signal ended it.
pub(crate) fn exit_code(child: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_until("the program ends", || {
        status = child.try_wait().expect("it is our child");
        status.is_some()
    });
    status.and_then(|status| status.code())
}

/// Returns the peak resident memory of lgoose so far, in bytes; `None` if it does not run. A child that the kernel has
/// not replaced by the program yet shows the memory of this process, under the name of the thread that started it.
pub(crate) fn peak_memory(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let value = |name| status.lines().find_map(|line| line.strip_prefix(name));
    if value("Name:")?.trim() != "lgoose" {
        return None;
    }
    let kib = value("VmHWM:")?.trim().strip_suffix(" kB")?;
    let kib: u64 = kib.parse().ok()?;
    Some(kib * 1024)
}

/// Waits for the end of lgoose, and returns the most memory that it has had, in bytes, and its exit code; a signal that ended
/// it, and one that `most` has passed without an end, have none.
pub(crate) fn watched_to_the_end(child: &mut Child, most: Option<Duration>) -> (u64, Option<i32>) {
    let (begun, mut peak) = (Instant::now(), 0);
    loop {
        peak = peak.max(peak_memory(child).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("it is our child") {
            return (peak, status.code());
        }
        if most.is_some_and(|most| begun.elapsed() > most) {
            child.kill().expect("it runs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the process id of a child.
pub(crate) fn process_id(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a process id is small")
}

/// Sends a signal to a process.
pub(crate) fn signal(process: i32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(process).expect("a process id");
    rustix::process::kill_process(process, signal).expect("it runs");
}

/// A command line of `lgoose`. It does not inherit the `LGOOSE_*` variables of this process, nor `COLUMNS`.
pub(crate) struct Lgoose {
    command: Command,
    input: String,
}

impl Lgoose {
    pub(crate) fn new<I: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = I>) -> Lgoose {
        heed_hangups();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lgoose"));
        command
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LGOOSE_"))
        {
            command.env_remove(name);
        }
        // It is the width of tables where standard output is no terminal.
        command.env_remove("COLUMNS");
        command.envs(crate::CLIENT.map(|client| ("LGOOSE_CLIENT", client)));
        Lgoose {
            command,
            input: String::new(),
        }
    }

    /// Makes another program start it, which gets the command line after its own arguments.
    pub(crate) fn through(mut self, program: &str, arguments: &[&str]) -> Lgoose {
        let mut outer = Command::new(program);
        outer
            .args(arguments)
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        self.command = outer;
        self
    }

    /// Sets the folder that it runs in, the repository by default.
    pub(crate) fn within(mut self, folder: &Path) -> Lgoose {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Lgoose {
        self.command.env(name, value);
        self
    }

    pub(crate) fn input(mut self, text: &str) -> Lgoose {
        text.clone_into(&mut self.input);
        self
    }

    pub(crate) fn start(mut self) -> Running {
        let piped = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the program was built");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A program that does not read its input may end before it is written.
        let _unread = stdin.write_all(self.input.as_bytes());
        drop(stdin);
        let (sender, closed) = channel();
        let stdout = gather(
            child.stdout.take().expect("stdout is piped"),
            sender.clone(),
        );
        let stderr = gather(child.stderr.take().expect("stderr is piped"), sender);
        Running {
            child,
            stdout,
            stderr,
            closed,
        }
    }

    /// Starts it and waits for its end.
    pub(crate) fn finish(self) -> Ended {
        self.start().end()
    }
}

/// The bytes that have been read of a stream so far.
type Gathered = Arc<Mutex<Vec<u8>>>;

/// Reads a stream to its end on a thread of its own and holds the sender until then.
fn gather(mut stream: impl Read + Send + 'static, open: std::sync::mpsc::Sender<()>) -> Gathered {
    let gathered = Gathered::default();
    let into = gathered.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            into.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend_from_slice(&buffer[..length]);
        }
        drop(open);
    });
    gathered
}

fn text(gathered: &Gathered) -> String {
    String::from_utf8_lossy(&gathered.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

/// The program while it runs; killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    stdout: Gathered,
    stderr: Gathered,
    /// Ends when both streams have.
    closed: Receiver<()>,
}

impl Running {
    /// Returns the standard output so far.
    pub(crate) fn stdout(&self) -> String {
        text(&self.stdout)
    }

    /// Returns the standard error so far.
    pub(crate) fn stderr(&self) -> String {
        text(&self.stderr)
    }

    /// Returns whether both streams are closed, which happens at the end of the program.
    pub(crate) fn has_ended(&self) -> bool {
        self.closed.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected)
    }

    /// Sends the signal of Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal(rustix::process::Signal::INT);
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        self::signal(process_id(&self.child), signal);
    }

    /// Returns its peak resident memory so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        peak_memory(&self.child).expect("the child is running")
    }

    /// Waits for the end.
    pub(crate) fn end(self) -> Ended {
        self.wait().unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Waits for the end, or returns why there is none.
    pub(crate) fn wait(mut self) -> Result<Ended, String> {
        let in_time =
            self.closed.recv_timeout(DEADLINE) != Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        let (stdout, stderr) = (self.stdout(), self.stderr());
        if !in_time {
            return Err(format!("the program did not end\n{stdout}\n{stderr}"));
        }
        let status = self.child.wait().expect("the child can be waited for");
        match status.code() {
            Some(code) => Ok(Ended {
                code,
                stdout,
                stderr,
            }),
            None => Err(format!(
                "the program did not end by itself: {status}\n{stdout}\n{stderr}"
            )),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The output and exit code of a program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}
