//! `lgoose import` of what a real Chromium has seen: visits to the built-in sites and to a WordPress, recorded by a script,
//! run for ten users as they were written. Without Chromium they are passed over.

use crate::browser::Browser;
use crate::drupal::site as drupal;
use crate::program::{Lgoose, scratch};
use crate::recorder::Recorder;
use crate::report::run;
use crate::wordpress::WordPress;
use lgoose::demo::{Behaviour, Demo, Site};
use serde_json::json;
use std::time::Duration;

fn site(kind: Site) -> Demo {
    Demo::start(kind, 0, Behaviour::default(), 1).expect("a port is free")
}

/// Types into the fields that selectors name.
fn fill_in(recorder: &Recorder, fields: &[(&str, &str)]) {
    for (selector, text) in fields {
        recorder.tab().js(&format!(
            "document.querySelector({}).value = {}; 0",
            json!(selector),
            json!(text)
        ));
    }
}

/// Imports a recording into a folder of its own and runs the plan there for ten users who make the visit twice. Returns
/// plan and notes.
fn imported_and_run(recording: &str, name: &str, variables: &[&str]) -> (String, String) {
    let load = ["-u", "10", "-r", "1000", "-i", "2", "--wait-factor", "0"];
    imported_and_run_with(&load, recording, name, variables)
}

