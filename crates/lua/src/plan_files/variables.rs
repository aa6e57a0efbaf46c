//! The variables that `env()` reads: those of the command line, then those of the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStringExt as _;
use std::sync::{Mutex, PoisonError};

/// The variables that are given to a plan, and which others it may read.
#[derive(Debug, Clone, Default)]
pub struct EnvVariables {
    /// The variables that `-e` and `--env-file` set.
    pub configured: BTreeMap<String, String>,
    /// Names of the variables of the environment that it may read; `None` for all. To the plan, the others are not
    /// set.
    pub allowed: Option<BTreeSet<String>>,
}

impl From<BTreeMap<String, String>> for EnvVariables {
    fn from(configured: BTreeMap<String, String>) -> EnvVariables {
        EnvVariables {
            configured,
            allowed: None,
        }
    }
}

/// The prefixes of lgoose's own variables of the environment, which plans cannot read.
const WITHHELD: [&str; 2] = ["LGOOSE_", "OTEL_"];

/// The variables of a plan.
#[derive(Debug)]
pub(crate) struct PlanVariables {
    configured: BTreeMap<String, String>,
    allowed: Option<BTreeSet<String>>,
    /// The variables of the environment that the plan has read.
    requested: Mutex<BTreeMap<String, String>>,
}

impl PlanVariables {
    pub(super) fn new(configured: EnvVariables) -> PlanVariables {
        PlanVariables {
            configured: configured.configured,
            allowed: configured.allowed,
            requested: Mutex::default(),
        }
    }

    /// Returns whether the environment has a variable of that name which is lgoose's own, such as `LGOOSE_NATS`: it may hold
    /// a secret of whoever runs the plan, and no plan reads it unless its name is allowed.
    pub(crate) fn is_withheld(&self, name: &str) -> bool {
        let is_own = WITHHELD.iter().any(|prefix| name.starts_with(prefix));
        is_own
            && self.allowed.is_none()
            && !self.configured.contains_key(name)
            && std::env::var_os(name).is_some()
    }

    /// Returns whether the environment has a variable of that name that is not among those which the plan may read.
    pub(crate) fn is_kept_from_plan(&self, name: &str) -> bool {
        self.is_hidden(name) && std::env::var_os(name).is_some()
    }

    fn is_hidden(&self, name: &str) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_some_and(|allowed| !allowed.contains(name))
    }

    /// Returns the bytes of a variable: of `-e` first, then of the environment.
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        if let Some(configured) = self.configured.get(name) {
            return Some(configured.clone().into_bytes());
        }
        if self.is_hidden(name) || self.is_withheld(name) {
            return None;
        }
        let value = std::env::var_os(name)?;
        if let Some(text) = value.to_str() {
            let mut requested = self
                .requested
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if !requested.contains_key(name) {
                requested.insert(name.to_owned(), text.to_owned());
            }
        }
        Some(value.into_vec())
    }

    /// Returns the variables that were set, and those of the environment that the plan has read so far.
    pub(super) fn to_map(&self) -> BTreeMap<String, String> {
        let requested = self
            .requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut variables = requested.clone();
        variables.extend(self.configured.clone());
        variables
    }
}
