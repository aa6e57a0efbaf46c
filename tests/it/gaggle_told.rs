//! What runs on workers tell of trouble that only one side sees, and what is left when a manager is killed.

use crate::broker::Broker;
use crate::gaggle::{STEADY, managed, pass, report_of, worker};
use crate::program::{Lgoose, plan, wait_until};
use crate::server::Server;
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_full_store_of_the_broker_is_told_in_the_report() {
    let small = "jetstream { store_dir: \"STORE\", max_file_store: 24KB }";
    let Some(broker) = Broker::with("s3cret", small) else {
        return;
    };
    let (server, path) = (
        Server::start(),
        plan(
            "gaggle_full.lua",
            "task { function(user)\n  \
               for n = 1, 40 do user:get(\"/\", { name = \"page \" .. n }) end\n  \
               user:wait(0.1)\n\
             end }",
        ),
    );
    let first = worker(&broker, "w1", &["-v"]);
    let options = ["-u", "4", "-r", "1000", "-t", "60s"];
    let running = managed(&broker, &path, &server, "1", &options);
    let ended = running.end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let (_, warnings) = report_of(ended);
    let told = |text: &String| {
        text.contains("figures of worker 'w1' do not arrive")
            && (text.contains("resources") || text.contains("maximum"))
    };
    assert!(warnings.iter().any(told), "{warnings:?}");
    let told = first.stderr();
    assert!(
        told.contains("DEBUG") && told.contains("hand figures over"),
        "{told}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_plan_that_does_not_load_on_a_worker_is_told_with_the_workers_name() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let soon = now.expect("after 1970").as_secs() + 3;
    let text = format!(
        "if os.time() >= {soon} then error \"not any more\" end\n\
         task {{ function(user) user:get \"/\" end }}"
    );
    let (server, path) = (Server::start(), plan("gaggle_unloaded.lua", &text));
    let running = managed(&broker, &path, &server, "1", &["-t", "1s"]);
    wait_until("it waits", || running.stderr().contains("0 of 1 are there"));
    pass(Duration::from_secs(4));
    let worker = worker(&broker, "late", &[]);
    let ended = running.end();
    assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
    let told = ended.stderr;
    assert!(told.contains("the plan does not load everywhere"), "{told}");
    assert!(
        told.contains("late") && told.contains("not any more"),
        "{told}"
    );
    assert!(told.contains("gaggle_unloaded.lua:1"), "{told}");
    let free = Lgoose::new(["gaggle"]).env("LGOOSE_NATS", &broker.url());
    assert!(free.finish().stdout.contains("free"));
    drop(worker);
}

/// A connection to the broker, as its protocol has it.
struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Wire {
    fn open(broker: &Broker) -> Wire {
        let url = broker.url();
        let address = url.rsplit_once('@').expect("a token").1;
        let mut wire = Wire {
            stream: TcpStream::connect(address).expect("it listens"),
            read: Vec::new(),
        };
        wire.send(b"CONNECT {\"auth_token\":\"s3cret\",\"verbose\":false,\"pedantic\":false}\r\n");
        wire
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it is there");
    }

    /// Asks who is there until a worker answers, and returns what it says: one that has just been started may not listen yet.
    fn presence(&mut self) -> Vec<u8> {
        let wait = |stream: &TcpStream, most| stream.set_read_timeout(most).expect("it is there");
        self.send(b"SUB answers 1\r\n");
        wait(&self.stream, Some(Duration::from_secs(1)));
        let presence = loop {
            self.publish("lgoose.hello", "answers", b"");
            if let Some((_, presence)) = self.next_message() {
                break presence;
            }
        };
        wait(&self.stream, None);
        presence
    }

    /// Reads until there is a message, and returns its head's words and its payload.
    fn message(&mut self) -> (Vec<String>, Vec<u8>) {
        self.next_message().expect("it waits for ever")
    }

    /// Does the same; `None` if nothing comes for as long as the stream waits.
    fn next_message(&mut self) -> Option<(Vec<String>, Vec<u8>)> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&self.read[..end]).into_owned();
                let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                if words[0] != "MSG" {
                    self.read.drain(..end + 2);
                    if words[0] == "PING" {
                        self.send(b"PONG\r\n");
                    }
                    continue;
                }
                let length: usize = words[words.len() - 1].parse().expect("a length");
                if self.read.len() >= end + length + 4 {
                    let payload = self.read[end + 2..end + 2 + length].to_vec();
                    self.read.drain(..end + length + 4);
                    return Some((words, payload));
                }
            }
            let mut bytes = [0; 4096];
            let count = match self.stream.read(&mut bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
                read => read.expect("the broker is there"),
            };
            assert!(count > 0, "the broker has closed the connection");
            self.read.extend(&bytes[..count]);
        }
    }

    fn publish(&mut self, subject: &str, reply: &str, payload: &[u8]) {
        self.send(format!("PUB {subject} {reply} {}\r\n", payload.len()).as_bytes());
        self.send(payload);
        self.send(b"\r\n");
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_of_another_version_is_left_out_by_name() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let own = env!("CARGO_PKG_VERSION");
    let other: String = own
        .chars()
        .map(|c| if c == '.' { '.' } else { '9' })
        .collect();
    let mut wire = Wire::open(&broker);
    let real = worker(&broker, "old", &[]);
    let mut presence = wire.presence();
    drop(real);
    let at = presence
        .windows(own.len())
        .position(|part| part == own.as_bytes());
    let at = at.expect("it tells its version");
    presence[at..at + own.len()].copy_from_slice(other.as_bytes());
    wire.send(b"SUB lgoose.hello 2\r\n");
    std::thread::spawn(move || {
        loop {
            let (head, _) = wire.message();
            // MSG lgoose.hello 2 REPLY LENGTH
            wire.publish(&head[3], "", &presence);
        }
    });
    let (server, path) = (
        Server::start(),
        plan("gaggle_version.lua", "task { function() end }"),
    );
    let options = ["-u", "1", "-t", "1s", "-q", "--workers-timeout", "2s"];
    let ended = managed(&broker, &path, &server, "1", &options).end();
    let told = format!("worker 'old': it runs lgoose {other}, and this is {own}");
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
}

