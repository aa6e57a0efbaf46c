//! Shortages of the machine that lgoose runs on: file descriptors, local ports.

use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, plan};
use crate::report::read;
use crate::skipping::skip;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

#[test]
fn out_of_file_descriptors_is_counted_as_such_and_those_with_one_go_on() {
    let site = Site::start(|_| answer(200, "", "good"));
    // Users think with their connections open: all sixty want one at a time.
    let text = "task { wait = 0.5, function(user)
        user:get('/', { name = 'page' }) user:get('/', { name = 'page' })
      end }";
    let path = plan("descriptors.lua", text);
    let url = site.url();
    let arguments = [
        &path,
        "-H",
        &url,
        "-u",
        "60",
        "-r",
        "1000",
        "-i",
        "3",
        "--threads",
        "1",
        "-o",
        "json=-",
    ];
    let limited = "ulimit -n 40; exec \"$0\" \"$@\"";
    let report = read(
        Lgoose::new(arguments)
            .through("sh", &["-c", limited])
            .finish(),
    );
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    for words in [
        "warning: 60 users need 124 file descriptors or more, and this process may have 40",
        "prlimit",
    ] {
        assert!(
            report.ended.stderr.contains(words),
            "{}",
            report.ended.stderr
        );
    }
    assert_eq!(report.count("GET page"), 360);
    let without = report.errors_with("out of descriptors: ");
    assert!(without > 0, "{:?}", report.errors());
    assert_eq!(
        report.failures("GET page"),
        without,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.sent() - without, site.received());
}

#[test]
fn out_of_local_ports_is_counted_as_such() {
    // A network of its own with twenty ports in all, the site's own one included.
    let script = "ip link set lo up && echo 40000 40019 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$0\" \"$@\"";
    let alone = ["-n", "sh", "-c", script];
    let possible = Command::new("unshare").args(alone).arg("true").output();
    match possible {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return skip(
                "ports of a network that is full",
                &format!("a network of its own, as 'unshare' makes: {why}"),
            );
        }
        Err(error) => {
            return skip(
                "ports of a network that is full",
                &format!("Debian's package 'util-linux': {error}"),
            );
        }
    }
    let text = "task { function(user) user:get('/', { name = 'page' }) end }";
    let path = plan("ports.lua", text);
    let arguments = [
        path.as_str(),
        "-H",
        "demo:drupal",
        "-u",
        "40",
        "-r",
        "1000",
        "-i",
        "2",
        "--threads",
        "1",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).through("unshare", &alone).finish());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.count("GET page"), 80);
    let without = report.errors_with("out of ports: 127.0.0.1:");
    assert!(without > 0, "{:?}", report.errors());
    assert_eq!(
        report.failures("GET page"),
        without,
        "{:?}",
        report.errors()
    );
}

#[test]
fn a_client_that_cannot_be_heard_is_not_the_end_of_the_run() {
    // Resets while a large body is being sent, whatever was written by then.
    let site = Site::start(|asked| match asked.path.as_str() {
        "/reset" => vec![Act::Reset],
        "/early" => answer(413, "connection: close\r\n", "no")
            .into_iter()
            .chain([Act::Close])
            .collect(),
        "/gate" => vec![Act::Gate],
        _ => answer(200, "", "good"),
    });
    let text = "task { function(user)
        local large = string.rep('x', 8000000)
        local expecting = { Expect = '100-continue' }
        user:post('/reset', large, { name = 'reset', headers = expecting })
        local r = user:post('/early', large, { name = 'early', headers = expecting, expect = { status = 413 } })
        check(r.status == 413, 'heard')
        r = user:post('/early', large, { name = 'unread', headers = { ['X-Unread'] = 'yes' }, expect = { status = 413 } })
        check(r.status == 413, 'heard although the body could not be sent')
        user:post('/gate', large, { name = 'stuck', headers = { ['X-Unread'] = 'yes' }, timeout = 0.2 })
        user:get('/good', { name = 'good' })
      end }";
    let path = plan("large_unheard.lua", text);
    let url = site.url();
    let report = read(
        Lgoose::new([
            path.as_str(),
            "-H",
            &url,
            "-u",
            "1",
            "-i",
            "1",
            "-o",
            "json=-",
        ])
        .finish(),
    );
    assert_eq!(report.messages_of("POST reset"), ["connection reset"]);
    assert_eq!(report.messages_of("POST unread"), Vec::<String>::new());
    assert_eq!(report.messages_of("POST stuck"), ["timeout"]);
    site.open_gate();
    assert_eq!(
        (report.failures("GET good"), report.failures("POST early")),
        (0, 0),
        "{:?}",
        report.errors()
    );
}

