//! Unix sockets as hosts and as plain sockets, against a listener in the test and against nginx.

use crate::nginx::Nginx;
use crate::program::{Lgoose, empty_folder};
use crate::report::{Report, read};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

/// A server of HTTP at `app.sock` in a folder: the heads of the requests to it.
struct Judge {
    folder: PathBuf,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Judge {
    /// Starts it; it ends with the process.
    fn start(name: &str) -> Judge {
        let folder = empty_folder(name);
        let listener = listen(&folder);
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = seen.clone();
                thread::spawn(move || serve(&stream, &seen));
            }
        });
        Judge { folder, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("nobody panicked").clone()
    }

    fn run(&self, plan: &str, arguments: &[&str]) -> Report {
        fs::write(self.folder.join("plan.lua"), plan).expect("the folder takes a file");
        let own = ["-r", "100", "-o", "json=-"];
        let arguments = ["plan.lua"].iter().chain(arguments).chain(&own);
        read(Lgoose::new(arguments).within(&self.folder).finish())
    }
}

/// Listens at `app.sock` in a folder, whose path may be longer than an address may be.
fn listen(folder: &std::path::Path) -> UnixListener {
    let short = std::env::temp_dir().join(format!("lgoose-{}.sock", rand::random::<u64>()));
    let listener = UnixListener::bind(&short).expect("a socket");
    fs::rename(&short, folder.join("app.sock"))
        .or_else(|_| std::os::unix::fs::symlink(&short, folder.join("app.sock")))
        .expect("the folder takes a socket");
    listener
}

/// Answers requests; that of `/away` with a redirect to the host that it names.
fn serve(stream: &UnixStream, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let host = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("host").then(|| value.to_owned())
        });
        let location = format!("location: http://{}/home\r\n", host.unwrap_or_default());
        let (status, more) = if head.starts_with("GET /away") {
            ("302 Found", &*location)
        } else {
            ("200 OK", "")
        };
        seen.lock().expect("nobody panicked").push(head);
        let answer = format!("HTTP/1.1 {status}\r\n{more}content-length: 2\r\n\r\nok");
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_socket_is_a_host_of_requests_and_of_plain_sockets() {
    let judge = Judge::start("unix_host");
    let plan = "plan { host = 'unix:app.sock' } task { 't', function(user)
        assert(user.host == 'unix:app.sock', user.host)
        local page = user:get('/a?b', { name = 'page' })
        assert(page.url == 'http://localhost/a?b', page.url)
        user:get('/away', { name = 'away' })
        user:get('http://localhost/c', { name = 'absolute' })
        for _, address in ipairs { 'unix:app.sock', user.host } do
            local socket = user:tcp(address)
            socket:send 'GET /raw HTTP/1.1\\r\\n\\r\\n'
            check(socket:receive 'line' == 'HTTP/1.1 200 OK', 'the server replies')
            socket:close()
        end
        user:tcp():close()
    end }";
    let report = judge.run(plan, &["-u", "3", "-i", "2"]);
    assert_eq!((report.sent(), report.total("failures")), (42, 0));
    assert_eq!(report.count("TCP unix:app.sock"), 18);
    let heads = judge.heads();
    // As curl sends it to a socket with 'http://localhost/a?b'.
    let page = "GET /a?b HTTP/1.1\r\nhost: localhost\r\n";
    let of = |start: &str| {
        heads
            .iter()
            .filter(|head| head.to_lowercase().starts_with(&start.to_lowercase()))
            .count()
    };
    assert_eq!(
        [of(page), of("GET /home"), of("GET /c"), of("GET /raw")],
        [6, 6, 6, 12]
    );
    let report = judge.run(
        "task { 't', function(user) user:get '/a' end }",
        &["-H", "unix:app.sock", "-u", "1", "-i", "1"],
    );
    assert_eq!(report.whole("failures"), 0);
}

