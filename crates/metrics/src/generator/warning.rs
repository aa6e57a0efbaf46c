//! Sentences of a report about lgoose's own part of the latency.

use super::lateness::Latencies;
use super::{SlowCause, SlowSeconds};
use crate::report::{CpuLimitRow, GeneratorRow};
use lgoose_base::units::{counted, show_duration};
use std::time::Duration;

/// The share of the saturated time from which on a limit on processor time has a part in it.
const HELD_BACK: f64 = 0.1;

impl GeneratorRow {
    /// Describes lgoose's own part of `p99_ms`, that of the successful requests of the whole run; `None` if it is not known.
    pub fn own_part(&self, p99_ms: f64) -> Option<String> {
        let p99 = Duration::try_from_secs_f64(p99_ms / 1e3).ok()?;
        let own = about(self.own_p99_ms?);
        let p99 = show_duration(p99);
        Some(format!(
            "p99 {p99}, of which about {own} is lgoose's own part"
        ))
    }

    /// Describes the time withheld for the limit on processor time, if that has a part in the time in which lgoose
    /// itself set the latency:
    /// `the CPU limit of this container (cpu.max, 0.5 cores) held lgoose back 132 times for 12 s`.
    pub fn held_back(&self) -> Option<String> {
        let CpuLimitRow {
            cores,
            file,
            times,
            held_back_s,
        } = self.cpu_limit?;
        let has_part = times > 0 && held_back_s >= HELD_BACK * self.saturated_s;
        (self.saturated_s > 0.0 && has_part).then(|| {
            format!(
                "the CPU limit of this container ({}, {} cores) held lgoose back {} for {} s",
                file.name(),
                (cores * 100.0).round() / 100.0,
                counted(times, "time"),
                seconds(held_back_s)
            )
        })
    }

    /// Returns a warning about the latencies if lgoose itself set them; `whole` are those of the successful requests of the whole
    /// run, and `slow` is the activity of threads meanwhile.
    pub(crate) fn warning(&self, whole: Option<&Latencies>, slow: SlowSeconds) -> Option<String> {
        if self.saturated_s <= 0.0 {
            return None;
        }
        let own = whole.and_then(|all| self.own_part(all.p99.as_secs_f64() * 1e3));
        let over = if self.saturated_s < self.judged_s {
            "; over the whole run "
        } else {
            ": "
        };
        let own = own.map_or_else(String::new, |own| format!("{over}{own}"));
        Some(format!(
            "lgoose itself was the bottleneck in {} of {} s{own}; {}",
            seconds(self.saturated_s),
            seconds(self.judged_s.max(self.saturated_s)),
            self.causes(slow)
        ))
    }

    /// Names the causes for which its threads came late, each with its remedy.
    fn causes(&self, slow: SlowSeconds) -> String {
        let limit = self.held_back().map(|limit| {
            format!("{limit}: raise that limit, or give lgoose fewer users or more machines")
        });
        let held_back = limit.as_ref().and(self.cpu_limit);
        let held_back = held_back.map(|limit| Duration::try_from_secs_f64(limit.held_back_s));
        let held_back = held_back.and_then(Result::ok).unwrap_or_default();
        let busiest = self.busiest * 100.0;
        let other = match slow.cause(held_back) {
            SlowCause::Starved => format!(
                "other programs kept its threads off the cores for {:.0}% of the time; end what runs beside it, or give it \
                 cores or a machine of its own",
                self.starved * 100.0
            ),
            // Being held back explains the rest.
            SlowCause::OwnWork | SlowCause::NotMeasured if limit.is_some() => String::new(),
            SlowCause::OwnWork => format!(
                "its own work kept responses waiting (a thread up to {busiest:.0}% busy); use more cores ('--threads') or \
                 machines, or fewer users"
            ),
            SlowCause::NotMeasured => format!(
                "what held its threads up was not measured (none was more than {busiest:.0}% busy): the process may have been \
                 stopped for moments, or its machine, or a disk was slow"
            ),
        };
        let causes: Vec<String> = limit
            .into_iter()
            .chain((!other.is_empty()).then_some(other))
            .collect();
        causes.join("; ")
    }
}

/// Formats whole seconds, with tenths below ten.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 && (s - s.round()).abs() >= 0.05 => format!("{s:.1}"),
        s => format!("{s:.0}"),
    }
}

