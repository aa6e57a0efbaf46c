//! Watches that the process takes no more memory than it may (`--memory`): a run that does ends with its report,
//! before the kernel kills the process without one.

use crate::error::{Error, Trouble};
use crate::machine;
use crate::units::show_size;
use std::time::Duration;

/// Time between two looks: the memory that users can fill meanwhile fits into what the usual ceiling leaves free.
pub(crate) const EVERY: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct MemoryWatch {
    /// Bytes that the process may take; `None` if that is not known, or once it took more.
    ceiling: Option<u64>,
}

impl MemoryWatch {
    /// Makes a watch with that ceiling or, without one, with what the machine can give.
    pub(crate) fn new(wanted: Option<u64>) -> MemoryWatch {
        MemoryWatch {
            ceiling: wanted.or_else(machine::usual_memory),
        }
    }

    /// Returns the trouble, once, when the process takes more than it may.
    pub(crate) fn look(&mut self) -> Option<Error> {
        let ceiling = self.ceiling?;
        let taken = machine::taken_memory().filter(|taken| *taken > ceiling)?;
        self.ceiling = None;
        let message = format!(
            "lgoose took {} of memory and may take {} ('--memory'): the run ended here",
            show_size(taken as f64),
            show_size(ceiling as f64)
        );
        let help = "keep less in 'user.data' and in variables of the plan, read bodies with 'discard = true' where \
                    the plan does not use them, run fewer users, or raise '--memory' if the machine has more";
        Some(Trouble::new(message).help(help).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_ceiling_is_told_once_and_what_is_below_is_not() {
        let mut watch = MemoryWatch::new(Some(1 << 20));
        let told = watch.look().map(|trouble| trouble.to_string());
        let told = told.expect("a test takes more than a mebibyte");
        assert!(told.contains("may take 1.00 MiB ('--memory')"), "{told}");
        assert!(watch.look().is_none());
        assert!(MemoryWatch::new(Some(1 << 50)).look().is_none());
        assert!(MemoryWatch::new(None).look().is_none());
    }
}
