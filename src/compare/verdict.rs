//! Verdicts on rows: what chance explains, given how many rows there are, and what a limit allows.

use super::bootstrap::FigureError;
use super::limit::RegressionLimit;
use super::row::{Row, RowVerdict};
use super::student::StudentsT;

/// The level of the verdicts: less than the twentieth that is promised, for what the error of a run of a minute misses of
/// its seconds' dependence. In simulations 5 % called 7 % of the comparisons of a site with itself different.
const LEVEL: f64 = 0.03;
/// Changes by a smaller ratio are not called: histograms of seconds tell latencies apart by half a percent to one, and
/// nobody decides by less.
const LEAST_CHANGE: f64 = 0.01;

/// Returns the 95 % confidence interval of a difference.
pub(super) fn interval(difference: f64, error: FigureError) -> (f64, f64) {
    let reach = error.variance.sqrt() * student(error.freedom).quantile_975();
    (difference - reach, difference + reach)
}

/// Returns how often chance alone makes so great a difference either way.
pub(super) fn probability(difference: f64, error: FigureError) -> f64 {
    if difference == 0.0 {
        return 1.0;
    }
    if error.variance <= 0.0 {
        return 0.0;
    }
    student(error.freedom).beyond(difference.abs() / error.variance.sqrt())
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(freedom.max(1.0))
}

/// Sets the verdicts, and whether rows are beyond a limit.
pub(super) fn decide(rows: &mut [Row], limits: &[RegressionLimit]) {
    let chances: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let mut called = significant(&chances).into_iter();
    for row in rows {
        if row.p.is_none() {
            continue;
        }
        let called = called.next().unwrap_or_default();
        row.verdict = verdict(row, called);
        let worse = row.worsening().unwrap_or_default();
        let mut of_row = limits.iter().filter(|limit| limit.concerns(row)).peekable();
        // More failures are a regression whatever was limited, unless a limit says how many may be.
        row.beyond_limit = match (row.verdict, of_row.peek()) {
            (RowVerdict::MoreFailures, None) => !limits.is_empty(),
            (verdict, _) => verdict.is_worse() && of_row.any(|limit| worse > limit.most),
        };
    }
}

fn verdict(row: &Row, called: bool) -> RowVerdict {
    let change = row.change.unwrap_or_default();
    let least = if row.figure.is_ratio() {
        LEAST_CHANGE
    } else {
        0.0
    };
    if !called || change.abs() <= least {
        return RowVerdict::NoDifference;
    }
    let worse = (change > 0.0) != row.figure.is_better_high();
    match (row.figure.is_ratio(), worse) {
        (true, true) => RowVerdict::Slower,
        (true, false) => RowVerdict::Faster,
        (false, true) => RowVerdict::MoreFailures,
        (false, false) => RowVerdict::FewerFailures,
    }
}

/// Returns which of many differences chance does not explain: Benjamini & Hochberg, "Controlling the false discovery
/// rate", Journal of the Royal Statistical Society B 57 (1995).
///
/// Of sites that do not differ, one comparison of twenty at most calls anything different, as by Holm's procedure; of
/// those that do, one row of twenty that are called is expected to be wrong. Rows of one run rise and fall together,
/// under which the procedure holds (Benjamini & Yekutieli, Annals of Statistics 29, 2001). Holm's finds much less where
/// most rows have changed, which is the rule when something has.
fn significant(chances: &[f64]) -> Vec<bool> {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = LEVEL / chances.len() as f64;
    let within = |(at, chance): (usize, &f64)| *chance <= share * (at + 1) as f64;
    let last = sorted.iter().enumerate().rposition(within);
    let most = last.map(|last| sorted[last]);
    let called = |chance: &f64| most.is_some_and(|most| *chance <= most);
    chances.iter().map(called).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_rows_the_less_chance_may_explain() {
        assert_eq!(significant(&[0.02]), [true]);
        assert_eq!(significant(&[0.02, 0.9]), [false, false]);
        // 0.03 / 4, 0.03 / 2, 0.09 / 4 and 0.03.
        assert_eq!(
            significant(&[0.01, 0.06, 0.02, 0.005]),
            [true, false, true, true]
        );
        assert_eq!(significant(&[0.029, 0.02, 0.02, 0.005]), [true; 4]);
        assert_eq!(significant(&[0.02, 0.9, 0.8, 0.7]), [false; 4]);
        assert!(significant(&[]).is_empty());
    }

    #[test]
    fn an_interval_of_few_degrees_of_freedom_is_wide() {
        let error = |freedom| FigureError {
            variance: 0.01,
            freedom,
        };
        let (low, high) = interval(1.0, error(10.0));
        assert!(
            (low - 0.777).abs() < 0.001 && (high - 1.223).abs() < 0.001,
            "{low} {high}"
        );
        let (low, _) = interval(1.0, error(2.0));
        assert!((low - 0.570).abs() < 0.001, "{low}");
        assert!((probability(0.2228, error(10.0)) - 0.05).abs() < 0.001);
        assert_eq!(probability(0.0, error(3.0)), 1.0);
        let none = FigureError {
            variance: 0.0,
            freedom: 3.0,
        };
        assert_eq!(probability(0.1, none), 0.0);
    }
}
