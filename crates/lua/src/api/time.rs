//! `time`: the wall clock in seconds with fractions, and dates as ISO 8601 and HTTP write them.

use super::function::function;
use crate::values::{describe_mismatch, escape_invalid, shorten};
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mlua::{Lua, LuaString, Table, Value};

/// Creates `time`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set(
        "now",
        function(lua, |_, (): ()| Ok(seconds(Timestamp::now())))?,
    )?;
    library.raw_set(
        "ms",
        function(lua, |_, (): ()| Ok(Timestamp::now().as_millisecond()))?,
    )?;
    library.raw_set(
        "iso",
        function(lua, |_, at: Value| Ok(iso(moment("time.iso", &at)?)))?,
    )?;
    library.raw_set(
        "http",
        function(lua, |_, at: Value| {
            let printed = rfc2822::DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&moment("time.http", &at)?);
            printed.map_err(mlua::Error::runtime)
        })?,
    )?;
    library.raw_set("format", function(lua, format)?)?;
    library.raw_set("parse", function(lua, parse)?)?;
    Ok(library)
}

fn seconds(at: Timestamp) -> f64 {
    at.as_nanosecond() as f64 / 1e9
}

/// Returns the time as `2026-11-28T04:25:07.123Z`, with milliseconds if it has a fraction.
fn iso(at: Timestamp) -> String {
    let format = match at.subsec_nanosecond() {
        0 => "%Y-%m-%dT%H:%M:%SZ",
        _ => "%Y-%m-%dT%H:%M:%S.%3fZ",
    };
    at.strftime(format).to_string()
}

/// Returns the time that a plan passes as seconds since 1970, or now.
fn moment(function: &str, at: &Value) -> mlua::Result<Timestamp> {
    let beyond = || {
        mlua::Error::runtime(format!(
            "{function}: the time is beyond the years -9999 to 9999"
        ))
    };
    match at {
        Value::Nil => Ok(Timestamp::now()),
        Value::Integer(seconds) => Timestamp::from_second(*seconds).map_err(|_| beyond()),
        Value::Number(seconds) => {
            let since = SignedDuration::try_from_secs_f64(*seconds).map_err(|_| beyond())?;
            // Fractions of a double are rounded to the microsecond that it stands for.
            let micros =
                i64::try_from((since.as_nanos() + 500).div_euclid(1000)).map_err(|_| beyond())?;
            Timestamp::from_microsecond(micros).map_err(|_| beyond())
        }
        other => {
            let what = format!("{function}: the time");
            let message = describe_mismatch(&what, "a number of seconds since 1970", other);
            Err(mlua::Error::runtime(message))
        }
    }
}

/// `time.format(format, seconds)`, in UTC.
fn format(_: &Lua, (format, at): (LuaString, Value)) -> mlua::Result<String> {
    let at = moment("time.format", &at)?.to_zoned(TimeZone::UTC);
    let format = escape_invalid(&format);
    jiff::fmt::strtime::format(format.as_bytes(), &at).map_err(|error| {
        mlua::Error::runtime(format!("time.format: '{}': {error}", shorten(&format)))
    })
}

/// `time.parse(text)`: ISO 8601 (RFC 3339), or the date of an HTTP header.
fn parse(_: &Lua, text: LuaString) -> mlua::Result<f64> {
    let text = escape_invalid(&text);
    let text = text.trim();
    let zoned = || rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    // Without an offset, it is a time in UTC; a date alone is its midnight.
    let local = || {
        text.parse::<jiff::civil::DateTime>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()
    };
    let date = || {
        text.parse::<jiff::civil::Date>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()
    };
    let at = text.parse::<Timestamp>().ok();
    let at = at.or_else(zoned);
    let at = at.or_else(|| local().or_else(date).map(|zoned| zoned.timestamp()));
    at.map(seconds).ok_or_else(|| {
        mlua::Error::runtime(format!(
            "time.parse: '{}' is neither like 2026-11-28T04:25:07Z nor like Sat, 28 Nov 2026 04:25:07 GMT",
            shorten(text)
        ))
    })
}
