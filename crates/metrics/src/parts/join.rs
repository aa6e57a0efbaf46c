//! Joins the reports of all parts of a load into the report that a single run would have made: everything that the
//! parts measured is merged into one store, as if it came from shards of one run.
//!
//! Parts are aligned by the time since the start of each. Facts without figures, such as pauses and commands, are
//! taken from the first part; the ending is that of the part that ended worst.

use crate::delta::PortableDelta;
use crate::report::{EventKind, MachineRow, MetricKind, PartRow, Report, RunIdentity, RunSettings};
use crate::store::Store;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lgoose_base::threshold::Threshold;
use std::time::Duration;

/// Joins the reports of all parts of a load, given with the names of their files.
///
/// # Errors
/// Returns a sentence that names the file that does not fit the others, or is not the report of a part.
pub fn join(mut parts: Vec<(String, Report)>) -> Result<Report, String> {
    parts.sort_by_key(|(_, report)| report.part.as_ref().map(|part| part.number));
    let rows: Vec<&PartRow> = parts
        .iter()
        .map(|(file, report)| {
            report.part.as_ref().ok_or_else(|| {
                format!(
                    "'{file}' is not the report of a part: only runs with '--part' can be joined"
                )
            })
        })
        .collect::<Result<_, _>>()?;
    for ((file, _), row) in parts.iter().zip(&rows) {
        if !row.is_plausible() {
            return Err(format!(
                "'{file}' is damaged: no run of a part is like that"
            ));
        }
    }
    agree(&parts, &rows)?;
    let (_, first) = &parts[0];
    let mut store = store_of(&parts, &rows)?;
    let (mut measured, mut start_stop) = (PortableDelta::default(), Vec::new());
    let mut shards = 0;
    for ((file, _), row) in parts.iter().zip(&rows) {
        for piece in &row.measured {
            let piece = decode(file, piece)?;
            if !piece.fits(row.shards, row.ended_ns) {
                return Err(format!(
                    "'{file}' is damaged: its figures are not of its run"
                ));
            }
            measured.merge(&piece.rebased(row.epoch, row.origin_ns, shards));
        }
        for piece in &row.start_stop {
            start_stop.push(decode(file, piece)?);
        }
        shards += row.shards;
    }
    for event in &start_stop {
        store.merge_event(event.into());
    }
    happened(&mut store, first);
    let ended = |row: &&PartRow| row.ended_ns.saturating_sub(row.origin_ns);
    let ended = Duration::from_nanos(rows.iter().map(ended).max().unwrap_or_default());
    store.replay(measured, ended);
    let report = store.report(ended);
    Ok(completed(report, &parts, &rows))
}

fn decode(file: &str, piece: &str) -> Result<PortableDelta, String> {
    let bytes = BASE64
        .decode(piece)
        .map_err(|error| format!("'{file}' is damaged: {error}"))?;
    PortableDelta::decode(&bytes).map_err(|error| format!("'{file}': {error}"))
}

/// Checks that these are parts of one load, each given once.
fn agree(parts: &[(String, Report)], rows: &[&PartRow]) -> Result<(), String> {
    let (first_file, first) = &parts[0];
    for (at, (file, report)) in parts.iter().enumerate().skip(1) {
        let (row, before) = (rows[at], rows[at - 1]);
        if row.of != rows[0].of {
            return Err(format!(
                "'{file}' is part {} of {}, '{first_file}' one of {}",
                row.number, row.of, rows[0].of
            ));
        }
        if row.number == before.number {
            return Err(format!(
                "'{file}' and '{}' are both part {} of {}",
                parts[at - 1].0,
                row.number,
                row.of
            ));
        }
        if let Some(what) = difference(first, report) {
            return Err(format!(
                "'{file}' and '{first_file}' are not of one load: their {what} differ"
            ));
        }
    }
    Ok(())
}

/// Names something that decides a load and differs between two reports.
fn difference(a: &Report, b: &Report) -> Option<&'static str> {
    if a.version != b.version {
        return Some("versions of lgoose");
    }
    if a.seed != b.seed {
        return Some("seeds ('--seed')");
    }
    let (a, b) = (a.settings.as_ref()?, b.settings.as_ref()?);
    if a.plan_sha256 != b.plan_sha256 {
        return Some("plans");
    }
    // Leave out the settings that may differ between machines.
    let common = |settings: &RunSettings| RunSettings {
        threads: 0,
        local_address: None,
        machine: MachineRow::default(),
        ..settings.clone()
    };
    if common(a) != common(b) {
        return Some("options");
    }
    None
}

