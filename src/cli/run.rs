//! Options of `lgoose PLAN`, grouped as the help shows them. An option that a plan may set too is a line of
//! [`Run::settings`].

use super::load::LoadArgs;
use super::masked;
use super::one_request::OneRequest;
use super::outputs::OutputArgs;
use super::values::{some, threads, threshold, variable, variable_name};
use clap::Args;
use lgoose_base::threshold::Threshold;
use lgoose_base::units;
use lgoose_plan::config::{
    ClientKind, ConnectionLifetime, DiscardedBodies, Http, Pin, Proxy, Settings, SummaryExtent,
    address, read_connections_per_host, read_max_redirects,
};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The help of `--client`.
const CLIENT: &str = "\
The HTTP client [default: direct, or reqwest with --proxy]

direct is lgoose's own client. reqwest is the library of that name: it can use proxies, and takes about twice \
the processor time per request. Cookies, redirects, timeouts, retries and decoding are the same with both.

With reqwest, 'connect' includes the TLS handshake and the exchange with the proxy, and 'first_byte' includes \
sending; bytes are those of bodies and decoded heads. Expect: 100-continue does not wait. A Host header set by the \
plan needs HTTP/1.1. A head may have 100 fields. A user that sends requests in parallel may open one \
connection more than it needs. If a request over HTTP/2 gets no response, the user opens a new connection. A response \
to a large body that comes early, such as 413, may be lost, and the lines of chunks must end with CR LF. A site that \
sends interim responses without end holds up other users of the same thread until the request times out.";

/// The help of `--proxy`.
const PROXY: &str = "\
Send everything through this proxy: http://, https://, socks5:// or socks5h://[USER:PASSWORD@]HOST:PORT

With socks5, lgoose looks up names itself, and --resolve applies; with the others, the proxy does, and a request that \
--resolve concerns fails. 'env' uses \
HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; otherwise they are ignored, so that you do not measure a proxy by \
accident. 'none' overrides the proxy of a plan. A proxy implies --client reqwest.";

