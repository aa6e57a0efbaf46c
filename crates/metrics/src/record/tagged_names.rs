//! Interns requests by method, name and tags as dense numbers, one for each combination that a shard has met. Bounded:
//! where there are too many, the values of one key after the other are counted together, the most numerous first, so
//! that the other keys of a request stay as they are. Rows that are counted together are marked, so that no incomplete
//! figure is judged.

use super::names::{GroupedName, InternedName, NameInterner};
use lgoose_base::tags::{OTHER, SCENARIO, Tags};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The most values of a key that count apart; further ones count as [`OTHER`].
const MAX_VALUES: usize = 100;
/// The most keys; requests with further ones are marked by the key [`OTHER`].
const MAX_KEYS: usize = 50;
/// The most distinct sets of tags until the values of a key are counted together, and for each such key as many more.
const MAX_SETS: usize = 500;
/// The most keys whose values are counted together; beyond, all tags but the scenario are.
const MAX_CLOSED: usize = 3;
/// The most distinct combinations of a name with tags; further ones have no tags but their scenario.
const MAX_TAGGED: usize = 5_000;

/// Warning for too many combinations of tags.
pub(crate) const TOO_MANY_TAGS: &str = "too many tags: beyond 100 values of a tag, 50 tags and 500 combinations, requests are \
     counted under the value '(other)' of the tag that has the most values: keep ids out of tags";

/// Set of tags known to one shard's [`Recorder`](crate::Recorder); means nothing to another's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TagsId(u32);

/// Names of requests with their tags.
#[derive(Debug)]
pub(crate) struct TaggedNames {
    names: NameInterner,
    sets: Vec<Arc<Tags>>,
    ids: HashMap<Arc<Tags>, u32>,
    /// The values of each key that count apart.
    values: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// Keys whose further values are counted together.
    closed: BTreeSet<Box<str>>,
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
            values: BTreeMap::new(),
            closed: BTreeSet::new(),
            numbers: vec![Vec::new()],
            labels: Vec::new(),
        }
    }
}

impl TaggedNames {
    /// Returns the number of a set of tags, and whether some had to be counted with others.
    pub(crate) fn tags(&mut self, tags: &Tags) -> (TagsId, bool) {
        if let Some(id) = self.ids.get(tags) {
            return (TagsId(*id), false);
        }
        let bounded = loop {
            let bounded = self.bounded(tags);
            let has_room = self.sets.len() < MAX_SETS * (1 + self.closed.len());
            if has_room || self.ids.contains_key(&bounded) {
                break bounded;
            }
            if !self.close_widest(&bounded) {
                break scenario_alone(tags);
            }
        };
        let existing = self.ids.get(&bounded).copied();
        let overflow = bounded != *tags;
        let id = existing.map_or_else(|| self.add_set(bounded), TagsId);
        (id, overflow)
    }

    /// Returns the tags with the values under which they count. A scenario always counts apart: the plan lists them.
    fn bounded(&mut self, tags: &Tags) -> Tags {
        let mut bounded = Tags::default();
        let keys = self.values.len();
        for (key, value) in tags.pairs() {
            let is_closed = self.closed.contains(key);
            let (key, value) = match self.values.get_mut(key) {
                _ if key == SCENARIO => (key, value),
                Some(_) if is_closed => (key, OTHER),
                Some(known) if known.contains(value) => (key, value),
                Some(known) if known.len() < MAX_VALUES => {
                    known.insert(value.into());
                    (key, value)
                }
                Some(_) => (key, OTHER),
                None if keys < MAX_KEYS => {
                    let known = BTreeSet::from([value.into()]);
                    self.values.insert(key.into(), known);
                    (key, value)
                }
                None => (OTHER, OTHER),
            };
            bounded.put(key, value);
        }
        bounded
    }

    /// Counts the values of one more key together: that of these tags that has the most. Returns whether there was one.
    fn close_widest(&mut self, tags: &Tags) -> bool {
        let open = tags
            .pairs()
            .map(|(key, _)| key)
            .filter(|key| self.values.contains_key(*key) && !self.closed.contains(*key));
        let widest = open.max_by_key(|key| self.values[*key].len());
        match widest {
            Some(key) if self.closed.len() < MAX_CLOSED => self.closed.insert(key.into()),
            _ => false,
        }
    }

