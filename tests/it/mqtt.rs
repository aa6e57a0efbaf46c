//! `require "lgoose.mqtt"` against a real Mosquitto (Debian: `apt-get install mosquitto mosquitto-clients`); without one a test says
//! "skipped" and passes, and fails with `LGOOSE_NEED_MOSQUITTO=1`. What was sent is judged by the server's own counts and by
//! `mosquitto_sub`. What no server would send comes from one that is made here.

use crate::program::{Lgoose, empty_folder, plan, scratch, wait_until};
use crate::report::{iterate_at, read, run};
use crate::secure::Authority;
use crate::skipping::skip_unless_needed;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

/// A running server; killed when this is dropped.
struct Mosquitto {
    /// The ports of its listeners: for all, for users with a password, with TLS, and for WebSockets.
    ports: [u16; 4],
    authority: Authority,
    server: Child,
}

impl Mosquitto {
    /// Starts one without any data; `None` if this machine has none.
    fn start(name: &str) -> Option<Mosquitto> {
        let name = format!("mqtt_{name}");
        let folder = empty_folder(&name);
        let shown = folder.display();
        let authority = Authority::new();
        let [certificate, key] = authority.sign(&["localhost"]).files(&name);
        fs::write(folder.join("acl"), "user ann\ntopic readwrite open/#\n").expect("it is ours");
        let passwords = Command::new("mosquitto_passwd")
            .args(["-c", "-b", "users", "ann", "secret"])
            .current_dir(&folder)
            .output();
        // Debian keeps the server where only root finds it.
        let programs = ["mosquitto", "/usr/sbin/mosquitto"];
        let is_there = |program: &&&str| Command::new(program).arg("-h").output().is_ok();
        let program = programs.iter().find(is_there);
        let (Some(program), Ok(_)) = (program, passwords) else {
            skip_unless_needed(
                "LGOOSE_NEED_MOSQUITTO",
                "tests of MQTT",
                "mosquitto ('apt-get install mosquitto mosquitto-clients')",
            );
            return None;
        };
        // Who else takes a port meanwhile makes the server end.
        for _ in 0..20 {
            let free = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
            let ports = free.map(|one| one.local_addr().expect("a port").port());
            let [all, users, tls, web] = ports;
            let settings = format!(
                "user root
per_listener_settings true
sys_interval 1
set_tcp_nodelay true
max_queued_messages 0
queue_qos0_messages true
max_packet_size 400000
listener {all} 127.0.0.1
allow_anonymous true
listener {users} 127.0.0.1
allow_anonymous false
password_file {shown}/users
acl_file {shown}/acl
max_qos 1
listener {tls} 127.0.0.1
allow_anonymous true
certfile {certificate}
keyfile {key}
listener {web} 127.0.0.1
allow_anonymous true
protocol websockets
"
            );
            fs::write(folder.join("settings"), settings).expect("it is ours");
            let server = Command::new(program)
                .args(["-c", "settings"])
                .current_dir(&folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it was found");
            let mut mosquitto = Mosquitto {
                ports,
                authority: Authority::new(),
                server,
            };
            let mut ended = false;
            wait_until("the server is there", || {
                ended = mosquitto.server.try_wait().is_ok_and(|end| end.is_some());
                let is_up = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
                ended || ports.iter().all(is_up)
            });
            if !ended {
                mosquitto.authority = authority;
                return Some(mosquitto);
            }
        }
        panic!("no port is free");
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    /// Runs a client of Mosquitto, and returns what it has written.
    fn client(&self, program: &str, arguments: &[&str]) -> String {
        let ended = Command::new(program)
            .args(["-V", "mqttv5", "-p", &self.ports[0].to_string()])
            .args(arguments)
            .output()
            .expect("the clients come with the server");
        String::from_utf8_lossy(&ended.stdout).into_owned()
    }

    /// Starts a subscriber of all topics below a level. One of version 5 has properties; it has been seen to end for a "protocol error"
    /// where many messages come at once.
    fn subscriber(&self, level: &str, version: &str) -> Subscriber {
        let file = scratch(&format!("mqtt_{level}_{}", self.ports[0]));
        let client = Command::new("mosquitto_sub")
            .args(["-V", version, "-p", &self.ports[0].to_string()])
            .args(["-q", "2", "-t", &format!("{level}/#")])
            .args(["-F", "%t %q %l %C %P"])
            .stdin(Stdio::null())
            .stdout(File::create(&file).expect("it is ours"))
            .spawn()
            .expect("the clients come with the server");
        let mut subscriber = Subscriber {
            file,
            client,
            probes: 0,
        };
        let probe = format!("{level}/probe");
        wait_until("the subscriber is there", || {
            self.client("mosquitto_pub", &["-t", &probe, "-m", "x"]);
            subscriber.probes += 1;
            !subscriber.lines().is_empty()
        });
        subscriber
    }

    /// Returns the number of messages that were published to it, by its own count of some moment in the last second.
    fn received(&self) -> u64 {
        let topic = "$SYS/broker/publish/messages/received";
        let text = self.client("mosquitto_sub", &["-t", topic, "-C", "1", "-W", "5"]);
        text.trim().parse().unwrap_or(0)
    }
}

/// A subscriber that did not come from here; killed when this is dropped.
struct Subscriber {
    file: PathBuf,
    client: Child,
    /// The number of messages that were published to see whether it is there.
    probes: u64,
}

impl Subscriber {
    /// Returns the messages so far, as topic, QoS, bytes, type of the content and other properties, sorted.
    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.file).expect("it is ours");
        let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    }

