//! Dates in headers, in all the forms that browsers read beside the three of RFC 9110, section 5.6.7: other zones or none,
//! names of months in full, ISO 8601.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use std::time::SystemTime;

/// The parts of a date read so far.
#[derive(Default)]
struct DateParts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<(i8, i8, i8)>,
    /// East of Greenwich, in minutes.
    offset: i32,
}

/// Reads a date; `None` if it is not one.
pub(crate) fn read_date(text: &str) -> Option<SystemTime> {
    let text = text.trim().trim_matches('"');
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.into());
    }
    let mut parts = DateParts::default();
    let pieces =
        text.split(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | '(' | ')' | ';'));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        parts.take(piece);
    }
    parts.moment()
}

impl DateParts {
    fn take(&mut self, piece: &str) {
        if piece.contains(':') && self.time.is_none() {
            self.time = read_time(piece);
        } else if let Some(offset) = read_zone(piece).filter(|_| self.time.is_some()) {
            self.offset = offset;
        } else {
            // 27-Nov-26
            for part in piece.split(['-', '/']) {
                self.take_part(part);
            }
        }
    }

    fn take_part(&mut self, part: &str) {
        if let Ok(number) = part.parse::<i16>() {
            if part.len() <= 2 && self.day.is_none() {
                self.day = i8::try_from(number).ok();
            } else if self.year.is_none() {
                self.year = Some(match (part.len(), number) {
                    (..=2, 70..) => 1900 + number,
                    (..=2, _) => 2000 + number,
                    _ => number,
                });
            }
        } else {
            self.month = self.month.or_else(|| read_month(part.as_bytes()));
        }
    }

    fn moment(&self) -> Option<SystemTime> {
        let (hour, minute, second) = self.time?;
        let civil = DateTime::new(self.year?, self.month?, self.day?, hour, minute, second, 0);
        let offset = Offset::from_seconds(self.offset * 60).ok()?;
        let zoned = civil.ok()?.to_zoned(TimeZone::fixed(offset)).ok()?;
        Some(zoned.timestamp().into())
    }
}

/// Reads the month that a text begins with, from 1; `None` if it does not begin with one.
pub(crate) fn read_month(text: &[u8]) -> Option<i8> {
    const MONTHS: [&[u8; 3]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    let start = text.first_chunk::<3>()?.to_ascii_lowercase();
    let place = MONTHS.iter().position(|month| start == **month)?;
    i8::try_from(place + 1).ok()
}

/// Reads `8:05` or `08:05:30`.
fn read_time(piece: &str) -> Option<(i8, i8, i8)> {
    let mut numbers = piece.split(':').map(|number| number.parse::<i8>().ok());
    let (hour, minute) = (numbers.next()??, numbers.next()??);
    let second = numbers.next().map_or(Some(0), |second| second)?;
    numbers.next().is_none().then_some((hour, minute, second))
}

/// Reads a zone: `+0100`, `GMT+01:00` or the name of one in America (RFC 5322, section 4.3), in minutes.
fn read_zone(piece: &str) -> Option<i32> {
    const NAMED: [(&str, i32); 12] = [
        ("GMT", 0),
        ("UTC", 0),
        ("UT", 0),
        ("Z", 0),
        ("EDT", -4),
        ("EST", -5),
        ("CDT", -5),
        ("CST", -6),
        ("MDT", -6),
        ("MST", -7),
        ("PDT", -7),
        ("PST", -8),
    ];
    let named = NAMED
        .iter()
        .find(|(name, _)| piece.eq_ignore_ascii_case(name));
    if let Some((_, hours)) = named {
        return Some(hours * 60);
    }
    let signed = ["GMT", "UTC"]
        .iter()
        .find_map(|name| piece.strip_prefix(name));
    let signed = signed.unwrap_or(piece);
    let (sign, digits) = match signed.as_bytes().first()? {
        b'+' => (1, &signed[1..]),
        b'-' => (-1, &signed[1..]),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let number: i32 = digits.parse().ok().filter(|_| digits.len() == 4)?;
    Some(sign * (number / 100 * 60 + number % 100))
}

#[cfg(test)]
mod tests {
    use super::read_date;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_date_is_read_in_the_forms_that_browsers_read() {
        let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "6 November 1994 8:49:37",
            "sun, 06 nov 1994 08:49:37 utc",
            "Sun, 06 Nov 1994 09:49:37 +0100",
            "Sun, 06 Nov 1994 03:49:37 EST",
            "Sun Nov 06 1994 09:49:37 GMT+0100 (Central European Standard Time)",
            "1994-11-06T08:49:37Z",
            "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
        ] {
            assert_eq!(read_date(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "yesterday",
            "Sun, 06 Nov 1994",
            "32 Nov 1994 08:49:37",
            "8:49 x",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
    }
}
