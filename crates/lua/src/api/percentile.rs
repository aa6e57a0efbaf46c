//! `percentile`, the second argument of the function of `on("report")`: any percentile of a row's latencies.

use super::function::function;
use lgoose_metrics::percentile_ms;
use mlua::{Function, Lua, Table};

/// Creates the function.
pub(crate) fn percentile(lua: &Lua) -> mlua::Result<Function> {
    function(lua, find)
}

fn find(
    _: &Lua,
    (figures, percent, among): (Table, f64, Option<String>),
) -> mlua::Result<Option<f64>> {
    let problem = |text: &str| Err(mlua::Error::runtime(text));
    if !(0.0..=100.0).contains(&percent) {
        return problem("a percentile is a number from 0 to 100");
    }
    let Some(histogram) = figures.raw_get::<Option<String>>("histogram")? else {
        return problem(
            "percentile takes figures with a histogram: a row of report.requests, report.aggregated, or what is in one of \
             report.by_tag",
        );
    };
    let failed: Option<String> = figures.raw_get("failed_histogram")?;
    let failed = failed.unwrap_or_default();
    let others = match among.as_deref() {
        None => "",
        Some("ok") => &*failed,
        Some(_) => {
            return problem(
                "the third argument of percentile is \"ok\", or nothing for all requests",
            );
        }
    };
    let Some(ms) = percentile_ms(&histogram, others, percent) else {
        return Ok(None);
    };
    // The extremes are exact, the histogram is not.
    let of = if others.is_empty() {
        "latency_ms"
    } else {
        "latency_ok_ms"
    };
    let Some(latency) = figures.raw_get::<Option<Table>>(of)? else {
        return Ok(Some(ms));
    };
    let (min, max) = (
        latency.raw_get::<f64>("min")?,
        latency.raw_get::<f64>("max")?,
    );
    Ok(Some(match percent {
        0.0 => min,
        100.0 => max,
        _ => ms.max(min).min(max),
    }))
}
