//! Prepares a run: reads the plan, merges the flags over it, determines the target and starts it if it is a built-in
//! site.

use super::client::client;
use super::loading;
use super::places::{self, Place};
use super::sites::Sites;
use crate::config::{Config, Load, RunConfig, Settings};
use crate::engine;
use crate::error::{Diagnostic, Error};
use crate::http::{ClientConfig, Resolver};
use crate::lua::{GivenVariables, Program};
use crate::machine;
use crate::metrics::RunLogs;
use crate::plan::{Plan, Scenario};
use crate::units::{masked_url, show_size};
use std::path::PathBuf;
use std::sync::Arc;

/// A run that is ready to start, assembled from the plan and the flags.
pub(super) struct Prepared {
    pub(super) program: Arc<Program>,
    pub(super) plan: Plan,
    pub(super) config: Arc<Config>,
    pub(super) name: String,
    pub(super) hosts: Vec<String>,
    pub(super) client: ClientConfig,
    pub(super) resolver: Arc<Resolver>,
    /// The built-in sites that run for this test.
    pub(super) sites: Sites,
}

impl Prepared {
    /// Returns a copy for one of several runs with the same target; the built-in sites stay with the original.
    #[cfg(feature = "cli")]
    pub(super) fn with_config(&self, config: Config) -> Prepared {
        Prepared {
            program: self.program.clone(),
            plan: self.plan.clone(),
            config: Arc::new(config),
            name: self.name.clone(),
            hosts: self.hosts.clone(),
            client: self.client.clone(),
            resolver: self.resolver.clone(),
            sites: Sites::default(),
        }
    }

    /// Returns the run for the engine, and the built-in sites, which must outlive it.
    pub(super) fn into_run(self, run_logs: Option<RunLogs>) -> (engine::Run, Sites) {
        let target = target(&self);
        let config = Arc::new(self.config.run.clone());
        let plan_version =
            engine::PlanVersion::new(self.program, self.plan, self.hosts, config.clone());
        let run = engine::Run {
            plan_version: Arc::new(plan_version),
            config,
            local: self.config.local.clone(),
            name: self.name,
            target,
            client: self.client,
            resolver: self.resolver,
            run_logs,
        };
        (run, self.sites)
    }
}

/// A plan, with everything that was given along with it.
pub(super) struct Given {
    /// Path of the plan, or its name in messages.
    pub(super) name: String,
    pub(super) source: String,
    /// Folder that paths in the plan's options are relative to.
    pub(super) folder: PathBuf,
    /// Options that take precedence over the plan's own.
    pub(super) typed: Settings,
    /// Variables for `env()` in addition to the environment, and which variables of the environment it may read.
    pub(super) variables: GivenVariables,
    /// Whether the plan's logs may be outside of its folder.
    pub(super) allow_files: bool,
    /// Files that are read and written in addition to those that the plan and its options name.
    pub(super) others: OtherFiles,
}

/// Files that a run reads and writes because of the command's flags.
#[derive(Debug, Default)]
pub(super) struct OtherFiles {
    pub(super) read: Vec<Place>,
    pub(super) written: Vec<Place>,
}

/// A plan and the configuration of its run, before anything is started.
pub(super) struct Composed {
    pub(super) program: Arc<Program>,
    pub(super) plan: Plan,
    pub(super) config: Config,
    pub(super) name: String,
}

/// Assembles a run; `adapt` can change its final configuration.
pub(super) fn assemble(
    mut given: Given,
    adapt: impl FnOnce(&mut Config, &mut Plan),
) -> Result<Prepared, Error> {
    let OtherFiles {
        mut read,
        mut written,
    } = std::mem::take(&mut given.others);
    let random = || rand::random::<u32>().into();
    let seed = given.typed.seed.unwrap_or_else(random);
    let Composed {
        program,
        plan,
        config,
        name,
    } = compose(given, seed, adapt)?;
    not_empty(&config)?;
    enough_memory(config.local.memory)?;
    read.extend(places::read_by(&program, &config));
    written.extend(places::written_by(&config));
    places::apart(&read, &written)?;
    no_fixed_numbers(&config.run.load, &plan)?;
    let (client, resolver) = client(&config)?;
    let mut sites = Sites::default();
    let hosts = hosts_of(&plan, &config.run, &mut sites)?;
    let secure = hosts.iter().any(|host| host.starts_with("https:"));
    if secure || client.transport.needs_tls() {
        client.tls.prepare()?;
    } else if !client.transport.is_direct() {
        // Every reqwest client needs this configuration, used or not, and would take the time to make it.
        let _not_needed = client.tls.prepare();
    }
    Ok(Prepared {
        program,
        plan,
        config: Arc::new(config),
        name,
        hosts,
        client,
        resolver: Arc::new(resolver),
        sites,
    })
}

/// Checks that the part of the load has any users.
fn not_empty(config: &Config) -> Result<(), Diagnostic> {
    if config.local.part.share(config.run.users) > 0 {
        return Ok(());
    }
    let users = crate::units::counted(config.run.users, "user");
    let message = format!("{} of {users} has none", config.local.part);
    Err(Diagnostic::new(message).help("raise '--users', or cut the load into fewer parts"))
}

