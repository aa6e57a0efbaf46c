//! The memory that the files of a plan may take together. It is counted while a file is read, before the memory is allocated:
//! a few megabytes of gzip, or a file that is nothing but a hole, stand for more than any machine has. Driven by the readers
//! of such files; knows nothing of their formats.

use crate::units::show_size;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit on the memory of files, and the memory that they take. Clones share both.
#[derive(Debug, Clone)]
pub struct DataMemory(Arc<DataAccount>);

#[derive(Debug)]
struct DataAccount {
    limit: u64,
    taken: AtomicU64,
}

/// The limit on the memory of files is reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes more than {}, and the files of a plan may take {} of memory together{}; '--data-memory' gives them more",
    show_size(*.needed as f64),
    show_size(*.limit as f64),
    of_others(*.others)
)]
pub struct DataMemoryFull {
    /// The memory that the file takes as far as it was read, in bytes.
    needed: u64,
    limit: u64,
    /// The memory of other files, in bytes.
    others: u64,
}

fn of_others(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(", of which others have {}", show_size(bytes as f64)),
    }
}

impl DataMemory {
    /// Makes a limit of so many bytes.
    pub fn new(limit: u64) -> DataMemory {
        DataMemory(Arc::new(DataAccount {
            limit,
            taken: AtomicU64::new(0),
        }))
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the bytes that files take now.
    pub fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Begins to count the memory of one file.
    pub fn charge(&self) -> DataCharge {
        DataCharge {
            memory: self.clone(),
            used: 0,
            counted: 0,
            refused: None,
        }
    }
}

impl Default for DataMemory {
    /// No limit.
    fn default() -> DataMemory {
        DataMemory::new(u64::MAX)
    }
}

/// The memory that counts for one file until this is dropped.
#[derive(Debug)]
pub struct DataCharge {
    memory: DataMemory,
    used: u64,
    /// The bytes that all readers see as taken: at least those that are used.
    counted: u64,
    refused: Option<DataMemoryFull>,
}

impl DataCharge {
    /// Counts memory before it is allocated.
    ///
    /// # Errors
    /// There is not enough.
    pub fn take(&mut self, bytes: usize) -> Result<(), DataMemoryFull> {
        /// Memory that is counted at once, since rows are small and many.
        const STEP: u64 = 64 << 10;
        let used = self.used.saturating_add(bytes as u64);
        if let Some(lacking) = used
            .checked_sub(self.counted)
            .filter(|lacking| *lacking > 0)
        {
            let is_counted = self.count(lacking.max(STEP)) || self.count(lacking);
            if !is_counted {
                let full = self.full_after(used);
                self.refused = Some(full.clone());
                return Err(full);
            }
        }
        self.used = used;
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> bool {
        let limit = self.memory.limit();
        let add = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= limit);
        let taken = &self.memory.0.taken;
        let counted = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        self.counted += if counted.is_ok() { bytes } else { 0 };
        counted.is_ok()
    }

    /// Counts that so many bytes are used from now on.
    ///
    /// # Errors
    /// There is not enough.
    pub fn set(&mut self, bytes: usize) -> Result<(), DataMemoryFull> {
        self.used = 0;
        self.take(bytes)?;
        self.memory
            .0
            .taken
            .fetch_sub(self.counted - self.used, Ordering::Relaxed);
        self.counted = self.used;
        Ok(())
    }

    /// Makes room in a list, which exists twice while it grows.
    ///
    /// # Errors
    /// There is not enough.
    pub fn reserve<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), DataMemoryFull> {
        let (old, needed) = (list.capacity(), list.len().saturating_add(more));
        if needed <= old {
            return Ok(());
        }
        let new = needed.max(old + old / 2).max(64);
        self.take(new.saturating_mul(size_of::<T>()))?;
        list.reserve_exact(new - list.len());
        self.used = self.used.saturating_sub((old * size_of::<T>()) as u64);
        Ok(())
    }

    /// Returns the error for a file that takes more than so many bytes.
    pub fn full_after(&self, needed: u64) -> DataMemoryFull {
        DataMemoryFull {
            needed,
            limit: self.memory.limit(),
            others: self.memory.taken().saturating_sub(self.counted),
        }
    }

    /// Returns the memory that it is part of.
    pub fn memory(&self) -> &DataMemory {
        &self.memory
    }

    /// Returns the reason why memory was refused, if it was.
    pub fn refusal(&self) -> Option<&DataMemoryFull> {
        self.refused.as_ref()
    }

    /// Returns the bytes that one more list may take.
    pub fn remaining(&self) -> u64 {
        let remaining = self.memory.limit().saturating_sub(self.memory.taken());
        remaining.saturating_add(self.counted - self.used)
    }

    /// Reads all of a file or a pipe, of about that length if it is known.
    ///
    /// # Errors
    /// Those of reading, and [`DataMemoryFull`].
    pub fn read_all(&mut self, mut input: impl io::Read, length: u64) -> io::Result<Vec<u8>> {
        const LEAST: usize = 16 << 10;
        let mut bytes = Vec::new();
        // One byte more shows the end without a larger list.
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut more = length.saturating_add(1);
        loop {
            self.reserve(&mut bytes, more).map_err(io::Error::other)?;
            let room = (bytes.capacity() - bytes.len()) as u64;
            if (input.by_ref().take(room).read_to_end(&mut bytes)? as u64) < room {
                return Ok(bytes);
            }
            more = LEAST;
        }
    }
}

impl Drop for DataCharge {
    fn drop(&mut self) {
        self.memory
            .0
            .taken
            .fetch_sub(self.counted, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_share_their_memory_and_give_it_back() {
        let memory = DataMemory::new(1 << 20);
        let mut one = memory.charge();
        assert_eq!(one.take(700 << 10), Ok(()));
        let mut other = memory.charge();
        let full = other.take(400 << 10).expect_err("there are 324 KiB left");
        assert_eq!(
            full.to_string(),
            "it takes more than 400 KiB, and the files of a plan may take 1.00 MiB of memory together, of which others \
             have 700 KiB; '--data-memory' gives them more"
        );
        assert_eq!(other.refusal(), Some(&full));
        assert_eq!(one.set(100 << 10), Ok(()));
        assert_eq!(memory.taken(), 100 << 10);
        assert_eq!(other.take(400 << 10), Ok(()));
        drop((one, other));
        assert_eq!(memory.taken(), 0);
    }

    #[test]
    fn what_has_no_end_is_read_until_the_memory_is_full() {
        let memory = DataMemory::new(1 << 20);
        let full = memory.charge().read_all(io::repeat(0), 0);
        let full = full.expect_err("it has no end").to_string();
        assert!(full.starts_with("it takes more than "), "{full}");
        assert!(memory.charge().read_all(io::empty(), 8 << 40).is_err());
        let mut charge = memory.charge();
        for length in [0, 1, 300 << 10, 1 << 20] {
            let whole = charge.read_all(io::repeat(7).take(300 << 10), length);
            match whole {
                Ok(whole) => assert_eq!(whole, vec![7; 300 << 10]),
                Err(_) => assert_eq!(length, 1 << 20),
            }
            charge.set(0).expect("it takes nothing");
        }
        assert_eq!(memory.taken(), 0);
    }
}