/// Returns a number as messages have it.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[test]
fn a_worker_with_more_threads_than_any_has_is_left_out_by_name() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let own = env!("CARGO_PKG_VERSION");
    let mut wire = Wire::open(&broker);
    let real = worker(&broker, "aaa", &[]);
    let presence = wire.presence();
    drop(real);
    let at = presence
        .windows(own.len())
        .position(|part| part == own.as_bytes());
    // After the version, no labels, and the number of threads.
    let at = at.expect("it tells its version") + own.len() + 1;
    assert_eq!(presence[at - 1..=at], [0, 1]);
    let presences = [0, 4_097, 30_000_000, 1 << 40, u64::MAX].map(|threads| {
        let number = varint(threads);
        [&presence[..at], &number, &presence[at + 1..]].concat()
    });
    wire.send(b"SUB lgoose.hello 2\r\nSUB lgoose.worker.> 3\r\n");
    std::thread::spawn(move || {
        let done = [presences[0][0], 0];
        let is_own = |subject: &str| {
            let id = subject.rsplit('.').next().unwrap_or_default();
            presences[0]
                .windows(id.len())
                .any(|part| part == id.as_bytes())
        };
        loop {
            let (head, _) = wire.message();
            // MSG SUBJECT ID REPLY LENGTH
            match &*head[2] {
                "2" => presences
                    .iter()
                    .for_each(|presence| wire.publish(&head[3], "", presence)),
                // What is asked of the other worker has its own answer.
                _ if head.len() > 4 && is_own(&head[1]) => wire.publish(&head[3], "", &done),
                _ => {}
            }
        }
    });
    let (server, path) = (
        Server::start(),
        plan(
            "gaggle_threads.lua",
            "task { function(user) user:get '/' end }",
        ),
    );
    let _honest = worker(&broker, "zzz", &[]);
    let options = ["-u", "1", "-i", "1", "--workers-timeout", "5s"];
    let ended = managed(&broker, &path, &server, "1", &options).end();
    assert_eq!((ended.code, server.received()), (0, 1), "{}", ended.stderr);
    for threads in ["0", "30,000,000", "1,099,511,627,776"] {
        let told = format!(
            "worker 'aaa': it says that it has {threads} threads, and a worker has 1 to 4,096: it was left out"
        );
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn messages_that_no_worker_has_sent_are_skipped_and_lose_nothing() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let mut wire = Wire::open(&broker);
    wire.send(b"SUB lgoose.run.*.up.> 1\r\n");
    let (server, path) = (Server::start(), plan("gaggle_skipped.lua", STEADY));
    let _worker = worker(&broker, "w1", &[]);
    let options = ["-u", "4", "-r", "1000", "-t", "5s"];
    let running = managed(&broker, &path, &server, "1", &options);
    // MSG SUBJECT ID REPLY LENGTH; a probe is the manager's own.
    let (head, signal) = loop {
        let (head, signal) = wire.message();
        if !head[1].ends_with(".probe") {
            break (head, signal);
        }
    };
    let subject = &head[1];
    let protocol = signal[0];
    assert_eq!(signal[1], 1, "the number of its first signal");
    let far = [&[protocol], &*varint(u64::MAX), &signal[2..]].concat();
    // Figures (0) of measurement 0, in 3 bytes that are none, with the number of the signal after the next.
    let no_figures = [protocol, 3, 0, 0, 3, 255, 255, 255];
    for forged in [&[protocol, 255, 255, 255, 255][..], &far, &no_figures, &[]] {
        wire.publish(subject, "", forged);
    }
    let ended = running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (report, warnings) = report_of(ended);
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    let told = "1 message of worker 'w1' skipped: ";
    assert!(
        warnings.iter().any(|text| text.starts_with(told)),
        "{warnings:?}"
    );
}

