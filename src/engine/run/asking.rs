//! Carries out what the plan asks of its run while users are at work, and notices when all of them are.

use crate::engine::protocol::asked::Asked;
use crate::engine::run::director::Director;
use crate::metrics::Cause;

impl Director {
    /// Does what the plan asks for.
    pub(crate) fn heed_plan(&mut self, asked: Asked) {
        match asked {
            Asked::Stop(why) => self.stop(Cause::StoppedByPlan, Some(why)),
            Asked::Fail(why) => self.lifecycle.note_failed(why),
        }
    }

    /// Lets users that wait for all others go on, once all have been started.
    pub(crate) fn open_if_all_started(&mut self) {
        if self.roster.have_all_started() && !self.directives.borrow().all_started {
            self.tell(|directive| directive.all_started = true);
        }
    }
}
