//! A protocol for tests, whose calls do what a script says, in simulated time.

use super::{Call, CallFuture, CallValue, Channels, Meter};
use crate::http::{ErrorClass, Failure};
use crate::phases::Phase;
use std::time::Duration;

/// A call whose target is a list of words, done one after another: `send` and `receive` move a message of seven bytes,
/// `open` opens a channel and gives its number, `use` needs that channel, `refuse` fails, and a number waits for so many
/// milliseconds.
#[derive(Debug)]
pub(crate) struct ScriptedCall {
    script: String,
}

impl ScriptedCall {
    pub(crate) fn new(script: String) -> ScriptedCall {
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

    fn perform<'a>(&'a self, channels: &'a Channels, meter: &'a Meter) -> CallFuture<'a> {
        Box::pin(async move {
            let mut value = CallValue::Nothing;
            for word in self.script.split(' ') {
                match word {
                    "send" => {
                        meter.sent(7, 1);
                        meter.end_phase(Phase::Send);
                    }
                    "receive" => {
                        meter.received(7, 1);
                        meter.end_phase(Phase::Receive);
                        value = CallValue::Bytes("message".into());
                    }
                    "open" => value = CallValue::Channel(channels.open("a channel".to_owned())?),
                    "use" => {
                        let CallValue::Channel(id) = value else {
                            panic!("nothing was opened");
                        };
                        channels.get::<String>(id)?;
                    }
                    "refuse" => return Err(Failure::new(ErrorClass::Refused, "the script")),
                    ms => {
                        let ms = ms.parse().expect("a number of milliseconds");
                        tokio::time::sleep(Duration::from_millis(ms)).await;
                    }
                }
            }
            Ok(value)
        })
    }
}
