//! `lgoose import`: visits to the built-in sites, recorded by a small browser, become plans that run without a failure.

use crate::drupal::site;
use crate::program::{Lgoose, plan, scratch};
use crate::report::run;
use crate::web_client::{Answer, Web};
use lgoose::demo::{Behaviour, Demo, Site};
use regex::Regex;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

/// Asks a site as a browser does and keeps what it saw as a HAR file has it.
struct Browser {
    web: Web,
    host: String,
    cookies: Vec<(String, String)>,
    entries: Vec<Value>,
    /// Milliseconds since the visit began.
    clock: u32,
}

impl Browser {
    fn new(site: &Demo) -> Browser {
        let url = site.url();
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let address: SocketAddr = host.parse().expect("an address with its port");
        Browser {
            web: Web::at(address),
            host: host.to_owned(),
            cookies: Vec::new(),
            entries: Vec::new(),
            clock: 0,
        }
    }

    /// Sends a request; redirects are followed.
    fn ask(
        &mut self,
        kind: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut lines: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let accept = if kind == "document" {
            "text/html,application/xhtml+xml"
        } else {
            "*/*"
        };
        lines.push(("Accept".to_owned(), accept.to_owned()));
        if !cookies.is_empty() {
            lines.push(("Cookie".to_owned(), cookies.join("; ")));
        }
        let head: String = lines
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let answer = self.web.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{head}\r\n{body}",
            self.host,
            body.len()
        ));
        let received = answer
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        let received: Vec<(String, String)> = received
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (_, line) in received
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
        {
            let (name, value) = line
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='))
                .expect("a cookie");
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
        let named = |pairs: &[(String, String)]| -> Vec<Value> {
            pairs
                .iter()
                .map(|(name, value)| json!({ "name": name, "value": value }))
                .collect()
        };
        let (seconds, rest) = (self.clock / 1000, self.clock % 1000);
        let sent_type = lines
            .iter()
            .find(|(name, _)| name == "Content-Type")
            .map_or("", |(_, value)| value);
        let mut request = json!({ "method": method, "url": format!("http://{}{path}", self.host), "headers": named(&lines) });
        if !body.is_empty() {
            request["postData"] = json!({ "mimeType": sent_type, "text": body });
        }
        self.entries.push(json!({
            "startedDateTime": format!("2026-05-04T10:{:02}:{:02}.{rest:03}Z", seconds / 60, seconds % 60),
            "time": 20,
            "_resourceType": kind,
            "request": request,
            "response": {
                "status": answer.status,
                "headers": named(&received),
                "content": { "mimeType": answer.header("content-type"), "text": answer.text() },
                "redirectURL": answer.header("location"),
            },
        }));
        self.clock += 30;
        if matches!(answer.status, 301..=303) {
            let location = answer.header("location").to_owned();
            let path = location
                .trim_start_matches(&format!("http://{}", self.host))
                .to_owned();
            return self.ask(kind, "GET", &path, &[], "");
        }
        answer
    }

    /// Opens a page and what it shows from its own site.
    fn open(&mut self, path: &str) -> String {
        let page = self.ask("document", "GET", path, &[], "").text();
        let sources = Regex::new(
            "(?:<img[^>]* src|<script[^>]* src|rel=\"stylesheet\"[^>]* href)=\"([^\"]+)\"|@import url\\(\"([^\"]+)\"\\)",
        )
        .expect("a pattern");
        let own = format!("http://{}", self.host);
        for found in sources.captures_iter(&page) {
            let path = found
                .get(1)
                .or(found.get(2))
                .expect("one of them")
                .as_str()
                .trim_start_matches(&own)
                .replace("&amp;", "&");
            if path.starts_with('/') && !path.starts_with("//") {
                self.ask("image", "GET", &path, &[], "");
            }
        }
        page
    }

    /// Submits what stands in hidden fields of a page, and what is typed.
    fn submit(
        &mut self,
        page: &str,
        path: &str,
        hidden: &[&str],
        typed: &[(&str, &str)],
    ) -> Answer {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(typed);
        for name in hidden {
            let form = page
                .find(&format!("action=\"{path}\""))
                .expect("the form is there");
            let pattern = format!("name=\"{}\" value=\"([^\"]*)\"", regex::escape(name));
            let pattern = Regex::new(&pattern).expect("a pattern");
            let value = pattern.captures(&page[form..]).expect("the field is there")[1].to_owned();
            body.append_pair(name, &value);
        }
        let body = body.finish();
        self.ask(
            "document",
            "POST",
            path,
            &[("Content-Type", "application/x-www-form-urlencoded")],
            &body,
        )
    }

    fn rest(&mut self, seconds: u32) {
        self.clock += seconds * 1000;
    }

    /// Writes the file.
    fn save(&self, name: &str) -> String {
        let har = json!({ "log": { "version": "1.2", "creator": {}, "pages": [], "entries": self.entries } });
        plan(name, &har.to_string())
    }
}