    fn add_set(&mut self, tags: Tags) -> TagsId {
        let id = self.sets.len() as u32;
        let tags = Arc::new(tags);
        self.sets.push(tags.clone());
        self.ids.insert(tags, id);
        self.numbers.push(Vec::new());
        TagsId(id)
    }

    /// Returns the set that stands for all of a scenario but one of no tags.
    fn others_of(&mut self, set: u32) -> u32 {
        let tags = &self.sets[set as usize];
        if tags.is_empty() {
            return set;
        }
        let others = scenario_alone(tags);
        let existing = self.ids.get(&others).copied();
        existing.unwrap_or_else(|| self.add_set(others).0)
    }

    /// Returns the number of a name with tags, and whether the name had to be counted with the others.
    pub(crate) fn intern(&mut self, method: &str, name: &str, TagsId(set): TagsId) -> InternedName {
        let InternedName { id: name, overflow } = self.names.intern(method, name);
        let existing = self.numbers[set as usize].get(name as usize);
        if let Some(Some(id)) = existing {
            return InternedName { id: *id, overflow };
        }
        let set = if self.labels.len() < MAX_TAGGED {
            set
        } else {
            self.others_of(set)
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
    pub(crate) fn labels(&self) -> &[Arc<GroupedName>] {
        &self.labels
    }
}

/// Returns the tag of the scenario, and the mark that others are left out.
fn scenario_alone(tags: &Tags) -> Tags {
    let mut scenario = tags.only(SCENARIO);
    scenario.put(OTHER, OTHER);
    scenario
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
    fn values_beyond_the_limit_are_counted_together_and_the_other_tags_stay() {
        let mut names = TaggedNames::default();
        let order = |number: usize| {
            let mut tags = tags("eu");
            tags.put("order", &number.to_string());
            tags
        };
        for number in 0..MAX_VALUES {
            assert!(!names.tags(&order(number)).1, "{number}");
        }
        let (id, overflow) = names.tags(&order(1_000));
        assert!(overflow);
        assert_eq!(names.tags(&order(1_001)), (id, true));
        let at = names.intern("GET", "/", id).id;
        let mut others = tags("eu");
        others.put("order", OTHER);
        assert_eq!(*names.labels()[at as usize].tags, others);
        // Known values count apart for ever.
        assert!(!names.tags(&order(7)).1);
    }

    #[test]
    fn combinations_of_tags_close_the_key_with_the_most_values() {
        let mut names = TaggedNames::default();
        let set = |region: usize, order: usize| {
            let mut tags = tags(&format!("r{region}"));
            tags.put("order", &order.to_string());
            tags
        };
        for number in 0..10_000 {
            let tags = set(number % 10, number % 83);
            let (id, _) = names.tags(&tags);
            let kept = &names.sets[id.0 as usize];
            assert_eq!(kept.get("region"), tags.get("region"), "{number}");
            assert_eq!(kept.get(SCENARIO), tags.get(SCENARIO));
        }
        assert!(names.sets.len() <= 2 * MAX_SETS, "{}", names.sets.len());
    }

    #[test]
    fn sets_of_any_keys_and_values_are_bounded() {
        let mut names = TaggedNames::default();
        for number in 0..20_000_usize {
            let mut tags = tags(&(number % 97).to_string());
            for key in 0..4 {
                let value = number / 7_usize.pow(key) % 89;
                tags.put(
                    &format!("k{}", (number + key as usize) % 70),
                    &value.to_string(),
                );
            }
            let (id, _) = names.tags(&tags);
            assert_eq!(names.sets[id.0 as usize].get(SCENARIO), Some("s"));
            names.intern("GET", &format!("/{}", number % 100), id);
        }
        let most = MAX_SETS * (1 + MAX_CLOSED) + 2;
        assert!(names.sets.len() <= most, "{}", names.sets.len());
        let most = MAX_TAGGED + 100;
        assert!(names.labels().len() <= most, "{}", names.labels().len());
    }

    #[test]
    fn combinations_beyond_the_limit_have_no_tags_but_their_scenario() {
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
        let last = &names.labels()[last as usize].tags;
        assert_eq!(**last, scenario_alone(&tags("1")));
    }
}
