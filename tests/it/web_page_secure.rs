//! The pages of a run and of `lgoose serve` over https, in a real browser that trusts the certificate.

use crate::browser::Browser;
use crate::program::{plan, wait_until};
use crate::secure::{Authority, Identity};
use crate::server::Server;
use crate::web_client::{Served, TOKEN};
use crate::web_page::{DESK, open, submit};
use crate::web_serve::{BUSY, Host};
use serde_json::{Value, json};

/// A certificate of 127.0.0.1, its key, and the flags that show it.
fn identity(name: &str) -> (Identity, [String; 4]) {
    let identity = Authority::new().sign(&["127.0.0.1"]);
    let [cert, key] = identity.files(name);
    let flags = ["--web-cert".to_owned(), cert, "--web-key".to_owned(), key];
    (identity, flags)
}

#[test]
fn a_run_is_watched_and_steered_over_https() {
    let (identity, flags) = identity("web_page_secure");
    let Some(browser) = Browser::trusting("secure", &identity.key) else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_secure.lua", BUSY), server.url());
    let flags = flags.each_ref().map(String::as_str);
    let arguments = [&[&*path, "-H", &url, "-u", "2", "-r", "1000"], &flags[..]].concat();
    let Served { running, web } = Served::start(&arguments);
    assert!(web.secure, "{}", web.url());
    let tab = open(&browser, &web, DESK, "light");
    assert_eq!(tab.js("isSecureContext && location.protocol"), "https:");
    submit(&tab, "users", "4");
    tab.wait_for("document.querySelector('#answer').textContent.startsWith('4 users wanted')");
    tab.wait_for("document.querySelector('#cards .value').textContent === '4'");
    tab.js("document.querySelector('#stop').click()");
    tab.js("document.querySelector('#confirm-yes').click()");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    assert_eq!(running.end().code, 0);
}

#[test]
fn runs_are_started_and_watched_over_https() {
    let (identity, flags) = identity("web_serve_secure");
    let Some(browser) = Browser::trusting("serve_secure", &identity.key) else {
        return;
    };
    let server = Server::start();
    let flags = flags.each_ref().map(String::as_str);
    let host = Host::start("serve_secure", &[("a.lua", BUSY)], &flags);
    let url = host.web.url();
    assert!(host.web.secure, "{url}");
    let tab = browser.open(&format!("{url}/?token={TOKEN}"), DESK, "dark");
    tab.wait_for("document.querySelectorAll('#plan option').length === 1");
    for (field, value) in [("host", &*server.url()), ("users", "3")] {
        tab.js(&format!(
            "document.querySelector('#{field}').value = {}",
            json!(value)
        ));
    }
    tab.js("document.querySelector('#start button').click()");
    tab.wait_for("document.querySelector('#rows .running')");
    wait_until("users work", || server.received() > 20);
    tab.js("document.querySelector('#rows .files a').click()");
    tab.wait_for(
        "location.pathname === '/run' && document.querySelectorAll('#requests tbody').length > 0",
    );
    tab.wait_for("document.querySelector('#cards .value').textContent === '3'");
    tab.js("document.querySelector('#stop').click()");
    tab.js("document.querySelector('#confirm-yes').click()");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    tab.js("document.querySelector('.brand a').click()");
    tab.wait_for("document.querySelector('#rows .kept')");
    let shown =
        tab.js("+[...document.querySelectorAll('#rows .num')][1].textContent.replaceAll(',', '')");
    assert_eq!(shown.as_u64(), Some(server.received()));
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    host.end();
}
