//! Round numbers for axes: where a scale ends, how long a column lasts, and how to write both.

/// Returns where a scale for these values ends: at a round number, without regard to outliers. The scale includes a
/// limit that is not far above the values.
pub(super) fn top(values: impl Iterator<Item = f64>, limit: Option<f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let Some(most) = values.last().copied() else {
        return round_up(limit.unwrap_or(1.0) * 1.1);
    };
    // Up to a tenth of the columns may go beyond the scale.
    let usual = values[(values.len() - 1) * 9 / 10];
    let top = if most > 3.0 * usual && values.len() > 4 {
        1.5 * usual
    } else {
        most
    };
    let shown = limit.filter(|limit| *limit < 4.0 * top);
    round_up(shown.map_or(top, |limit| top.max(limit * 1.1)))
}

fn round_up(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
    let step = steps.iter().find(|step| **step * power >= value * 0.999);
    step.map_or(10.0 * power, |step| step * power)
}

/// Returns at least so many seconds, such that columns begin at round times.
pub(super) fn nice_seconds(seconds: u64) -> u64 {
    const STEPS: [u64; 15] = [
        1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600,
    ];
    let step = STEPS.iter().find(|step| **step >= seconds);
    step.copied()
        .unwrap_or_else(|| seconds.div_ceil(3_600) * 3_600)
}

/// Writes a number in little room: `0`, `1.5`, `300`, `40k`.
pub(super) fn short(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", plain(value / 1e6)),
        1e4.. => format!("{}k", plain(value / 1e3)),
        _ => plain(value),
    }
}

/// Writes milliseconds in little room: `50 ms`, `1.5 s`, `800 µs`.
pub(super) fn short_ms(ms: f64) -> String {
    match ms {
        0.0 => "0".to_owned(),
        60_000.0.. => format!("{}m", plain(ms / 60_000.0)),
        1_000.0.. => format!("{} s", plain(ms / 1e3)),
        1.0.. => format!("{} ms", plain(ms)),
        _ => format!("{} µs", plain(ms * 1e3)),
    }
}

fn plain(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        _ => {
            let text = format!("{value:.1}");
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_number_and_an_outlier_does_not_flatten_the_rest() {
        let top = |values: &[f64], limit| top(values.iter().copied(), limit);
        assert_eq!(top(&[1.0, 41.0, 273.0], None), 300.0);
        assert_eq!(
            top(
                &[
                    30.0, 31.0, 29.0, 30.0, 28.0, 30.0, 30.0, 30.0, 30.0, 30.0, 6_300.0
                ],
                None
            ),
            50.0
        );
        assert_eq!(top(&[30.0], Some(50.0)), 60.0, "the limit is in sight");
        assert_eq!(top(&[30.0], Some(5_000.0)), 30.0, "it is far above");
        assert_eq!(top(&[], None), 1.5);
        assert_eq!(top(&[0.0], Some(10.0)), 15.0);
    }

    #[test]
    fn numbers_at_axes_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (300.0, "300"),
            (15_000.0, "15k"),
            (2e6, "2M"),
        ] {
            assert_eq!(short(value), text);
        }
        for (ms, text) in [
            (0.8, "800 µs"),
            (50.0, "50 ms"),
            (1_500.0, "1.5 s"),
            (120_000.0, "2m"),
        ] {
            assert_eq!(short_ms(ms), text);
        }
        assert_eq!(
            (nice_seconds(4), nice_seconds(61), nice_seconds(9_000)),
            (5, 120, 10_800)
        );
    }
}
