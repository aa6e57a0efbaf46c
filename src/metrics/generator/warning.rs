//! Sentences of a report about lgoose's own part of the latency.

use super::super::lateness::Latencies;
use super::super::report::GeneratorRow;
use crate::units::show_duration;
use std::time::Duration;

impl GeneratorRow {
    /// Describes lgoose's own part of `p99_ms`, that of the whole run; `None` if it is not known.
    pub fn own_part(&self, p99_ms: f64) -> Option<String> {
        let p99 = Duration::try_from_secs_f64(p99_ms / 1e3).ok()?;
        let own = about(self.own_p99_ms?);
        let p99 = show_duration(p99);
        Some(format!(
            "p99 {p99}, of which about {own} is lgoose's own part"
        ))
    }

    /// Returns a warning about the latencies if lgoose itself set them; `whole` are those of the whole run.
    pub(in super::super) fn warning(&self, whole: Option<&Latencies>) -> Option<String> {
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
        let (why, remedy) = if self.starved > self.busy / 4.0 {
            (
                "other programs kept its threads off the cores",
                format!(
                    "for {:.0}% of the time; end what runs beside it, or give it cores or a machine of its own",
                    self.starved * 100.0
                ),
            )
        } else {
            (
                "its own work kept responses waiting",
                format!(
                    "(a thread up to {:.0}% busy); use more cores ('--threads') or machines, or fewer users",
                    self.busiest * 100.0
                ),
            )
        };
        Some(format!(
            "lgoose itself was the bottleneck in {} of {} s{own}; {why} {remedy}",
            seconds(self.saturated_s),
            seconds(self.judged_s.max(self.saturated_s)),
        ))
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
            lag_avg_ms: 2.0,
            lag_max_ms: 9.0,
            own_p50_ms: Some(5.0),
            own_p99_ms: Some(8.04),
            connections: 3,
            saturated_s: 0.75,
            judged_s: 3.0,
        };
        assert_eq!(
            row.warning(Some(&measured)).as_deref(),
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
            row.warning(Some(&measured)).as_deref(),
            Some(
                "lgoose itself was the bottleneck in 0.8 of 3 s; its own work kept responses waiting (a thread up to \
                 96% busy); use more cores ('--threads') or machines, or fewer users"
            )
        );
        let quiet = GeneratorRow {
            saturated_s: 0.0,
            ..row
        };
        assert_eq!(quiet.warning(Some(&measured)), None);
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
