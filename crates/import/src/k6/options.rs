//! `options` of a script: its load, its limits and the settings for all requests.

use super::script::ScriptValue;
use crate::calls::LuaLiteral;
use crate::lua_text::comment;

/// The fields of the plan or of a scenario for an option.
pub(super) type OptionFields = Vec<(String, LuaLiteral)>;

pattern!(
    LIMIT,
    r"^\s*(rate|count|avg|med|min|max|p\((\d+(?:\.\d+)?)\))\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*$"
);
pattern!(TIME, r"(\d+(?:\.\d+)?)(ms|h|m|s|d)");

/// Options that change nothing here, or that are about k6 itself.
const IDLE: [&str; 14] = [
    "discardResponseBodies",
    "summaryTrendStats",
    "summaryTimeUnit",
    "noConnectionReuse",
    "ext",
    "cloud",
    "systemTags",
    "setupTimeout",
    "teardownTimeout",
    "noVUConnectionReuse",
    "gracefulStop",
    "gracefulRampDown",
    "batch",
    "batchPerHost",
];

/// Returns a time in seconds: a text such as `1m30s`, or a number of milliseconds.
pub(super) fn seconds(value: &ScriptValue) -> Option<f64> {
    if let ScriptValue::Number(ms) = value {
        return Some(ms / 1000.0);
    }
    let text = value.as_text()?.trim();
    let mut total = 0.0;
    let mut length = 0;
    for found in TIME.captures_iter(text) {
        let count: f64 = found[1].parse().ok()?;
        total += count
            * match &found[2] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => 86400.0,
            };
        length += found.get_match().len();
    }
    match text.parse::<f64>() {
        Ok(ms) => Some(ms / 1000.0),
        Err(_) => (length == text.len() && length > 0).then_some(total),
    }
}

/// Returns the load of an executor, or of the options themselves where these have no scenarios.
pub(super) fn load(spec: &ScriptValue, notes: &mut Vec<String>, what: &str) -> OptionFields {
    let of = |name: &str| spec.field(name);
    let count = |name: &str| of(name).and_then(ScriptValue::as_number);
    let time = |name: &str| of(name).and_then(seconds);
    let unit = time("timeUnit").filter(|unit| *unit > 0.0).unwrap_or(1.0);
    let executor = of("executor")
        .and_then(ScriptValue::as_text)
        .unwrap_or_default();
    let is_rate = executor.ends_with("arrival-rate");
    let mut fields: OptionFields = Vec::new();
    let mut add = |name: &str, value: LuaLiteral| fields.push((name.to_owned(), value));
    if let Some(stages) = of("stages") {
        let per = |target: f64| {
            if is_rate {
                format!("{}/s", (target / unit * 1000.0).round() / 1000.0)
            } else {
                target.to_string()
            }
        };
        let mut all = Vec::new();
        if let Some(start) = count("startVUs")
            .or(count("startRate"))
            .filter(|start| *start > 0.0)
        {
            all.push(LuaLiteral::text(&format!("0s:{}", per(start))));
        }
        for stage in stages.items() {
            let duration = stage.field("duration").and_then(seconds);
            let target = stage.field("target").and_then(ScriptValue::as_number);
            match (duration, target) {
                (Some(duration), Some(target)) => {
                    all.push(LuaLiteral::text(&format!("{duration}s:{}", per(target))));
                }
                _ => notes.push(format!(
                    "left out a stage of {what}, which is no literal: set 'stages' or '--stage'"
                )),
            }
        }
        if !all.is_empty() {
            add("stages", LuaLiteral::List(all));
        }
    } else if is_rate {
        match count("rate") {
            Some(rate) => add(
                "rate",
                LuaLiteral::text(&format!("{}/s", (rate / unit * 1000.0).round() / 1000.0)),
            ),
            None => notes.push(format!(
                "the rate of {what} is not known: set 'rate' or '--rate'"
            )),
        }
    } else {
        let users = count("vus").unwrap_or(1.0);
        add("users", LuaLiteral::number(users));
        add("startup_time", LuaLiteral::number(0.0));
    }
    if let Some(duration) = time("duration") {
        add("run_time", LuaLiteral::number(duration));
    }
    if is_rate && let Some(most) = count("maxVUs").or(count("preAllocatedVUs")) {
        add("max_users", LuaLiteral::number(most));
    }
    let is_alone = executor.is_empty() && of("stages").is_none() && of("duration").is_none();
    match (count("iterations"), executor) {
        (Some(iterations), "per-vu-iterations") => {
            add("iterations", LuaLiteral::number(iterations))
        }
        (Some(iterations), _) => add("shared_iterations", LuaLiteral::number(iterations)),
        (None, "per-vu-iterations" | "shared-iterations") => {
            add("iterations", LuaLiteral::number(1.0))
        }
        // k6 runs a script once then.
        (None, _) if is_alone => add("iterations", LuaLiteral::number(1.0)),
        _ => {}
    }
    if executor == "externally-controlled" {
        notes.push(format!(
            "the load of {what} is controlled from elsewhere: '--web' serves a page for that"
        ));
    }
    if let Some(start) = time("startTime").filter(|start| *start > 0.0) {
        add("start", LuaLiteral::number(start));
    }
    if let Some(most) = time("maxDuration") {
        notes.push(format!(
            "left out 'maxDuration' of {what} ({most} s): 'run_time' ends a load"
        ));
    }
    fields
}

