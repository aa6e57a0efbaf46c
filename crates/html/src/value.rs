//! Sanitization of an input's value: the "value sanitization algorithm" of its type in the HTML standard
//! (<https://html.spec.whatwg.org/multipage/input.html#states-of-the-type-attribute>), as Chromium has it. Driven by
//! `controls` for preset values, and by the code that fills in a form.

use std::borrow::Cow;
use std::fmt;

use scraper::ElementRef;

use super::direction;

/// The sanitization of an input's values.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueRule {
    /// One line of text.
    Text,
    /// One line without white space around it.
    Url,
    /// An address without white space around it, its host in ASCII.
    Email,
    /// Several of them, with commas between.
    Emails,
    /// A number, else nothing.
    Number,
    /// A date such as `2020-02-29`, else nothing.
    Date,
    /// A month such as `2020-02`, else nothing.
    Month,
    /// A week such as `2020-W09`, else nothing.
    Week,
    /// A time such as `09:30`, else nothing.
    Time,
    /// A date with a time such as `2020-02-29T09:30`, else nothing.
    DateTime,
    /// A colour such as `#a0b1c2`, else black.
    Color,
    /// A number within limits.
    Range(ValueRange),
    /// The direction of the text in the field before it: `ltr` or `rtl`.
    Direction,
}

/// The numbers that a slider can have.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRange {
    least: f64,
    most: f64,
    /// The distance between these numbers, counted from `base`; `None` if any number is possible.
    step: Option<f64>,
    base: f64,
}

/// The rules that have no more than a name.
const NAMED: [(&str, ValueRule); 12] = [
    ("text", ValueRule::Text),
    ("url", ValueRule::Url),
    ("email", ValueRule::Email),
    ("emails", ValueRule::Emails),
    ("number", ValueRule::Number),
    ("date", ValueRule::Date),
    ("month", ValueRule::Month),
    ("week", ValueRule::Week),
    ("time", ValueRule::Time),
    ("datetime-local", ValueRule::DateTime),
    ("color", ValueRule::Color),
    ("direction", ValueRule::Direction),
];

impl fmt::Display for ValueRule {
    /// Writes the form that [`ValueRule::parse`] reads: the type of the input, and the limits of a range.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ValueRule::Range(range) = self {
            let step = range
                .step
                .map_or_else(|| "any".to_owned(), |step| step.to_string());
            return write!(
                f,
                "range {} {} {step} {}",
                range.least, range.most, range.base
            );
        }
        let named = NAMED.iter().find(|(_, rule)| rule == self);
        f.write_str(named.map_or("text", |(name, _)| name))
    }
}

impl ValueRule {
    /// Reads a rule from its text; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(limits) = text.strip_prefix("range ") {
            let limits: Vec<&str> = limits.split(' ').collect();
            let [least, most, step, base] = limits[..] else {
                return None;
            };
            return Some(ValueRule::Range(ValueRange {
                least: number(least)?,
                most: number(most)?,
                step: number(step),
                base: number(base)?,
            }));
        }
        let named = NAMED.iter().find(|(name, _)| *name == text);
        named.map(|(_, rule)| rule.clone())
    }

    /// Returns the rule of an `<input>` of a type in lower case; `None` if it takes values as they are.
    pub(super) fn of(input: ElementRef<'_>, kind: &str) -> Option<Self> {
        match kind {
            "hidden" | "file" | "checkbox" | "radio" | "submit" | "image" | "reset" | "button" => {
                None
            }
            "range" => Some(ValueRule::Range(ValueRange::of(input))),
            "email" if input.attr("multiple").is_some() => Some(ValueRule::Emails),
            // Not the names that are no types.
            "emails" | "direction" => Some(ValueRule::Text),
            kind => Some(ValueRule::parse(kind).unwrap_or(ValueRule::Text)),
        }
    }

    /// Returns the value that the input has once this one was set.
    pub fn sanitize<'v>(&self, value: &'v str) -> Cow<'v, str> {
        let only_if = |is_one: bool| Cow::Borrowed(if is_one { value } else { "" });
        match self {
            ValueRule::Text => one_line(value),
            ValueRule::Url => trimmed(one_line(value)),
            ValueRule::Email => with_ascii_host(trimmed(one_line(value))),
            ValueRule::Emails => {
                let line = one_line(value);
                let each = line.split(',');
                let each = each.map(|one| with_ascii_host(Cow::Borrowed(trim(one))));
                Cow::Owned(each.collect::<Vec<_>>().join(","))
            }
            ValueRule::Number => only_if(number(value).is_some()),
            ValueRule::Date => only_if(is_date(value)),
            ValueRule::Month => only_if(month(value).is_some()),
            ValueRule::Week => only_if(is_week(value)),
            ValueRule::Time => only_if(time(value).is_some()),
            ValueRule::DateTime => date_time(value).map_or(Cow::Borrowed(""), Cow::Owned),
            ValueRule::Color => Cow::Owned(color(value)),
            ValueRule::Range(range) => Cow::Owned(range.value(value)),
            ValueRule::Direction => Cow::Borrowed(direction::of_text(value)),
        }
    }
}

