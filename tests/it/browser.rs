//! Chromium (Debian's package `chromium`), driven by its DevTools protocol over a pipe: messages of JSON, each ended by a zero
//! byte (<https://chromedevtools.github.io/devtools-protocol/>).

use crate::program::{DEADLINE, scratch, wait_until};
use crate::skipping::skip;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};

/// A browser of its own, with an empty profile; ended when this is dropped.
pub(crate) struct Browser {
    pipe: Rc<RefCell<Pipe>>,
    downloads: PathBuf,
}

/// A page in a browser.
pub(crate) struct Tab {
    pipe: Rc<RefCell<Pipe>>,
    session: String,
}

struct Pipe {
    child: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    sent: u64,
    /// What came unasked.
    events: Vec<Value>,
}

impl Browser {
    /// Starts one; `None`, said aloud, where there is no Chromium. No two browsers use the same name.
    pub(crate) fn start(name: &str) -> Option<Browser> {
        Browser::with(name, &[])
    }

    /// Starts one that trusts a certificate by the key that is in it, whoever has signed it.
    pub(crate) fn trusting(name: &str, key: &KeyPair) -> Option<Browser> {
        let print = BASE64_STANDARD.encode(Sha256::digest(key.subject_public_key_info()));
        let flag = format!("--ignore-certificate-errors-spki-list={print}");
        Browser::with(name, &[&flag])
    }

    /// Starts one that takes this machine for every host, and trusts any certificate.
    #[allow(dead_code, reason = "tests/judges alone uses it")]
    pub(crate) fn of_this_machine(name: &str) -> Option<Browser> {
        Browser::with(
            name,
            &[
                "--host-resolver-rules=MAP * 127.0.0.1",
                "--ignore-certificate-errors",
            ],
        )
    }

    /// Starts one that finds no other host than this machine.
    pub(crate) fn without_network(name: &str) -> Option<Browser> {
        let rules = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1";
        Browser::with(name, &[rules])
    }

    fn with(name: &str, flags: &[&str]) -> Option<Browser> {
        if Command::new("chromium").arg("--version").output().is_err() {
            skip("pages in a browser", "Debian's package 'chromium'");
            return None;
        }
        let profile = scratch(&format!("chromium-{name}"));
        let downloads = scratch(&format!("downloads-{name}"));
        for folder in [&profile, &downloads] {
            let _of_an_earlier_test = std::fs::remove_dir_all(folder);
            std::fs::create_dir_all(folder).expect("a folder");
        }
        // It speaks on descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 1>&2", "sh"])
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .arg("--remote-debugging-pipe")
            .args(flags)
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let input = child.stdin.take().expect("it is piped");
        let mut stream = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while let Ok(1..) = stream.read_until(0, &mut message) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("JSON");
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let pipe = Pipe {
            child,
            input,
            output,
            sent: 0,
            events: Vec::new(),
        };
        let pipe = Rc::new(RefCell::new(pipe));
        let allowed = json!({ "behavior": "allow", "downloadPath": downloads });
        pipe.borrow_mut()
            .ask(None, "Browser.setDownloadBehavior", &allowed);
        Some(Browser { pipe, downloads })
    }

    /// Returns its name and version.
    #[allow(dead_code, reason = "tests/judges alone uses it")]
    pub(crate) fn version(&self) -> String {
        let asked = self
            .pipe
            .borrow_mut()
            .ask(None, "Browser.getVersion", &json!({}));
        asked["product"].as_str().expect("a product").to_owned()
    }

    /// Opens an address in a window of that size.
    pub(crate) fn open(&self, url: &str, (width, height): (u32, u32), scheme: &str) -> Tab {
        let ask =
            |method: &str, parameters: Value| self.pipe.borrow_mut().ask(None, method, &parameters);
        let target = ask("Target.createTarget", json!({ "url": "about:blank" }));
        let to = json!({ "targetId": target["targetId"], "flatten": true });
        let session = ask("Target.attachToTarget", to)["sessionId"].clone();
        let tab = Tab {
            pipe: self.pipe.clone(),
            session: session.as_str().expect("a session").to_owned(),
        };
        for domain in ["Page", "Runtime", "Log"] {
            tab.ask(&format!("{domain}.enable"), json!({}));
        }
        tab.ask(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 }),
        );
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        tab.ask("Emulation.setEmulatedMedia", json!({ "features": scheme }));
        tab.ask("Page.navigate", json!({ "url": url }));
        tab
    }

    /// Waits for a file that was downloaded.
    pub(crate) fn downloaded(&self, name: &str) -> PathBuf {
        let path: &Path = &self.downloads.join(name);
        wait_until(name, || path.exists());
        path.to_owned()
    }
}

