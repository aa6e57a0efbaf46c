//! `require "lgoose.redis"` against a real Redis (Debian: `apt-get install redis-server`); without one a test says "skipped" and
//! passes, and fails with `LGOOSE_NEED_REDIS=1`. What replies mean is judged by `redis-cli`, what was sent by the server's own counts.

use crate::program::{Lgoose, empty_folder, plan, wait_until};
use crate::report::{iterate_at, run};
use crate::skipping::skip_unless_needed;
use serde_json::Value;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A running server; killed when this is dropped.
struct Redis {
    port: u16,
    server: Child,
}

impl Redis {
    /// Starts one without any data; `None` if this machine has none.
    fn start(name: &str) -> Option<Redis> {
        let folder = empty_folder(&format!("redis_{name}"));
        // Who else takes the port meanwhile makes the server end.
        for _ in 0..20 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
            let port = free.expect("a port").port();
            let server = Command::new("redis-server")
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
                .args([
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                    "--enable-debug-command",
                    "yes",
                ])
                .current_dir(&folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let server = match server {
                Ok(server) => server,
                Err(_) => {
                    skip_unless_needed(
                        "LGOOSE_NEED_REDIS",
                        "tests of Redis",
                        "redis-server ('apt-get install redis-server')",
                    );
                    return None;
                }
            };
            let mut redis = Redis { port, server };
            let mut ended = false;
            wait_until("the server is there", || {
                ended = redis.server.try_wait().is_ok_and(|ended| ended.is_some());
                ended || redis.is_own()
            });
            if !ended {
                return Some(redis);
            }
        }
        panic!("no port is free");
    }

    /// Whether what listens there is this server.
    fn is_own(&self) -> bool {
        let of_process = format!("process_id:{}\r\n", self.server.id());
        self.cli(&["INFO", "server"]).contains(&of_process)
    }

    fn cli(&self, arguments: &[&str]) -> String {
        let ended = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(arguments)
            .output()
            .expect("redis-cli comes with the server");
        String::from_utf8_lossy(&ended.stdout).into_owned()
    }

    /// Returns how often the server has run a command, by its own count.
    fn calls(&self, command: &str) -> u64 {
        let stats = self.cli(&["INFO", "commandstats"]);
        let start = format!("cmdstat_{command}:calls=");
        let count = stats.lines().find_map(|line| line.strip_prefix(&start));
        let count = count.and_then(|rest| rest.split(',').next());
        count.map_or(0, |count| count.parse().expect("a number"))
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _gone = self.server.wait();
    }
}

