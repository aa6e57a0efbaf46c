//! What the machine is and what it gives this process: processor, kernel, descriptors, local ports, memory, processor
//! time. What the kernel
//! does not tell, or another system than Linux, is `None` or zero. Knows nothing of a run.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Raises the limit on open descriptors as far as it goes; the limit from then on, `None` for no limit. Users
/// times connections need descriptors, and the soft limit is often 1,024.
pub(crate) fn raise_descriptor_limit() -> Option<u64> {
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

/// How many local ports connections to one address may have.
pub(crate) fn local_ports() -> Option<u64> {
    port_count(&read("/proc/sys/net/ipv4/ip_local_port_range")?)
}

/// Connections that are closed and hold their local port for another minute.
pub(crate) fn waiting_ports() -> Option<u64> {
    waiting(&read("/proc/net/sockstat")?)
}

/// Bytes of memory that can be had without swapping.
pub(crate) fn available_memory() -> Option<u64> {
    memory(&read("/proc/meminfo")?, "MemAvailable:")
}

/// Bytes of memory that the machine has.
pub(crate) fn total_memory() -> Option<u64> {
    memory(&read("/proc/meminfo")?, "MemTotal:")
}

/// Bytes of memory that this process has now.
pub(crate) fn taken_memory() -> Option<u64> {
    memory(&read("/proc/self/status")?, "VmRSS:")
}

/// Bytes of memory that this process may take before the kernel would have to end one: nine tenths of what the machine or
/// its control group has, and of what is free now beside what the process has.
pub(crate) fn usual_memory() -> Option<u64> {
    let (limit, used) = group_memory().unwrap_or((u64::MAX, 0));
    let total = total_memory()?.min(limit);
    let free = available_memory()?.min(limit.saturating_sub(used));
    let most = taken_memory()?.saturating_add(free / 10 * 9);
    Some(most.min(total / 10 * 9))
}

/// The processor's name of itself.
pub(crate) fn cpu_model() -> Option<String> {
    model(&read("/proc/cpuinfo")?)
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The kernel's name and release, and the architecture that this was built for.
pub(crate) fn kernel() -> String {
    let file = |name: &str| read(&format!("/proc/sys/kernel/{name}"));
    let name = file("ostype").unwrap_or_else(|| std::env::consts::OS.to_owned());
    let release = file("osrelease").unwrap_or_default();
    let words = [name.trim(), release.trim(), std::env::consts::ARCH];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// How long the calling thread has been on a core, and ready for one without getting it.
pub(crate) fn thread_time() -> (Duration, Duration) {
    let on_core = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let waited = read("/proc/thread-self/schedstat").and_then(|text| waited_for_core(&text));
    (on_core, waited.unwrap_or_default())
}

/// Whether whoever started this process wants it to outlive its terminal, as 'nohup' does.
pub(crate) fn ignores_hangup() -> bool {
    read("/proc/self/status").is_some_and(|text| ignored(&text))
}

/// Whether this process has a terminal session of its own: no shell is there that could continue it.
pub(crate) fn leads_session() -> bool {
    let own = rustix::process::getpid();
    rustix::process::getsid(None).is_ok_and(|session| session == own)
}

/// The limit on memory of this process's control group with the least left, and what is used of it: what its processes
/// hold, not what the kernel keeps of files and gives up when it has to. `None` without a limit.
fn group_memory() -> Option<(u64, u64)> {
    let groups = read("/proc/self/cgroup")?;
    let limits = group_paths(&groups)
        .into_iter()
        .filter_map(|(folder, version)| {
            let file = |name: &str| read(&format!("{folder}/{name}"));
            let (limit, used, cache) = match version {
                1 => (
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "total_inactive_file",
                ),
                _ => ("memory.max", "memory.current", "inactive_file"),
            };
            let limit = file(limit)?.trim().parse::<u64>().ok()?;
            let used = file(used)?.trim().parse::<u64>().ok()?;
            let cache = file("memory.stat").and_then(|text| counter(&text, cache));
            Some((limit, used.saturating_sub(cache.unwrap_or(0))))
        });
    limits.min_by_key(|(limit, used)| limit.saturating_sub(*used))
}

/// The folders of the control groups that may limit the memory of a process, from its own up to the root, each with the
/// version of its kind. A container may see its own group as the root, whatever the path says.
fn group_paths(groups: &str) -> Vec<(String, u8)> {
    let mut paths = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (root, version) = match (number, controllers) {
            ("0", "") => ("/sys/fs/cgroup", 2),
            _ if controllers.split(',').any(|one| one == "memory") => ("/sys/fs/cgroup/memory", 1),
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            paths.push((format!("{root}{path}"), version));
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => break,
            }
        }
    }
    paths
}

/// `inactive_file 4096` in a file of such lines.
fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(known, _)| *known == name)?
        .1
        .trim()
        .parse()
        .ok()
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `MemTotal:       16384 kB`.
fn memory(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// `model name\t: AMD EPYC 7763`; other architectures have other labels.
fn model(text: &str) -> Option<String> {
    let labels = ["model name", "Model", "Hardware", "cpu model"];
    labels.iter().find_map(|label| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, name) = lines.find(|(known, _)| known.trim() == *label)?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    })
}

