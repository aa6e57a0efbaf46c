//! Settings of the kernel that bear on a load test, and the delay with which this machine wakes a thread.

use super::read;
use std::path::Path;
use std::time::{Duration, Instant};

/// The kernel's clock source: `tsc` and `arch_sys_counter` are read in nanoseconds, others in a microsecond.
pub fn clock_source() -> Option<String> {
    word("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The rule by which the first core chooses its frequency, such as `performance` or `powersave`.
pub fn frequency_governor() -> Option<String> {
    word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// The number of runnable threads in the latest minute.
pub fn load_average() -> Option<f64> {
    read("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

/// The connections that the firewall keeps track of at most, and how many those are now; `None` where it keeps none.
pub fn tracked_connections() -> Option<(u64, u64)> {
    let number = |name: &str| -> Option<u64> {
        let text = word(format!("/proc/sys/net/netfilter/{name}"))?;
        text.parse().ok()
    };
    Some((number("nf_conntrack_max")?, number("nf_conntrack_count")?))
}

/// The delays with which a thread wakes that sleeps for a millisecond: the median and the worst of so many times.
pub fn wake_up_delays(times: usize) -> (Duration, Duration) {
    const NAP: Duration = Duration::from_millis(1);
    let mut delays: Vec<Duration> = (0..times.max(1))
        .map(|_| {
            let start = Instant::now();
            std::thread::sleep(NAP);
            start.elapsed().saturating_sub(NAP)
        })
        .collect();
    delays.sort_unstable();
    (delays[delays.len() / 2], delays[delays.len() - 1])
}

fn word(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let word = text.trim();
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nap_is_never_shorter_than_requested() {
        let (median, worst) = wake_up_delays(5);
        assert!(median <= worst);
    }
}
