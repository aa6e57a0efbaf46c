//! Loads the plan anew in the middle of a run: when somebody asks for it, or with `--watch` when one of its files
//! has changed. A plan with a mistake changes nothing.

use super::prepare::{Composed, adapt, compose, given, hosts_of, no_fixed_numbers};
use crate::cli;
use crate::config::Config;
use crate::control::{Done, News, Refusal, Reloads, Reply};
use crate::demo::Demo;
use crate::engine::{PlanVersion, PlanVersions};
use crate::error::{Diagnostic, Error};
use crate::lua::Program;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// How often `--watch` looks at the files. What an editor writes in two steps has settled by the next look.
const LOOK: Duration = Duration::from_millis(250);

/// Where a plan came from, with the flags of the command line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) flags: &'a cli::Run,
}

/// Loads the plan of a run anew.
pub(super) struct Reloader {
    path: PathBuf,
    flags: cli::Run,
    /// As the run began.
    config: Arc<Config>,
    /// What was loaded last.
    program: Arc<Program>,
    watched: Watched,
    /// The built-in sites of the run, which live as long as this.
    demos: Vec<(String, Demo)>,
}

impl Reloader {
    pub(super) fn new(
        source: Source<'_>,
        config: Arc<Config>,
        program: Arc<Program>,
        demos: Vec<(String, Demo)>,
    ) -> Reloader {
        let mut watched = Watched::default();
        if source.flags.screen.watch {
            // Before the run begins: what is saved after its first request is a change.
            watched.look(program.files());
        }
        Reloader {
            path: source.path.to_owned(),
            flags: source.flags.clone(),
            config,
            program,
            watched,
            demos,
        }
    }

    /// Serves whoever asks, and looks after the files if `--watch` wants that. What came of it is news to all. Never
    /// ends.
    pub(super) async fn serve(
        mut self,
        mut wanted: Reloads,
        plan_versions: PlanVersions,
        news: broadcast::Sender<News>,
    ) -> Error {
        let mut look = tokio::time::interval(LOOK);
        loop {
            let asked: Option<Reply> = tokio::select! {
                Some(reply) = wanted.next() => Some(reply),
                _ = look.tick(), if self.flags.screen.watch => {
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
            let answer = match loaded {
                Ok((plan_version, told)) => {
                    let taken = plan_versions.offer(plan_version).await;
                    taken.map(|()| Done::Reloaded(told.into()))
                }
                Err(error) => Err(Refusal::Plan(Arc::new(error))),
            };
            let told: Option<News> = match &answer {
                Ok(Done::Reloaded(told)) => Some(Ok(told.clone())),
                Err(Refusal::Plan(error)) => Some(Err(error.clone())),
                _ => None,
            };
            if let Some(told) = told {
                // There may be no reader.
                let _unread = news.send(told);
            }
            if let Some(reply) = asked {
                reply.answer(answer);
            }
        }
    }

    /// The plan as it is now, and what to say of it.
    fn load(&mut self) -> Result<(Arc<PlanVersion>, String), Error> {
        may_load(&self.path, &self.flags)?;
        let Composed {
            program,
            plan,
            config,
            ..
        } = compose(
            given(&self.path, &self.flags)?,
            self.config.seed,
            |config, plan| adapt(config, plan, &self.flags),
        )?;
        no_fixed_numbers(&self.config, &plan)?;
        let hosts = hosts_of(&plan, &self.config, &mut self.demos)?;
        let judged = Config {
            thresholds: config.thresholds.clone(),
            ..(*self.config).clone()
        };
        let mut told = "reloaded: users take the plan at their next iteration".to_owned();
        if config != judged {
            told += "; other settings of 'plan {}' than thresholds count from the next run on";
        }
        self.program = program.clone();
        let plan_version = PlanVersion::new(program, plan, hosts, Arc::new(judged));
        Ok((Arc::new(plan_version), told))
    }
}

/// Whether the plan can be loaded a second time.
pub(super) fn may_load(path: &Path, flags: &cli::Run) -> Result<(), Diagnostic> {
    let what = match (flags.url(), path == Path::new("-")) {
        (Some(_), _) => "a URL is no plan that could change",
        (None, true) => "a plan from standard input cannot be loaded a second time",
        (None, false) => return Ok(()),
    };
    Err(Diagnostic::new(what).help("write the plan into a file and name that"))
}

/// What tells one state of a file from another.
type Stamp = (u64, u64, i64, i64);

/// The files of the plan as they were last seen.
#[derive(Debug, Default)]
struct Watched {
    seen: BTreeMap<PathBuf, Stamp>,
    /// One was found changed, but may be half written.
    changed: bool,
}

impl Watched {
    /// Whether files have changed and have stayed so since the last look. One that is gone is about to be
    /// replaced; one that is new was read just now.
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

fn stamp(file: &Metadata) -> Stamp {
    (file.ino(), file.size(), file.mtime(), file.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_when_it_has_settled() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = folder.path().join("plan.lua");
        let files = || vec![plan.clone()];
        let write = |path: &Path, text: &str| std::fs::write(path, text).expect("it is written");
        write(&plan, "one");
        let mut watched = Watched::default();
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
