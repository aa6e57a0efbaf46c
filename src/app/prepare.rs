//! The way of a test to its run: [`resolve`] loads its plan and merges its options over the plan's own, [`prepare`]
//! determines the target, starts it if it is a built-in site, and returns a run for the engine.

use super::client::client;
use super::loading::{self, MemoryLimits};
use super::places::{self, RunFile};
use super::sites::Sites;
use lgoose_base::error::{Diagnostic, Error, masked_address, masked_url};
use lgoose_base::files::{FileReach, PlanFolder};
use lgoose_base::machine;
use lgoose_base::units::show_size;
use lgoose_engine::{PlanVersion, PlanVersions, VersionOffers, WorkerLogs};
use lgoose_lua::{EnvVariables, Program};
use lgoose_plan::config::{
    Config, Load, LoadPart, MitigationCadence, RunConfig, ScreenConfig, Settings, ShowLevel,
    check_own_limits,
};
use lgoose_plan::{Plan, Scenario};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Test as it was typed, or set by a program that embeds lgoose.
#[derive(Debug, Clone)]
pub(super) struct TestInput {
    /// Path of the plan, or its name in messages.
    pub(super) name: String,
    pub(super) source: String,
    /// Folder that the plan's own paths are relative to.
    pub(super) folder: PlanFolder,
    /// Options that take precedence over the plan's own.
    pub(super) settings: Settings,
    /// Variables for `env()` in addition to the environment, and which variables of the environment it may read.
    pub(super) variables: EnvVariables,
    pub(super) command: CommandOptions,
    /// The first option that was invalid.
    pub(super) mistake: Option<Diagnostic>,
}

impl TestInput {
    /// Describes a test of the text of a plan, with no option set.
    pub(super) fn new(source: String) -> TestInput {
        TestInput {
            name: "plan".to_owned(),
            source,
            folder: PlanFolder::new(Path::new(""), FileReach::Folder),
            settings: Settings::default(),
            variables: EnvVariables::default(),
            command: CommandOptions::default(),
            mistake: None,
        }
    }
}

/// Settings of a test that only a command line has. A program that embeds lgoose has the defaults.
#[derive(Debug, Clone)]
pub(super) struct CommandOptions {
    /// Files that are read and written in addition to those that the plan and its options name.
    pub(super) others: OtherFiles,
    /// Level at which the only iteration of `--once` is shown, if it is set.
    pub(super) once: Option<ShowLevel>,
    /// Whether the run waits for a command before its first user.
    pub(super) paused: bool,
    /// The part of the load that this process drives.
    pub(super) part: LoadPart,
    /// Whether the plan may do only what the command line allows.
    pub(super) sandbox: bool,
    /// Whether the run belongs to `lgoose serve`, to which other people send plans.
    pub(super) is_hosted: bool,
    /// Memory that data files may take, in bytes; `None` for all that the process may take.
    pub(super) data_memory: Option<u64>,
}

impl Default for CommandOptions {
    fn default() -> CommandOptions {
        CommandOptions {
            others: OtherFiles::default(),
            once: None,
            paused: false,
            part: LoadPart::WHOLE,
            sandbox: false,
            is_hosted: false,
            data_memory: None,
        }
    }
}

/// Files that a run reads and writes because of the command's flags.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherFiles {
    pub(super) read: Vec<RunFile>,
    pub(super) written: Vec<RunFile>,
}

/// Resolved test: its plan, loaded, and the configuration of its run. Nothing is started yet.
pub(super) struct Resolved {
    pub(super) program: Arc<Program>,
    pub(super) plan: Plan,
    pub(super) config: Config,
    pub(super) name: String,
    /// Other parts of the plan that the selection of scenarios and tasks leaves out, in sentences.
    pub(super) notes: Vec<String>,
}

/// A run that is ready to start, with the sites and the screen of this process.
pub(super) struct PreparedRun {
    pub(super) run: lgoose_engine::Run,
    /// Configuration of the terminal's output.
    pub(super) screen: ScreenConfig,
    /// The built-in sites that run for this test.
    pub(super) sites: Sites,
    pub(super) placement: Placement,
    /// Parts of the plan that the test leaves out, in sentences.
    pub(super) notes: Vec<String>,
}

/// Place of the users, and the channels for new versions of the plan.
pub(super) struct Placement {
    pub(super) place: lgoose_engine::ShardPlacement,
    pub(super) offers: VersionOffers,
    pub(super) versions: PlanVersions,
    /// Logs of the users on workers, if any are kept.
    pub(super) logs: Option<WorkerLogs>,
}

impl Default for Placement {
    /// Returns this process.
    fn default() -> Placement {
        let (versions, offers) = PlanVersions::open();
        Placement {
            place: lgoose_engine::ShardPlacement::threads(),
            offers,
            versions,
            logs: None,
        }
    }
}

