//! Interns names as dense numbers: (method, name) of requests, (scenario, name) of tasks, (kind, name) of checks
//! and metrics.
//!
//! Each recorder numbers the names that it meets, and the store numbers those of all. Bounded: a plan that puts an id
//! into every name must not fill the memory.

use foldhash::HashMap;
use lgoose_base::error::bounded_name;
pub(crate) use lgoose_base::tags::OTHER;
use lgoose_base::tags::Tags;
use std::sync::Arc;

/// The most distinct names kept; later ones count as [`OTHER`], whose group is empty except for checks and metrics.
pub(crate) const MAX_NAMES: usize = 2_000;

/// Name under which the durations of a scenario's iterations are counted among its tasks; no task has it.
pub(crate) const ITERATION: &str = "\u{0}iteration";

/// A name and its group: the method of a request, the scenario of a task, the kind of a metric.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupedName {
    pub(crate) group: Box<str>,
    pub(crate) name: Box<str>,
    /// Tags of a request; none of anything else.
    pub(crate) tags: Arc<Tags>,
}

impl GroupedName {
    /// Returns group, name and tags.
    pub(crate) fn key(&self) -> (String, String, Tags) {
        let tags = Tags::clone(&self.tags);
        (self.group.to_string(), self.name.to_string(), tags)
    }
}

/// Number of a name, and whether it had to be counted with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InternedName {
    pub(crate) id: u32,
    pub(crate) overflow: bool,
}

/// A two-part interner. A known name is found without allocating. There are few groups, so they are scanned; the
/// names within a group are hashed with a random seed, because a target can choose them.
#[derive(Debug, Default)]
pub(crate) struct NameInterner {
    groups: Vec<NameGroup>,
    labels: Vec<Arc<GroupedName>>,
}

/// Names of one group with their numbers.
#[derive(Debug)]
struct NameGroup {
    name: Box<str>,
    members: HashMap<Box<str>, u32>,
}

impl NameInterner {
    /// Returns the number of a name; numbers are given out in the order of first appearance.
    pub(crate) fn intern(&mut self, group: &str, name: &str) -> InternedName {
        self.intern_or(group, name, "")
    }

    /// Works like [`Names::intern`], but keeps one [`OTHER`] in each group, since the groups of measurements are
    /// kinds.
    pub(crate) fn intern_grouped(&mut self, group: &str, name: &str) -> InternedName {
        self.intern_or(group, name, group)
    }

    fn intern_or(&mut self, group: &str, name: &str, other: &str) -> InternedName {
        let (group, name) = (&*bounded_name(group), &*bounded_name(name));
        if let Some(id) = self.find(group, name) {
            return InternedName {
                id,
                overflow: false,
            };
        }
        if self.labels.len() < MAX_NAMES {
            let id = self.add(group, name);
            return InternedName {
                id,
                overflow: false,
            };
        }
        let id = self
            .find(other, OTHER)
            .unwrap_or_else(|| self.add(other, OTHER));
        InternedName { id, overflow: true }
    }

    /// Returns all names, indexed by number.
    pub(crate) fn labels(&self) -> &[Arc<GroupedName>] {
        &self.labels
    }

    fn find(&self, group: &str, name: &str) -> Option<u32> {
        let group = self.groups.iter().find(|one| &*one.name == group)?;
        group.members.get(name).copied()
    }

    fn add(&mut self, group: &str, name: &str) -> u32 {
        let id = self.labels.len() as u32;
        self.labels.push(Arc::new(GroupedName {
            group: group.into(),
            name: name.into(),
            tags: Arc::default(),
        }));
        let at = self.groups.iter().position(|one| &*one.name == group);
        let at = at.unwrap_or_else(|| {
            self.groups.push(NameGroup {
                name: group.into(),
                members: HashMap::default(),
            });
            self.groups.len() - 1
        });
        self.groups[at].members.insert(name.into(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_under_two_methods_is_two_names() {
        let mut names = NameInterner::default();
        assert_eq!(names.intern("GET", "/").id, 0);
        assert_eq!(names.intern("POST", "/").id, 1);
        assert_eq!(names.intern("GET", "/").id, 0);
    }

    #[test]
    fn long_names_that_differ_in_their_middle_are_two_names() {
        let mut names = NameInterner::default();
        let long = |middle: &str| format!("{}{middle}{}", "é".repeat(1_000), "z".repeat(1_000));
        assert_eq!(names.intern("GET", &long("a")).id, 0);
        assert_eq!(names.intern("GET", &long("b")).id, 1);
        assert_eq!(names.intern("GET", &long("a")).id, 0);
        for label in names.labels() {
            assert!(label.name.len() <= 500, "{}", label.name.len());
            assert!(label.name.starts_with('é') && label.name.ends_with('z'));
        }
    }

    #[test]
    fn names_beyond_the_limit_share_one() {
        let mut names = NameInterner::default();
        for n in 0..MAX_NAMES {
            assert!(!names.intern("GET", &format!("/{n}")).overflow);
        }
        let first = names.intern("GET", "/one more");
        let second = names.intern("POST", "/and another");
        assert!(first.overflow && first == second);
        assert_eq!(&*names.labels()[first.id as usize].name, OTHER);
        assert!(!names.intern("GET", "/7").overflow);
    }
}
