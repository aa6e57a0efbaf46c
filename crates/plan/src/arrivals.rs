//! Start times of iterations in the open model: at a rate that may change in stages, evenly spaced or at random.
//!
//! A [`RateLine`] is a pure function of the time since its load began: how many arrivals are due until then. Evenly
//! spaced, arrival n, counted from 0, comes when the line reaches n. At random, it comes when the line reaches the
//! sum of n + 1 random distances of mean 1, which makes a Poisson process of that rate (Çinlar, 1975). A rate that is
//! changed during the run changes only the line from there on: past arrivals stay where they were.

use super::wait::{seconds, standard_exponential};
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The rate of arrivals per second over the time since the load began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateLine {
    pieces: Vec<RatePiece>,
}

/// A straight piece of the line, in seconds and arrivals per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct RatePiece {
    start: f64,
    length: f64,
    from: f64,
    to: f64,
    /// The number of arrivals before the piece.
    before: f64,
}

impl RateLine {
    /// Creates a line that goes straight to the rate of each stage within the stage's time. The first begins at 0. A
    /// stage without a length is a jump; the last rate stays.
    pub fn new(stages: &[(Duration, f64)]) -> Self {
        let mut line = RateLine { pieces: Vec::new() };
        for (time, to) in stages {
            line.push(time.as_secs_f64(), *to);
        }
        line
    }

    fn push(&mut self, length: f64, to: f64) {
        let (start, from, before) = self.end();
        self.pieces.push(RatePiece {
            start,
            length,
            from,
            to,
            before,
        });
    }

    /// Returns where the last piece ends, its rate there and the arrivals until then.
    fn end(&self) -> (f64, f64, f64) {
        self.pieces.last().map_or((0.0, 0.0, 0.0), |last| {
            (last.start + last.length, last.to, last.before + last.area())
        })
    }

    /// Returns the rate that the line aims at, at `elapsed`: that at the end of the current stage.
    pub fn goal_at(&self, elapsed: Duration) -> f64 {
        let at = elapsed.as_secs_f64();
        let mut pieces = self.pieces.iter();
        let now = pieces.find(|piece| at < piece.start + piece.length);
        now.or(self.pieces.last()).map_or(0.0, |piece| piece.to)
    }

    /// Returns the rate at `elapsed`.
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        // A first stage without a length is over right after the beginning.
        let at = elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let (_, rate, _) = self.until(at).end();
        rate
    }

    /// Returns this line until `elapsed`, then `rate`.
    pub fn steered(&self, elapsed: Duration, rate: f64) -> Self {
        let mut line = self.until(elapsed.as_secs_f64());
        line.push(0.0, rate);
        line
    }

    /// Returns this line with the next stage beginning at `elapsed`, from the rate at that moment, and how much
    /// earlier all that follows comes; `None` if there is no stage to come.
    pub fn skipped(&self, elapsed: Duration) -> Option<(Self, Duration)> {
        let at = elapsed.as_secs_f64();
        let end = |piece: &RatePiece| piece.start + piece.length;
        let now = self.pieces.iter().position(|piece| at < end(piece))?;
        let later = self
            .pieces
            .get(now + 1..)
            .filter(|later| !later.is_empty())?;
        let mut line = self.until(at.max(f64::MIN_POSITIVE));
        for piece in later {
            line.push(piece.length, piece.to);
        }
        Some((line, seconds(end(&self.pieces[now]) - at)))
    }

    /// Returns this line up to `at` seconds, where it ends.
    fn until(&self, at: f64) -> Self {
        let mut line = RateLine { pieces: Vec::new() };
        for piece in self.pieces.iter().filter(|piece| piece.start < at) {
            let cut = (at - piece.start).min(piece.length);
            let share = cut / piece.length.max(f64::MIN_POSITIVE);
            line.pieces.push(RatePiece {
                length: cut,
                to: piece.from + (piece.to - piece.from) * share.min(1.0),
                ..*piece
            });
        }
        if let Some(piece) = line.pieces.last_mut().filter(|piece| piece.length == 0.0) {
            // A jump has no length at which it could be cut.
            piece.to = self.rate_of_jump(piece.start);
        }
        let (end, level, _) = line.end();
        line.push((at - end).max(0.0), level);
        line
    }

    /// Returns the rate right after the jumps at `at`.
    fn rate_of_jump(&self, at: f64) -> f64 {
        let mut later = self.pieces.iter().rev();
        later
            .find(|piece| piece.start == at && piece.length == 0.0)
            .map_or(0.0, |piece| piece.to)
    }

    /// Returns when the line reaches `count` arrivals, counted from 0; `None` if it never does.
    fn time_of(&self, count: f64) -> Option<Duration> {
        let ended = |piece: &RatePiece| piece.before + piece.area() <= count;
        if let Some(piece) = self.pieces.get(self.pieces.partition_point(ended)) {
            return Some(seconds(piece.start + piece.offset_of(count - piece.before)));
        }
        let (end, rate, before) = self.end();
        (rate > 0.0).then(|| seconds(end + (count - before) / rate))
    }
}