/// Imports a recording, checks the plan, and returns its path, its text and what was told.
pub(crate) fn imported(recording: &str, name: &str) -> (String, String, String) {
    let ended = Lgoose::new(["import", recording]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let path = plan(name, &ended.stdout);
    checks_clean(&path, &ended.stdout);
    (path, ended.stdout, ended.stderr)
}

/// Makes sure that `lgoose check` has nothing to say of the plan at that path; `text` is shown if it has.
pub(crate) fn checks_clean(path: &str, text: &str) {
    let checked = Lgoose::new(["check", path]).finish();
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{text}");
}

#[test]
fn a_visit_with_a_login_and_a_comment_runs_for_ten_users() {
    let site = site();
    let mut browser = Browser::new(&site);
    browser.open("/");
    browser.rest(4);
    let page = browser.open("/user");
    browser.rest(6);
    let typed = [("name", "user7"), ("pass", "12345"), ("op", "Log in")];
    let answer = browser.submit(&page, "/user", &["form_build_id", "form_id"], &typed);
    assert!(answer.text().contains("<title>user7"), "{}", answer.text());
    browser.rest(3);
    let page = browser.open("/node/7");
    browser.rest(12);
    let hidden = ["form_build_id", "form_token", "form_id"];
    let typed = [
        ("subject", "a subject"),
        ("comment_body[und][0][value]", "a text"),
        ("comment_body[und][0][format]", "filtered_html"),
        ("op", "Save"),
    ];
    let answer = browser.submit(&page, "/comment/reply/7", &hidden, &typed);
    assert!(
        answer.text().contains("has been posted"),
        "{}",
        answer.text()
    );
    let recording = browser.save("drupal.har");
    let (path, text, told) = imported(&recording, "imported_drupal.lua");
    assert!(
        !text.contains("12345") && !text.contains("form_token"),
        "{text}"
    );
    assert!(told.contains("set PASSWORD"), "{told}");
    for part in [
        "user:fetch(page:assets()",
        "user:submit(page:form(\"#user-login\")",
        "pass = PASSWORD",
        "user:wait(6)",
        "title = \"Welcome",
        "wait = 4",
        "user:get(\"/node/7\"",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let before = site.served()["POST /comment/reply/%"];
    ten_users_succeed(&path, &text);
    assert_eq!(site.served()["POST /comment/reply/%"] - before, 20);
    let without = Lgoose::new([path.as_str(), "-u", "1", "-i", "1"]).finish();
    assert_ne!(without.code, 0);
    assert!(
        without.stderr.contains("PASSWORD is not set"),
        "{}",
        without.stderr
    );
}

/// Runs an imported plan, whose text is told if anything fails, with ten users who make each visit twice.
pub(crate) fn ten_users_succeed(path: &str, text: &str) {
    let many = [
        "-u",
        "10",
        "-r",
        "1000",
        "-i",
        "2",
        "--wait-factor",
        "0",
        "-e",
        "PASSWORD=12345",
    ];
    let report = run([path].into_iter().chain(many));
    assert_eq!(
        (report.total("failures"), report.task_failures()),
        (0, 0),
        "{text}\n{:?}",
        report.errors()
    );
}

#[test]
fn a_visit_to_an_api_takes_its_token_and_its_ids_from_the_answers() {
    let site = Demo::start(Site::Api, 0, Behaviour::default(), 1).expect("a port is free");
    let mut browser = Browser::new(&site);
    let kind = ("Content-Type", "application/json");
    let login = browser.ask(
        "xhr",
        "POST",
        "/api/login",
        &[kind],
        "{\"username\":\"user7\",\"password\":\"12345\"}",
    );
    let token = login.json()["token"].as_str().expect("a token").to_owned();
    let bearer = format!("Bearer {token}");
    let auth = ("Authorization", bearer.as_str());
    browser.ask("xhr", "GET", "/api/products", &[], "");
    browser.rest(2);
    let order = browser.ask(
        "xhr",
        "POST",
        "/api/orders",
        &[kind, auth],
        "{\"product\":17,\"quantity\":2}",
    );
    assert_eq!(order.status, 201, "{}", order.text());
    let path = order.header("location").to_owned();
    browser.ask("xhr", "GET", &path, &[auth], "");
    browser.ask("xhr", "PATCH", &path, &[kind, auth], "{\"quantity\":3}");
    browser.ask("xhr", "DELETE", &path, &[auth], "");
    let (path, text, told) = imported(&browser.save("api.har"), "imported_api.lua");
    assert!(!text.contains(&token) && !text.contains("12345"), "{text}");
    assert!(
        text.contains("auth = { bearer = user.data.token }"),
        "{text}"
    );
    assert!(
        text.contains("user:delete(\"/api/orders/\" .. order_id"),
        "{text}"
    );
    assert!(!told.contains("no answer brought it"), "{told}");
    ten_users_succeed(&path, &text);
    assert_eq!(site.served()["DELETE /api/orders/%"], 21);
}

#[test]
fn a_command_line_on_standard_input_becomes_a_plan() {
    let site = Demo::start(Site::Api, 0, Behaviour::default(), 1).expect("a port is free");
    let line = format!(
        "curl '{}/api/login' -H 'accept: application/json' \\\n  --json $'{{\"username\":\"user7\",\"password\":\"1234\\u0035\"}}' --compressed",
        site.url().trim_end_matches('/')
    );
    let ended = Lgoose::new(["import", "-"]).input(&line).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let path = plan("imported_curl.lua", &ended.stdout);
    let report = run([path.as_str(), "-u", "1", "-i", "1", "-e", "PASSWORD=12345"]);
    assert_eq!(
        (report.total("count"), report.total("failures")),
        (1, 0),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_cannot_be_read_is_told_with_its_place_and_exit_code_2() {
    for (name, text, told) in [
        (
            "cut.har",
            "{\"log\":{\"entries\":[\n{\"request\":{\"method\":\"GET\",\"url\":\"http",
            "is cut off: it ends at line 2",
        ),
        (
            "wrong.har",
            "{\"log\":{\"entries\":[\n{\"request\":7}]}}",
            "left out entry 1 of the recording: its 'request' is no object",
        ),
        (
            "other.json",
            "{\"a\":1}",
            "it has no 'log', 'item', 'openapi' or 'config'",
        ),
        ("none.har", "{\"log\":{\"entries\":[]}}", "has no request"),
        ("empty.har", "", "is empty"),
        ("page.html", "<html>", "cannot be imported"),
        ("list.json", "[]", "cannot be imported"),
        ("odd.sh", "wget http://127.0.0.1/", "begins with 'wget'"),
        (
            "quote.sh",
            "curl 'http://127.0.0.1/",
            "a quotation mark is never closed",
        ),
        (
            "option.sh",
            "curl --nonsense a http://127.0.0.1/",
            "curl has no option '--nonsense'",
        ),
    ] {
        let path = plan(name, text);
        let ended = Lgoose::new(["import", path.as_str()]).finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{name}");
        assert!(
            ended.stderr.contains(told) && ended.stderr.contains("help:"),
            "{name}: {}",
            ended.stderr
        );
    }
}

#[test]
fn a_site_that_the_recording_lacks_is_refused_with_those_it_has() {
    let site = site();
    let mut browser = Browser::new(&site);
    browser.open("/");
    let recording = browser.save("site.har");
    let ended = Lgoose::new(["import", recording.as_str(), "--site", "other.test"]).finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""));
    for part in [
        "has no request to 'other.test'",
        "'--site'",
        browser.host.as_str(),
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let named = [
        "import",
        recording.as_str(),
        "--site",
        browser.host.as_str(),
    ];
    let ended = Lgoose::new(named).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_recording_with_a_film_in_it_takes_little_memory() {
    let path = scratch("film.har");
    let mut file = std::io::BufWriter::new(
        std::fs::File::create(&path).expect("the scratch folder takes a file"),
    );
    let entry = |url: &str, kind: &str| {
        format!(
            "{{\"startedDateTime\":\"2026-05-04T10:00:00Z\",\"time\":1,\"request\":{{\"method\":\"GET\",\"url\":\"{url}\",\"headers\":[]}},\
             \"response\":{{\"status\":200,\"headers\":[],\"content\":{{\"mimeType\":\"{kind}\",\"text\":\""
        )
    };
    let page = entry("http://127.0.0.1/", "text/html");
    write!(
        file,
        "{{\"log\":{{\"entries\":[{page}<title>A film</title>\"}}}}}},"
    )
    .expect("it is written");
    write!(file, "{}", entry("http://127.0.0.1/film", "video/mp4")).expect("it is written");
    let block = vec![b'A'; 1 << 20];
    for _ in 0..200 {
        file.write_all(&block).expect("it is written");
    }
    write!(file, "\"}}}}}}]}}}}").expect("it is written");
    file.flush().expect("it is written");
    drop(file);
    let named = path.display().to_string();
    // The shell's limit of memory, in KiB, stands for a small machine.
    let script = "ulimit -v 150000; exec \"$0\" \"$@\"";
    let ended = Lgoose::new(["import", named.as_str()])
        .through("sh", &["-c", script])
        .finish();
    std::fs::remove_file(&path).expect("it is ours");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stdout.contains("A film") && ended.stdout.contains("\"/film\""),
        "{}",
        ended.stdout
    );
}

#[test]
fn long_bodies_go_into_files_that_are_never_written_over() {
    let folder = scratch("import_to");
    // Left by an earlier run of the tests.
    let _absent = std::fs::remove_dir_all(&folder);
    let line = format!(
        "curl http://127.0.0.1:1/x -H 'content-type: text/plain' --data-raw '{}'",
        "a ".repeat(2000)
    );
    let to = folder.display().to_string();
    let import = || {
        Lgoose::new(["import", "-", "--to", to.as_str()])
            .input(&line)
            .finish()
    };
    let ended = import();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    std::fs::write(folder.join("plan.lua"), &ended.stdout).expect("it can be written");
    let checked = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
    assert_eq!(checked.code, 0, "{}\n{}", checked.stderr, ended.stdout);
    let mut text = String::new();
    let body = std::fs::File::open(folder.join("body-1.txt"));
    body.expect("it was written")
        .read_to_string(&mut text)
        .expect("it is text");
    assert_eq!(text, "a ".repeat(2000));
    assert_eq!(import().code, 0);
    std::fs::write(folder.join("body-1.txt"), "mine").expect("it can be written");
    let ended = import();
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""));
    assert!(
        ended.stderr.contains("is there already"),
        "{}",
        ended.stderr
    );
}