impl PreparedRun {
    /// Returns the plan that users run at first.
    #[cfg(feature = "cli")]
    pub(super) fn plan(&self) -> &Plan {
        &self.run.plan_version.plan
    }

    /// Returns the configuration of the run.
    pub(super) fn config(&self) -> Config {
        Config {
            run: RunConfig::clone(&self.run.config),
            local: self.run.local.clone(),
            screen: self.screen.clone(),
        }
    }

    /// Describes the run in a line, before it begins.
    #[cfg(feature = "cli")]
    pub(super) fn announcement(&self) -> String {
        let run = &self.run;
        lgoose_plan::announcement(&run.name, self.plan(), &run.config, run.local.part)
    }

    /// Returns a copy for one of several runs with the same target; the built-in sites stay with the original.
    #[cfg(feature = "cli")]
    pub(super) fn with_config(&self, config: Config) -> PreparedRun {
        let PlanVersion {
            program,
            plan,
            hosts,
            ..
        } = &*self.run.plan_version;
        let run_config = Arc::new(config.run);
        let plan_version = PlanVersion::new(
            program.clone(),
            plan.clone(),
            hosts.clone(),
            run_config.clone(),
        );
        PreparedRun {
            run: lgoose_engine::Run {
                plan_version: Arc::new(plan_version),
                config: run_config,
                local: config.local,
                ..self.run.clone()
            },
            screen: config.screen,
            sites: Sites::default(),
            placement: Placement::default(),
            notes: Vec::new(),
        }
    }
}

/// Prepares the run of a test.
///
/// # Errors
/// A mistake in the plan or in an option, or trouble with a file or a site that they name.
pub(super) fn prepare(mut test: TestInput) -> Result<PreparedRun, Error> {
    // Neither a plan nor whoever sends it names a socket of the machine that runs it.
    let named = test.settings.allow_host.clone().unwrap_or_default();
    let is_hosted = test.command.is_hosted;
    let OtherFiles {
        mut read,
        mut written,
    } = std::mem::take(&mut test.command.others);
    let Resolved {
        program,
        plan,
        config,
        name,
        notes,
    } = resolve(test, rand::random::<u32>().into())?;
    not_empty(&config)?;
    enough_memory(config.local.memory)?;
    read.extend(places::read_by(&program, &config.local));
    written.extend(places::written_by(&config.local));
    places::apart(&read, &written)?;
    no_fixed_numbers(&config.run.load, &plan)?;
    let (mut client, resolver) = client(&config)?;
    if is_hosted {
        client.allowed = client.allowed.for_strangers(&named);
    }
    let mut sites = Sites::default();
    let hosts = hosts_of(&plan, &config.run, &mut sites)?;
    for host in &hosts {
        let allowed = lgoose_http::check_allowed(host, &client.allowed);
        allowed.map_err(|failure| Diagnostic::new(failure.detail))?;
    }
    let secure = hosts.iter().any(|host| host.starts_with("https:"));
    if secure || client.transport.needs_tls() {
        client.tls.prepare()?;
    } else if !client.transport.is_direct() {
        // Every reqwest client needs this configuration, used or not, and would take the time to make it.
        let _not_needed = client.tls.prepare();
    }
    let target = target(&hosts, &sites);
    let run_config = Arc::new(config.run);
    let plan_version = PlanVersion::new(program, plan, hosts, run_config.clone());
    Ok(PreparedRun {
        run: lgoose_engine::Run {
            plan_version: Arc::new(plan_version),
            config: run_config,
            local: config.local,
            name,
            target,
            client,
            resolver: Arc::new(resolver),
            run_logs: None,
            reservations: None,
        },
        screen: config.screen,
        sites,
        placement: Placement::default(),
        notes,
    })
}

