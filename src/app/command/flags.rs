//! Reads a plan and the settings of its run from the flags.

use super::env_file;
use super::target_plan;
use super::url_plan::UrlPlan;
use crate::app::places::{self, RunFile};
use crate::app::prepare::{CommandOptions, OtherFiles, TestInput};
use crate::app::reload::ReloadSource;
use crate::cli;
use lgoose_base::error::{Diagnostic, Error, masked_url};
use lgoose_base::files::{FileReach, PlanFolder, WriteFolder};
use lgoose_lua::EnvVariables;
use lgoose_plan::config::{LoadPart, ShowLevel, start_at_once};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the test that a command line describes: the plan at that path, with everything that the flags set for it.
///
/// # Errors
/// A mistake in a flag, or a plan or a file of variables that cannot be read.
pub(super) fn test(path: &Path, flags: &cli::RunArgs) -> Result<TestInput, Error> {
    if flags.screen.watch {
        may_load(path, flags)?;
    }
    let PlanText {
        name,
        source,
        target,
    } = read(path, flags)?;
    let mut settings = flags.settings();
    if target != PlanTarget::InPlan {
        // This is a benchmark of some pages, where nobody wants to wait for users to start.
        start_at_once(&mut settings);
    }
    if let PlanTarget::Url(host) = target {
        settings.host = Some(host);
    }
    Ok(TestInput {
        name,
        folder: folder_of(path, flags),
        settings,
        variables: variables(flags)?,
        command: CommandOptions {
            others: other_files(flags),
            once: flags.load.once.then_some(
                match (flags.screen.http_debug, flags.screen.verbose) {
                    (false, _) => ShowLevel::Requests,
                    (true, false) => ShowLevel::Messages,
                    (true, true) => ShowLevel::WholeMessages,
                },
            ),
            paused: flags.load.paused,
            part: flags.load.part.unwrap_or(LoadPart::WHOLE),
            data_memory: flags.machine.data_memory,
            sandbox: flags.target.sandbox,
            is_hosted: flags.outputs.plan_writes != WriteFolder::default(),
        },
        ..TestInput::new(source)
    })
}

/// Returns the source from which the plan is reloaded with these flags.
pub(super) fn source(path: &Path, flags: &cli::RunArgs) -> ReloadSource {
    let (path, flags) = (path.to_owned(), flags.clone());
    ReloadSource {
        watch: flags.screen.watch,
        read: Box::new(move || {
            may_load(&path, &flags)?;
            test(&path, &flags)
        }),
    }
}

/// Checks that the plan can be reloaded.
fn may_load(path: &Path, flags: &cli::RunArgs) -> Result<(), Diagnostic> {
    let what = match (flags.url(), path == Path::new("-")) {
        (Some(_), _) => "a URL is no plan that could change",
        (None, true) => "a plan from standard input cannot be loaded a second time",
        (None, false) => return Ok(()),
    };
    Err(Diagnostic::new(what).help("write the plan into a file and name that"))
}

/// Returns the files that flags name, apart from those named by options that a plan has, too.
pub(super) fn other_files(flags: &cli::RunArgs) -> OtherFiles {
    let env_file = flags.machine.env_file.iter();
    let env_file = env_file.map(|path| RunFile::new("the file of '--env-file'", path));
    let body = flags.request.body.as_deref();
    let body = body.and_then(|body| body.strip_prefix('@'));
    let body = body.map(|path| RunFile::new("the file of '--body'", Path::new(path)));
    let read = env_file.chain(body);
    let read = read.chain(broker_files(&flags.gaggle.reached));
    let read = read.chain(web_files(&flags.web));
    OtherFiles {
        read: read.collect(),
        written: places::reports(&flags.outputs.output)
            .into_iter()
            .chain(log_file(flags))
            .collect(),
    }
}

/// Returns the files by which the broker is reached.
pub(super) fn broker_files(reached: &cli::NatsArgs) -> impl Iterator<Item = RunFile> {
    let files = [
        ("the file of '--nats-creds'", &reached.nats_creds),
        ("the file of '--nats-ca'", &reached.nats_ca),
        ("the file of '--nats-cert'", &reached.nats_cert),
        ("the file of '--nats-key'", &reached.nats_key),
    ];
    named(files)
}

/// Returns those of some files that are named.
fn named<const N: usize>(files: [(&str, &Option<PathBuf>); N]) -> impl Iterator<Item = RunFile> {
    let files = files.into_iter();
    files.filter_map(|(name, path)| Some(RunFile::new(name, path.as_deref()?)))
}

