//! Durations, rates and sizes as people write them: `30s`, `1h30m`, `10/s`, `64MiB`. Reads and formats them.

use std::time::Duration;

/// The grammar of a duration, for messages.
pub const DURATION_GRAMMAR: &str =
    "write a duration as '500ms', '300s', '20m' or '1h30m'; a bare number is seconds";
/// The grammar of a rate, for messages.
pub const RATE_GRAMMAR: &str =
    "write a rate as '10', '0.5', '10/s' or '600/m'; a bare number is per second";
/// The grammar of a size, for messages.
pub const SIZE_GRAMMAR: &str =
    "write a size as '1024', '64KiB', '64MiB' or '1GiB'; 'KB', 'MB', 'GB' are powers of 1,000";

/// The longest duration of any option: ten years. Sums of a few still fit every clock.
pub const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);
/// The highest rate of any option, per second; the lowest is one in [`LONGEST`].
pub(crate) const FASTEST: f64 = 1e9;
/// The largest size of any option, in bytes: 1 PiB.
pub(crate) const LARGEST: u64 = 1 << 50;

/// Converts a number of seconds to a duration.
///
/// # Errors
/// The end of a sentence that begins with the given duration: a negative number is no duration, and one of more than
/// ten years is not meant.
pub fn seconds(number: f64) -> Result<Duration, &'static str> {
    match Duration::try_from_secs_f64(number) {
        Ok(time) if time <= LONGEST => Ok(time),
        _ if number > 0.0 => Err("is longer than ten years"),
        _ => Err("is not a number of seconds"),
    }
}

/// Reads a duration: parts of a number and a unit (`ms`, `s`, `m`, `h`, `d`), largest unit first, or a bare
/// number of seconds. Fractions are allowed (`1.5h`).
///
/// # Errors
/// A sentence that quotes the text and shows the grammar.
pub fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("'{text}' is not a duration: {DURATION_GRAMMAR}");
    let limited = |number: f64| seconds(number).map_err(|reason| format!("'{text}' {reason}"));
    let whole = text.trim();
    if let Some(seconds) = decimal(whole) {
        return limited(seconds);
    }
    let mut rest = whole;
    let mut total = 0.0;
    let mut last_unit = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(bad)?;
        let number = decimal(&rest[..digits]).ok_or_else(bad)?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        if unit >= last_unit {
            return Err(bad());
        }
        last_unit = unit;
        total += number * unit;
        rest = &rest[letters..];
    }
    if whole.is_empty() {
        return Err(bad());
    }
    limited(total)
}

/// Reads the duration of a timeout.
///
/// # Errors
/// A sentence that names the problem.
pub fn timeout(text: &str) -> Result<Duration, String> {
    duration(text).and_then(above_zero)
}

/// Checks the duration of a timeout.
///
/// # Errors
/// A sentence that names the alternative.
pub fn above_zero(timeout: Duration) -> Result<Duration, String> {
    if timeout.is_zero() {
        return Err(
            "a timeout of 0 fails every request: write a long one, such as '1h', to wait as long as it takes"
                .to_owned(),
        );
    }
    Ok(timeout)
}

/// Reads a rate as events per second: `10`, `0.5`, `10/s`, `600/m`, `3600/h`.
///
/// # Errors
/// A sentence that quotes the text and shows the grammar; zero is no rate.
pub fn rate(text: &str) -> Result<f64, String> {
    let bad = || format!("'{text}' is not a rate: {RATE_GRAMMAR}");
    let (number, per) = match text.trim().split_once('/') {
        None => (text.trim(), 1.0),
        Some((number, "s")) => (number, 1.0),
        Some((number, "m")) => (number, 60.0),
        Some((number, "h")) => (number, 3600.0),
        Some(_) => return Err(bad()),
    };
    match decimal(number) {
        Some(number) if number > 0.0 => match number / per {
            rate if rate > FASTEST => Err(format!("'{text}' is more than a billion per second")),
            rate if rate * LONGEST.as_secs_f64() < 1.0 => {
                Err(format!("'{text}' is less than one in ten years"))
            }
            rate => Ok(rate),
        },
        _ => Err(bad()),
    }
}