    /// Waits for so many messages, and returns them without the first ones.
    fn finish(self, count: usize) -> Vec<String> {
        let received = || {
            let mut lines = self.lines();
            lines.retain(|line| !line.contains("/probe "));
            lines
        };
        wait_until("all messages have come", || received().len() >= count);
        received()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let _gone = self.client.kill();
        let _gone = self.client.wait();
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _gone = self.server.wait();
    }
}

#[test]
fn messages_go_in_both_directions_at_each_qos() {
    let Some(server) = Mosquitto::start("both") else {
        return;
    };
    let large = plan("mqtt_large", &format!("{}end", "a".repeat(299_997)));
    for (qos, topic, payload) in [
        ("0", "outside/0", ["-m", "zero"]),
        ("1", "outside/1", ["-m", "größe"]),
        ("2", "outside/2", ["-m", "two"]),
        ("1", "outside/large", ["-f", &large]),
    ] {
        let options = ["-r", "-q", qos, "-t", topic];
        server.client("mosquitto_pub", &[&options[..], &payload].concat());
    }
    let subscriber = server.subscriber("judged", "mqttv5");
    let [_, users, tls, web] = server.ports;
    let ca = server.authority.file("mqtt_ca.pem");
    let ports = [("USERS", users), ("TLS", tls), ("WEB", web)];
    let ports = ports.map(|(name, port)| format!("{name}={port}"));
    let mut more = vec!["--ca", &ca];
    for port in &ports {
        more.extend(["-e", port]);
    }
    let report = iterate_at("tests/lua/mqtt.lua", &server.url(), 1, 1, &more);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let mut expected: Vec<String> = Vec::new();
    for qos in 0..3 {
        expected.push(format!("judged/3 {qos} 4"));
        expected.push(format!("judged/5 {qos} 4 text/plain unit:K"));
    }
    expected.extend([
        "judged/3 2 300000".to_owned(),
        "judged/5 2 300000".to_owned(),
    ]);
    expected.sort();
    assert_eq!(subscriber.finish(expected.len()), expected);
    for (row, count, failures) in [
        ("TCP v3", 1, 0),
        ("TLS mqtt", 2, 0),
        ("WS web", 1, 0),
        ("MQTT two", 2, 0),
        ("MQTT closed", 2, 1),
        ("MQTT too large", 1, 1),
    ] {
        assert_eq!(
            (report.count(row), report.failures(row)),
            (count, failures),
            "{row}"
        );
    }
    // Two wrong passwords.
    assert_eq!(report.failures("MQTT connect"), 2, "{:?}", report.errors());
    // What the plan has closed counts as the plan's: nothing else was lost.
    assert_eq!(report.failures("MQTT receive"), 0, "{:?}", report.errors());
}

/// The load of some users, by the server's count, by another subscriber, and by those who receive the messages.
#[test]
fn every_message_of_a_load_is_counted_once_on_both_sides() {
    let Some(server) = Mosquitto::start("load") else {
        return;
    };
    let subscriber = server.subscriber("load", "mqttv311");
    let text = r#"local mqtt = require "lgoose.mqtt"
        local subscribed = require("lgoose.shared").counter "subscribed"
        task { "connect", on_start = true, function(user)
          local client = mqtt.connect(user, { version = user.id % 2 == 0 and 3 or 5 })
          client:subscribe("load/" .. user.id % 5 + 1, { qos = 2 })
          user.data.client = client
          subscribed:incr()
          while subscribed:get() < 5 do user:wait "5ms" end
        end }
        task { "exchange", function(user)
          local client = user.data.client
          for qos = 0, 2 do client:publish("load/" .. user.id, "x", { qos = qos, name = "qos" .. qos }) end
          for _ = 1, 3 do
            local message, problem = client:receive(20)
            if not message then error(problem) end
            user:record { kind = "MESSAGE", name = "received", time = 0 }
          end
        end }
        task { "leave", on_stop = true, function(user) user.data.client:disconnect() end }"#;
    let path = plan("mqtt_load.lua", text);
    let report = iterate_at(&path, &server.url(), 5, 40, &[]);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    for (row, count) in [
        ("TCP mqtt", 5),
        ("MQTT connect", 5),
        ("MQTT subscribe", 5),
        ("MQTT qos0", 200),
        ("MQTT qos1", 200),
        ("MQTT qos2", 200),
        ("MESSAGE received", 600),
    ] {
        assert_eq!(report.count(row), count, "{row}");
    }
    // Its count leaves out QoS 2.
    let published = subscriber.probes + 400;
    assert_eq!(subscriber.finish(600).len(), 600);
    wait_until("the server has counted", || server.received() >= published);
    assert_eq!(server.received(), published);
}

