//! Reasons why runs are incomparable: differences between them other than the site, and flaws of a run by itself.

use super::comparison::NamedReport;
use crate::{Event, EventKind, Report, RunSettings};
use serde_json::Value;
use std::collections::BTreeMap;

/// The share of a run's seconds in which lgoose itself may have set the latency.
const MOST_SATURATED: f64 = 0.1;

/// Settings that do not change the load: how a run is judged, what it may take of the machine,
/// and the way to a site that may differ.
const BESIDE_THE_LOAD: [&str; 14] = [
    "allow_short",
    "co_mitigation",
    "dns_ttl",
    "fail_on_error",
    "fail_on_saturation",
    "insecure",
    "local_address",
    "lua_memory",
    "lua_time",
    "machine",
    "plan_sha256",
    "resolve",
    "threads",
    "thresholds",
];

/// Returns the reasons why the runs are incomparable, a sentence each.
pub(super) fn reasons(before: &[NamedReport], after: &[NamedReport]) -> Vec<String> {
    let runs: Vec<&NamedReport> = before.iter().chain(after).collect();
    let mut reasons = Vec::new();
    for run in &runs {
        reasons.extend(spoilt(&run.report).map(|what| format!("'{}' {what}", run.file)));
    }
    let Some((first, others)) = runs.split_first() else {
        return reasons;
    };
    for other in others {
        for difference in differences(&first.report, &other.report) {
            reasons.push(format!(
                "'{}' and '{}' {difference}",
                first.file, other.file
            ));
        }
    }
    reasons
}

/// Returns the flaws of a run by itself.
fn spoilt(report: &Report) -> impl Iterator<Item = String> {
    let part = report.part.as_ref().map(|part| {
        format!(
            "is part {} of {} of a load: join them first with 'lgoose report … -o json=whole.json'",
            part.number, part.of
        )
    });
    let cut_short = report.ending.as_ref().filter(|ending| ending.cut_short);
    let cut_short = cut_short.map(|ending| format!("was cut short: {}", ending.text));
    let saturated = report.generator.and_then(|row| {
        let share = row.saturated_s / row.judged_s.max(f64::MIN_POSITIVE);
        (share > MOST_SATURATED).then(|| {
            format!(
                "measured lgoose rather than the site: it was the bottleneck in {:.0} of {:.0} s; use more cores or machines, or less load",
                row.saturated_s, row.judged_s
            )
        })
    });
    let changed = |kind: EventKind| -> Option<&Event> {
        report.events.iter().find(|event| event.kind == kind)
    };
    let steered = [EventKind::Steered, EventKind::Reload]
        .into_iter()
        .find_map(changed);
    let steered = steered.map(|event| {
        format!(
            "was changed while it ran, at {:.0} s: {}",
            event.at_s, event.text
        )
    });
    let settings = match &report.settings {
        Some(_) => None,
        None => Some(
            "does not say how it was run, as it comes from an earlier version: run it again"
                .to_owned(),
        ),
    };
    let lost = report
        .workers
        .iter()
        .find(|worker| worker.lost_at_s.is_some());
    let lost = lost.map(|worker| format!("lost the worker '{}' while it ran", worker.name));
    [part, cut_short, saturated, steered, settings, lost]
        .into_iter()
        .flatten()
}

/// Returns the differences between two runs beside the site.
fn differences(a: &Report, b: &Report) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(a), Some(b)) = (&a.settings, &b.settings) {
        if a.plan_sha256 != b.plan_sha256 {
            found.push(
                "are of different plans: the plan, a module or a data file has changed".to_owned(),
            );
        }
        let (a, b) = (load(a), load(b));
        let differ = a
            .iter()
            .filter(|(name, value)| b.get(*name) != Some(*value));
        let shown: Vec<String> = differ
            .map(|(name, value)| {
                let other = b.get(name).unwrap_or(&Value::Null);
                format!("'{name}' is {value} and {other}")
            })
            .collect();
        if !shown.is_empty() {
            found.push(format!("have different loads: {}", shown.join(", ")));
        }
    }
    if a.workers.len() != b.workers.len() {
        let (a, b) = (a.workers.len(), b.workers.len());
        found.push(format!("ran on {a} and {b} workers"));
    }
    let [lgoose_a, lgoose_b] = [a, b].map(lgoose);
    if lgoose_a != lgoose_b {
        found.push(format!(
            "are of different versions of lgoose, {lgoose_a} and {lgoose_b}"
        ));
    }
    found
}

/// The version and the build of lgoose.
fn lgoose(report: &Report) -> &str {
    let settings = report.settings.as_ref();
    let version = settings.map(|settings| settings.machine.lgoose.as_str());
    version
        .filter(|version| !version.is_empty())
        .unwrap_or(&report.version)
}

/// The settings that decide the load, by name.
fn load(settings: &RunSettings) -> BTreeMap<String, Value> {
    let all = match serde_json::to_value(settings) {
        Ok(Value::Object(all)) => all,
        _ => return BTreeMap::new(),
    };
    all.into_iter()
        .filter(|(name, _)| !BESIDE_THE_LOAD.contains(&name.as_str()))
        .collect()
}

/// Returns whether a run counts the time in which users and site warm up.
pub(super) fn counts_start(report: &Report) -> bool {
    let settings = report.settings.as_ref();
    settings.is_some_and(|settings| settings.warmup.is_none() && !settings.reset_stats)
}

