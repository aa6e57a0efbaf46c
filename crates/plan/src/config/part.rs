//! The part of a run's load that one process drives: `--part 2/4`, or the part of a worker in a gaggle.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A part of a load: consecutive shares out of many equal ones. The number of a user or arrival decides its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadPart {
    /// Number of the first share, from 0.
    first: u64,
    /// Number of shares, at least 1.
    count: u64,
    /// Total number of shares of the load.
    of: u64,
}

/// The most parts: more are not started by hand.
const MAX_PARTS: u64 = 1_000;

impl LoadPart {
    /// The whole load.
    pub const WHOLE: LoadPart = LoadPart {
        first: 0,
        count: 1,
        of: 1,
    };

    /// Creates the part with these shares (at least one) out of `of`.
    pub fn of_shares(shares: Range<u64>, of: u64) -> LoadPart {
        LoadPart {
            first: shares.start,
            count: shares.end - shares.start,
            of,
        }
    }

    /// Returns the number of the part, from 1, if all parts have one share each.
    pub fn number(&self) -> u64 {
        self.first + 1
    }

    /// Returns the total number of shares of the load.
    pub fn of(&self) -> u64 {
        self.of
    }

    /// Returns which share of the load thread `thread` of `threads` drives, and out of how many, if the part has one
    /// share for each thread.
    pub fn share_of_thread(&self, thread: u64, threads: u64) -> Option<(u64, u64)> {
        (self.count == threads).then_some((self.first + thread, self.of))
    }

    /// Returns the part with these of its shares, which are numbered from 0.
    pub fn within(&self, shares: Range<u64>) -> LoadPart {
        LoadPart::of_shares(self.first + shares.start..self.first + shares.end, self.of)
    }

    /// Returns the fraction of the load, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.count as f64 / self.of as f64
    }

    /// Reads `2/4`.
    ///
    /// # Errors
    /// Returns a sentence that shows the form of a part.
    pub fn parse(text: &str) -> Result<LoadPart, String> {
        let wrong = || {
            format!(
                "'{text}' is not a part of a load; write '2/4' for the second of four, {MAX_PARTS} at most"
            )
        };
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let number = number.trim().parse().map_err(|_| wrong())?;
        let of = of.trim().parse().map_err(|_| wrong())?;
        if (1..=of).contains(&number) && of <= MAX_PARTS {
            Ok(LoadPart::of_shares(number - 1..number, of))
        } else {
            Err(wrong())
        }
    }

    /// Returns whether the part has the user or arrival of that number, from 0.
    pub fn has(&self, number: u64) -> bool {
        (self.first..self.first + self.count).contains(&share_of(number, self.of))
    }

    /// Returns how many of the first `all` users the part has.
    pub fn share(&self, all: u64) -> u64 {
        // Each stretch of as many users as there are shares has one of every share.
        let rest = all / self.of * self.of..all;
        all / self.of * self.count + rest.filter(|number| self.has(*number)).count() as u64
    }

    /// Returns how many of `all` rows the part has, if they are dealt out to all shares in turn.
    pub fn rows(&self, all: u64) -> u64 {
        let rest = (all % self.of).saturating_sub(self.first);
        all / self.of * self.count + rest.min(self.count)
    }

    /// Returns the part's n-th row, from 0, if rows are dealt out to all shares in turn.
    pub fn row(&self, n: u64) -> u64 {
        n / self.count * self.of + self.first + n % self.count
    }
}

impl fmt::Display for LoadPart {
    /// Formats the part: `part 2 of 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "part {} of {}", self.number(), self.of),
            _ => {
                let last = self.first + self.count;
                write!(f, "parts {} to {last} of {}", self.number(), self.of)
            }
        }
    }
}

/// Returns which of `among` shares a number belongs to, from 0: its digit sum in base `among`. Any `among` consecutive
/// numbers are spread over all shares, and a scenario that takes every second or fourth user does not end up in one
/// share.
pub fn share_of(number: u64, among: u64) -> u64 {
    if among < 2 {
        return 0;
    }
    let mut rest = number;
    let mut sum = 0;
    while rest > 0 {
        sum += rest % among;
        rest /= among;
    }
    sum % among
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_number_of_how_many() {
        assert_eq!(LoadPart::parse("2/4"), Ok(LoadPart::of_shares(1..2, 4)));
        assert_eq!(LoadPart::parse("1/1"), Ok(LoadPart::WHOLE));
        for wrong in ["", "2", "0/4", "5/4", "a/b", "1/0", "1/1001", "-1/2"] {
            let message = LoadPart::parse(wrong).expect_err(wrong);
            assert!(message.contains("write '2/4'"), "{message}");
        }
    }

    #[test]
    fn parts_share_all_users() {
        for (of, borders) in [
            (1, &[0, 1][..]),
            (4, &[0, 1, 2, 3, 4]),
            (4, &[0, 1, 4]),
            (6, &[0, 2, 5, 6]),
        ] {
            for all in 0..50 {
                let parts = borders
                    .windows(2)
                    .map(|ends| LoadPart::of_shares(ends[0]..ends[1], of));
                let counted = |part: &LoadPart| (0..all).filter(|number| part.has(*number)).count();
                let mut rows: Vec<u64> = parts
                    .clone()
                    .flat_map(|part| (0..all).map(move |n| part.row(n)))
                    .collect();
                rows.sort_unstable();
                assert!(
                    rows.iter().take(all as usize).copied().eq(0..all),
                    "{rows:?}"
                );
                for part in parts.clone() {
                    let rows = (0..all).filter(|n| part.row(*n) < all).count();
                    assert_eq!(part.rows(all), rows as u64, "{part} of {all}");
                    assert_eq!(part.share(all), counted(&part) as u64, "{part} of {all}");
                }
                let sum: u64 = parts.map(|part| part.share(all)).sum();
                assert_eq!(sum, all);
            }
        }
    }

    #[test]
    fn every_run_of_numbers_is_spread_over_all_shares() {
        for among in 1..6 {
            for start in (0..60).step_by(among as usize) {
                let mut seen: Vec<u64> = (start..start + among)
                    .map(|number| share_of(number, among))
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..among).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn scenarios_that_take_every_second_or_fourth_user_are_in_both_halves() {
        for step in [2, 4, 8] {
            let on_first = (0..64).filter(|n| share_of(n * step, 2) == 0).count();
            assert_eq!(on_first, 32, "every {step}th user");
        }
    }
}