impl RatePiece {
    /// Returns the number of arrivals within the piece.
    fn area(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.length
    }

    /// Returns the seconds into the piece at which `count` arrivals have come: the root of a quadratic, in the form
    /// that loses no digits where the slope is small.
    fn offset_of(&self, count: f64) -> f64 {
        let slope = (self.to - self.from) / self.length;
        let root = (self.from * self.from + 2.0 * slope * count)
            .max(0.0)
            .sqrt();
        match self.from + root {
            sum if sum > 0.0 => (2.0 * count / sum).min(self.length),
            _ => 0.0,
        }
    }
}

/// The arrivals of a run, one after the other. Every shard iterates over all of them and takes its own.
#[derive(Debug, Clone)]
pub struct Arrivals {
    count: f64,
    number: u64,
    random: Option<Xoshiro256PlusPlus>,
}

impl Arrivals {
    /// Creates evenly spaced arrivals.
    pub fn even() -> Self {
        Arrivals {
            count: 0.0,
            number: 0,
            random: None,
        }
    }

    /// Creates arrivals at random, the same for the same seed.
    pub fn poisson(seed: u64) -> Self {
        let mut arrivals = Arrivals {
            random: Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
            ..Arrivals::even()
        };
        arrivals.count = arrivals.distance();
        arrivals
    }

    /// Returns the number of the next arrival, from 0, and its time; `None` if the rate is 0 from now on.
    pub fn peek(&self, line: &RateLine) -> Option<(u64, Duration)> {
        line.time_of(self.count).map(|time| (self.number, time))
    }

    /// Advances to the following arrival.
    pub fn advance(&mut self) {
        self.count += self.distance();
        self.number += 1;
    }

