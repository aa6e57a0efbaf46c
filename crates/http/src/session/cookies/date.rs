//! The dates of cookies, which sites write in many forms.

use crate::message::read_month;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Reads a date whatever the order of its parts (RFC 6265, section 5.1.1). The zone is UTC, whatever the date says. As in
/// browsers, a part is a token of its own, a year may have one digit, and one before 1601 is in the past.
pub(super) fn parse_date(text: &[u8]) -> Option<Timestamp> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)) {
        if time.is_none()
            && let Some(found) = time_of_day(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = read_month(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 1..=4)
        {
            year = Some(found);
        }
    }
    let (hour, minute, second) = time?;
    let year = match year? {
        short @ 70..=99 => 1900 + short,
        short @ 0..=69 => 2000 + short,
        long => long,
    };
    let at = |part: i16| i8::try_from(part).ok();
    let (day, hour, minute, second) = (at(day?)?, at(hour)?, at(minute)?, at(second)?);
    let date = DateTime::new(year, month?, day, hour, minute, second, 0).ok()?;
    TimeZone::UTC.to_timestamp(date).ok()
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// Reads a number, if it has as many digits as `digits` says.
fn number(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i16> {
    let is_number = digits.contains(&token.len()) && token.iter().all(u8::is_ascii_digit);
    let text = is_number
        .then(|| std::str::from_utf8(token).ok())
        .flatten()?;
    text.parse().ok()
}

/// Reads `8:49:37`.
fn time_of_day(token: &[u8]) -> Option<(i16, i16, i16)> {
    let mut fields = token.split(|byte| *byte == b':');
    let mut field = || number(fields.next()?, 1..=2);
    let time = (field()?, field()?, field()?);
    fields.next().is_none().then_some(time)
}
