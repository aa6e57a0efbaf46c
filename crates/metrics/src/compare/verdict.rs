//! Verdicts on rows: whether chance explains a change, given the number of rows, and whether a limit allows it.

use super::limit::RegressionLimit;
use super::row::{Row, RowVerdict};
use super::run_spread::RunSpread;
use lgoose_base::units::counted;

/// The level of the verdicts: less than the twentieth that is promised, for what the error of a run of a minute misses of
/// its seconds' dependence. In simulations 5 % called 7 % of the comparisons of a site with itself different.
const LEVEL: f64 = 0.03;
/// Changes by a smaller ratio are not called: histograms of seconds are precise to half a percent to one, and
/// nobody decides by less.
const LEAST_CHANGE: f64 = 0.01;
/// The most runs of a side of which is said that they would be enough.
const MOST_RUNS: u64 = 100;

/// Sets the verdicts, and whether rows are beyond a limit. Returns a note if some need more runs.
pub(super) fn decide(rows: &mut [Row], limits: &[RegressionLimit]) -> Option<String> {
    let now = called(rows, |_| None);
    let if_known = called(rows, |spread| Some(spread.chance_if_known()));
    let chances: Vec<f64> = rows.iter().filter_map(Row::chance).collect();
    let missing = deciding_level(&chances);
    for (row, (now, if_known)) in rows.iter_mut().zip(now.into_iter().zip(if_known)) {
        if row.judged.is_none() {
            continue;
        }
        row.set_interval(missing);
        row.verdict = match verdict(row, now) {
            RowVerdict::NoDifference
                if row.spread.is_some() && verdict(row, if_known) != RowVerdict::NoDifference =>
            {
                RowVerdict::TooFewRuns
            }
            decided => decided,
        };
        let worse = row.worsening().unwrap_or_default();
        let mut of_row = limits.iter().filter(|limit| limit.holds(row)).peekable();
        // More failures are a regression whatever was limited, unless a limit says how many may be.
        row.beyond_limit = match (row.verdict, of_row.peek()) {
            (RowVerdict::MoreFailures, None) => !limits.is_empty(),
            (verdict, _) => verdict.is_worse() && of_row.any(|limit| worse > limit.most),
        };
    }
    find_runs_needed(rows)
}

/// Finds out how many runs would be enough for the rows that have too few, and returns a note about them.
fn find_runs_needed(rows: &mut [Row]) -> Option<String> {
    let open = |row: &Row| row.verdict == RowVerdict::TooFewRuns && row.runs_needed.is_none();
    for runs in 2..=MOST_RUNS {
        if !rows.iter().any(open) {
            break;
        }
        let enough = called(rows, |spread| Some(spread.chance_with(runs)));
        for (row, enough) in rows.iter_mut().zip(enough) {
            if enough && open(row) {
                row.runs_needed = Some(runs);
            }
        }
    }
    let few = rows
        .iter()
        .filter(|row| row.verdict == RowVerdict::TooFewRuns);
    let needed = few.clone().filter_map(|row| row.runs_needed).max();
    let count = few.count() as u64;
    let enough = needed.map_or_else(String::new, |runs| {
        format!(
            "; {runs} of each side would be enough if they differ as these do ('--repeat {runs}')"
        )
    });
    (count > 0).then(|| {
        format!(
            "too few runs to tell {} from chance: runs of one side differ by more than their seconds explain{enough}",
            counted(count, "figure")
        )
    })
}

/// Returns which rows chance does not explain. `chance` may give another probability to a row that differences between
/// runs decide.
fn called(rows: &[Row], chance: impl Fn(&RunSpread) -> Option<f64>) -> Vec<bool> {
    let chances = rows.iter().map(|row| {
        let other = row.spread.as_ref().and_then(&chance);
        row.chance().map(|chance| other.unwrap_or(chance))
    });
    let chances: Vec<Option<f64>> = chances.collect();
    let judged: Vec<f64> = chances.iter().copied().flatten().collect();
    let mut found = significant(&judged).into_iter();
    chances
        .iter()
        .map(|chance| chance.is_some() && found.next().unwrap_or_default())
        .collect()
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
    let most = deciding_level(chances);
    chances.iter().map(|chance| *chance <= most).collect()
}

/// Returns the probability up to which a difference is called: the level times the share of differences that are called,
/// or that of one where none is. Intervals that miss the truth with this probability exclude 0 just where a difference is
/// called (Benjamini & Yekutieli, "False discovery rate-adjusted multiple confidence intervals", Journal of the American
/// Statistical Association 100, 2005).
fn deciding_level(chances: &[f64]) -> f64 {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = LEVEL / chances.len().max(1) as f64;
    let within = |(at, chance): (usize, &f64)| *chance <= share * (at + 1) as f64;
    let last = sorted.iter().enumerate().rposition(within);
    share * last.map_or(1.0, |last| (last + 1) as f64)
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
        assert_eq!(deciding_level(&[0.02, 0.9, 0.8, 0.7]), LEVEL / 4.0);
        assert_eq!(
            deciding_level(&[0.01, 0.06, 0.02, 0.005]),
            LEVEL * 3.0 / 4.0
        );
    }
}