    fn distance(&mut self) -> f64 {
        self.random.as_mut().map_or(1.0, standard_exponential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(rate: f64) -> RateLine {
        RateLine::new(&[(Duration::ZERO, rate)])
    }

    fn stages(stages: &[(u64, f64)]) -> RateLine {
        let stage = |(time, rate): &(u64, f64)| (Duration::from_secs(*time), *rate);
        RateLine::new(&stages.iter().map(stage).collect::<Vec<_>>())
    }

    /// Returns the arrivals before `until` seconds, in seconds.
    fn before(mut arrivals: Arrivals, line: &RateLine, until: f64) -> Vec<f64> {
        let next = || {
            let (_, time) = arrivals.peek(line)?;
            arrivals.advance();
            Some(time.as_secs_f64())
        };
        std::iter::from_fn(next)
            .take_while(|time| *time < until)
            .collect()
    }

    #[test]
    fn the_goal_is_where_the_stage_leads() {
        let line = stages(&[(10, 5.0), (10, 5.0), (5, 0.0)]);
        for (second, goal) in [(0, 5.0), (19, 5.0), (20, 0.0), (99, 0.0)] {
            let at = Duration::from_secs(second);
            assert_eq!(line.goal_at(at), goal, "at {second} s");
        }
        assert_eq!(level(4.0).goal_at(Duration::ZERO), 4.0);
        let steered = line.steered(Duration::from_secs(3), 9.0);
        assert_eq!(steered.goal_at(Duration::from_secs(3)), 9.0);
    }

    #[test]
    fn even_arrivals_come_at_their_number_over_the_rate() {
        let times = before(Arrivals::even(), &level(4.0), 1.0);
        assert_eq!(times, [0.0, 0.25, 0.5, 0.75]);
        assert_eq!(
            before(Arrivals::even(), &level(1_000.0), 30.0).len(),
            30_000
        );
        let mut late = Arrivals::even();
        (0..3_000_000).for_each(|_| late.advance());
        let due = Duration::from_secs(1_000_000);
        assert_eq!(late.peek(&level(3.0)), Some((3_000_000, due)));
    }

    #[test]
    fn stages_of_rates_are_joined_by_lines() {
        let line = stages(&[(10, 100.0), (10, 100.0), (20, 0.0)]);
        let times = before(Arrivals::even(), &line, f64::INFINITY);
        let within = |from: f64, to: f64| {
            let inside = times.iter().filter(|time| (from..to).contains(*time));
            inside.count()
        };
        for (from, to, count) in [
            (0.0, 10.0, 500),
            (0.0, 5.0, 125),
            (10.0, 20.0, 1_000),
            (20.0, 40.0, 1_000),
            (30.0, 40.0, 250),
        ] {
            assert_eq!(within(from, to), count, "from {from} s to {to} s");
        }
        assert_eq!(times.len(), 2_500, "a rate of 0 has no more arrivals");
        assert!(times.is_sorted());
    }

    #[test]
    fn a_rate_changed_on_the_way_leaves_what_was() {
        let line = stages(&[(0, 10.0)]);
        let faster = line.steered(Duration::from_secs(2), 100.0);
        let times = before(Arrivals::even(), &faster, 3.0);
        assert_eq!(times.len(), 20 + 100);
        assert_eq!(times[..20], before(Arrivals::even(), &line, 2.0));
        assert!((times[20] - 2.0).abs() < 1e-9 && (times[21] - 2.01).abs() < 1e-9);
        let ramp = stages(&[(10, 100.0)]).steered(Duration::from_secs(5), 7.0);
        let times = before(Arrivals::even(), &ramp, 15.0);
        assert_eq!(times.len(), 125 + 70);
        let stopped = faster.steered(Duration::from_secs(4), 0.0);
        assert_eq!(before(Arrivals::even(), &stopped, 99.0).len(), 220);
        let again = stopped.steered(Duration::from_secs(50), 2.0);
        assert_eq!(before(Arrivals::even(), &again, 60.0).len(), 240);
    }

    #[test]
    fn random_arrivals_have_the_rate_and_the_distances_of_a_poisson_process() {
        let times = before(Arrivals::poisson(7), &level(50.0), 1_000.0);
        let count = times.len() as f64;
        assert!((count / 50_000.0 - 1.0).abs() < 0.02, "{count}");
        let distances: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        let squares: f64 = distances.iter().map(|d| (d - mean) * (d - mean)).sum();
        let deviation = (squares / distances.len() as f64).sqrt();
        assert!(
            (deviation / mean - 1.0).abs() < 0.05,
            "exponential: {deviation} {mean}"
        );
        assert_eq!(times, before(Arrivals::poisson(7), &level(50.0), 1_000.0));
        assert_ne!(
            times[..9],
            before(Arrivals::poisson(8), &level(50.0), 1_000.0)[..9]
        );
    }
}