impl Tab {
    pub(crate) fn ask(&self, method: &str, parameters: Value) -> Value {
        let mut pipe = self.pipe.borrow_mut();
        pipe.ask(Some(&self.session), method, &parameters)
    }

    /// Returns what an expression of JavaScript is worth, as if a person had clicked; waits for promises.
    pub(crate) fn js(&self, expression: &str) -> Value {
        let evaluated = self.evaluate(expression);
        evaluated.unwrap_or_else(|error| panic!("{expression}: {error:#}"))
    }

    /// Returns what an expression is worth, or why the browser did not evaluate it.
    fn evaluate(&self, expression: &str) -> Result<Value, Value> {
        let evaluated = self.pipe.borrow_mut().try_ask(
            Some(&self.session),
            "Runtime.evaluate",
            &json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true }),
        )?;
        let trouble = &evaluated["exceptionDetails"];
        assert!(trouble.is_null(), "{expression}: {trouble:#}");
        Ok(evaluated["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&self, expression: &str) {
        // The page may be on its way: its elements are missing, or another page is taking its place.
        let replaced =
            |error: &Value| error["error"]["message"] == "Inspected target navigated or closed";
        let ready = format!(
            "(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()"
        );
        wait_until(expression, || match self.evaluate(&ready) {
            Ok(value) => value == true,
            Err(error) if replaced(&error) => false,
            Err(error) => panic!("{expression}: {error:#}"),
        });
    }

    /// Returns the text of an element.
    pub(crate) fn text(&self, selector: &str) -> String {
        let element = format!("document.querySelector({})?.textContent", json!(selector));
        self.js(&element).as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key.
    pub(crate) fn press(&self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            letter => (0, letter),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event =
                json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text });
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Takes what has come unasked since the last time.
    pub(crate) fn take_events(&self) -> Vec<Value> {
        self.js("0");
        let mut pipe = self.pipe.borrow_mut();
        let events = std::mem::take(&mut pipe.events);
        let (own, others) = events
            .into_iter()
            .partition(|event| event["sessionId"] == self.session.as_str());
        pipe.events = others;
        own
    }

    /// Asks for something that may not be there.
    pub(crate) fn try_ask(&self, method: &str, parameters: Value) -> Option<Value> {
        let mut pipe = self.pipe.borrow_mut();
        pipe.try_ask(Some(&self.session), method, &parameters).ok()
    }

    /// Returns what the page has complained about: exceptions, forbidden loads, messages on the console. That a request
    /// failed is none: the page says so itself.
    pub(crate) fn complaints(&self) -> Vec<Value> {
        self.js("0");
        let pipe = self.pipe.borrow();
        let own = pipe.events.iter().filter(|event| {
            let parameters = &event["params"];
            event["sessionId"] == self.session.as_str()
                && match event["method"].as_str() {
                    Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => true,
                    Some("Log.entryAdded") => parameters["entry"]["source"] != "network",
                    _ => false,
                }
        });
        own.map(|event| event["params"].clone()).collect()
    }
}

impl Pipe {
    fn ask(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Value {
        let answer = self.try_ask(session, method, parameters);
        answer.unwrap_or_else(|error| panic!("{method}: {error:#}"))
    }

    /// Returns the answer, or what the browser says is wrong.
    fn try_ask(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Result<Value, Value> {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let sent = self.input.write_all(format!("{message}\0").as_bytes());
        sent.expect("the browser runs");
        loop {
            let answer = self.output.recv_timeout(DEADLINE);
            let answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == self.sent {
                return if answer["error"].is_null() {
                    Ok(answer["result"].clone())
                } else {
                    Err(answer)
                };
            }
            self.events.push(answer);
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Its helpers end when it does.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
