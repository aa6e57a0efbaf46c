//! Puts a run together: reads the plan, merges the flags over it, finds out whom to load and starts the
//! built-in site if that is the target.

use super::client::client;
use super::env_file;
use super::reload::may_load;
use super::url_plan::UrlPlan;
use crate::cli;
use crate::config::{CoMitigation, Config, Load, Part, Settings, Show};
use crate::demo::{Behaviour, Demo, Site};
use crate::engine;
use crate::error::{Diagnostic, Error, nearest};
use crate::http::{ClientConfig, Resolver};
use crate::lua::{self, Program};
use crate::metrics::RunLogs;
use crate::plan::{Plan, Scenario};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything a run needs, put together from the plan and the flags.
pub(super) struct Prepared {
    pub(super) program: Arc<Program>,
    pub(super) plan: Plan,
    pub(super) config: Arc<Config>,
    pub(super) name: String,
    pub(super) hosts: Vec<String>,
    pub(super) client: ClientConfig,
    pub(super) resolver: Resolver,
    /// The built-in sites that run for this test.
    pub(super) demos: Vec<(String, Demo)>,
}

impl Prepared {
    /// What the engine is told, and the built-in sites that have to outlive the run.
    pub(super) fn into_run(self, run_logs: Option<RunLogs>) -> (engine::Run, Vec<(String, Demo)>) {
        let target = target(&self);
        let plan_version =
            engine::PlanVersion::new(self.program, self.plan, self.hosts, self.config.clone());
        let run = engine::Run {
            plan_version: Arc::new(plan_version),
            config: self.config,
            name: self.name,
            target,
            client: self.client,
            resolver: Arc::new(self.resolver),
            run_logs,
        };
        (run, self.demos)
    }
}

/// A plan, and what was said beside it.
pub(super) struct Given {
    /// Its path, or what stands for it in messages.
    pub(super) name: String,
    pub(super) source: String,
    /// Where paths in the plan's options are seen from.
    pub(super) folder: PathBuf,
    /// The options that go before the plan's own.
    pub(super) typed: Settings,
    /// What `env()` knows beside the environment.
    pub(super) variables: BTreeMap<String, String>,
}

/// A plan and how its run is configured, before anything is started.
pub(super) struct Composed {
    pub(super) program: Arc<Program>,
    pub(super) plan: Plan,
    pub(super) config: Config,
    pub(super) name: String,
}

pub(super) fn prepare(path: &Path, flags: &cli::Run) -> Result<Prepared, Error> {
    if flags.screen.watch {
        may_load(path, flags)?;
    }
    assemble(given(path, flags)?, |config, plan| {
        adapt(config, plan, flags)
    })
}

/// Puts a run together; `adapt` has the last word on its configuration.
pub(super) fn assemble(
    given: Given,
    adapt: impl FnOnce(&mut Config, &mut Plan),
) -> Result<Prepared, Error> {
    let random = || rand::random::<u32>().into();
    let seed = given.typed.seed.unwrap_or_else(random);
    let Composed {
        program,
        plan,
        config,
        name,
    } = compose(given, seed, adapt)?;
    not_empty(&config)?;
    no_fixed_numbers(&config, &plan)?;
    let (client, resolver) = client(&config)?;
    let mut demos = Vec::new();
    let hosts = hosts_of(&plan, &config, &mut demos)?;
    let secure = hosts.iter().any(|host| host.starts_with("https:"));
    if secure || client.transport.needs_tls() {
        client.tls.prepare()?;
    } else if !client.transport.is_direct() {
        // A client of reqwest is made with it, needed or not; each would take as long.
        let _not_needed = client.tls.prepare();
    }
    Ok(Prepared {
        program,
        plan,
        config: Arc::new(config),
        name,
        hosts,
        client,
        resolver,
        demos,
    })
}

/// Whether the part of the load has anybody in it.
fn not_empty(config: &Config) -> Result<(), Diagnostic> {
    if config.part.share(config.users) > 0 {
        return Ok(());
    }
    let users = crate::units::counted(config.users, "user");
    let message = format!("{} of {users} has none", config.part);
    Err(Diagnostic::new(message).help("raise '--users', or cut the load into fewer parts"))
}

/// What the command line says of the plan at that path.
pub(super) fn given(path: &Path, flags: &cli::Run) -> Result<Given, Error> {
    let (name, source, host) = read(path, flags)?;
    let mut typed = flags.settings();
    if host.is_some() {
        // A benchmark of one page: nobody waits for its users.
        typed.start_at_once();
    }
    typed.host = host.or(typed.host);
    Ok(Given {
        name,
        source,
        folder: folder_of(path).to_owned(),
        typed,
        variables: variables(flags)?,
    })
}

/// What flags say that no plan can.
pub(super) fn adapt(config: &mut Config, plan: &mut Plan, flags: &cli::Run) {
    if flags.load.once {
        once(config, plan);
        config.show = match flags.screen.http_debug {
            true => Show::Messages,
            false => Show::Requests,
        };
    }
    config.part = flags.load.part.unwrap_or(Part::WHOLE);
}

