//! What hosting Lua costs: a VM's size and creation, with and without each library, and each thing that a
//! task does to a page of 8 KiB. Prints a table; `cargo bench --bench vm` runs it. No network: answers are
//! made up, so what is left is Lua and the way between Lua and Rust.

#![allow(clippy::print_stdout, reason = "printing is what a benchmark is for")]
#![allow(missing_docs, reason = "a benchmark has no interface")]

use lgoose::http::{Client, ClientConfig, Exchange, Response, Session, Target, Timings};
use lgoose::lua::{Finished, Op, Program, Pulse, Step, Vm, VmSetup, load};
use lgoose::metrics::Recorder;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const VMS: u32 = 200;
const TIMES: u32 = 2_000;

fn main() {
    println!("{:<34} {:>10} {:>10}", "a VM with", "KiB", "µs to make");
    for (what, code) in [
        ("the smallest plan", ""),
        ("regex", "local _ = regex 'a+'"),
        ("random", "local _ = random.int(1, 2)"),
        ("json", "local _ = json.encode { 1 }"),
        ("html", "local _ = html.parse '<p>'"),
        (
            "url, base64, hash",
            "local _ = url.encode 'a', base64.encode 'a', hash.md5 'a'",
        ),
        ("metric", "local _ = metric.counter 'a'"),
        ("lgoose.drupal", "local _ = require 'lgoose.drupal'"),
    ] {
        let program = program(&format!(
            "{code}\ntask {{ function(user) user:get '/' end }}"
        ));
        let (size, time) = creation(&program);
        println!("{what:<34} {size:>10.1} {time:>10.1}");
    }
    println!("\n{:<34} {:>10}", "on a page of 8 KiB", "ns each");
    for (what, code) in [
        ("user:get, answered at once", "user:get '/'"),
        (
            "user:get with expect.status",
            "user:get('/', { expect = { status = 200 } })",
        ),
        ("response.status", "local _ = page.status"),
        ("response:title()", "page:title()"),
        ("response:contains(text)", "page:contains 'nowhere'"),
        (
            "response:match(regex)",
            "page:match 'value=\"([0-9a-f]+)\"'",
        ),
        ("response:assets()", "page:assets()"),
        ("response:css, parsed before", "page:css 'input'"),
        ("response:form, parsed before", "page:form '#login'"),
        ("html.parse(body)", "html.parse(body)"),
        ("an empty loop turn", ""),
    ] {
        println!("{what:<34} {:>10.0}", per_turn(code));
    }
}

fn program(source: &str) -> Arc<Program> {
    let (program, ..) = load("bench.lua", source, BTreeMap::new(), 1).expect("the plan is fine");
    program
}

struct Surroundings {
    session: Rc<Session>,
    recorder: Rc<RefCell<Recorder>>,
    pulse: Arc<Pulse>,
}

impl Surroundings {
    fn new() -> Surroundings {
        let client = Client::new(ClientConfig::default(), Arc::default());
        Surroundings {
            session: Rc::new(Session::new(client, "http://127.0.0.1:1").expect("a good URL")),
            recorder: Rc::new(RefCell::new(Recorder::new(0))),
            pulse: Arc::default(),
        }
    }

    fn vm(&self, program: &Arc<Program>) -> Vm {
        let setup = VmSetup {
            user: 1,
            draws: 1,
            scenario: "default",
            session: self.session.clone(),
            memory: 64 << 20,
            time: Duration::from_secs(60),
            recorder: &self.recorder,
            pulse: &self.pulse,
        };
        Vm::new(program, setup).expect("the plan loads again")
    }
}

/// Lua's own memory of a VM in KiB, and the time to make one in µs.
fn creation(program: &Arc<Program>) -> (f64, f64) {
    let surroundings = Surroundings::new();
    let size = surroundings.vm(program).used_memory() as f64 / 1024.0;
    let begin = Instant::now();
    for _ in 0..VMS {
        std::hint::black_box(surroundings.vm(program));
    }
    (size, begin.elapsed().as_secs_f64() * 1e6 / f64::from(VMS))
}

/// ns of one turn of a loop that does `code` in a task that holds a page; the best of five.
fn per_turn(code: &str) -> f64 {
    let source = format!(
        "task {{ function(user)\nlocal page = user:get '/'\nlocal body = page.body\npage:css 'p'\n\
         for _ = 1, {TIMES} do {code} end\nend }}"
    );
    let program = program(&source);
    let surroundings = Surroundings::new();
    let best = (0..5).map(|_| {
        let mut vm = surroundings.vm(&program);
        let begin = Instant::now();
        run(&mut vm);
        begin.elapsed()
    });
    let best = best.min().unwrap_or_default();
    best.as_secs_f64() * 1e9 / f64::from(TIMES)
}

fn run(vm: &mut Vm) {
    let page = bytes::Bytes::from(page());
    let mut step = vm.start(0, 1);
    loop {
        step = match step {
            Step::Op(Op::Request(op)) => {
                vm.settle(|_, _| {});
                let exchange = answered(&page);
                let failure = op.expect.verdict(&exchange);
                vm.answer(Finished::new(exchange, failure))
            }
            Step::Done => return,
            other => panic!("{other:?}"),
        };
    }
}

fn answered(page: &bytes::Bytes) -> Exchange {
    let url = url::Url::parse("http://127.0.0.1:1/").expect("a good URL");
    let target = Target::of(&url).expect("a good URL");
    Exchange {
        latency: Duration::from_micros(100),
        timings: Timings::default(),
        redirects: 0,
        retries: 0,
        bytes: page.len() as u64,
        outcome: Ok(Response::of(200, target, page.clone())),
    }
}

/// A page as sites have them: a head with assets, a form, paragraphs.
fn page() -> String {
    let mut page = "<!DOCTYPE html><html><head><title>Welcome</title>\
        <link rel=\"stylesheet\" href=\"/misc/a.css\"><script src=\"/misc/a.js\"></script></head><body>\
        <form id=\"login\" method=\"post\" action=\"/user\"><input name=\"name\">\
        <input type=\"hidden\" name=\"token\" value=\"1f2e3d\"></form>"
        .to_owned();
    while page.len() < 8 * 1024 {
        page += "<div class=\"teaser\"><h2><a href=\"/node/1\">A title</a></h2><p>Some words of text.</p></div>\n";
    }
    page + "</body></html>"
}
