//! The command from flags to exit code; the only file that knows everyone.

use crate::cli::{self, Cli};
use crate::config::{Config, Format, Output, Settings};
use crate::control::Command;
use crate::demo::{Behaviour, Demo, Site};
use crate::engine::{self, Ending, Outcome};
use crate::error::{Diagnostic, Error, exit, nearest};
use crate::lua::{self, Program};
use crate::metrics::{Report, Snapshot};
use crate::output;
use crate::plan::{self, Plan};
use crate::units;
use clap::{CommandFactory as _, Parser as _};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::MISTAKE } else { exit::OK };
            // Nothing is left to tell if the terminal is gone.
            let _gone = error.print();
            return code.into();
        }
    };
    start_log(cli.run.verbose, cli.run.quiet);
    let backtrace = cli.run.backtrace || matches!(cli.command, Some(cli::Command::Check { backtrace: true, .. }));
    match dispatch(cli) {
        Ok(code) => code.into(),
        Err(error) => {
            complain(&error, backtrace);
            error.exit_code().into()
        }
    }
}

fn dispatch(cli: Cli) -> Result<u8, Error> {
    match cli.command {
        Some(cli::Command::Check { plan, .. }) => check(&plan),
        Some(cli::Command::Demo(demo)) => serve(&demo),
        None => match &cli.run.plan {
            Some(plan) => run(plan, &cli.run),
            None => {
                let mut help = Cli::command();
                say(&help.render_help().to_string())?;
                Ok(exit::MISTAKE)
            }
        },
    }
}

/// Everything a run needs, put together from the plan and the flags.
struct Prepared {
    program: Arc<Program>,
    plan: Plan,
    config: Config,
    name: String,
    hosts: Vec<String>,
    headers: http::HeaderMap,
    /// The built-in sites that run for this test.
    demos: Vec<(String, Demo)>,
}

fn run(path: &Path, flags: &cli::Run) -> Result<u8, Error> {
    let prepared = prepare(path, flags)?;
    raise_descriptor_limit();
    for (name, demo) in &prepared.demos {
        tell(flags, &format!("{name} is served at {} for this run", demo.url()))?;
    }
    tell(flags, &announcement(&prepared))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Trouble(format!("cannot start the runtime: {error}")))?;
    let outcome = runtime.block_on(drive(prepared, flags))?;
    conclude(&outcome, flags)
}

fn prepare(path: &Path, flags: &cli::Run) -> Result<Prepared, Error> {
    let (name, source) = lua::read(path)?;
    let seed = flags.seed.unwrap_or_else(|| rand::random::<u32>().into());
    let variables = flags.env.iter().cloned().collect();
    let (program, plan, settings) = load(&name, &source, variables, flags, seed)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let config = Config::new(flags.settings().over(settings), cores, seed)?;
    let headers = headers(&config)?;
    let mut demos = Vec::new();
    let hosts = plan
        .scenarios
        .iter()
        .map(|scenario| base_url(scenario.host.as_ref().or(config.host.as_ref()), &mut demos))
        .collect::<Result<_, Error>>()?;
    Ok(Prepared {
        program,
        plan,
        config,
        name,
        hosts,
        headers,
        demos,
    })
}

/// Loads the plan; once more if it sets the seed itself, so that its top level sees that seed too.
fn load(
    name: &str,
    source: &str,
    variables: std::collections::BTreeMap<String, String>,
    flags: &cli::Run,
    seed: u64,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    let loaded = lua::load(name, source, variables.clone(), seed)?;
    match (flags.seed, loaded.2.seed) {
        (None, Some(planned)) if planned != seed => lua::load(name, source, variables, planned),
        _ => Ok(loaded),
    }
}