/// Reads a factor: `2`, `0.1`, `0`.
///
/// # Errors
/// A sentence that quotes the text.
pub fn factor(text: &str) -> Result<f64, String> {
    let factor = decimal(text.trim()).ok_or_else(|| {
        format!("'{text}' is not a factor: write a number of at least 0, such as 0.1")
    })?;
    if factor > FASTEST {
        Err(format!("'{text}' is more than a billion"))
    } else {
        Ok(factor)
    }
}

/// Reads a size in bytes: `1024`, `64KiB`, `64MiB`, `1GiB`, `10MB`.
///
/// # Errors
/// A sentence that quotes the text and shows the grammar.
pub fn size(text: &str) -> Result<u64, String> {
    let bad = || format!("'{text}' is not a size: {SIZE_GRAMMAR}");
    let text_trimmed = text.trim();
    let digits = text_trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text_trimmed.len());
    let number = decimal(&text_trimmed[..digits]).ok_or_else(bad)?;
    let unit: f64 = match text_trimmed[digits..].trim() {
        "" | "B" => 1.0,
        "KiB" | "K" | "k" => 1024.0,
        "MiB" | "M" => 1024.0 * 1024.0,
        "GiB" | "G" => 1024.0 * 1024.0 * 1024.0,
        "KB" | "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return Err(bad()),
    };
    match number * unit {
        bytes if bytes > LARGEST as f64 => Err(format!("'{text}' is more than 1 PiB, 1024 TiB")),
        bytes => Ok(bytes as u64),
    }
}

/// Reads a share: `1%` or `0.01`, as a fraction from 0 to 1.
///
/// # Errors
/// A sentence that quotes the text and shows the grammar.
pub fn share(text: &str) -> Result<f64, String> {
    let bad = || format!("'{text}' is not a share: write '1%' or '0.01'");
    let value = match text.trim().strip_suffix('%') {
        Some(percent) => decimal(percent.trim()).map(|percent| percent / 100.0),
        None => decimal(text.trim()),
    };
    value
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(bad)
}

/// Reads a plain decimal number: digits and at most one point, no sign, no exponent.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && text.bytes().any(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Formats a count with its noun: `1 request`, `2,000 requests`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", show_count(count))
}

/// Formats a duration for a table, three significant digits and the unit that fits: `874 µs`, `12.4 ms`, `6.28 s`.
pub fn show_duration(duration: Duration) -> String {
    duration_in(duration, three_digits)
}

/// Formats a duration where there is little room, with a decimal less: `874 µs`, `12 ms`, `6.3 s`.
pub fn show_short_duration(duration: Duration) -> String {
    duration_in(duration, two_digits)
}

fn duration_in(duration: Duration, digits: fn(f64) -> String) -> String {
    let us = duration.as_nanos() as f64 / 1e3;
    // The borders are where the digits of the smaller unit would round up to 1,000.
    match us {
        0.0 => "0 µs".to_owned(),
        us if us < 999.5 => format!("{} µs", digits(us)),
        us if us < 999_500.0 => format!("{} ms", digits(us / 1e3)),
        us if us < 599.5e6 => format!("{} s", digits(us / 1e6)),
        us => show_long(Duration::from_micros(us as u64)),
    }
}