fn one_line(value: &str) -> Cow<'_, str> {
    if value.contains(['\r', '\n']) {
        return Cow::Owned(value.replace(['\r', '\n'], ""));
    }
    Cow::Borrowed(value)
}

fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_ascii_whitespace())
}

fn trimmed(value: Cow<'_, str>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(trim(value)),
        Cow::Owned(value) => Cow::Owned(trim(&value).to_owned()),
    }
}

/// Writes the host of an address as DNS has it, if it can be.
fn with_ascii_host(address: Cow<'_, str>) -> Cow<'_, str> {
    /// The limit of DNS: long names take time in the square of their length.
    const MAX_HOST: usize = 253;
    let Some((user, host)) = address.split_once('@') else {
        return address;
    };
    if host.is_ascii() || host.len() > MAX_HOST {
        return address;
    }
    match idna::domain_to_ascii_strict(host) {
        Ok(host) => Cow::Owned(format!("{user}@{host}")),
        Err(_) => address,
    }
}

/// Reads a "valid floating-point number" of the standard.
fn number(text: &str) -> Option<f64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (decimal, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((decimal, exponent)) => (decimal, Some(exponent)),
        None => (unsigned, None),
    };
    let is_decimal = match decimal.split_once('.') {
        Some((whole, part)) => (whole.is_empty() || digits(whole)) && digits(part),
        None => digits(decimal),
    };
    let is_exponent = |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    let is_one = is_decimal && exponent.is_none_or(is_exponent);
    let number: f64 = text.parse().ok().filter(|_| is_one)?;
    number.is_finite().then_some(number)
}

/// The last year that Chromium supports.
const LAST_YEAR: u32 = 275_760;

/// Reads a number of so many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_one = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

fn year(text: &str) -> Option<u32> {
    let year = digits(text, text.len().max(4))?;
    (1..=LAST_YEAR).contains(&year).then_some(year)
}