/// Returns the files with which the run is served over HTTP.
fn web_files(web: &cli::WebArgs) -> impl Iterator<Item = RunFile> {
    let files = [
        ("the file of '--web-cert'", &web.web_cert),
        ("the file of '--web-key'", &web.web_key),
    ];
    named(files)
}

/// Returns the file of lgoose's own log, if there is one.
pub(super) fn log_file(flags: &cli::RunArgs) -> Option<RunFile> {
    let path = flags.screen.log_file.as_deref()?;
    Some(RunFile::new("the file of '--log-file'", path))
}

/// The plan that a command line names.
pub(super) struct PlanText {
    /// Its name in messages.
    pub(super) name: String,
    /// Its text in Lua.
    pub(super) source: String,
    pub(super) target: PlanTarget,
}

/// Target of the requests of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlanTarget {
    /// The target in the plan, which a person wrote.
    InPlan,
    /// The targets of a list, which stands for a plan.
    List,
    /// This host, whose URL stands for a plan.
    Url(String),
}

/// Reads the plan, or makes the one that a URL or a list of targets stands for.
///
/// # Errors
/// A file that cannot be read, or a mistake in a list.
pub(super) fn read(path: &Path, flags: &cli::RunArgs) -> Result<PlanText, Error> {
    match flags.url() {
        Some(url) => {
            let mut request = flags.request.clone();
            request.subprotocol.clone_from(&flags.target.subprotocol);
            let plan = UrlPlan::new(url, &request, flags.screen.http_debug)?;
            Ok(PlanText {
                name: masked_url(url).into_owned(),
                source: plan.source,
                target: PlanTarget::Url(plan.host),
            })
        }
        None => read_file(path, &folder_of(path, flags), flags.screen.http_debug),
    }
}

/// Reads the file of a plan or of a list, or standard input. `retain`: a list's plan keeps the bodies of responses.
///
/// # Errors
/// As [`read`].
pub(super) fn read_file(path: &Path, folder: &PlanFolder, retain: bool) -> Result<PlanText, Error> {
    let (name, text) = lgoose_lua::read(path)?;
    let (source, target) = match target_plan::plan(&name, &text, folder, retain)? {
        Some(source) => (source, PlanTarget::List),
        None => (text, PlanTarget::InPlan),
    };
    Ok(PlanText {
        name,
        source,
        target,
    })
}

/// Returns the folder of the plan at that path, to which the plan's own paths are relative.
pub(super) fn folder_of(path: &Path, flags: &cli::RunArgs) -> PlanFolder {
    let sandbox = flags.target.sandbox;
    let writes = if sandbox {
        WriteFolder::Forbidden
    } else {
        flags.outputs.plan_writes.clone()
    };
    plan_folder(path, flags.outputs.allow_files && !sandbox).writing_to(writes)
}

/// Returns the same for a plan that is only looked at.
pub(super) fn plan_folder(path: &Path, allow_files: bool) -> PlanFolder {
    let reach = if allow_files {
        FileReach::Anywhere
    } else {
        FileReach::Folder
    };
    PlanFolder::new(path.parent().unwrap_or(Path::new("")), reach)
}

/// Returns the variables for the plan's `env()` besides those of the environment, and which of those it may read.
pub(super) fn variables(flags: &cli::RunArgs) -> Result<EnvVariables, Error> {
    let machine = &flags.machine;
    let is_limited = flags.target.sandbox || !machine.env_allow.is_empty();
    // Without a name, as with '--env-allow=', none is allowed.
    let names = machine.env_allow.iter().filter(|name| !name.is_empty());
    let allowed = is_limited.then(|| names.cloned().collect());
    read_variables(machine.env_file.as_deref(), &machine.env, allowed)
}

/// Returns the variables of a file and those given one by one, which take precedence. Of the environment, the plan
/// may read only the `allowed` variables; `None` for all.
pub(super) fn read_variables(
    file: Option<&Path>,
    each: &[(String, String)],
    allowed: Option<BTreeSet<String>>,
) -> Result<EnvVariables, Error> {
    let mut variables = match file {
        Some(path) => env_file::read(path)?,
        None => Default::default(),
    };
    variables.extend(each.iter().cloned());
    Ok(EnvVariables {
        configured: variables,
        allowed,
    })
}
