//! Numbers and durations as a test has them.

use serde_json::Value;

/// Returns a number, also one that is a text.
pub(super) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// Returns a duration in seconds: a number, or a text such as `10min`.
pub(super) fn duration(value: &Value) -> Option<f64> {
    if let Some(seconds) = number(value) {
        return Some(seconds);
    }
    let text = value.as_str()?.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (count, unit) = text.split_at(digits);
    let count: f64 = count.parse().ok()?;
    let seconds = match unit.trim().to_ascii_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    };
    Some(count * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_have_units_or_are_seconds() {
        for (value, seconds) in [
            (json!(5), Some(5.0)),
            (json!("5"), Some(5.0)),
            (json!("10min"), Some(600.0)),
            (json!("500 ms"), Some(0.5)),
            (json!("1h"), Some(3600.0)),
            (json!("{{ x }}"), None),
            (json!(-1), None),
        ] {
            assert_eq!(duration(&value), seconds, "{value}");
        }
    }
}
