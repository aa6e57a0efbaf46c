//! Reloads the plan during a run: by a command or, with `--watch`, when one of its files has changed. A plan with a
//! mistake changes nothing.

use super::prepare::{Resolved, TestInput, hosts_of, no_fixed_numbers, resolve};
use super::sites::Sites;
use lgoose_base::error::Error;
use lgoose_engine::{PlanVersion, PlanVersions};
use lgoose_lua::Program;
use lgoose_metrics::control::{Done, Refusal, ReloadResult, Reloads, ReplySender};
use lgoose_plan::config::Config;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Interval at which `--watch` checks the files. A file that an editor writes in two steps has settled by the next check.
const LOOK: Duration = Duration::from_millis(250);

/// Reads the test with the current text of its plan.
type ReadTest = Box<dyn FnMut() -> Result<TestInput, Error> + Send>;

/// Source from which the plan of a run is reloaded.
pub(super) struct ReloadSource {
    /// Whether a change of its files triggers a reload.
    pub(super) watch: bool,
    pub(super) read: ReadTest,
}

/// Reloads the plan of a run.
pub(super) struct Reloader {
    source: ReloadSource,
    /// Configuration that the run began with.
    config: Config,
    /// The program that was loaded last.
    program: Arc<Program>,
    watched: WatchedFiles,
    /// The built-in sites of the run, which live as long as this.
    sites: Sites,
    /// Number of the version that was loaded last.
    number: u64,
}

impl Reloader {
    pub(super) fn new(
        source: ReloadSource,
        config: Config,
        program: Arc<Program>,
        sites: Sites,
    ) -> Reloader {
        let mut watched = WatchedFiles::default();
        if source.watch {
            // Before the run begins, so that a file saved after its first request counts as changed.
            watched.look(program.files());
        }
        Reloader {
            source,
            config,
            program,
            watched,
            sites,
            number: 0,
        }
    }

    /// Serves requests to reload, and watches the files with `--watch`. Publishes the results as news. Never returns.
    pub(super) async fn serve(
        mut self,
        mut reloads: Reloads,
        plan_versions: PlanVersions,
        news: broadcast::Sender<ReloadResult>,
    ) -> Error {
        let mut look = tokio::time::interval(LOOK);
        loop {
            let received: Option<ReplySender> = tokio::select! {
                Some(reply) = reloads.next() => Some(reply),
                _ = look.tick(), if self.source.watch => {
                    if !self.watched.look(self.program.files()) {
                        continue;
                    }
                    None
                }
            };
            let loading = tokio::task::spawn_blocking(move || {
                let loaded = self.load();
                (self, loaded)
            });
            let loaded = match loading.await {
                Ok((reloader, loaded)) => {
                    self = reloader;
                    loaded
                }
                Err(error) => return Error::trouble(format!("cannot load the plan: {error}")),
            };
            let response = match loaded {
                Ok((plan_version, message)) => {
                    let taken = plan_versions.offer(plan_version).await;
                    taken.map(|()| Done::Reloaded(message.into()))
                }
                Err(error) => Err(Refusal::Plan(Arc::new(error))),
            };
            let report: Option<ReloadResult> = match &response {
                Ok(Done::Reloaded(message)) => Some(Ok(message.clone())),
                Err(Refusal::Plan(error)) => Some(Err(error.clone())),
                _ => None,
            };
            if let Some(report) = report {
                // There may be no reader.
                let _unread = news.send(report);
            }
            if let Some(reply) = received {
                reply.send(response);
            }
        }
    }

    /// Loads the current plan, and returns a message about it.
    fn load(&mut self) -> Result<(Arc<PlanVersion>, String), Error> {
        let Resolved {
            program,
            plan,
            config,
            ..
        } = resolve((self.source.read)()?, self.config.run.seed)?;
        no_fixed_numbers(&self.config.run.load, &plan)?;
        let hosts = hosts_of(&plan, &self.config.run, &mut self.sites)?;
        let mut judged = self.config.clone();
        judged.run.thresholds = config.run.thresholds.clone();
        let mut message = "reloaded: users take the plan at their next iteration".to_owned();
        if config != judged {
            message += "; settings of 'plan {}' other than thresholds take effect in the next run";
        }
        self.program = program.clone();
        self.number += 1;
        let plan_version = PlanVersion::new(program, plan, hosts, Arc::new(judged.run));
        let plan_version = plan_version.numbered(self.number);
        Ok((Arc::new(plan_version), message))
    }
}

/// Facts that distinguish one state of a file from another.
type PlanFileStamp = (u64, u64, i64, i64);

/// Files of the plan as they were last seen.
#[derive(Debug, Default)]
struct WatchedFiles {
    seen: BTreeMap<PathBuf, PlanFileStamp>,
    /// Whether a file has changed, but may be only half written.
    changed: bool,
}

impl WatchedFiles {
    /// Returns whether files have changed, but not since the last check. A missing file is about to be replaced; a new
    /// one has just been read.
    fn look(&mut self, files: Vec<PathBuf>) -> bool {
        let mut quiet = true;
        for file in files {
            let Ok(metadata) = std::fs::metadata(&file) else {
                quiet = false;
                continue;
            };
            let stamp = stamp(&metadata);
            if self
                .seen
                .insert(file, stamp)
                .is_some_and(|seen| seen != stamp)
            {
                (quiet, self.changed) = (false, true);
            }
        }
        quiet && std::mem::take(&mut self.changed)
    }
}

fn stamp(file: &Metadata) -> PlanFileStamp {
    (file.ino(), file.size(), file.mtime(), file.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_change_is_reported_once_when_it_has_settled() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = folder.path().join("plan.lua");
        let files = || vec![plan.clone()];
        let write = |path: &Path, text: &str| std::fs::write(path, text).expect("it is written");
        write(&plan, "one");
        let mut watched = WatchedFiles::default();
        assert_eq!([watched.look(files()), watched.look(files())], [false; 2]);
        write(&plan, "");
        assert!(!watched.look(files()), "it may be half written");
        write(&plan, "and two");
        assert!(!watched.look(files()), "so it was");
        assert!(watched.look(files()));
        assert!(!watched.look(files()));
        std::fs::remove_file(&plan).expect("it is there");
        assert!(!watched.look(files()));
        let other = folder.path().join(".plan.lua.swp");
        write(&other, "and two");
        std::fs::rename(&other, &plan).expect("it is replaced");
        assert!(!watched.look(files()));
        assert!(watched.look(files()), "another file of that name");
    }
}
