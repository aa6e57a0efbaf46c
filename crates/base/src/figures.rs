//! Figures for people, with units and few digits: rates, shares, times and numbers.

use crate::units::{
    show_count, show_duration, show_long, show_percent, show_short_duration, three_digits,
};
use std::time::Duration;

/// Formats a rate per second; as plain `0` if nothing happened, so that it does not look like a measured figure.
pub fn rate(per_second: f64) -> String {
    if per_second == 0.0 {
        "0".to_owned()
    } else {
        three_digits(per_second)
    }
}

/// Formats a count and its share of all: `0`, `3 (0.02%)`, `12 (100%)`.
pub fn with_share(count: u64, of: u64) -> String {
    match count {
        0 => "0".to_owned(),
        _ => format!("{} ({})", show_count(count), share(count, of)),
    }
}

/// Formats a share of all: `0%`, `0.02%`, `100%`.
pub fn share(count: u64, of: u64) -> String {
    let percent = 100.0 * count as f64 / of.max(1) as f64;
    match percent {
        _ if count == 0 => "0%".to_owned(),
        percent if percent < 0.01 => "<0.01%".to_owned(),
        // Less than all must not look like 100 %, however near it is.
        percent if percent > 99.9 && count < of => ">99.9%".to_owned(),
        percent => show_percent(percent),
    }
}

/// Formats milliseconds of a report with the unit that fits.
pub fn time(ms: f64) -> String {
    show_duration(duration_of_ms(ms))
}

/// Formats milliseconds where there is little room, with a decimal less.
pub fn short_time(ms: f64) -> String {
    show_short_duration(duration_of_ms(ms))
}

fn duration_of_ms(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()
}

/// Formats a moment of the run: `2.3 s`, `58.5 s`, `1m10s`.
pub fn moment(seconds: f64) -> String {
    match seconds {
        s if s < 59.95 => format!("{s:.1} s"),
        s => show_long(Duration::try_from_secs_f64(s).unwrap_or_default()),
    }
}

/// Divides an amount by the elapsed seconds; 0 if no time has passed.
pub fn per_second(amount: f64, elapsed_s: f64) -> f64 {
    if elapsed_s > 0.0 {
        amount / elapsed_s
    } else {
        0.0
    }
}

/// Formats a number without a unit: whole ones exactly, others with three significant digits, and very small or
/// very large ones as powers of ten.
pub fn number(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match value.abs() {
        v if v.fract() == 0.0 && v < 1e12 => format!("{sign}{}", show_count(v as u64)),
        v if (1.0..1e12).contains(&v) => format!("{sign}{}", three_digits(v)),
        v if (0.001..1.0).contains(&v) => {
            let leading_zeros = (-v.log10()).ceil() as usize;
            format!("{sign}{v:.*}", leading_zeros + 2)
        }
        v => format!("{sign}{v:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_none_or_all() {
        for (count, of, text) in [
            (0, 0, "0"),
            (3, 13_192, "3 (0.02%)"),
            (1, 1_000_000, "1 (<0.01%)"),
            (9_999_999, 10_000_000, "9,999,999 (>99.9%)"),
            (12, 12, "12 (100%)"),
        ] {
            assert_eq!(with_share(count, of), text);
        }
    }

    #[test]
    fn numbers_of_any_size_are_readable() {
        for (value, text) in [
            (0.0, "0"),
            (13_192.0, "13,192"),
            (-5_210.0, "-5,210"),
            (0.48, "0.480"),
            (-0.012_25, "-0.0123"),
            (4.256, "4.26"),
            (-1_234.5, "-1,235"),
            (0.000_123, "1.23e-4"),
            (6.02e23, "6.02e23"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