/// Makes a store that judges as the parts did.
fn store_of(parts: &[(String, Report)], rows: &[&PartRow]) -> Result<Store, String> {
    let (file, first) = &parts[0];
    let mut store = Store::new(RunIdentity {
        version: first.version.clone(),
        plan: first.plan.clone(),
        host: first.host.clone(),
        started: parts
            .iter()
            .map(|(_, report)| report.started.clone())
            .min()
            .unwrap_or_default(),
        seed: first.seed,
        co_mitigation: rows[0].co_mitigation.map(|(cadence, _)| cadence),
        co_wanted: rows[0]
            .co_mitigation
            .is_some_and(|(_, requested)| requested),
        no_intervals: false,
        start_ns: first.origin_ns,
        order: rows[0].order.clone(),
    });
    let shards: u64 = rows.iter().map(|row| row.shards).sum();
    store.expect(shards as usize);
    let settings = first.settings.iter();
    let thresholds = settings.flat_map(|settings| &settings.thresholds);
    let thresholds = thresholds.map(|text| {
        Threshold::read(text).map_err(|_| format!("'{file}' is damaged: '{text}' is no threshold"))
    });
    store.judge_by(thresholds.collect::<Result<_, _>>()?);
    for row in rows {
        for warning in &row.warnings {
            store.warn(warning.clone());
        }
    }
    // Declared counters are in the report of a part that has added nothing to them, too.
    let metrics = first.metrics.iter();
    let counters = metrics.filter(|metric| metric.kind == MetricKind::Counter && metric.count == 0);
    let counters: Vec<String> = counters.map(|metric| metric.name.clone()).collect();
    store.declare_counters(&counters);
    Ok(store)
}

/// Enters the events that the store cannot derive from the figures.
fn happened(store: &mut Store, first: &Report) {
    let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
    for event in &first.events {
        let at = seconds(event.at_s);
        match event.kind {
            EventKind::Pause => {
                store.pause(at);
                store.resume(at.saturating_add(seconds(event.lasted_s.unwrap_or_default())));
            }
            EventKind::Silence | EventKind::Saturation => {}
            kind => store.happened(at, kind, event.text.clone()),
        }
        if event.kind == EventKind::Stop {
            store.load_ended(at);
        }
    }
}

/// Adds the facts about the runs that are no figures to the joined report.
fn completed(mut report: Report, parts: &[(String, Report)], rows: &[&PartRow]) -> Report {
    let (_, first) = &parts[0];
    report.settings = first.settings.clone();
    if let Some(settings) = &mut report.settings {
        settings.threads = rows.iter().map(|row| row.shards).sum();
    }
    // The worst ending is that of the whole.
    let endings = parts.iter().filter_map(|(_, report)| report.ending.clone());
    report.ending = endings.max_by_key(|ending| {
        let all_lost = ending.all_lost;
        (
            ending.cut_short,
            ending.raised.is_some(),
            all_lost,
            ending.cut_off,
        )
    });
    if let Some(ending) = &mut report.ending {
        let failed = parts
            .iter()
            .filter_map(|(_, report)| report.ending.as_ref());
        let mut reasons: Vec<String> = Vec::new();
        for why in failed.flat_map(|ending| &ending.failed) {
            if !reasons.contains(why) {
                reasons.push(why.clone());
            }
        }
        ending.failed = reasons;
        let endings = || {
            parts
                .iter()
                .filter_map(|(_, report)| report.ending.as_ref())
        };
        ending.users_due = endings().map(|ending| ending.users_due).sum();
        ending.users_started = endings().map(|ending| ending.users_started).sum();
    }
    report.logs = parts
        .iter()
        .flat_map(|(_, report)| report.logs.clone())
        .collect();
    let missing: Vec<String> = (1..=rows[0].of)
        .filter(|number| rows.iter().all(|row| row.number != *number))
        .map(|number| number.to_string())
        .collect();
    if !missing.is_empty() {
        let warning = format!(
            "of {} parts, {} missing: {}; the figures are those of the others",
            rows[0].of,
            if missing.len() == 1 {
                "one is"
            } else {
                "some are"
            },
            missing.join(", ")
        );
        report.warnings.insert(0, warning);
    }
    report
}