/// Reads a year and a month.
fn month(text: &str) -> Option<(u32, u32)> {
    let (year_text, month) = text.split_once('-')?;
    let (year, month) = (year(year_text)?, digits(month, 2)?);
    let is_one = (1..=12).contains(&month) && (year < LAST_YEAR || month <= 9);
    is_one.then_some((year, month))
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn is_date(text: &str) -> bool {
    let read = || {
        let (before, day) = text.rsplit_once('-')?;
        let ((year, month), day) = (month(before)?, digits(day, 2)?);
        let last = match month {
            2 => 28 + u32::from(is_leap(year)),
            4 | 6 | 9 | 11 => 30,
            _ if (year, month) == (LAST_YEAR, 9) => 13,
            _ => 31,
        };
        (1..=last).contains(&day).then_some(())
    };
    read().is_some() && (!text.starts_with("275760-09-") || text <= "275760-09-13")
}

fn is_week(text: &str) -> bool {
    let read = || {
        let (year_text, week) = text.split_once("-W")?;
        let (year, week) = (year(year_text)?, digits(week, 2)?);
        // The day of the week of the first of January, Monday is 0 (Gauss).
        let before = year - 1;
        let first = (before + before / 4 - before / 100 + before / 400) % 7;
        let is_long = first == 3 || first == 2 && is_leap(year);
        (1..=52 + u32::from(is_long)).contains(&week).then_some(())
    };
    read().is_some()
}

/// Reads hours, minutes, seconds and milliseconds.
fn time(text: &str) -> Option<[u32; 4]> {
    let mut parts = text.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let (second, milli) = match parts.next() {
        None => (0, 0),
        Some(seconds) => match seconds.split_once('.') {
            None => (digits(seconds, 2)?, 0),
            Some((second, part)) => {
                let scale = match part.len() {
                    1 => 100,
                    2 => 10,
                    3 => 1,
                    _ => return None,
                };
                (digits(second, 2)?, digits(part, part.len())? * scale)
            }
        },
    };
    let is_one = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    is_one.then_some([hour, minute, second, milli])
}

/// Writes a date with its time as short as can be.
fn date_time(text: &str) -> Option<String> {
    let (date, time_text) = text.split_once(['T', ' '])?;
    let [hour, minute, second, milli] = time(time_text).filter(|_| is_date(date))?;
    let mut written = format!("{date}T{hour:02}:{minute:02}");
    if (second, milli) != (0, 0) {
        written += &format!(":{second:02}");
    }
    if milli != 0 {
        written += format!(".{milli:03}").trim_end_matches('0');
    }
    Some(written)
}

fn color(text: &str) -> String {
    let text = trim(text);
    // The crate takes those without their '#', too.
    let is_bare = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let color = csscolorparser::parse(text).ok().filter(|_| !is_bare);
    let [red, green, blue, _] = color.map_or([0; 4], |color| color.to_rgba8());
    format!("#{red:02x}{green:02x}{blue:02x}")
}

impl ValueRange {
    fn of(input: ElementRef<'_>) -> Self {
        let of = |attribute| input.attr(attribute).and_then(number);
        let least = of("min").unwrap_or(0.0);
        let step = input.attr("step").unwrap_or_default();
        let step = match number(step).filter(|step| *step > 0.0) {
            Some(step) => Some(step),
            None => (!step.eq_ignore_ascii_case("any")).then_some(1.0),
        };
        Self {
            least,
            most: of("max").unwrap_or(100.0).max(least),
            step,
            base: of("min").or_else(|| of("value")).unwrap_or(0.0),
        }
    }

    /// Returns the nearest number that it can have; for a text that is not a number, the middle.
    fn value(&self, text: &str) -> String {
        let value = number(text).unwrap_or((self.least + self.most) / 2.0);
        let value = value.clamp(self.least, self.most);
        let Some(step) = self.step else {
            return value.to_string();
        };
        let rounded = self.base + ((value - self.base) / step).round() * step;
        let stepped = if rounded > self.most {
            rounded - step
        } else if rounded < self.least {
            rounded + step
        } else {
            rounded
        };
        if stepped < self.least || stepped > self.most {
            return value.to_string();
        }
        // Without the error of binary fractions: seven times 0.1 is 0.7000000000000001.
        let written = format!("{stepped:.10}");
        let written = written.trim_end_matches('0').trim_end_matches('.');
        if written == "-0" { "0" } else { written }.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::ValueRule;

    fn sanitized(rule: &str, value: &str) -> String {
        let rule = ValueRule::parse(rule).expect("a rule");
        assert_eq!(ValueRule::parse(&rule.to_string()), Some(rule.clone()));
        let once = rule.sanitize(value).into_owned();
        if rule != ValueRule::Direction {
            assert_eq!(rule.sanitize(&once), once, "a second time changes nothing");
        }
        once
    }

    #[test]
    fn values_are_those_that_the_type_of_the_input_can_have() {
        for (rule, value, expected) in [
            ("text", " a\r\nb ", " ab "),
            ("url", " a\r\n b\t", "a b"),
            (
                "emails",
                " x@y , z@bücher.example,",
                "x@y,z@xn--bcher-kva.example,",
            ),
            ("email", "a@@ü ü", "a@@ü ü"),
            ("number", "-.5e-3", "-.5e-3"),
            ("number", "1e400", ""),
            ("number", "nan", ""),
            ("date", "2000-02-29", "2000-02-29"),
            ("date", "1900-02-29", ""),
            ("date", "275760-09-13", "275760-09-13"),
            ("date", "275760-09-14", ""),
            ("date", "٢020-01-01", ""),
            ("week", "2020-W53", "2020-W53"),
            ("week", "2026-W53", "2026-W53"),
            ("week", "2025-W53", ""),
            ("time", "10:00:00.1234", ""),
            (
                "datetime-local",
                "2020-01-01 10:00:00.050",
                "2020-01-01T10:00:00.05",
            ),
            ("color", "bad", "#000000"),
            ("color", "#ABC", "#aabbcc"),
            ("color", "rebeccapurple", "#663399"),
            ("range 0 1 0.1 0", "0.72", "0.7"),
            ("range 0 1 any 0", "0.123", "0.123"),
            ("range -10 -5 1 -10", "x", "-7"),
            ("range 0 100 30 0", "95", "90"),
            ("direction", "1 \u{5d0}", "rtl"),
            ("direction", "1", "ltr"),
        ] {
            assert_eq!(sanitized(rule, value), expected, "{rule}: {value}");
        }
    }
}
