//! Table of rows in which several shards count, each under numbers of its own.

use crate::record::{GroupedName, NameInterner};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows by name, to which each shard's numbers are translated.
#[derive(Debug)]
pub(super) struct RowTable<T> {
    pub(super) names: NameInterner,
    pub(super) rows: Vec<T>,
    /// Rows by each shard's number of their name.
    memo: HashMap<usize, Vec<Option<u32>>>,
}

impl<T: Default> RowTable<T> {
    pub(super) fn new() -> Self {
        RowTable {
            names: NameInterner::default(),
            rows: Vec::new(),
            memo: HashMap::new(),
        }
    }

    /// Returns the row of a name, and whether it had to be counted with the others. `id` is the number that the
    /// name has on that shard, if it is known for one.
    pub(super) fn row(
        &mut self,
        shard: Option<usize>,
        id: usize,
        label: &GroupedName,
    ) -> (usize, bool) {
        let Some(shard) = shard else {
            return self.row_named(label);
        };
        let memo = self.memo.entry(shard).or_default();
        if let Some(Some(at)) = memo.get(id) {
            return (*at as usize, false);
        }
        if memo.len() <= id {
            memo.resize(id + 1, None);
        }
        let (row, overflow) = self.row_named(label);
        let memo = self.memo.entry(shard).or_default();
        memo[id] = Some(row as u32);
        (row, overflow)
    }

    fn row_named(&mut self, label: &GroupedName) -> (usize, bool) {
        let interned = self.names.intern(&label.group, &label.name);
        self.rows.resize_with(self.names.labels().len(), T::default);
        (interned.id as usize, interned.overflow)
    }

    /// Returns the rows with their names, in the order of first appearance.
    pub(super) fn named(&self) -> impl Iterator<Item = (&Arc<GroupedName>, &T)> {
        self.names.labels().iter().zip(&self.rows)
    }

    pub(super) fn clear(&mut self) {
        self.rows.fill_with(T::default);
    }
}
