//! Timers: the pauses before a request.

use super::draft::JmeterImport;
use super::element::{JmeterElement, given};
use super::scope::JmeterScope;
use crate::calls::OutlineStep;
use crate::lua_text::comment;

/// Returns the pauses before a request: all timers that apply to it.
pub(super) fn pauses_of<'a>(
    import: &mut JmeterImport<'a>,
    scope: &JmeterScope<'a>,
) -> Vec<OutlineStep> {
    let mut steps = Vec::new();
    for timer in &scope.timers {
        let Some((offset, range)) = read_times(import, *timer) else {
            let name = comment(timer.name());
            import.note_once(format!(
                "left out the timer '{name}', whose time is no number: set it with 'user:wait'"
            ));
            continue;
        };
        let wait = match timer.kind() {
            "ConstantTimer" => constant_pause(&offset),
            "UniformRandomTimer" => uniform_pause(&offset, &range),
            "GaussianRandomTimer" => Some(gaussian_pause(import, &offset, &range)),
            _ => Some(poisson_pause(import, timer.name(), &offset, &range)),
        };
        steps.extend(wait.map(OutlineStep::Statement));
    }
    steps
}

/// Returns the times of a timer in seconds: its constant part, and its range.
fn read_times<'a>(
    import: &mut JmeterImport<'a>,
    timer: JmeterElement<'a>,
) -> Option<(String, String)> {
    let offset = given(timer.property("ConstantTimer.delay").trim(), "0");
    let range = given(timer.property("RandomTimer.range").trim(), "0");
    Some((
        import.variables.seconds(offset, &mut import.calls)?,
        import.variables.seconds(range, &mut import.calls)?,
    ))
}

fn constant_pause(time: &str) -> Option<String> {
    (time != "0").then(|| format!("user:wait({time})"))
}

fn uniform_pause(offset: &str, range: &str) -> Option<String> {
    let sum = match (offset.parse::<f64>(), range.parse::<f64>()) {
        (Ok(offset), Ok(range)) => (((offset + range) * 1000.0).round() / 1000.0).to_string(),
        _ => format!("{offset} + {range}"),
    };
    (sum != "0").then(|| format!("user:wait({offset}, {sum})"))
}

fn gaussian_pause<'a>(import: &mut JmeterImport<'a>, offset: &str, deviation: &str) -> String {
    let gaussian = import.calls.helper(
        "gaussian",
        "function(mean, deviation)\n  local radius = math.sqrt(-2 * math.log(1 - random.float()))\n  \
         return math.max(0, mean + deviation * radius * math.cos(2 * math.pi * random.float()))\nend",
    );
    format!("user:wait({gaussian}({offset}, {deviation}))")
}

fn poisson_pause<'a>(
    import: &mut JmeterImport<'a>,
    name: &str,
    offset: &str,
    mean: &str,
) -> String {
    let name = comment(name);
    import.note_once(format!("the pauses of '{name}' follow Poisson's distribution in JMeter, and are all as long as its mean here"));
    let sum = match (offset.parse::<f64>(), mean.parse::<f64>()) {
        (Ok(offset), Ok(mean)) => (offset + mean).to_string(),
        _ => format!("{offset} + {mean}"),
    };
    format!("user:wait({sum})")
}