#[test]
fn a_run_that_takes_more_memory_than_it_may_ends_at_once_with_its_report() {
    let site = Site::start(|_| answer(200, "", "good"));
    // A user keeps two more mebibytes with each iteration, and would finish its task after an hour.
    let text = "task { function(user)
        user.data.kept = user.data.kept or {}
        table.insert(user.data.kept, string.rep(tostring(#user.data.kept), 2 * 1024 * 1024))
        user:get('/', { name = 'page' })
        if #user.data.kept > 20 then user:wait(3600) end
      end }";
    let path = plan("takes_memory.lua", text);
    let url = site.url();
    let arguments = [
        &path, "-H", &url, "-u", "20", "-r", "1000", "--memory", "128MiB", "-o", "json=-",
    ];
    let report = read(Lgoose::new(arguments).finish());
    assert_eq!(report.ended.code, 3, "{}", report.ended.stderr);
    let words = "of memory and may take 128 MiB ('--memory')";
    assert!(
        report.ended.stderr.contains(words),
        "{}",
        report.ended.stderr
    );
    let verdict = report.json["verdict"].to_string();
    assert!(verdict.contains(words), "{verdict}");
    assert_eq!(report.json["ending"]["cause"], "trouble");
    assert!(report.count("GET page") > 20);
}

#[test]
fn a_run_that_takes_more_addresses_than_it_may_ends_with_its_report() {
    let site = Site::start(|_| answer(200, "", "good"));
    let text = "task { function(user)
        user.data.kept = user.data.kept or {}
        table.insert(user.data.kept, string.rep(tostring(#user.data.kept), 1024 * 1024))
        user:get('/', { name = 'page' })
        if #user.data.kept > 40 then user:wait(3600) end
      end }";
    let (path, url) = (plan("takes_addresses.lua", text), site.url());
    let arguments = [
        &path,
        "-H",
        &url,
        "-u",
        "60",
        "-r",
        "1000",
        "--threads",
        "2",
        "-o",
        "json=-",
    ];
    let limited = Lgoose::new(arguments).through("prlimit", &["--as=1536000000"]);
    let report = read(limited.finish());
    assert_eq!(report.ended.code, 3, "{}", report.ended.stderr);
    let verdict = report.json["verdict"].to_string();
    assert!(verdict.contains("('--memory')"), "{verdict}");
    assert!(report.count("GET page") > 60);
}

#[test]
fn a_ceiling_on_memory_below_what_lgoose_takes_itself_is_refused() {
    for (ceiling, text) in [
        ("1MiB", "task { function(user) user:get '/' end }"),
        (
            "",
            "plan { memory = \"100KiB\" }\ntask { function(user) user:get '/' end }",
        ),
    ] {
        let path = plan("too_little_memory.lua", text);
        let given = format!("--memory={ceiling}");
        let mut arguments = vec![&*path, "-H", "http://127.0.0.1:9", "-i", "1"];
        arguments.extend((!ceiling.is_empty()).then_some(&*given));
        let ended = Lgoose::new(arguments).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        for words in ["'--memory' is ", "before the first user", "'--memory 2GiB'"] {
            assert!(ended.stderr.contains(words), "{}", ended.stderr);
        }
    }
}

#[test]
fn fewer_users_than_asked_for_are_told_in_the_verdict() {
    let text = "task { function(user) user:wait(3600) end }";
    let path = plan("too_many_users.lua", text);
    let run = |users: &str, more: &[&str]| {
        let usual = [
            &*path,
            "-H",
            "http://127.0.0.1:9",
            "-u",
            users,
            "-r",
            "1000000",
            "-t",
            "700ms",
            "--threads",
            "1",
            "--stop-timeout",
            "10ms",
            "-o",
            "json=-",
        ];
        let report = read(Lgoose::new(usual.iter().chain(more)).finish());
        let (ending, verdict) = (
            report.json["ending"].clone(),
            report.json["verdict"].clone(),
        );
        let count = |name: &str| ending[name].as_u64().expect("a number");
        let counts = (count("users_started"), count("users_due"));
        (counts, verdict)
    };
    // Of so many, no machine starts each within the time.
    let ((started, due), verdict) = run("40000", &["--fail-on-saturation"]);
    assert!(started < due, "{started} of {due}");
    assert_eq!(due, 40_000);
    let words = "of 40,000 users were started";
    assert!(verdict["remarks"].to_string().contains(words), "{verdict}");
    assert!(verdict["reasons"].to_string().contains(words), "{verdict}");
    assert_eq!(verdict["exit_code"], 1);
    let (counts, verdict) = run("3", &[]);
    assert_eq!(counts, (3, 3));
    assert!(!verdict.to_string().contains("only"), "{verdict}");
}

#[test]
fn local_ports_that_run_out_are_told_with_the_address_that_takes_them() {
    let script = "ip link set lo up && echo 40000 40039 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$0\" \"$@\"";
    let alone = ["-n", "sh", "-c", script];
    match Command::new("unshare").args(alone).arg("true").output() {
        Ok(output) if output.status.success() => {}
        _ => {
            return skip(
                "ports of a network that is full",
                "a network of its own, as 'unshare' makes",
            );
        }
    }
    let text = "task { wait = 0.1, function(user) user:get('/', { name = 'page' }) end }";
    let path = plan("few_ports.lua", text);
    let arguments = [
        path.as_str(),
        "-H",
        "demo:api",
        "-u",
        "38",
        "-r",
        "1000",
        "-t",
        "3s",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).through("unshare", &alone).finish());
    let warnings = report.json["warnings"].to_string();
    let words = "of the 40 local ports that this machine has for connections to 127.0.0.1:";
    assert!(warnings.contains(words), "{warnings}");
}

#[test]
fn a_test_start_that_takes_more_memory_than_the_process_may_starts_no_load() {
    let site = Site::start(|_| answer(200, "", "good"));
    let text = "on('test_start', function(user)
        user.data.kept = {}
        for n = 1, 2000 do
          table.insert(user.data.kept, string.rep(tostring(n), 1024 * 1024))
          user:wait(0.01)
        end
      end)
      task { function(user) user:get('/', { name = 'page' }) end }";
    let path = plan("start_takes_memory.lua", text);
    let url = site.url();
    let arguments = [
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--memory",
        "128MiB",
        "--lua-memory",
        "4GiB",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).finish());
    assert_eq!(report.ended.code, 3, "{}", report.ended.stderr);
    let words = "of memory and may take 128 MiB ('--memory')";
    assert!(
        report.ended.stderr.contains(words),
        "{}",
        report.ended.stderr
    );
    assert_eq!(report.json["ending"]["cause"], "trouble");
    assert_eq!(report.json["ending"]["in_test_start"], true);
    assert_eq!(report.count("GET page"), 0);
}

#[test]
fn files_that_stand_for_more_memory_than_they_may_take_are_refused_by_name() {
    let path = plan(
        "reads_lines.lua",
        "local rows = data.lines 'reads_lines.gz'\ntask { function(user) user:get '/' end }",
    );
    let packed = Path::new(&path).with_file_name("reads_lines.gz");
    let mut file = GzEncoder::new(Vec::new(), Compression::best());
    file.write_all(&b"a\n".repeat(12 << 20))
        .expect("it is packed");
    let bytes = file.finish().expect("it is packed");
    assert!(bytes.len() < 64 << 10);
    fs::write(&packed, bytes).expect("the folder takes a file");
    for (arguments, most) in [
        (&["-H", "demo:api", "--data-memory", "4MiB"][..], "4.00 MiB"),
        (&["--list", "--data-memory", "20MiB"], "20.0 MiB"),
    ] {
        let ended = Lgoose::new([&[&*path], arguments].concat()).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        for words in [
            "reads_lines.lua:1",
            "cannot read 'reads_lines.gz': it takes more than ",
            &format!("the files of a plan may take {most} of memory together"),
            "'--data-memory' gives them more",
        ] {
            assert!(
                ended.stderr.contains(words),
                "'{words}' in {}",
                ended.stderr
            );
        }
    }
    let checked = Lgoose::new(["check", &path, "--data-memory", "1GiB"]).finish();
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    let line = checked
        .stdout
        .lines()
        .find(|line| line.starts_with("memory of its data files: "));
    assert_eq!(
        line,
        Some("memory of its data files: 120 MiB of 1.00 GiB ('--data-memory')")
    );
}
