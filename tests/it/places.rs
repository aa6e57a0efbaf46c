//! Where a run writes, tried before its first request.

use crate::program::{Lgoose, plan, scratch};
use crate::server::Server;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const FLAGS: [(&str, &str); 6] = [
    ("-o", "run.json"),
    ("--request-log", "requests.csv"),
    ("--task-log", "tasks.csv"),
    ("--error-log", "errors.jsonl"),
    ("--debug-log", "debug.jsonl"),
    ("--log-file", "run.log"),
];

#[test]
fn a_place_that_cannot_be_written_is_told_before_anything_is_sent_and_nothing_is_lost() {
    let server = Server::start();
    let url = server.url();
    let path = plan("places.lua", "task { function(user) user:get \"/\" end }");
    let folder = scratch("places");
    // Not that of an earlier run of this test.
    let _none = fs::remove_dir_all(&folder);
    let locked = folder.join("locked");
    fs::create_dir_all(&locked).expect("the scratch folder takes a folder");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).expect("it is ours");
    // Nothing is locked for root.
    let is_root = fs::write(locked.join("probe"), "").is_ok();
    let kept = folder.join("kept.json");
    fs::write(&kept, "of an earlier run").expect("it takes a file");
    let keeps = format!("json={}", kept.display());

    for (flag, name) in FLAGS {
        let folder_there = folder.join(format!("there_{name}"));
        fs::create_dir_all(&folder_there).expect("it takes a folder");
        let mut places = vec![
            (folder.join("missing").join(name), "No such file"),
            (folder_there, "directory"),
            (kept.join(name), "Not a directory"),
        ];
        if !is_root {
            places.push((locked.join(name), "Permission denied"));
        }
        for (place, reason) in places {
            let value = match flag {
                "-o" => format!("json={}", place.display()),
                _ => place.display().to_string(),
            };
            let arguments = [
                &*path, "-H", &url, "-u", "1", "-i", "1", "-o", &keeps, flag, &value,
            ];
            let ended = Lgoose::new(arguments).finish();
            assert_eq!(ended.code, 2, "{flag} {value}: {}", ended.stderr);
            let named = if flag == "-o" { "--output" } else { flag };
            for words in [named, &place.display().to_string(), reason] {
                assert!(ended.stderr.contains(words), "{words} in {}", ended.stderr);
            }
        }
    }
    assert_eq!(server.received(), 0);
    let text = fs::read_to_string(&kept).expect("it is there");
    assert_eq!(text, "of an earlier run");
    let files = fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(files, FLAGS.len() + 2, "trying leaves nothing behind");
}

#[test]
fn a_log_of_an_earlier_run_is_replaced_by_a_run_and_not_by_a_mistake() {
    let server = Server::start();
    let url = server.url();
    let path = plan("log_kept.lua", "task { function(user) user:get \"/\" end }");
    let log = scratch("log_kept.log");
    let file = log.display().to_string();
    fs::write(&log, "of an earlier run").expect("it takes a file");
    let wrong = ["no_such_plan.lua", "-H", &url, "--log-file", &file];
    assert_eq!(Lgoose::new(wrong).finish().code, 2);
    let text = fs::read_to_string(&log).expect("it is there");
    assert_eq!(text, "of an earlier run");
    let fine = [
        &*path,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--log-file",
        &file,
    ];
    assert_eq!(Lgoose::new(fine).finish().code, 0);
    let text = fs::read_to_string(&log).expect("it is there");
    assert!(!text.contains("earlier"), "{text}");
}

#[test]
fn nothing_is_written_over_keys_and_credentials() {
    let server = Server::start();
    let url = server.url();
    let path = plan("keys.lua", "task { function(user) user:get \"/\" end }");
    let secret = scratch("secret.pem");
    fs::write(&secret, "secret").expect("it takes a file");
    let secret_path = secret.display().to_string();
    let output = format!("json={secret_path}");
    let run = [&*path, "-H", &url, "-u", "1", "-i", "1"];
    let served = ["--web", "127.0.0.1:0", "--web-cert", "no.pem"];
    for (flag, command) in [
        ("--ca", vec![]),
        ("--web-cert", vec!["--web", "127.0.0.1:0"]),
        ("--web-key", served.to_vec()),
        ("--nats-creds", vec![]),
        ("--nats-ca", vec![]),
        ("--nats-cert", vec![]),
        ("--nats-key", vec!["--nats-cert", "no.pem"]),
        ("--nats-key", vec!["--list"]),
        ("--env-file", vec!["--list"]),
    ] {
        let is_list = command == ["--list"];
        let mut command = [&run[..], &command, &[flag, &secret_path]].concat();
        if flag == "--env-file" {
            // The listing reads it.
            fs::write(&secret, "A=1").expect("it takes a file");
        }
        refused(&command, &["--log-file", &secret_path], flag);
        if !is_list {
            command.extend(["-o", &output]);
            refused(&command, &[], flag);
        }
        let kept = fs::read_to_string(&secret).expect("it is there");
        assert!(["secret", "A=1"].contains(&kept.as_str()), "{flag}: {kept}");
    }
    let attach = ["attach", "any", "127.0.0.1:1"];
    for flag in ["--nats-creds", "--nats-ca", "--nats-cert", "--nats-key"] {
        let command = [&attach[..], &[flag, &secret_path, "-o", &output]].concat();
        refused(&command, &[], flag);
    }
    assert_eq!(server.received(), 0);

    fs::write(&secret, "secret").expect("it takes a file");
    let source = "task { function(user) user:get '/' end }\n\
                  on('report', function() return { ['secret.pem'] = 'text' } end)";
    let path = plan("keys_report.lua", source);
    let run = [&*path, "-H", &url, "-u", "1", "-i", "1"];
    let ended = Lgoose::new([&run[..], &["--nats-creds", &secret_path]].concat()).finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let kept = fs::read_to_string(&secret).expect("it is there");
    assert_eq!(kept, "secret");
}

/// Runs a command that would write over the file of that flag.
fn refused(command: &[&str], more: &[&str], flag: &str) {
    let command = [command, more].concat();
    let ended = Lgoose::new(&command).finish();
    assert_eq!(ended.code, 2, "{command:?}: {}", ended.stderr);
    let told = format!("'{flag}'");
    assert!(
        ended.stderr.contains("would be written over") && ended.stderr.contains(&told),
        "{command:?}: {}",
        ended.stderr
    );
}
