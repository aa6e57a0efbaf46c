//! Interns requests by method, name and tags as dense numbers, one for each combination that a shard has met.

use super::names::{GroupedName, InternedName, NameInterner};
use crate::tags::{SCENARIO, Tags};
use std::collections::HashMap;
use std::sync::Arc;

/// The most distinct sets of tags; requests with further ones are told apart by their scenario alone.
pub(super) const MAX_SETS: usize = 500;
/// The most distinct combinations of a name with tags; further ones have no tags.
const MAX_TAGGED: usize = 5_000;

/// Warning for too many combinations of tags.
pub(super) const TOO_MANY_TAGS: &str = "more than 500 combinations of tags; requests with further ones are told apart by their scenario alone: \
     keep ids out of tags";

/// Set of tags known to one shard's [`Recorder`](super::Recorder); means nothing to another's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TagsId(u32);

/// Names of requests with their tags.
#[derive(Debug)]
pub(super) struct TaggedNames {
    names: NameInterner,
    sets: Vec<Arc<Tags>>,
    ids: HashMap<Arc<Tags>, u32>,
    /// For each set, numbers by the number of a name.
    numbers: Vec<Vec<Option<u32>>>,
    labels: Vec<Arc<GroupedName>>,
}

impl Default for TaggedNames {
    fn default() -> Self {
        let none = Arc::<Tags>::default();
        TaggedNames {
            names: NameInterner::default(),
            sets: vec![none.clone()],
            ids: HashMap::from([(none, 0)]),
            numbers: vec![Vec::new()],
            labels: Vec::new(),
        }
    }
}

impl TaggedNames {
    /// Returns the number of a set of tags, and whether there are too many.
    pub(super) fn tags(&mut self, tags: &Tags) -> (TagsId, bool) {
        if let Some(id) = self.ids.get(tags) {
            return (TagsId(*id), false);
        }
        if self.sets.len() < MAX_SETS {
            return (self.add_set(tags.clone()), false);
        }
        let scenario = tags.only(SCENARIO);
        let existing = self.ids.get(&scenario).copied();
        let id = existing.map_or_else(|| self.add_set(scenario), TagsId);
        (id, true)
    }

    fn add_set(&mut self, tags: Tags) -> TagsId {
        let id = self.sets.len() as u32;
        let tags = Arc::new(tags);
        self.sets.push(tags.clone());
        self.ids.insert(tags, id);
        self.numbers.push(Vec::new());
        TagsId(id)
    }

    /// Returns the number of a name with tags, and whether the name had to be counted with the others.
    pub(super) fn intern(&mut self, method: &str, name: &str, TagsId(set): TagsId) -> InternedName {
        let InternedName { id: name, overflow } = self.names.intern(method, name);
        let existing = self.numbers[set as usize].get(name as usize);
        if let Some(Some(id)) = existing {
            return InternedName { id: *id, overflow };
        }
        let set = if self.labels.len() < MAX_TAGGED {
            set
        } else {
            0
        };
        let numbers = &mut self.numbers[set as usize];
        if numbers.len() <= name as usize {
            numbers.resize(name as usize + 1, None);
        }
        let number = &mut numbers[name as usize];
        let id = *number.get_or_insert(self.labels.len() as u32);
        if id as usize == self.labels.len() {
            let label = &self.names.labels()[name as usize];
            self.labels.push(Arc::new(GroupedName {
                group: label.group.clone(),
                name: label.name.clone(),
                tags: self.sets[set as usize].clone(),
            }));
        }
        InternedName { id, overflow }
    }

    /// Returns all names with their tags, indexed by number.
    pub(super) fn labels(&self) -> &[Arc<GroupedName>] {
        &self.labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(value: &str) -> Tags {
        let mut tags = Tags::default();
        tags.put("region", value);
        tags.put(SCENARIO, "s");
        tags
    }

    #[test]
    fn a_name_has_a_number_for_each_set_of_tags() {
        let mut names = TaggedNames::default();
        let (eu, _) = names.tags(&tags("eu"));
        let (us, _) = names.tags(&tags("us"));
        let ids = [eu, us, TagsId::default(), eu].map(|tags| names.intern("GET", "/", tags).id);
        assert_eq!(ids, [0, 1, 2, 0]);
        assert_eq!(*names.labels()[1].tags, tags("us"));
        assert!(names.labels()[2].tags.is_empty());
    }

    #[test]
    fn sets_beyond_the_limit_have_their_scenario_alone() {
        let mut names = TaggedNames::default();
        for n in 1..MAX_SETS {
            assert!(!names.tags(&tags(&n.to_string())).1);
        }
        let (id, overflow) = names.tags(&tags("one more"));
        assert!(overflow);
        assert_eq!(names.tags(&tags("another")), (id, true));
        let at = names.intern("GET", "/", id).id;
        assert_eq!(*names.labels()[at as usize].tags, tags("x").only(SCENARIO));
    }

    #[test]
    fn combinations_beyond_the_limit_have_no_tags() {
        let mut names = TaggedNames::default();
        let sets: Vec<TagsId> = (1..=10)
            .map(|n| names.tags(&tags(&n.to_string())).0)
            .collect();
        for name in 0..1_000 {
            for set in &sets {
                names.intern("GET", &format!("/{name}"), *set);
            }
        }
        assert!(
            names.labels().len() <= MAX_TAGGED + 1_000,
            "{}",
            names.labels().len()
        );
        let last = names.intern("GET", "/999", sets[0]).id;
        assert!(names.labels()[last as usize].tags.is_empty());
    }
}
