//! The correction for coordinated omission, which fills in the requests that late users could not make.

use super::Value;
use serde::{Deserialize, Serialize};

/// The cadence that a user's cycle is compared with to decide whether it was late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MitigationCadence {
    /// None: only measured figures are reported.
    Disabled,
    /// The mean of the user's cycles so far.
    Average,
    /// The shortest of the user's cycles so far.
    Minimum,
    /// The longest of the user's cycles so far.
    Maximum,
}

impl MitigationCadence {
    /// Reads one of the four words.
    ///
    /// # Errors
    /// Returns a sentence that names all four.
    pub fn parse(word: &str) -> Result<MitigationCadence, String> {
        Ok(match word {
            "disabled" => MitigationCadence::Disabled,
            "average" => MitigationCadence::Average,
            "minimum" => MitigationCadence::Minimum,
            "maximum" => MitigationCadence::Maximum,
            _ => {
                return Err(format!(
                    "'{word}' is not a cadence: write 'average', 'minimum', 'maximum' or 'disabled'"
                ));
            }
        })
    }

    pub(super) fn read(value: &Value) -> Result<MitigationCadence, String> {
        MitigationCadence::parse(&value.text()?)
    }
}