fn imported_and_run_with(
    load: &[&str],
    recording: &str,
    name: &str,
    variables: &[&str],
) -> (String, String) {
    let folder = scratch(name);
    // Left by an earlier run of the tests.
    let _absent = std::fs::remove_dir_all(&folder);
    let to = folder.display().to_string();
    let ended = Lgoose::new(["import", recording, "--to", to.as_str()]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    let path = folder.join("plan.lua");
    std::fs::write(&path, &ended.stdout).expect("it can be written");
    let path = path.display().to_string();
    crate::import::checks_clean(&path, &ended.stdout);
    let report = run([&[path.as_str()], load, variables].concat());
    let told = format!("{}\n{}\n{:?}", ended.stdout, ended.stderr, report.errors());
    assert_eq!(
        (report.total("failures"), report.task_failures()),
        (0, 0),
        "{told}"
    );
    assert!(report.total("count") >= 10, "{told}");
    (ended.stdout, ended.stderr)
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn a_member_of_a_drupal_logs_in_and_comments() {
    let Some(browser) = Browser::without_network("import-drupal") else {
        return;
    };
    let site = drupal();
    let url = site.url();
    let recorder = Recorder::new(&browser);
    recorder.open(&url);
    recorder.rest(4.0);
    recorder.open(&format!("{url}/user"));
    recorder.rest(6.0);
    fill_in(
        &recorder,
        &[("#edit-name", "user7"), ("#edit-pass", "12345")],
    );
    recorder.go("document.querySelector('#edit-submit').click()");
    recorder.rest(3.0);
    recorder.open(&format!("{url}/node/7"));
    recorder.rest(12.0);
    fill_in(
        &recorder,
        &[
            ("#edit-subject", "a subject"),
            ("#edit-comment-body-und-0-value", "a text"),
        ],
    );
    recorder.go("document.querySelector('#comment-form #edit-submit').click()");
    let before = site.served()["POST /comment/reply/%"];
    let recording = recorder.save("chromium_drupal.har");
    let (text, told) = imported_and_run(&recording, "import_drupal", &["-e", "PASSWORD=12345"]);
    assert_has(
        &text,
        &[
            "user:submit(page:form(\"#user-login\")",
            "pass = PASSWORD",
            "user:fetch(page:assets(), { name = \"assets\" })",
            "user:submit(page:form(\"#comment-form\")",
        ],
    );
    // Somebody rested for four seconds; the rest is what a busy machine took to load the page.
    let wait = text.split("wait = ").nth(1).expect("a wait");
    let wait = wait
        .split(',')
        .next()
        .and_then(|wait| wait.parse::<f64>().ok());
    assert!(
        wait.is_some_and(|wait| (4.0..10.0).contains(&wait)),
        "{wait:?} in\n{text}"
    );
    assert!(
        !text.contains("form_token") && !text.contains("12345"),
        "{text}"
    );
    assert!(!told.contains("no answer brought it"), "{told}");
    assert_eq!(site.served()["POST /comment/reply/%"] - before, 20);
}

#[test]
fn a_visitor_of_umami_searches_and_an_editor_saves() {
    let Some(browser) = Browser::without_network("import-umami") else {
        return;
    };
    let site = site(Site::Umami);
    let url = site.url();
    let recorder = Recorder::new(&browser);
    recorder.open(&format!("{url}/en"));
    recorder.rest(3.0);
    recorder.open(&format!("{url}/en/recipes"));
    recorder.rest(2.0);
    recorder.go("document.querySelector('a[href*=\"/en/recipes/\"]').click()");
    recorder.rest(5.0);
    recorder.open(&format!("{url}/en/search/node"));
    fill_in(&recorder, &[("#search-form input[name=keys]", "chocolate")]);
    recorder.go("document.querySelector('#search-form input[type=submit]').click()");
    recorder.rest(2.0);
    recorder.open(&format!("{url}/en/user/login"));
    fill_in(
        &recorder,
        &[("#edit-name", "admin"), ("#edit-pass", "admin")],
    );
    recorder.go("document.querySelector('#user-login-form input[type=submit]').click()");
    recorder.open(&format!("{url}/en/node/1/edit"));
    fill_in(&recorder, &[("#edit-title-0-value", "A new title")]);
    recorder.go("document.querySelector('form.node-form #edit-submit--2').click()");
    let recording = recorder.save("chromium_umami.har");
    let (text, told) = imported_and_run(&recording, "import_umami", &["-e", "PASSWORD=admin"]);
    assert_has(
        &text,
        &[
            "keys = \"chocolate\"",
            "pass = PASSWORD",
            "[\"title[0][value]\"] = \"A new title\"",
        ],
    );
    assert!(!told.contains("no answer brought it"), "{told}");
}

#[test]
fn a_page_of_the_shop_calls_its_api() {
    let Some(browser) = Browser::without_network("import-api") else {
        return;
    };
    let site = site(Site::Api);
    let url = site.url();
    let recorder = Recorder::new(&browser);
    recorder.open(&url);
    recorder.rest(2.0);
    recorder.open(&format!("{url}/login"));
    fill_in(
        &recorder,
        &[
            ("input[name=username]", "user7"),
            ("input[name=password]", "12345"),
        ],
    );
    recorder.go("document.querySelector('#login button').click()");
    recorder.rest(2.0);
    recorder.tab().js(
        "(async () => {
            const json = { 'Content-Type': 'application/json' };
            const login = await fetch('/api/login', { method: 'POST', headers: json, body: JSON.stringify({ username: 'user7', password: '12345' }) });
            const auth = { Authorization: 'Bearer ' + (await login.json()).token };
            await Promise.all(['/api/products', '/api/products/17', '/api/me'].map(path => fetch(path, { headers: auth }).then(answer => answer.text())));
            const made = await fetch('/api/orders', { method: 'POST', headers: { ...json, ...auth }, body: JSON.stringify({ product: 17, quantity: 2 }) });
            const order = await made.json();
            await fetch('/api/orders/' + order.id, { headers: auth }).then(answer => answer.text());
            const form = new FormData();
            form.append('title', 'a picture');
            form.append('file', new File(['a text'], 'a.txt', { type: 'text/plain' }));
            await fetch('/upload', { method: 'POST', body: form }).then(answer => answer.text());
            await fetch('/api/orders/' + order.id, { method: 'DELETE', headers: auth });
        })()",
    );
    let recording = recorder.save("chromium_api.har");
    let (text, told) = imported_and_run(&recording, "import_api", &["-e", "PASSWORD=12345"]);
    assert_has(
        &text,
        &[
            "auth = { bearer = token }",
            "\"/api/orders/\" .. order_id",
            "multipart = ",
        ],
    );
    assert!(!text.contains("12345"), "{text}");
    assert!(!told.contains("no answer brought it"), "{told}");
    assert_eq!(site.served()["DELETE /api/orders/%"], 21);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn calls_that_a_page_sends_at_once_are_a_batch() {
    let Some(browser) = Browser::without_network("import-batch") else {
        return;
    };
    // A browser on a busy machine takes a while from the first call of a batch to its last.
    let behaviour = Behaviour {
        latency: Duration::from_secs(1),
        ..Behaviour::default()
    };
    let site = Demo::start(Site::Api, 0, behaviour, 1).expect("a port is free");
    let recorder = Recorder::new(&browser);
    recorder.open(&site.url());
    recorder.rest(2.0);
    recorder.tab().js(
        "(async () => {
            const json = { 'Content-Type': 'application/json' };
            const login = await fetch('/api/login', { method: 'POST', headers: json, body: JSON.stringify({ username: 'user7', password: '12345' }) });
            const auth = { Authorization: 'Bearer ' + (await login.json()).token };
            const body = JSON.stringify({ product: 17, quantity: 2 });
            const [made] = await Promise.all([
                fetch('/api/orders', { method: 'POST', headers: { ...json, ...auth }, body }),
                fetch('/api/products', { headers: auth }).then(answer => answer.text()),
                fetch('/api/me', { headers: auth }).then(answer => answer.text()),
            ]);
            const order = await made.json();
            await fetch('/api/orders/' + order.id, { headers: auth }).then(answer => answer.text());
            await fetch('/api/products/17', { headers: auth }).then(answer => answer.text());
        })()",
    );
    let recording = recorder.save("chromium_batch.har");
    let (text, told) = imported_and_run(&recording, "import_batch", &["-e", "PASSWORD=12345"]);
    assert_has(
        &text,
        &[
            "local answers = user:batch {",
            "local order_id = ",
            "answers[1]:ensure()",
            "user:get(\"/api/orders/\" .. order_id",
            "user:get(\"/api/products/\" .. product_id",
        ],
    );
    assert_eq!(text.matches("user:batch").count(), 1, "{text}");
    let (_, batch) = text.split_once("user:batch {").expect("it is there");
    let (batch, _) = batch.split_once("\n    }\n").expect("it ends");
    for path in ["/api/orders", "/api/products", "/api/me"] {
        assert!(batch.contains(&format!("path = \"{path}\"")), "{text}");
    }
    assert!(!told.contains("no answer brought it"), "{told}");
}

