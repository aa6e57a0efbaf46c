//! Units of limits.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// A plain number.
    None,
    /// `us`, `µs`
    Microseconds,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `%`
    Percent,
    /// `/s`
    PerSecond,
    /// `B`, `KB`, `MiB` and the like
    Size(ByteUnit),
    /// `B/s`, `KB/s`, `MiB/s` and the like
    SizePerSecond(ByteUnit),
}

/// A unit of bytes; `KB`, `MB` and `GB` are powers of 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are called as they are written")]
pub enum ByteUnit {
    B,
    KB,
    MB,
    GB,
    KiB,
    MiB,
    GiB,
}

impl ByteUnit {
    /// All units of bytes.
    pub const ALL: [ByteUnit; 7] = [
        ByteUnit::B,
        ByteUnit::KB,
        ByteUnit::MB,
        ByteUnit::GB,
        ByteUnit::KiB,
        ByteUnit::MiB,
        ByteUnit::GiB,
    ];

    /// Returns the unit as a threshold writes it, alone and per second.
    pub fn texts(self) -> (&'static str, &'static str) {
        match self {
            ByteUnit::B => ("B", "B/s"),
            ByteUnit::KB => ("KB", "KB/s"),
            ByteUnit::MB => ("MB", "MB/s"),
            ByteUnit::GB => ("GB", "GB/s"),
            ByteUnit::KiB => ("KiB", "KiB/s"),
            ByteUnit::MiB => ("MiB", "MiB/s"),
            ByteUnit::GiB => ("GiB", "GiB/s"),
        }
    }

    /// Returns how many bytes one of it is.
    pub fn bytes(self) -> f64 {
        match self {
            ByteUnit::B => 1.0,
            ByteUnit::KB => 1e3,
            ByteUnit::MB => 1e6,
            ByteUnit::GB => 1e9,
            ByteUnit::KiB => 1024.0,
            ByteUnit::MiB => 1024.0 * 1024.0,
            ByteUnit::GiB => 1024.0 * 1024.0 * 1024.0,
        }
    }
}

impl Unit {
    /// Returns the unit as a threshold writes it; empty for a plain number.
    pub fn text(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Microseconds => "us",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Percent => "%",
            Unit::PerSecond => "/s",
            Unit::Size(size) => size.texts().0,
            Unit::SizePerSecond(size) => size.texts().1,
        }
    }

    /// Returns how many of the unit a millisecond is; `None` if it is no unit of time.
    pub fn per_millisecond(self) -> Option<f64> {
        match self {
            Unit::Microseconds => Some(1e3),
            Unit::Milliseconds => Some(1.0),
            Unit::Seconds => Some(1e-3),
            _ => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