#[test]
fn a_broker_that_lgoose_started_ends_with_it() {
    if Broker::start().is_none() {
        return;
    }
    let (server, path) = (
        Server::start(),
        plan("gaggle_orphan.lua", "task { function() end }"),
    );
    let url = server.url();
    let running =
        Lgoose::new([&*path, "-H", &url, "--workers", "1", "-u", "1", "-t", "1s"]).start();
    let mut address = None;
    wait_until("the line for workers", || {
        let told = running.stderr();
        let line = told
            .split_once("lgoose worker nats://")
            .map(|(_, rest)| rest);
        let line = line
            .and_then(|rest| rest.split_once('\n'))
            .map(|(line, _)| line);
        address = line.and_then(|line| Some(line.split_once('@')?.1.trim().to_owned()));
        address.is_some()
    });
    let address = address.expect("a URL");
    assert!(TcpStream::connect(&address).is_ok());
    running.signal(Signal::KILL);
    wait_until("the broker ends", || TcpStream::connect(&address).is_err());
}

#[test]
fn a_broker_that_is_not_installed_is_told_with_the_way_to_get_it() {
    let path = plan("gaggle_missing.lua", "task { function() end }");
    let ended = Lgoose::new([
        &*path,
        "-H",
        "http://127.0.0.1:9",
        "--workers",
        "1",
        "-t",
        "1s",
    ])
    .env("PATH", "/nowhere")
    .finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("apt-get install nats-server"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_mistake_in_what_goes_on_beside_a_run_is_told_before_anybody_waits_for_workers() {
    let path = plan("gaggle_beside.lua", STEADY);
    for (flag, value) in [("--web", "0.0.0.0"), ("--otlp", "http://")] {
        let run = [
            &*path,
            "-H",
            "http://127.0.0.1:9",
            "--workers",
            "1",
            flag,
            value,
        ];
        let ended = Lgoose::new(run).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(flag), "{}", ended.stderr);
        assert!(!ended.stderr.contains("workers"), "{}", ended.stderr);
    }
}