/// Formats a time no more precisely than it is known.
fn about(ms: f64) -> String {
    match ms {
        ms if ms < 0.1 => format!("{:.0} µs", ms * 1e3),
        ms if ms < 0.995 => format!("{:.0} µs", (ms * 1e2).round() * 10.0),
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CpuLimitFile;

    /// What threads did, in milliseconds.
    fn slow(busy: u64, starved: u64, late: u64) -> SlowSeconds {
        let [busy, starved, late] = [busy, starved, late].map(Duration::from_millis);
        SlowSeconds {
            busy,
            starved,
            late,
        }
    }

    #[test]
    fn the_warning_shows_whether_threads_lacked_cores_or_had_too_much_to_do() {
        let measured = Latencies {
            count: 1_000,
            p50: Duration::from_millis(9),
            p99: Duration::from_micros(12_340),
            cycle: None,
        };
        let row = GeneratorRow {
            threads: 2,
            busy: 0.7,
            busiest: 0.96,
            starved: 0.6,
            cpu_limit: None,
            lag_avg_ms: 2.0,
            lag_max_ms: 9.0,
            own_p50_ms: Some(5.0),
            own_p99_ms: Some(8.04),
            connections: 3,
            saturated_s: 0.75,
            judged_s: 3.0,
        };
        assert_eq!(
            row.warning(Some(&measured), slow(525, 450, 20)).as_deref(),
            Some(
                "lgoose itself was the bottleneck in 0.8 of 3 s; over the whole run p99 12.3 ms, of which about 8.0 ms is \
                 lgoose's own part; other programs kept its threads off the cores for 60% of the time; end what runs beside it, or give \
                 it cores or a machine of its own"
            )
        );
        let row = GeneratorRow {
            starved: 0.1,
            own_p99_ms: None,
            ..row
        };
        assert_eq!(
            row.warning(Some(&measured), slow(525, 75, 20)).as_deref(),
            Some(
                "lgoose itself was the bottleneck in 0.8 of 3 s; its own work kept responses waiting (a thread up to \
                 96% busy); use more cores ('--threads') or machines, or fewer users"
            )
        );
        let row = GeneratorRow {
            busiest: 0.05,
            busy: 0.03,
            starved: 0.001,
            ..row
        };
        assert_eq!(
            row.warning(Some(&measured), slow(40, 20, 290)).as_deref(),
            Some(
                "lgoose itself was the bottleneck in 0.8 of 3 s; what held its threads up was not measured (none was more than \
                 5% busy): the process may have been stopped for moments, or its machine, or a disk was slow"
            )
        );
        let quiet = GeneratorRow {
            saturated_s: 0.0,
            ..row
        };
        assert_eq!(quiet.warning(Some(&measured), slow(40, 20, 290)), None);
    }

    #[test]
    fn a_limit_on_processor_time_is_named_as_what_it_is() {
        let limit = CpuLimitRow {
            cores: 0.5,
            file: CpuLimitFile::CpuMax,
            times: 132,
            held_back_s: 12.3,
        };
        let row = GeneratorRow {
            threads: 1,
            busy: 0.98,
            busiest: 1.0,
            starved: 0.5,
            cpu_limit: Some(limit),
            lag_avg_ms: 2.0,
            lag_max_ms: 9.0,
            own_p50_ms: None,
            own_p99_ms: None,
            connections: 3,
            saturated_s: 20.0,
            judged_s: 20.0,
        };
        let words = "the CPU limit of this container (cpu.max, 0.5 cores) held lgoose back 132 times for 12 s";
        let warning = |row: GeneratorRow, slow| row.warning(None, slow).unwrap_or_default();
        assert_eq!(
            warning(row, slow(19_600, 12_300, 90)),
            format!(
                "lgoose itself was the bottleneck in 20 of 20 s; {words}: raise that limit, or give lgoose fewer users or more \
                 machines"
            )
        );
        let with = |limit: CpuLimitRow| GeneratorRow {
            cpu_limit: Some(limit),
            ..row
        };
        let few = |times, held_back_s| {
            with(CpuLimitRow {
                times,
                held_back_s,
                ..limit
            })
        };
        let without = GeneratorRow {
            cpu_limit: None,
            ..row
        };
        let quiet = GeneratorRow {
            saturated_s: 0.0,
            ..row
        };
        // What threads did, and whether the limit, other programs, own work and what is not known are named.
        for (row, slow, named) in [
            (
                with(limit),
                slow(19_600, 12_300, 90),
                [true, false, false, false],
            ),
            (
                with(limit),
                slow(19_600, 18_000, 90),
                [true, true, false, false],
            ),
            // A kernel that does not count a thread that is held back as one that waits for a core.
            (
                with(limit),
                slow(7_000, 100, 12_000),
                [true, false, false, false],
            ),
            (
                few(1, 0.09),
                slow(19_600, 12_300, 90),
                [false, true, false, false],
            ),
            (
                few(0, 0.0),
                slow(19_600, 1_000, 90),
                [false, false, true, false],
            ),
            (
                few(20, 2.0),
                slow(19_600, 12_300, 90),
                [true, true, false, false],
            ),
            (
                without,
                slow(19_600, 12_300, 90),
                [false, true, false, false],
            ),
            (without, slow(19_600, 100, 90), [false, false, true, false]),
            (without, slow(900, 500, 2_000), [false, false, false, true]),
            (without, slow(0, 0, 0), [false, false, true, false]),
            (quiet, slow(0, 0, 0), [false; 4]),
        ] {
            let text = warning(row, slow);
            let words = ["CPU limit", "other programs", "own work", "not measured"];
            assert_eq!(words.map(|word| text.contains(word)), named, "{text}");
        }
        let old = CpuLimitRow {
            cores: 1.0 / 3.0,
            file: CpuLimitFile::CfsQuota,
            times: 1,
            held_back_s: 3.0,
        };
        let text = warning(with(old), slow(1, 0, 0));
        assert!(
            text.contains("(cpu.cfs_quota_us, 0.33 cores) held lgoose back 1 time for 3 s"),
            "{text}"
        );
    }

    #[test]
    fn times_are_reported_no_more_precisely_than_they_are_measured() {
        for (ms, text) in [
            (0.008, "8 µs"),
            (0.237, "240 µs"),
            (0.996, "1.0 ms"),
            (6.04, "6.0 ms"),
            (41.7, "42 ms"),
            (1_260.0, "1.3 s"),
        ] {
            assert_eq!(about(ms), text);
        }
        assert_eq!(
            [0.25, 0.98, 9.96, 60.0].map(seconds),
            ["0.2", "1", "10", "60"]
        );
    }
}
