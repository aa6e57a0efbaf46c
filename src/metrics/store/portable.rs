//! Merges what other processes measured.

use super::super::delta::Covered;
use super::super::portable::PortableDelta;
use super::Store;
use std::time::Duration;

impl Store {
    /// Adds what other processes measured, as [`Store::merge`] does.
    pub(crate) fn merge_portable(&mut self, delta: &PortableDelta) {
        for ((epoch, from), slice) in &delta.slices {
            if *epoch < self.time.epoch() {
                continue;
            }
            self.merge_slice_of_shards(slice, &slice.to_delta(*epoch, *from));
        }
        for ((covered, shard), stand) in &delta.stands {
            self.merge_stand_of(*shard as usize, *covered, stand);
        }
        for warning in &delta.warnings {
            self.warn(warning.clone());
        }
    }

    /// Adds what `test_start` or `test_stop` of another process measured.
    pub(crate) fn merge_event_portable(&mut self, delta: &PortableDelta) {
        if let Some(recording) = &mut self.recording {
            recording.add_portable_event(delta);
        }
        for ((epoch, from), slice) in &delta.slices {
            self.merge_event_slice(None, &slice.to_delta(*epoch, *from));
        }
        for warning in &delta.warnings {
            self.warn(warning.clone());
        }
    }

    /// Adds a whole run in the order of time, with a tick after each slice.
    pub(in super::super) fn replay(&mut self, whole: PortableDelta, ended: Duration) {
        let PortableDelta {
            mut stands,
            slices,
            warnings,
        } = whole;
        for (key, slice) in slices {
            let to = slice.to;
            let mut next = PortableDelta::default();
            next.slices.insert(key, slice);
            // The shards that had handed over by then.
            while let Some(entry) = stands
                .first_entry()
                .filter(|entry| entry.key().0 <= Covered::Until(to))
            {
                let (key, stand) = entry.remove_entry();
                next.stands.insert(key, stand);
            }
            self.merge_portable(&next);
            self.tick(Duration::from_nanos(to).min(ended));
        }
        self.merge_portable(&PortableDelta {
            stands,
            slices: Default::default(),
            warnings,
        });
    }
}
