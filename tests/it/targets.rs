//! `lgoose URLS.txt` and `lgoose -`: lists of targets are run and checked as plans are.

use crate::program::{Lgoose, empty_folder};
use crate::report::read;
use crate::server::Server;

#[test]
fn a_list_sends_its_targets_in_their_order() {
    let site = Server::start();
    let folder = empty_folder("targets");
    let other = Server::start();
    std::fs::write(folder.join("order.json"), "{\"id\":7}").expect("written");
    let list = format!(
        "# the shop\n{url}/status/200\nPOST {url}/echo?a=1\nContent-Type: application/json\n@order.json\n\nHEAD {url}/status/404\n\
         GET {}/bytes/3\n",
        other.url(),
        url = site.url()
    );
    let path = folder.join("urls.txt");
    std::fs::write(&path, &list).expect("written");
    let path = path.display().to_string();
    let arguments = ["-u", "2", "-i", "3", "-o", "json=-"];
    let report = read(Lgoose::new([path.as_str()].iter().chain(&arguments)).finish());
    let host = other.url().replace("http://", "");
    let rows = [
        format!("GET {host}/bytes/3"),
        "GET /status/200".to_owned(),
        "HEAD /status/404".to_owned(),
        "POST /echo".to_owned(),
    ];
    let mut expected = rows.to_vec();
    expected.sort();
    assert_eq!(report.rows(), expected);
    assert!(rows.iter().all(|row| report.count(row) == 6));
    assert_eq!(report.failures("HEAD /status/404"), 6);
    assert_eq!(site.count("POST /echo?a=1"), 6);

    let once = Lgoose::new([path.as_str(), "--once", "--http-debug"]).finish();
    assert!(once.stderr.contains("{\"id\":7}") || once.stdout.contains("{\"id\":7}"));
    let sent = site.requests();
    assert_eq!(
        sent[sent.len() - 3..],
        ["GET /status/200", "POST /echo?a=1", "HEAD /status/404"]
    );
}

#[test]
fn a_list_comes_from_standard_input_and_takes_the_flags_of_a_run() {
    let site = Server::start();
    let list = format!("{}/status/200\n", site.url());
    let arguments = ["-", "--rate", "100/s", "-t", "200ms", "-o", "json=-"];
    let report = read(Lgoose::new(arguments).input(&list).finish());
    assert_eq!(report.count("GET /status/200"), site.received());
    assert!(site.received() > 0);
    // Another site takes the place of the first one.
    let staging = Server::start();
    let (url, list) = (staging.url(), "GET http://127.0.0.1:1/status/200\n");
    let arguments = ["-", "-H", &url, "-u", "1", "-i", "1", "-o", "json=-"];
    let report = read(Lgoose::new(arguments).input(list).finish());
    assert_eq!((report.total("failures"), staging.received()), (0, 1));
    // What is Lua stays a plan.
    let plan = "-- http://127.0.0.1:1/\ntask { function(user) user:get \"/status/200\" end }";
    let report = read(Lgoose::new(arguments).input(plan).finish());
    assert_eq!((report.total("failures"), staging.received()), (0, 2));
}

#[test]
fn a_list_is_checked_and_listed() {
    let list = "GET http://127.0.0.1:1/a\nPUT http://127.0.0.1:1/b\n";
    let checked = Lgoose::new(["check", "-"]).input(list).finish();
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
    assert!(
        checked.stdout.contains("(standard input) is fine"),
        "{}",
        checked.stdout
    );
    let listed = Lgoose::new(["-", "--list"]).input(list).finish();
    assert_eq!(listed.code, 0, "{}", listed.stderr);
}

#[test]
fn a_bad_line_is_reported_with_file_and_line() {
    let folder = empty_folder("bad_targets");
    let path = folder.join("urls.txt");
    let name = path.display().to_string();
    for (list, parts) in [
        ("http://a/\nGET htp://b/\n", ["this is no target", ":2\n"]),
        (
            "http://a/\nPOST http://b/\n@missing.json\n",
            ["cannot read the body 'missing.json'", ":3\n"],
        ),
        (
            "htp://a/\nhttp://b/1\nhttp://b/2\n",
            ["this is no target", ":1\n"],
        ),
        (
            "http://a/\n\nAccept: text/html\n",
            ["'Accept' belongs to no target", ":3\n"],
        ),
    ] {
        std::fs::write(&path, list).expect("written");
        for arguments in [vec![name.as_str()], vec!["check", &name]] {
            let ended = Lgoose::new(&arguments).finish();
            assert_eq!(ended.code, 2, "{}", ended.stderr);
            for part in parts {
                assert!(ended.stderr.contains(part), "{part} in\n{}", ended.stderr);
            }
        }
    }
}

#[test]
fn other_tools_are_named_and_what_helps() {
    let folder = empty_folder("other_tools");
    let files = [
        (
            "script.js",
            "import http from 'k6/http';\nexport default function () { http.get('http://a/'); }\n",
            "a k6 script",
        ),
        (
            "locustfile.py",
            "from locust import HttpUser, task\n\nclass A(HttpUser):\n    pass\n",
            "a locustfile",
        ),
        (
            "plan.jmx",
            "<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\"><hashTree/></jmeterTestPlan>\n",
            "a test plan of JMeter",
        ),
        (
            "artillery.yml",
            "config:\n  target: http://a\n  phases:\n    - duration: 1\nscenarios:\n  - flow: []\n",
            "a test of Artillery",
        ),
        (
            "post.lua",
            "wrk.method = \"POST\"\nwrk.body = \"a=1\"\n",
            "a script of wrk",
        ),
        (
            "request.lua",
            "request = function()\n  return wrk.format(nil, \"/a\")\nend\n",
            "a script of wrk",
        ),
        (
            "A.scala",
            "package a\n\nimport io.gatling.core.Predef._\n",
            "a simulation of Gatling",
        ),
        (
            "A.java",
            "import static io.gatling.javaapi.core.CoreDsl.*;\n",
            "a simulation of Gatling",
        ),
        (
            "targets.json",
            "{\"method\":\"GET\",\"url\":\"http://a/\"}\n",
            "vegeta's JSON format",
        ),
        (
            "visit.har",
            "{\n \"log\": { \"version\": \"1.2\", \"creator\": {} } }\n",
            "a recording of a browser",
        ),
    ];
    for (name, text, noun) in files {
        let path = folder.join(name).display().to_string();
        std::fs::write(&path, text).expect("written");
        for arguments in [
            vec!["check", path.as_str()],
            vec![path.as_str(), "-H", "http://127.0.0.1:1"],
        ] {
            let ended = Lgoose::new(&arguments).finish();
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (2, ""),
                "{}",
                ended.stderr
            );
            let message = format!("'{path}' is {noun}");
            let helps = ["lgoose help other-tools", "lgoose import", "lgoose FILE"];
            assert!(
                ended.stderr.contains(noun)
                    && ended.stderr.contains(&path)
                    && helps.iter().any(|help| ended.stderr.contains(help)),
                "{message} in\n{}",
                ended.stderr
            );
            assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
        }
    }
}
