//! A protocol for tests, whose calls follow a script, in simulated time.

use super::{Call, CallFuture, CallValue, Meter};
use lgoose_base::phases::Phase;
use lgoose_http::{ErrorClass, Failure};
use std::time::Duration;

/// A call whose target is a list of words, done one after another: `send` and `receive` move a message of seven bytes,
/// `refuse` fails, and a number waits for so many milliseconds.
#[derive(Debug)]
pub struct ScriptedCall {
    script: String,
}

impl ScriptedCall {
    /// Makes a call that follows the script.
    pub fn new(script: String) -> ScriptedCall {
        ScriptedCall { script }
    }
}

impl Call for ScriptedCall {
    fn kind(&self) -> &str {
        "TEST"
    }

    fn target(&self) -> &str {
        &self.script
    }

    fn perform<'a>(&'a self, meter: &'a Meter) -> CallFuture<'a> {
        Box::pin(async move {
            for word in self.script.split(' ') {
                match word {
                    "send" => {
                        meter.sent(7, 1);
                        meter.end_phase(Phase::Send);
                    }
                    "receive" => {
                        meter.received(7, 1);
                        meter.end_phase(Phase::Receive);
                    }
                    "refuse" => return Err(Failure::new(ErrorClass::Refused, "the script")),
                    ms => {
                        let ms = ms.parse().expect("a number of milliseconds");
                        tokio::time::sleep(Duration::from_millis(ms)).await;
                    }
                }
            }
            Ok(CallValue::Nothing)
        })
    }
}
