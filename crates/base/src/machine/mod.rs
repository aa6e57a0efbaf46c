//! The machine and its resources for this process: processor, kernel, descriptors, local ports, memory, processor time.
//! Facts that the kernel, or a system other than Linux, does not report are `None` or zero. Knows nothing about runs.

mod groups;
mod memory;
mod sockets;
mod throttling;
mod tuning;

pub use groups::GroupVersion;
pub(crate) use memory::memory_there_is;
pub use memory::{taken_memory, total_memory, usual_memory};
pub use sockets::{Destination, busiest_destination, local_ports, socket_count};
pub use throttling::{CpuLimit, cpu_limit};
pub use tuning::{
    clock_source, frequency_governor, load_average, tracked_connections, wake_up_delays,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::Duration;

/// Raises the limit on open descriptors as far as it goes; the limit from then on, `None` for no limit. Users
/// times connections need descriptors, and the soft limit is often 1,024.
pub fn raise_descriptor_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Checks that some descriptors can be opened, after raising the limit if it is too low for them.
///
/// # Errors
/// The error of the one that cannot be opened.
pub fn can_open_descriptors() -> std::io::Result<()> {
    open_some().or_else(|_| {
        raise_descriptor_limit();
        open_some()
    })
}

fn open_some() -> std::io::Result<()> {
    // More than a command that sends nothing has open at a time; each pair is two.
    const PAIRS: usize = 4;
    let pairs = (0..PAIRS).map(|_| std::os::unix::net::UnixStream::pair());
    pairs.collect::<Result<Vec<_>, _>>().map(drop)
}

/// The processor's name of itself.
pub fn cpu_model() -> Option<String> {
    model(&read("/proc/cpuinfo")?)
}

/// Cores that this process may use, as of the first call: each look reads six files.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The machine's name.
pub fn host_name() -> String {
    let name = read("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "worker".to_owned(),
        name => name.to_owned(),
    }
}

/// The kernel's name and release, and the architecture that this was built for.
pub fn kernel() -> String {
    let file = |name: &str| read(&format!("/proc/sys/kernel/{name}"));
    let name = file("ostype").unwrap_or_else(|| std::env::consts::OS.to_owned());
    let release = file("osrelease").unwrap_or_default();
    let words = [name.trim(), release.trim(), std::env::consts::ARCH];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The time that the calling thread has been on a core, and ready for one without getting it.
pub fn thread_time() -> (Duration, Duration) {
    let on_core = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let waited = read("/proc/thread-self/schedstat").and_then(|text| waited_for_core(&text));
    (on_core, waited.unwrap_or_default())
}

/// The time for which the machine has been suspended since it was started; zero where the system does not report it.
pub fn suspended() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let since_start = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
        // In this order, so that the time between the two calls adds nothing.
        let with_sleep = since_start(ClockId::Boottime);
        with_sleep.saturating_sub(since_start(ClockId::Monotonic))
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// The time that all threads of the process have been on a core.
pub fn process_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Whether this process was started to ignore the signal with that number, as 'nohup' does with the end of the
/// terminal.
pub fn ignores(signal: i32) -> bool {
    read("/proc/self/status").is_some_and(|text| ignored(&text, signal))
}

/// Whether this process has a terminal session of its own: no shell is there that could continue it.
pub fn leads_session() -> bool {
    let own = rustix::process::getpid();
    rustix::process::getsid(None).is_ok_and(|session| session == own)
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `model name\t: AMD EPYC 7763`; other architectures have other labels.
fn model(text: &str) -> Option<String> {
    let labels = ["model name", "Model", "Hardware", "cpu model"];
    labels.iter().find_map(|label| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, name) = lines.find(|(name_part, _)| name_part.trim() == *label)?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    })
}

/// `SigIgn: 0000000000001001`: the lowest bit is the first signal, the end of the terminal.
fn ignored(text: &str, signal: i32) -> bool {
    let mask = text
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Nanoseconds on a core, nanoseconds ready without one, time slices.
fn waited_for_core(text: &str) -> Option<Duration> {
    let waited = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        let both = "Name:\tx\nSigIgn:\t0000000000001001\n";
        assert!(ignored(both, 1) && ignored(both, 13) && !ignored(both, 2));
        assert!(!ignored("SigIgn:\t0000000000001000\n", 1));
        let processors = "processor\t: 0\nmodel name\t: AMD EPYC 7763\nprocessor\t: 1\n";
        assert_eq!(model(processors).as_deref(), Some("AMD EPYC 7763"));
        assert_eq!(model("processor\t: 0\n"), None);
        assert_eq!(
            waited_for_core("5000 1500000000 12"),
            Some(Duration::from_millis(1_500))
        );
    }

    #[test]
    fn a_thread_that_computes_has_been_on_a_core() {
        let (before, _) = thread_time();
        let mut sum = 0_u64;
        while thread_time().0 < before + Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }
}