#[test]
fn commands_have_the_replies_that_the_server_gives() {
    let Some(redis) = Redis::start("commands") else {
        return;
    };
    let report = iterate_at("tests/lua/redis.lua", &redis.url(), 1, 1, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    for (command, sent_by_others) in [
        ("get", 0),
        ("set", 2),
        ("rpush", 0),
        ("hgetall", 0),
        ("publish", 0),
    ] {
        let name = format!("REDIS {}", command.to_uppercase());
        let calls = redis.calls(command) - sent_by_others;
        match command {
            // In a pipeline of its own.
            "rpush" => assert_eq!(calls, 10_001),
            // Some of them are in pipelines, or come before the connection is accepted.
            "get" => assert!(report.row(&name)["count"].as_u64() >= Some(calls - 4)),
            _ => assert_eq!(report.row(&name)["count"], calls, "{name}"),
        }
    }
    assert_eq!(report.row("REDIS INCR")["failures"], 2);
    assert_eq!(report.row("REDIS pipeline")["failures"], 2);
    assert_eq!(report.row("REDIS three")["count"], 2);
    assert_eq!(report.row("TCP RESP3")["count"], 1);
    assert!(report.row("TCP RESP3")["messages"]["received"].as_u64() > Some(10_000));
}

/// Every type of the protocol, as redis-cli understands it.
#[test]
fn replies_are_what_redis_cli_takes_them_for() {
    let Some(redis) = Redis::start("types") else {
        return;
    };
    redis.cli(&["HSET", "hash", "field", "value", "other", "ä"]);
    redis.cli(&["ZADD", "scores", "1.5", "a", "-7", "b", "1e300", "c"]);
    redis.cli(&["XADD", "stream", "1-1", "name", "value"]);
    let mut commands: Vec<String> = [
        "string", "integer", "double", "null", "array", "set", "map", "verbatim", "true", "false",
    ]
    .map(|kind| format!("DEBUG PROTOCOL {kind}"))
    .into();
    commands.extend(
        [
            "HGETALL hash",
            "HMGET hash field none",
            "ZRANGE scores 0 -1 WITHSCORES",
            "ZMSCORE scores a c none",
            "XREAD STREAMS stream 0",
            "XINFO STREAM stream",
            "CONFIG GET maxmemory*",
            "GEOPOS none a",
            "COMMAND INFO get",
            "MEMORY DOCTOR",
            "LOLWUT VERSION 5 1 1 1",
            "ACL GETUSER default",
        ]
        .map(str::to_owned),
    );
    for protocol in [2, 3] {
        let text = format!(
            r#"local redis = require "lgoose.redis"
            local function plain(value)
              if value == nil or value == json.null then return "(null)" end
              if value == math.huge then return "inf" elseif value == -math.huge then return "-inf" end
              if type(value) ~= "table" then return value end
              local copy, count = {{}}, 0
              for _ in pairs(value) do count = count + 1 end
              for key, part in pairs(value) do copy[count == #value and key or tostring(key)] = plain(part) end
              return copy
            end
            task {{ function(user)
              local db = redis.connect(user, {{ protocol = {protocol} }})
              for line in env("COMMANDS"):gmatch "[^;]+" do
                local words = {{}}
                for word in line:gmatch "%S+" do words[#words + 1] = word end
                print("<" .. line .. ">" .. json.encode({{ plain(db:call(table.unpack(words))) }}))
              end
            end }}"#
        );
        let path = plan(&format!("redis_types_{protocol}.lua"), &text);
        let all = format!("COMMANDS={}", commands.join(";"));
        let ended =
            Lgoose::new([&*path, "-H", &redis.url(), "-u", "1", "-i", "1", "-e", &all]).finish();
        assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
        for command in &commands {
            let mut arguments = vec![if protocol == 3 { "-3" } else { "-2" }, "--json"];
            arguments.extend(command.split(' '));
            let text = redis.cli(&arguments);
            let judged: Value =
                serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.trim()));
            let begin = format!("<{command}>");
            let line = ended
                .stderr
                .lines()
                .find_map(|line| Some(line.split_once(&begin)?.1));
            let line = line.unwrap_or_else(|| panic!("{command}: {}", ended.stderr));
            let end = line.rfind(']').expect("a list") + 1;
            let read: Value = serde_json::from_str(&line[..end]).expect("JSON");
            assert_eq!(
                comparable(&read[0]),
                comparable(&judged),
                "RESP{protocol}: {command}"
            );
        }
    }
}

/// What JSON cannot tell apart, or Lua, is the same: null, infinite numbers, empty lists and maps.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Null => "(null)".into(),
        Value::Number(number) => number.as_f64().map_or(Value::Null, |number| number.into()),
        Value::Array(list) if list.is_empty() => Value::Object(serde_json::Map::new()),
        Value::Array(list) => list.iter().map(comparable).collect(),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| (key.clone(), comparable(value)));
            Value::Object(pairs.collect())
        }
        // redis-cli leaves out the end of the last line.
        Value::String(text) => text.trim_end().into(),
        other => other.clone(),
    }
}

/// The load of some users, by three counts: the report's, the server's, and the value that it has counted itself.
#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn every_command_of_a_load_is_counted_once() {
    let Some(redis) = Redis::start("load") else {
        return;
    };
    let text = r#"local redis = require "lgoose.redis"
        task { function(user)
          local db = user.data.db or redis.connect(user)
          user.data.db = db
          db:incr "count"
          db:pipeline { { "SET", "a", user.id }, { "GET", "a" } }
        end }"#;
    let path = plan("redis_load.lua", text);
    let report = run([&*path, "-H", &redis.url(), "-u", "5", "-i", "40"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    for (name, count) in [
        ("TCP redis", 5),
        ("REDIS HELLO", 5),
        ("REDIS INCR", 200),
        ("REDIS pipeline", 200),
    ] {
        let row = report.row(name);
        assert_eq!(
            (&row["count"], &row["failures"]),
            (&count.into(), &0.into()),
            "{name}"
        );
    }
    assert_eq!(redis.cli(&["GET", "count"]).trim(), "200");
    assert_eq!(redis.calls("incr"), 200);
    // 5 greetings, 200 commands, 200 pipelines; each reply of HELLO is a map of seven pairs.
    assert_eq!(report.row("TCP redis")["messages"]["sent"], 405);
}