/// Checks that the memory limit is above what the process uses before any user runs.
fn enough_memory(ceiling: Option<u64>) -> Result<(), Diagnostic> {
    let (Some(ceiling), Some(taken)) = (ceiling, machine::taken_memory()) else {
        return Ok(());
    };
    if ceiling > taken {
        return Ok(());
    }
    let message = format!(
        "'--memory' is {}, and lgoose takes {} before the first user",
        show_size(ceiling as f64),
        show_size(taken as f64)
    );
    Err(Diagnostic::new(message).help("give it more, such as '--memory 2GiB', or leave it out"))
}

/// Loads a plan and merges the flags over its options. `seed` is used if neither sets one.
pub(super) fn compose(
    given: Given,
    seed: u64,
    adapt: impl FnOnce(&mut Config, &mut Plan),
) -> Result<Composed, Error> {
    let (name, typed) = (given.name, given.typed);
    let (program, mut plan, settings) =
        load(&name, &given.source, given.variables, typed.seed, seed)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if !given.allow_files {
        places::beside_plan(&settings, &typed, &given.folder)?;
    }
    let own_limits = settings.check_own_limits(&typed);
    own_limits.map_err(|mistake| mistake.at(&name, None, &given.source))?;
    let settings = typed.over(settings.relative_to(&given.folder));
    let mut config = Config::new(settings, cores, seed)?;
    plan.keep_scenarios(&config.run.scenarios)?;
    plan.exclude_tags(&config.run.exclude_tags)?;
    plan.keep_tags(&config.run.tags)?;
    adapt(&mut config, &mut plan);
    program.serve_part(config.local.part);
    Ok(Composed {
        program,
        plan,
        config,
        name,
    })
}

/// Returns the base URL of each scenario; starts the built-in sites that they name.
pub(super) fn hosts_of(
    plan: &Plan,
    config: &RunConfig,
    sites: &mut Sites,
) -> Result<Vec<String>, Error> {
    let host = |scenario: &Scenario| {
        let host = scenario.host.as_ref().or(config.host.as_ref());
        base_url(host, sites)
    };
    plan.scenarios.iter().map(host).collect()
}

/// Checks that no scenario has a fixed number of users in a run at a rate, in which users come and go as needed.
pub(super) fn no_fixed_numbers(load: &Load, plan: &Plan) -> Result<(), Diagnostic> {
    let fixed = plan.scenarios.iter().find(|s| s.users.is_some());
    let Some(scenario) = fixed.filter(|_| matches!(load, Load::Rate(..))) else {
        return Ok(());
    };
    let message = format!(
        "scenario '{}' has a fixed number of users, which a run at a rate does not have",
        scenario.name
    );
    Err(Diagnostic::new(message).help(
        "give it a 'weight' instead of 'users', its share of the iterations, or leave out the rate",
    ))
}

/// Loads the plan; loads it again if it sets the seed itself, so that its top level sees that seed, too.
pub(super) fn load(
    name: &str,
    source: &str,
    variables: GivenVariables,
    typed_seed: Option<u64>,
    seed: u64,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    let loaded = loading::load(name, source, variables.clone(), seed)?;
    match (typed_seed, loaded.2.seed) {
        (None, Some(planned)) if planned != seed => loading::load(name, source, variables, planned),
        _ => Ok(loaded),
    }
}

/// Returns the URL of a host as written; starts the built-in site that it names.
pub(super) fn base_url(host: Option<&String>, sites: &mut Sites) -> Result<String, Error> {
    let Some(host) = host else {
        return Err(Diagnostic::new("no host is given")
            .help(
                "name the site with '--host URL', with 'plan { host = \"URL\" }' in the plan, \
                 or with LGOOSE_HOST in the environment; 'demo:drupal', 'demo:umami' and 'demo:api' are built-in ones to try",
            )
            .into());
    };
    if let Some(site) = host.strip_prefix("demo:") {
        return sites.url_of(site);
    }
    checked_url(host)
}

/// Checks a host as given on the command line, without starting anything.
#[cfg(feature = "cli")]
pub(super) fn check_host(host: &str) -> Result<(), Error> {
    match host.strip_prefix("demo:") {
        Some(site) => Sites::check(site),
        None => checked_url(host).map(drop),
    }
}

fn checked_url(host: &str) -> Result<String, Error> {
    let with_scheme = if host.contains("://") {
        host.to_owned()
    } else {
        format!("http://{host}")
    };
    crate::http::check_base(&with_scheme).map_err(|failure| {
        Diagnostic::new(format!(
            "'{}' is not a host: {}",
            masked_url(host),
            failure.detail
        ))
        .help("write a base URL such as 'http://127.0.0.1:8080' or 'https://example.org'")
    })?;
    Ok(with_scheme)
}

/// Describes the target: each host once, and a built-in site by its name.
pub(super) fn target(prepared: &Prepared) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for host in &prepared.hosts {
        let site = prepared.sites.served().find(|(_, url)| url == host);
        let text = site.map_or_else(
            || masked_url(host).into_owned(),
            |(name, _)| format!("{name} at {host}"),
        );
        if seen.insert(text.clone()) {
            shown.push(text);
        }
    }
    shown.join(", ")
}
