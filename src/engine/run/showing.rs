//! What the director shows of a run to views: snapshots, the effect of a command at once, and reports on demand.

use crate::config::{Load, Part, RunConfig};
use crate::engine::protocol::directive::Phase;
use crate::engine::run::director::Director;
use crate::engine::run::settings::settings_of;
use crate::metrics::{Aim, Detail, LiveLoad, Progress, Report, RunPhase, Snapshot};
use std::sync::Arc;
use std::time::Duration;

impl Director {
    /// Publishes a snapshot, and returns how many connections are open.
    pub(super) fn show(&mut self) -> u64 {
        self.store.enter(self.phase(), self.aim(), self.played());
        self.store.set_loads(self.loads());
        self.live_report.figures_changed();
        let workers = self.workers.as_ref();
        if let Some(behind) = workers.and_then(|_| self.store.behind(self.now())) {
            let ms = behind.as_millis();
            tracing::debug!(target: "lgoose::gaggle", "the figures of some worker are {ms} ms behind");
        }
        let snapshot = self.store.tick(self.now());
        let connections = snapshot.connections;
        self.snapshots.send_replace(Some(snapshot));
        connections
    }

    /// Lets a tick pass without a snapshot for views.
    pub(super) fn let_pass(&mut self) {
        self.store.enter(self.phase(), self.aim(), self.played());
        self.store.advance(self.now());
    }

    fn phase(&self) -> RunPhase {
        let directive = self.directives.borrow();
        match directive.phase {
            Phase::Go if directive.clock.is_paused() => RunPhase::Paused,
            Phase::Go => RunPhase::Running,
            Phase::Stop | Phase::Abort => RunPhase::Stopping,
        }
    }

    /// Returns the length of the run so far, without its pauses.
    fn played(&self) -> Duration {
        self.directives.borrow().clock.elapsed(self.now())
    }

    /// Returns what the timetable wants now: users, rate and end.
    pub(crate) fn aim(&self) -> Aim {
        let directive = self.directives.borrow();
        let now = self.now();
        let elapsed = directive.clock.elapsed(now);
        let aim = directive.timetable.aim(elapsed);
        let paused = now.saturating_sub(elapsed);
        let end = self.milestones.end();
        let ends = end.map(|end| end.saturating_add(paused));
        let aim = Aim {
            ends,
            lasts: end,
            stage: self.milestones.stage(),
            iterations: iterations(&self.context.config, self.context.local.part)
                .filter(|_| directive.timetable.lanes.len() == 1),
            warmup_ends: self
                .reset
                .warmup_due()
                .and_then(|due| directive.clock.moment(due)),
            ..aim
        };
        if self.is_stopping() {
            Aim {
                users: 0,
                rate: aim.rate.map(|_| 0.0),
                ..aim
            }
        } else {
            Aim {
                users: self.context.local.part.share(aim.users),
                ..aim
            }
        }
    }

    /// Returns the loads that the timetable wants now, if there are several.
    fn loads(&self) -> Arc<[LiveLoad]> {
        let directive = self.directives.borrow();
        let elapsed = directive.clock.elapsed(self.now());
        directive.timetable.loads(elapsed)
    }

    /// Publishes a command's effect at once, without newer figures.
    pub(super) fn show_phase(&self) {
        let (phase, wanted, played) = (self.phase(), self.aim(), self.played());
        let loads = self.loads();
        self.snapshots.send_if_modified(|latest| {
            let Some(snapshot) = latest else {
                return false;
            };
            let changed = snapshot.progress.phase != phase
                || snapshot.progress.wanted != wanted
                || snapshot.loads != loads;
            if changed {
                *snapshot = Arc::new(Snapshot {
                    progress: Progress {
                        phase,
                        wanted,
                        played,
                        ..snapshot.progress
                    },
                    loads,
                    ..Snapshot::clone(snapshot)
                });
            }
            changed
        });
    }

    /// Returns the current report; all who ask between two ticks get the same one.
    pub(super) fn report_now(&mut self, detail: Detail) -> Arc<Report> {
        let directive = self.directives.borrow();
        let plan_version = &directive.plan_version;
        let settings = || settings_of(&plan_version.config, &self.context.local, plan_version);
        self.live_report.get(&mut self.store, detail, settings)
    }
}

/// Returns how many iterations all users of this process are to run together; `None` if iterations are not limited,
/// and at a rate.
fn iterations(config: &RunConfig, part: Part) -> Option<u64> {
    let each = config
        .iterations
        .map(|each| each.saturating_mul(part.share(config.users)));
    let shared = config.shared_iterations.map(|all| part.share(all));
    let counted = each.into_iter().chain(shared).min()?;
    (!matches!(config.load, Load::Rate(..))).then_some(counted)
}
