//! Answers of the director to whoever steers and watches the run.

use crate::control::{Answer, Call, Command, Done, Interrupt, Refusal};
use crate::engine::protocol::journal::Told;
use crate::engine::run::director::Director;
use crate::metrics::Cause;
use tokio::time::Instant;

impl Director {
    /// Answers a call.
    pub(super) fn take(&mut self, call: Call) {
        // Before it: who lets a paused run go on must not have it paused once more for the same time.
        let lost = self.standstill.see(Instant::now());
        self.note_standstill(lost);
        match call {
            Call::Command(command, reply) => {
                let at = self.now();
                let answer = self.obey(command.clone());
                if answer.is_ok() {
                    self.journal.note(at, || Told::Command(command));
                }
                self.show_phase();
                reply.answer(answer);
            }
            Call::Tag(asked, reply) => {
                let _ignored = reply.send(asked.answer(&mut self.store));
            }
            Call::Report(detail, reply) => {
                // Whoever asked may not care any more.
                let _ignored = reply.send(self.report_now(detail));
            }
        }
    }

    /// Obeys a command, or says why not.
    pub(crate) fn obey(&mut self, command: Command) -> Answer {
        match command {
            Command::Stop if self.is_stopping() => return Err(Refusal::Stopping),
            Command::Stop | Command::Interrupt(Interrupt::Key) => {
                self.stop(Cause::StoppedByUser, None);
            }
            Command::Interrupt(Interrupt::Signal) => self.stop(Cause::Signal, None),
            Command::Abort => {
                self.abort();
                return Ok(Done::Aborting);
            }
            // Whoever can load a plan is asked elsewhere.
            Command::Reload => return Err(Refusal::NoReload),
            _ => return self.steer(command),
        }
        Ok(Done::Stopping)
    }
}
