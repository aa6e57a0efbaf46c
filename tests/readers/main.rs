//! The readers of bytes from outside (sites, files, reports), each with the bound of its work. No reader takes more time for
//! an input than in proportion to it, or it stops at its bound: an input of ten times the size takes at most three times
//! its share.
//!
//! Time is the processor time of the thread, and the least of several tries, so that a busy machine changes nothing; what is
//! quadratic takes a hundred times as long and not ten. Sizes are those that take some milliseconds, or the bound.

mod corpus;
mod files;
mod pages;
mod plans;
mod schemas;
mod wire;

use lgoose_base::machine;
use std::hint::black_box;
use std::time::Duration;

/// A reader with an input that is the worst known for it.
struct Reader {
    name: &'static str,
    /// Its bound, as docs/limits.md has it; "linear" without one.
    bound: &'static str,
    /// The size of the input, in what the input consists of; the reader's bound if it has one.
    size: usize,
    input: fn(usize) -> Vec<u8>,
    read: fn(&[u8]),
}

/// Ten times the input may take so many times as long.
const MOST: u32 = 30;

/// What is so short is not compared: the clock and the caches of the machine decide it.
const NOISE: Duration = Duration::from_millis(3);

fn time_of(reader: &Reader, input: &[u8]) -> Duration {
    let (before, _) = machine::thread_time();
    (reader.read)(black_box(input));
    machine::thread_time().0.saturating_sub(before)
}

/// Checks each reader with its input and one of ten times the size.
fn assert_bounded(readers: &[Reader]) {
    const TRIES: usize = 5;
    let mut beyond = Vec::new();
    for reader in readers {
        let (small, large) = (
            (reader.input)(reader.size),
            (reader.input)(10 * reader.size),
        );
        let (mut least, mut most) = (Duration::MAX, Duration::MAX);
        for _ in 0..TRIES {
            least = least.min(time_of(reader, &small));
            most = most.min(time_of(reader, &large));
            if most <= least.max(NOISE) * MOST {
                break;
            }
        }
        if std::env::var_os("SHOW").is_some() {
            eprintln!(
                "{:40} {:12} {least:>12?} {most:>12?}",
                reader.name, reader.bound
            );
        }
        if most > least.max(NOISE) * MOST {
            beyond.push(format!(
                "{} ({}): {least:?} for {}, {most:?} for ten times that",
                reader.name, reader.bound, reader.size
            ));
        }
    }
    assert!(beyond.is_empty(), "\n{}\n", beyond.join("\n"));
}

/// Returns a text of numbered pieces between a beginning and an end.
fn text(start: &str, count: usize, piece: impl Fn(usize) -> String, end: &str) -> Vec<u8> {
    let pieces: String = (0..count).map(piece).collect();
    [start, &pieces, end].concat().into_bytes()
}