#[test]
fn a_real_wordpress_is_visited() {
    let Some(browser) = Browser::without_network("import-wordpress") else {
        return;
    };
    let Some(site) = WordPress::start() else {
        return;
    };
    let url = &site.url;
    let log_in = |recorder: &Recorder| {
        recorder.open(&format!("{url}/wp-login.php"));
        fill_in(
            recorder,
            &[("#user_login", &site.name), ("#user_pass", &site.password)],
        );
        recorder.go("document.querySelector('#wp-submit').click()");
    };
    // What a new WordPress asks its first administrator for, it asks nobody again.
    let first = Recorder::new(&browser);
    log_in(&first);
    first.tab().ask("Network.clearBrowserCookies", json!({}));
    first.tab().ask("Network.clearBrowserCache", json!({}));
    let recorder = Recorder::new(&browser);
    recorder.open(&format!("{url}/"));
    recorder.rest(4.0);
    recorder.open(&format!("{url}/?s=kettles"));
    recorder.rest(3.0);
    log_in(&recorder);
    recorder.rest(3.0);
    recorder.open(&format!("{url}/?p=1"));
    recorder.rest(5.0);
    fill_in(&recorder, &[("#comment", "a comment on kettles")]);
    recorder.go("document.querySelector('#commentform [type=submit]').click()");
    recorder.rest(2.0);
    recorder.open(&format!("{url}/wp-admin/media-new.php?browser-uploader"));
    let picture = scratch("kettle.png");
    std::fs::write(&picture, png()).expect("it can be written");
    let tab = recorder.tab();
    let node = tab.ask(
        "Runtime.evaluate",
        json!({ "expression": "document.querySelector('#async-upload')" }),
    );
    let to =
        json!({ "files": [picture.display().to_string()], "objectId": node["result"]["objectId"] });
    tab.ask("DOM.setFileInputFiles", to);
    recorder.go("document.querySelector('#html-upload').click()");
    let recording = recorder.save("chromium_wordpress.har");
    let password = format!("PASSWORD={}", site.password);
    // A WordPress keeps the logins of one account in one place: of two at the same moment one is lost.
    let load = ["-u", "10", "-r", "1", "-i", "1", "--wait-factor", "0"];
    let (text, told) =
        imported_and_run_with(&load, &recording, "import_wordpress", &["-e", &password]);
    assert_has(
        &text,
        &[
            "s=kettles",
            "pwd = PASSWORD",
            "a comment on kettles",
            "kettle.png",
        ],
    );
    assert_has(&told, &["a small file is sent", "0.gravatar.com"]);
    assert!(!text.contains(&site.password), "{text}");
}

/// A picture of one dot.
fn png() -> Vec<u8> {
    use base64::Engine as _;
    let text = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    base64::prelude::BASE64_STANDARD
        .decode(text)
        .expect("base64")
}
