//! Answers calls to the director from those who steer and watch the run.

use crate::control::{Answer, Call, Command, Done, Interrupt, Refusal};
use crate::engine::protocol::journal::Told;
use crate::engine::run::director::Director;
use crate::metrics::Cause;
use tokio::time::Instant;

impl Director {
    /// Answers a call.
    pub(super) fn take(&mut self, call: Call) {
        // Comes first: otherwise a command that resumes the run would be followed by a pause for the time that the
        // process stood still.
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
                // Fails if nobody waits for the answer any more.
                let _ignored = reply.send(self.report_now(detail));
            }
        }
    }

    /// Obeys a command, or returns why it cannot.
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
            // Where a plan can be reloaded, `Handle::ask` sends these to `Reloads` instead.
            Command::Reload => return Err(Refusal::NoReload),
            _ => return self.steer(command),
        }
        Ok(Done::Stopping)
    }
}
