//! The latency and the failures that a site adds to its pages. Driven by the server for each request.

use std::time::Duration;

/// The latency and the failures that a site adds to its responses. By default, none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Behaviour {
    /// The time that each response takes, plus or minus the jitter.
    pub latency: Duration,
    /// The most by which the time of a response differs from `latency`, up or down.
    pub jitter: Duration,
    /// The share of requests that get a 500, from 0 to 1.
    pub errors: f64,
}

impl Behaviour {
    /// Returns the delay of the next response, if there is any.
    pub(super) fn delay(&self) -> Option<Duration> {
        if self.latency.is_zero() && self.jitter.is_zero() {
            return None;
        }
        let offset = self.jitter.mul_f64(2.0 * rand::random::<f64>());
        Some((self.latency + offset).saturating_sub(self.jitter))
    }

    /// Returns whether the next response is a 500.
    pub(super) fn fails(&self) -> bool {
        self.errors > 0.0 && rand::random::<f64>() < self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_lie_around_the_latency() {
        let behaviour = Behaviour {
            latency: Duration::from_millis(10),
            jitter: Duration::from_millis(4),
            errors: 0.0,
        };
        for _ in 0..1_000 {
            let ms = behaviour
                .delay()
                .map_or(0.0, |delay| delay.as_secs_f64() * 1e3);
            assert!((6.0..=14.0).contains(&ms), "{ms}");
        }
        assert_eq!(Behaviour::default().delay(), None);
        assert!(!behaviour.fails());
    }
}