/// Formats a duration as the command line takes it, in whole seconds: `2m10s`, `1h30m`, `45s`.
pub fn show_long(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let text: String = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

/// Formats a size for a table, three significant digits: `512 B`, `12.4 KiB`, `1.20 GiB`.
pub fn show_size(bytes: f64) -> String {
    size_in(bytes, three_digits)
}

/// Formats a size where there is little room, with a decimal less: `512 B`, `12 KiB`, `1.2 GiB`.
pub fn show_short_size(bytes: f64) -> String {
    size_in(bytes, two_digits)
}

fn size_in(bytes: f64, digits: fn(f64) -> String) -> String {
    let mut value = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 999.5 {
            return format!(
                "{} {unit}",
                if unit == "B" {
                    format!("{value:.0}")
                } else {
                    digits(value)
                }
            );
        }
        value /= 1024.0;
    }
    format!("{} TiB", digits(value))
}

/// Formats a count with thousands separators: `13,192`.
pub fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a percentage with three digits: `33.3%`.
pub fn show_percent(percent: f64) -> String {
    format!("{}%", three_digits(percent))
}

/// Formats a number with three significant digits and thousands separators: `0.12`, `4.25`, `41.2`, `41,200`.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => show_count(value.round().max(0.0) as u64),
    }
}

/// Formats a number with two significant digits, or all of a larger one: `0.1`, `4.3`, `41`, `412`.
fn two_digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.95 => format!("{value:.1}"),
        _ => show_count(value.round().max(0.0) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_written() {
        for (text, ms) in [
            ("300s", 300_000),
            ("20m", 1_200_000),
            ("1h30m", 5_400_000),
            ("90", 90_000),
            ("0.5", 500),
            ("250ms", 250),
            ("1m0.5s", 60_500),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_grammar() {
        for text in [
            "abc", "", "-5s", "5x", "30m1h", "1e3", ".", "5s5s", "s", "1h30",
        ] {
            let message = duration(text).expect_err(text);
            assert!(message.contains("1h30m"), "{message}");
        }
    }

    #[test]
    fn what_nobody_means_is_refused_and_what_is_almost_as_much_is_not() {
        for (text, part) in [
            ("3651d", "longer than ten years"),
            ("315360001", "longer than ten years"),
            ("18446744073709551616", "longer than ten years"),
            (&"9".repeat(400), "longer than ten years"),
            (&format!("{}h", "9".repeat(400)), "longer than ten years"),
        ] {
            let refused = duration(text).expect_err(text);
            assert!(refused.contains(part), "{refused}");
        }
        assert_eq!(duration("3650d"), Ok(LONGEST));
        for text in ["1000000001", "100000000000/m", "0.0000000001"] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!(rate("1000000000"), Ok(FASTEST));
        for text in ["18446744073709551616", "2000000GiB", &"9".repeat(400)] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(size("1048576GiB"), Ok(LARGEST));
        assert!(factor("10000000000").is_err());
        assert!(seconds(f64::NAN).is_err() && seconds(-1.0).is_err());
    }

    #[test]
    fn rates_sizes_and_shares_are_read_as_written() {
        assert_eq!(rate("10/s"), Ok(10.0));
        assert_eq!(rate("600/m"), Ok(10.0));
        assert_eq!(rate("0.5"), Ok(0.5));
        assert!(rate("0").is_err() && rate("10/d").is_err());
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("10kB"), Ok(10_000));
        assert!(size("64 furlongs").is_err());
        assert_eq!(share("1%"), Ok(0.01));
        assert!(share("101%").is_err());
    }

    #[test]
    fn figures_are_shown_with_three_digits_and_a_fitting_unit() {
        assert_eq!(show_duration(Duration::from_micros(874)), "874 µs");
        assert_eq!(show_duration(Duration::from_micros(12_400)), "12.4 ms");
        assert_eq!(show_duration(Duration::from_millis(6_280)), "6.28 s");
        assert_eq!(show_duration(Duration::from_nanos(999_900)), "1.00 ms");
        assert_eq!(show_count(17_800_000), "17,800,000");
        assert_eq!(show_count(7), "7");
        assert_eq!(show_size(13_000.0), "12.7 KiB");
        assert_eq!(show_long(Duration::from_secs(5_400)), "1h30m");
    }
}