#[test]
fn what_no_server_listens_at_fails_by_its_reason() {
    let judge = Judge::start("unix_failures");
    fs::write(judge.folder.join("text"), "a").expect("the folder takes a file");
    for (host, reason) in [
        (
            "unix:none.sock",
            "connect failed: unix:none.sock: there is no such socket",
        ),
        ("unix:text", "connect failed: unix:text: this is no socket"),
        (
            "unix:text/app.sock",
            "connect failed: unix:text/app.sock: Not a directory",
        ),
    ] {
        let plan = "task { 't', function(user) user:get '/' user:tcp() end }";
        let report = judge.run(plan, &["-H", host, "-u", "1", "-i", "1"]);
        assert_eq!(report.errors_with(reason), 2, "{:?}", report.errors());
    }
    assert!(judge.heads().is_empty());
    let long = format!("unix:/{}", "a".repeat(200));
    let plan = format!(
        "task {{ 't', function(user) for _, open in ipairs {{ user.tls, user.udp }} do
            local ok, why = pcall(open, user, 'unix:app.sock')
            check(not ok and tostring(why):find('without TLS', 1, true), tostring(why))
        end
        local ok, why = pcall(user.tcp, user, '{long}')
        check(not ok and tostring(why):find('a socket\\'s path may have', 1, true), tostring(why)) end }}"
    );
    let report = judge.run(&plan, &["-H", "unix:app.sock", "-u", "1", "-i", "1"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    for (host, told) in [
        (&*long, "a socket's path may have"),
        ("unix:", "it has no path"),
        (
            "http://unix:/run/app.sock:/a",
            "write a Unix socket as 'unix:/run/app.sock'",
        ),
    ] {
        let refused = Lgoose::new(["plan.lua", "-H", host])
            .within(&judge.folder)
            .finish();
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}

#[test]
fn more_connections_than_a_server_lets_wait_are_no_failure() {
    let folder = empty_folder("unix_backlog");
    let short = std::env::temp_dir().join(format!("lgoose-{}.sock", rand::random::<u64>()));
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        None,
    )
    .expect("a socket");
    let address = rustix::net::SocketAddrUnix::new(&short).expect("it is short");
    rustix::net::bind(&socket, &address).expect("it is new");
    rustix::net::listen(&socket, 1).expect("it is bound");
    let listener = UnixListener::from(socket);
    thread::spawn(move || {
        let seen = Mutex::default();
        for stream in listener.incoming().flatten() {
            serve(&stream, &seen);
        }
    });
    let host = format!("unix:{}", short.display());
    fs::write(
        folder.join("plan.lua"),
        "task { 't', function(user) user:get '/' end }",
    )
    .expect("a file");
    let arguments = [
        "plan.lua",
        "-H",
        &*host,
        "-u",
        "20",
        "-i",
        "3",
        "-r",
        "1000",
        "--no-keepalive",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).within(&folder).finish());
    let _removed = fs::remove_file(&short);
    assert_eq!(
        (report.sent(), report.whole("failures")),
        (60, 0),
        "{:?}",
        report.errors()
    );
}

#[test]
fn a_socket_is_refused_unless_it_is_named() {
    let judge = Judge::start("unix_allowed");
    let plan =
        "task { 't', function(user) user:get '/' user:tcp 'unix:../unix_allowed/app.sock' end }";
    for (limit, heads) in [
        (&["--sandbox"][..], 1),
        (&["--allow-host", "unix:app.sock"], 1),
        (
            &[
                "--allow-host",
                "unix:app.sock",
                "--allow-host",
                "unix:../unix_allowed/app.sock",
            ],
            1,
        ),
    ] {
        let before = judge.heads().len();
        let report = judge.run(
            plan,
            &[&["-H", "unix:app.sock", "-u", "1", "-i", "1"], limit].concat(),
        );
        let refused = report.errors_with(
            "host not allowed: 'unix:../unix_allowed/app.sock' is a socket of this machine",
        );
        assert_eq!(refused, u64::from(limit.len() < 4), "{:?}", report.errors());
        assert_eq!(judge.heads().len() - before, heads);
    }
    for limit in ["*", "localhost", "unix:other.sock"] {
        let arguments = ["plan.lua", "-H", "unix:app.sock", "--allow-host", limit];
        let refused = Lgoose::new(arguments).within(&judge.folder).finish();
        assert_eq!(refused.code, 2);
        assert!(
            refused.stderr.contains("'--allow-host unix:app.sock'"),
            "{}",
            refused.stderr
        );
    }
    let checked = Lgoose::new(["check", "plan.lua", "-H", "unix:app.sock"])
        .within(&judge.folder)
        .finish();
    let listed = "hosts that it names: unix:../unix_allowed/app.sock";
    assert!(checked.stdout.contains(listed), "{}", checked.stdout);
}

#[test]
fn nginx_answers_at_a_socket_as_at_a_port() {
    let Some(mut nginx) = Nginx::start("unix") else {
        return;
    };
    let folder = empty_folder("unix_nginx");
    let text = "task { 't', function(user) user:get('/page.html', { name = 'page' }) user:get('/moved', { name = 'moved' }) end }";
    fs::write(folder.join("plan.lua"), text).expect("a file");
    let arguments = [
        "plan.lua",
        "-H",
        &*nginx.socket(),
        "-u",
        "2",
        "-i",
        "30",
        "-r",
        "100",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).within(&folder).finish());
    assert_eq!(
        (
            report.count("GET page"),
            report.count("GET moved"),
            report.whole("failures")
        ),
        (60, 60, 0)
    );
    nginx.end();
    let log = fs::read_to_string(nginx.folder.join("combined.log")).expect("its log");
    let of = |line: &str| log.lines().filter(|text| text.contains(line)).count();
    assert_eq!(
        [
            of("GET /page.html HTTP/1.1\" 200"),
            of("GET /moved HTTP/1.1\" 302")
        ],
        [120, 60],
        "{log}"
    );
}
