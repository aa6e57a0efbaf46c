//! Share of a shard: the users and arrivals that are its own.

use lgoose_plan::config::{LoadPart, share_of};

/// Numbers of users and arrivals that belong to one shard of one process. If the process's part of the load has one
/// share for each shard, each shard has one of them; otherwise the shards divide the part among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardShare {
    part: LoadPart,
    /// Number of the shard among those that share its part, and how many there are.
    index: u64,
    shards: u64,
    /// Offset that is added to every number, so that the first users of many lanes do not all fall to one shard.
    ahead: u64,
}

impl ShardShare {
    pub(crate) fn new(part: LoadPart, index: usize, shards: usize) -> ShardShare {
        let (index, shards) = (index as u64, shards as u64);
        match part.share_of_thread(index, shards) {
            Some((share, of)) => ShardShare {
                part: LoadPart::of_shares(share..share + 1, of),
                index: 0,
                shards: 1,
                ahead: 0,
            },
            None => ShardShare {
                part,
                index,
                shards,
                ahead: 0,
            },
        }
    }

    /// Returns the same share in lane number `lane`.
    pub(crate) fn of_lane(self, lane: usize) -> ShardShare {
        ShardShare {
            ahead: lane as u64,
            ..self
        }
    }

    /// Returns whether user or arrival `number`, counted from 0 in its lane, belongs to the shard.
    pub(crate) fn has(&self, number: u64) -> bool {
        let number = number + self.ahead;
        let within = number / self.part.of();
        self.part.has(number) && share_of(within, self.shards) == self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_several_threads_have_the_shares_of_one_process_with_all_of_them() {
        let whole = |index| ShardShare::new(LoadPart::WHOLE, index, 6);
        let workers = [0..1, 1..4, 4..6];
        for number in 0..1_000 {
            for worker in &workers {
                let part = LoadPart::of_shares(worker.clone(), 6);
                let threads = (worker.end - worker.start) as usize;
                for thread in 0..threads {
                    let share = ShardShare::new(part, thread, threads);
                    let alone = whole(worker.start as usize + thread);
                    assert_eq!(share.has(number), alone.has(number), "{number}");
                }
            }
        }
    }

    #[test]
    fn every_number_belongs_to_one_shard_of_one_part() {
        for (of, shards) in [(1, 1), (1, 4), (4, 1), (2, 2), (3, 5)] {
            let mut counts = vec![0; of as usize * shards];
            for number in 0..1_000 {
                let mut owners = 0;
                for part in 1..=of {
                    for index in 0..shards {
                        let share =
                            ShardShare::new(LoadPart::of_shares(part - 1..part, of), index, shards);
                        if share.has(number) {
                            owners += 1;
                            counts[(part as usize - 1) * shards + index] += 1;
                        }
                    }
                }
                assert_eq!(owners, 1, "{number} among {of} parts of {shards}");
            }
            let even = 1_000 / counts.len();
            let spread = counts
                .iter()
                .all(|count: &usize| count.abs_diff(even) <= of as usize * shards);
            assert!(spread, "{counts:?}");
        }
    }
}