/// The URL behind a host as written; starts the built-in site that it names.
fn base_url(host: Option<&String>, demos: &mut Vec<(String, Demo)>) -> Result<String, Error> {
    let Some(host) = host else {
        return Err(Diagnostic::new("no host is given")
            .help(
                "name the site with '--host URL', with 'plan { host = \"URL\" }' in the plan, \
                 or with LGOOSE_HOST in the environment; 'demo:drupal' is a built-in one to try",
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

fn site_named(name: &str) -> Result<Site, Error> {
    Site::from_name(name).ok_or_else(|| {
        let near = nearest(name, Site::NAMES.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        Diagnostic::new(format!("there is no built-in site '{name}'"))
            .help(format!("{hint}sites: {}", Site::NAMES.join(", ")))
            .into()
    })
}

fn headers(config: &Config) -> Result<http::HeaderMap, Error> {
    let mut map = http::HeaderMap::new();
    let agent = concat!("lgoose/", env!("CARGO_PKG_VERSION"));
    map.insert(http::header::USER_AGENT, http::HeaderValue::from_static(agent));
    map.insert(http::header::ACCEPT, http::HeaderValue::from_static("*/*"));
    for (name, value) in &config.headers {
        let bad = || Diagnostic::new(format!("'{name}: {value}' in 'headers' of plan is not a header"));
        let name = http::HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        map.insert(name, http::HeaderValue::try_from(value.as_str()).map_err(|_| bad())?);
    }
    Ok(map)
}

/// Runs the test, obeys signals and prints the running figures.
async fn drive(prepared: Prepared, flags: &cli::Run) -> Result<Outcome, Error> {
    let (commands, obeyed) = mpsc::unbounded_channel();
    let (snapshots, pictures) = watch::channel(None);
    let users = prepared.config.users;
    let run = engine::Run {
        program: prepared.program,
        plan: Arc::new(prepared.plan),
        config: Arc::new(prepared.config),
        hosts: prepared.hosts,
        name: prepared.name,
        headers: prepared.headers,
    };
    let outcome = tokio::select! {
        outcome = engine::run(run, obeyed, snapshots) => outcome,
        error = listen(commands) => Err(error),
        error = report_progress(pictures, users, flags) => Err(error),
    };
    drop(prepared.demos);
    outcome
}

/// Turns Ctrl-C and SIGTERM into commands: the first stops, the second aborts. Ends only with an error.
async fn listen(commands: mpsc::UnboundedSender<Command>) -> Error {
    use tokio::signal::unix::{SignalKind, signal};
    let cannot = |error: std::io::Error| Error::Trouble(format!("cannot listen for Ctrl-C: {error}"));
    let (mut interrupt, mut terminate) = match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
        (Err(error), _) | (_, Err(error)) => return cannot(error),
    };
    let mut command = Command::Stop;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if command == Command::Stop {
            tracing::info!("stopping: running tasks finish, press Ctrl-C again to abort them");
        }
        // The run may be over already.
        let _over = commands.send(command);
        command = Command::Abort;
    }
}

/// A line when all users have started and one every `--running-metrics`. Ends only with an error.
async fn report_progress(
    mut pictures: watch::Receiver<Option<Arc<Snapshot>>>,
    users: u64,
    flags: &cli::Run,
) -> Error {
    if flags.quiet || flags.only_summary || writes_to_stdout(flags) {
        return std::future::pending().await;
    }
    let every = flags.running_metrics;
    let mut next = (!every.is_zero()).then_some(every);
    let mut started = false;
    loop {
        if pictures.changed().await.is_err() {
            return std::future::pending().await;
        }
        let Some(picture) = pictures.borrow_and_update().clone() else { continue };
        if !started && picture.users == users {
            started = true;
            if let Err(error) = say(&output::text::started_line(users, picture.elapsed)) {
                return error;
            }
        }
        if let Some(due) = next.filter(|due| picture.elapsed >= *due) {
            next = Some(due + every);
            if let Err(error) = say(&output::text::progress_line(&picture)) {
                return error;
            }
        }
    }
}

/// What is about to happen: `plans/drupal.lua: 12 users, 1/s, for 30s`.
fn announcement(prepared: &Prepared) -> String {
    let config = &prepared.config;
    let users = match config.users {
        1 => "1 user".to_owned(),
        users => format!("{} users", units::show_count(users)),
    };
    let span = match (config.run_time, config.iterations) {
        (Some(time), _) => format!("for {}", units::show_long(time)),
        (None, Some(1)) => "for 1 iteration each".to_owned(),
        (None, Some(iterations)) => format!("for {} iterations each", units::show_count(iterations)),
        (None, None) => "until Ctrl-C".to_owned(),
    };
    let rate = match config.hatch_rate {
        rate if rate.is_finite() => format!("{rate} started per second"),
        _ => "all started at once".to_owned(),
    };
    format!("{}: {users}, {rate}, {span}", prepared.name)
}

/// Prints the tables, writes the outputs and gives the verdict.
fn conclude(outcome: &Outcome, flags: &cli::Run) -> Result<u8, Error> {
    let report = &outcome.report;
    let mut written = Ok(());
    for output in &flags.output {
        written = written.and(write_output(output, report));
    }
    if !flags.quiet && !writes_to_stdout(flags) {
        let options = output::text::TableOptions {
            status_codes: flags.status_codes,
        };
        say(&output::text::tables(report, terminal_width(), options))?;
    }
    written?;
    if let Some(trouble) = &outcome.trouble {
        complain(trouble, flags.backtrace);
        return Ok(trouble.exit_code());
    }
    Ok(verdict(outcome, flags.fail_on_error))
}

fn verdict(outcome: &Outcome, fail_on_error: bool) -> u8 {
    let all = &outcome.report.aggregated;
    let task_failures: u64 = outcome.report.tasks.iter().map(|task| task.failures).sum();
    if outcome.ending == Ending::Aborted {
        return exit::ABORTED;
    }
    let nothing_succeeded = all.failures == all.count;
    if nothing_succeeded {
        let why = match all.count {
            0 => "no request was made",
            _ => "not one request succeeded",
        };
        complain(&Error::Trouble(why.to_owned()), false);
    }
    match nothing_succeeded || (fail_on_error && all.failures + task_failures > 0) {
        true => exit::VERDICT,
        false => exit::OK,
    }
}

fn write_output(output: &Output, report: &Report) -> Result<(), Error> {
    let text = match output.format {
        Format::Json => output::json::to_json(report)?,
    };
    match &output.path {
        None => put(&text),
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Error::Trouble(format!("cannot write the report to '{}': {error}", path.display()))
        }),
    }
}

fn check(path: &Path) -> Result<u8, Error> {
    let (name, source) = lua::read(path)?;
    let (_, plan, _) = lua::load(&name, &source, std::collections::BTreeMap::new(), 0)?;
    say(&format!("{name} is fine\n\n{}", plan::outline(&plan)))?;
    Ok(exit::OK)
}

fn serve(flags: &cli::Demo) -> Result<u8, Error> {
    let behaviour = Behaviour {
        latency: flags.latency,
        jitter: flags.jitter,
        errors: flags.errors,
    };
    let site = site_named(&flags.site)?;
    raise_descriptor_limit();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let demo = Demo::start(site, flags.port, behaviour, threads)?;
    say(&format!("demo:{} is served at {}; Ctrl-C ends it", flags.site, demo.url()))?;
    demo.wait();
    Ok(exit::OK)
}

/// Users times connections need descriptors; the soft limit is often 1,024.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // What cannot be raised shows as 'out of descriptors' where it matters.
    let _refused = setrlimit(Resource::Nofile, raised);
}

