//! `lgoose doctor`: checks this machine as a load generator, and recommends changes for a number of users.

use super::screen::print_text;
use crate::app::preflight;
use crate::cli;
use lgoose_base::error::{Error, exit};
use lgoose_base::machine;
use lgoose_base::units::{show_count, show_duration, show_size};
use std::fmt::Write as _;
use std::time::Duration;

/// Number of naps that measure how late threads wake.
const NAPS: usize = 100;
/// The median delay of a nap above which figures suffer; Linux usually wakes a thread within 0.1 ms.
const LATE: Duration = Duration::from_millis(1);

/// The result of one check.
#[derive(Debug, PartialEq)]
struct DoctorResult {
    what: &'static str,
    value: String,
    /// The shortage and its remedy; `None` without one.
    remedy: Option<String>,
}

impl DoctorResult {
    fn fine(what: &'static str, value: impl Into<String>) -> DoctorResult {
        DoctorResult {
            what,
            value: value.into(),
            remedy: None,
        }
    }

    fn unless(self, fine: bool, remedy: impl Into<String>) -> DoctorResult {
        DoctorResult {
            remedy: (!fine).then(|| remedy.into()),
            ..self
        }
    }
}

/// Prints the findings. The exit code is 1 if a run with that many users would lack something.
pub(super) fn doctor(flags: &cli::DoctorArgs) -> Result<u8, Error> {
    let mut findings = vec![cores(), load(), memory()];
    findings.extend(network());
    findings.extend(time());
    let (median, worst) = machine::wake_up_delays(NAPS);
    findings.push(wake_up(median, worst));
    findings.push(broker());
    let mut text = String::new();
    for finding in &findings {
        let mark = if finding.remedy.is_some() { '!' } else { '✓' };
        // Writing to a string cannot fail.
        let _infallible = writeln!(text, "{mark} {:<12} {}", finding.what, finding.value);
        for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
            let _infallible = writeln!(text, "{:15}{line}", "");
        }
    }
    let shortages = preflight::for_users(flags.users);
    let users = format!("{} users", show_count(flags.users));
    if shortages.is_empty() {
        let _infallible = writeln!(
            text,
            "✓ {users:<12} have all that they need, with one connection each"
        );
    }
    for shortage in &shortages {
        let message = shortage.to_string();
        let message = message.trim_start_matches("error: ").trim_end();
        let _infallible = writeln!(text, "✗ {users}: {}", message.replace(" = help: ", "  "));
    }
    print_text(text.trim_end())?;
    Ok(if shortages.is_empty() {
        exit::OK
    } else {
        exit::VERDICT
    })
}

fn cores() -> DoctorResult {
    let cores = machine::cores();
    let model = machine::cpu_model().map_or_else(String::new, |model| format!(", {model}"));
    let finding = DoctorResult::fine("cores", format!("{cores}{model}"));
    match machine::cpu_limit() {
        Some(limit) if limit.cores < cores as f64 => DoctorResult {
            value: format!("{}, of which the control group gives {:.1}", finding.value, limit.cores),
            ..finding
        }
        .unless(
            false,
            "a group that has used up its share pauses until the next tenth of a second, which adds to latencies:\n\
             raise the limit, or give lgoose fewer threads ('--threads')",
        ),
        _ => finding,
    }
}

fn load() -> DoctorResult {
    let cores = machine::cores() as f64;
    match machine::load_average() {
        Some(load) => DoctorResult::fine("load", format!("{load:.1} in the latest minute")).unless(
            load < 0.5 * cores,
            "other programs use the cores, which adds to latencies: stop them before a test",
        ),
        None => DoctorResult::fine("load", "not known"),
    }
}

fn memory() -> DoctorResult {
    let size = |bytes: Option<u64>| {
        bytes.map_or_else(|| "unknown".to_owned(), |bytes| show_size(bytes as f64))
    };
    let (total, usual) = (size(machine::total_memory()), size(machine::usual_memory()));
    DoctorResult::fine(
        "memory",
        format!("{total}, of which lgoose takes {usual} at most"),
    )
}

fn network() -> Vec<DoctorResult> {
    let count = |number: Option<u64>| number.map_or_else(|| "no limit".to_owned(), show_count);
    let descriptors = count(machine::raise_descriptor_limit());
    let mut found = vec![
        DoctorResult::fine(
            "descriptors",
            format!("{descriptors}, one for each connection"),
        ),
        DoctorResult::fine(
            "local ports",
            format!(
                "{} for connections to one address, from each '--local-address'",
                count(machine::local_ports())
            ),
        ),
    ];
    if let Some((most, now)) = machine::tracked_connections() {
        let value = format!(
            "tracks {} connections of {} at most",
            show_count(now),
            show_count(most)
        );
        found.push(DoctorResult::fine("firewall", value).unless(
            now < most / 2,
            "beyond that it drops packets: 'sudo sysctl -w net.netfilter.nf_conntrack_max=1048576'",
        ));
    }
    found
}

fn time() -> Vec<DoctorResult> {
    let mut found = Vec::new();
    if let Some(source) = machine::clock_source() {
        let quick = matches!(
            source.as_str(),
            "tsc" | "arch_sys_counter" | "kvm-clock" | "hyperv_clocksource_tsc_page"
        );
        found.push(DoctorResult::fine("clock", source).unless(
            quick,
            "reading it takes a microsecond, and lgoose reads it several times per request; a host whose kernel trusts\n\
             its time stamp counter has 'tsc'",
        ));
    }
    if let Some(governor) = machine::frequency_governor() {
        let steady = governor != "powersave";
        found.push(DoctorResult::fine("frequency", governor).unless(
            steady,
            "cores wake slowly: 'sudo cpupower frequency-set -g performance' for the time of a test",
        ));
    }
    found
}

fn wake_up(median: Duration, worst: Duration) -> DoctorResult {
    let value = format!(
        "a thread wakes {} late at the median, {} at worst",
        show_duration(median),
        show_duration(worst)
    );
    DoctorResult::fine("timers", value).unless(
        median < LATE,
        "this machine or its host is busy: latencies of a few milliseconds may come from it",
    )
}

fn broker() -> DoctorResult {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|folder| folder.join("nats-server").is_file());
    DoctorResult::fine(
        "broker",
        if found {
            "nats-server is there: runs on several machines can start from here"
        } else {
            "no nats-server here, which only runs on several machines need"
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_timers_and_nothing_else_are_reported() {
        let ms = Duration::from_millis;
        assert_eq!(wake_up(Duration::from_micros(80), ms(3)).remedy, None);
        let late = wake_up(ms(2), ms(9));
        assert_eq!(
            late.value,
            "a thread wakes 2.00 ms late at the median, 9.00 ms at worst"
        );
        assert!(late.remedy.is_some());
    }
}
