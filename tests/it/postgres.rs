//! `require "lgoose.postgres"` against a real PostgreSQL (Debian: `apt-get install postgresql`); without one a test says "skipped" and
//! passes, and fails with `LGOOSE_NEED_POSTGRES=1`. What was sent and how often is judged by the server: by its casts, `psql`, its log
//! and its statistics. What no server would send comes from one that is made here.

use crate::program::{Lgoose, empty_folder, plan, process_id, scratch, signal, wait_until};
use crate::report::{Report, iterate_at, run};
use crate::secure::Authority;
use crate::skipping::skip_unless_needed;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// Who may connect, and how each says who it is.
const LOGINS: &str = "
host all postgres,trusted 127.0.0.1/32 trust
host all plain 127.0.0.1/32 password
host all digest 127.0.0.1/32 md5
host all scram,nobody 127.0.0.1/32 scram-sha-256
hostssl all secure 127.0.0.1/32 scram-sha-256
host all refused 127.0.0.1/32 reject
";

const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_utility = on
log_connections = on
timezone = 'UTC'
";

/// A running server; ended when this is dropped.
struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    server: Child,
}

/// Returns the folder of the newest `postgres` of this machine.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.filter_map(|version| Some(version.ok()?.path()));
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.max_by_key(number).map(|path| path.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = newest.into_iter().chain(std::env::split_paths(&path));
    folders.find(|folder| folder.join("initdb").is_file() && folder.join("psql").is_file())
}

/// Returns the numbers of the user and the group that the server runs as: it refuses to run as root.
fn account() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| {
        let ended = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8_lossy(&ended.stdout)
            .trim()
            .parse::<u32>()
            .ok()
    };
    if id(&["-u"])? != 0 {
        return None;
    }
    let of = |name| Some((id(&["-u", name])?, id(&["-g", name])?));
    of("postgres").or_else(|| of("nobody"))
}

/// A program that runs as the server does.
fn as_server(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    if let Some((user, group)) = account() {
        command.uid(user).gid(group);
    }
    command
}

