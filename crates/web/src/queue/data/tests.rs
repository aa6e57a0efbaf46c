//! Folders of runs that lgoose has made, and other people's files beside them.

use super::*;
use crate::queue::record::RunState;
use lgoose_metrics::Report;
use serde_json::Map;
use std::os::unix::fs::symlink;

fn data() -> (tempfile::TempDir, RunFolder) {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = RunFolder::open(&scratch.path().join("runs")).expect("it can be made");
    (scratch, data)
}

fn report(plan: &str) -> Vec<u8> {
    let report = Report {
        plan: plan.to_owned(),
        ..Report::default()
    };
    serde_json::to_vec(&report).expect("a report")
}

fn put(data: &RunFolder, id: &str, bytes: &[u8]) {
    fs::create_dir_all(data.root.join(id)).expect("a folder");
    fs::write(data.root.join(id).join(REPORT), bytes).expect("a file");
}

#[test]
fn a_run_is_a_folder_with_the_time_and_the_plan_in_its_name() {
    let (_scratch, data) = data();
    let record = RunRecord::new("a/<script>.lua", Map::new());
    let ids = [1, 2].map(|_| data.create(&record).expect("there is room"));
    assert!(ids[0].ends_with("Z-a__script_"), "{ids:?}");
    assert_eq!(ids[1], format!("{}-2", ids[0]));
    let row = data.row(&ids[0]).expect("it is a run");
    assert_eq!(
        (row.state, &*row.plan),
        (RunState::Failed, "a/<script>.lua")
    );
    assert!(
        row.error
            .is_some_and(|error| error.contains("before this run began"))
    );
    data.remove(&ids[0]).expect("it is ours");
    assert!(data.row(&ids[0]).is_none() && !data.root.join(&ids[0]).exists());
    assert_eq!(data.rows().expect("it can be read").len(), 1);
}

#[test]
fn a_report_that_was_put_there_is_a_run_and_a_broken_one_shows_what_is_wrong() {
    let (_scratch, data) = data();
    put(&data, "good", &report("here.lua"));
    put(&data, "half", &report("here.lua")[..50]);
    put(&data, "empty", b"");
    put(&data, "huge", b"");
    let huge = File::options()
        .write(true)
        .open(data.root.join("huge").join(REPORT));
    huge.and_then(|file| file.set_len(REPORT_BYTES + 1))
        .expect("it is sparse");
    fs::create_dir_all(data.root.join("folder").join(REPORT)).expect("a folder");
    fs::create_dir_all(data.root.join("record")).expect("a folder");
    fs::write(data.root.join("record").join(RECORD), "{}").expect("a file");
    fs::create_dir_all(data.root.join("nothing")).expect("a folder");
    fs::write(data.root.join("file"), "").expect("a file");
    let mut rows = data.rows().expect("it can be read");
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (&*row.id, row.error.clone().unwrap_or_default()))
        .collect();
    for ((id, error), (expected, part)) in shown.iter().zip([
        ("empty", "is not a report"),
        ("folder", "it is no file"),
        ("good", ""),
        ("half", "is not a report"),
        ("huge", "more than 64 MiB"),
        ("record", "'run.json' cannot be read"),
    ]) {
        assert_eq!(*id, expected);
        assert!(
            error.contains(part) && part.is_empty() == error.is_empty(),
            "{id}: {error}"
        );
    }
    assert_eq!(
        (rows.len(), rows[2].state, &*rows[2].plan),
        (6, RunState::Kept, "here.lua")
    );
    put(&data, "good", &report("there.lua"));
    let row = data.row("good").expect("it is there");
    assert_eq!(row.plan, "there.lua", "it has changed");
}

#[test]
fn no_name_and_no_link_leads_out_of_the_folder() {
    let (scratch, data) = data();
    fs::create_dir_all(scratch.path().join("outside")).expect("a folder");
    fs::write(scratch.path().join("outside").join(REPORT), report("x")).expect("a file");
    fs::write(scratch.path().join(REPORT), report("x")).expect("a file");
    fs::write(data.root.join(REPORT), report("x")).expect("a file");
    symlink("../outside", data.root.join("link")).expect("a link");
    fs::create_dir_all(data.root.join("inner")).expect("a folder");
    symlink(
        "../../outside/report.json",
        data.root.join("inner").join(REPORT),
    )
    .expect("a link");
    for id in [
        "",
        ".",
        "..",
        "../outside",
        "link",
        "link/.",
        "inner/../../outside",
        "/",
        "\0",
        ".lock",
        &*scratch.path().join("outside").display().to_string(),
    ] {
        assert!(data.row(id).is_none(), "{id}");
        assert_eq!(data.report(id), Ok(None), "{id}");
        data.remove(id).expect("nothing is there");
    }
    let message = data
        .row("inner")
        .and_then(|row| row.error)
        .expect("it is listed");
    assert!(message.contains("it is a link"), "{message}");
    assert!(data.report("inner").is_err());
    assert_eq!(data.rows().expect("it can be read").len(), 1);
    data.remove("inner").expect("it is ours");
    assert!(scratch.path().join("outside").join(REPORT).exists());
}

#[test]
fn what_others_have_put_beside_a_report_stays() {
    let (_scratch, data) = data();
    put(&data, "mine", &report("x"));
    fs::write(data.root.join("mine/notes.txt"), "").expect("a file");
    data.remove("mine").expect("it can be removed");
    assert!(data.row("mine").is_none());
    assert!(data.root.join("mine/notes.txt").exists());
}

#[test]
fn one_lgoose_serves_a_folder() {
    let (_scratch, data) = data();
    let message = RunFolder::open(&data.root)
        .expect_err("it is taken")
        .to_string();
    assert!(message.contains("another 'lgoose serve'"), "{message}");
}
