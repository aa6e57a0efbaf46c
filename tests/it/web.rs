//! A run over HTTP: its commands, its figures, its events, and its end.

use crate::program::{Lgoose, in_repository, plan, scratch, wait_until};
use crate::report::saved;
use crate::server::Server;
use crate::terminal::Terminal;
use crate::web_client::{Event, Served, TOKEN, Web};
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};

const BUSY: &str = "task { wait = 0.01, function(user) user:get \"/\" end }";

/// Starts a run of a few users that ends only when it is told to.
fn busy(name: &str, server: &Server, more: &[&str]) -> Served {
    let path = plan(&format!("{name}.lua"), BUSY);
    let url = server.url();
    let own = [path.as_str(), "-H", &url, "-u", "2", "-r", "1000"];
    let served = Served::start(&[&own[..], more].concat());
    served.wait_for_requests();
    served
}

#[test]
fn every_command_does_what_it_says_or_says_why_not() {
    let server = Server::start();
    let Served { running, web } = busy("web_commands", &server, &[]);
    let done = |path: &str, body: &str| {
        let answer = web.post(path, body);
        assert_eq!(answer.status, 202, "{path}: {}", answer.text());
        let json = answer.json();
        (
            json["done"].as_str().expect("words").to_owned(),
            json["status"].clone(),
        )
    };
    let refused = |path: &str, body: &str| {
        let answer = web.post(path, body);
        assert_eq!(answer.status, 409, "{path}: {}", answer.text());
        answer.json()["error"].as_str().expect("words").to_owned()
    };
    let (told, status) = done("/api/v1/users", "{\"n\": 5}");
    assert_eq!(
        (told.as_str(), &status["wanted"]["users"]),
        ("5 users wanted", &json!(5))
    );
    wait_until("5 users", || {
        web.get("/api/v1/status").json()["users_now"] == 5
    });
    assert!(refused("/api/v1/resume", "").contains("is not paused"));
    assert_eq!(done("/api/v1/pause", "{}").1["phase"], "paused");
    assert!(refused("/api/v1/pause", "").contains("paused already"));
    // What is counted would soon be more than before, if the run went on.
    let before = web.get("/api/v1/status").json()["aggregated"]["count"].as_u64();
    assert_eq!(done("/api/v1/reset", "").0, "statistics reset");
    wait_until("the figures begin anew", || {
        web.get("/api/v1/status").json()["aggregated"]["count"].as_u64() < before
    });
    assert_eq!(done("/api/v1/resume", "").1["phase"], "running");
    assert!(refused("/api/v1/rate", "{\"per_s\": 5}").contains("has no rate"));
    assert!(done("/api/v1/reload", "").0.starts_with("reloaded"));
    plan("web_commands.lua", "tsak {}");
    assert!(refused("/api/v1/reload", "").contains("'tsak'"));
    assert_eq!(
        web.post("/api/v1/users", "{\"n\": 99999999999}").status,
        400
    );
    let (told, status) = done("/api/v1/stop", "");
    assert_eq!(
        (told.as_str(), &status["wanted"]["users"]),
        ("stopping: running tasks finish", &json!(0))
    );
    let ended = running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_rate_is_set_and_a_run_is_aborted() {
    let server = Server::start();
    let path = plan(
        "web_rate.lua",
        "task { function(user) user:get \"/hold\" end }",
    );
    let url = server.url();
    let Served { running, web } =
        Served::start(&[&path, "-H", &url, "--rate", "5", "--max-users", "3"]);
    wait_until("requests", || server.received() == 3);
    let answer = web.post("/api/v1/rate", "{\"per_s\": 0.5}");
    assert_eq!(
        (answer.status, &answer.json()["status"]["wanted"]["rate"]),
        (202, &json!(0.5))
    );
    assert_eq!(web.post("/api/v1/rate", "{\"per_s\": -1}").status, 400);
    let status = web.post("/api/v1/stop", "");
    assert_eq!(status.status, 202);
    let again = web.post("/api/v1/stop", "");
    assert_eq!(again.status, 409, "{}", again.text());
    assert!(
        again.text().contains("is stopping already"),
        "{}",
        again.text()
    );
    assert_eq!(web.post("/api/v1/abort", "").status, 202);
    assert_eq!(running.end().code, 130);
}

#[test]
fn after_the_end_the_report_is_the_one_that_was_written() {
    let server = Server::start();
    let path = plan(
        "web_end.lua",
        "task { function(user) user:get \"/\" user:get \"/status/503\" check(true, \"well\") end }",
    );
    let folder = scratch("web_end");
    std::fs::create_dir_all(&folder).expect("a folder");
    let _of_an_earlier_test = std::fs::remove_file(folder.join("end.json"));
    let url = server.url();
    let arguments = [
        &path,
        "-H",
        &url,
        "-u",
        "3",
        "-i",
        "40",
        "-o",
        "json=end.json",
        "--web",
        "127.0.0.1:0",
        "--web-token",
        TOKEN,
    ];
    let mut view = Terminal::start(env!("CARGO_BIN_EXE_lgoose"), &arguments, &folder, (120, 30));
    view.wait_for("page of this run: http://127.0.0.1:");
    let printed = view.received_between("page of this run: ", "token");
    let web = Web::of(&format!("page of this run: {}", printed[0]));
    wait_until("the end", || {
        web.get("/api/v1/status").json()["phase"] == "over"
    });
    wait_until("the report", || folder.join("end.json").exists());
    let written = saved(&folder.join("end.json"));
    assert_eq!(written["aggregated"]["count"], 240);
    assert_eq!(web.get("/api/v1/report.json").json(), written);
    for (name, begins) in [
        ("yaml", "version: "),
        ("csv", "kind,"),
        ("md", "###"),
        ("html", "<!"),
        ("hdr", "#["),
    ] {
        let answer = web.get(&format!("/api/v1/report.{name}"));
        let text = answer.text();
        assert!(answer.status == 200 && text.len() > 300, "{name}: {text}");
        assert!(text.trim_start().starts_with(begins), "{name}: {text:.99}");
    }
    let status = web.get("/api/v1/status").json();
    assert_eq!(status["ending"], written["ending"]);
    assert_eq!(
        status["aggregated"]["count"],
        written["aggregated"]["count"]
    );
    let events: Vec<Event> = web
        .events(None)
        .take_while(|event| event.name != "end")
        .collect();
    let figures = events
        .iter()
        .find(|event| event.name == "snapshot")
        .expect("figures");
    assert_eq!(figures.data["phase"], "over");
    for (row, expected) in figures.data["requests"]
        .as_array()
        .expect("rows")
        .iter()
        .zip(written["requests"].as_array().expect("rows"))
    {
        for key in ["method", "name", "count", "failures"] {
            assert_eq!(row[key], expected[key]);
        }
    }
    assert_eq!(figures.data["checks"][0]["passes"], 120);
    let answer = web.post("/api/v1/stop", "");
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (409, Some("the run is over"))
    );
    let metrics = web.get("/metrics").text();
    assert!(
        metrics.contains("lgoose_checks_total{check=\"well\",result=\"pass\"} 120"),
        "{metrics}"
    );
    // Until the view knows that the run is over, 'q' asks whether to stop it.
    view.wait_for("FINISHED");
    view.press("q");
    view.end();
}

