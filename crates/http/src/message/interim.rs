//! Interim responses (RFC 9110, section 15.2): 100, 102 and 103 precede the final one, in a limited number.

use crate::failure::{ErrorClass, Failure};

/// The most interim responses before a final one: more than any server sends, few enough to do no harm.
const MAX_INTERIM: u32 = 100;

/// The interim responses of one request so far.
#[derive(Debug, Default)]
pub(crate) struct InterimResponses(u32);

impl InterimResponses {
    /// The number of interim responses so far.
    pub(crate) fn number(&self) -> u32 {
        self.0
    }

    /// Counts one more.
    ///
    /// # Errors
    /// A [`Failure`] of class `protocol` if there are too many.
    pub(crate) fn count(&mut self) -> Result<(), Failure> {
        self.0 += 1;
        if self.0 > MAX_INTERIM {
            Err(Failure::new(
                ErrorClass::Protocol,
                format!("more than {MAX_INTERIM} interim responses"),
            ))
        } else {
            Ok(())
        }
    }
}