/// Loads the plan of a test and merges the test's options over its own. `seed` is used if neither sets one.
///
/// # Errors
/// A mistake in the plan or in an option.
pub(super) fn resolve(test: TestInput, seed: u64) -> Result<Resolved, Error> {
    if let Some(mistake) = test.mistake {
        return Err(mistake.into());
    }
    let (name, mut typed) = (test.name, test.settings);
    enough_memory(typed.memory)?;
    let (program, mut plan, mut settings) = loading::load(
        &name,
        &test.source,
        test.variables,
        typed.seed,
        seed,
        &test.folder,
        MemoryLimits {
            process: typed.memory,
            data: test.command.data_memory,
        },
    )?;
    places::contain_plan_files(&program, &mut settings, &mut typed, &test.folder)?;
    if test.command.sandbox {
        limit_to_typed_host(&mut typed)?;
    }
    check_hosts_of_plan(&program, &plan, &settings, &typed)?;
    let own_limits = check_own_limits(&settings, &typed);
    own_limits.map_err(|mistake| mistake.at(&name, None, &test.source))?;
    let settings = typed.over(settings);
    // The users of a run may be those of the scenarios that it chooses.
    let chosen = Config::new(settings.clone(), machine::cores(), seed)?.run;
    let left_out = lgoose_plan::select(&mut plan, &chosen)?;
    let mut config = Config::new(with_fixed_users(settings, &plan), machine::cores(), seed)?;
    let notes = left_out.take_thresholds(&mut config.run.thresholds);
    if let Some(show) = test.command.once {
        once(&mut config, &mut plan);
        config.local.show = show;
    }
    fitting_loads(&program, &plan, &config.run)?;
    config.local.paused = test.command.paused;
    config.local.part = test.command.part;
    program.serve_part(config.local.part);
    Ok(Resolved {
        program,
        plan,
        config,
        name,
        notes,
    })
}

/// Sets the users of a run to those that its scenarios state, if all that share its load state some and nothing else says how
/// many there are.
pub(super) fn with_fixed_users(mut settings: Settings, plan: &Plan) -> Settings {
    if !settings.has_load() {
        settings.users = plan.fixed_users();
    }
    settings
}

/// Checks that the loads of the scenarios fit that of the run.
///
/// # Errors
/// Returns a [`Diagnostic`] for an option that would have no effect.
pub(super) fn fitting_loads(
    program: &Program,
    plan: &Plan,
    config: &RunConfig,
) -> Result<(), Diagnostic> {
    if let Some(mistake) = plan.limited_at_a_shared_rate(config) {
        return Err(mistake);
    }
    let useless = plan.run_time_without_effect(config);
    useless.map_or(Ok(()), |mistake| {
        Err(program.at_setting("run_time", mistake))
    })
}

/// Limits requests to the host of the command line, unless that names the hosts.
///
/// # Errors
/// It names none.
fn limit_to_typed_host(typed: &mut Settings) -> Result<(), Error> {
    if typed.allow_host.is_some() {
        return Ok(());
    }
    let host = match typed.host.as_deref() {
        None => None,
        Some(host) if host.starts_with("demo:") => Some("127.0.0.1".to_owned()),
        Some(host) => {
            let url = checked_url(host)?;
            if lgoose_http::is_unix_socket(&url) {
                typed.allow_host = Some(vec![url]);
                return Ok(());
            }
            let url = url::Url::parse(&url).ok();
            url.and_then(|url| Some(url.host_str()?.to_owned()))
        }
    };
    let host = host.ok_or_else(|| {
        Diagnostic::new("'--sandbox' lets a plan send requests only to hosts of the command line, which names none")
            .help("add '--host URL', or '--allow-host HOST' for each of them")
    })?;
    typed.allow_host = Some(vec![host]);
    Ok(())
}

/// Reduces the load to one user for each scenario, all at once, one iteration each.
fn once(config: &mut Config, plan: &mut Plan) {
    for scenario in &mut plan.scenarios {
        scenario.users = Some(1);
        (scenario.load, scenario.iterations) = (None, None);
        scenario.shared_iterations = None;
    }
    config.local.threads = 1;
    let config = &mut config.run;
    config.users = plan.scenarios.len() as u64;
    config.load = Load::Users;
    config.reset_stats = false;
    config.warmup = None;
    config.hatch_rate = f64::INFINITY;
    config.iterations = Some(1);
    config.shared_iterations = None;
    config.run_time = None;
    // One iteration is for looking at, not for judging: thresholds only show whether their rows exist.
    config
        .thresholds
        .retain(|threshold| threshold.name.is_some());
    for threshold in &mut config.thresholds {
        (threshold.during, threshold.after, threshold.abort) = (None, None, false);
    }
    config.co_mitigation = MitigationCadence::Disabled;
    config.co_wanted = false;
}

/// Checks that the part of the load has any users.
fn not_empty(config: &Config) -> Result<(), Diagnostic> {
    if config.local.part.share(config.run.users) > 0 {
        return Ok(());
    }
    let users = lgoose_base::units::counted(config.run.users, "user");
    let message = format!("{} of {users} has none", config.local.part);
    Err(Diagnostic::new(message).help("raise '--users', or cut the load into fewer parts"))
}

/// Checks that the memory limit is above the memory of the process before any user runs.
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