/// Arguments of `lgoose PLAN`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The plan, a Lua file; '-' reads it from standard input. A URL stands for a plan that requests it, a file with a URL
    /// or 'METHOD URL' on each line for one that requests them in their order
    #[arg(value_name = "PLAN.lua | URL | URLS.txt")]
    pub plan: Option<PathBuf>,
    /// Options of the load: users or iterations over time.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Options of the target and of how it is reached.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Options of the request to a URL that stands for a plan.
    #[command(flatten)]
    pub request: OneRequest,
    /// Options of the screen, during the run and at its end.
    #[command(flatten)]
    pub screen: ScreenArgs,
    /// Options that write files.
    #[command(flatten)]
    pub outputs: OutputArgs,
    /// Options that make the exit code 1.
    #[command(flatten)]
    pub verdict: VerdictArgs,
    /// Options of a run whose users are on other machines.
    #[command(flatten)]
    pub gaggle: super::GaggleArgs,
    /// Options of a run that is served over HTTP.
    #[command(flatten)]
    pub web: super::WebArgs,
    /// How long that server outlives the run.
    #[command(flatten)]
    pub linger: super::LingerArgs,
    /// Options of a run that is exported while it goes on.
    #[command(flatten)]
    pub export: super::ExportArgs,
    /// Options of the traces of requests.
    #[command(flatten)]
    pub traces: super::TraceArgs,
    /// Options for the resources that lgoose itself may use.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Options of the target and of how it is reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetArgs {
    /// The site's base URL, 'unix:/run/app.sock', or 'demo:drupal', 'demo:umami', 'demo:api', 'demo:llm' or 'demo:redis' for a built-in one
    #[arg(short = 'H', long, value_name = "URL")]
    pub host: Option<String>,
    /// A request's timeout [default: 60s]
    #[arg(long, value_name = "D", value_parser = units::timeout)]
    pub timeout: Option<Duration>,
    /// The largest response body that is read [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub max_body: Option<u64>,
    /// Use only this HTTP version: 1.1 or 2 [default: 2 where the server offers it over TLS]
    #[arg(long, value_name = "VERSION", value_parser = Http::parse)]
    pub http: Option<Http>,
    /// The HTTP client: direct, or reqwest, which takes more CPU and can use proxies [default: direct]
    #[arg(long, value_name = "CLIENT", value_parser = ClientKind::parse, long_help = CLIENT)]
    pub client: Option<ClientKind>,
    /// Send everything through this proxy, with --client reqwest; env: the proxy from the environment
    #[arg(long, value_name = "URL", value_parser = masked::url(Proxy::parse), long_help = PROXY)]
    pub proxy: Option<Proxy>,
    /// Trust every certificate
    #[arg(long)]
    pub insecure: bool,
    /// Trust the certificates in this file (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Client certificate (PEM) for servers that ask for one
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Its private key (PEM) [default: in the file of --cert]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Use this address for a host and port instead of asking DNS (repeatable)
    ///
    /// As in curl: '*' is every host, the host may be an address, too, and commas separate several addresses.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = Pin::parse)]
    pub resolve: Vec<Pin>,
    /// Repeat DNS lookups after this time [default: once per run]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub dns_ttl: Option<Duration>,
    /// With the URL of a WebSocket: offer this subprotocol (repeatable)
    #[arg(long, value_name = "ID")]
    pub subprotocol: Vec<String>,
    /// Connect from this local address; from several in turns (repeatable, or with commas)
    #[arg(long, value_name = "IP", value_parser = address, value_delimiter = ',')]
    pub local_address: Vec<IpAddr>,
    /// Open a new connection for each request
    #[arg(long)]
    pub no_keepalive: bool,
    /// Keep no cookies
    #[arg(long)]
    pub no_cookies: bool,
    /// Follow this many redirects; the next one is the response [default: 10, and one more is a failure]
    #[arg(long, value_name = "N", value_parser = read_max_redirects)]
    pub max_redirects: Option<u32>,
    /// Send the page as Referer when requesting its links, forms and assets, as browsers do [default: true]
    #[arg(long, value_name = "BOOL")]
    pub referer: Option<bool>,
    /// Give each user a cache like a browser's
    #[arg(long)]
    pub cache: bool,
    /// How long users keep their connections: user (their whole life) or iteration [default: user]
    #[arg(long, value_name = "SPAN", value_parser = ConnectionLifetime::parse)]
    pub connections: Option<ConnectionLifetime>,
    /// The most connections of a user to one host at the same time [default: 6, as in browsers]
    #[arg(long, value_name = "N", value_parser = read_connections_per_host)]
    pub connections_per_host: Option<u32>,
    /// Count bodies without keeping them: successful (a status below 400) or all
    ///
    /// The body of a request is kept if it expects something of it or says so itself.
    #[arg(long, value_name = "BODIES", value_parser = DiscardedBodies::parse)]
    pub discard: Option<DiscardedBodies>,
    /// After a redirect to another host, let the user continue there
    #[arg(long)]
    pub sticky_follow: bool,
    /// Send requests to these hosts only, '*' for any text (repeatable)
    ///
    /// Requests to other hosts fail. Hosts are compared by name, so '--resolve' and '--proxy' are refused beside it.
    /// A Unix socket has to be named as the plan names it, such as unix:/run/app.sock.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Restrict a plan that somebody else wrote to what the command line allows
    ///
    /// It sends requests only to the host of '--host' or those of '--allow-host', reads no variable of the environment
    /// except those of '--env-allow', and writes no file that only the plan names.
    #[arg(long, conflicts_with = "allow_files")]
    pub sandbox: bool,
}

