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
    Size(Size),
    /// `B/s`, `KB/s`, `MiB/s` and the like
    SizePerSecond(Size),
}

/// A unit of bytes; `KB`, `MB` and `GB` are powers of 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are called as they are written")]
pub enum Size {
    B,
    KB,
    MB,
    GB,
    KiB,
    MiB,
    GiB,
}

impl Size {
    /// All units of bytes.
    pub const ALL: [Size; 7] = [
        Size::B,
        Size::KB,
        Size::MB,
        Size::GB,
        Size::KiB,
        Size::MiB,
        Size::GiB,
    ];

    /// Returns the unit as a threshold writes it, alone and per second.
    pub fn texts(self) -> (&'static str, &'static str) {
        match self {
            Size::B => ("B", "B/s"),
            Size::KB => ("KB", "KB/s"),
            Size::MB => ("MB", "MB/s"),
            Size::GB => ("GB", "GB/s"),
            Size::KiB => ("KiB", "KiB/s"),
            Size::MiB => ("MiB", "MiB/s"),
            Size::GiB => ("GiB", "GiB/s"),
        }
    }

    /// Returns how many bytes one of it is.
    pub fn bytes(self) -> f64 {
        match self {
            Size::B => 1.0,
            Size::KB => 1e3,
            Size::MB => 1e6,
            Size::GB => 1e9,
            Size::KiB => 1024.0,
            Size::MiB => 1024.0 * 1024.0,
            Size::GiB => 1024.0 * 1024.0 * 1024.0,
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