impl Postgres {
    /// Starts one without any data; `None` if this machine has none.
    fn start(name: &str) -> Option<Postgres> {
        let Some(programs) = programs() else {
            skip_unless_needed(
                "LGOOSE_NEED_POSTGRES",
                "tests of PostgreSQL",
                "postgres and psql ('apt-get install postgresql')",
            );
            return None;
        };
        let name = format!("postgres_{name}");
        let folder = match account() {
            None => empty_folder(&name),
            // The server may not reach the folder of tests.
            Some((user, group)) => {
                let name = format!("lgoose_{name}_{}", std::process::id());
                let folder = std::env::temp_dir().join(name);
                fs::create_dir(&folder).expect("the folder is new");
                chown(&folder, Some(user), Some(group)).expect("root may");
                folder
            }
        };
        let made = as_server(&programs.join("initdb"), &folder)
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8"])
            .args(["--locale=C", "--no-sync"])
            .output()
            .expect("it was found");
        assert!(made.status.success(), "{made:?}");
        fs::write(folder.join("data/pg_hba.conf"), LOGINS).expect("it is ours");
        let settings = OpenOptions::new()
            .append(true)
            .open(folder.join("data/postgresql.conf"));
        let written = settings.and_then(|mut file| file.write_all(SETTINGS.as_bytes()));
        written.expect("it is ours");
        // Who else takes the port meanwhile makes the server end.
        for _ in 0..20 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
            let port = free.expect("a port").port();
            let mut postgres = Postgres {
                server: launch(&programs, &folder, port),
                folder: folder.clone(),
                programs: programs.clone(),
                port,
            };
            if postgres.is_up() {
                postgres.psql("create extension pg_stat_statements");
                return Some(postgres);
            }
        }
        panic!("no port is free");
    }

    /// Waits until it is there; false if it has ended.
    fn is_up(&mut self) -> bool {
        let folder = self.folder.join("data").display().to_string();
        let mut ended = false;
        wait_until("the server is there", || {
            ended = self.has_ended();
            ended || self.psql("show data_directory") == folder
        });
        !ended
    }

    fn has_ended(&mut self) -> bool {
        self.server.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// Runs statements, and returns what they print: a line for each row, without the last line's end.
    fn psql(&self, sql: &str) -> String {
        let ended = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-U", "postgres"])
            .args(["-p", &self.port.to_string(), "-d", "postgres", "-c", sql])
            .stdin(Stdio::null())
            .output()
            .expect("it was found");
        String::from_utf8_lossy(&ended.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }

    /// Returns a number that a query yields.
    fn count(&self, sql: &str) -> u64 {
        let text = self.psql(sql);
        text.parse().unwrap_or_else(|_| panic!("{sql}: '{text}'"))
    }

    /// Ends it, and all connections with it.
    fn stop(&mut self, by: Signal) {
        if !self.has_ended() {
            signal(process_id(&self.server), by);
        }
        wait_until("the server ends", || self.has_ended());
    }

    /// Gives it a file that nobody else may read.
    fn receive(&self, from: &str, to: &str) {
        let to = self.folder.join("data").join(to);
        fs::copy(from, &to).expect("it is ours");
        fs::set_permissions(&to, Permissions::from_mode(0o600)).expect("it is ours");
        if let Some((user, group)) = account() {
            chown(&to, Some(user), Some(group)).expect("root may");
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).expect("it was made")
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn launch(programs: &Path, folder: &Path, port: u16) -> Child {
    let log = fs::File::create(folder.join("log")).expect("the folder takes a file");
    as_server(&programs.join("postgres"), folder)
        .args(["-D", "data", "-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("it was found")
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop(Signal::QUIT);
        } else if !self.has_ended() {
            signal(process_id(&self.server), Signal::QUIT);
            let _gone = self.server.wait();
        }
        if account().is_some() {
            let _gone = fs::remove_dir_all(&self.folder);
        }
    }
}

fn row_counts(report: &Report, row: &str) -> (u64, u64) {
    (report.count(row), report.failures(row))
}

#[test]
fn queries_have_the_results_that_the_server_gives() {
    let Some(postgres) = Postgres::start("queries") else {
        return;
    };
    let report = iterate_at("tests/lua/postgres.lua", &postgres.url(), 1, 2, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let calls = |pattern: &str| {
        postgres.count(&format!(
            "select coalesce(sum(calls), 0) from pg_stat_statements where query like '{pattern}'"
        ))
    };
    let kinds = report.count("SQL kind");
    assert!(kinds > 100, "{kinds}");
    assert_eq!(
        calls("select $1::% as value, ($1::%)::text as shown"),
        kinds
    );
    assert_eq!(report.count("TCP nobody"), 1);
    assert_eq!(report.failures("SQL kind"), 0);
    assert_eq!(report.task("serial"), (2, 0));
}

/// What psql shows of values that a plan has written.
#[test]
fn parameters_arrive_as_psql_shows_them() {
    let Some(postgres) = Postgres::start("parameters") else {
        return;
    };
    postgres.psql("create table kept (n serial, a text, i int8, f float8, d numeric, b bool, y bytea, j jsonb)");
    let text = r#"local postgres = require "lgoose.postgres"
        task { function(user)
          local db = postgres.connect(user)
          local function keep(...)
            assert(db:query("insert into kept (a, i, f, d, b, y, j) values ($1, $2, $3, $4, $5, $6, $7)", table.pack(...)))
          end
          keep("grün 🦆 'x' \"y\" \\ $1", math.mininteger, 0.1 + 0.2, 12.5, true, postgres.bytes "\0\xff", json.encode { a = { 1, 2 } })
          keep("", 0, -math.huge, "1e-30", false, "", "null")
          keep(nil, nil, 0 / 0, nil, nil, nil, nil)
          keep("two\nlines\t", 2 ^ 40, 5e-324, 1e15, nil, nil, "[]")
        end }"#;
    let path = plan("postgres_parameters.lua", text);
    let report = iterate_at(&path, &postgres.url(), 1, 1, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(
        postgres.psql("select a, i, f, d, b, y, j from kept order by n"),
        "grün 🦆 'x' \"y\" \\ $1|-9223372036854775808|0.30000000000000004|12.5|t|\\x00ff|{\"a\": [1, 2]}\n\
         |0|-Infinity|0.000000000000000000000000000001|f|\\x|null\n\
         ||NaN||||\n\
         two\nlines\t|1099511627776|5e-324|1000000000000000|||[]"
    );
}

/// Runs one user that logs in with these options of `postgres.connect`, and expects a result of its query, or a reason.
fn log_in(postgres: &Postgres, logins: &[(&str, &str)], more: &[&str]) -> Report {
    let cases = logins.iter().map(|(options, expected)| {
        format!(
            "login({{ {options} }}, {})\n",
            json!(expected).to_string().replace("\\u", "\\\\u")
        )
    });
    let text = format!(
        r#"local postgres = require "lgoose.postgres"
        task {{ function(user)
          local function login(options, expected)
            options.database = "postgres"
            local db = postgres.connect(user, options)
            local rows, problem = db:query "select current_user || ' ' || ssl as who from pg_stat_ssl where pid = pg_backend_pid()"
            local got = rows and rows[1].who or problem
            if not got:find(expected, 1, true) then error(got .. ", not " .. expected, 2) end
            db:close()
          end
          {}
        end }}"#,
        cases.collect::<String>()
    );
    let name = format!(
        "postgres_logins_{}.lua",
        more.join("").replace(|c: char| !c.is_alphanumeric(), "")
    );
    let path = plan(&name[name.len().saturating_sub(60)..], &text);
    let report = iterate_at(&path, &postgres.url(), 1, 1, more);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    report
}

#[test]
fn every_method_of_a_login_is_spoken_as_the_server_expects_it() {
    let Some(mut postgres) = Postgres::start("logins") else {
        return;
    };
    postgres.psql(
        "create user trusted; create user plain password 'secret'; create user refused;
         create user scram password 'grün, \"x\" = €'; create user secure password 'secret';
         set password_encryption = md5; create user digest password 'secret'",
    );
    let wrong = "28P01: password authentication failed for user";
    let none = "login: the server requires a password: set option 'password'";
    let report = log_in(
        &postgres,
        &[
            ("", "postgres false"),
            (
                "user = 'trusted', password = 'not asked for'",
                "trusted false",
            ),
            ("user = 'plain', password = 'secret'", "plain false"),
            ("user = 'plain', password = 'wrong'", wrong),
            ("user = 'plain'", none),
            ("user = 'digest', password = 'secret'", "digest false"),
            ("user = 'digest', password = 'wrong'", wrong),
            (
                "user = 'scram', password = 'grün, \"x\" = €'",
                "scram false",
            ),
            (
                "user = 'scram', password = 'grün, \"x\" = €'",
                "scram false",
            ),
            ("user = 'scram', password = ''", wrong),
            ("user = 'scram'", none),
            ("user = 'nobody', password = 'secret'", wrong),
            ("user = 'refused'", "28000: pg_hba.conf rejects connection"),
            (
                "user = 'secure', password = 'secret'",
                "28000: no pg_hba.conf entry for host",
            ),
            ("tls = 'prefer'", "postgres false"),
            ("tls = true", "tls: the server does not support TLS"),
            (
                "parameters = { nonsense = 1 }",
                "42704: unrecognized configuration parameter",
            ),
        ],
        &[],
    );
    assert_eq!(row_counts(&report, "SQL connect"), (17, 10));
    let log = postgres.log();
    let by = |method: &str| log.matches(&format!("method={method}")).count();
    // Those who failed, and those who are trusted, have no identity.
    assert_eq!(
        (by("password"), by("md5"), by("scram-sha-256")),
        (1, 1, 2),
        "{log}"
    );
    let sessions = "select sessions_abandoned from pg_stat_database where datname = 'postgres'";
    assert_eq!(postgres.count(sessions), 0, "each has said goodbye");

    let authority = Authority::new();
    let [cert, key] = authority.sign(&["127.0.0.1", "db.test"]).files("postgres");
    postgres.receive(&cert, "server.crt");
    postgres.receive(&key, "server.key");
    postgres.psql("alter system set ssl = on");
    postgres.stop(Signal::INT);
    postgres.server = launch(&postgres.programs, &postgres.folder, postgres.port);
    assert!(postgres.is_up(), "{}", postgres.log());
    let ca = authority.file("postgres_ca.pem");
    let secret = "user = 'secure', password = 'secret', tls = true";
    log_in(
        &postgres,
        &[
            (secret, "secure true"),
            ("tls = 'prefer'", "postgres true"),
            ("tls = true, server_name = 'db.test'", "postgres true"),
            ("tls = true, server_name = 'other.test'", "tls: "),
            ("tls = false", "postgres false"),
            ("user = 'secure', password = 'wrong', tls = true", wrong),
        ],
        &["--ca", &ca],
    );
    log_in(&postgres, &[(secret, "secure true")], &["--insecure"]);
    log_in(
        &postgres,
        &[(secret, "tls: "), ("tls = 'prefer'", "tls: ")],
        &[],
    );
}

/// The load of some users, by the report and by the server's statistics.
#[test]
fn every_query_of_a_load_is_counted_once() {
    let Some(postgres) = Postgres::start("load") else {
        return;
    };
    postgres.psql("create database load");
    let text = r#"local postgres = require "lgoose.postgres"
        task { "start", on_start = true, function(user) user.data.db = postgres.connect(user, { database = "load" }) end }
        task { function(user)
          local db = user.data.db
          db:query("select $1::int + 1 as counted", { user.id }, { name = "counted" })
          db:query "select 'simple'"
          db:query("select 1 / $1::int", { 0 }, { name = "refused" })
          db:transaction(function() db:query("select $1::int as within", { 1 }, { name = "within" }) end)
          db:transaction(function() return nil, "no" end)
        end }
        task { "end", on_stop = true, function(user) user.data.db:close() end }"#;
    let path = plan("postgres_load.lua", text);
    postgres.psql("select pg_stat_statements_reset()");
    let report = run([&*path, "-H", &postgres.url(), "-u", "5", "-i", "40"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    for (name, count, failures) in [
        ("TCP postgres", 5, 0),
        ("SQL connect", 5, 0),
        ("SQL counted", 200, 0),
        ("SQL SELECT", 200, 0),
        ("SQL refused", 200, 200),
        ("SQL BEGIN", 400, 0),
        ("SQL within", 200, 0),
        ("SQL COMMIT", 200, 0),
        ("SQL ROLLBACK", 200, 0),
    ] {
        assert_eq!(row_counts(&report, name), (count, failures), "{name}");
    }
    // A session says what it has done when it ends.
    let ended = "select sessions from pg_stat_database where datname = 'load' and numbackends = 0";
    wait_until("all have gone", || postgres.psql(ended) == "5");
    let of_load = |column: &str| {
        let sql = format!("select {column} from pg_stat_database where datname = 'load'");
        postgres.count(&sql)
    };
    assert_eq!(
        of_load("sessions_abandoned + sessions_fatal + sessions_killed"),
        0
    );
    assert_eq!(of_load("xact_rollback"), 400, "refused, and rolled back");
    // Each login is one, too.
    assert_eq!(
        of_load("xact_commit"),
        600 + 5,
        "counted, simple, committed"
    );
    let calls = |query: &str| {
        let sql = "select coalesce(sum(calls), 0) from pg_stat_statements where query = ";
        postgres.count(&format!("{sql}'{query}'"))
    };
    assert_eq!(calls("select $1::int + $2 as counted"), 200);
    assert_eq!(calls("select $1::int as within"), 200);
    assert_eq!(calls("select $1"), 200);
    assert_eq!(
        (calls("BEGIN"), calls("COMMIT"), calls("ROLLBACK")),
        (400, 200, 200)
    );
}

#[test]
fn a_server_that_stops_in_the_middle_fails_what_is_under_way() {
    let Some(mut postgres) = Postgres::start("stopped") else {
        return;
    };
    let text = r#"local postgres = require "lgoose.postgres"
        task { function(user)
          local killed, stopped = postgres.connect(user), postgres.connect(user)
          local problem = select(2, killed:query("select pg_sleep(60), 'killed'", nil, { name = "killed" }))
          print("<killed>" .. problem .. "<>")
          stopped = postgres.connect(user)
          while not stopped.ok do
            user:wait "20ms"
            stopped = postgres.connect(user)
          end
          problem = select(2, stopped:query("select pg_sleep(60), 'stopped'", nil, { name = "stopped" }))
          print("<stopped>" .. problem .. "<>")
          print("<again>" .. select(2, stopped:query "select 1") .. "<>")
          local gone
          repeat
            user:wait "20ms"
            gone = postgres.connect(user)
          until gone.error:find "^connection refused"
          print("<gone>" .. gone.error .. "<>")
        end }"#;
    let path = plan("postgres_stopped.lua", text);
    let running = Lgoose::new([
        &*path,
        "-H",
        &postgres.url(),
        "-u",
        "1",
        "-i",
        "1",
        "-o",
        "json=-",
    ])
    .start();
    let sleeping = |name: &str| {
        format!(
            "select pid from pg_stat_activity where wait_event = 'PgSleep' and query like '%{name}%'"
        )
    };
    wait_until("it sleeps", || {
        !postgres.psql(&sleeping("killed")).is_empty()
    });
    let process = postgres.count(&sleeping("killed"));
    // The server ends all other sessions, too, and recovers.
    signal(i32::try_from(process).expect("a process"), Signal::KILL);
    wait_until("it sleeps again", || {
        !postgres.psql(&sleeping("stopped")).is_empty()
    });
    postgres.stop(Signal::INT);
    let report = crate::report::read(running.end());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let shown = |name: &str| {
        let line = report.ended.stderr.split(&format!("<{name}>")).nth(1);
        line.and_then(|line| line.split("<>").next())
            .unwrap_or_else(|| panic!("{name}: {}", report.ended.stderr))
            .to_owned()
    };
    let killed = shown("killed");
    let abrupt = ["closed early", "connection reset"];
    assert!(
        abrupt.iter().any(|kind| killed.starts_with(kind)),
        "{killed}"
    );
    let administrator = "57P01: terminating connection due to administrator command";
    assert_eq!(shown("stopped"), administrator);
    assert_eq!(shown("again"), administrator);
    let gone = format!("connection refused: 127.0.0.1:{}", postgres.port);
    assert_eq!(shown("gone"), gone);
    assert_eq!(row_counts(&report, "SQL killed"), (1, 1));
    assert_eq!(row_counts(&report, "SQL stopped"), (1, 1));
}

/// The example, for two seconds.
#[test]
fn the_example_sells_what_is_in_stock() {
    let Some(postgres) = Postgres::start("example") else {
        return;
    };
    let report = run([
        "examples/postgres.lua",
        "-H",
        &postgres.url(),
        "-t",
        "2s",
        "--wait-factor",
        "0.2",
    ]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    let orders = report.count("SQL order");
    assert!(orders > 0, "{:?}", report.rows());
    assert_eq!(postgres.count("select count(*) from lgoose_orders"), orders);
    assert_eq!(
        postgres.count("select sum(amount) from lgoose_orders"),
        postgres.count("select 1000000 - sum(stock) from lgoose_items")
    );
    assert_eq!(report.count("SQL COMMIT"), orders);
    assert_eq!(report.task("order in stock").1, 0);
}

/// A message of the server.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short one");
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// What a server of a case sends: each part after it has received something more, the last one again and again if it is endless.
struct Faulty {
    expected: &'static str,
    with_tls: bool,
    parts: Vec<Vec<u8>>,
    is_endless: bool,
}

fn faulty(expected: &'static str, parts: &[Vec<u8>]) -> Faulty {
    Faulty {
        expected,
        with_tls: false,
        parts: parts.to_vec(),
        is_endless: false,
    }
}

/// A login that succeeds, followed by what is sent in place of a result.
fn after_login(expected: &'static str, parts: &[Vec<u8>]) -> Faulty {
    let welcome = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    faulty(expected, &[&[welcome], parts].concat())
}

fn column(name: &str, kind: u32) -> Vec<u8> {
    let body = [
        &[0, 1],
        name.as_bytes(),
        &[0; 7],
        &kind.to_be_bytes(),
        &[0; 8],
    ];
    message(b'T', &body.concat())
}

/// What goes wrong on the wire, and the reason that a plan sees.
fn faults() -> Vec<Faulty> {
    const BROKEN: &str = "protocol: this is no message of PostgreSQL";
    let sasl =
        |number: u32, text: &str| message(b'R', &[&number.to_be_bytes(), text.as_bytes()].concat());
    let scram = sasl(10, "SCRAM-SHA-256\0\0");
    let ready = message(b'Z', b"I");
    let done = message(b'C', b"SELECT 1\0");
    let row = |body: &[u8]| {
        [
            column("a", 23),
            message(b'D', body),
            done.clone(),
            ready.clone(),
        ]
        .concat()
    };
    let endless = |mut fault: Faulty| {
        fault.is_endless = true;
        fault
    };
    let with_tls = |mut fault: Faulty| {
        fault.with_tls = true;
        fault
    };
    vec![
        faulty(BROKEN, &[b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()]),
        faulty(BROKEN, &[b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()]),
        endless(faulty(BROKEN, &[vec![0; 4096]])),
        faulty("timeout", &[vec![]]),
        faulty("timeout", &[b"R\0\0".to_vec()]),
        faulty(BROKEN, &[b"R\0\0\0\x03".to_vec()]),
        faulty(BROKEN, &[message(b'R', b"")]),
        faulty(BROKEN, &[message(b'K', b"")]),
        faulty(BROKEN, &[message(b'E', b"SERROR\0")]),
        faulty(
            "3D000: none",
            &[message(b'E', b"SFATAL\0C3D000\0Mnone\0\0")],
        ),
        faulty(
            "login: the server requires a method that is not supported: GSSAPI",
            &[sasl(7, "")],
        ),
        faulty(
            "login: the server requires a method that is not supported: 99",
            &[sasl(99, "")],
        ),
        faulty(
            "login: the server requires SCRAM-SHA-256-PLUS, which is not supported; SCRAM-SHA-256 is",
            &[sasl(10, "SCRAM-SHA-256-PLUS\0\0")],
        ),
        faulty(BROKEN, &[scram.clone(), sasl(11, "nonsense")]),
        faulty(
            BROKEN,
            &[scram.clone(), sasl(11, "r=another,s=AAAA,i=4096")],
        ),
        faulty(BROKEN, &[scram.clone(), sasl(11, "r=NONCE,s=AAAA,i=4096")]),
        faulty(BROKEN, &[scram.clone(), sasl(11, "r=NONCEmore,s=A,i=4096")]),
        faulty(BROKEN, &[scram.clone(), sasl(11, "r=NONCEmore,s=AAAA,i=0")]),
        faulty(
            "login: the server requires 999999999 iterations of SCRAM; 2000000 are possible",
            &[scram.clone(), sasl(11, "r=NONCEmore,s=AAAA,i=999999999")],
        ),
        faulty(
            "login: the server does not know the password: its signature is wrong",
            &[
                scram.clone(),
                sasl(11, "r=NONCEmore,s=AAAA,i=1"),
                sasl(12, "v=AAAA"),
            ],
        ),
        // It does not say that it knows the password.
        faulty(
            BROKEN,
            &[scram, sasl(11, "r=NONCEmore,s=AAAA,i=1"), sasl(0, "")],
        ),
        with_tls(faulty(BROKEN, &[b"E".to_vec()])),
        with_tls(faulty(
            "tls: the server does not support TLS",
            &[b"N".to_vec()],
        )),
        with_tls(faulty("timeout", &[vec![]])),
        with_tls(faulty(
            "protocol: the peer has sent more before the TLS handshake",
            &[b"Smore".to_vec()],
        )),
        after_login("timeout", &[vec![]]),
        after_login("timeout", &[column("a", 23)]),
        after_login("timeout", &[done[..7].to_vec()]),
        after_login(BROKEN, std::slice::from_ref(&ready)),
        after_login(BROKEN, &[[done.clone(), message(b'Z', b"?")].concat()]),
        after_login(BROKEN, &[[done.clone(), message(b'Z', b"")].concat()]),
        after_login(BROKEN, &[message(b'?', b"")]),
        after_login(BROKEN, &[message(b'W', b"")]),
        after_login(BROKEN, &[message(b'T', b"")]),
        after_login(BROKEN, &[message(b'T', b"\xff\xffa\0")]),
        after_login(BROKEN, &[message(b'T', b"\0\x01a")]),
        after_login(BROKEN, &[message(b'D', b"\0\0")]),
        after_login(BROKEN, &[row(b"")]),
        after_login(BROKEN, &[row(b"\0\x02")]),
        after_login(BROKEN, &[row(b"\0\x01")]),
        after_login(BROKEN, &[row(b"\0\x01\0\0\0\x05abc")]),
        after_login(BROKEN, &[row(b"\0\x01\x7f\xff\xff\xffabc")]),
        after_login(BROKEN, &[row(b"\0\x01\xff\xff\xff\xfe")]),
        after_login(BROKEN, &[message(b'A', b"\0\0\0")]),
        after_login(BROKEN, &[message(b'A', b"\0\0\0\x01news")]),
        after_login(BROKEN, &[message(b'S', b"a")]),
        after_login(
            "too large: a message of the server is larger than 'max_buffer'",
            &[[column("a", 25), b"D\x7f\xff\xff\xff".to_vec()].concat()],
        ),
        endless(after_login(
            "too large: the server sends more than 'max_buffer' in addition to rows",
            &[message(b'N', b"SNOTICE\0\0").repeat(100)],
        )),
        endless(after_login(
            "too large: the result does not fit into the memory of the user ('--lua-memory')",
            &[
                column("a", 25),
                message(b'D', b"\0\x01\0\0\0\x04abcd").repeat(1000),
            ],
        )),
        // A number that is none stays a text.
        after_login("abc", &[row(b"\0\x01\0\0\0\x03abc")]),
    ]
}

/// Sends what it has for a connection, and waits until the client has gone.
fn serve(mut connection: TcpStream, fault: &Faulty) {
    let mut received = vec![0; 65536];
    let mut nonce = String::new();
    for (number, part) in fault.parts.iter().enumerate() {
        let endless = fault.is_endless && number + 1 == fault.parts.len();
        // Columns and endless rows follow one another.
        let waits = !endless || number < 2;
        if waits {
            let count = connection.read(&mut received).unwrap_or(0);
            let text = String::from_utf8_lossy(&received[..count]);
            if let Some((_, rest)) = text.split_once(",r=") {
                nonce = rest.split(',').next().unwrap_or_default().to_owned();
            }
        }
        let at = part.windows(5).position(|bytes| bytes == b"NONCE");
        let mut bytes = part.clone();
        if let Some(at) = at {
            let mut body = part[5..at].to_vec();
            body.extend(nonce.as_bytes());
            body.extend(&part[at + 5..]);
            bytes = message(part[0], &body);
        }
        while connection.write_all(&bytes).is_ok() && endless {}
    }
    while connection.read(&mut received).is_ok_and(|count| count > 0) {}
}

#[test]
fn what_no_server_sends_is_a_failure_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it listens").port();
    let faults = faults();
    let cases: Vec<Value> = faults
        .iter()
        .map(|fault| json!({ "expected": fault.expected, "tls": fault.with_tls }))
        .collect();
    fs::write(scratch("postgres_faults.json"), json!(cases).to_string()).expect("a file");
    let text = r#"local postgres = require "lgoose.postgres"
        local cases = data.json "postgres_faults.json"
        task { function(user)
          for number, case in ipairs(cases) do
            -- A busy machine may be slow where something is to come.
            local timeout = case.expected == "timeout" and "300ms" or "60s"
            local db = postgres.connect(user, { password = "secret", timeout = timeout, tls = case.tls })
            local rows, problem = db:query "select 1"
            local got = rows and rows[1].a or problem
            if got ~= case.expected then error(number .. ": " .. tostring(got) .. ", not " .. case.expected) end
            if not rows and (db.ok or db.error ~= problem) then error(number .. ": it is still open") end
            db:close()
          end
        end }"#;
    let path = plan("postgres_faults.lua", text);
    let count = faults.len();
    let serving = thread::spawn(move || {
        for fault in &faults {
            let (connection, _) = listener.accept().expect("a client");
            serve(connection, fault);
        }
    });
    let url = format!("http://127.0.0.1:{port}");
    let report = iterate_at(&path, &url, 1, 1, &["--lua-memory", "16MiB"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(
        report.count("TCP postgres"),
        u64::try_from(count).expect("few")
    );
    serving.join().expect("it has served all");
}