/// Options of the screen, during the run and at its end.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Screen")]
pub(crate) struct ScreenArgs {
    /// With --once: show headers and bodies, too; with -v the whole of long bodies
    #[arg(long)]
    pub http_debug: bool,
    /// Print the plan's scenarios and tasks, one per line; run nothing
    #[arg(short, long)]
    pub list: bool,
    /// Print lines instead of the live view, which is the default on a terminal
    #[arg(long)]
    pub headless: bool,
    /// Close the live view when the run is over
    ///
    /// By default, it stays open with all its pages until you press 'q'. Ctrl-C closes it in any case.
    #[arg(long)]
    pub exit: bool,
    /// Reload the plan whenever it or a file that it reads has changed
    ///
    /// Each user takes the new plan at its next iteration: its on_stop runs, then the new on_start. The figures start
    /// anew; the report keeps the earlier ones. If the plan has a mistake, lgoose shows it and changes nothing.
    /// test_start does not run again, and only the thresholds of 'plan {}' are taken over. In the live view, 'r' reloads
    /// once.
    #[arg(long, conflicts_with_all = ["once", "list"])]
    pub watch: bool,
    /// Use no colours, like NO_COLOR in the environment
    #[arg(long)]
    pub no_color: bool,
    /// Write the log to this file, too
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Show neither the live view nor running figures, only the tables at the end
    #[arg(long)]
    pub only_summary: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Show what plans log, including level 'debug'
    #[arg(short, long)]
    pub verbose: bool,
    /// Show the table of status codes even if all are the same
    #[arg(long)]
    pub status_codes: bool,
    /// How much the tables at the end show: short, one screen, or full [default: short]
    ///
    /// 'full' adds percentiles, status codes, tasks, scenarios, the slowest requests and more figures. A report
    /// ('-o html=FILE') always has them.
    #[arg(long, value_name = "EXTENT", value_parser = SummaryExtent::parse)]
    pub summary: Option<SummaryExtent>,
    /// How often to print the running figures [default: 10s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub running_metrics: Option<Duration>,
    /// Show the plan's call stack with errors, also with those of tasks in the table of errors
    #[arg(long)]
    pub backtrace: bool,
}

/// Options that make the exit code 1.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Verdict")]
pub(crate) struct VerdictArgs {
    /// A limit, such as 'p95 < 300ms' or 'GET /cart: max < 1s' (repeatable)
    ///
    /// [NAME:] FIGURE < LIMIT [during D] [abort] [after D]. NAME is a row of the report ('GET /cart', also
    /// without the method, 'task log in'), a check, a custom metric, or 'checks' for all checks. Without NAME, the limit
    /// applies to all requests. The last colon ends NAME. FIGURE: p50 p75 p90 p95 p98 p99 p99.9 p99.99 avg min max
    /// failures rate count checks value. Comparisons: < <= > >=. Units: us ms s % /s, none for numbers. 'during 30s'
    /// judges every 30 s instead of the whole run. 'abort' stops the run when the limit is broken. 'after 30s' leaves the
    /// first 30 s out of both.
    ///
    /// Replaces those of the plan.
    #[arg(long, value_name = "LIMIT", value_parser = threshold)]
    pub threshold: Vec<Threshold>,
    /// Exit with 1 if any request, task or check failed, or test_stop raised an error or took too long
    #[arg(long)]
    pub fail_on_error: bool,
    /// Exit with 1 if lgoose itself was the bottleneck for a second or more
    #[arg(long)]
    pub fail_on_saturation: bool,
    /// With thresholds: exit with 0 even if the run was stopped before its planned end, if it passed so far
    ///
    /// By default, a run with thresholds exits with 1 if it ends before its time, stages or iterations are over: by
    /// Ctrl-C, from the live view, or because the plan ended all its users. A threshold that failed until then still fails.
    #[arg(long)]
    pub allow_short: bool,
}

/// Options for the resources that lgoose itself may use.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// Threads that drive users [default: number of cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// A variable for the plan's env() (repeatable)
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// A file with variables, one NAME=VALUE per line; --env takes precedence
    #[arg(long, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// Let the plan's env() read only these variables of the environment (comma-separated) [default: all]
    ///
    /// The plan sees all others as not set; '' hides all of them. It can always read the variables of --env and --env-file. 'lgoose check'
    /// lists the variables that a plan reads by name.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = variable_name)]
    pub env_allow: Vec<String>,
    /// Memory that lgoose may use, all users together [default: most of the machine's]
    ///
    /// A run that uses more ends at once, with its report and exit code 3. The default is nine tenths of what the machine
    /// or its control group has, but no more than what is free when the run begins; less where that is little, or where
    /// 'ulimit -v' limits it.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub memory: Option<u64>,
    /// Memory that the data files of the plan may take together [default: what is left of --memory]
    ///
    /// A plan whose files take more is not run. This counts while they are read, for what 'data', 'file' and 'grpc.load' keep
    /// and for what they need on the way. 'lgoose check' shows how much that is.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub data_memory: Option<u64>,
    /// Memory that a user's VM may use [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub lua_memory: Option<u64>,
    /// How long the Lua code of a task may run without waiting [default: 1s]
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub lua_time: Option<Duration>,
}