/// Returns the URL of a host as written; starts the built-in site that it names.
pub(super) fn base_url(host: Option<&String>, sites: &mut Sites) -> Result<String, Error> {
    let Some(host) = host else {
        return Err(Diagnostic::new("no host is given")
            .help(
                "name the site with '--host URL', with 'plan { host = \"URL\" }' in the plan, \
                 or with LGOOSE_HOST in the environment; 'demo:drupal', 'demo:umami', 'demo:api', 'demo:llm' and 'demo:redis' are \
                 built-in ones to try",
            )
            .into());
    };
    if let Some(site) = host.strip_prefix("demo:") {
        return sites.url_of(site);
    }
    checked_url(host)
}

/// Checks the hosts that a plan names, without starting anything: its own unless another is typed, and those of its scenarios.
///
/// # Errors
/// The first one that is none, at its line.
pub(super) fn check_hosts_of_plan(
    program: &Program,
    plan: &Plan,
    settings: &Settings,
    typed: &Settings,
) -> Result<(), Error> {
    if let (Some(host), None) = (&settings.host, &typed.host) {
        check_host(host)
            .map_err(|error| placed(error, |mistake| program.at_setting("host", mistake)))?;
    }
    for scenario in &plan.scenarios {
        if let Some(host) = &scenario.host {
            check_host(host).map_err(|error| {
                placed(error, |mistake| {
                    program.at_scenario(&scenario.name, "host", mistake)
                })
            })?;
        }
    }
    Ok(())
}

fn placed(error: Error, place: impl FnOnce(Diagnostic) -> Diagnostic) -> Error {
    match error {
        Error::Mistake(mistake) => place(mistake).into(),
        trouble => trouble,
    }
}

/// Checks a host as given on the command line or in a plan, without starting anything.
pub(super) fn check_host(host: &str) -> Result<(), Error> {
    match host.strip_prefix("demo:") {
        Some(site) => Sites::check(site),
        None => checked_url(host).map(drop),
    }
}

fn checked_url(host: &str) -> Result<String, Error> {
    if let Some(meant) = without_slip(host) {
        return Err(Diagnostic::new(format!(
            "'{}' is not a host: the colon of its scheme is missing or has something else in its place",
            masked_address(host)
        ))
        .help(format!("did you mean '{}'?", masked_address(&meant)))
        .into());
    }
    if let Some((_, rest)) = host.split_once("://unix:") {
        let path = rest.split(':').next().unwrap_or_default();
        return Err(
            Diagnostic::new(format!("'{}' is not a host", masked_address(host)))
                .help(format!(
                    "write a Unix socket as 'unix:{path}'; paths are those of requests"
                ))
                .into(),
        );
    }
    let with_scheme = if host.contains("://") || lgoose_http::is_unix_socket(host) {
        host.to_owned()
    } else {
        format!("http://{host}")
    };
    lgoose_http::check_base(&with_scheme).map_err(|failure| {
        Diagnostic::new(format!(
            "'{}' is not a host: {}",
            masked_address(host),
            failure.detail
        ))
        .help("write a base URL such as 'http://127.0.0.1:8080' or 'https://example.org', or a Unix socket as 'unix:/run/app.sock'")
    })?;
    Ok(with_scheme)
}

/// Returns the host that was meant by one whose scheme is misspelt: `http//x`, `http:/x`, `http;//x`, `http:x`, `//x`.
fn without_slip(host: &str) -> Option<String> {
    let lower = host.to_ascii_lowercase();
    let scheme = ["https", "http", "wss", "ws", "grpcs", "grpc"]
        .into_iter()
        .find(|scheme| lower.starts_with(scheme));
    let (scheme, rest) = match scheme {
        Some(scheme) => (scheme, &host[scheme.len()..]),
        None if host.starts_with("//") => ("http", host),
        None => return None,
    };
    let (signs, rest) = rest.split_at(rest.find(|c| !":;,./\\ ".contains(c))?);
    let is_slip = signs.contains('/') || signs.contains('\\') || signs.contains(';');
    (!signs.starts_with("://") && is_slip).then(|| format!("{scheme}://{rest}"))
}

/// Describes the target: each host once, and a built-in site by its name.
fn target(hosts: &[String], sites: &Sites) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for host in hosts {
        let site = sites.served().find(|(_, url)| url == host);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_without_its_colon_is_no_host() {
        for (host, meant) in [
            ("http//127.0.0.1:1", Some("http://127.0.0.1:1")),
            ("http:/example.org", Some("http://example.org")),
            ("http;//example.org/a", Some("http://example.org/a")),
            ("HTTPS//example.org", Some("https://example.org")),
            ("//example.org", Some("http://example.org")),
            ("http:///example.org", None),
            ("http://example.org", None),
            ("httpbin.org", None),
            ("http.example.org/a", None),
            ("https-proxy:8080", None),
            ("ws:8080", None),
            ("example.org//a", None),
            ("127.0.0.1:8080", None),
        ] {
            assert_eq!(without_slip(host).as_deref(), meant, "{host}");
        }
    }
}