/// Returns the seconds of all points in events.
fn seconds(events: &[Event]) -> Vec<u64> {
    let points = events
        .iter()
        .filter_map(|event| event.data["points"].as_array());
    points
        .flatten()
        .filter_map(|point| point["second"].as_u64())
        .collect()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn events_go_on_where_a_reader_was_cut_off() {
    let server = Server::start();
    let path = plan(
        "web_events.lua",
        "task { wait = 0.01, function(user) user:get \"/\" user:log \"a line\" end }",
    );
    let url = server.url();
    let Served { running, web } = Served::start(&[
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "-t",
        "8s",
        "--threshold",
        "max < 1us",
    ]);
    let mut first = Vec::new();
    for event in web.events(None) {
        first.push(event);
        if seconds(&first).len() >= 2 {
            break;
        }
    }
    let last = first.last().expect("events").id.clone();
    let then: Vec<Event> = web.events(Some(&last)).collect();
    let all: Vec<u64> = seconds(&first).into_iter().chain(seconds(&then)).collect();
    let expected: Vec<u64> = (0..all.len() as u64).collect();
    assert_eq!(all, expected, "every second once");
    let begins = |events: &[Event]| {
        events
            .iter()
            .filter(|event| event.data["begin"] == true)
            .count()
    };
    assert_eq!((begins(&first), begins(&then)), (1, 0));
    let thresholds: Vec<&Value> = first
        .iter()
        .chain(&then)
        .filter(|event| event.name == "threshold")
        .map(|event| &event.data["passed"])
        .collect();
    assert_eq!(thresholds, [false]);
    let lines = |events: &[Event]| {
        let lists = events
            .iter()
            .filter_map(|event| event.data["lines"].as_array());
        lists.map(Vec::len).sum::<usize>()
    };
    assert!(lines(&first) > 0 && lines(&then) > 0);
    let end = then.last().expect("events");
    assert_eq!(
        (end.name.as_str(), &end.data["verdict"]["result"]),
        ("end", &json!("failed"))
    );
    let largest = then
        .iter()
        .filter(|event| event.name == "snapshot")
        .map(|event| event.bytes)
        .skip(1)
        .max();
    assert!(largest < Some(10_000), "{largest:?} bytes");
    assert_eq!(running.end().code, 1);
}

#[test]
fn readers_that_read_nothing_hold_nobody_up() {
    let server = Server::start();
    let path = plan("web_unread.lua", BUSY);
    let url = server.url();
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "2", "-t", "3s"]);
    let ask = |path: &str| {
        let mut stream = web.connect();
        let host = web.address;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is open");
        stream
    };
    let _unread: Vec<TcpStream> = (0..40).map(|_| ask("/api/v1/events")).collect();
    let _reports: Vec<TcpStream> = (0..10).map(|_| ask("/api/v1/report.html")).collect();
    let ended = running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn idle_connections_do_no_harm() {
    let server = Server::start();
    let Served { running, web } = busy("web_idle", &server, &[]);
    let mut idle: Vec<TcpStream> = (0..900)
        .filter_map(|_| TcpStream::connect(web.address).ok())
        .collect();
    let before = server.received();
    wait_until("the run goes on", || server.received() > before + 100);
    for stream in &mut idle {
        let _closed = stream.write_all(b"GET / HTTP/1.1\r\n");
    }
    drop(idle);
    wait_until("there is room again", || {
        web.get("/api/v1/status").status == 200
    });
    assert_eq!(web.post("/api/v1/stop", "").status, 202);
    assert_eq!(running.end().code, 0);
}