impl RunArgs {
    /// The URL, if one stands where the plan would.
    pub(crate) fn url(&self) -> Option<&str> {
        let text = self.plan.as_ref()?.to_str()?;
        let starts = [
            "http://", "https://", "ws://", "wss://", "grpc://", "grpcs://", "demo:",
        ];
        starts
            .iter()
            .any(|start| text.starts_with(start))
            .then_some(text)
    }

    /// The options that a plan may also set, as one layer.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            host: self.target.host.clone(),
            users: self.load.users,
            hatch_rate: self.load.hatch_rate,
            startup_time: self.load.startup_time,
            run_time: self.load.run_time,
            stages: some(&self.load.stage),
            test_plan: self.load.test_plan.clone().map(|plan| plan.0),
            load: None,
            rate: self.load.rate,
            max_users: self.load.max_users,
            arrivals: self.load.arrivals,
            iterations: self.load.iterations,
            shared_iterations: self.load.shared_iterations,
            throttle_requests: self.load.throttle_requests,
            wait_factor: self.load.wait_factor,
            scenarios: some(&self.load.scenario),
            tags: some(&self.load.tags),
            exclude_tags: some(&self.load.exclude_tags),
            warmup: self.load.warmup,
            reset_stats: self.load.reset_stats.then_some(true),
            stop_timeout: self.load.stop_timeout,
            setup_timeout: self.load.setup_timeout,
            teardown_timeout: self.load.teardown_timeout,
            timeout: self.target.timeout,
            max_body: self.target.max_body,
            headers: (!self.request.header.is_empty())
                .then(|| self.request.header.iter().cloned().collect()),
            http: self.target.http,
            client: self.target.client,
            proxy: self.target.proxy.clone(),
            allow_host: some(&self.target.allow_host),
            insecure: self.target.insecure.then_some(true),
            ca: self.target.ca.clone().map(Into::into),
            cert: self.target.cert.clone().map(Into::into),
            key: self.target.key.clone().map(Into::into),
            resolve: (!self.target.resolve.is_empty()).then(|| self.target.resolve.clone()),
            dns_ttl: self.target.dns_ttl,
            local_address: (!self.target.local_address.is_empty())
                .then(|| self.target.local_address.clone()),
            no_keepalive: self.target.no_keepalive.then_some(true),
            no_cookies: self.target.no_cookies.then_some(true),
            max_redirects: self.target.max_redirects,
            referer: self.target.referer,
            cache: self.target.cache.then_some(true),
            connections: self.target.connections,
            connections_per_host: self.target.connections_per_host,
            discard: self.target.discard,
            sticky_follow: self.target.sticky_follow.then_some(true),
            trace: self.traces.trace.then_some(true),
            trace_sample: self.traces.trace_sample,
            co_mitigation: self.outputs.co_mitigation,
            request_names: self.outputs.request_names,
            no_intervals: self.outputs.no_intervals.then_some(true),
            thresholds: (!self.verdict.threshold.is_empty())
                .then(|| self.verdict.threshold.clone()),
            fail_on_error: self.verdict.fail_on_error.then_some(true),
            fail_on_saturation: self.verdict.fail_on_saturation.then_some(true),
            allow_short: self.verdict.allow_short.then_some(true),
            only_summary: self.screen.only_summary.then_some(true),
            status_codes: self.screen.status_codes.then_some(true),
            summary: self.screen.summary,
            running_metrics: self.screen.running_metrics,
            request_log: self.outputs.request_log.clone(),
            task_log: self.outputs.task_log.clone(),
            error_log: self.outputs.error_log.clone(),
            debug_log: self.outputs.debug_log.clone(),
            request_log_sorted: self.outputs.request_log_sorted.then_some(true),
            seed: self.load.seed,
            threads: self.machine.threads,
            memory: self.machine.memory,
            lua_memory: self.machine.lua_memory,
            lua_time: self.machine.lua_time,
        }
    }
}