/// Adds limits as thresholds.
pub(super) fn thresholds(spec: &ScriptValue, notes: &mut Vec<String>) -> Option<LuaLiteral> {
    let mut all = Vec::new();
    for (metric, limits) in spec.fields() {
        let single = std::slice::from_ref(limits);
        let limits = match limits {
            ScriptValue::List(items) => items.as_slice(),
            _ => single,
        };
        for limit in limits {
            let text = limit
                .as_text()
                .or_else(|| limit.field("threshold")?.as_text());
            if limit.field("abortOnFail").is_some() {
                notes.push(format!(
                    "the limit of '{}' does not abort the run: write {{ \"…\", abort = true }}",
                    comment(metric)
                ));
            }
            match text.and_then(|text| threshold(metric, text)) {
                Some(limit) => all.push(LuaLiteral::text(&limit)),
                None => notes.push(format!(
                    "left out the limit of '{}' ({}): write it into 'thresholds'",
                    comment(metric),
                    comment(text.unwrap_or("no literal"))
                )),
            }
        }
    }
    (!all.is_empty()).then_some(LuaLiteral::List(all))
}

fn threshold(metric: &str, text: &str) -> Option<String> {
    let found = LIMIT.captures(text)?;
    let (figure, operator, limit) = (&found[1], &found[3], found[4].parse::<f64>().ok()?);
    let percent = (limit * 100.0 * 1e6).round() / 1e6;
    Some(match (metric, figure) {
        ("http_req_failed", "rate") => format!("failures {operator} {percent}%"),
        ("checks", "rate") => format!("checks {operator} {percent}%"),
        ("http_reqs", "rate") => format!("rate {operator} {limit}/s"),
        ("http_reqs", "count") => format!("count {operator} {limit}"),
        ("http_req_duration" | "http_req_waiting", figure) => {
            let figure = match (figure, found.get(2)) {
                ("avg" | "min" | "max", _) => figure.to_owned(),
                ("med", _) => "p50".to_owned(),
                (_, Some(percentile))
                    if ["50", "75", "90", "95", "98", "99", "99.9", "99.99"]
                        .contains(&percentile.as_str()) =>
                {
                    format!("p{}", percentile.as_str())
                }
                _ => return None,
            };
            let phase = if metric == "http_req_waiting" {
                "first_byte "
            } else {
                ""
            };
            format!("{phase}{figure} {operator} {limit}ms")
        }
        _ => return None,
    })
}

/// Returns the settings for all requests, and notes those that are not carried over.
pub(super) fn others(options: &ScriptValue, notes: &mut Vec<String>) -> OptionFields {
    let mut fields: OptionFields = Vec::new();
    for (name, value) in options.fields() {
        let field = match (name.as_str(), value) {
            ("vus" | "duration" | "iterations" | "stages" | "scenarios" | "thresholds", _) => {
                continue;
            }
            (name, _) if IDLE.contains(&name) => continue,
            ("insecureSkipTLSVerify", ScriptValue::Bool(on)) => {
                Some(("insecure", LuaLiteral::from(*on)))
            }
            ("noCookiesReset", _) => continue,
            ("maxRedirects", value) => value
                .as_number()
                .map(|most| ("max_redirects", LuaLiteral::number(most))),
            ("rps", value) => value
                .as_number()
                .map(|rate| ("throttle_requests", LuaLiteral::number(rate))),
            ("userAgent", value) => value.as_text().map(|agent| {
                let headers = vec![("User-Agent".to_owned(), LuaLiteral::text(agent))];
                ("headers", LuaLiteral::Table(headers))
            }),
            ("tags", ScriptValue::Object(tags)) => {
                let tags: Option<Vec<(String, LuaLiteral)>> = tags
                    .iter()
                    .map(|(name, value)| Some((name.clone(), LuaLiteral::text(value.as_text()?))))
                    .collect();
                tags.map(|tags| ("tags", LuaLiteral::Table(tags)))
            }
            _ => None,
        };
        match field {
            Some((name, value)) => fields.push((name.to_owned(), value)),
            None => notes.push(format!("left out the option '{}'", comment(name))),
        }
    }
    fields
}
