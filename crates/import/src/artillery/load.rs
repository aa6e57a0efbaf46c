//! Phases and limits: the load of the plan, and its thresholds.

use super::draft::ArtilleryImport;
use super::values::{duration, number};
use crate::calls::LuaLiteral;
use crate::lua_text::comment;
use serde_json::{Map, Value};

/// Adds the phases of a test as stages of a rate.
pub(super) fn add_phases(import: &mut ArtilleryImport, phases: &Value) {
    let phases = phases.as_array().map_or(&[][..], Vec::as_slice);
    let mut stages: Vec<String> = Vec::new();
    let mut last: Option<f64> = None;
    let mut most: Option<u64> = None;
    for phase in phases {
        if let Some(pause) = duration(&phase["pause"]) {
            stages.push("0s:0/s".to_owned());
            stages.push(format!("{pause}s:0/s"));
            last = Some(0.0);
            continue;
        }
        let (Some(time), count) = (duration(&phase["duration"]), number(&phase["arrivalCount"]))
        else {
            let shown = comment(&phase.to_string());
            import.note_once(format!(
                "left out a phase whose duration is not known: {shown}"
            ));
            continue;
        };
        let rate = number(&phase["arrivalRate"]).or(count.map(|count| count / time.max(1.0)));
        let Some(rate) = rate else {
            let shown = comment(&phase.to_string());
            import.note_once(format!("left out a phase whose rate is not known: {shown}"));
            continue;
        };
        if last != Some(rate) {
            stages.push(format!("0s:{}/s", rounded(rate)));
        }
        let to = number(&phase["rampTo"]).unwrap_or(rate);
        stages.push(format!("{time}s:{}/s", rounded(to)));
        last = Some(to);
        if let Some(users) = number(&phase["maxVusers"]) {
            most = most.max(Some(users.max(1.0) as u64));
        }
    }
    let mut add = |name: &str, value: LuaLiteral| import.calls.option(name, value);
    if stages.is_empty() {
        // Artillery launches one user then.
        add("users", LuaLiteral::from(1));
    } else {
        let stages = stages.iter().map(|stage| LuaLiteral::text(stage));
        add("stages", LuaLiteral::List(stages.collect()));
    }
    // Each arrival is a new user that goes through one scenario once.
    add("iterations", LuaLiteral::from(1));
    if let Some(users) = most {
        add("max_users", LuaLiteral::from(users));
    }
}

fn rounded(rate: f64) -> f64 {
    (rate * 1000.0).round() / 1000.0
}

/// Adds the limits of `ensure` as thresholds.
pub(super) fn add_thresholds(import: &mut ArtilleryImport, ensure: &Value) {
    let Some(ensure) = ensure.as_object() else {
        return;
    };
    let mut all: Vec<LuaLiteral> = Vec::new();
    let mut limits: Vec<(String, Value)> = plain_limits(ensure);
    for item in ensure
        .get("thresholds")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        for (name, value) in item.as_object().into_iter().flatten() {
            limits.push((name.clone(), value.clone()));
        }
    }
    for (name, value) in limits {
        let figure = name.trim_start_matches("http.response_time.");
        let figure = match figure {
            "median" => "p50",
            "mean" => "avg",
            figure => figure,
        };
        let is_time = matches!(
            figure,
            "p50" | "p75" | "p90" | "p95" | "p99" | "min" | "max" | "avg"
        );
        match number(&value) {
            Some(limit) if is_time => {
                all.push(LuaLiteral::text(&format!("{figure} < {limit}ms")));
            }
            Some(limit) if name == "maxErrorRate" => {
                all.push(LuaLiteral::text(&format!("failures <= {limit}%")));
            }
            _ => import.note_once(format!(
                "left out the limit of '{}': write it into 'thresholds'",
                comment(&name)
            )),
        }
    }
    if ensure.get("conditions").is_some() {
        import.note_once(
            "left out the conditions of 'ensure': write them into 'thresholds'".to_owned(),
        );
    }
    if !all.is_empty() {
        import.calls.option("thresholds", LuaLiteral::List(all));
    }
}

fn plain_limits(ensure: &Map<String, Value>) -> Vec<(String, Value)> {
    let own = ensure
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "thresholds" | "conditions"));
    own.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
