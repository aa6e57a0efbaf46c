//! Scrapes of the metrics: how far apart they come, and whether one has had the final figures. Determines how long the server
//! of a run that is over waits for one more.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Number of the latest intervals that count: the longest of them lets two scrapers take turns.
const INTERVALS: usize = 4;

/// Time by which a scrape may come later than its interval: scrapers and busy machines are not exact.
const LATE: Duration = Duration::from_secs(1);

/// The longest wait unless the user sets it: a scraper that comes less often is not waited for.
const MAX_LINGER: Duration = Duration::from_secs(60);

/// Scrapes of a run's metrics so far.
#[derive(Debug, Default)]
pub(super) struct Scrapes {
    latest: Option<Instant>,
    /// The latest intervals between two scrapes, in order.
    intervals: VecDeque<Duration>,
    /// Whether a scrape has had the figures of the report.
    has_final: bool,
}

impl Scrapes {
    /// Records a scrape that comes at that time.
    pub(super) fn record(&mut self, at: Instant) {
        if let Some(latest) = self.latest.replace(at) {
            if self.intervals.len() == INTERVALS {
                self.intervals.pop_front();
            }
            self.intervals.push_back(at.duration_since(latest));
        }
    }

    /// Records that a scrape has had the figures of the report.
    pub(super) fn record_final(&mut self) {
        self.has_final = true;
    }

    /// Returns whether a scrape has had the figures of the report.
    pub(super) fn has_final(&self) -> bool {
        self.has_final
    }

    /// Returns how long to wait for one more scrape: as long as `wanted`, by default as long as the next one may take. `None` if
    /// there have been fewer than two, or if one has had the figures of the report.
    pub(super) fn linger(&self, wanted: Option<Duration>) -> Option<Duration> {
        let longest = self.intervals.iter().max()?;
        let linger = wanted.unwrap_or_else(|| (*longest + LATE).min(MAX_LINGER));
        (!self.has_final && !linger.is_zero()).then_some(linger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scraped(at_s: &[u64]) -> Scrapes {
        let start = Instant::now();
        let mut scrapes = Scrapes::default();
        for at in at_s {
            scrapes.record(start + Duration::from_secs(*at));
        }
        scrapes
    }

    #[test]
    fn one_more_scrape_is_waited_for_as_long_as_it_may_take() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (at_s, wanted, expected) in [
            (&[][..], None, None),
            (&[], seconds(5), None),
            (&[3], None, None),
            (&[3], seconds(5), None),
            (&[0, 15], None, seconds(16)),
            (&[0, 15, 30], None, seconds(16)),
            (&[0, 15], seconds(5), seconds(5)),
            (&[0, 15], seconds(600), seconds(600)),
            (&[0, 15], seconds(0), None),
            // Two scrapers take turns.
            (&[0, 4, 15, 19, 30, 34], None, seconds(12)),
            // One that was away, and is back for a while.
            (&[0, 50, 55, 60, 65, 70], None, seconds(6)),
            (&[0, 50, 55, 60, 65], None, seconds(51)),
            (&[0, 60], None, seconds(60)),
            (&[0, 600], None, seconds(60)),
            (&[0, 600], seconds(90), seconds(90)),
        ] {
            let scrapes = scraped(at_s);
            assert_eq!(scrapes.linger(wanted), expected, "{at_s:?} {wanted:?}");
        }
    }

    #[test]
    fn a_scraper_that_has_the_final_figures_is_not_waited_for() {
        let mut scrapes = scraped(&[0, 15]);
        scrapes.record_final();
        assert!(scrapes.has_final());
        assert_eq!(scrapes.linger(None), None);
        assert_eq!(scrapes.linger(Some(Duration::from_secs(5))), None);
    }
}
