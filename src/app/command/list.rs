//! `lgoose PLAN --list`: the scenarios and tasks of a plan, without a run.

use super::flags;
use super::screen::print_text;
use crate::app::places::{self, RunFile};
use crate::app::{loading, log};
use crate::cli;
use lgoose_base::error::{Error, exit};
use std::path::Path;

/// Lists the scenarios, each followed by its tasks, one per line.
pub(super) fn list(path: &Path, flags: &cli::RunArgs) -> Result<u8, Error> {
    let flags::PlanText { name, source, .. } = flags::read(path, flags)?;
    let variables = flags::variables(flags)?;
    let (program, plan, _) = loading::load(
        &name,
        &source,
        variables,
        flags.load.seed,
        0,
        &flags::folder_of(path, flags),
        loading::MemoryLimits {
            process: flags.machine.memory,
            data: flags.machine.data_memory,
        },
    )?;
    if let Some(path) = &flags.screen.log_file {
        let log = [RunFile::new("the file of '--log-file'", path)];
        let mut read = flags::other_files(flags).read;
        read.extend(places::files_of(&program));
        places::apart(&read, &log)?;
        log::write_to(path)?;
    }
    print_text(lgoose_plan::list(&plan).trim_end())?;
    Ok(exit::OK)
}
