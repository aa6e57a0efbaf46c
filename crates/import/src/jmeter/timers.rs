//! Timers: the pauses before a request.

use super::draft::JmeterImport;
use super::element::JmeterElement;
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
        let wait = match timer.kind() {
            "ConstantTimer" => constant_pause(import, *timer),
            "UniformRandomTimer" => uniform_pause(import, *timer),
            "GaussianRandomTimer" => gaussian_pause(import, *timer),
            _ => poisson_pause(import, *timer),
        };
        match wait {
            Some(wait) => steps.extend(wait.map(OutlineStep::Statement)),
            None => {
                let name = comment(timer.name());
                import.note_once(format!(
                    "left out the timer '{name}', whose time is no number: set it with 'user:wait'"
                ));
            }
        }
    }
    steps
}

/// Returns the times of a timer in seconds: its constant part, and its range.
fn read_times<'a>(
    import: &mut JmeterImport<'a>,
    timer: JmeterElement<'a>,
) -> Option<(String, String)> {
    let of = |text: &'a str| match text.trim() {
        "" => "0",
        text => text,
    };
    let offset = of(timer.property("ConstantTimer.delay"));
    let range = of(timer.property("RandomTimer.range"));
    Some((
        import.variables.seconds(offset, &mut import.calls)?,
        import.variables.seconds(range, &mut import.calls)?,
    ))
}

fn constant_pause<'a>(
    import: &mut JmeterImport<'a>,
    timer: JmeterElement<'a>,
) -> Option<Option<String>> {
    let (time, _) = read_times(import, timer)?;
    Some((time != "0").then(|| format!("user:wait({time})")))
}

fn uniform_pause<'a>(
    import: &mut JmeterImport<'a>,
    timer: JmeterElement<'a>,
) -> Option<Option<String>> {
    let (offset, range) = read_times(import, timer)?;
    let sum = match (offset.parse::<f64>(), range.parse::<f64>()) {
        (Ok(offset), Ok(range)) => (((offset + range) * 1000.0).round() / 1000.0).to_string(),
        _ => format!("{offset} + {range}"),
    };
    Some((sum != "0").then(|| format!("user:wait({offset}, {sum})")))
}

fn gaussian_pause<'a>(
    import: &mut JmeterImport<'a>,
    timer: JmeterElement<'a>,
) -> Option<Option<String>> {
    let (offset, deviation) = read_times(import, timer)?;
    let gaussian = import.calls.helper(
        "gaussian",
        "function(mean, deviation)\n  local radius = math.sqrt(-2 * math.log(1 - random.float()))\n  \
         return math.max(0, mean + deviation * radius * math.cos(2 * math.pi * random.float()))\nend",
    );
    Some(Some(format!(
        "user:wait({gaussian}({offset}, {deviation}))"
    )))
}

fn poisson_pause<'a>(
    import: &mut JmeterImport<'a>,
    timer: JmeterElement<'a>,
) -> Option<Option<String>> {
    let (offset, mean) = read_times(import, timer)?;
    let name = comment(timer.name());
    import.note_once(format!("the pauses of '{name}' follow Poisson's distribution in JMeter, and are all as long as its mean here"));
    let sum = match (offset.parse::<f64>(), mean.parse::<f64>()) {
        (Ok(offset), Ok(mean)) => (offset + mean).to_string(),
        _ => format!("{offset} + {mean}"),
    };
    Some(Some(format!("user:wait({sum})")))
}
