//! The history of each request name: its rate over the last seconds, for the small trends.

use lgoose_metrics::LiveRow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Seconds that a trend shows at most.
const LENGTH: usize = 16;
/// The most names whose trends are kept; further ones have none.
const MAX_NAMES: usize = 2_001;

/// The rates of names, at intervals of a second.
#[derive(Debug, Default)]
pub(super) struct History {
    rates: HashMap<(Arc<str>, Arc<str>), VecDeque<f64>>,
    counts: HashMap<(Arc<str>, Arc<str>), u64>,
    at: Option<Duration>,
}

impl History {
    /// Takes the rows that were there before the view opened: their counts are no rate.
    pub(super) fn set_baseline(&mut self, elapsed: Duration, rows: &[LiveRow]) {
        self.at = Some(elapsed);
        let counts = rows
            .iter()
            .map(|row| ((row.method.clone(), row.name.clone()), row.count));
        self.counts = counts.collect();
    }

    /// Returns whether it has not seen anything yet.
    pub(super) fn is_empty(&self) -> bool {
        self.at.is_none()
    }

    /// Looks at the rows of a moment since the run began; remembers their rates once a second.
    pub(super) fn look(&mut self, elapsed: Duration, rows: &[LiveRow]) {
        let since = self.at.map(|at| elapsed.saturating_sub(at));
        if since.is_some_and(|since| since < Duration::from_millis(900)) {
            return;
        }
        self.at = Some(elapsed);
        for row in rows {
            let name = (row.method.clone(), row.name.clone());
            let before = self.counts.insert(name.clone(), row.count).unwrap_or(0);
            if self.rates.len() >= MAX_NAMES && !self.rates.contains_key(&name) {
                continue;
            }
            let rates = self.rates.entry(name).or_default();
            // After a reset of the figures the count is lower than it was.
            let more = row.count.checked_sub(before).unwrap_or(row.count);
            let seconds = since.map_or(1.0, |since| since.as_secs_f64());
            rates.push_back(more as f64 / seconds);
            if rates.len() > LENGTH {
                rates.pop_front();
            }
        }
    }

    /// Returns the last `width` seconds of a name as bars of eight heights, scaled to its own highest rate.
    pub(super) fn trend(&self, method: &Arc<str>, name: &Arc<str>, width: usize) -> String {
        let name = (method.clone(), name.clone());
        let Some(rates) = self.rates.get(&name) else {
            return String::new();
        };
        bars(
            rates
                .iter()
                .copied()
                .skip(rates.len().saturating_sub(width)),
        )
    }
}

/// Returns values as bars of eight heights; the highest value gets the highest bar.
pub(super) fn bars(values: impl Iterator<Item = f64> + Clone) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.clone().fold(0.0, f64::max);
    let bar = |value: f64| {
        if most > 0.0 {
            BARS[((value / most * 7.0).round() as usize).min(7)]
        } else {
            BARS[0]
        }
    };
    values.map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> Vec<LiveRow> {
        vec![LiveRow {
            method: "GET".into(),
            name: "/".into(),
            count,
            ..LiveRow::default()
        }]
    }

    #[test]
    fn a_trend_is_the_rate_of_each_second_and_survives_a_reset() {
        let mut history = History::default();
        for (second, count) in [(1, 10), (2, 30), (3, 70), (4, 40)] {
            let elapsed = Duration::from_secs(second);
            history.look(elapsed, &rows(count));
            history.look(elapsed, &rows(count));
        }
        let trend = |width| history.trend(&"GET".into(), &"/".into(), width);
        assert_eq!(trend(8), "▃▅██");
        assert_eq!(trend(2), "██");
        assert_eq!(history.trend(&"GET".into(), &"/other".into(), 8), "");
    }

    #[test]
    fn silence_is_the_lowest_bar() {
        assert_eq!(bars([0.0, 0.0].into_iter()), "▁▁");
        assert_eq!(bars([0.0, 8.0].into_iter()), "▁█");
    }
}