/// Loads a plan and merges what was typed over its options. `seed` counts where neither has one.
pub(super) fn compose(
    given: Given,
    seed: u64,
    adapt: impl FnOnce(&mut Config, &mut Plan),
) -> Result<Composed, Error> {
    let (name, typed) = (given.name, given.typed);
    let (program, mut plan, settings) =
        load(&name, &given.source, given.variables, typed.seed, seed)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = typed.over(settings.relative_to(&given.folder));
    let mut config = Config::new(settings, cores, seed)?;
    plan.keep_scenarios(&config.scenarios)?;
    plan.keep_tags(&config.tags)?;
    adapt(&mut config, &mut plan);
    program.serve_part(config.part);
    Ok(Composed {
        program,
        plan,
        config,
        name,
    })
}

/// The base URL of each scenario; the built-in sites that they name are started.
pub(super) fn hosts_of(
    plan: &Plan,
    config: &Config,
    demos: &mut Vec<(String, Demo)>,
) -> Result<Vec<String>, Error> {
    let host = |scenario: &Scenario| {
        let host = scenario.host.as_ref().or(config.host.as_ref());
        base_url(host, demos)
    };
    plan.scenarios.iter().map(host).collect()
}

/// The plan's name and text; the host too, if it is a URL.
pub(super) fn read(
    path: &Path,
    flags: &cli::Run,
) -> Result<(String, String, Option<String>), Error> {
    match flags.url() {
        Some(url) => {
            let plan = UrlPlan::new(url, &flags.request, flags.screen.http_debug)?;
            Ok((url.to_owned(), plan.source, Some(plan.host)))
        }
        None => {
            let (name, source) = lua::read(path)?;
            Ok((name, source, None))
        }
    }
}

/// The folder of a plan, as its own paths are seen from.
fn folder_of(plan: &Path) -> &Path {
    plan.parent().unwrap_or(Path::new(""))
}

/// In a run at a rate users come and go as they are needed.
pub(super) fn no_fixed_numbers(config: &Config, plan: &Plan) -> Result<(), Diagnostic> {
    let fixed = plan.scenarios.iter().find(|s| s.users.is_some());
    let Some(scenario) = fixed.filter(|_| matches!(config.load, Load::Rate(..))) else {
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

/// One user for each scenario, all at once, one iteration each.
fn once(config: &mut Config, plan: &mut Plan) {
    for scenario in &mut plan.scenarios {
        scenario.users = Some(1);
    }
    config.users = plan.scenarios.len() as u64;
    config.load = Load::Users;
    config.reset_stats = false;
    config.warmup = None;
    config.threads = 1;
    config.hatch_rate = f64::INFINITY;
    config.iterations = Some(1);
    config.run_time = None;
    // One iteration is for looking, not for judging.
    config.thresholds.clear();
    config.co_mitigation = CoMitigation::Disabled;
    config.co_wanted = false;
}

/// What the plan's `env()` knows beside the environment.
pub(super) fn variables(flags: &cli::Run) -> Result<BTreeMap<String, String>, Error> {
    let mut variables = match &flags.machine.env_file {
        Some(path) => env_file::read(path)?,
        None => BTreeMap::new(),
    };
    variables.extend(flags.machine.env.iter().cloned());
    Ok(variables)
}

/// Loads the plan; once more if it sets the seed itself, so that its top level sees that seed too.
pub(super) fn load(
    name: &str,
    source: &str,
    variables: BTreeMap<String, String>,
    typed_seed: Option<u64>,
    seed: u64,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    let loaded = lua::load(name, source, variables.clone(), seed)?;
    match (typed_seed, loaded.2.seed) {
        (None, Some(planned)) if planned != seed => lua::load(name, source, variables, planned),
        _ => Ok(loaded),
    }
}

/// The URL behind a host as written; starts the built-in site that it names.
pub(super) fn base_url(
    host: Option<&String>,
    demos: &mut Vec<(String, Demo)>,
) -> Result<String, Error> {
    let Some(host) = host else {
        return Err(Diagnostic::new("no host is given")
            .help(
                "name the site with '--host URL', with 'plan { host = \"URL\" }' in the plan, \
                 or with LGOOSE_HOST in the environment; 'demo:drupal', 'demo:umami' and 'demo:api' are built-in ones to try",
            )
            .into());
    };
    if let Some(site) = host.strip_prefix("demo:") {
        if let Some((_, demo)) = demos.iter().find(|(name, _)| name == host) {
            return Ok(demo.url());
        }
        let demo = Demo::start(site_named(site)?, 0, Behaviour::default(), 1)?;
        let url = demo.url();
        demos.push((host.clone(), demo));
        return Ok(url);
    }
    let with_scheme = match host.contains("://") {
        true => host.clone(),
        false => format!("http://{host}"),
    };
    crate::http::check_base(&with_scheme).map_err(|failure| {
        Diagnostic::new(format!("'{host}' is not a host: {}", failure.detail))
            .help("write a base URL such as 'http://127.0.0.1:8080' or 'https://example.org'")
    })?;
    Ok(with_scheme)
}

pub(super) fn site_named(name: &str) -> Result<Site, Error> {
    Site::from_name(name).ok_or_else(|| {
        let near = nearest(name, Site::NAMES.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        Diagnostic::new(format!("there is no built-in site '{name}'"))
            .help(format!("{hint}sites: {}", Site::NAMES.join(", ")))
            .into()
    })
}

/// Each host once; a built-in site by its name.
pub(super) fn target(prepared: &Prepared) -> String {
    let mut shown: Vec<String> = Vec::new();
    for host in &prepared.hosts {
        let demo = prepared.demos.iter().find(|(_, demo)| demo.url() == *host);
        let text = demo.map_or_else(|| host.clone(), |(name, _)| format!("{name} at {host}"));
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    shown.join(", ")
}