#[test]
fn a_server_that_dies_fails_what_is_under_way() {
    let Some(mut server) = Mosquitto::start("dies") else {
        return;
    };
    let text = r#"local mqtt = require "lgoose.mqtt"
        task { function(user)
          local clients = {}
          for n = 1, 3 do clients[n] = mqtt.connect(user, { version = n % 2 == 0 and 3 or 5, name = "client" .. n }) end
          clients[1]:subscribe("silent")
          local idle = user:spawn(function() return clients[1]:receive(60) end)
          local count, ok, problem = 0, true, nil
          while ok do
            ok, problem = clients[2]:publish("a", ("x"):rep(1000), { qos = 2, name = "busy" })
            count = count + 1
            if count == 20 then print "under way" end
          end
          local message, why = idle:join()
          print("busy: " .. problem, "idle: " .. why, clients[2].ok, clients[2]:publish("a", "b", { name = "after" }))
          -- Where the other client was idle, it finds out when it is used.
          print("unused: " .. select(2, clients[3]:publish("a", "b", { qos = 1, name = "unused" })))
        end }"#;
    let path = plan("mqtt_dies.lua", text);
    let arguments = [
        &*path,
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
        "-o",
        "json=-",
    ];
    let running = Lgoose::new(arguments).start();
    wait_until("messages are sent", || {
        running.stderr().contains("under way")
    });
    server.server.kill().expect("it is running");
    server.server.wait().expect("it is ours");
    let report = read(running.end());
    let log = &report.ended.stderr;
    assert_eq!(report.task_failures(), 0, "{log}");
    for row in ["MQTT busy", "MQTT after", "MQTT unused", "MQTT receive"] {
        assert_eq!(report.failures(row), 1, "{row}: {log}");
    }
    for part in [
        "idle: closed early: the peer has closed the connection",
        "\tfalse\tnil\t",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[test]
fn the_fleet_of_the_example_runs() {
    let Some(server) = Mosquitto::start("fleet") else {
        return;
    };
    let arguments = [
        "examples/iot.lua",
        "-H",
        &server.url(),
        "-u",
        "6",
        "-r",
        "100",
        "-t",
        "2s",
        "-e",
        "PACE=0.2",
    ];
    let report = run(arguments);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.count("MQTT connect"), 6);
    assert!(report.count("MQTT telemetry") >= 5);
}

/// Sends each client what its identifier says, in hexadecimal digits, and closes the connection once the client has.
fn repeat_identifiers(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.expect("a client");
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut part = [0; 4096];
            // Up to the end of CONNECT, whose length has one or two bytes.
            while let Ok(count @ 1..) = stream.read(&mut part) {
                bytes.extend_from_slice(&part[..count]);
                let Some(at) = bytes.windows(4).position(|name| name == b"MQTT") else {
                    continue;
                };
                // Level, flags, seconds; version 5 has a byte for its properties, of which there are none.
                let level = bytes.get(at + 4).copied().unwrap_or(0);
                let at = at + 8 + usize::from(level == 5);
                let Some(&[high, low]) = bytes.get(at..at + 2) else {
                    continue;
                };
                let length = usize::from(u16::from_be_bytes([high, low]));
                let Some(identifier) = bytes.get(at + 2..at + 2 + length) else {
                    continue;
                };
                let digits = String::from_utf8_lossy(identifier).into_owned();
                let digits = digits.split('-').next_back().unwrap_or_default().to_owned();
                let response = (0..digits.len() / 2)
                    .map(|n| u8::from_str_radix(&digits[2 * n..2 * n + 2], 16).expect("digits"));
                let response: Vec<u8> = response.collect();
                let _gone = stream.write_all(&response);
                break;
            }
            // A client that gives up closes it.
            while matches!(stream.read(&mut part), Ok(1..)) {}
        });
    }
}

#[test]
fn what_no_server_would_send_ends_the_connection_with_a_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || repeat_identifiers(&listener));
    let report = iterate_at("tests/lua/mqtt_garbage.lua", &url, 1, 1, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert!(
        report.ended.stderr.contains("all refused"),
        "{}",
        report.ended.stderr
    );
}