/// `SigIgn: 0000000000001001`: the lowest bit is the first signal, the end of the terminal.
fn ignored(text: &str) -> bool {
    let mask = text
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// `32768 60999`: the first and the last port.
fn port_count(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last.checked_sub(first)? + 1)
}

/// `TCP: inuse 5 orphan 0 tw 100 alloc 7 mem 1`.
fn waiting(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
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
        assert_eq!(port_count("32768\t60999\n"), Some(28_232));
        assert_eq!(port_count("9 8"), None);
        assert_eq!(port_count("all"), None);
        let sockets =
            "sockets: used 290\nTCP: inuse 5 orphan 0 tw 100 alloc 7 mem 1\nUDP: inuse 2 mem 0\n";
        assert_eq!(waiting(sockets), Some(100));
        assert!(ignored("Name:\tx\nSigIgn:\t0000000000001001\n"));
        assert!(!ignored("SigIgn:\t0000000000001000\n"));
        assert_eq!(waiting("UDP: inuse 2"), None);
        let amounts = "MemTotal:       16384 kB\nMemAvailable:    8 kB\n";
        assert_eq!(memory(amounts, "MemTotal:"), Some(16 << 20));
        assert_eq!(memory(amounts, "MemFree:"), None);
        let processors = "processor\t: 0\nmodel name\t: AMD EPYC 7763\nprocessor\t: 1\n";
        assert_eq!(model(processors).as_deref(), Some("AMD EPYC 7763"));
        assert_eq!(model("processor\t: 0\n"), None);
        assert_eq!(
            waited_for_core("5000 1500000000 12"),
            Some(Duration::from_millis(1_500))
        );
    }

    #[test]
    fn control_groups_are_looked_for_up_to_the_root() {
        let paths = |text: &str| -> Vec<String> {
            let paths = group_paths(text).into_iter();
            paths
                .map(|(path, version)| format!("{version} {path}"))
                .collect()
        };
        assert_eq!(
            paths("8:pids:/\n4:cpu,memory:/a/b\n0::/\n"),
            [
                "1 /sys/fs/cgroup/memory/a/b",
                "1 /sys/fs/cgroup/memory/a",
                "1 /sys/fs/cgroup/memory",
                "2 /sys/fs/cgroup"
            ]
        );
        assert_eq!(
            paths("0::/user.slice/x:y.scope"),
            [
                "2 /sys/fs/cgroup/user.slice/x:y.scope",
                "2 /sys/fs/cgroup/user.slice",
                "2 /sys/fs/cgroup"
            ]
        );
        assert!(paths("nonsense").is_empty());
        let stat = "anon 5\ninactive_file 4096\ntotal_inactive_file 1\n";
        assert_eq!(counter(stat, "inactive_file"), Some(4_096));
        assert_eq!(counter(stat, "file"), None);
    }

    #[test]
    fn what_a_process_may_take_is_more_than_it_has_and_less_than_the_machine_has() {
        let (Some(usual), Some(taken)) = (usual_memory(), taken_memory()) else {
            // Another system than Linux.
            return;
        };
        assert!(taken > 1 << 20 && taken < usual, "{taken} {usual}");
        assert!(Some(usual) < total_memory());
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