fn start_log(verbose: bool, quiet: bool) {
    let level = match (verbose, quiet) {
        (true, _) => tracing::Level::DEBUG,
        (false, true) => tracing::Level::ERROR,
        (false, false) => tracing::Level::INFO,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .init();
}

fn terminal_width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| size.ws_col);
    match columns {
        0 => output::text::PLAIN_WIDTH,
        columns => columns.into(),
    }
}

fn tell(flags: &cli::Run, line: &str) -> Result<(), Error> {
    match flags.quiet || writes_to_stdout(flags) {
        true => Ok(()),
        false => say(line),
    }
}

/// Whether standard output belongs to a report that another program reads.
fn writes_to_stdout(flags: &cli::Run) -> bool {
    flags.output.iter().any(|output| output.path.is_none())
}

fn say(text: &str) -> Result<(), Error> {
    put(&format!("{}\n", text.trim_end_matches('\n')))
}

fn put(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever read has gone, as in `lgoose … | head`: the run goes on for its other outputs.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Error::Trouble(format!("cannot write to standard output: {error}"))),
    }
}

fn complain(error: &Error, backtrace: bool) {
    let mut out = std::io::stderr().lock();
    let stack = match error {
        Error::Mistake(diagnostic) if backtrace => diagnostic.backtrace_text(),
        _ => None,
    };
    // Nothing is left to tell if standard error is gone.
    let _gone = match stack {
        Some(stack) => writeln!(out, "{error}\nstack:{stack}"),
        None => writeln!(out, "{error}"),
    };
}
