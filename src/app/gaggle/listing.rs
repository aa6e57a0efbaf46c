//! `lgoose gaggle`: the workers, the gathers and the runs at a broker.

use super::address;
use crate::app::runtime;
use crate::cli;
use lgoose_base::error::Error;
use lgoose_gaggle::{Broker, GatherPresence, WorkerPresence, gathers, present};
use lgoose_metrics::labels_text;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time limit for connecting to the broker.
const CONNECT: Duration = Duration::from_secs(5);

/// Returns the workers, the gathers and the runs at a broker as text.
///
/// # Errors
/// Returns trouble with the broker.
pub(in crate::app) fn list(broker: &cli::BrokerArgs) -> Result<String, Error> {
    let address = address(&broker.url, &broker.reached)?;
    runtime()?.block_on(async {
        let broker = Broker::connect(&address, "lgoose gaggle", CONNECT).await?;
        let question_at = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let workers = present(&broker).await?;
        let gathers = gathers(&broker).await?;
        let runs = broker.runs().await?;
        Ok(text(&workers, &gathers, &runs, question_at))
    })
}

fn text(
    workers: &[(WorkerPresence, Duration)],
    gathers: &[GatherPresence],
    runs: &[String],
    question_at: Duration,
) -> String {
    let mut rows = vec![
        [
            "worker", "state", "version", "threads", "cores", "clock", "labels",
        ]
        .map(str::to_owned),
    ];
    for (worker, took) in workers {
        // The clock was read about half a round trip after the question.
        let way_ms = took.as_secs_f64() * 1e3 / 2.0;
        let offset = (worker.wall as f64 - question_at.as_nanos() as f64) / 1e6 - way_ms;
        rows.push([
            worker.name.clone(),
            worker
                .run
                .as_ref()
                .map_or_else(|| "free".to_owned(), |run| format!("run {run}")),
            worker.version.clone(),
            worker.threads.to_string(),
            worker.cores.to_string(),
            if offset.abs() < way_ms + 500.0 {
                "within 1 s".to_owned()
            } else {
                format!("{:+.1} s", offset / 1e3)
            },
            labels_text(&worker.labels),
        ]);
    }
    let mut text = if workers.is_empty() {
        "there are no workers: start one with 'lgoose worker URL'\n".to_owned()
    } else {
        table(&rows)
    };
    if !gathers.is_empty() {
        let mut rows = vec![["gather", "state", "version", "labels"].map(str::to_owned)];
        rows.extend(gathers.iter().map(|gather| {
            let labels: Vec<&str> = gather.labels.iter().map(String::as_str).collect();
            [
                gather.name.clone(),
                if gather.runs.is_empty() {
                    "waits".to_owned()
                } else {
                    format!("run {}", gather.runs.join(", "))
                },
                gather.version.clone(),
                labels.join(" or "),
            ]
        }));
        text += "\n";
        text += &table(&rows);
    }
    for run in runs {
        let count = workers
            .iter()
            .filter(|(worker, _)| worker.run.as_ref() == Some(run))
            .count();
        text += &match count {
            0 => format!(
                "\nrun {run}: no worker works for it; if its manager is lost, 'lgoose attach {run} URL' writes its report, within a day"
            ),
            count => format!(
                "\nrun {run}: {}",
                lgoose_base::units::counted(count as u64, "worker")
            ),
        };
    }
    text.trim_end().to_owned()
}

/// Returns rows with columns of equal width.
fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text += cells.join("  ").trim_end();
        text += "\n";
    }
    text
}
