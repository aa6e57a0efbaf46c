//! `os`, of which plans have `time`, `clock` and `date`. Reads the clock and the machine's time zone, nothing else.

use super::function::function;
use crate::sandbox::VmHost;
use crate::values::describe_mismatch;
use jiff::fmt::strtime::{BrokenDownTime, Config, PosixCustom};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned, civil};
use mlua::{IntoLua as _, Lua, Table, Value};

/// Creates `os`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let time = |_: &Lua, table: Option<Table>| match table {
        None => Ok(Timestamp::now().as_second()),
        Some(table) => time_of(&table, TimeZone::system()).map_err(mlua::Error::runtime),
    };
    library.raw_set("time", function(lua, time)?)?;
    let clock = |lua: &Lua, (): ()| Ok(VmHost::of(lua).start.elapsed().as_secs_f64());
    library.raw_set("clock", function(lua, clock)?)?;
    library.raw_set("date", function(lua, date)?)?;
    Ok(library)
}

/// Returns the seconds since 1970 of `{ year =, month =, day =, hour = 12, min = 0, sec = 0 }` in local time. Fields
/// beyond their range carry over, as in C: `day = 32` is the first of the next month.
fn time_of(table: &Table, zone: TimeZone) -> Result<i64, String> {
    let field = |name: &str, default: Option<i64>| {
        let value: Value = table.get(name).map_err(|error| error.to_string())?;
        match (&value, default) {
            (Value::Integer(n), _) => Ok(*n),
            (Value::Number(n), _) if n.fract() == 0.0 => Ok(*n as i64),
            (Value::Nil, Some(default)) => Ok(default),
            (Value::Nil, None) => Err(format!("os.time: field '{name}' is missing")),
            (other, _) => {
                let what = format!("os.time: field '{name}'");
                Err(describe_mismatch(&what, "a whole number", other))
            }
        }
    };
    let beyond = |_: jiff::Error| "os.time: this date is out of range".to_owned();
    let year = i16::try_from(field("year", None)?).map_err(|_| "os.time: no such year")?;
    let first = civil::Date::new(year, 1, 1).map_err(beyond)?;
    // One span each: all units of a span have one sign.
    let mut local = first.at(0, 0, 0, 0);
    for span in [
        Span::new().try_months(field("month", None)?.saturating_sub(1)),
        Span::new().try_days(field("day", None)?.saturating_sub(1)),
        Span::new().try_hours(field("hour", Some(12))?),
        Span::new().try_minutes(field("min", Some(0))?),
        Span::new().try_seconds(field("sec", Some(0))?),
    ] {
        local = span
            .and_then(|span| local.checked_add(span))
            .map_err(beyond)?;
    }
    let zoned = local.to_zoned(zone).map_err(beyond)?;
    Ok(zoned.timestamp().as_second())
}

/// Implements `os.date([format [, time]])`: the formats of `strftime`, `*t` for a table, a leading `!` for UTC.
fn date(lua: &Lua, (format, time): (Option<String>, Option<i64>)) -> mlua::Result<Value> {
    /// Each conversion may make some 30 bytes of two.
    const MAX_FORMAT: usize = 4096;
    let format = format.unwrap_or_else(|| "%c".to_owned());
    if format.len() > MAX_FORMAT {
        return Err(mlua::Error::runtime(format!(
            "os.date: the format has {} bytes, and may have {MAX_FORMAT}",
            format.len()
        )));
    }
    let (format, zone) = match format.strip_prefix('!') {
        Some(format) => (format, TimeZone::UTC),
        None => (format.as_str(), TimeZone::system()),
    };
    let moment = match time {
        None => Timestamp::now(),
        Some(seconds) => Timestamp::from_second(seconds)
            .map_err(|_| mlua::Error::runtime("os.date: this time is out of range"))?,
    };
    let moment = moment.to_zoned(zone);
    if format.starts_with("*t") {
        return fields(lua, &moment)?.into_lua(lua);
    }
    let config = Config::new().custom(PosixCustom::new());
    BrokenDownTime::from(&moment)
        .to_string_with_config(&config, format)
        .map_err(|error| mlua::Error::runtime(format!("os.date: '{format}': {error}")))?
        .into_lua(lua)
}

fn fields(lua: &Lua, moment: &Zoned) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (name, value) in [
        ("year", i64::from(moment.year())),
        ("month", i64::from(moment.month())),
        ("day", i64::from(moment.day())),
        ("hour", i64::from(moment.hour())),
        ("min", i64::from(moment.minute())),
        ("sec", i64::from(moment.second())),
        ("wday", i64::from(moment.weekday().to_sunday_one_offset())),
        ("yday", i64::from(moment.day_of_year())),
    ] {
        table.raw_set(name, value)?;
    }
    let summer = moment
        .time_zone()
        .to_offset_info(moment.timestamp())
        .dst()
        .is_dst();
    table.raw_set("isdst", summer)?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_date_carry_over() {
        let lua = Lua::new();
        for (day, expected) in [(1, 1_735_732_800), (32, 1_738_411_200), (0, 1_735_646_400)] {
            let table = lua
                .create_table_from([("year", 2025), ("month", 1), ("day", day)])
                .expect("a table");
            assert_eq!(time_of(&table, TimeZone::UTC), Ok(expected), "day {day}");
        }
        let table = lua.create_table_from([("year", 2025)]).expect("a table");
        let problem = "os.time: field 'month' is missing".to_owned();
        assert_eq!(time_of(&table, TimeZone::UTC), Err(problem));
    }
}
