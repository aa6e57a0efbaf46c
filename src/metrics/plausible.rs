//! Checks numbers while they are read from another process or from a file, which may be damaged: sums of what was
//! read must not overflow, and no allocation may depend on a number that nothing justifies. Named in the `serde`
//! attributes of the fields; knows none of the types.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::time::Duration;

/// Greatest count that is accepted: more than any run reaches, and so low that sums of millions of such counts do not
/// overflow.
pub(super) const MOST_COUNT: u64 = 1 << 40;

/// Reads a value that must be one that a run can have come to.
pub(super) fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
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

/// Reads a count.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    checked(deserializer, |count| *count <= MOST_COUNT)
}

/// Reads the change of a count, which may be negative.
pub(super) fn change<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    checked(deserializer, |change: &i64| {
        change.unsigned_abs() <= MOST_COUNT
    })
}

/// Reads a number of bytes: there may be more of them than [`MOST_COUNT`], but their sum must fit into 64 bits.
pub(super) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    checked(deserializer, |bytes| *bytes >> 10 <= MOST_COUNT)
}

/// Reads a time, or none where there need not be one.
pub(super) fn time<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
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
pub(super) struct Implausible;

impl std::fmt::Display for Implausible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no run can have measured this")
    }
}
