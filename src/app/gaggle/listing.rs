//! `lgoose gaggle`: the workers and the runs at a broker.

use super::address;
use crate::app::runtime;
use crate::cli;
use crate::error::Error;
use crate::gaggle::{Broker, Presence, present};
use crate::metrics::labels_text;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time that connecting to the broker may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Returns the workers and the runs at a broker as text.
///
/// # Errors
/// Trouble with the broker.
pub(in crate::app) fn list(broker: &cli::Broker) -> Result<String, Error> {
    let address = address(&broker.url, &broker.reached)?;
    runtime()?.block_on(async {
        let broker = Broker::connect(&address, "lgoose gaggle", CONNECT).await?;
        let workers = present(&broker).await?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let runs = broker.runs().await?;
        Ok(text(&workers, &runs, now))
    })
}

fn text(workers: &[(Presence, Duration)], runs: &[String], now: Duration) -> String {
    let mut rows = vec![
        [
            "worker", "state", "version", "threads", "cores", "clock", "labels",
        ]
        .map(str::to_owned),
    ];
    for (worker, took) in workers {
        // The answer was given about half of the round trip ago, and asking took the longest answer's time.
        let offset = (worker.wall as f64 - now.as_nanos() as f64) / 1e6;
        let known = took.as_secs_f64() * 1e3;
        rows.push([
            worker.name.clone(),
            worker
                .run
                .as_ref()
                .map_or_else(|| "free".to_owned(), |run| format!("run {run}")),
            worker.version.clone(),
            worker.threads.to_string(),
            worker.cores.to_string(),
            match offset.abs() < known + 500.0 {
                true => "within 1 s".to_owned(),
                false => format!("{:+.1} s", offset / 1e3),
            },
            labels_text(&worker.labels),
        ]);
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    match workers.is_empty() {
        true => text += "no worker is there: start one with 'lgoose worker URL'\n",
        false => {
            for row in &rows {
                let cells: Vec<String> = row
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| format!("{cell:width$}"))
                    .collect();
                text += cells.join("  ").trim_end();
                text += "\n";
            }
        }
    }
    for run in runs {
        let count = workers
            .iter()
            .filter(|(worker, _)| worker.run.as_ref() == Some(run))
            .count();
        text += &match count {
            0 => format!(
                "\nrun {run}: nobody works for it; if its manager is lost, 'lgoose attach {run} URL' makes its report, within a day"
            ),
            count => format!(
                "\nrun {run}: {}",
                crate::units::counted(count as u64, "worker")
            ),
        };
    }
    text.trim_end().to_owned()
}
