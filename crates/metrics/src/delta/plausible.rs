//! Checks numbers while they are read from another process or from a file, which may be damaged: sums of
//! them must not overflow, and no allocation may depend on a number that nothing justifies. Named in the `serde`
//! attributes of the fields; knows none of the types.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// Greatest count that is accepted: more than any run reaches, and so low that sums of millions of such counts do not
/// overflow.
pub(crate) const MOST_COUNT: u64 = 1 << 40;

/// Reads a value that must be one that a run can have come to.
pub(crate) fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    is_plausible: impl FnOnce(&T) -> bool,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    if is_plausible(&value) {
        Ok(value)
    } else {
        Err(D::Error::custom(Implausible))
    }
}

/// Greatest number of bytes that is accepted: there may be more of them than [`MOST_COUNT`], but their sum must fit into
/// 64 bits, too.
const MOST_BYTES: u64 = MOST_COUNT << 10;

/// Greatest of the numbers of which only some are added up: times in nanoseconds, and iterations that were due, of which a
/// plan may want as many as it likes.
const MOST_OF_FEW: u64 = 1 << 60;

/// One number, or several that are read together.
pub(crate) trait Numbers {
    /// Returns whether no number is greater.
    fn are_within(&self, most: u64) -> bool;
}

impl Numbers for u64 {
    fn are_within(&self, most: u64) -> bool {
        *self <= most
    }
}

impl Numbers for Option<u64> {
    fn are_within(&self, most: u64) -> bool {
        self.iter().all(|number| *number <= most)
    }
}

impl Numbers for Vec<u64> {
    fn are_within(&self, most: u64) -> bool {
        self.iter().all(|number| *number <= most)
    }
}

impl<K> Numbers for BTreeMap<K, u64> {
    fn are_within(&self, most: u64) -> bool {
        self.values().all(|number| *number <= most)
    }
}

/// Reads counts.
pub(crate) fn count<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Numbers,
{
    checked(deserializer, |counts: &T| counts.are_within(MOST_COUNT))
}

/// Reads the change of a count, which may be negative.
pub(crate) fn change<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    checked(deserializer, |change: &i64| {
        change.unsigned_abs() <= MOST_COUNT
    })
}

/// Reads numbers of bytes.
pub(crate) fn bytes<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Numbers,
{
    checked(deserializer, |bytes: &T| bytes.are_within(MOST_BYTES))
}

/// Reads numbers of which only some are added up.
pub(crate) fn large<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Numbers,
{
    checked(deserializer, |numbers: &T| numbers.are_within(MOST_OF_FEW))
}

/// Reads a time, or none where there need not be one.
pub(crate) fn time<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Copy + Into<Option<Duration>>,
{
    checked(deserializer, |time: &T| {
        let time: Option<Duration> = (*time).into();
        time.is_none_or(|time| time.as_secs() <= MOST_COUNT)
    })
}

/// A number that no run can have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Implausible;

impl std::fmt::Display for Implausible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no run can have measured this")
    }
}