/// Returns which runs count their start-up, and how much of it is left out.
fn cold(runs: &[&NamedReport], left_out_s: u64) -> Option<String> {
    let cold: Vec<_> = runs
        .iter()
        .filter(|run| counts_start(&run.report))
        .collect();
    let (subject, verb) = match &cold[..] {
        [] => return None,
        [one] => (format!("'{}'", one.file), "counts"),
        all if all.len() == runs.len() => ("the runs".to_owned(), "count"),
        [one, ..] => (format!("'{}' and others", one.file), "count"),
    };
    let handled = match left_out_s {
        0 => "no trend at the start shows it, so nothing is left out here; '--warmup 10s' in all of them would leave it out"
            .to_owned(),
        seconds => format!(
            "the first {seconds} s of each run are left out here, in which latencies or the rate had a trend; \
             '--warmup {seconds}s' in all of them leaves them out of the reports, too"
        ),
    };
    Some(format!(
        "{subject} {verb} the time in which users and site warm up: {handled}"
    ))
}

/// Returns the differences that need not matter.
pub(super) fn notes(before: &[NamedReport], after: &[NamedReport], left_out_s: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let all: Vec<&NamedReport> = before.iter().chain(after).collect();
    notes.extend(cold(&all, left_out_s));
    let mut runs = all.into_iter();
    let Some(first) = runs.next() else {
        return notes;
    };
    if let Some(other) = runs
        .clone()
        .find(|run| run.report.seed != first.report.seed)
    {
        notes.push(format!(
            "'{}' and '{}' have different seeds, {} and {}: their users have not made the same choices, which may be a part \
             of a difference; give all runs the same '--seed'",
            first.file, other.file, first.report.seed, other.report.seed
        ));
    }
    let machine = |run: &NamedReport| {
        let settings = run.report.settings.as_ref()?;
        let mut machine = settings.machine.clone();
        machine.lgoose.clear();
        Some((machine, settings.threads))
    };
    if let Some(other) = runs.find(|run| machine(run) != machine(first)) {
        notes.push(format!(
            "'{}' and '{}' did not run on the same machine, or not on as many cores of it; differences may be those of the machines",
            first.file, other.file
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SimulatedSite, simulated};
    use super::*;

    fn named(file: &str, change: impl FnOnce(&mut Report)) -> NamedReport {
        let mut report = simulated(&SimulatedSite::default(), 20, 1);
        change(&mut report);
        NamedReport {
            file: file.to_owned(),
            report,
        }
    }

    fn settings(report: &mut Report) -> &mut RunSettings {
        report.settings.get_or_insert_default()
    }

    #[test]
    fn equal_runs_have_no_reason() {
        let (a, b) = (
            named("a", |_| ()),
            named("b", |report| report.host = "http://b".into()),
        );
        assert_eq!(reasons(&[a], &[b]), Vec::<String>::new());
    }

    #[test]
    fn each_difference_is_reported_with_its_files() {
        type Change = fn(&mut Report);
        let cases: [(Change, &str); 7] = [
            (
                |r| settings(r).plan_sha256 = "2".into(),
                "'a' and 'b' are of different plans",
            ),
            (
                |r| settings(r).users = 50,
                "'a' and 'b' have different loads: 'users' is 0 and 50",
            ),
            (
                |r| settings(r).machine.lgoose = "0.2".into(),
                "different versions of lgoose",
            ),
            (|r| r.settings = None, "'b' does not say how it was run"),
            (
                |r| {
                    if let Some(row) = &mut r.generator {
                        row.saturated_s = 9.0;
                    }
                },
                "'b' measured lgoose rather than the site: it was the bottleneck in 9 of 20 s",
            ),
            (
                |r| {
                    r.events.push(Event {
                        at_s: 4.0,
                        lasted_s: None,
                        kind: EventKind::Steered,
                        text: "9 users".into(),
                    });
                },
                "'b' was changed while it ran, at 4 s: 9 users",
            ),
            (
                |r| {
                    let ending = crate::Ending::new(
                        crate::Cause::Signal,
                        std::time::Duration::from_secs(2),
                        Some(std::time::Duration::from_secs(60)),
                    );
                    r.ending = Some(ending.with_text());
                },
                "'b' was cut short: stopped by a signal",
            ),
        ];
        for (change, message) in cases {
            let found = reasons(&[named("a", |_| ())], &[named("b", change)]);
            assert!(
                found.iter().any(|reason| reason.contains(message)),
                "{message}: {found:?}"
            );
        }
        // Whoever runs a plan twice has neither a seed nor a warm-up.
        let first_try = |seed| {
            move |r: &mut Report| {
                settings(r).warmup = None;
                r.seed = seed;
            }
        };
        let (a, b) = ([named("a", first_try(1))], [named("b", first_try(5))]);
        assert_eq!(reasons(&a, &b), Vec::<String>::new());
        let remarks = notes(&a, &b, 0);
        assert!(
            remarks[0].starts_with("the runs count the time in which"),
            "{remarks:?}"
        );
        assert!(
            remarks[1].contains("different seeds, 1 and 5"),
            "{remarks:?}"
        );
        let judged = |r: &mut Report| {
            settings(r).thresholds = vec!["p95 < 1s".into()];
            settings(r).fail_on_error = true;
            settings(r).threads = 9;
        };
        let (a, b) = (named("a", |_| ()), named("b", judged));
        let (a, b) = (&[a], &[b]);
        assert_eq!(
            reasons(a, b),
            Vec::<String>::new(),
            "how a run is judged is no load"
        );
        assert!(
            notes(a, b, 0)[0].contains("not run on the same machine"),
            "{:?}",
            notes(a, b, 0)
        );
    }
}