#[test]
fn the_document_describes_what_is_answered() {
    let server = Server::start();
    let path = plan(
        "web_openapi.lua",
        "plan { tags = { build = \"b/7\" } }
        task { wait = 0.01, function(user) user:get \"/\" user:get \"/status/500\" check(true, \"a\") end }",
    );
    let url = server.url();
    let Served { running, web } =
        Served::start(&[&path, "-H", &url, "-u", "2", "--threshold", "p95 < 1s"]);
    wait_until("figures", || {
        web.get("/api/v1/tags/build%3Db%2F7").status == 200
    });
    let document = web.get("/api/v1/openapi.json").json();
    let file =
        std::fs::read_to_string(in_repository("docs/openapi.json")).expect("it is checked in");
    assert_eq!(
        document,
        serde_json::from_str::<Value>(&file).expect("JSON")
    );
    let valid = |path: &str, method: &str, status: u16, value: &Value| {
        let schema = &document["paths"][path][method]["responses"][status.to_string()]["content"]["application/json"]
            ["schema"];
        assert!(
            schema.is_object(),
            "{method} {path} {status} is not described"
        );
        let mut schema = schema.clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<_> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{method} {path} {status}: {errors:#?}");
    };
    let paths = document["paths"].as_object().expect("paths");
    let of_serve = |path: &Value| {
        let mut operations = path.as_object().expect("operations").values();
        operations.all(|operation| operation["tags"] == json!(["serve"]))
    };
    let own = paths.iter().filter(|(_, path)| !of_serve(path));
    let own: Vec<&String> = own.map(|(path, _)| path).collect();
    assert_eq!(own.len(), 20);
    for path in own.into_iter().filter(|path| !path.ends_with("events")) {
        if paths[path]["get"].is_object() {
            let asked = path.replace("{tag}", "build%3Db%2F7");
            let answer = web.get(&asked);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            let described = &paths[path]["get"]["responses"]["200"]["content"];
            let kind = answer
                .header("content-type")
                .split(';')
                .next()
                .unwrap_or_default();
            let known: Vec<&str> = described
                .as_object()
                .expect("kinds")
                .keys()
                .filter_map(|key| key.split(';').next())
                .collect();
            assert_eq!(known, [kind], "{path}");
            if kind == "application/json" {
                valid(path, "get", 200, &answer.json());
            }
            let refused = web.post(&asked, "");
            assert_eq!(refused.status, 405, "{path}");
            assert!(
                refused.header("allow").contains("GET"),
                "{path}: {}",
                refused.head
            );
        } else {
            assert_eq!(web.get(path).status, 405, "{path}");
        }
    }
    for (path, body, status) in [
        ("/api/v1/users", "{\"n\": 3}", 202),
        ("/api/v1/users", "{\"m\": 3}", 400),
        ("/api/v1/rate", "{\"per_s\": 3}", 409),
        ("/api/v1/resume", "", 409),
        ("/api/v1/pause", "", 202),
    ] {
        let answer = web.post(path, body);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        valid(path, "post", status, &answer.json());
    }
    web.post("/api/v1/abort", "");
    running.end();
}

#[test]
fn a_port_that_is_said_and_taken_is_trouble() {
    let server = Server::start();
    let (path, url) = (plan("web_taken.lua", BUSY), server.url());
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("an address").to_string();
    let ended = Lgoose::new([&path, "-H", &url, "-u", "1", "--web", &address]).finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let told = format!("cannot serve the run at {address}: ");
    assert!(
        ended.stderr.contains(&told) && ended.stderr.contains("without a port"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.received(), 0, "nothing was sent");
}

#[test]
fn the_next_port_is_taken_and_the_page_is_opened() {
    let server = Server::start();
    let (path, url) = (plan("web_open.lua", BUSY), server.url());
    let folder = scratch("web_open");
    std::fs::create_dir_all(&folder).expect("a folder");
    let _of_an_earlier_test = std::fs::remove_file(folder.join("opened"));
    let (opener, opened) = (folder.join("xdg-open"), folder.join("opened"));
    let script = format!("#!/bin/sh\necho \"$1\" >>{}\n", opened.display());
    std::fs::write(&opener, script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&opener, mode).expect("it is ours");
    let search = format!(
        "{}:{}",
        folder.display(),
        std::env::var("PATH").expect("a path")
    );
    let start = || {
        let arguments = [&path, "-H", &url, "-u", "1", "-t", "60s", "--web", "--open"];
        Lgoose::new(arguments)
            .env("PATH", &search)
            .env("LGOOSE_WEB_TOKEN", TOKEN)
            .start()
    };
    let runs = [start(), start()];
    let addresses = runs.each_ref().map(|run| {
        wait_until("an address", || run.stderr().contains("/?token="));
        Web::of(&run.stderr()).address
    });
    assert_ne!(addresses[0], addresses[1]);
    assert!(
        addresses
            .iter()
            .all(|address| (7400..7500).contains(&address.port())),
        "{addresses:?}"
    );
    let pages = addresses.map(|address| format!("http://{address}/?token={TOKEN}"));
    wait_until("both pages are opened", || {
        std::fs::read_to_string(&opened).is_ok_and(|text| {
            pages
                .iter()
                .all(|page| text.lines().any(|line| line == page))
        })
    });
    for run in runs {
        run.interrupt();
        run.end();
    }
}

#[test]
fn a_run_that_begins_paused_sends_nothing_until_it_is_let_go() {
    let server = Server::start();
    let text = "task { function(user) user:get '/' end }\n\
                task { on_start = true, function(user) user:get '/start' end }";
    let (path, url) = (plan("web_paused.lua", text), server.url());
    let arguments = [
        &path, "-H", &url, "-u", "2", "-r", "1000", "-i", "1", "--paused",
    ];
    let Served { running, web } = Served::start(&arguments);
    wait_until("the run waits", || {
        web.get("/api/v1/status").json()["phase"] == "paused"
    });
    let status = web.get("/api/v1/status").json();
    assert_eq!((&status["users_now"], server.received()), (&json!(0), 0));
    assert_eq!(web.post("/api/v1/resume", "").status, 202);
    wait_until("its requests", || server.received() == 4);
    running.end();
    for more in [&[][..], &["--web", "127.0.0.1:0", "--web-read-only"]] {
        let ended = Lgoose::new(arguments.iter().chain(more)).finish();
        assert_eq!(ended.code, 2, "{more:?}: {}", ended.stderr);
        let told = "serve the run with '--web'";
        assert!(ended.stderr.contains(told), "{more:?}: {}", ended.stderr);
    }
    assert_eq!(server.received(), 4);
}

#[test]
fn a_stream_has_its_row_as_soon_as_it_is_open() {
    let path = plan(
        "web_open.lua",
        "task { 't', function(user)
           local socket = user:websocket('/api/chat', { name = 'silent' })
           assert(socket.ok, socket.error)
           user:wait(60)
         end }",
    );
    let Served { running, web } = Served::start(&[&path, "-H", "demo:api", "-u", "2", "-r", "100"]);
    let rows = web.events(None).find_map(|event| {
        let rows = event.data["requests"].as_array()?.clone();
        (!rows.is_empty()).then_some(rows)
    });
    let rows = rows.expect("the run goes on");
    assert_eq!(
        (&rows[0]["name"], &rows[0]["count"]),
        (&json!("silent"), &json!(0))
    );
    web.post("/api/v1/abort", "");
    running.end();
}
