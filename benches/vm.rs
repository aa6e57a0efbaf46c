//! What hosting Lua costs: a VM's size and creation, with and without each library, and each thing that a
//! task does to a page of 8 KiB. Prints a table; `cargo bench --bench vm` runs it. The answers of these are
//! made up, so what is left is Lua and the way between Lua and Rust. The last table is over a real connection.

#![allow(clippy::print_stdout, reason = "printing is what a benchmark is for")]
#![allow(missing_docs, reason = "a benchmark has no interface")]

use lgoose_http::{
    Client, ClientConfig, Exchange, Phases, Request, Response, Session, Target, Transfer,
    TransferMeter,
};
use lgoose_lua::{Finished, Heartbeat, Op, Program, Step, Vm, VmSetup, load};
use lgoose_metrics::Recorder;
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const VMS: u32 = 200;
const TIMES: u32 = 2_000;

fn main() {
    println!("{:<34} {:>10} {:>10}", "a VM with", "KiB", "CPU µs");
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
    println!("\n{:<34} {:>10}", "on a page of 8 KiB", "CPU ns each");
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
    println!(
        "\n{:<34} {:>10}",
        "over a connection on this machine", "CPU ns each"
    );
    let (bare, with_lua) = over_loopback();
    println!("{:<34} {bare:>10.0}", "Session::send, no Lua");
    println!("{:<34} {with_lua:>10.0}", "user:get in a VM");
    println!("{:<34} {:>10.0}", "what user:get adds", with_lua - bare);
}

/// Processor time of one request in ns, without and with Lua around the same client; the medians of rounds
/// that take turns. The site is a thread of its own, and only the client's thread is measured: what the site
/// and the waiting for it cost is in neither figure, what the kernel does for the client's calls is in both.
fn over_loopback() -> (f64, f64) {
    const ROUNDS: usize = 9;
    let site = site();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let (mut bare, mut with_lua) = (Vec::new(), Vec::new());
    let plan = format!("task {{ function(user) for _ = 1, {TIMES} do user:get '/' end end }}");
    let program = program(&plan);
    for _ in 0..ROUNDS {
        let surroundings = Surroundings::towards(site);
        bare.push(runtime.block_on(send_all(&surroundings.session)));
        let surroundings = Surroundings::towards(site);
        let vm = surroundings.vm(&program);
        with_lua.push(runtime.block_on(run_over(&surroundings.session, vm)));
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[ROUNDS / 2].as_secs_f64() * 1e9 / f64::from(TIMES)
    };
    (median(bare), median(with_lua))
}

async fn send_all(session: &Session) -> Duration {
    let begin = processor_time();
    for _ in 0..TIMES {
        let request = Request::new(http::Method::GET, "/");
        let meter = TransferMeter::default();
        let sending = session.send(&request, Instant::now(), None, &meter);
        let exchange = sending.await;
        assert!(exchange.outcome.is_ok(), "{exchange:?}");
        std::hint::black_box(Finished::new(exchange, None));
    }
    processor_time() - begin
}

async fn run_over(session: &Session, mut vm: Vm) -> Duration {
    let begin = processor_time();
    let mut step = vm.start(0, 1);
    while let Step::Op(Op::Request(op)) = step {
        vm.settle(|_, _| {});
        let meter = TransferMeter::default();
        let sending = session.send(&op.request, Instant::now(), None, &meter);
        let exchange = sending.await;
        let failure = op.expect.verdict(&exchange);
        step = vm.resume_request(Finished::new(exchange, failure));
    }
    assert!(matches!(step, Step::Done), "{step:?}");
    processor_time() - begin
}

/// What this thread has computed so far: other programs on the machine do not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// A site that answers two bytes, each connection on a thread of its own.
fn site() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            std::thread::spawn(move || answer_all(stream));
        }
    });
    address
}

/// One answer for each request; a request of this benchmark comes in one piece.
fn answer_all(mut stream: TcpStream) {
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

fn program(source: &str) -> Arc<Program> {
    let (program, ..) = load("bench.lua", source, BTreeMap::new(), 1).expect("the plan is fine");
    program
}

struct Surroundings {
    session: Rc<Session>,
    recorder: Rc<RefCell<Recorder>>,
    heartbeat: Arc<Heartbeat>,
}

impl Surroundings {
    /// Those of a user whose requests are not sent.
    fn new() -> Surroundings {
        Surroundings::towards(([127, 0, 0, 1], 1).into())
    }

    fn towards(site: SocketAddr) -> Surroundings {
        let client = Client::new(ClientConfig::default(), Arc::default());
        Surroundings {
            session: Rc::new(Session::new(client, &format!("http://{site}")).expect("a good URL")),
            recorder: Rc::new(RefCell::new(Recorder::new(0))),
            heartbeat: Arc::default(),
        }
    }

    fn vm(&self, program: &Arc<Program>) -> Vm {
        let setup = VmSetup {
            user: 1,
            random_stream: 1,
            scenario: "default",
            session: self.session.clone(),
            memory: 64 << 20,
            time: Duration::from_secs(60),
            recorder: &self.recorder,
            heartbeat: &self.heartbeat,
            run: None,
        };
        Vm::new(program, setup).expect("the plan loads again")
    }
}

/// Lua's own memory of a VM in KiB, and the processor time to make one in µs.
fn creation(program: &Arc<Program>) -> (f64, f64) {
    let surroundings = Surroundings::new();
    let size = surroundings.vm(program).used_memory() as f64 / 1024.0;
    let begin = processor_time();
    for _ in 0..VMS {
        std::hint::black_box(surroundings.vm(program));
    }
    let took = processor_time() - begin;
    (size, took.as_secs_f64() * 1e6 / f64::from(VMS))
}

/// Processor time in ns of one turn of a loop that does `code` in a task that holds a page; the best of five.
fn per_turn(code: &str) -> f64 {
    let source = format!(
        "task {{ function(user)\nlocal page = user:get '/'\nlocal body = page.body\npage:css 'p'\n\
         for _ = 1, {TIMES} do {code} end\nend }}"
    );
    let program = program(&source);
    let surroundings = Surroundings::new();
    let best = (0..5).map(|_| {
        let mut vm = surroundings.vm(&program);
        let begin = processor_time();
        run(&mut vm);
        processor_time() - begin
    });
    let best = best.min().unwrap_or_default();
    best.as_secs_f64() * 1e9 / f64::from(TIMES)
}

fn run(vm: &mut Vm) {
    let page = bytes::Bytes::from(page());
    let url = url::Url::parse("http://127.0.0.1:1/").expect("a good URL");
    let target = Target::of(&url).expect("a good URL");
    let mut step = vm.start(0, 1);
    loop {
        step = match step {
            Step::Op(Op::Request(op)) => {
                vm.settle(|_, _| {});
                let exchange = answered(&target, &page);
                let failure = op.expect.verdict(&exchange);
                vm.resume_request(Finished::new(exchange, failure))
            }
            Step::Done => return,
            other => panic!("{other:?}"),
        };
    }
}

fn answered(target: &Target, page: &bytes::Bytes) -> Box<Exchange> {
    Box::new(Exchange {
        trace: None,
        start: tokio::time::Instant::now(),
        connection: None,
        latency: Duration::from_micros(100),
        timings: Phases::default(),
        transfer: Transfer {
            received: page.len() as u64,
            ..Transfer::default()
        },
        outcome: Ok(Response::of(200, target.clone(), page.clone())),
    })
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
