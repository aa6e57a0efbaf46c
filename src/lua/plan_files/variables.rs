//! The variables that a plan can ask for with `env()`: those of the command line, then those of the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStringExt as _;
use std::sync::{Mutex, PoisonError};

/// The variables that are given to a plan, and which others it may read.
#[derive(Debug, Clone, Default)]
pub struct GivenVariables {
    /// The variables that `-e` and `--env-file` set.
    pub given: BTreeMap<String, String>,
    /// Names of the variables of the environment that it may read; `None` for all. To the plan, the others are not
    /// set.
    pub allowed: Option<BTreeSet<String>>,
}

impl From<BTreeMap<String, String>> for GivenVariables {
    fn from(given: BTreeMap<String, String>) -> GivenVariables {
        GivenVariables {
            given,
            allowed: None,
        }
    }
}

/// The variables of a plan.
#[derive(Debug)]
pub(in crate::lua) struct Variables {
    given: BTreeMap<String, String>,
    allowed: Option<BTreeSet<String>>,
    /// The variables of the environment that the plan has asked for.
    asked: Mutex<BTreeMap<String, String>>,
}

impl Variables {
    pub(super) fn new(given: GivenVariables) -> Variables {
        Variables {
            given: given.given,
            allowed: given.allowed,
            asked: Mutex::default(),
        }
    }

    /// Returns the bytes of a variable: of `-e` first, then of the environment.
    pub(in crate::lua) fn get(&self, name: &str) -> Option<Vec<u8>> {
        if let Some(given) = self.given.get(name) {
            return Some(given.clone().into_bytes());
        }
        let hidden = |allowed: &BTreeSet<String>| !allowed.contains(name);
        if self.allowed.as_ref().is_some_and(hidden) {
            return None;
        }
        let value = std::env::var_os(name)?;
        if let Some(text) = value.to_str() {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if !asked.contains_key(name) {
                asked.insert(name.to_owned(), text.to_owned());
            }
        }
        Some(value.into_vec())
    }

    /// Returns the variables that were set, and those of the environment that the plan has asked for so far.
    pub(super) fn known(&self) -> BTreeMap<String, String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = asked.clone();
        known.extend(self.given.clone());
        known
    }
}
