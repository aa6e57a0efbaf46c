//! The page of a run when the way to lgoose is lost: it says so, and goes on where it was when the way is there again.

use crate::browser::Browser;
use crate::program::{plan, wait_until};
use crate::server::Server;
use crate::web_client::{Served, Web};
use crate::web_page::{DESK, open};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a way does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Carries,
    /// Ends connections, and takes none.
    Cuts,
    /// Keeps connections, and loses all that is sent: a network that has gone without a word.
    Swallows,
}

/// A way to a server that can be broken.
struct Way {
    address: SocketAddr,
    does: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    fn to(server: SocketAddr) -> Way {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let way = Way {
            address: listener.local_addr().expect("an address"),
            does: Arc::new(AtomicU8::new(Does::Carries as u8)),
            open: Arc::default(),
        };
        let (does, open) = (way.does.clone(), way.open.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if does.load(Ordering::SeqCst) == Does::Cuts as u8 {
                    continue;
                }
                let server = TcpStream::connect(server).expect("lgoose listens");
                let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let clone = |stream: &TcpStream| stream.try_clone().expect("a socket");
                    let (from, to, does) = (clone(from), clone(to), does.clone());
                    std::thread::spawn(move || carry(from, to, &does));
                }
                open.extend([client, server]);
            }
        });
        way
    }

    /// From now on it does this.
    fn now(&self, does: Does) {
        self.does.store(does as u8, Ordering::SeqCst);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if does == Does::Cuts {
            for stream in open.drain(..) {
                // The other side may have done it.
                let _gone = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, does: &AtomicU8) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let swallows = does.load(Ordering::SeqCst) == Does::Swallows as u8;
        if !swallows && to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _gone = to.shutdown(Shutdown::Both);
}

/// Users who tell a number each second.
const TELLING: &str = r#"
local told = 0
task { wait = 0.05, function(user)
  user:get "/"
  told = told + 1
  if told % 20 == 0 then user:log("line " .. told .. ".") end
end }
"#;

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_page_that_loses_the_way_says_so_and_goes_on_without_a_gap() {
    let Some(browser) = Browser::start("broken") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_broken.lua", TELLING), server.url());
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "1"]);
    let way = Way::to(web.address);
    let tab = open(&browser, &Web::at(way.address), DESK, "light");
    let seconds = || {
        let seconds = tab
            .js("import('/state.js').then(({ state }) => state.points.map(point => point.second))");
        serde_json::from_value::<Vec<u64>>(seconds).expect("seconds")
    };
    for broken in [Does::Cuts, Does::Swallows] {
        wait_until("points", || seconds().len() > 2);
        way.now(broken);
        tab.wait_for("!document.querySelector('#lost').hidden");
        let told = tab.text("#lost");
        assert!(
            told.contains("lgoose") && told.contains("tries again"),
            "{told}"
        );
        assert_eq!(tab.text("#phase"), "no connection");
        let is_idle =
            "[...document.querySelectorAll('#commands button')].every(one => one.disabled)";
        assert_eq!(tab.js(is_idle), json!(true), "no command would arrive");
        let (before, requests) = (seconds().len(), server.received());
        wait_until("the run goes on", || server.received() > requests + 60);
        assert!(seconds().len() <= before + 1, "{broken:?}: nothing comes");
        way.now(Does::Carries);
        tab.wait_for("document.querySelector('#lost').hidden");
        wait_until("what was missed", || seconds().len() > before + 3);
        // It is drawn with the next frame.
        tab.wait_for("document.querySelector('#phase').textContent === 'running'");
        assert_eq!(tab.js(is_idle), json!(false));
        let seconds = seconds();
        let whole: Vec<u64> = (0..seconds.len() as u64).collect();
        assert_eq!(seconds, whole, "{broken:?}");
        let lines = tab.js("[...document.querySelectorAll('#log .log p')].map(one => +/line (\\d+)\\./.exec(one.textContent)?.[1]).filter(Boolean)");
        let expected: Vec<u64> = (1..=lines.as_array().expect("lines").len() as u64)
            .map(|n| n * 20)
            .collect();
        assert_eq!(lines, json!(expected), "{broken:?}: each line once");
    }
    web.post("/api/v1/stop", "");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    running.end();
}
