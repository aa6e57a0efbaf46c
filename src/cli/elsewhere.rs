//! Options that other load testers have and lgoose calls by another name. `words` shows them.

/// Advice for a name or a password of the site.
const CREDENTIALS: &str = "'-e NAME=VALUE' or '--env-file FILE' gives the plan what 'env \"NAME\"' reads; 'user:basic_auth(name, password)' \
                           in the plan is basic authentication";

/// Options of other load testers (ab, artillery, Goose, gocannon, hey, k6, Locust, oha, wrk), those with one advice
/// together, and the advice for each.
pub(super) const ELSEWHERE: [(&[&str], &str); 44] = [
    (
        &["--concurrency"],
        "'-u N' (--users) is the users at a time",
    ),
    (
        &["--users-per-second", "-R"],
        "'--rate N' starts N iterations a second",
    ),
    (
        &["--increase-time", "--ramp-up", "--rampup"],
        "'--startup-time D' starts all users within that time",
    ),
    (
        &["--decrease-time", "--decrease-rate"],
        "'--stage D:0' at the end lets the users go within that time",
    ),
    (
        &["--requests", "-n"],
        "'--shared-iterations N' is how often all users together run the plan",
    ),
    (
        &["--iteration"],
        "'-i N' (--iterations) is how often each user runs the plan",
    ),
    (
        &["--rps", "--qps"],
        "'--throttle-requests N' sends at most that many a second; '--rate N' starts N iterations a second",
    ),
    (
        &["--rate-limit"],
        "'--throttle-requests N' sends at most that many a second",
    ),
    (
        &["--max-vus", "--pre-allocated-vus"],
        "'--max-users N' is the most users of a run at a rate",
    ),
    (
        &["--user"],
        "'-u N' (--users) sets the number of users; for a login name, pass '-e NAME=VALUE' and read it with 'env \"NAME\"'",
    ),
    (&["--username", "--password"], CREDENTIALS),
    (&["--target", "--base-url"], "'-H URL' (--host) is the site"),
    (
        &["--url"],
        "'-H URL' (--host) is the site; 'lgoose URL' loads one page without a plan",
    ),
    (
        &["--headers"],
        "'--header 'NAME: VALUE'' is one header of every request",
    ),
    (
        &["--locustfile", "--script", "--plan", "-f", "-s"],
        "write the plan's path alone, as in 'lgoose plan.lua'",
    ),
    (
        &["--report-file", "--report"],
        "'-o html=FILE' writes the report; so do json, csv, md and others",
    ),
    (
        &["--out", "--summary-export"],
        "'-o json=FILE' writes the report; so do html, csv, md and others",
    ),
    (&["--html"], "'-o html=FILE' writes that report"),
    (&["--csv"], "'-o csv=FILE' writes that report"),
    (&["--json"], "'-o json=FILE' writes that report"),
    (&["--junit"], "'-o junit=FILE' writes that report"),
    (&["--markdown"], "'-o md=FILE' writes that report"),
    (
        &["--transaction-log", "--scenario-log"],
        "'--task-log FILE' has a line for each task",
    ),
    (&["--logfile"], "'--log-file FILE' keeps the log"),
    (
        &["--thresholds"],
        "'--threshold LIMIT' is one limit, such as 'p95 < 300ms'; it may be repeated",
    ),
    (
        &["--scenarios"],
        "'--scenario NAME' is one scenario; it may be repeated",
    ),
    (
        &["--think-time"],
        "'--wait-factor N' stretches the plan's pauses; the plan sets them by 'wait'",
    ),
    (
        &["--no-reset-metrics"],
        "leave it out: what was counted while users start is kept unless '--reset-stats' drops it",
    ),
    (
        &["--insecure-skip-tls-verify"],
        "'--insecure' trusts every certificate",
    ),
    (
        &["--disable-keepalive", "--no-connection-reuse"],
        "'--no-keepalive' opens a connection for each request",
    ),
    (
        &["--http2"],
        "'--http 2' speaks only that; without it, it is spoken where the server offers it over TLS",
    ),
    (
        &["--debug"],
        "'--once --http-debug' shows each request and answer; '-v' (--verbose) shows what plans log",
    ),
    (
        &["--dry-run"],
        "'lgoose check plan.lua' sends nothing; '--once' runs one iteration",
    ),
    (
        &["--expect-workers"],
        "'--workers N' is a run on so many workers",
    ),
    (
        &["--manager", "--master"],
        "'--workers N --nats URL' is a run on workers, each of which is 'lgoose worker URL'",
    ),
    (
        &["--worker"],
        "'lgoose worker URL' is a worker, and '--workers N --nats URL' a run on some",
    ),
    (
        &["--web-port", "--web-host"],
        "'--web ADDRESS:PORT' serves the run's page there",
    ),
    (
        &["--no-telnet", "--no-websocket"],
        "leave it out: nothing listens unless '--web' says so",
    ),
    (&["-b"], "'--body TEXT' is the body of the request to a URL"),
    (
        &["-m", "-X"],
        "'--method METHOD' is the method of the request to a URL",
    ),
    (
        &["-T"],
        "'--header 'Content-Type: …'' is a header of every request",
    ),
    (&["-z"], "'-t D' (--run-time) is how long it runs"),
    (
        &["-k"],
        "connections are kept anyway; '--insecure' trusts every certificate",
    ),
    (
        &["-p"],
        "'--body @FILE' is the body of the request to a URL; '--web ADDRESS:PORT' serves the run's page",
    ),
];
